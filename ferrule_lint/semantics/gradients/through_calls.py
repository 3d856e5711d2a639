"""What the results of calls reach: the outputs of a callee, in terms of what it was passed and under its name here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Step
from ferrule_lint.semantics.domain.dependences import NO_DEPS, NOTHING
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.reach import DETACHED, Partly, Reach, covered, reach_of
from ferrule_lint.semantics.domain.trace import ITSELF
from ferrule_lint.semantics.gradients.participation import NOT_TRAINED, PLACES, is_input, is_loss, part
from ferrule_lint.semantics.groups.axes import names_group
from ferrule_lint.semantics.project.entities import External, FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.summary import Summary
    from ferrule_lint.semantics.walk.frame import Frame

#: what a place is for that hands back something without a gradient
WITHOUT = "goes on without it here"


def instantiated(frame: Frame, reach: Reach, summary: Summary, bound: Mapping[str, Value], pos: f.Pos) -> Reach:
    """What a call's result reaches: parameters replaced by what the arguments reach.

    What the callee itself reports is not passed on.
    """
    from ferrule_lint.semantics.calls.instantiate import divergence_through

    step = frame.step("call", pos, f"calls `{summary.display}`")
    real = any(is_input(v) for v in bound.values())
    outputs: set[str] = set()
    partly: set[Partly] = set()
    for output in reach.outputs:
        passed = _passed(frame, summary, output, bound)
        if not output.startswith("="):
            name, mark, key = output.partition("#")
            frame.forwards.append((name.rstrip("~"), pos, real))
            outputs.add(output if real or "~" in name else f"{name}~{mark}{key}")
            continue
        outputs |= passed.outputs
        partly |= passed.partly
    for entry in reach.partly:
        divergence, deps = entry.divergence, NO_DEPS
        for name, how in entry.deps if divergence is None else ():
            value = bound.get(name)
            if value is not None:
                divergence = divergence or divergence_through(value, how)
                deps |= frozenset((p, how) for p, _ in value.deps)
        if entry.output.startswith("="):
            partly |= _passed(frame, summary, entry.output, bound).partly
        if divergence is None and not deps:
            continue
        if divergence is not None and entry.at is not None and summary.function is not None:
            place = Step("condition", summary.function.module.path, entry.at[0], entry.at[1], WITHOUT)
            divergence = divergence.then(place)
        divergence = divergence.then(step) if divergence is not None else None
        if not entry.output.startswith("="):
            if entry.divergence is None:
                # a place in another file is none here: the call is
                here = summary.function is None or summary.function.module is frame.module
                partly.add(entry._replace(divergence=divergence, deps=deps, at=entry.at if here else pos))
            continue
        told = NOT_TRAINED.search(entry.output) is not None or _reports(summary, entry)
        for output in _passed(frame, summary, entry.output, bound).outputs:
            if output.startswith("=") and told:
                continue  # the callee says what it is for, whatever it is called here, or has reported it
            partly.add(Partly(output, divergence, deps, None, entry.left_out and output.startswith("=")))
            if output == entry.output[1:].partition("#")[0]:
                frame.forwards.append((output, pos, True))  # the module itself is passed, and run there
    return Reach(frozenset(outputs), frozenset(p for p in partly if not covered(p.output, frozenset(outputs))))


def _reports(summary: Summary, entry: Partly) -> bool:
    """Whether a callee is a loss, and says itself that a part of a parameter reaches that on some ranks only."""
    known = entry.divergence is not None and "#" in entry.output and not entry.left_out
    return known and summary.function is not None and is_loss(summary.function.qualname)


def under_name(frame: Frame, value: Value, name: str) -> Value:
    """What a method of a module has returned, with the outputs of that module (`self(x)`) under its name here."""
    if not name or not frame.gradients:
        return value
    frame.forwards = [(name if known == ITSELF else known, pos, real) for known, pos, real in frame.forwards]
    if value.items is not None:
        value = value._replace(items=tuple([under_name(frame, v, name) for v in value.items]))
    if value.reach is None:
        return value
    outputs = frozenset(_named(o, name) for o in value.reach.outputs) or NOTHING
    partly = frozenset(p._replace(output=_named(p.output, name)) for p in value.reach.partly) or NOTHING
    return value._replace(reach=value.reach._replace(outputs=outputs, partly=partly))


def _named(output: str, name: str) -> str:
    return name + output[len(ITSELF) :] if re.match(rf"{ITSELF}(~|#|$)", output) else output


def _passed(frame: Frame, summary: Summary, output: str, bound: Mapping[str, Value]) -> Reach:
    """What an output of a callee is to the caller: a module that is passed stands for its own output where it is run
    there. What else a module has (`self.net.width`, `self.net.cp_group`) is none."""
    if not output.startswith("="):
        return reach_of(output)
    name, _, key = output[1:].partition("#")
    argument = bound.get(name)
    if argument is None or PLACES.search(name):
        return DETACHED
    if argument.reach is None and argument.module:
        return reach_of(name) if _is_run(frame, summary.function, name) else DETACHED
    if argument.items is not None and key.isdecimal() and int(key) < len(argument.items):
        return argument.items[int(key)].reach or DETACHED
    return (part(argument, key) if key else argument.reach) or DETACHED


def _is_run(frame: Frame, function: FunctionInfo | None, name: str) -> bool:
    """Whether a function calls its parameter, or a method of it, or hands it on to one of the project."""
    if function is None:
        return True
    if names_group(name):
        return False
    for call in function.calls:
        func = call.func
        while type(func) is f.Attr or type(func) is f.Subscript:
            func = func.base
        if type(func) is f.Name and func.id == name:
            return True
        given = (*call.args, *(value for _, value in call.keywords))
        if any(type(a) is f.Name and a.id == name for a in given):
            callee = frame.analysis.names.resolve(call.func, function.module)
            if not isinstance(callee, External):
                return True
    return False
