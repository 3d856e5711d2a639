"""Flags that are set for the time of some work, and set back behind it.

```python
if rank == 0:
    _NESTED = True
    result = work()
    _NESTED = False
```

Once the work is done a flag is what it was begun as, and what the work itself asks for, it asks on this rank alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import every_block
from ferrule_lint.semantics.data.where_given import methods_of
from ferrule_lint.semantics.domain.text import place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def in_body(body: f.Body, place: str, begun: f.Expr | None) -> bool:
    """Whether each block that sets a place to something sets it back to what it was begun as."""
    found = [_set_in(block, place) for block in every_block(body)]
    return type(begun) is f.Const and any(found) and all(v[-1] == begun for v in found if v)


def of_instance(frame: Frame, place: str) -> bool:
    """Whether the method at hand does so with an attribute that the constructor has begun."""
    name = place.partition(".")[2]
    constructors = (s for s in methods_of(frame) if frame.function is not None and s.body is not frame.function.body)
    if not name or frame.self_class is None or frame.function is None:
        return False
    set_there = [v for v in (_set_in(block, place) for block in every_block(frame.function.body)) if v]
    if not any(len(v) > 1 for v in set_there):
        return False
    begun = [v[-1] for v in (_set_in(scope.body, f"{scope.own}.{name}") for scope in constructors) if v]
    return bool(begun) and all(in_body(frame.function.body, place, v) for v in begun)


def _set_in(block: f.Body, place: str) -> list[f.Expr]:
    """What the statements of a block set a place to, one after the other."""
    return [
        s.value
        for s in block
        if type(s) is f.Assign and s.value is not None and any(place_name(t) == place for t in s.targets)
    ]
