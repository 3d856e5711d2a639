"""Groups that are smaller than the job, of which there are several along the same axes.

Each rank has one of them as its own; a rank of the whole job is a member of one only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.axes import PRIVATE, UNKNOWN_GROUP, WITHIN_DP, WORLD, Axes, is_untold
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name, render
from ferrule_lint.semantics.project.nearness import Nearness

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: the strategy of FSDP that shards within groups of ranks, and keeps copies beyond them
_HYBRID = "HYBRID_SHARD"
_MESH = "init_device_mesh"


def axes_of(frame: Frame, expr: f.Expr, value: Value) -> Axes | None:
    """The axes of a group that is smaller than the job, by what it holds and is called; None if it may be all of it."""
    axes = value.group
    if axes is None or axes == UNKNOWN_GROUP:
        axes = None if _is_made_here(frame, expr) else frame.axes_in(render(expr))
    if axes is None or value.const == "None" or "world" in axes or is_untold(axes) or "private" in axes:
        return None
    return axes


def _is_made_here(frame: Frame, expr: f.Expr) -> bool:
    """Whether this function makes the group itself: it may well be of all ranks, whatever it is called."""
    made, _ = frame.definitions.get(place_name(expr), (None, 0))
    return type(made) is f.Call and last_name(made.func) == "new_group"


def has_siblings(frame: Frame, axes: Axes) -> bool:
    """Whether a job has several groups along these axes. Without any other axis in sight, data parallelism is the whole
    job, and so is the one dimension of a mesh."""
    known = [n for _, call in frame.module.calls_named(_MESH) if (n := dimensions_of(call))]
    if axes <= WITHIN_DP and not any(_is_other_axis(frame, name) for name in frame.module.mentions):
        return max(known, default=1) > 1
    return not known or max(known) > 1


def is_of_shards(frame: Frame, expr: f.Expr) -> bool:
    """Whether a group is the one over which something is sharded, in a program that shards over a part of the ranks:
    that of a parameter's mesh (`parameter.device_mesh.get_group()`) where meshes have several dimensions, that of a
    wrapper (`fsdp_model.process_group`) where somebody speaks of hybrid sharding."""
    made = _made_of(frame, expr) if type(expr) is f.Name else expr
    if type(made) is f.Attr and made.attr == "process_group":
        return "fsdp" in last_name(made.base).lower() and _is_near(frame, frame.analysis.names.mentioning(_HYBRID))
    if type(made) is not f.Call or type(made.func) is not f.Attr or made.func.attr != "get_group":
        return False
    base = made.func.base
    mesh = _made_of(frame, base) if type(base) is f.Name else base
    if type(mesh) is not f.Attr or mesh.attr != "device_mesh" or render(mesh.base) == frame.self_name:
        return False
    modules = frame.analysis.names.mentioning(_MESH)
    return _is_near(frame, [m for m in modules if any(_is_wide(call) for _, calls in m.calls() for call in calls)])


def _is_near(frame: Frame, modules: list[ModuleInfo]) -> bool:
    return bool(modules) and frame.module.path in Nearness(frame.analysis, [m.path for m in modules])


def _made_of(frame: Frame, expr: f.Name) -> f.Expr | None:
    """What a name is set to, where it is set to one thing."""
    body = frame.function.body if frame.function is not None else frame.module.body
    made = {render(value): value for value in frame.analysis.bodies.assigned(body, expr.id)}
    return next(iter(made.values())) if len(made) == 1 else None


def _is_other_axis(frame: Frame, name: str) -> bool:
    axes = frame.models.convention("axis", name)
    if axes is None:
        return name == "mpu"  # Megatron's model parallel unit, as libraries are handed it
    return bool(axes) and not (WITHIN_DP | WORLD | PRIVATE).intersection(axes)


def _is_wide(call: f.Call) -> bool:
    """Whether a mesh is made with several dimensions, or with as many as something else says."""
    return last_name(call.func) == _MESH and dimensions_of(call) != 1


def dimensions_of(call: f.Call) -> int:
    """How many dimensions a mesh is made with; 0: not a mesh, or not known."""
    if last_name(call.func) != _MESH:
        return 0
    shape = next((v for k, v in call.keywords if k == "mesh_shape"), call.args[1] if len(call.args) > 1 else None)
    return len(shape.elements) if type(shape) is f.Sequence else 0
