"""Tensors whose one item is read out further on: `dist.all_reduce(x)`, and `(x / world_size).item()` behind it.

`Tensor.item()` and `float(tensor)` fail for more than one item, so that on every rank that gets past them there is one.
https://docs.pytorch.org/docs/stable/generated/torch.Tensor.item.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import every_block, walk
from ferrule_lint.semantics.domain.text import last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: what leaves a tensor with the items that it has, or more
_KEEPS = frozenset("cpu cuda to detach clone float double div mul".split())
_ITEM_BY_ITEM = frozenset("Add Sub Mult Div".split())


def holds_one_item(frame: Frame, expr: f.Expr | None, pos: f.Pos) -> bool:
    """Whether a name that is passed to the call at `pos` is read out behind it, in the same block."""
    if type(expr) is not f.Name or frame.function is None:
        return False
    bare = frame.analysis.bodies.once(_bare_calls, frame.function.body).get(pos)
    if bare is None:
        return False
    block, i = bare
    return _is_read_out(block[i + 1 : i + 1 + _FURTHEST], expr.id)


#: statements behind a collective that are looked at
_FURTHEST = 20


def _bare_calls(body: f.Body) -> dict[f.Pos, tuple[f.Body, int]]:
    """The calls that are statements, by their places: the block that each stands in, and where."""
    return {
        s.value.pos: (block, i)
        for block in every_block(body)
        for i, s in enumerate(block)
        if type(s) is f.ExprStmt and type(s.value) is f.Call
    }


def _is_read_out(block: f.Body, name: str) -> bool:
    for s in block:
        if type(s) is not f.Assign and type(s) is not f.ExprStmt and type(s) is not f.Return:
            return False
        if any(_reads(node, name) for node in walk(s.value)):
            return True
        if type(s) is f.Assign and any(type(t) is f.Name and t.id == name for t in s.targets):
            return False
    return False


def _reads(node: object, name: str) -> bool:
    if type(node) is not f.Call:
        return False
    if type(node.func) is f.Attr and node.func.attr == "item" and not node.args:
        return _is_as_large(node.func.base, name)
    return last_name(node.func) == "float" and type(node.func) is f.Name and _is_as_large(_only(node), name)


def _only(call: f.Call) -> f.Expr | None:
    return call.args[0] if len(call.args) == 1 else None


def _is_as_large(expr: f.Expr | None, name: str) -> bool:
    """Whether an expression has the items of what a name holds, or more."""
    if type(expr) is f.Name:
        return expr.id == name
    if type(expr) is f.Op:
        return expr.kind in _ITEM_BY_ITEM and any(_is_as_large(o, name) for o in expr.operands)
    if type(expr) is f.Call and type(expr.func) is f.Attr:
        return expr.func.attr in _KEEPS and _is_as_large(expr.func.base, name)
    return False
