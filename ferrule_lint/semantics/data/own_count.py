"""How many items an instance says that it holds: `__len__` that counts one of its fields.

What a data class was made with is kept with the instance, so that `len(data)` is as many as `len(data.rows)` or
`data.tokens.shape[0]`, whichever its `__len__` asks for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.batch_fields import is_uneven_later, sized_by
from ferrule_lint.semantics.data.ordering import length_deps
from ferrule_lint.semantics.domain.dependences import COUNTED, ITERATED, only, recast, root_of
from ferrule_lint.semantics.domain.lattice import Value, rounds_of

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo


def of_field(method: FunctionInfo, instance: Value) -> Value | None:
    """The number that a `__len__` hands back, where it is that of a field of which something is known."""
    name = _counted(method)
    held = instance.entry(name) if name else None
    if held is None:
        return None
    uneven = held.shape if not is_uneven_later(held) else None
    deps = only(recast(length_deps(held), COUNTED, ITERATED), COUNTED, COUNTED) | sized_by(held, "0")
    return Value(divergence=rounds_of(held) or uneven, deps=deps)


def is_of_fields(number: Value) -> bool:
    """Whether a number is up to what callers of the function have put into fields of what they pass to it."""
    return any(name not in ("", root_of(name)) and root_of(name) for name, _ in number.deps)


def _counted(method: FunctionInfo) -> str:
    """The field that is counted, if that is all: `return len(self.rows)`, `self.x.shape[0]`, `self.x.size(0)`."""
    last = method.body[-1] if method.body else None
    if type(last) is not f.Return or any(type(s) is not f.ExprStmt for s in method.body[:-1]):
        return ""
    asked = _measured(last.value)
    own = method.parameters[0].name if method.parameters else ""
    if type(asked) is not f.Attr or type(asked.base) is not f.Name or asked.base.id != own:
        return ""
    return asked.attr


def _measured(number: f.Expr | None) -> f.Expr | None:
    """Of what a number is the first dimension."""
    first = f.Const("0")
    if type(number) is f.Call and type(number.func) is f.Name:
        return number.args[0] if number.func.id == "len" and len(number.args) == 1 else None
    if type(number) is f.Call and type(number.func) is f.Attr:
        return number.func.base if number.func.attr == "size" and number.args == (first,) else None
    if type(number) is f.Subscript and number.index == first and type(number.base) is f.Attr:
        return number.base.base if number.base.attr == "shape" else None
    return None
