"""Which numbering a rank is counted in: `src`, `dst` and `peer` are ranks of the whole job, also in a group.

A rank's place in its group (`get_rank(group)`, `mesh.get_local_rank()`) is the same number only in the first group, and
a number that is written out is in one of the groups only. The other way round, `group_src` and `group_dst` want a place
in the group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.axes import DP, UNKNOWN_GROUP, WORLD, Axes
from ferrule_lint.semantics.domain.conditions import atoms, divergence_of
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, place_name, position, render, shown
from ferrule_lint.semantics.domain.trace import Event
from ferrule_lint.semantics.groups import all_ranks, callers, no_member, one_of_several
from ferrule_lint.semantics.groups.never_given import is_left_out
from ferrule_lint.semantics.groups.numbering import Places, starts_block
from ferrule_lint.semantics.project.nearness import Nearness
from ferrule_lint.semantics.sources import first_rank
from ferrule_lint.semantics.walk.frame import CallIssue

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

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
    expr, group_expr = arguments.expression(argument, place), arguments.expression("group", group_place)
    if group_expr is None or (type(group_expr) is f.Const and group_expr.text == "None"):
        return
    if expr is not None and (outside := no_member.told(frame, expr, group_expr)) is not None:
        root, group_name = shown(definition(frame, expr)), render(group_expr)
        message = f"`{argument}` is rank {root} of the job, which is no member of `{group_name}`"
        _issue(frame, name, arguments, outside, WORLD, message)
        return
    group = _group(frame, group_expr)
    divergence = None if expr is None or starts_block(frame, expr) else _rank_of(frame, expr)
    if divergence is None or divergence.axes != group:
        divergence = _counted(frame, expr, group_expr, group)
    if divergence is not None:
        if is_left_out(frame, group_expr) or all_ranks.are_in(frame, group_expr):
            divergence = divergence.at_most(Confidence.LOW)
        what = "this is a place in the group: convert it"
        if type(expr) is f.Const:
            what = f"{expr.text} is in one of the groups only: convert it"
        message = f"`{argument}` is a rank of the whole job, but {what}, or pass `group_{argument}`"
        _issue(frame, name, arguments, divergence, group or divergence.axes, message)
        return
    divergence = _rank_of(frame, arguments.expression(f"group_{argument}", None))
    if group is not None and divergence is not None and "world" in divergence.axes:
        message = f"`group_{argument}` is a place in the group, but this is a rank of the whole job: pass `{argument}`"
        _issue(frame, name, arguments, divergence, group, message)


def _counted(frame: Frame, expr: f.Expr | None, group: f.Expr, axes: Axes | None) -> Divergence | None:
    """Why an expression is a place in the group that is passed along, told from where it comes from and what it is
    compared with; `axes`: of the group, if it is known to be smaller than the job."""
    if expr is None or frame.eval(group).group == WORLD:
        return None
    places = Places(frame, group, axes)
    if type(expr) is f.Const:
        return _written_out(frame, expr, group, axes, places)
    found: f.Expr | None = places.derived(expr) or places.compared(expr)
    if found is None:
        return None
    note = f"`{shown(found)}` counts in `{render(group)}`"
    divergence = frame.source(axes or WORLD, "rank", position(found), note, Confidence.MEDIUM)
    return divergence.then(frame.step("flow", position(expr), f"`{shown(expr)}` is passed as a rank"))


def _written_out(frame: Frame, expr: f.Const, group: f.Expr, axes: Axes | None, places: Places) -> Divergence | None:
    """Why a rank that is written out is no member of the other groups along the same axes: there are others, or the
    same number is compared with a place in the group."""
    if not expr.text.isdigit():
        return None
    tested = False  # whether ranks have been told apart, which may let in those of one group
    for formula in frame.conditions:
        if first := first_rank.of(formula):
            if not first.startswith("!"):
                return None  # the first rank alone is here, in its own group
            continue
        divergence = divergence_of(formula)
        if divergence is not None and divergence.kind == "rank" and not divergence.axes & ((axes or WORLD) | WORLD):
            return None  # the test leaves one of the groups
        tested = tested or (divergence is not None and divergence.kind == "rank")
        if any("world" in atom.key.lower() for atom in atoms(formula)):
            return None  # the test asks whether the group is all of the job
    if callers.of_one_group(frame, axes or WORLD):
        return None
    compared = places.compared(expr)
    apart = _is_of_part_of_mesh(frame, group) if axes is None else _has_siblings(frame, axes)
    if compared is None and not apart and (tested or not one_of_several.is_one(frame, group)):
        return None
    note = f"rank {expr.text} is a member of one group like `{render(group)}`, the others have ranks of their own"
    if compared is not None:
        note = f"`{shown(compared)}` counts in `{render(group)}`"
    return frame.source(axes or WORLD, "rank", position(compared or group), note, frame.least_of_tests)


def _has_siblings(frame: Frame, axes: Axes) -> bool:
    """Whether a job has several groups along these axes. Without any other axis in sight, data parallelism is the whole
    job, and so is the one dimension of a mesh."""
    if axes == DP and not any(_is_other_axis(frame, name) for name in frame.module.mentions):
        return False
    sizes = [_dimensions(call) for call in walk(frame.module.body) if type(call) is f.Call]
    known = [n for n in sizes if n]
    return not known or max(known) > 1


def _is_of_part_of_mesh(frame: Frame, expr: f.Expr) -> bool:
    """Whether a group is the one of the mesh of a sharded parameter (`parameter.device_mesh.get_group()`), in a program
    that makes meshes of several dimensions: a parameter is sharded over a part of them."""
    made = _made_of(frame, expr) if type(expr) is f.Name else expr
    if type(made) is not f.Call or type(made.func) is not f.Attr or made.func.attr != "get_group":
        return False
    base = made.func.base
    mesh = _made_of(frame, base) if type(base) is f.Name else base
    if type(mesh) is not f.Attr or mesh.attr != "device_mesh" or render(mesh.base) == frame.self_name:
        return False
    modules = frame.analysis.names.mentioning("init_device_mesh")
    wide = [m.path for m in modules if any(_is_wide(call) for _, calls in m.calls() for call in calls)]
    return bool(wide) and frame.module.path in Nearness(frame.analysis, wide)


def _made_of(frame: Frame, expr: f.Name) -> f.Expr | None:
    """What a name is set to, where it is set to one thing."""
    body = frame.function.body if frame.function is not None else frame.module.body
    made = {render(value): value for value in frame.analysis.bodies.assigned(body, expr.id)}
    return next(iter(made.values())) if len(made) == 1 else None


def _is_other_axis(frame: Frame, name: str) -> bool:
    axes = frame.models.convention("axis", name)
    if axes is None:
        return name == "mpu"  # Megatron's model parallel unit, as libraries are handed it
    return bool(axes) and not set(axes) & {"dp", "world", "private"}


def _is_wide(call: f.Call) -> bool:
    """Whether a mesh is made with several dimensions, or with as many as something else says."""
    return last_name(call.func) == "init_device_mesh" and _dimensions(call) != 1


def _dimensions(call: f.Call) -> int:
    """How many dimensions a mesh is made with; 0: not a mesh, or not known."""
    if last_name(call.func) != "init_device_mesh":
        return 0
    shape = next((v for k, v in call.keywords if k == "mesh_shape"), call.args[1] if len(call.args) > 1 else None)
    return len(shape.elements) if type(shape) is f.Sequence else 0


def _group(frame: Frame, expr: f.Expr | None) -> Axes | None:
    """The axes of a group that is smaller than the job, or None if it may be all of it."""
    if expr is None:
        return None
    value = frame.eval(expr)
    axes = value.group
    if axes is None or axes == UNKNOWN_GROUP:
        axes = None if _is_made_here(frame, expr) else frame.axes_in(render(expr))
    if axes is None or value.const == "None" or "world" in axes or "?" in axes or "private" in axes:
        return None
    return axes


def _is_made_here(frame: Frame, expr: f.Expr) -> bool:
    """Whether this function makes the group itself: it may well be of all ranks, whatever it is called."""
    made, _ = frame.definitions.get(place_name(expr), (None, 0))
    return type(made) is f.Call and last_name(made.func) == "new_group"


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
