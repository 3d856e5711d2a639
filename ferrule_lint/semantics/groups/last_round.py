"""A group that is made behind the loop which works out the members of each: only the last round's get one.

```python
for first in range(0, world_size, size):
    ranks = range(first, first + size)
group = dist.new_group(ranks)  # one step too far to the left
if rank in ranks:
    mine = group
```

All ranks make the same group, so nobody waits here. But who asks whether it is in the list counts on a group for each
of the lists; the ranks of the others keep none, and what they reduce over it goes over the whole job. Where the groups
are made in the loop, what is left in the variable behind it is again that of the last round, on all ranks:

```python
for first in range(0, world_size, size):
    group = dist.new_group(range(first, first + size))
return group
```
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk, way_to
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.text import last_name, place_name, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def left_over(frame: Frame, ranks: f.Expr, pos: f.Pos) -> Divergence | None:
    """Why a group of these ranks is that of a loop's last round alone."""
    if type(ranks) is not f.Name:
        return None
    body = frame.function.body if frame.function is not None else frame.module.body
    if not frame.analysis.bodies.looked_in(body, ranks.id):
        return None
    for suite, place in frame.analysis.bodies.once(_assigned_calls, body).get(pos, []):
        loop = next((s for s in reversed(suite[:place]) if _sets(s, ranks.id)), None)
        if type(loop) is f.For and _works_out(loop, ranks.id) and _is_looked_in(suite[place + 1 :], ranks.id):
            note = f"`{ranks.id}` is what the last round of the loop has left"
            return frame.source(WORLD, "rank", (loop.line, 1, loop.line, 1), note, Confidence.MEDIUM)
    return None


def kept(frame: Frame, ranks: f.Expr, pos: f.Pos) -> Divergence | None:
    """Why the group that is made here, in a loop, is on all ranks the one that its last round leaves behind."""
    body = frame.function.body if frame.function is not None else frame.module.body
    for suite, number in frame.analysis.bodies.once(_assigned_calls, body).get(pos, []):
        made = suite[number]
        loop = next((s for s in statements(body) if type(s) is f.For and s.body is suite), None)
        if type(made) is not f.Assign or len(made.targets) != 1 or loop is None or not _is_of_round(loop, ranks):
            continue
        place = place_name(made.targets[0])
        if place and _is_left_behind(frame, body, loop, place):
            note = f"`{place}` is the group that the last round of the loop has made"
            return frame.source(WORLD, "rank", (loop.line, 1, loop.line, 1), note, Confidence.MEDIUM)
    return None


def _is_of_round(loop: f.For, ranks: f.Expr) -> bool:
    """Whether each round of a loop, which goes on to its end, has ranks of its own."""
    if loop.orelse or any(type(s) is f.Break or type(s) is f.Return for s in statements(loop.body)):
        return False
    set_there = {name for s in loop.body if type(s) is f.Assign for t in s.targets for name in variables(t)}
    return not variables(ranks).isdisjoint(variables(loop.target) | set_there)


def _is_left_behind(frame: Frame, body: f.Body, loop: f.For, place: str) -> bool:
    """Whether what a place holds behind a loop is used, and no round keeps it elsewhere."""
    if sum(_sets(s, place) for s in loop.body) != 1 or _read(loop.body, place):
        return False
    if "." in place:
        return frame.own_attribute(place) != ""
    block, number = way_to(body, (loop.line, 1, loop.line, 1))[-1]
    behind = itertools.takewhile(lambda s: not _sets(s, place), block[number + 1 :])
    return _read(tuple(behind), place)


def _read(body: f.Body, place: str) -> bool:
    """Whether a place is asked for in a body, and not only set."""
    targets = {id(t) for s in statements(body) if type(s) is f.Assign for t in s.targets}
    found = (node for node in walk(body) if type(node) is f.Name or type(node) is f.Attr)
    return any(place_name(node) == place and id(node) not in targets for node in found)


def _suites(body: Sequence[f.Stmt]) -> Iterator[Sequence[f.Stmt]]:
    """A body, and those of its loops and tests."""
    yield body
    for s in statements(tuple(body)):
        if type(s) is f.For or type(s) is f.If or type(s) is f.While:
            yield s.body
            yield s.orelse
        elif type(s) is f.With:
            yield s.body


def _assigned_calls(body: f.Body) -> dict[f.Pos, list[tuple[Sequence[f.Stmt], int]]]:
    """The calls that something is set to, by their places: the suite that each stands in, and where."""
    found: dict[f.Pos, list[tuple[Sequence[f.Stmt], int]]] = {}
    for suite in _suites(body):
        for i, s in enumerate(suite):
            if type(s) is f.Assign and type(s.value) is f.Call:
                found.setdefault(s.value.pos, []).append((suite, i))
    return found


def _sets(s: f.Stmt, name: str) -> bool:
    return any(
        (type(one) is f.Assign and name in {place_name(t) for t in one.targets})
        or (type(one) is f.AugAssign and place_name(one.target) == name)
        or (type(one) is f.For and name in variables(one.target))
        for one in statements((s,))
    )


def _works_out(loop: f.For, name: str) -> bool:
    """Whether each round of a loop sets a list anew, from what it goes over, and makes no group of its own."""
    if loop.orelse or any(type(s) is f.Break for s in statements(loop.body)):
        return False
    if any(type(node) is f.Call and last_name(node.func) == "new_group" for node in walk(loop.body)):
        return False
    set_to = [s.value for s in loop.body if type(s) is f.Assign and name in {place_name(t) for t in s.targets}]
    if len(set_to) != 1 or sum(_sets(s, name) for s in loop.body) != 1 or set_to[0] is None:
        return False
    used = variables(set_to[0])
    return bool(used & variables(loop.target)) and name not in used


def _is_looked_in(suite: Sequence[f.Stmt], name: str) -> bool:
    """Whether a test that follows asks if something is in the list, while that is the same."""
    for s in itertools.takewhile(lambda s: not _sets(s, name), suite):
        for node in walk((s.test,)) if type(s) is f.If else ():
            if type(node) is f.Compare and node.ops == ("in",) and place_name(node.rights[0]) == name:
                return True
    return False
