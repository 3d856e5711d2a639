"""Methods that only subclasses define: `gang.barrier()`, where `gang` is known as the abstract `Gang`; and methods with
steps that only they define (`benchmark.evaluate(model, samples)`, which calls `self.score(model, sample)`).

Which subclass it is, is decided elsewhere, so the call is any of their methods. One that does nothing (the stand-in for
a single process) never runs beside others; if all others communicate, the call does (class hierarchy analysis, Dean,
Grove, Chambers 1995).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.conditions import Atom
from ferrule_lint.semantics.domain.dependences import NO_DEPS
from ferrule_lint.semantics.domain.joins import join
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.domain.text import last_name, shown
from ferrule_lint.semantics.domain.trace import Choice, Trace
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo
from ferrule_lint.semantics.project.hierarchy import MOST_SUBCLASSES

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame


def call(frame: Frame, target: FunctionTarget, arguments: Arguments) -> Value | None:
    """Call whichever implementations of an abstract method communicate; None if it is not abstract, or none does."""
    function, receiver = target.function, target.receiver
    if frame.light or receiver is None or not receiver.types or function.owner is None:
        return None
    func = arguments.expr.func
    if type(func) is f.Attr and type(func.base) is f.Name and func.base.id == frame.self_name:
        return None  # an inherited method is analysed for each subclass
    if function.traits.says_nothing:
        found = frame.analysis.hierarchy.implementations(function, receiver.types)
        communicating = [(sub, method) for sub, method in found if _communicates(frame, sub, method)]
    else:
        found = _of_template(frame, function, receiver.types)
        communicating = [one for one in found if one[0] in frame.analysis.hierarchy.contexts(function)]
    if not communicating:
        return None
    # if some do other work instead, the call may be theirs
    confidence = Confidence.MEDIUM if len(communicating) == len(found) else Confidence.LOW
    results: list[Value] = []
    trace: Trace = ()
    for i, (sub, method) in enumerate(communicating):
        with frame.recording() as terms:
            value = frame.analysis.call_function(
                frame, method, receiver._replace(types=frozenset({sub})), arguments.positional, arguments.keywords,
                arguments.expr.pos, call=arguments.expr, confidence=confidence,
            )  # fmt: skip
        results.append(value)
        if i and tuple(terms) != trace:
            atom = Atom(f"implementation{i} of {frame.key(func)} at {arguments.expr.pos}", None, NO_DEPS)
            pos = arguments.expr.pos
            trace = (Choice(atom, tuple(terms), trace, frame.module.path, pos, shown(func), "dispatch"),)
        else:
            trace = tuple(terms)
    frame.terms.extend(trace)
    return join(results)


def _of_template(
    frame: Frame, function: FunctionInfo, types: frozenset[ClassInfo]
) -> list[tuple[ClassInfo, FunctionInfo]]:
    """A method that has steps which the class of an object leaves open, for each of the classes that fill them in
    another way: no object is of that class alone."""
    hierarchy, names = frame.analysis.hierarchy, frame.analysis.names
    if len(types) != 1 or function.is_static or function.is_class_method:
        return []
    (info,) = types
    steps = (names.method(info, name) for name in sorted(hierarchy.asked_of_self(function)))
    if hierarchy.has_many_heirs(info.id) or not any(step is not None and is_left_open(step) for step in steps):
        return []
    found = [(sub, function) for sub, _ in hierarchy.told_apart(function, info)]
    return found if len(found) <= MOST_SUBCLASSES else []


def result(frame: Frame, target: FunctionTarget, arguments: Arguments) -> Value | None:
    """What an abstract method hands back, whichever class implements it; None where they do not all hand on the same:
    what differs in one of them only need not be the one that runs. Which rank leads in each is told by the groups that
    the same object hands out."""
    receiver = target.receiver
    if receiver is None or not receiver.types or target.function.owner is None:
        return None
    found = frame.analysis.hierarchy.implementations(target.function, receiver.types)
    with frame.recording():
        results = [
            frame.analysis.call_function(
                frame, method, receiver._replace(types=frozenset({sub})), arguments.positional, arguments.keywords,
                arguments.expr.pos, call=arguments.expr,
            )
            for sub, method in found
        ]  # fmt: skip
    if results and all(r.divergence is not None and r.divergence.kind != "rank" for r in results):
        return join(results)
    if results and all(r.data for r in results):
        return join(results)
    first = next(iter(results), None)
    return join(results) if first is not None and first.deps and all(r.deps == first.deps for r in results) else None


def is_left_open(function: FunctionInfo) -> bool:
    """Whether a method is there for subclasses to define, so that what it hands back is not what its own body does."""
    traits = function.traits
    if function.owner is None or traits.returns or not traits.says_nothing:
        return False
    return traits.raises or not function.decorator_names.isdisjoint(_LEFT_OPEN) or _is_of_protocol(function)


def is_any_callable(function: FunctionInfo) -> bool:
    """Whether a method says what is called like a function, which any may be: the `__call__` of a protocol."""
    return function.name == "__call__" and _is_of_protocol(function)


def _is_of_protocol(function: FunctionInfo) -> bool:
    owner = function.module.classes.get(function.owner or "")
    bases = (base.base if type(base) is f.Subscript else base for base in owner.bases) if owner is not None else ()
    return any(last_name(base) == "Protocol" for base in bases)


_LEFT_OPEN = frozenset("abstractmethod abstractproperty abstractclassmethod abstractstaticmethod".split())


def works_locally(frame: Frame, target: FunctionTarget) -> bool:
    """Whether all implementations of an abstract method are known, and none of them communicates."""
    if target.receiver is None:
        return False
    found = frame.analysis.hierarchy.implementations(target.function, target.receiver.types)
    return bool(found) and not any(_meets(frame, sub, method) for sub, method in found)


def _meets(frame: Frame, sub: ClassInfo, method: FunctionInfo) -> bool:
    known = frame.analysis.summaries.of(method, (), sub, None, frame.depth + 1)
    return known is None or bool(known[0].events)


def _communicates(frame: Frame, sub: ClassInfo, method: FunctionInfo) -> bool:
    known = frame.analysis.summaries.of(method, (), sub, None, frame.depth + 1)
    return known is not None and any(not e.hidden and e.confidence >= Confidence.MEDIUM for e in known[0].events)
