"""In which group a rank is counted: `pp_group.rank`, `rank_in(group)`, `local_rank(Mode.COLUMN)`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.axes import UNKNOWN_GROUP, WORLD, Axes
from ferrule_lint.semantics.domain.text import last_name, render
from ferrule_lint.semantics.groups import dimensions

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


#: names of arguments that tell in which group a rank is counted
_WAY = re.compile(r"(^|_)(mode|modes|axis|dim|mesh_dim)$|^ParallelMode$", re.IGNORECASE)


#: names of meshes, of which a part is taken by the name of its dimension
_MESH = re.compile(r"(^|_)mesh$")
#: names of what says of the whole job how many ranks it has, wherever they stand
_OF_THE_JOB = re.compile(r"_?((distributed|global|total)_)?world_size|num_processes|nprocs", re.IGNORECASE)


def is_size_of_job(name: str) -> bool:
    """Whether an attribute or parameter is the number of all ranks by its name, and not that of some group."""
    return _OF_THE_JOB.fullmatch(name) is not None


def is_world_size(name: str) -> bool:
    return ("world_size" in name and "rank" not in name) or name in (
        "num_processes",
        "get_num_processes",
        "nprocs",
        "num_replicas",
    )


def rank_axes(frame: Frame, named: Axes, e: f.Expr) -> Axes:
    """The axes of what the name of `e` says is a rank: in `pp_group.rank` or `rank_in(pp_group)` the group tells."""
    if named == WORLD:
        function = e.func if type(e) is f.Call else e
        near = [function.base] if type(function) is f.Attr else []
        if near and type(near[0]) is f.Subscript:
            of_mesh = _MESH.search(last_name(near[0].base)) is not None
            key = dimensions.key_in(near[0].index)
            if key and (of_mesh or last_name(function) == "get_local_rank"):
                return dimensions.axes_of(frame, key)  # `mesh["tp"].get_local_rank()`
            if of_mesh:
                return frame.axes_in(render(near[0].index)) or UNKNOWN_GROUP
        if type(e) is f.Call and near and last_name(function) in _ASKED and (told := _receiver(frame, e, near[0])):
            return told
        for group in (*near, *(e.args[:1] if type(e) is f.Call else ())):
            if frame.models.convention("group", last_name(group)) is not None:
                return frame.axes_in(render(group)) or WORLD
        if type(e) is f.Call and (way := asked_of(e)) is not None:
            # a member of an enumeration has the bare name of its axis: `Mode.PIPELINE`
            return (
                frame.axes_in(render(way)) or frame.axes_in(f"{last_name(way).lower()}_parallel_group") or UNKNOWN_GROUP
            )
    return named or frame.axes_in(render(e)) or WORLD


#: methods of meshes and groups that answer with this rank's place in them
_ASKED = frozenset({"get_local_rank", "rank"})


def _receiver(frame: Frame, call: f.Call, asked: f.Expr) -> Axes | None:
    """The axes of the mesh or group that is asked for a place in it: by the dimension that is passed, by what it was
    taken from (`pp = mesh["pp"]`), by its name."""
    if call.args or call.keywords:
        given = call.args[0] if call.args else call.keywords[0][1]
        key = dimensions.key_in(given) if last_name(call.func) == "get_local_rank" else ""
        return dimensions.axes_of(frame, key) if key else None
    made = definition(frame, asked)
    if type(made) is f.Subscript and (key := dimensions.key_in(made.index)):
        return dimensions.axes_of(frame, key)
    return frame.axes_in(last_name(asked))


def of_mode(frame: Frame, e: f.Expr) -> Axes | None:
    """The axes of a mode of parallelism that is named in its enumeration, and of the group that is asked for by it:
    `ParallelMode.DATA`, `grid.get_group(ParallelMode.DATA)`."""
    way = asked_of(e) if type(e) is f.Call else e
    if type(way) is not f.Attr or not last_name(way.base).endswith("ParallelMode"):
        return None
    return frame.axes_in(f"{last_name(way).lower()}_parallel_group")


def asked_of(call: f.Call) -> f.Expr | None:
    """What a question for a rank names the group by, other than the group itself: `local_rank(Mode.COLUMN)`,
    `get_local_rank(mesh_dim=i)`."""
    for name, way in (*((None, a) for a in call.args[:1]), *call.keywords):
        of_enum = type(way) is f.Attr and _WAY.search(last_name(way.base)) is not None
        if of_enum or _WAY.search(name or "") or (type(way) is not f.Const and _WAY.search(last_name(way))):
            return way
    return None
