"""Which numbering a rank is counted in: `src`, `dst` and `peer` are ranks of the whole job, also in a group.

A rank's place in its group (`get_rank(group)`, `mesh.get_local_rank()`) is the same number only in the first group. The
other way round, `group_src` and `group_dst` want a place in the group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.frame import CallIssue
from ferrule_lint.semantics.lattice import Axes, Divergence, Value
from ferrule_lint.semantics.text import position, render, shown
from ferrule_lint.semantics.trace import Event

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls import Arguments
    from ferrule_lint.semantics.frame import Frame

#: function of torch.distributed -> the argument that is a global rank, where it stands, and where the group does
_ROOTS = {
    "broadcast": ("src", 1, 2),
    "broadcast_object_list": ("src", 1, 2),
    "reduce": ("dst", 1, 3),
    "gather": ("dst", 2, 3),
    "gather_object": ("dst", 2, 3),
    "scatter": ("src", 2, 3),
    "scatter_object_list": ("src", 2, 3),
    "send": ("dst", 1, 2),
    "isend": ("dst", 1, 2),
    "recv": ("src", 1, 2),
    "irecv": ("src", 1, 2),
    "P2POp": ("peer", 2, 3),
}


def check(frame: Frame, dotted: str, arguments: Arguments) -> None:
    """An issue at a call of torch.distributed that is given a rank of the wrong numbering."""
    library, _, name = dotted.rpartition(".")
    known = _ROOTS.get(name)
    if library != "torch.distributed" or known is None or frame.light:
        return
    argument, place, group_place = known
    group = _group(frame, arguments.expression("group", group_place))
    if group is None:
        return
    divergence = _rank_of(frame, arguments.expression(argument, place))
    if divergence is not None and divergence.axes == group:
        message = (
            f"`{argument}` is a rank of the whole job, but this is a place in the group:"
            f" convert it, or pass `group_{argument}`"
        )
        _issue(frame, name, arguments, divergence, group, message)
    divergence = _rank_of(frame, arguments.expression(f"group_{argument}", None))
    if divergence is not None and "world" in divergence.axes:
        message = f"`group_{argument}` is a place in the group, but this is a rank of the whole job: pass `{argument}`"
        _issue(frame, name, arguments, divergence, group, message)


def _group(frame: Frame, expr: f.Expr | None) -> Axes | None:
    """The axes of a group that is smaller than the job, or None if it may be all of it."""
    if expr is None:
        return None
    value = frame.eval(expr)
    axes = value.group or frame.axes_in(render(expr))
    if axes is None or value.const == "None" or "world" in axes or "?" in axes or "private" in axes:
        return None
    return axes


def _rank_of(frame: Frame, expr: f.Expr | None) -> Divergence | None:
    """The divergence of a rank that certainly was asked for: names alone do not tell the numbering."""
    if expr is None:
        return None
    value: Value = frame.eval(expr)
    divergence = value.divergence
    if divergence is None or divergence.kind != "rank" or divergence.confidence < Confidence.HIGH:
        return None
    return divergence.then(frame.step("flow", position(expr), f"`{shown(expr)}` is passed as a rank"))


def _issue(frame: Frame, name: str, arguments: Arguments, divergence: Divergence, group: Axes, message: str) -> None:
    pos = arguments.expr.pos
    event = Event(
        name, group, "", frame.module.path, pos, Confidence.MEDIUM, False, f"`{render(arguments.expr.func)}` is called"
    )
    frame.issues.append(CallIssue("FER402", pos, divergence, event, message))
