"""Walking over facts. The only place that knows that a node is a tuple of nodes, texts and numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from ferrule_lint.facts import types as f

_N = TypeVar("_N")

#: what has a text and a position, and no parts
_LEAVES: frozenset[type] = frozenset({f.Name, f.Const})
#: what has parts, and its position as the last field
_PLACED = frozenset(node for node in f.NODES if node._fields[-1] == "pos") - _LEAVES  # type: ignore[attr-defined]
#: the tuples in a node that are no position, which is one of numbers: a sequence of nodes has parts, too
_PARTS = frozenset({*f.NODES, tuple})
_WITH_PARTS = _PARTS - _LEAVES
_LEAVE = frozenset({f.Return, f.Continue, f.Break, f.Raise})
#: the statements that have blocks
WITH_BLOCKS = frozenset({f.If, f.For, f.While, f.With, f.Try})


def walk(node: object) -> Iterator[object]:
    """The tuples at or below `node`: nodes, and sequences of them, an outer one before its parts."""
    if not isinstance(node, tuple):
        return
    stack: list[Any] = [node]
    pop = stack.pop
    while stack:
        item = pop()
        yield item
        kind = type(item)
        if kind in _PLACED:  # where it stands is no part of it
            stack += [part for part in item[:-1] if type(part) in _PARTS]
        elif kind not in _LEAVES:
            stack += [part for part in item if type(part) in _PARTS]


def nodes(node: object, kind: type[_N]) -> list[_N]:
    """The nodes of one kind among what `walk` yields, in its order; a list, which takes less time."""
    found: list[_N] = []
    stack: list[Any] = [node] if isinstance(node, tuple) else []
    pop = stack.pop
    # most nodes are names and constants: unless it is these that are looked for, they are passed over
    wanted = _PARTS if kind in _LEAVES else _WITH_PARTS
    while stack:
        item = pop()
        at = type(item)
        if at is kind:
            found.append(item)
        if at is f.Attr:
            if type(item[0]) in wanted:
                stack.append(item[0])
        elif at in _PLACED:
            stack += [part for part in item[:-1] if type(part) in wanted]
        elif at not in _LEAVES:
            stack += [part for part in item if type(part) in wanted]
    return found


def stands_in(call: f.Call, around: f.Body | f.Expr) -> bool:
    """Whether a call, told by where it stands, is somewhere in a block or an expression."""
    return any(node.pos == call.pos for node in nodes(around, f.Call))


def told_parts(test: f.Expr, outcome: bool) -> Iterator[tuple[f.Expr, bool]]:
    """The tests that another one is made of whose outcome its own tells, each with that: both halves of an `and` that
    holds, or of an `or` that does not, what is negated, and else the test itself."""
    if type(test) is f.Not:
        yield from told_parts(test.operand, not outcome)
    elif type(test) is f.BoolOp and (test.op == "and") is outcome:
        for value in test.values:
            yield from told_parts(value, outcome)
    else:
        yield test, outcome


def statements(body: f.Body) -> list[f.Stmt]:
    """The statements among what `walk` yields, in its order: each, those in the blocks of others included. Where no
    expression is looked for this takes a small part of the time."""
    found: list[f.Stmt] = []
    stack = list(body)
    while stack:
        s = stack.pop()
        found.append(s)
        if type(s) in WITH_BLOCKS:
            for block in blocks(s):
                stack += block
    return found


def blocks(statement: f.Stmt) -> Iterator[f.Body]:
    """The blocks of a statement, in their order; a block that is not written is empty."""
    if type(statement) is f.If or type(statement) is f.For or type(statement) is f.While:
        yield statement.body
        yield statement.orelse
    elif type(statement) is f.With:
        yield statement.body
    elif type(statement) is f.Try:
        yield statement.body
        yield from (handler.body for handler in statement.handlers)
        yield statement.orelse
        yield statement.final


def way_to(body: f.Body, pos: f.Pos | tuple[int, int]) -> list[tuple[f.Body, int]]:
    """The blocks that a place stands in, outer ones first, each with the number of the statement in it that holds the
    place: the last one that begins on its line or before."""
    for i in range(len(body) - 1, -1, -1):
        s = body[i]
        if s.line <= pos[0]:
            inner = next((found for block in reversed([*blocks(s)]) if (found := way_to(block, pos))), [])
            return [(body, i), *inner]
    return []


def under_tests(body: f.Body) -> list[tuple[f.Stmt, tuple[f.Expr, ...]]]:
    """The statements of a body, those in the blocks of others included, each with the tests that hold where it stands:
    those of the arms around it, and those of the arms before it that leave."""
    found: list[tuple[f.Stmt, tuple[f.Expr, ...]]] = []
    _note_under_tests(found, body, ())
    return found


def _note_under_tests(found: list[tuple[f.Stmt, tuple[f.Expr, ...]]], body: f.Body, tests: tuple[f.Expr, ...]) -> None:
    for s in body:
        found.append((s, tests))
        if type(s) is f.If:
            _note_under_tests(found, s.body, (*tests, s.test))
            _note_under_tests(found, s.orelse, (*tests, f.Not(s.test)))
            if s.body and type(s.body[-1]) in _LEAVE:
                tests = (*tests, f.Not(s.test))
        elif type(s) in WITH_BLOCKS:
            for block in blocks(s):
                _note_under_tests(found, block, tests)


def every_block(body: f.Body) -> Iterator[f.Body]:
    """A body and the blocks in it, an outer one before its parts."""
    yield body
    for statement in body:
        for block in blocks(statement):
            yield from every_block(block)


def replaced(node: f.Expr, names: Mapping[str, f.Expr], pos: f.Pos) -> f.Expr:
    """An expression with others in place of some names, as if it stood at `pos`; what is put in stays where it was."""
    changed: f.Expr = _replaced(node, names, pos)
    return changed


def _replaced(node: Any, names: Mapping[str, f.Expr], pos: f.Pos) -> Any:
    kind = type(node)
    if kind is f.Name:
        return names.get(node.id) or f.Name(node.id, pos)
    if kind is f.Const or not isinstance(node, tuple):
        return node
    if kind is tuple:
        return tuple([_replaced(part, names, pos) for part in node])
    if kind in _PLACED:
        return kind(*[_replaced(part, names, pos) for part in node[:-1]], pos)
    return kind(*[_replaced(part, names, pos) for part in node])
