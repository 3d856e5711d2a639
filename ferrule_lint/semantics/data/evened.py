"""Functions that make a number of items one that can be dealt out evenly, and deal them out.

```python
assert len(items) % world == 0
while len(items) % world: items.append(items[0])
items += items[: -len(items) % world]
share = items[rank::world][: len(items) // world]
```

Who divides the number of the items that are dealt out by that of the ranks, and does something about the rest, has made
the shares as long as each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.text import render

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def by(frame: Frame, items: f.Expr, number: f.Expr) -> bool:
    """Whether the function makes the length of some items a multiple of a number, or cuts to as many as each gets."""
    body = frame.function.body if frame.function is not None else ()
    found = frame.analysis.bodies.once(_evened, body)
    if not found:
        return False
    made = definition(frame, items)
    parts = made.operands if type(made) is f.Op and made.kind == "Add" else ()  # `items + items[:missing]`
    return any((render(part), render(number)) in found for part in (items, *parts))


def _evened(body: f.Body) -> frozenset[tuple[str, str]]:
    """The items whose number is seen to, each with what it is divided by."""
    found = [(counted.args[0], by) for counted, by in _divided(body) if type(counted) is f.Call and counted.args]
    return frozenset([(render(items), render(by)) for items, by in found])


def _divided(body: f.Body) -> Iterator[tuple[f.Expr, f.Expr]]:
    for s in statements(body):
        if type(s) is f.Assert or type(s) is f.While:  # it goes on where nothing is left over
            for op in nodes(s.test, f.Op):
                if op.kind == "Mod":
                    yield op.operands[0], op.operands[1]
    for op in (op for op in nodes(body, f.Op) if op.operands):  # `f""` has none
        first, second = op.operands[0], op.operands[-1]
        if op.kind == "Slice" and type(upper := op.operands[1]) is f.Op and upper.kind == "FloorDiv":
            yield upper.operands[0], upper.operands[1]  # `[: len(items) // world]`
        elif op.kind == "Mod" and type(first) is f.Op and first.kind == "USub":
            yield first.operands[0], second  # `-len(items) % world`
        elif op.kind == "Sub" and type(first) is f.Op and first.kind == "Mult":
            yield from ((second, factor) for factor in first.operands)  # `each * world - len(items)` are missing
