"""Loops that take their items by hand: `rest = iter(items)` and `while True:` with `next(rest)`, until it has none.

They are `for` loops in other words. What takes items of the same iterator elsewhere, or starts it again, is none. So
are loops that take items out of a set until it is empty (`while names:`, `name = names.pop()`), in its order.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.control import end_of_data
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.text import last_name, place_name, position
from ferrule_lint.semantics.walk.frame import Frame

#: the tests of loops that never end by themselves
FOREVER = (f.Const("True"), f.Const("1"))


def as_for(frame: Frame, loop: f.While) -> f.For | None:
    """The `for` loop that a `while` loop is, if it is one."""
    if (emptied := _of_set(frame, loop)) is not None:
        return emptied
    if loop.test not in FOREVER or loop.orelse or not loop.body:
        return None
    first = loop.body[0]
    taken = _taken(first) if type(first) is f.Try else None
    if taken is None:
        return None
    target, rest = taken
    made = definition(frame, rest)
    if type(made) is not f.Call or last_name(made.func) != "iter" or len(made.args) != 1 or made.keywords:
        return None
    if frame.function is not None and _names(frame.function.body, rest.id) != 2:
        return None
    ending = end_of_data.at_handler(frame, loop.body[:1], (loop.line, loop.column, loop.line, loop.column))
    if ending is not None and ending.divergence is not None and ending.divergence.confidence > Confidence.LOW:
        return None  # of the end of such data more is known than of a loop
    place = position(made.args[0]) or (loop.line, loop.column, loop.line, loop.column)
    return f.For(loop.line, target, made.args[0], loop.body[1:], (), place[1])


def _of_set(frame: Frame, loop: f.While) -> f.For | None:
    """A loop that takes out of a set whatever comes, until there is nothing left."""
    first = loop.body[0] if loop.body and not loop.orelse else None
    if type(first) is not f.Assign or len(first.targets) != 1 or type(first.value) is not f.Call:
        return None
    call = first.value
    if type(call.func) is not f.Attr or call.func.attr != "pop" or call.args or call.keywords:
        return None
    place = place_name(call.func.base)
    if not place or not _asks_for_items(loop.test, place) or frame.eval(call.func.base).unordered is None:
        return None
    return f.For(loop.line, first.targets[0], call.func.base, loop.body[1:], (), loop.column)


def _asks_for_items(test: f.Expr, place: str) -> bool:
    """`names`, `len(names)`, `len(names) > 0`"""
    if type(test) is f.Compare and len(test.rights) == 1 and test.rights[0] == f.Const("0"):
        test = test.left if test.ops[0] in (">", "!=") else test
    if type(test) is f.Call and last_name(test.func) == "len" and len(test.args) == 1:
        test = test.args[0]
    return place_name(test) == place


def _taken(s: f.Try) -> tuple[f.Expr, f.Name] | None:
    """`x` and `rest` of `try: x = next(rest)` with `except StopIteration: break`."""
    if len(s.body) != 1 or len(s.handlers) != 1 or s.orelse or s.final:
        return None
    taking, handler = s.body[0], s.handlers[0]
    if last_name(handler.type) != "StopIteration" or len(handler.body) != 1 or type(handler.body[0]) is not f.Break:
        return None
    if type(taking) is not f.Assign or len(taking.targets) != 1 or type(taking.value) is not f.Call:
        return None
    call = taking.value
    if last_name(call.func) != "next" or len(call.args) != 1 or type(call.args[0]) is not f.Name:
        return None
    return taking.targets[0], call.args[0]


def _names(body: f.Body, name: str) -> int:
    """How often a name stands in a body."""
    return sum(1 for node in walk(body) if type(node) is f.Name and node.id == name)
