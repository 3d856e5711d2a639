"""Rounds that a rank has left early, or has fewer of, and that it makes up for afterwards.

`for _ in range(most): model(x); made += 1; if done: break` and then `while made < most: made += 1; model(x)`, or
`for _ in range(most - made): model(x)`: whoever generates under FSDP runs the model as often as the others do. What
the first loop counts is taken to be the rounds in which it has called the same thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ferrule_lint.checks.places import calls_at
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, told_parts, walk
from ferrule_lint.findings import Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.text import last_name, place_name, render
from ferrule_lint.semantics.project.entities import FunctionInfo

_CODES = frozenset({"FER103", "FER104"})
_BELOW = frozenset({"<", "<=", "!="})


def but_of_filled_up(analysis: Analysis, findings: Iterable[Finding]) -> list[Finding]:
    """Findings without those about calls that a later loop of the function makes up for, or is that loop."""
    return [
        finding
        for finding in findings
        if not (finding.code in _CODES and _is_filled_up(analysis, finding))
        and not (finding.code == "FER102" and _is_done_once(analysis, finding))
    ]


def _is_done_once(analysis: Analysis, finding: Finding) -> bool:
    """Whether a call is made once by every rank: in some round of a loop, or behind the loop where no round has:

    for row in rows:
        if offset is None and late():
            find_offset()
    if offset is None:
        find_offset()
    """
    place = (finding.span.line, finding.span.column)
    for function, call in calls_at(analysis, finding.path, *place):
        body = statements(function.body) if function is not None else []
        tests = [s for s in body if type(s) is f.If and not s.orelse and _does(s, render(call))]
        for behind in tests:
            name = _asked_none(behind.test)
            loops = [s for s in body if (type(s) is f.For or type(s) is f.While) and not _holds(s, behind.line)]
            for within in tests if name and function is not None and _is_set_within(function, name) else ():
                around = [loop for loop in loops if loop.line < within.line < behind.line and _holds(loop, within.line)]
                asks = any(holds and _asked_none(part) == name for part, holds in told_parts(within.test, True))
                is_one = _holds(within, place[0]) or _holds(behind, place[0])
                if around and asks and is_one and not any(_resets(loop, name) for loop in around):
                    return True
    return False


def _resets(loop: f.Stmt, name: str) -> bool:
    """Whether a round of a loop makes a variable None again."""
    return any(
        type(s) is f.Assign and s.value == _NONE and name in map(place_name, s.targets) for s in statements((loop,))
    )


_NONE = f.Const("None")


def _does(s: f.If, call: str) -> bool:
    return any(type(inner) is f.ExprStmt and render(inner.value) == call for inner in s.body)


def _asked_none(test: f.Expr) -> str:
    """The place that a test asks to be None."""
    if type(test) is not f.Compare or test.ops != ("is",) or test.rights != (_NONE,):
        return ""
    return place_name(test.left)


def _is_set_within(function: FunctionInfo, name: str) -> bool:
    """Whether a function within this one sets a variable of it."""
    own = f"{function.qualname}."
    inner = (within for qualname, within in function.module.functions.items() if qualname.startswith(own))
    return any(type(s) is f.ScopeDecl and name in s.names for within in inner for s in within.body)


def _is_filled_up(analysis: Analysis, finding: Finding) -> bool:
    place = (finding.span.line, finding.span.column)
    decides = next((s.line for s in finding.witness if s.role == "condition" and s.path == finding.path), place[0])
    for function, call in calls_at(analysis, finding.path, *place):
        called = render(call.func)
        loops = [s for s in statements(function.body) if type(s) in (f.For, f.While)] if function is not None else []
        for filling in loops:
            counters = _fills(filling) if _calls(filling, called) else frozenset()
            for first in loops if counters else ():
                if first.line >= filling.line or counters.isdisjoint(_counts(first)) or not _calls(first, called):
                    continue
                left = any(type(s) is f.Return for s in statements((first,)))
                if not left and any(_holds(loop, place[0], decides) for loop in (first, filling)):
                    return True
    return False


def _fills(loop: f.Stmt) -> frozenset[str]:
    """What a loop fills up to a number: it is stepped in each round of a `while`, or taken off what a `range` makes."""
    if any(type(s) is f.Break or type(s) is f.Continue or type(s) is f.Return for s in statements((loop,))):
        return frozenset()
    if type(loop) is f.While:
        below = type(loop.test) is f.Compare and loop.test.ops[0] in _BELOW
        asked = place_name(loop.test.left) if type(loop.test) is f.Compare and below else ""
        return frozenset(_stepped(loop.body)) & {asked}
    if type(loop) is not f.For or type(loop.iterable) is not f.Call or last_name(loop.iterable.func) != "range":
        return frozenset()
    args = loop.iterable.args
    taken = args[0].operands[-1:] if len(args) == 1 and type(args[0]) is f.Op and args[0].kind == "Sub" else args[:-1]
    return frozenset(place_name(expr) for expr in taken[:1]) - {""}


def _counts(loop: f.Stmt) -> set[str]:
    """What goes up by one in the rounds of a loop, whatever test it has."""
    return set(_stepped(statements((loop,))))


def _stepped(body: Iterable[f.Stmt]) -> Iterator[str]:
    for s in body:
        if type(s) is f.AugAssign and s.op == "Add" and s.value == f.Const("1"):
            yield place_name(s.target)


def _calls(loop: f.Stmt, called: str) -> bool:
    return any(type(node) is f.Call and render(node.func) == called for node in walk((loop,)))


def _holds(loop: f.Stmt, *lines: int) -> bool:
    last = max(s.line for s in statements((loop,)))
    return all(loop.line <= line <= last for line in lines)
