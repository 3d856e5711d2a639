"""What an expression holds where it stands, by a walk over the function around it.

At the end of the function its names may hold something else: what has been wrapped is let go (`del model`), or a name
is taken for another thing.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.project.entities import ClassInfo
from ferrule_lint.semantics.walk.frame import Frame


class WatchingFrame(Frame):
    """A pass that notes the classes of one expression, each time that it comes to it."""

    __slots__ = ("came_by", "classes", "watched")

    watched: f.Expr
    came_by: bool
    classes: set[ClassInfo]

    def watch(self, expr: f.Expr) -> None:
        self.watched, self.came_by, self.classes = expr, False, set()

    def eval(self, expr: f.Expr | None) -> Value:
        value = super().eval(expr)
        if expr is self.watched:
            self.came_by = True
            self.classes |= value.types
        return value
