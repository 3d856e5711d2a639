"""What each name of a body is bound to, wherever in it: a whole expression, or a part of what one makes.

`i, w = draw(x)` binds `i` to the first of two things side by side, `for k, v in pairs:` binds `k` to the first of each
item, and `total += x` binds what it adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.semantics.domain.assigned import by_place, walks

#: stands for any item of what is walked, among the numbers of things side by side
ITEM = -1
#: which part: of which item, or of which of several, and so on
Path: TypeAlias = tuple[int, ...]
Bound: TypeAlias = tuple[f.Expr, Path]

#: stands for what no expression tells
_UNTOLD = f.Const("...")
#: operators that leave a number a number
ARITHMETIC = frozenset("Add Sub Mult FloorDiv Mod USub UAdd LShift RShift".split())


def bound_parts(body: f.Body) -> dict[str, list[Bound]]:
    """What each name is bound to, in the order in which it is assigned, and then by loops."""
    return by_place(_bound(body))


def _bound(body: f.Body) -> Iterator[tuple[str, Bound]]:
    for s in sorted(statements(body), key=lambda s: s.line):
        if type(s) is f.Assign and s.value is not None:
            for target in s.targets:
                yield from _parts(target, s.value, ())
        elif type(s) is f.AugAssign:
            yield from _parts(s.target, s.value if s.op in ARITHMETIC else _UNTOLD, ())
        elif type(s) is f.With:
            for _, entered in s.items:
                yield from _parts(entered, _UNTOLD, ())
    for target, walked in walks(body):
        yield from _parts(target, walked, (ITEM,))
    for walrus in nodes(body, f.Walrus):
        yield walrus.name, (walrus.value, ())


def _parts(target: f.Expr | None, value: f.Expr, path: Path) -> Iterator[tuple[str, Bound]]:
    """The names in a target, each with what it gets."""
    if type(target) is f.Name:
        yield target.id, (value, path)
    elif type(target) is f.Sequence:
        written = value.elements if not path and type(value) is f.Sequence else ()
        for i, part in enumerate(target.elements):
            yield from _parts(part, written[i], ()) if i < len(written) else _parts(part, value, (*path, i))
