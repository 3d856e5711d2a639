"""Plans: steps that each name the rank that takes them, and the group that it does so in.

```python
for step in plan:
    if isinstance(step, Receive) and step.rank == dist.get_rank():
        dist.broadcast(buffer, src=step.src, group=step.group)
    elif step.rank == dist.get_rank():
        dist.broadcast(step.value, src=step.rank, group=step.group)
```

A step is for one member of its group, the source or one of those who receive, and the plan has steps for the others. To
ask whose step it is is to ask for a part in its group, not which of the members this rank is. That there are steps for
those who receive is told by a source that is another one than who takes the step, or by steps of several classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.text import last_name, variables
from ferrule_lint.semantics.groups.axes import names_group

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def asks_for_own_step(frame: Frame, left: f.Expr, right: f.Expr) -> bool:
    """Whether a comparison of two sides asks if this rank is the one that an item of the loop around names."""
    for side in (left, right):
        if type(side) is not f.Attr or type(side.base) is not f.Name:
            continue
        item = side.base.id
        for loop in frame.rounds:
            if item in variables(loop.statement.target):
                return _is_plan(loop.statement.body, item, side.attr)
    return False


def _is_plan(body: f.Body, item: str, taker: str) -> bool:
    """Whether the item names groups for calls, and there are steps for source and receivers."""
    calls = [node for node in walk(body) if type(node) is f.Call]
    in_group = [call for call in calls if any(names_group(a) for a in _named_by(call, item))]
    if not in_group:
        return False
    kinds = any(
        last_name(call.func) == "isinstance" and call.args and type(call.args[0]) is f.Name and call.args[0].id == item
        for call in calls
    )
    return kinds or any(
        name in ("src", "dst") and type(value) is f.Attr and value.attr != taker and _is_of(value, item)
        for call in in_group
        for name, value in call.keywords
    )


def _named_by(call: f.Call, item: str) -> list[str]:
    given = (*call.args, *(value for _, value in call.keywords))
    return [g.attr for g in given if type(g) is f.Attr and _is_of(g, item)]


def _is_of(expr: f.Attr, item: str) -> bool:
    return type(expr.base) is f.Name and expr.base.id == item
