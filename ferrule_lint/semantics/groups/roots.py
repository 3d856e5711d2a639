"""Which numbering a rank is counted in: `src`, `dst` and `peer` are ranks of the whole job, also in a group.

A rank's place in its group (`get_rank(group)`, `mesh.get_local_rank()`) is the same number only in the first group, and
a number that is written out is in one of the groups only. The other way round, `group_src` and `group_dst` want a place
in the group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.axes import WORLD, Axes
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import position, render, shown
from ferrule_lint.semantics.domain.trace import Event
from ferrule_lint.semantics.groups import all_ranks, given_groups, no_member, written_roots
from ferrule_lint.semantics.groups.never_given import is_left_out
from ferrule_lint.semantics.groups.numbering import Places, starts_block
from ferrule_lint.semantics.groups.parts_of_job import axes_of
from ferrule_lint.semantics.walk.frame import CallIssue

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

#: collective of torch.distributed -> the argument that is a global rank, where it stands, and where the group does
ROOTS = {
    "broadcast": ("src", 1, 2),
    "broadcast_object_list": ("src", 1, 2),
    "reduce": ("dst", 1, 3),
    "gather": ("dst", 2, 3),
    "gather_object": ("dst", 2, 3),
    "scatter": ("src", 2, 3),
    "scatter_object_list": ("src", 2, 3),
}
#: the same of transfers
_PEERS = {
    "send": ("dst", 1, 2),
    "isend": ("dst", 1, 2),
    "recv": ("src", 1, 2),
    "irecv": ("src", 1, 2),
    "P2POp": ("peer", 2, 3),
}


def check(frame: Frame, dotted: str, arguments: Arguments) -> None:
    """An issue at a call of torch.distributed that is given a rank of the wrong numbering."""
    library, _, name = dotted.rpartition(".")
    known = ROOTS.get(name) or _PEERS.get(name)
    if library != "torch.distributed" or known is None or frame.light:
        return
    argument, place, group_place = known
    expr, group_expr = arguments.expression(argument, place), arguments.expression("group", group_place)
    if group_expr is None or (type(group_expr) is f.Const and group_expr.text == "None"):
        return
    if expr is not None and (outside := no_member.told(frame, expr, group_expr)) is not None:
        root, group_name = shown(definition(frame, expr)), render(group_expr)
        message = f"`{argument}` is rank {root} of the job, which is no member of `{group_name}`"
        _issue(frame, name, arguments, outside, WORLD, message)
        return
    group = axes_of(frame, group_expr, frame.eval(group_expr))
    if expr is not None and group is not None and (other := _of_other_axes(frame, expr, group)) is not None:
        message = f"`{argument}` is a member of another group of this rank than `{shown(group_expr)}`"
        _issue(frame, name, arguments, other, group, message)
        return
    if expr is not None and (told := _misnumbered(frame, expr, group_expr, group)) is not None:
        divergence, what = told
        if is_left_out(frame, group_expr) or all_ranks.are_in(frame, group_expr):
            divergence = divergence.at_most(Confidence.LOW)
        message = f"`{argument}` is a rank of the whole job, but {what}: convert it, or pass `group_{argument}`"
        _issue(frame, name, arguments, divergence, group or divergence.axes, message)
        return
    rank = _rank_of(frame, arguments.expression(f"group_{argument}", None))
    if group is not None and rank is not None and "world" in rank.axes:
        message = f"`group_{argument}` is a place in the group, but this is a rank of the whole job: pass `{argument}`"
        _issue(frame, name, arguments, rank, group, message)


#: the axes whose names say enough; those of context and expert parallelism are often part of another's group
_PLAIN = frozenset({"tp", "pp", "dp"})


def _of_other_axes(frame: Frame, expr: f.Expr, group: Axes) -> Divergence | None:
    """Why a rank of the job is the first or last member of a group along other axes, by which function tells it
    (`get_tensor_model_parallel_src_rank()`): it is no member of this one, or each of its members means another."""
    made = definition(frame, expr)
    model = frame.analysis.model_of(frame.module, made) if type(made) is f.Call else None
    if model is None or not model.root_of or not group <= _PLAIN or group == frozenset(model.root_of):
        return None
    note = f"`{shown(made)}` is a member of this rank's group along {', '.join(model.root_of)}"
    divergence = frame.source(group, "rank", position(made), note, Confidence.MEDIUM)
    return divergence.then(frame.step("flow", position(expr), f"`{shown(expr)}` is passed as a rank"))


def _misnumbered(frame: Frame, expr: f.Expr, group: f.Expr, axes: Axes | None) -> tuple[Divergence, str] | None:
    """Why an expression is no rank of the whole job, or one of other groups, and in words what it is: told by its
    value, by where it comes from and what it is compared with; `axes`: of the group, if it is known to be smaller than
    the job."""
    place = "this is a place in the group"
    rank = None if starts_block(frame, expr) else _rank_of(frame, expr)
    if rank is not None and rank.axes == axes:
        return rank, place
    if frame.eval(group).group == WORLD:
        return None
    places = Places(frame, group, axes)
    found: f.Expr | None = None if type(expr) is f.Const else places.derived(expr) or places.compared(expr)
    if found is None:
        told = written_roots.outside(frame, expr, group, axes, places)
        if told is not None:
            return told[0], f"{told[1]} is in one of the groups only"
        handed = _handed(frame, expr, group)
        return None if handed is None else (handed, place)
    note = f"`{shown(found)}` counts in `{shown(group)}`"
    divergence = frame.source(axes or WORLD, "rank", position(found), note, Confidence.MEDIUM)
    return divergence.then(frame.step("flow", position(expr), f"`{shown(expr)}` is passed as a rank")), place


def _handed(frame: Frame, expr: f.Expr, group: f.Expr) -> Divergence | None:
    """Why a parameter is a place in the group that is handed over beside it: `share(x, get_rank(group), group)`."""
    if type(expr) is not f.Name or frame.version(expr.id):
        return None
    by = given_groups.handed(frame, group, expr.id, lambda by: _place_of(by) is not None)
    found = _place_of(by) if by is not None else None
    if by is None or found is None:
        return None
    axes = axes_of(by.frame, by.group, by.frame.seen(by.group))
    note = f"`{shown(found)}` counts in `{shown(by.group)}`"
    divergence = by.frame.source(axes or WORLD, "rank", position(found), note, Confidence.MEDIUM)
    step = frame.step("flow", position(expr), f"it is named as a rank of the job for `{shown(group)}`")
    return divergence.then(by.frame.step("call", by.call.pos, "passed on here")).then(step)


def _place_of(by: given_groups.Handed) -> f.Expr | None:
    """The question for a place in the group that a caller hands over, from which it works out the root beside it."""
    if by.root is None or by.frame.seen(by.group).group == WORLD or starts_block(by.frame, by.root):
        return None
    axes = axes_of(by.frame, by.group, by.frame.seen(by.group))
    return Places(by.frame, by.group, axes).derived(by.root)


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
        name, group, "", frame.module.path, pos, Confidence.MEDIUM, False, f"`{shown(arguments.expr.func)}` is called"
    )
    frame.issues.append(CallIssue("FER402", pos, divergence, event, message))
