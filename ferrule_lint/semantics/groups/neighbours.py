"""Groups of two neighbours in a row of ranks: `groups[rank]` with the next one, `groups[rank - 1]` with the one before.

```python
groups = [dist.new_group([i, i + 1]) for i in range(world_size - 1)]
if rank % 2:
    dist.all_gather(parts, left, group=groups[rank - 1])
```

A rank that asks for both is in either of them, and at the ends of the row in one. Which one a rank is at, and who is
first of two, is what tests of the rank say here: every rank takes another way, and in each group the two meet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.semantics.domain.text import render

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def is_one(frame: Frame, group: f.Expr) -> bool:
    """Whether a group is chosen by the rank out of a list of which the function asks for the neighbour's as well."""
    if type(group) is not f.Subscript or frame.function is None:
        return False
    own = _place(group)
    if own is None:
        return False
    rank, by = own
    value = frame.eval(rank).divergence
    if value is None or value.kind != "rank":
        return False
    same = [s for s in nodes(frame.function.body, f.Subscript) if render(s.base) == render(group.base)]
    others = {number for p in map(_place, same) if p is not None and render(p[0]) == render(rank) for number in p[1:]}
    return bool({by - 1, by + 1} & others)


def _place(group: f.Subscript) -> tuple[f.Expr, int] | None:
    """The rank, and what is added to it: `rank`, `rank - 1`."""
    index = group.index
    if type(index) is f.Name or type(index) is f.Attr:
        return index, 0
    if type(index) is not f.Op or index.kind not in ("Add", "Sub") or len(index.operands) != 2:
        return None
    rank, by = index.operands
    if type(by) is not f.Const or not by.text.isdigit() or type(rank) not in (f.Name, f.Attr):
        return None
    return rank, int(by.text) * (1 if index.kind == "Add" else -1)
