"""Where a method puts what a call has sharded among others: `self.experts = nn.ModuleList([FSDP(e) for e in experts])`,
`self.layers.append(wrap(layer))`.

What is taken out of that attribute is sharded, whatever class it is of. An attribute that holds nothing but what the
call returns is known by its value.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import FunctionInfo

#: names that the result of a call has one after the other, up to the attribute
_ROUNDS = 3
_PUT_IN = frozenset({"append", "insert", "add_module", "extend", "update"})
_CONTAINERS = frozenset({"ModuleList", "ModuleDict", "Sequential", "list", "tuple", "dict", "OrderedDict"})


def held_in(method: FunctionInfo, pos: f.Pos) -> str:
    """The attribute of the instance among whose items a method puts what the call at `pos` returns; "" if none."""
    if method.is_static or not method.parameters:
        return ""
    own = method.parameters[0].name
    wanted: list[str | f.Pos] = [pos]
    for _ in range(_ROUNDS):
        found: list[str | f.Pos] = []
        for place, among in (put for s in statements(method.body) for put in _put(s, wanted)):
            if type(place) is f.Attr and type(place.base) is f.Name and place.base.id == own and among:
                return place.attr
            if type(place) is f.Name and place.id not in wanted:
                found.append(place.id)
        wanted += found
        if not found:
            break
    return ""


def _put(s: f.Stmt, wanted: list[str | f.Pos]) -> Iterator[tuple[f.Expr, bool]]:
    """The places that a statement puts something wanted into, and whether it is one item of several there; of a local
    list that is wanted all are."""
    if type(s) is f.Assign and s.value is not None and (at := _depth(s.value, wanted)) is not None:
        for target in s.targets:
            if type(target) is f.Subscript:
                yield target.base, True
            else:
                yield target, at > 0
    elif type(s) is f.ExprStmt and type(s.value) is f.Call:
        func = s.value.func
        if type(func) is f.Attr and func.attr in _PUT_IN and any(_depth(a, wanted) is not None for a in s.value.args):
            yield func.base, True


def _depth(expr: f.Expr, wanted: list[str | f.Pos]) -> int | None:
    """How many containers there are around something wanted in an expression; None: it is not in there."""
    if type(expr) is f.Name:
        return 0 if expr.id in wanted else None
    if type(expr) is f.Call:
        if expr.pos in wanted:
            return 0
        parts: tuple[f.Expr, ...] = expr.args if last_name(expr.func) in _CONTAINERS else ()
    elif type(expr) is f.Sequence:
        parts = expr.elements
    elif type(expr) is f.DictDisplay:
        parts = expr.values
    elif type(expr) is f.Comprehension:
        parts = expr.elements[-1:]
    elif type(expr) is f.IfExp:
        depths = [d for d in (_depth(expr.body, wanted), _depth(expr.orelse, wanted)) if d is not None]
        return max(depths, default=None)
    elif type(expr) is f.Starred:
        return _depth(expr.value, wanted)
    else:
        parts = ()
    depths = [d for part in parts if (d := _depth(part, wanted)) is not None]
    return max(depths) + 1 if depths else None
