"""Lists that have an item on every rank: they are filled from what got something else in its place where it was empty.

`if len(grads) == 0: grads = padding`, then `for g in grads: norms.append(g.norm())`, or `[g.norm() for g in grads]`.
That the stand-in has something in it is what it is put there for.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import every_block, nodes, statements
from ferrule_lint.semantics.domain.assigned import Bodies, appended_to, by_place
from ferrule_lint.semantics.domain.text import last_name, length_of, place_name

#: what walks several lists side by side, or one of them otherwise
_SIDE_BY_SIDE = frozenset({"zip", "enumerate", "list", "tuple", "tqdm", "reversed"})
_EMPTY = f.Sequence("list", ())
#: statements above one, in its block, among which the stand-in is looked for
FARTHEST = 100


def is_padded(bodies: Bodies, body: f.Body, place: str) -> bool:
    """Whether all that a function makes a list of is filled from such others, an item for each of theirs."""
    found = False
    for block, i in bodies.once(_filled, body).get(place, ()):
        walked = _walked_for(block[i], place)
        if walked is None:
            continue
        if not walked or not all(name and _is_stood_in_for(block[max(0, i - FARTHEST) : i], name) for name in walked):
            return False
        found = True
    return found


def _filled(body: f.Body) -> dict[str, list[tuple[f.Body, int]]]:
    """Where a function may fill each list: the blocks of the statements, and their places in them."""
    return by_place((place, (block, i)) for block in every_block(body) for i, s in enumerate(block) for place in _of(s))


def _of(s: f.Stmt) -> set[str]:
    """The places that a loop appends to in each round, or a statement assigns."""
    if type(s) is f.For:
        return {appended_to(inner) for inner in s.body} - {""}
    return {*map(place_name, s.targets)} - {""} if type(s) is f.Assign else set()


def _walked_for(s: f.Stmt, place: str) -> list[str] | None:
    """The lists from which a statement fills another, an item for each of theirs; empty where it puts something into it
    otherwise, None where it has nothing to do with that."""
    if type(s) is f.For:
        puts = [inner for inner in s.body if appended_to(inner) == place]
        leaves = any(type(inner) in (f.Break, f.Continue) for inner in statements(s.body))
        return None if not puts else [] if leaves else list(_names(s.iterable))
    if type(s) is f.Assign and any(place_name(t) == place for t in s.targets):
        value = s.value
        if type(value) is f.Comprehension:
            only = value.generators[0]
            plain = len(value.generators) == 1 and not only.conditions
            return list(_names(only.iterable)) if plain else []
        return None if value == _EMPTY or value is None else []
    return None


def _names(iterable: f.Expr) -> Iterator[str]:
    """The lists that a loop walks; "" for anything else."""
    if type(iterable) is f.Call and last_name(iterable.func) in _SIDE_BY_SIDE and iterable.args:
        for given in iterable.args:
            yield from _names(given)
    else:
        yield iterable.id if type(iterable) is f.Name else ""


def _is_stood_in_for(before: f.Body, name: str) -> bool:
    """Whether a test above gives a list something else where it has nothing in it, and nothing does so below."""
    for s in reversed(before):
        if type(s) is f.If and _asks_if_empty(s.test, name):
            given = [a.value for a in s.body if type(a) is f.Assign and any(place_name(t) == name for t in a.targets)]
            return bool(given) and given[-1] != _EMPTY
        if any(place_name(t) == name for a in nodes(s, f.Assign) for t in a.targets):
            return False
    return False


def _asks_if_empty(test: f.Expr, name: str) -> bool:
    """`not xs`, `len(xs) == 0`, `len(xs) <= 0`, `len(xs) < 1`, or one of these among others."""
    if type(test) is f.BoolOp and test.op == "or":
        return any(_asks_if_empty(value, name) for value in test.values)
    if type(test) is f.Not:
        return name in (place_name(test.operand), place_name(length_of(test.operand)))
    if type(test) is not f.Compare or len(test.ops) != 1 or place_name(length_of(test.left)) != name:
        return False
    return (test.ops[0], test.rights[0]) in (("==", f.Const("0")), ("<=", f.Const("0")), ("<", f.Const("1")))
