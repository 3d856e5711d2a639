"""Samplers of the project that visibly leave some ranks less than others.

Such a sampler knows its rank mostly to make the shares even, which is done in so many ways that nothing is said of them
as a rule. Two forms speak for themselves: every n-th of all that there are, and parts of equal size of which the last
ends with the data (torch's `DistributedSampler` without its padding, as evaluations have it).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements, walk
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.lattice import Value
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

_COUNTS = frozenset("Mod FloorDiv Div Mult Add Sub".split())
#: what makes the shares longer
_FILLS = frozenset("extend repeat chain append insert cycle tile".split())
#: what is walked in the order of its parts
_PLAIN = frozenset("iter list tuple".split())


def are_uneven(frame: Frame, sampler: Value) -> bool:
    """Whether the class of a sampler deals out what leaves some ranks less."""
    (info,) = sampler.types if len(sampler.types) == 1 else (None,)
    method = frame.analysis.names.method(info, "__iter__") if info is not None else None
    dealt = _dealt(method) if method is not None else None
    if info is None or method is None or dealt is None:
        return False
    return _takes_every_nth(info, dealt) or _ends_with_data(info, method, dealt)


def _dealt(method: FunctionInfo) -> f.Expr | None:
    """What an `__iter__` hands back at its end, or yields from."""
    last = method.body[-1] if method.body else None
    dealt = last.value if type(last) is f.Return or type(last) is f.ExprStmt else None
    if type(dealt) is f.Yield:
        dealt = dealt.value.value if type(dealt.value) is f.Starred else None
    while type(dealt) is f.Call and last_name(dealt.func) in _PLAIN and len(dealt.args) == 1:
        dealt = dealt.args[0]
    return dealt


# ------------------------------------------------------------- every n-th
def _takes_every_nth(info: ClassInfo, dealt: f.Expr) -> bool:
    """`range(self.rank, len(self.data), self.world_size)`, where the class counts nothing that would make the shares
    even."""
    if type(dealt) is not f.Call or last_name(dealt.func) != "range" or len(dealt.args) != 3:
        return False
    stop = dealt.args[1]
    if type(stop) is not f.Call or last_name(stop.func) != "len":
        return False
    return not any(_evens(node) for m in info.methods.values() if m.name != "__len__" for node in walk(m.body))


def _evens(node: object) -> bool:
    """Whether something counts in whole shares, or fills them up."""
    if type(node) is f.Op:
        return node.kind in _COUNTS
    if type(node) is f.AugAssign:
        return node.op in _COUNTS
    return type(node) is f.Call and last_name(node.func) in (*_FILLS, "ceil", "min", "max")


# ----------------------------------------------- the last part ends with the data
def _ends_with_data(info: ClassInfo, method: FunctionInfo, dealt: f.Expr) -> bool:
    """`range(begin, min(begin + share, len(data)))`, or a slice between such ends: the last ranks have what is left."""
    ends = _ends_of(dealt)
    counting = [node for m in info.methods.values() if m.name != "__len__" for node in walk(m.body)]
    if ends is None or any(map(_fills, counting)) or not any(map(_rounds_up, counting)):
        return False
    begin, end = ends
    for stop in _meant(info, method, end):
        if type(stop) is f.Call and last_name(stop.func) == "min" and len(stop.args) == 2:
            for total, reached in (stop.args, stop.args[::-1]):
                if _is_total(info, method, total) and _goes_on(info, method, begin, reached):
                    return True
    return False


def _ends_of(dealt: f.Expr) -> tuple[f.Expr, f.Expr] | None:
    if type(dealt) is f.Call and last_name(dealt.func) == "range" and len(dealt.args) == 2:
        return dealt.args[0], dealt.args[1]
    index = dealt.index if type(dealt) is f.Subscript else None
    if type(index) is f.Op and index.kind == "Slice" and index.operands[2] == f.Const("None"):
        return index.operands[0], index.operands[1]
    return None


def _meant(info: ClassInfo, method: FunctionInfo, expr: f.Expr) -> Iterator[f.Expr]:
    """An expression, or what alone the place it names is set to: in its function, or in a method of the class."""
    yield expr
    place = place_name(expr)
    own, _, name = place.rpartition(".")
    if not place or "." in own:
        return
    methods = [m for m in info.methods.values() if m.parameters] if own else [method]
    made = [
        s.value
        for m in methods
        for s in statements(m.body)
        if type(s) is f.Assign and s.value is not None
        and (f"{m.parameters[0].name}.{name}" if own else name) in map(place_name, s.targets)
    ]  # fmt: skip
    yield from made if len(made) == 1 else ()


def _is_total(info: ClassInfo, method: FunctionInfo, expr: f.Expr) -> bool:
    """`len(data)`, or a place that is set to it."""
    return any(
        type(one) is f.Call and last_name(one.func) == "len"
        for e in _meant(info, method, expr)
        for one in (e, *_meant(info, _setter(info, method, e), e))
    )


def _setter(info: ClassInfo, method: FunctionInfo, expr: f.Expr) -> FunctionInfo:
    """The function in which a local name stands: the constructor, if the name is none of the method's own."""
    constructor = info.methods.get("__init__")
    return method if "." in place_name(expr) or constructor is None else constructor


def _goes_on(info: ClassInfo, method: FunctionInfo, begin: f.Expr, reached: f.Expr) -> bool:
    """Whether an end lies a share beyond where the part begins: `begin + share`, `(rank + 1) * share`."""
    of_begin = {name for e in _meant(info, method, begin) for name in _named(e)}
    return any(
        not of_begin.isdisjoint(_named(end)) and any(type(n) is f.Op and n.kind == "Add" for n in walk(end))
        for end in _meant(info, method, reached)
    )


def _named(expr: f.Expr) -> Iterator[str]:
    """Local names and attributes of an expression; not what the latter are of."""
    of = {id(node.base) for node in nodes(expr, f.Attr)}
    yield from (node.attr for node in nodes(expr, f.Attr))
    yield from (node.id for node in nodes(expr, f.Name) if id(node) not in of)


def _rounds_up(node: object) -> bool:
    """`ceil(n / world_size)`, `(n + world_size - 1) // world_size`, `-(-n // world_size)`: all shares but the last ones
    are as long, and what is rounded down leaves nothing for the last one to lack."""
    divided = node.operands[0] if type(node) is f.Op and node.kind == "FloorDiv" else None
    if type(divided) is f.Op:
        return divided.kind in ("Add", "Sub", "USub")
    return type(node) is f.Call and last_name(node.func) == "ceil"


def _fills(node: object) -> bool:
    """Whether something makes shares longer, or leaves out a rest: what is dealt out may be even."""
    if type(node) is f.Op:
        return node.kind == "Mod"
    if type(node) is f.AugAssign:
        return node.op == "Add"
    return type(node) is f.Call and last_name(node.func) in _FILLS
