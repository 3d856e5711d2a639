"""Things that are walked side by side, and held to be as long: `zip(self.names, parts, strict=True)`.

A rank on which one of them is longer fails. So where one is as long on all ranks, the others are, or the job ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.lattice import Value

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

#: methods in which an instance gets what it is made of
_MAKES = frozenset({"__init__", "setup", "build", "create"})


def are_even(frame: Frame, arguments: Arguments) -> bool:
    """Whether a strict `zip` walks something beside others that is as long on all ranks."""
    strict = dict(arguments.expr.keywords).get("strict")
    if strict != f.Const("True") or arguments.is_open:
        return False
    pairs = zip(arguments.expr.args, arguments.positional, strict=False)
    return any(_is_as_long(frame, expr, value) for expr, value in pairs)


def _is_as_long(frame: Frame, expr: f.Expr, value: Value) -> bool:
    if value.length is not None:
        return False
    same = not value.length_deps and (value.uniform or value.agreed or value.slots is not None)
    return same or _is_made_once(frame, expr)


def _is_made_once(frame: Frame, expr: f.Expr) -> bool:
    """Whether an attribute of the instance gets what it holds where that is made, and nothing later on."""
    if type(expr) is not f.Attr or type(expr.base) is not f.Name or expr.base.id != frame.self_name:
        return False
    owners = frame.analysis.names.mro(frame.self_class) if frame.self_class is not None else ()
    setting = {
        m.name for owner in owners for m in owner.methods.values() if expr.attr in frame.analysis.holders.stored_in(m)
    }
    return bool(setting) and setting <= _MAKES
