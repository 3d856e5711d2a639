"""What expressions hold where they stand, by a walk over the function around them.

At the end of the function its names may hold something else: what has been wrapped is let go (`del model`), or a name
is taken for another thing.
"""

from __future__ import annotations

from collections.abc import Iterable

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.joins import join
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value, worse
from ferrule_lint.semantics.walk.frame import Frame


class WatchingFrame(Frame):
    """A pass that notes what some expressions hold, each time that it comes to one of them."""

    __slots__ = ("_seen", "_under", "_watched")

    _watched: list[f.Expr]
    _seen: dict[int, list[Value]]
    _under: dict[int, Divergence | None]

    def watch(self, exprs: Iterable[f.Expr]) -> None:
        self._watched = list(exprs)
        self._seen = {id(expr): [] for expr in self._watched}
        self._under = {}

    def eval(self, expr: f.Expr | None) -> Value:
        value = super().eval(expr)
        seen = self._seen.get(id(expr))
        if seen is not None:
            seen.append(value)
            self._under[id(expr)] = worse(self._under.get(id(expr)), self.path_divergence())
        return value

    def is_unused(self, call: f.Call | None) -> bool:
        return super().is_unused(call) and id(call) not in self._seen

    def came_by(self, expr: f.Expr) -> bool:
        return bool(self._seen.get(id(expr)))

    def seen(self, expr: f.Expr) -> Value:
        """What an expression held, whenever it was come by."""
        values = self._seen.get(id(expr))
        return join(values) if values else UNKNOWN

    def under(self, expr: f.Expr) -> Divergence | None:
        """Why some ranks alone come to it."""
        return self._under.get(id(expr))
