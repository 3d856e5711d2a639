"""Tests whether a folder is there behind which somebody only looks for what lies in it.

`if os.path.isdir(folder): last = newest(folder)`: a rank that comes before another has made the folder goes past it,
and one that comes later finds it empty, which comes to the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk, way_to
from ferrule_lint.semantics.domain.text import last_name, render

#: calls that look for something in a folder, by their names
_LOOKS = re.compile(r"(^|_)(i?glob|list_?dir|scan_?dir|iter_?dir|walk|scan|find|search|list|latest|last|newest)(_|$)")
#: what is kept where there is nothing
_NOTHING = frozenset({"None", "''", "0", "-1", "False"})


def only_looks_inside(body: f.Body, given: Collection[str], test: f.Call, path: f.Expr) -> bool:
    """Whether a test of a folder in this body is the whole of an `if` in which names that hold nothing yet get what
    lies in that folder, and nothing else is done. What the function is `given` holds something."""
    way = way_to(body, test.pos)
    s = way[-1][0][way[-1][1]] if way else None
    if type(s) is not f.If or type(s.test) is not f.Call or s.test.pos != test.pos:
        return False
    before = [b for block, i in way for b in statements(block[:i]) if type(b) is f.Assign]
    nothing = [place for b in before for place in _emptied(b)]
    held = {render(place) for b in before for t in b.targets for place in _places(t) if place not in nothing}
    found = [_looked_up(b, render(path)) for b in s.body]
    return all(_emptied(b) for b in s.orelse) and all(places and places.isdisjoint({*held, *given}) for places in found)


def _emptied(s: f.Stmt) -> list[f.Expr]:
    """What a statement says to hold nothing: `first, second = None, None`."""
    if type(s) is not f.Assign or s.value is None:
        return []
    return [place for target in s.targets for place in _of_nothing(target, s.value)]


def _of_nothing(target: f.Expr, value: f.Expr) -> list[f.Expr]:
    if type(target) is f.Sequence and type(value) is f.Sequence and len(target.elements) == len(value.elements):
        pairs = zip(target.elements, value.elements, strict=True)
        return [place for t, v in pairs for place in _of_nothing(t, v)]
    nothing = not value.elements if type(value) is f.Sequence else type(value) is f.Const and value.text in _NOTHING
    return [target] if nothing else []


def _places(target: f.Expr) -> tuple[f.Expr, ...]:
    return target.elements if type(target) is f.Sequence else (target,)


def _looked_up(s: f.Stmt, folder: str) -> frozenset[str]:
    """What a statement says to hold what was found in a folder."""
    if type(s) is not f.Assign or s.value is None:
        return frozenset()
    calls = [node for node in walk(s.value) if type(node) is f.Call]
    looks = any(_LOOKS.search(last_name(c.func).lower()) for c in calls)
    places = [node for c in calls for node in walk(c) if type(node) is f.Name or type(node) is f.Attr]
    inside = any(render(place) == folder for place in places)
    return frozenset(map(render, s.targets)) if looks and inside else frozenset()
