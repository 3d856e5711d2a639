"""What a call that wraps is given by `*arguments`: the items that a function has put into that list.

`arguments = [optimizers[name] for name in names]`, `arguments.extend(schedulers)`, `accelerator.prepare(*arguments)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.project.entities import FunctionInfo


def items(owner: FunctionInfo | None, expr: f.Expr) -> list[f.Expr]:
    """The items of the list that is spread over the arguments of a call, where all are written out."""
    if owner is None or type(expr) is not f.Starred or type(expr.value) is not f.Name:
        return []
    found = list(_items_of(owner, expr.value.id))
    return [] if None in found else [item for item in found if item is not None]


def several(owner: FunctionInfo | None, expr: f.Expr) -> tuple[f.Expr, ...]:
    """What is wrapped as one where a list of modules is given: its items, also without those that are not there
    (`[part for part in parts if part is not None]`, of `parts = [self.norm, self.head]`); else the thing itself."""
    listed = _filtered(expr) if type(expr) is f.Comprehension else expr
    if type(listed) is f.Name and owner is not None:
        found = list(_items_of(owner, listed.id))
        items = tuple(item for item in found if item is not None)
        return items if items and len(items) == len(found) else (expr,)
    return listed.elements if type(listed) is f.Sequence else (expr,)


def _filtered(expr: f.Comprehension) -> f.Expr:
    """What a comprehension takes some items of, and does nothing else to them."""
    generator = expr.generators[0]
    if len(expr.generators) == 1 and type(generator.target) is f.Name and len(expr.elements) == 1:
        return generator.iterable if _is_name(expr.elements[0], generator.target.id) else expr
    return expr


def _items_of(owner: FunctionInfo, name: str) -> Iterator[f.Expr | None]:
    """The items that the statements of a function put into a list by this name; None where they cannot be told."""
    if any(p.name == name for p in owner.parameters):
        yield None
        return
    for s in statements(owner.body):
        if type(s) is f.Assign:
            yield from _written(s.value) if any(_is_name(t, name) for t in s.targets) else ()
        elif type(s) is f.AugAssign:
            yield from _written(s.value) if _is_name(s.target, name) else ()
        elif type(s) is f.ExprStmt and type(s.value) is f.Call:
            func = s.value.func
            if type(func) is f.Attr and _is_name(func.base, name):
                yield from _added(func.attr, s.value.args)


def _is_name(expr: f.Expr, name: str) -> bool:
    return type(expr) is f.Name and expr.id == name


def _added(method: str, args: tuple[f.Expr, ...]) -> Iterator[f.Expr | None]:
    if method == "append" and len(args) == 1:
        yield args[0]
    elif method == "extend" and len(args) == 1:
        yield from _written(args[0])
    else:
        yield None


def _written(expr: f.Expr | None) -> Iterator[f.Expr | None]:
    if type(expr) is f.Sequence or (type(expr) is f.Comprehension and expr.kind != "dict"):
        yield from expr.elements
    else:
        yield None
