"""The order in which gradients are made, reduced over the ranks, and used: is a backward still to come?

Gradients that are reduced before the last backward that feeds them lack its part, and every rank lacks another one;
reduced twice they are scaled twice. A step of the optimizer, or zeroed gradients, begin anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.conditions import Formula, negate
from ferrule_lint.semantics.domain.text import last_name, render, variables
from ferrule_lint.semantics.gradients import leaves

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

SYNC, BACKWARD, CLEAR = "sync", "backward", "clear"
#: what a function shows its callers
MOST = 8
_CLEARS = frozenset({"step", "zero_grad", "zero_grad_buffer"})


class Mark(NamedTuple):
    """Something done to gradients. `what`: the arguments as text, to tell whose gradients are reduced."""

    kind: str
    what: str
    pos: f.Pos
    conditions: tuple[Formula, ...]


def of_call(frame: Frame, e: f.Call) -> None:
    """A call that by its name makes gradients or uses them up."""
    name = last_name(e.func)
    if name == "backward":
        _mark(frame, BACKWARD, "", e.pos)
    elif name in _CLEARS and type(e.func) is f.Attr:
        _mark(frame, CLEAR, "", e.pos)


def of_collective(frame: Frame, e: f.Call) -> None:
    """A collective that is given a gradient (`all_reduce(p.grad)`)."""
    for argument in e.args[:1]:
        while type(argument) is f.Attr and argument.attr == "data":
            argument = argument.base
        if type(argument) is f.Attr and argument.attr == "grad" and not _is_own_leaf(frame, argument.base):
            _mark(frame, SYNC, "", e.pos)


def of_model(frame: Frame, e: f.Call) -> None:
    """A library's call that reduces the gradients of what it is given."""
    _mark(frame, SYNC, _arguments(e), e.pos)


def of_callee(frame: Frame, kinds: tuple[str, ...], call: f.Call | None, pos: f.Pos) -> None:
    """What a project function does to gradients, in its order."""
    if call is not None and kinds == (SYNC,) and any(_is_own_leaf(frame, argument) for argument in call.args[:1]):
        return
    for kind in kinds:
        _mark(frame, kind, _arguments(call) if call is not None and kinds == (SYNC,) else "", pos)


def _is_own_leaf(frame: Frame, expr: f.Expr) -> bool:
    """Whether something is a tensor that the function keeps the gradient of, and no parameter: an input, of which a
    backward pass that comes later and starts from what was detached knows nothing."""
    body = frame.function.body if frame.function is not None else ()
    if type(expr) is not f.Name or expr.id not in frame.analysis.bodies.once(leaves.of, body):
        return False
    return not any(type(s) is f.For and expr.id in variables(s.target) for s in statements(body))


def _arguments(e: f.Call) -> str:
    return ", ".join(render(a) for a in e.args) or (render(e.func.base) if type(e.func) is f.Attr else "?")


def _mark(frame: Frame, kind: str, what: str, pos: f.Pos) -> None:
    if not frame.light:
        frame.gradient_marks.append(Mark(kind, what, pos, tuple(frame.conditions)))


def shown(frame: Frame) -> tuple[str, ...]:
    """The kinds of what a function does, for its callers: runs of the same kind count once."""
    kinds: list[str] = []
    for mark in frame.gradient_marks:
        if not kinds or kinds[-1] != mark.kind:
            kinds.append(mark.kind)
    return tuple(kinds[:MOST])


def too_early(frame: Frame) -> list[tuple[Mark, Mark]]:
    """Reductions of gradients with a backward after them that feeds the same gradients: (reduction, backward)."""
    marks = frame.gradient_marks
    found: list[tuple[Mark, Mark]] = []
    for i, mark in enumerate(marks):
        if mark.kind != SYNC:
            continue
        rest = marks[i + 1 :]
        end = next((n for n, m in enumerate(rest) if m.kind == CLEAR), len(rest))
        later = next((m for m in rest[:end] if m.kind == BACKWARD and not _exclude(mark, m)), None)
        if later is None or later.pos == mark.pos:
            continue  # both in one call: told where that is defined
        after = rest[rest.index(later) + 1 : end]
        if any(m.kind == SYNC and (not m.what or m.what != mark.what) for m in after):
            continue  # each of two models has its own
        found.append((mark, later))
    return found


def _exclude(a: Mark, b: Mark) -> bool:
    """Whether no run does both."""
    return any(negate(condition) in b.conditions for condition in a.conditions)
