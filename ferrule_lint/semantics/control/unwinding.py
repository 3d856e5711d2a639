"""Tests whether an exception is on its way: `if sys.exc_info()[0] is None: barrier()` in a `finally` or what it calls.

Where one is, a rank does nothing of what stands under such a test, and so it waits for nobody there. A loop that counts
its rounds has not come to its end then, which others may ask for: `for self.step in range(first, last)` in the `try`,
and `if self.loop.step + 1 >= self.loop.last: evaluate()` in what the `finally` calls.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements, walk
from ferrule_lint.semantics.domain.assigned import Bodies
from ferrule_lint.semantics.domain.text import instance_test, last_name, position
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Event, Trace, parts
from ferrule_lint.semantics.project.entities import FunctionInfo

_ASKS = frozenset({"exc_info", "exception"})
#: exceptions by which all ranks end alike
_ENDS_ALL = frozenset({"SystemExit"})
_DEEPEST = 4


#: what a loop counts its rounds by, and the last number, by their last names
Counted = frozenset[tuple[str, str]]
_NONE: Counted = frozenset()


def counted_in(body: f.Body) -> Counted:
    """The loops of a block whose rounds are counted: `for self.step in range(first, last)`."""
    return frozenset(
        (last_name(s.target), last_name(s.iterable.args[min(1, len(s.iterable.args) - 1)]))
        for s in statements(body)
        if type(s) is f.For and type(s.iterable) is f.Call and last_name(s.iterable.func) == "range" and s.iterable.args
    )


def first(
    bodies: Bodies, trace: Trace, function: FunctionInfo | None, counted: Counted = _NONE, depth: int = 0
) -> tuple[Event, f.Pos] | None:
    """The first event of a trace of a function that a rank with an exception comes to, and where it is reached."""
    asked = dict(_tests(bodies, function, counted)) if function is not None else {}
    stack = list(trace)
    while stack:
        term = stack.pop(0)
        if type(term) is Event:
            return term, term.pos
        if type(term) is CallTerm and term.summary.events:
            event = term.summary.events[0]
            inside, callee = term.summary.trace, term.summary.function
            inner = (
                first(bodies, inside, callee, counted, depth + 1) if inside and depth < _DEEPEST else (event, term.pos)
            )
            if inner is not None:
                return inner[0], term.pos
        elif type(term) is Choice and term.pos in asked:
            stack = [*(term.body if asked[term.pos] else term.orelse), *stack]
        else:
            stack = [*parts(term), *stack]
    return None


def _asks(body: f.Body) -> bool:
    """Whether a function asks for the exception that is on its way."""
    return any(last_name(call.func) in _ASKS for call in nodes(body, f.Call))


def _tests(bodies: Bodies, function: FunctionInfo, counted: Counted) -> list[tuple[f.Pos, bool]]:
    """The tests of a function that ask it, by their places, and whether they hold where an exception is on its way."""
    body = function.body
    if not counted and not bodies.once(_asks, body):
        return []
    held = {
        target.id
        for s in statements(body)
        if type(s) is f.Assign and s.value is not None and _is_asked(s.value, frozenset())
        for target in s.targets
        if type(target) is f.Name
    }
    tests = [s.test for s in statements(body) if type(s) is f.If]
    found = [(position(test), _holds(test, frozenset(held), counted)) for test in tests]
    return [(pos, holds) for pos, holds in found if pos is not None and holds is not None]


def _holds(test: f.Expr, held: frozenset[str], counted: Counted) -> bool | None:
    """Whether a test holds (True) or fails (False) wherever an exception is on its way; None: it asks of others."""
    if type(test) is f.Not:
        inner = _holds(test.operand, held, counted)
        return None if inner is None else not inner
    if type(test) is f.BoolOp:
        parts_of = [_holds(value, held, counted) for value in test.values if not _is_of_all(value, held)]
        if test.op == "and":
            return False if False in parts_of else True if parts_of and all(parts_of) else None
        return True if True in parts_of else False if parts_of and all(p is False for p in parts_of) else None
    if type(test) is f.Compare and len(test.ops) == 1 and test.rights[0] == f.Const("None"):
        if _is_asked(test.left, held):
            return {"is": False, "==": False, "is not": True, "!=": True}.get(test.ops[0])
        return None
    if type(test) is f.Compare and len(test.ops) == 1 and _asks_for_end(test, counted):
        return False
    return True if _is_asked(test, held) else None


def _asks_for_end(test: f.Compare, counted: Counted) -> bool:
    """Whether a test asks if a loop has come to its end: `self.loop.step + 1 >= self.loop.last`."""
    if test.ops[0] not in (">=", ">", "=="):
        return False
    names = {last_name(node) for node in walk(test.left) if type(node) is f.Name or type(node) is f.Attr}
    return any(number in names and last_name(test.rights[0]) == last for number, last in counted)


def _is_asked(expr: f.Expr, held: frozenset[str]) -> bool:
    """Whether an expression is the exception that is on its way, or its class: None without one."""
    if type(expr) is f.Name:
        return expr.id in held
    if type(expr) is f.Subscript:
        return type(expr.base) is f.Call and last_name(expr.base.func) == "exc_info"
    return type(expr) is f.Call and last_name(expr.func) == "exception" and not expr.args


def _is_of_all(test: f.Expr, held: frozenset[str]) -> bool:
    """`isinstance(error, SystemExit)`: all ranks have that one."""
    asked = instance_test(test)
    return asked is not None and _is_asked(asked[0], held) and all(last_name(c) in _ENDS_ALL for c in asked[1])
