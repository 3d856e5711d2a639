"""Sets in attributes that the method which makes them puts in order, wherever it has put something in: what is left on
the other ways is empty, and has no order to differ in.

`self.keys = set()`, and under some test `self.keys.update(names)`, `self.keys = sorted(self.keys)`.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import blocks, walk
from ferrule_lint.semantics.data.filled_sets import is_empty_set
from ferrule_lint.semantics.domain.assigned import assigning
from ferrule_lint.semantics.domain.text import last_name, place_name

_FILLS = frozenset({"add", "update"})


def is_left_in_order(body: f.Body, place: str) -> bool:
    """Whether a place is made an empty set, and nothing but what comes before a `sorted` of it in the same block puts
    anything in or sets it to anything else."""
    first = min(assigning(body, place), key=lambda s: s.line, default=None)
    if first is None or not is_empty_set(first.value):
        return False
    return _is_ordered(body, place, first.line)


def _is_ordered(block: f.Body, place: str, made: int) -> bool:
    """Whether a block puts nothing in but before it puts all of it in order, at its own level; `made`: the line in
    which the place is made."""
    sorts = [i for i, s in enumerate(block) if type(s) is f.Assign and _sorts(s, place)]
    if sorts:
        return not any(_touches(s, place) for s in block[sorts[-1] + 1 :])
    for s in block:
        within = tuple(blocks(s))
        if not within:
            if s.line != made and _touches(s, place):
                return False
        elif not all(_is_ordered(inner, place, made) for inner in within):
            return False
    return True


def _sorts(s: f.Assign, place: str) -> bool:
    value = s.value
    sets = len(s.targets) == 1 and place_name(s.targets[0]) == place
    if not sets or type(value) is not f.Call or last_name(value.func) != "sorted" or value.keywords:
        return False
    return any(type(node) is f.Attr and place_name(node) == place for node in walk(value.args))


def _touches(s: f.Stmt, place: str) -> bool:
    """Whether a statement puts something into a place or sets it."""
    for node in walk((s,)):
        set_there = node.targets if type(node) is f.Assign else (node.target,) if type(node) is f.AugAssign else ()
        if any(place_name(target) == place for target in set_there):
            return True
        called = node.func if type(node) is f.Call else None
        if type(called) is f.Attr and called.attr in _FILLS and place_name(called.base) == place:
            return True
    return False
