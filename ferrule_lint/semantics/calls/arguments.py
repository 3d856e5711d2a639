"""The evaluated arguments of a call."""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import is_open


class Arguments:
    """The evaluated arguments of a call."""

    __slots__ = ("expr", "keywords", "positional", "values")

    def __init__(self, expr: f.Call, positional: tuple[Value, ...], keywords: dict[str, Value]) -> None:
        self.expr = expr
        self.positional = positional
        self.keywords = keywords
        #: all of them
        self.values = (*positional, *keywords.values()) if keywords else positional

    def replaced(self, *, expr: f.Call | None = None, positional: tuple[Value, ...] | None = None) -> Arguments:
        """The same arguments for another call, or others for the same."""
        return Arguments(expr or self.expr, self.positional if positional is None else positional, self.keywords)

    @property
    def is_open(self) -> bool:
        """Whether `*args` or `**kwargs` may pass more than is seen."""
        return is_open(self.expr)

    def expression(self, name: str, position: int | None) -> f.Expr | None:
        for keyword, value in self.expr.keywords:
            if keyword == name:
                return value
        if position is not None and position < len(self.expr.args):
            if any(type(a) is f.Starred for a in self.expr.args[: position + 1]):
                return None
            return self.expr.args[position]
        return None

    def value_of(self, expr: f.Expr) -> Value | None:
        """The value of one of the arguments, by its expression."""
        for i, a in enumerate(self.expr.args):
            if a is expr and i < len(self.positional):
                return self.positional[i]
        for name, k in self.expr.keywords:
            if k is expr:
                return self.keywords.get(name or "**")
        return None
