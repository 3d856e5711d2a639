"""The group that a number of buffers speaks of: `[empty_like(x) for _ in range(tp_size)]` has one for each rank of a
group that is smaller than the job.

The number is asked of a group or a mesh, here, by a caller that passes it, or by the constructor that keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.arithmetic import factors
from ferrule_lint.semantics.domain.axes import Axes
from ferrule_lint.semantics.domain.text import last_name, place_name, render
from ferrule_lint.semantics.project import options
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_DEEPEST = 3
#: calls of a function that are looked at for the number of ranks that they pass; callers are gone through for values
_MOST_CALLS, _LAYER = 8, 1
#: names of a group that tell nothing of it but that it is one
_OF_ALL = re.compile(r"(torch_|dist_|comm_|parallel_|reduce_|gather_|sync_)?(process_)?group|(dist_)?pg|communicator")
#: who asks for the size of a group by its name
_SIZE_OF = re.compile(r"(get_)?\w+_(world_)?size")
#: without a mesh of several axes, data parallelism is the whole job
_PARTS: Axes = frozenset({"tp", "pp", "cp", "ep"})
GATHERS = ("all_gather", "all_gather_object")


def group_parameters(frame: Frame) -> Iterator[str]:
    """Parameters that are the group of all that the function does: `group`; `tp_group` is for a part of it."""
    if frame.function is None:
        return
    for parameter in frame.function.parameters:
        if parameter.kind in ("normal", "keyword") and _OF_ALL.fullmatch(parameter.name):
            yield parameter.name


def _counted(frame: Frame, expr: f.Expr | None, depth: int) -> str:
    """The group that is smaller than the job and whose ranks a list of buffers counts, as text; or ""."""
    if expr is None or depth > _DEEPEST:
        return ""
    if type(expr) is f.Comprehension and len(expr.generators) == 1:
        iterable = expr.generators[0].iterable
        if type(iterable) is f.Call and last_name(iterable.func) == "range" and len(iterable.args) == 1:
            return _of_number(frame, iterable.args[0], depth)
    if type(expr) is f.Op and expr.kind == "Mult":
        numbers = [o for o in expr.operands if type(o) is not f.Sequence]
        return _of_number(frame, numbers[0], depth) if len(numbers) == 1 else ""
    if type(expr) is f.Name:
        return _assigned(frame, expr, depth, _counted)
    return ""


def _blocks(frame: Frame, expr: f.Expr | None, depth: int) -> str:
    """The group that is smaller than the job and of whose ranks a buffer holds a part each, as text; or ""."""
    if type(expr) is f.Name and depth <= _DEEPEST:
        return _assigned(frame, expr, depth, _blocks)
    if type(expr) is not f.Call or last_name(expr.func) not in _MAKES:
        return ""
    size = next((v for k, v in expr.keywords if k == "size"), expr.args[0] if expr.args else None)
    return _of_rows(frame, size, depth) if size is not None else ""


def _of_rows(frame: Frame, size: f.Expr, depth: int) -> str:
    """The same for the size of a buffer, of which the first dimension counts."""
    if type(size) is f.Name and depth <= _DEEPEST and (found := _assigned(frame, size, depth, _of_rows)):
        return found
    if type(size) is f.Op and size.kind == "Add" and type(size.operands[0]) is f.Sequence:
        size = size.operands[0]
    if type(size) is f.Sequence:
        return _of_rows(frame, size.elements[0], depth) if size.elements else ""
    counts = [factor for factor in factors(size) if _counts_ranks(frame, factor)]
    return _of_number(frame, counts[0], depth) if len(counts) == 1 else ""


def _counts_ranks(frame: Frame, expr: f.Expr) -> bool:
    """Whether a number is one of ranks, by its name or by what it asks."""
    name = last_name(expr.func if type(expr) is f.Call else expr)
    if "world" in name or (name.endswith("_size") and frame.axes_in(name)):
        return True
    body = frame.function.body if type(expr) is f.Name and frame.function is not None else ()
    made = frame.analysis.bodies.assigned(body, name) if body else []  # `n = dist.get_world_size(group)`
    return bool(made) and all(type(v) is f.Call and last_name(v.func) == "get_world_size" for v in made)


#: what makes a tensor of a size that is written out
_MAKES = frozenset("empty zeros ones full new_empty new_zeros new_ones new_full".split())
COUNTED: dict[str, Callable[[Frame, f.Expr | None, int], str]] = {
    **dict.fromkeys(GATHERS, _counted), "all_gather_into_tensor": _blocks,
}  # fmt: skip


def _of_number(frame: Frame, expr: f.Expr, depth: int) -> str:
    if type(expr) is f.Call and not expr.args and not expr.keywords and _SIZE_OF.fullmatch(last_name(expr.func)):
        axes = frame.axes_in(last_name(expr.func))
        return render(expr.func) if axes and axes <= _PARTS else ""
    if type(expr) is f.Call and last_name(expr.func) == "get_world_size":
        group = next((v for k, v in expr.keywords if k == "group"), expr.args[0] if expr.args else None)
        if group is None:
            return ""
        value = frame.eval(group)
        axes = value.group or frame.axes_in(render(group))
        given = type(group) is f.Name and group.id in group_parameters(frame)
        known = axes is not None and axes <= _PARTS and bool(axes)
        if value.const == "None" or (type(group) is f.Name and frame.version(group.id)):
            return ""
        return render(group) if known or given else ""
    name = last_name(expr)
    if name.endswith("_size") and frame.models.convention("uniform", name) is not None:
        axes = frame.axes_in(name)
        if axes and axes <= _PARTS:
            return "" if type(expr) is f.Name and _is_of_job(frame, expr) else render(expr)
    if type(expr) is not f.Name or depth > _DEEPEST:
        return _kept(frame, expr, depth) if type(expr) is f.Attr else ""
    return _assigned(frame, expr, depth, _of_number) or _handed(frame, expr, depth)


def _handed(frame: Frame, expr: f.Name, depth: int) -> str:
    """The same of a parameter, if all callers pass the number of ranks in one such group."""
    function = frame.function
    if function is None or frame.version(expr.id) or is_test(frame.module.path):
        return ""
    sites = options.calls_outside_tests(frame.analysis, function)
    found: set[str] = set()
    for module, caller, call in sites if len(sites) <= _MOST_CALLS else ():
        given = options.passed(call, function, function.owner is not None, expr.id)
        by = frame.analysis.caller(module, caller, _LAYER)
        found.add(_of_number(by, given, depth + 1) if given is not None else "")
    return found.pop() if len(found) == 1 else ""


def _kept(frame: Frame, expr: f.Attr, depth: int) -> str:
    """The same of an attribute of the instance, as its constructor sets it."""
    owner, name = frame.self_class, frame.own_attribute(place_name(expr))
    made = owner.methods.get("__init__") if owner is not None and name else None
    if made is None or made is frame.function or depth > _DEEPEST or not made.parameters:
        return ""
    by = frame.analysis.caller(made.module, made, _LAYER)
    values = frame.analysis.bodies.assigned(made.body, f"{made.parameters[0].name}.{name}")
    found = {_of_number(by, value, depth + 1) for value in values}
    return found.pop() if len(found) == 1 else ""


def _is_of_job(frame: Frame, expr: f.Name) -> bool:
    """Whether the size of all of the job is put under the name of a group's: `tp_size = dist.get_world_size()`."""
    bodies = (frame.function.body if frame.function is not None else (), frame.module.body)
    made = (value for body in bodies for value in frame.analysis.bodies.assigned(body, expr.id))
    return any(
        type(value) is f.Call and last_name(value.func) == "get_world_size" and not value.args and not value.keywords
        for value in made
    )


def _assigned(frame: Frame, expr: f.Name, depth: int, ask: Callable[[Frame, f.Expr, int], str]) -> str:
    body = frame.function.body if frame.function is not None else frame.module.body
    found = {ask(frame, value, depth + 1) for value in frame.analysis.bodies.assigned(body, expr.id)}
    return found.pop() if len(found) == 1 else ""
