"""Attributes that get a value of their own on every rank, compared with the one that they begin with.

```python
self.role = NONE
...
if rank == 0:
    self.role = SERVER
else:
    self.role = CLIENT
...
if self.role != NONE: ...
```

Ranks have other roles, but each has one: whether it has is the same on all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.data.where_given import methods_of
from ferrule_lint.semantics.domain.text import place_name, shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def asks_whether_set(frame: Frame, op: str, left: f.Expr, right: f.Expr) -> bool:
    """Whether `self.role == NONE` asks for the value that all ranks have until one test gives each another one."""
    owner, _, name = (place_name(left) or "").partition(".")
    if op not in ("==", "!=", "is", "is not") or not name or owner != frame.self_name or frame.self_class is None:
        return False
    begun, either = False, False
    for scope in methods_of(frame):
        place = f"{scope.own}.{name}"
        known = {id(s) for test in statements(scope.body) for s in _set_in_both(test, place, shown(right))}
        for s in _settings(scope.body, place):
            begun = begun or _is(s, shown(right))
            if not _is(s, shown(right)) and id(s) not in known:
                return False
        either = either or bool(known)
    return begun and either


def _set_in_both(test: f.Stmt, place: str, value: str) -> Iterator[f.Assign]:
    """The assignments of a test either arm of which gives a place another value."""
    if type(test) is not f.If:
        return
    arms = [list(_of_arm(arm, place, value)) for arm in (test.body, test.orelse)]
    if all(arms):
        yield from (s for arm in arms for s in arm)


def _of_arm(arm: f.Body, place: str, value: str) -> Iterator[f.Assign]:
    for s in arm:
        if type(s) is f.Assign and any(place_name(t) == place for t in s.targets) and not _is(s, value):
            yield s
        elif type(s) is f.If:
            yield from _set_in_both(s, place, value)


def _settings(body: f.Body, place: str) -> Iterator[f.Assign]:
    return (s for s in statements(body) if type(s) is f.Assign and any(place_name(t) == place for t in s.targets))


def _is(s: f.Assign, value: str) -> bool:
    return s.value is not None and shown(s.value) == value
