"""Loops that try until they get through: `for n in range(most): try: ...; return`, `except E: if n + 1 == most: raise`.

A rank that fails more often comes to the same round later, and one that gets through in none of them raises.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import blocks, statements, walk
from ferrule_lint.semantics.control.exceptions import carries_on
from ferrule_lint.semantics.domain.text import place_name


def gives_up(loop: f.For | f.While) -> bool:
    """Whether a rank raises that fails in each round of a loop: there is no last round, or its handlers know it by what
    the loop counts."""
    handlers = [h for s in _tried(loop.body) for h in s.handlers if carries_on(h.body)]
    if not handlers:
        return False
    if type(loop) is f.While and loop.test == f.Const("True"):
        return True
    if loop.orelse and type(loop.orelse[-1]) is f.Raise:
        return True
    counted = _places(loop.target if type(loop) is f.For else getattr(loop, "test", None))
    return all(any(_raises_at(s, counted) for s in statements(h.body)) for h in handlers)


def _tried(body: f.Body) -> Iterator[f.Try]:
    """The `try` statements of a round, those of loops in it left out."""
    for s in body:
        if type(s) is f.Try:
            yield s
        if type(s) is not f.For and type(s) is not f.While:
            for block in blocks(s):
                yield from _tried(block)


def _raises_at(s: f.Stmt, counted: set[str]) -> bool:
    """`if tries >= most: ...; raise`"""
    if type(s) is not f.If or counted.isdisjoint(_places(s.test)):
        return False
    return any(arm and type(arm[-1]) is f.Raise for arm in (s.body, s.orelse))


def _places(expr: object) -> set[str]:
    return {place_name(node) for node in walk(expr) if type(node) is f.Name or type(node) is f.Attr} - {""}
