"""How many keys a dict has that gets them as a rank meets them: `if name not in self.sums: self.sums[name] = 0.0`.

Who asks whether a key is there yet does not know beforehand which there will be. Where the keys come from what a
method was given to measure, a rank that has not met one walks the dict once less than the others; to sort the keys does
not help. That not every batch has all of them is said by who counts for each key how often it was met
(`self.counts[name] = 1`); with one count for all of them they are the same. Only attributes count that are measures by
their names, or belong to a class that measures, and only keys that come from what was passed in: those of parameters,
modules and settings are the same on all ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.plain import plain
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data.accumulators import MEASURES, walked
from ferrule_lint.semantics.data.ordering import numbers
from ferrule_lint.semantics.domain.assigned import Bodies
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, shown, variables
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: classes that measure, beside what `MEASURES` has for attributes
_MEASURING = re.compile(r"Metric|Meter|Accumulat|Aggregat|Average|Tracker|Stat(istic)?s")
#: what all ranks have alike: whatever is keyed by it has the same keys
_SHARED = re.compile(
    r"param|module|model|net(work)?$|optim|state_dict|config|cfg|(^|_)k?w?args?$|option|setting|layer|weight|class|"
    r"categor|split|stage|phase|mode|dataset|loader|task",
    re.IGNORECASE,
)


def count(frame: Frame, iterable: Value, expr: f.Expr) -> Divergence | None:
    """Why ranks walk what an attribute holds another number of times."""
    attribute = walked(expr, ordered=True)
    if attribute is None or frame.light or iterable.uniform or frame.self_class is None:
        return None
    if type(attribute.base) is not f.Name or attribute.base.id != frame.self_name:
        return None
    if not (MEASURES.search(attribute.attr) or _MEASURING.search(frame.self_class.name)):
        return None
    place = _met(frame.analysis.bodies, frame.self_class, attribute.attr)
    if place is None:
        return None
    note = f"`{shown(place)}` has the keys that this rank has met"
    return frame.source(WORLD, "data", place.pos, note, Confidence.MEDIUM)


def _met(bodies: Bodies, info: ClassInfo, attribute: str) -> f.Subscript | None:
    """Where a class enters a key that it meets in what a method of it was given."""
    for method in info.methods.values():
        for test in statements(bodies.once(plain, method.body)):
            key = _asked(test, method, attribute) if type(test) is f.If else None
            if type(test) is not f.If or key is None or numbers(key) or not _passed_in(bodies, method, key):
                continue
            entered = list(_entered(test, method, key))
            if any(_counts(value) and not _sums_up(method, target) for target, value in entered):
                for target, _ in entered:
                    if last_name(target.base) == attribute:
                        return target
    return None


def _entered(test: f.If, method: FunctionInfo, key: f.Expr) -> Iterator[tuple[f.Subscript, f.Expr]]:
    """The entries of attributes that are made under a test for their key, and what they begin with."""
    for statement in walk((test.body, test.orelse)):
        if type(statement) is not f.Assign or statement.value is None:
            continue
        for target in statement.targets:
            if type(target) is f.Subscript and shown(target.index) == shown(key) and _is_attribute(target.base, method):
                yield target, statement.value


def _counts(value: f.Expr) -> bool:
    """Whether an entry begins as a count, or as a sum with its count: `1`, `(0.0, 0)`."""
    parts = value.elements if type(value) is f.Sequence else (value,)
    return any(type(p) is f.Const and p.text.isdigit() for p in parts)


def _sums_up(method: FunctionInfo, target: f.Subscript) -> bool:
    """Whether an entry that begins as `0` is a sum: what stands beside the key is added to it as it is."""
    for loop in statements(method.body):
        if type(loop) is f.For and variables(target.index) <= variables(loop.target):
            beside = variables(loop.target) - variables(target.index)
            for node in walk(loop.body):
                if type(node) is f.AugAssign and shown(node.target) == shown(target) and type(node.value) is f.Name:
                    return node.value.id in beside
    return False


def _asked(test: f.If, method: FunctionInfo, attribute: str) -> f.Expr | None:
    """The key of which an `if` asks whether it is there already."""
    if type(test.test) is not f.Compare or test.test.ops[0] not in ("in", "not in"):
        return None
    container = test.test.rights[0]
    if type(container) is f.Call and type(container.func) is f.Attr and container.func.attr == "keys":
        container = container.func.base
    if not _is_attribute(container, method) or last_name(container) != attribute or type(test.test.left) is f.Const:
        return None
    return test.test.left


def _is_attribute(expr: f.Expr, method: FunctionInfo) -> bool:
    owner = method.parameters[0].name if method.parameters and not method.is_static else ""
    return type(expr) is f.Attr and type(expr.base) is f.Name and expr.base.id == owner


def _passed_in(bodies: Bodies, method: FunctionInfo, key: f.Expr) -> bool:
    """Whether a key is taken out of something that the method was given; one that is given itself is the caller's."""
    taken = bodies.once(_taken_out, method.body, method)
    return not taken.isdisjoint(variables(key))


def _taken_out(body: f.Body, method: FunctionInfo) -> frozenset[str]:
    """The names of what a method takes out of something that it was given."""
    given = {p.name for p in method.parameters[1:] if not _SHARED.search(p.name)}
    taken: set[str] = set()
    for _ in range(_ROUNDS):
        before = len(taken)
        for node in walk(body):
            if type(node) is f.For and variables(node.iterable) & (given | taken) and not _speaks(node.iterable):
                taken |= variables(node.target)
            elif type(node) is f.Assign and node.value is not None and variables(node.value) & taken:
                taken |= {last_name(t) for t in node.targets if type(t) is f.Name}
        if len(taken) == before:
            break
    return frozenset(taken)


#: steps from what was passed in to the key
_ROUNDS = 4


def _speaks(expr: f.Expr) -> bool:
    """Whether what is walked names something that ranks share (`model.named_parameters()`)."""
    return any(type(n) is f.Attr and _SHARED.search(n.attr) for n in walk((expr,)))
