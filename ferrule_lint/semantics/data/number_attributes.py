"""Attributes that are numbers by what the project's classes say of them: `def factor(self) -> float` under `@property`.

A number hashes to the same in every process, a float too, so that a set of such attributes is walked alike.
https://docs.python.org/3/library/stdtypes.html#hashing-of-numeric-types
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.text import last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: types of numbers, by their names
NUMBER_TYPES = frozenset("int bool float".split())


def is_declared(frame: Frame | None, expr: f.Expr | None) -> bool:
    """Whether each method of the project with the attribute's name is a property that returns a number."""
    if frame is None or type(expr) is not f.Attr:
        return False
    methods = frame.analysis.names.methods_named(expr.attr)
    return bool(methods) and all(
        m.is_property and type(m.returns) is f.Name and last_name(m.returns) in NUMBER_TYPES for m in methods
    )
