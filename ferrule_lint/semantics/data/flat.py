"""Tensors of one dimension: `torch.tensor(scores)` of a list into which numbers alone were put.

What is worked out along its only dimension is one number, however many there were. By the text of a function: a number
is what `x.mean()`, `x.item()` and `len(x)` hand back, and what is reckoned of such.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import every_block, statements, walk
from ferrule_lint.semantics.domain.text import last_name

_OF_NUMBERS = frozenset("tensor as_tensor asarray array FloatTensor LongTensor IntTensor DoubleTensor stack".split())
#: methods that hand back one number if nothing is passed
_METHODS = frozenset("item mean sum max min prod norm std var median any all argmax argmin numel nelement dim".split())
_FUNCTIONS = frozenset("int float bool len".split())
_RECKONED = frozenset("Add Sub Mult Div FloorDiv Mod Pow USub UAdd".split())
#: how many names behind each other are followed
_DEEPEST = 3


def is_flat(body: f.Body, expr: f.Expr | None) -> bool:
    """Whether an expression makes such a tensor, or is a name that holds nothing else."""
    if type(expr) is f.Name:
        held = _assigned(statements(body), expr.id)
        return held is not None and bool(held) and all(type(v) is f.Call and is_flat(body, v) for v in held)
    if type(expr) is not f.Call or last_name(expr.func) not in _OF_NUMBERS or not expr.args:
        return False
    return _holds_numbers(body, expr.args[0])


def _holds_numbers(body: f.Body, items: f.Expr) -> bool:
    if type(items) is f.Sequence:
        return bool(items.elements) and all(_is_number((), e) for e in items.elements)
    if type(items) is f.Comprehension:
        return items.kind == "list" and all(_is_number((), e) for e in items.elements)
    if type(items) is not f.Name:
        return False
    held = _assigned(statements(body), items.id)
    if not held or not all(type(v) is f.Sequence and not v.elements for v in held):
        return False
    return _takes_numbers(body, items.id)


def _takes_numbers(body: f.Body, name: str) -> bool:
    """Whether all that a list is told to do is to take numbers, one by one."""
    told = [n for n in walk(body) if type(n) is f.Call and _is_method_of(n.func, name)]
    appended = 0
    for block in every_block(body):
        for i, s in enumerate(block):
            if type(s) is f.ExprStmt and s.value in told:
                call = s.value
                assert type(call) is f.Call
                if last_name(call.func) != "append" or len(call.args) != 1 or not _is_number(block[:i], call.args[0]):
                    return False
                appended += 1
    return bool(appended) and appended == len(told)


def _is_method_of(func: f.Expr, name: str) -> bool:
    return type(func) is f.Attr and type(func.base) is f.Name and func.base.id == name


def _is_number(before: f.Body, expr: f.Expr, deepest: int = _DEEPEST) -> bool:
    """`before`: the statements in front of it in its block, the last of which tell what a name holds."""
    if type(expr) is f.Const:
        return expr.text[:1].isdigit()
    if type(expr) is f.Op and expr.kind in _RECKONED:
        return all(_is_number(before, o, deepest) for o in expr.operands)
    if type(expr) is f.Name and deepest:
        at = next((i for i in reversed(range(len(before))) if _assigned([before[i]], expr.id) != []), None)
        held = _assigned([before[at]], expr.id) if at is not None else None
        return bool(held) and all(_is_number(before[:at], v, deepest - 1) for v in held or ())
    if type(expr) is not f.Call:
        return False
    if type(expr.func) is f.Name:
        return expr.func.id in _FUNCTIONS
    return last_name(expr.func) in _METHODS and type(expr.func) is f.Attr and not expr.args and not expr.keywords


def _assigned(every: f.Body | list[f.Stmt], name: str) -> list[f.Expr] | None:
    """What some statements assign to a name; None if one binds it otherwise."""
    found: list[f.Expr] = []
    for s in every:
        if type(s) is f.Assign and s.value is not None and any(_is_name(t, name) for t in s.targets):
            found.append(s.value)
        elif any(_is_name(n, name) for n in walk(_bound(s))):
            return None
    return found


def _is_name(node: object, name: str) -> bool:
    return type(node) is f.Name and node.id == name


def _bound(s: f.Stmt) -> tuple[object, ...]:
    if type(s) is f.Assign:
        return s.targets
    if type(s) is f.AugAssign or type(s) is f.For:
        return (s.target,)
    return tuple(target for _, target in s.items) if type(s) is f.With else ()
