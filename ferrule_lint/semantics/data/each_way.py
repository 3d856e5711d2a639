"""Lists that get as many items in a round of a loop, whichever way the round takes.

`if mask.any(): losses.append(loss)`, `else: losses.append(zero)`; or `losses.append(zero)` and `continue` in the arm,
and `losses.append(loss)` behind it. Which way a rank takes says nothing of how many items there are then.
"""

from __future__ import annotations

from typing import NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.semantics.domain.assigned import appended_to
from ferrule_lint.semantics.domain.text import place_name

_NOBODY: frozenset[int] = frozenset()


class _Ways(NamedTuple):
    """How many items a list may have got where a block has been gone through, and where its round has ended before."""

    through: frozenset[int]
    ended: frozenset[int] = _NOBODY


def gets_as_many(body: f.Body, place: str) -> bool:
    """Whether a list gets as many items on each way through the body of a loop; ways that raise do not count."""
    ways = _of_block(body, place, frozenset({0}))
    return ways is not None and len(ways.through | ways.ended) == 1


def _of_block(body: f.Body, place: str, begun: frozenset[int]) -> _Ways | None:
    """None: it cannot be told, or the loop is left."""
    through, ended = begun, _NOBODY
    for s in body:
        if type(s) is f.If:
            arms = [_of_block(arm, place, through) for arm in (s.body, s.orelse)]
            if None in arms:
                return None
            through = frozenset().union(*(arm.through for arm in arms if arm is not None))
            ended = ended.union(*(arm.ended for arm in arms if arm is not None))
        elif type(s) is f.With:
            inner = _of_block(s.body, place, through)
            if inner is None:
                return None
            through, ended = inner.through, ended | inner.ended
        elif type(s) is f.Try and not s.final and _grows_in(s, place):
            tried = _of_try(s, place, through)
            if tried is None:
                return None
            through, ended = tried.through, ended | tried.ended
        elif type(s) is f.Continue:
            return _Ways(_NOBODY, ended | through)
        elif type(s) is f.Raise:
            return _Ways(_NOBODY, ended)
        elif type(s) is f.Break or type(s) is f.Return:
            return None
        elif appended_to(s) == place:
            through = frozenset(number + 1 for number in through)
        elif _adds(s, place):
            return None
    return _Ways(through, ended)


def _grows_in(s: f.Try, place: str) -> bool:
    called = (call.func for call in nodes((s,), f.Call))
    return any(type(func) is f.Attr and place_name(func.base) == place for func in called)


def _of_try(s: f.Try, place: str, begun: frozenset[int]) -> _Ways | None:
    """`try: xs.append(make(x))`, `except Broken: xs.append(0)`: who fails has not got that item yet."""
    failed = _where_it_fails(s.body, place, begun)
    if failed is None:
        return None
    ways = [_of_block((*s.body, *s.orelse), place, begun), *(_of_block(h.body, place, failed) for h in s.handlers)]
    if None in ways:
        return None
    through = frozenset().union(*(way.through for way in ways if way is not None))
    return _Ways(through, _NOBODY.union(*(way.ended for way in ways if way is not None)))


def _where_it_fails(body: f.Body, place: str, begun: frozenset[int]) -> frozenset[int] | None:
    """How many items the list may have where something in a block fails: putting in what is there already does not."""
    failed, through = _NOBODY, begun
    for s in body:
        if type(s) is f.If:
            arms = [_where_it_fails(arm, place, through) for arm in (s.body, s.orelse)]
            if None in arms:
                return None
            failed = failed.union(through, *(arm for arm in arms if arm is not None))
        elif appended_to(s) != place or [type(a) for c in nodes((s,), f.Call) for a in c.args] != [f.Const]:
            failed |= through
        way = _of_block((s,), place, through)
        if way is None:
            return None
        through = way.through
    return failed


def _adds(s: f.Stmt, place: str) -> bool:
    """Whether a statement does something else to how much there is, or leaves the loop from within another block."""
    methods = [call.func for call in nodes((s,), f.Call) if type(call.func) is f.Attr]
    if any(m.attr in _GROWS and place_name(m.base) == place for m in methods) or nodes((s,), f.Return):
        return True
    targets = s.targets if type(s) is f.Assign else (s.target,) if type(s) is f.AugAssign else ()
    if any(place_name(t) == place for t in targets):
        return True
    return type(s) is f.Try and bool(nodes((s,), f.Break) or nodes((s,), f.Continue))


_GROWS = frozenset("append appendleft extend insert pop remove clear".split())
