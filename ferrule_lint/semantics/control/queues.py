"""Loops that take what a queue holds, in worker threads most often.

How often such a loop looks is no number of collectives: it issues as many as items are put into the queue, and an empty
queue skips nothing, since the loop looks again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_QUEUE = re.compile(r"(?i)(^|_)(queues?|q|jobs|tasks|inbox|mailbox|buffer)$")
_TAKES = frozenset({"get", "get_nowait"})
_THREAD = frozenset({"Thread"})
#: exceptions of a queue that has nothing now
EMPTY = frozenset({"Empty", "QueueEmpty"})
_NOTHING_LEFT = EMPTY | {"ZMQError", "Again"}


def sets_no_number(frame: Frame, loop: f.While) -> bool:
    """Whether a loop runs until it is told to stop, and takes an item of a queue in its rounds.

    `while not stop.is_set()`; and `while not queue.empty()` where a thread works off the queue, which leaves the rest.
    """
    asked = {last_name(node.func) for node in walk(loop.test) if type(node) is f.Call}
    if not asked or not asked <= {"is_set", "empty"}:
        return False
    return ("is_set" in asked or frame.module.mentions_any(_THREAD)) and _takes(frame, loop.body)


def drained(loop: f.While) -> f.Handler | None:
    """The handler by which a loop ends that takes whatever has come so far: `while True: try: take() except Empty:
    break`. Its rounds are those items, of which each process finds as many as have reached it."""
    if loop.test not in (f.Const("True"), f.Const("1")) or len(loop.body) != 1 or type(loop.body[0]) is not f.Try:
        return None
    for handler in loop.body[0].handlers:
        if last_name(handler.type) in _NOTHING_LEFT and [type(s) for s in handler.body[-1:]] == [f.Break]:
            return handler
    return None


def polls(loop: f.While) -> bool:
    """Whether nothing counts the rounds of a loop: they leave what its test asks for alone, but for what they do under
    tests of their own."""
    asked = {place_name(node) for node in walk(loop.test) if type(node) is f.Name or type(node) is f.Attr} - {""}
    return not asked or all(_leaves_alone(s, asked) for s in loop.body)


def tries(loop: f.For | f.While) -> bool:
    """Whether a round that comes to its end is the last one: those before have failed, and say nothing of how often
    what it ends with is done."""
    return bool(loop.body) and type(loop.body[-1]) is f.Break


def _leaves_alone(s: f.Stmt, asked: set[str]) -> bool:
    if type(s) is f.If:
        return True
    changed = {place_name(t) for t in getattr(s, "targets", ())} | {place_name(getattr(s, "target", None))}
    called = [node.func for node in walk(s) if type(node) is f.Call]
    changed |= {place_name(c.base) for c in called if type(c) is f.Attr}
    return changed.isdisjoint(asked)


def looks_again(frame: Frame, handler: f.Handler, body: f.Body) -> bool:
    """Whether a handler of an empty queue leads back to taking from it: it ends a round of a `while` loop, or a method
    that waits for an item and is called in such a loop."""
    function = frame.function
    if function is None or not _direct(body):
        return False
    for loop, statement, last in _tries(function.body):
        if handler in statement.handlers and loop is not None:
            kinds = {type(s) for s in handler.body}
            return kinds.isdisjoint({f.Return, f.Break, f.Raise}) and (f.Continue in kinds or last)
    if not _waits(body) or not any(type(s) is f.Return for s in handler.body) or frame.self_class is None:
        return False
    methods = [m for c in frame.analysis.names.mro(frame.self_class) for m in c.methods.values()]
    loops = (node for m in methods for node in walk(m.body) if type(node) is f.While)
    return any(function.name in _own_calls(loop.body) for loop in loops)


def _tries(body: f.Body, loop: f.While | None = None) -> Iterator[tuple[f.While | None, f.Try, bool]]:
    """Each `try` with the `while` that it is in a round of, and whether it is the last of the round."""
    for s in body:
        if type(s) is f.Try:
            yield loop, s, loop is not None and s is loop.body[-1]
        for part in ("body", "orelse", "final"):
            inner = getattr(s, part, None)
            if isinstance(inner, tuple):
                yield from _tries(inner, s if type(s) is f.While else None if type(s) is f.For else loop)


def _takes(frame: Frame, body: f.Body) -> bool:
    """Whether a block takes an item of a queue, itself or in a method that it calls."""
    if _direct(body):
        return True
    info = frame.self_class
    found = (frame.analysis.names.method(info, name) for name in _own_calls(body)) if info is not None else ()
    return any(method is not None and _direct(method.body) for method in found)


def _direct(body: object) -> bool:
    return any(True for _ in _gets(body))


def _waits(body: object) -> bool:
    return any(name == "timeout" for call in _gets(body) for name, _ in call.keywords)


def _gets(body: object) -> Iterator[f.Call]:
    """Calls that take an item: `queue.get(timeout=1)`; `get(key)` is a dict's."""
    for node in walk(body):
        if type(node) is f.Call and type(node.func) is f.Attr and node.func.attr in _TAKES:
            flags = all(a in (f.Const("True"), f.Const("False")) for a in node.args)
            if flags and _QUEUE.search(last_name(node.func.base)):
                yield node


def _own_calls(body: object) -> set[str]:
    """Methods that are called on a bare name, `self` most often."""
    return {
        node.func.attr
        for node in walk(body)
        if type(node) is f.Call and type(node.func) is f.Attr and type(node.func.base) is f.Name
    }
