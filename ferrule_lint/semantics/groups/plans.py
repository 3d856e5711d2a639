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

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.semantics.domain.text import last_name, variables
from ferrule_lint.semantics.groups.axes import names_group

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


@dataclass(slots=True)
class _Item:
    """What the calls in a block ask of a name, and are given of it: whether a group, and as which roots."""

    in_groups: bool = False
    of_kinds: bool = False
    roots: set[str] = field(default_factory=set)


def asks_for_own_step(frame: Frame, left: f.Expr, right: f.Expr) -> bool:
    """Whether a comparison of two sides asks if this rank is the one that an item of the loop around names."""
    for side in (left, right):
        if type(side) is not f.Attr or type(side.base) is not f.Name:
            continue
        for loop in frame.rounds:
            if side.base.id in variables(loop.statement.target):
                items = frame.analysis.bodies.once(_items, loop.statement.body)
                item = items.get(side.base.id, _Item())
                return item.in_groups and (item.of_kinds or bool(item.roots - {side.attr}))
    return False


def _items(body: f.Body) -> dict[str, _Item]:
    found: dict[str, _Item] = {}
    for call in nodes(body, f.Call):
        if last_name(call.func) == "isinstance" and call.args and type(call.args[0]) is f.Name:
            found.setdefault(call.args[0].id, _Item()).of_kinds = True
        given = [("", value) for value in call.args] + [(name or "", value) for name, value in call.keywords]
        parts = [(name, g.base.id, g.attr) for name, g in given if type(g) is f.Attr and type(g.base) is f.Name]
        for of in {of for _, of, attribute in parts if names_group(attribute)}:
            item = found.setdefault(of, _Item())
            item.in_groups = True
            item.roots |= {attribute for name, base, attribute in parts if base == of and name in ("src", "dst")}
    return found
