"""The dimensions of a device mesh, by the names that it was made with.

    mesh = init_device_mesh("cuda", (2, 4), mesh_dim_names=("outer", "inner"))

Ranks that differ along one dimension hold the same place along the others, whatever these are called. A name that says
what a dimension is for (`dp`, `tp`) is taken at its word. Of two that are both for data parallelism (`dp`, `fsdp`) the
outer one has the copies of a model and the inner one its parts. Any other dimension is an axis of its own.
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.device_mesh.DeviceMesh
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.axes import DP, REPLICATE, SHARD, WORLD, Axes, of_dimension
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, render

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_MAKERS = ("init_device_mesh", "DeviceMesh")


def axes_of(frame: Frame, key: str) -> Axes:
    """The axes of one dimension, or of what several were put together to."""
    axes = frame.axes_in(key)
    if axes is None:
        return of_dimension(key)
    if axes != DP:
        return axes
    if key == "fsdp":
        return SHARD
    for names in _made_in(frame):
        parallel = [name for name in names if frame.axes_in(name) in (DP, REPLICATE, SHARD)]
        if len(parallel) == 2 and key in parallel:
            return REPLICATE if key == parallel[0] else SHARD
    return DP


def key_in(expr: f.Expr) -> str:
    """The name of a dimension that is written in the code; "" for anything else."""
    text = expr.text if type(expr) is f.Const else ""
    return text.strip("'\"") if text[:1] in ("'", '"') else ""


def axes_named(frame: Frame, expr: f.Expr) -> Axes | None:
    """The axes that an expression for a group names: those of a dimension, or what its identifiers say."""
    key = key_in(expr) or _key_of(expr)
    return axes_of(frame, key) if key else frame.axes_in(render(expr))


def _key_of(expr: f.Expr) -> str:
    """The name of the dimension whose group is asked for: `mesh["fsdp"].get_group()`; "" for anything else."""
    func = expr.func if type(expr) is f.Call else None
    if type(func) is not f.Attr or func.attr != "get_group" or type(func.base) is not f.Subscript:
        return ""
    return key_in(func.base.index)


def coordinates(frame: Frame, call: f.Call, value: Value) -> Value:
    """What `mesh.get_coordinate()` hands back: a place along each dimension, in their order."""
    divergence = value.divergence
    names = _names_of(frame, call.func.base) if type(call.func) is f.Attr else ()
    names = names or _targets_of(frame, call)
    if divergence is None or not names:
        return value
    places = tuple(Value(divergence=divergence._replace(axes=axes_of(frame, name))) for name in names)
    return value._replace(items=places)


def place_along(frame: Frame, e: f.Subscript, coordinate: Value) -> Value | None:
    """The place along a dimension that is looked up by its name:
    `mesh.get_coordinate()[mesh.mesh_dim_names.index("pp")]`."""
    index, made = e.index, definition(frame, e.base)
    if type(index) is not f.Call or type(index.func) is not f.Attr or index.func.attr != "index" or not index.args:
        return None
    if coordinate.divergence is None or type(made) is not f.Call or last_name(made.func) != "get_coordinate":
        return None
    key = key_in(index.args[0])
    return Value(divergence=coordinate.divergence._replace(axes=axes_of(frame, key))) if key else None


def _targets_of(frame: Frame, call: f.Call) -> tuple[str, ...]:
    """The names that a coordinate is told apart under, if all of them say what a dimension is for:
    `pp, dp, tp = mesh.get_coordinate()`."""
    body = frame.module.body if frame.function is None else frame.function.body
    for s in statements(body):
        if type(s) is f.Assign and s.value == call and type(s.targets[0]) is f.Sequence:
            names = tuple(last_name(t) for t in s.targets[0].elements)
            return names if all(frame.axes_in(name) not in (None, WORLD) for name in names) else ()
    return ()


def _names_of(frame: Frame, mesh: f.Expr) -> tuple[str, ...]:
    """The names of a mesh's dimensions: of the call that it was made by here, or of the only one in the file."""
    made = definition(frame, mesh)
    names = _said(made) if type(made) is f.Call else ()
    if names:
        return names
    found = set(_made_in(frame))
    return found.pop() if len(found) == 1 else ()


def _made_in(frame: Frame) -> list[tuple[str, ...]]:
    calls = [call for name in _MAKERS for _, call in frame.module.calls_named(name)]
    return [names for call in calls if (names := _said(call))]


def _said(call: f.Call) -> tuple[str, ...]:
    given = next((value for name, value in call.keywords if name == "mesh_dim_names"), None)
    names = [key_in(item) for item in given.elements] if type(given) is f.Sequence else []
    return tuple(names) if all(names) else ()
