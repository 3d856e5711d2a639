"""A body in one of the forms in which it could have been written, for those who read it without running it.

`missing = x is None`, `if missing:` is `if x is None:`; `if not x is None: A` with `else: B` is `if x is None: B` with
`else: A`; and a test is not negated where an operator says so. Who runs a body knows better what a variable holds where
it is tested; here only one that is bound once counts, or once more under a test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements

_TESTS = frozenset({f.Compare, f.BoolOp, f.Not})
_OPPOSITE = {"is": "is not", "==": "!=", "in": "not in"}
_OPPOSITE |= {negative: positive for positive, negative in _OPPOSITE.items()}
#: operators that have a truth, whatever they compare
_TRUTHS = frozenset({"is", "is not", "in", "not in"})
_TRUE, _FALSE = f.Const("True"), f.Const("False")


def held_tests(body: f.Body) -> dict[str, f.Expr]:
    """The tests that variables hold wherever they are asked: bound once to one, or set to True under one."""
    found: dict[str, f.Expr] = {}
    times: Counter[str] = Counter()
    flags: set[str] = set()
    for s in statements(body):
        if type(s) is f.Assign:
            for target in s.targets:
                name = target.id if type(target) is f.Name else ""
                times[name] += 1
                if name and type(s.value) in _TESTS:
                    assert s.value is not None
                    found[name] = s.value
                elif name and s.value == _FALSE:
                    flags.add(name)
        elif type(s) is f.AugAssign or type(s) is f.For:
            times[s.target.id if type(s.target) is f.Name else ""] += 1
        elif type(s) is f.If and len(s.body) == 1 and not s.orelse and type(set_ := s.body[0]) is f.Assign:
            target = set_.targets[0]
            if set_.value == _TRUE and len(set_.targets) == 1 and type(target) is f.Name:
                found[target.id] = s.test
    return {name: test for name, test in found.items() if times[name] == (2 if name in flags else 1)}


def spelled_out(test: f.Expr, held: Mapping[str, f.Expr]) -> f.Expr:
    """A test with those in place of the variables that hold them, negated by its operators where it can be."""
    if type(test) is f.Name and test.id in held:
        return spelled_out(held[test.id], {})
    if type(test) is f.Not:
        return negated(spelled_out(test.operand, held))
    if (asked := said_of(test)) is not None:
        inner = spelled_out(asked[0], held)
        return inner if asked[1] else negated(inner)
    if type(test) is f.BoolOp:
        return test._replace(values=tuple([spelled_out(value, held) for value in test.values]))
    return test


def said_of(test: f.Expr) -> tuple[f.Expr, bool] | None:
    """The test of which another one asks if it comes out so: `(x is None) is True`, `match x is None: case True`."""
    if type(test) is not f.Compare or len(test.ops) != 1 or test.rights[0] not in (_TRUE, _FALSE):
        return None
    op, left = test.ops[0], test.left
    plain_one = type(left) is f.Not or (type(left) is f.Compare and left.ops[0] in _TRUTHS)
    if op not in ("is", "is not", "==", "!=") or not plain_one:
        return None
    return left, (op in ("is", "==")) is (test.rights[0] == _TRUE)


def negated(test: f.Expr) -> f.Expr:
    """The opposite test, by its operator where that has one."""
    if type(test) is f.Not:
        return test.operand
    if type(test) is f.Compare and len(test.ops) == 1 and test.ops[0] in _OPPOSITE:
        return test._replace(ops=(_OPPOSITE[test.ops[0]],))
    return f.Not(test)


def plain(body: f.Body) -> f.Body:
    """The same body with its tests spelled out, and the arms of each `if` in the order of the positive test."""
    return _plain(body, held_tests(body))


def _plain(body: f.Body, held: Mapping[str, f.Expr]) -> f.Body:
    return tuple([_statement(s, held) for s in body])


def _statement(s: f.Stmt, held: Mapping[str, f.Expr]) -> f.Stmt:
    if type(s) is f.If:
        test, body, orelse = spelled_out(s.test, held), _plain(s.body, held), _plain(s.orelse, held)
        if body and orelse and (opposite := _positive(test)) is not None:
            return s._replace(test=opposite, body=orelse, orelse=body)
        return s._replace(test=test, body=body, orelse=orelse)
    if type(s) is f.For or type(s) is f.While:
        return s._replace(body=_plain(s.body, held), orelse=_plain(s.orelse, held))
    if type(s) is f.With:
        return s._replace(body=_plain(s.body, held))
    if type(s) is f.Try:
        handlers = tuple([h._replace(body=_plain(h.body, held)) for h in s.handlers])
        orelse, final = _plain(s.orelse, held), _plain(s.final, held)
        return s._replace(body=_plain(s.body, held), handlers=handlers, orelse=orelse, final=final)
    return s


def _positive(test: f.Expr) -> f.Expr | None:
    """What a negative test denies, None if it is no negative one."""
    if type(test) is f.Not:
        return test.operand
    if type(test) is f.Compare and test.ops[0] in ("is not", "!=", "not in"):
        return negated(test)
    return None
