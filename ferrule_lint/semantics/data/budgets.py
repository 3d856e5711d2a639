"""Batch samplers of a project that close a batch when the sum of its samples' lengths reaches a limit.

A library's sampler deals out as many samples to each rank, and `order[rank::world_size]` as good as that, but they are
not as long: what is cut by `tokens + length > limit` are more batches on one rank than on another. Who evens that out
asks how many ranks there are, or asks them.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from typing import TYPE_CHECKING, TypeGuard

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import even_samplers
from ferrule_lint.semantics.data.where_given import scope_of
from ferrule_lint.semantics.domain.axes import DP
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.text import last_name, place_name, position, variables
from ferrule_lint.semantics.project.options import passed

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

_ORDER = frozenset({"<", "<=", ">", ">="})
#: who knows of the other ranks may give all of them as many batches
_OTHERS = re.compile(r"rank|replicas|world|shard|(^|_)(all_)?(reduce|gather)|broadcast")


def of_sampler(frame: Frame, made: f.Expr, info: ClassInfo) -> Divergence | None:
    """Why a batch sampler, made by a call, yields another number of batches on each rank."""
    methods = [m for c in frame.analysis.names.mro(info) for m in c.methods.values() if m.parameters]
    loops = [(m, loop) for m in methods for loop in statements(m.body) if type(loop) is f.For and _cuts(loop)]
    if type(made) is not f.Call or not loops:
        return None
    every_nth = [s for m in methods for s in statements(m.body) if _deals_out(s)]
    known = {id(n) for s in every_nth for n in walk(s.value)}
    known |= {id(n) for m in methods for s in statements(m.body) if _tells_place(s) for n in walk((s,))}
    if any(_knows_others(m, known) for m in methods):
        return None
    for method, loop in loops:
        walked = _plain(loop.iterable)
        dealt = any(_is_place(s, place_name(walked)) for s in every_nth)
        if dealt or _walks_own(frame, made, info, method, walked):
            note = f"`{info.name}` closes a batch where the lengths of this rank's samples add up to a limit"
            place = position(made) or (loop.line, loop.column, loop.line, loop.column)
            return frame.source(DP, "rank", place, note, Confidence.MEDIUM)
    return None


def _plain(walked: f.Expr) -> f.Expr:
    while type(walked) is f.Call and walked.args and last_name(walked.func) in ("enumerate", "tqdm", "iter"):
        walked = walked.args[0]
    return walked


# ---------------------------------------------------------------- what is cut
def _cuts(loop: f.For) -> bool:
    """Whether a batch ends in a loop where a sum over its samples does not fit any more, and another sum begins."""
    sums = set(_sums(loop))
    if not sums:
        return False
    made = {t.id: s.value for s in statements(loop.body) if type(s) is f.Assign for t in s.targets if type(t) is f.Name}
    for test in [s for s in statements(loop.body) if type(s) is f.If]:
        asked = {n for c in walk(test.test) if type(c) is f.Compare and _ORDER & set(c.ops) for n in variables(c)}
        asked |= {n for name in asked if made.get(name) for n in variables(made[name])}
        begun = {t.id for arm in (test.body, test.orelse) for s in statements(arm) for t in _targets(s)}
        if asked & sums and begun & sums and any(_hands_out(arm) for arm in (test.body, test.orelse)):
            return True
    return False


def _sums(loop: f.For) -> Iterator[str]:
    """Variables that grow by something of each sample; not those that count samples."""
    for s in statements(loop.body):
        if type(s) is f.AugAssign and s.op == "Add" and type(s.target) is f.Name and type(s.value) is not f.Const:
            yield s.target.id
        elif type(s) is f.Assign and s.value is not None and len(s.targets) == 1 and type(s.targets[0]) is f.Name:
            name, value = s.targets[0].id, s.value
            added = type(value) is f.Op and value.kind == "Add" and not any(type(o) is f.Const for o in value.operands)
            largest = type(value) is f.Call and last_name(value.func) == "max"
            if (added or largest) and name in variables(value):
                yield name


def _targets(s: f.Stmt) -> Iterator[f.Name]:
    for target in s.targets if type(s) is f.Assign else ():
        parts = target.elements if type(target) is f.Sequence else (target,)
        yield from (part for part in parts if type(part) is f.Name)


def _hands_out(arm: f.Body) -> bool:
    """`yield batch`, `batches.append(batch)`, where the batch is begun anew."""
    begun = {t.id for s in statements(arm) for t in _targets(s)}
    for node in walk(arm):
        if type(node) is f.Yield and node.value is not None and begun & variables(node.value):
            return True
        called = node if type(node) is f.Call and type(node.func) is f.Attr and node.func.attr == "append" else None
        if called is not None and any(type(batch) is f.Name and batch.id in begun for batch in called.args):
            return True
    return False


# -------------------------------------------------------- what it is made from
def _walks_own(frame: Frame, made: f.Call, info: ClassInfo, method: FunctionInfo, walked: f.Expr) -> bool:
    """Whether what is walked are the samples that a library has dealt out to this rank: a sampler that the class
    makes, or that it is passed."""
    place = place_name(walked)
    own, _, name = place.rpartition(".")
    if own != method.parameters[0].name or method.is_static:
        return False
    constructor = frame.analysis.names.method(info, "__init__")
    if constructor is None or not constructor.parameters:
        return False
    target = f"{constructor.parameters[0].name}.{name}"
    for s in statements(constructor.body):
        if type(s) is not f.Assign or s.value is None or target not in map(place_name, s.targets):
            continue
        if _is_dealt(frame, s.value, info):
            return True
        given = passed(made, constructor, True, s.value.id) if type(s.value) is f.Name else None
        if given is not None and even_samplers.is_given(frame, scope_of(frame), given):
            return True
    return False


def _is_dealt(frame: Frame, value: f.Expr, info: ClassInfo) -> bool:
    return type(value) is f.Call and even_samplers.is_made(frame, value, info.module)


def _deals_out(s: f.Stmt) -> TypeGuard[f.Assign]:
    """`order = order[self.rank :: self.world_size]`"""
    if type(s) is not f.Assign or type(s.value) is not f.Subscript or len(s.targets) != 1:
        return False
    index = s.value.index
    if type(index) is not f.Op or index.kind != "Slice":
        return False
    begin, _, step = index.operands
    return _OTHERS.search(last_name(begin)) is not None and _OTHERS.search(last_name(step)) is not None


def _tells_place(s: f.Stmt) -> bool:
    """Whether a statement does nothing but set a rank and a number of ranks: `self.rank = get_rank()`, also under
    `if rank is None`."""
    if type(s) is f.If:
        return not s.orelse and all(map(_tells_place, s.body))
    if type(s) is not f.Assign or len(s.targets) != 1:
        return False
    target = s.targets[0]
    places = target.elements if type(target) is f.Sequence else (target,)
    return all(_OTHERS.search(last_name(place)) for place in places)


def _is_place(s: f.Assign, place: str) -> bool:
    return bool(place) and place_name(s.targets[0]) == place


def _knows_others(method: FunctionInfo, known: Container[int]) -> bool:
    """Whether a method speaks of the other ranks, but to a library's sampler, and elsewhere than in nodes that are
    `known` by their identity."""
    told = {id(n) for c in walk(method.body) if type(c) is f.Call and _is_sampler(c) for n in walk(c)}
    nodes = [n for n in walk(method.body) if id(n) not in told and id(n) not in known]
    words = [n.id for n in nodes if type(n) is f.Name] + [n.attr for n in nodes if type(n) is f.Attr]
    return any(_OTHERS.search(word) for word in words)


def _is_sampler(call: f.Call) -> bool:
    return last_name(call.func).endswith("Sampler")
