"""Loops that go on until a list is used up: `while files: file = files.pop()` has a round for each of its items."""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.data.ordering import length_deps
from ferrule_lint.semantics.domain.dependences import NO_DEPS, Deps
from ferrule_lint.semantics.domain.lattice import Divergence, Value, rounds_of
from ferrule_lint.semantics.domain.text import last_name, place_name

#: methods that take items out, and functions that take them out of their first argument
_TAKES = frozenset("pop popleft popitem".split())
_TAKES_OUT_OF = frozenset({"heappop"})
#: the same for those that put some in: what is put in again has rounds that nobody has counted
_PUTS = frozenset("append appendleft extend extendleft insert add update push setdefault heappush".split())


def of_while(s: f.While, before: dict[str, Value]) -> tuple[Divergence | None, Deps]:
    """Why the number of rounds differs, and the parameters that decide it. `before`: what is known before the loop."""
    place = place_name(_asked(s.test))
    value = before.get(place) if place else None
    if value is None or not _is_used_up(s.body, place):
        return None, NO_DEPS
    return rounds_of(value), length_deps(value)


def _asked(test: f.Expr) -> f.Expr:
    """`files` of `while files` and of `while len(files)`."""
    if type(test) is f.Call and last_name(test.func) in ("len", "bool") and len(test.args) == 1:
        return test.args[0]
    return test


def _is_used_up(body: f.Body, place: str) -> bool:
    """Whether rounds take items out of a list, and none puts any in."""
    taken = any(type(s) is f.Assign and _rest(s, place) for s in statements(body))
    for node in walk(body):
        if type(node) is not f.Call:
            continue
        name = last_name(node.func)
        of_method = type(node.func) is f.Attr and place_name(node.func.base) == place
        of_function = bool(node.args) and place_name(node.args[0]) == place
        if (of_method or of_function) and name in _PUTS:
            return False
        taken = taken or (of_method and name in _TAKES) or (of_function and name in _TAKES_OUT_OF)
    return taken


def _rest(s: f.Assign, place: str) -> bool:
    """`part, files = files[:4], files[4:]`"""
    for target in s.targets:
        pairs = [(target, s.value)]
        if type(target) is f.Sequence and type(s.value) is f.Sequence:
            pairs = list(zip(target.elements, s.value.elements, strict=False))
        for own, value in pairs:
            if place_name(own) == place and type(value) is f.Subscript and place_name(value.base) == place:
                return True
    return False
