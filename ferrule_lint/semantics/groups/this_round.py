"""The members of the group that a round of a loop has made, let in by the number of the round.

```python
for i in range(world_size // size):
    group = dist.new_group(range(i * size, (i + 1) * size))
    if rank // size == i:
        dist.broadcast_object_list(found, src=i * size, group=group)
```

All ranks make all groups, and each goes on in one round: that of its own block of ranks, or of its own node.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.text import last_name, render, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_MAKES = "new_group"
#: what tells which node a process runs on
_NODE = re.compile(r"(node|group|machine|host)_?(rank|id|idx|index)|nodeid", re.IGNORECASE)


def asks_for_own(frame: Frame, e: f.Compare, left: f.Expr, right: f.Expr) -> bool:
    """Whether a test asks if the round of a loop which makes a group is that of the block of ranks, or of the node,
    that this process belongs to."""
    sides = ((left, right), (right, left))
    numbers = [n.id for own, n in sides if type(n) is f.Name and _is_number_of_block(frame, own)]
    return bool(numbers) and any(n in _counters(loop) for loop in _around(frame, e) for n in numbers)


def _is_number_of_block(frame: Frame, expr: f.Expr) -> bool:
    """`rank // size`, `rank % count`, `int(os.environ["GROUP_RANK"])`."""
    meant = definition(frame, expr)
    if type(meant) is f.Op and meant.kind in ("FloorDiv", "Mod"):
        return True
    return _NODE.search(last_name(expr) or render(expr)) is not None or _NODE.search(render(meant)) is not None


def _around(frame: Frame, e: f.Compare) -> list[f.For | f.While]:
    """The loops around a test in which groups are made."""
    body = frame.function.body if frame.function is not None else frame.module.body
    return [
        s
        for s in statements(body)
        if (type(s) is f.For or type(s) is f.While)
        and any(type(n) is f.Call and last_name(n.func) == _MAKES for n in walk(s.body))
        and any(type(n) is f.Compare and n.pos == e.pos for n in walk(s.body))
    ]


def _counters(loop: f.For | f.While) -> set[str]:
    """What a loop goes over, or steps in its rounds."""
    stepped = {s.target.id for s in statements(loop.body) if type(s) is f.AugAssign and type(s.target) is f.Name}
    return stepped | set(variables(loop.target)) if type(loop) is f.For else stepped
