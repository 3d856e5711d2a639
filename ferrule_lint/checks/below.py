"""What becomes of values below a dispatch that hands them to some calls: are they worked with, or only handed on?

By the text of one function: names, items under a key (`batch["tokens"]`), and containers that they are put into.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.text import items_named, position, render, root_name


class Use(NamedTuple):
    """A place where a value is read. `is_work`: something is worked out of it, it is not just put into a container,
    bound to another name or handed back."""

    pos: f.Pos
    is_work: bool


class _Move(NamedTuple):
    """What an assignment or a `return` takes as it is, and the names that it is bound to."""

    line: int
    targets: frozenset[str]
    items: tuple[f.Name, ...]


def uses_below(body: f.Body, test: f.Pos, calls: Mapping[f.Pos, bool]) -> list[Use]:
    """The uses of what is passed to `calls`, below the `if` with this test, by the ranks that come by it. Of a call
    with True only the first argument counts: the others of a collective are its group and source."""
    dispatch = next((n for n in walk(body) if type(n) is f.If and position(n.test) == test), None)
    last = max((n.pos[2] for n in walk(dispatch) if type(n) is f.Name), default=0)
    whole, parts = _passed(body, calls)
    moves = [move for move in _moves(body) if move.line > last]
    for move in moves:
        # a container that what was shared is put into below holds it
        if any(item.id in whole for item in move.items):
            whole |= move.targets
    moved = {item.pos for move in moves for item in move.items}
    other_ranks = _in_other_arms(body, test)
    stored = {t.pos for n in walk(body) if type(n) is f.Assign for t in n.targets if type(t) is f.Name}
    items = {n.base.pos: render(n) for n in walk(body) if type(n) is f.Subscript and type(n.base) is f.Name}
    return [
        Use(n.pos, n.pos not in moved)
        for n in walk(body)
        if type(n) is f.Name and n.pos[0] > last and n.pos not in other_ranks and n.pos not in stored
        if n.id in whole or items.get(n.pos, n.id) in parts
    ]


def _passed(body: f.Body, calls: Mapping[f.Pos, bool]) -> tuple[set[str], set[str]]:
    """The names that are passed as a whole, and the texts of items that are, with those of their containers."""
    whole: set[str] = set()
    parts: set[str] = set()
    for node in walk(body):
        if type(node) is f.Call and node.pos in calls:
            arguments = (*node.args, *(value for _, value in node.keywords))
            for argument in arguments[:1] if calls[node.pos] else arguments:
                if type(argument) is f.Subscript and type(argument.base) is f.Name:
                    parts |= {render(argument), argument.base.id}
                else:
                    whole.add(root_name(argument))
    return whole, parts


def _moves(body: f.Body) -> list[_Move]:
    found: list[_Move] = []
    for node in walk(body):
        if (type(node) is f.Assign or type(node) is f.Return) and node.value is not None:
            targets = node.targets if type(node) is f.Assign else ()
            bound = frozenset(target.id for target in targets if type(target) is f.Name)
            found.append(_Move(node.line, bound, tuple(items_named(node.value))))
    return sorted(found, key=lambda move: move.line)


def _in_other_arms(body: f.Body, test: f.Pos) -> set[f.Pos]:
    """The names in the other arms of the tests around one."""
    found: set[f.Pos] = set()
    for node in walk(body):
        if type(node) is f.If and any(type(n) is f.If and position(n.test) == test for n in walk(node.body)):
            found.update(n.pos for n in walk(node.orelse) if type(n) is f.Name)
    return found
