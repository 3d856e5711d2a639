"""Tests that are kept in a variable first: `is_first = rank == 0`, and further down `if is_first:`.

Testing such a variable is testing that: with the formula that the test had when it was kept, and, as long as nothing in
it was assigned again, with all that the test says of the places in it. So it is with a variable that a test has set:
`found = False`, `if x is None: found = True`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.plain import said_of
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.conditions import (
    Connective,
    Formula,
    Known,
    atoms,
    connect,
    deps_of,
    divergence_of,
    negate,
)
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.walk.frame import Frame

#: tests of which more is asked are not followed from variable to variable
_MOST_ATOMS = 8
#: what is a test as it stands
_TESTS = frozenset({f.Compare, f.BoolOp, f.Not})
#: what is tested for its truth
_TRUTHS = frozenset({f.Call, f.Attr, f.Name, f.Subscript})
#: what holds one
_PLACES = frozenset({f.Name, f.Attr})


class Kept(NamedTuple):
    """A test that a variable holds."""

    #: None where it cannot be written as one
    test: f.Expr | None
    #: None where its truth is asked for only once it is tested
    formula: Formula | None
    value: Value


def keep(frame: Frame, name: str, source: f.Expr, value: Value) -> None:
    """A variable, or an attribute of one, was assigned `source`, which has this value."""
    kind = type(source)
    if kind in _TESTS:
        asked = frame.asked
        if asked is not None and asked[0] is source:
            frame.tests[frame.version(name)] = Kept(spelled_out(frame, source), asked[1], asked[2])
    elif kind in _TRUTHS:
        known = frame.tests.get(frame.version(place_name(source))) if type(source) in _PLACES else None
        frame.tests[frame.version(name)] = known or Kept(source, None, value)


def held(frame: Frame, expr: f.Expr) -> Kept | None:
    """The test that an expression holds, if it is a variable that holds one which can still be asked."""
    if type(expr) not in _PLACES:
        return None
    number = frame.version(place_name(expr))
    known = frame.tests.get(number) if number else None
    if known is None or (known.formula is None and not _stands(frame, known.test, number)):
        return None
    if type(known.formula) is Connective and divergence_of(known.formula) is None and not deps_of(known.formula):
        return None  # several settings by one name are one setting
    return known


def spelled_out(frame: Frame, test: f.Expr) -> f.Expr:
    """A test with the tests in place of the variables that hold them, as far as these would come out as they did."""
    if type(test) in _PLACES:
        number = frame.version(place_name(test))
        known = frame.tests.get(number) if number else None
        if known is None or known.test is None or not _stands(frame, known.test, number):
            return test
        return known.test
    if type(test) is f.Not:
        operand = spelled_out(frame, test.operand)
        return test if operand is test.operand else f.Not(operand)
    if (asked := said_of(test)) is not None:
        inner = spelled_out(frame, asked[0])
        return inner if asked[1] else f.Not(inner)
    if type(test) is f.BoolOp:
        values = tuple([spelled_out(frame, value) for value in test.values])
        return test if all(a is b for a, b in zip(values, test.values, strict=True)) else test._replace(values=values)
    return test


def _stands(frame: Frame, test: f.Expr | None, number: int) -> bool:
    """Whether nothing in a test was assigned after the variable that holds it."""
    return all(
        frame.version(place_name(part)) <= number for part in walk(test) if type(part) is f.Name or type(part) is f.Attr
    )


def set_under(
    frame: Frame, formula: Formula, test: f.Expr, before: int, a: tuple[Value, int], b: tuple[Value, int]
) -> Kept | None:
    """What a variable holds that two arms of a test have left so: its value and the number of it, in each. `before`:
    the last number before the test."""
    one, other = _outcome(frame, *a), _outcome(frame, *b)
    if one is None or other is None or one.formula is None or other.formula is None:
        return None
    merged = _either(formula, one.formula, other.formula)
    if len(atoms(merged)) > _MOST_ATOMS:
        return None
    written = None
    if one.test is not None and other.test is not None and _stands(frame, test, before):
        written = _written(test, one.test, other.test)
    return Kept(written, merged, a[0])


def _outcome(frame: Frame, value: Value, number: int) -> Kept | None:
    if value.const in ("True", "False") and value.divergence is None and not value.deps:
        return Kept(f.Const(value.const), Known(value.const == "True"), value)
    return frame.tests.get(number) if number else None


def _either(formula: Formula, a: Formula, b: Formula) -> Formula:
    """`a` where the formula holds, else `b`."""
    if a == b:
        return a
    if type(a) is Known:
        return connect("or" if a.value else "and", [formula if a.value else negate(formula), b])
    if type(b) is Known:
        return connect("or" if b.value else "and", [negate(formula) if b.value else formula, a])
    return connect("or", [connect("and", [formula, a]), connect("and", [negate(formula), b])])


_TRUE, _FALSE = f.Const("True"), f.Const("False")


def _written(test: f.Expr, a: f.Expr, b: f.Expr) -> f.Expr | None:
    """The same as an expression, where one of the arms says so outright."""
    here = (0, 0, 0, 0)
    if a == b:
        return a
    if (a, b) == (_TRUE, _FALSE):
        return test
    if (a, b) == (_FALSE, _TRUE):
        return f.Not(test)
    if a in (_TRUE, _FALSE):
        return f.BoolOp("or" if a == _TRUE else "and", (test if a == _TRUE else f.Not(test), b), here)
    if b in (_TRUE, _FALSE):
        return f.BoolOp("or" if b == _TRUE else "and", (f.Not(test) if b == _TRUE else test, a), here)
    return None


def forget(frame: Frame, since: Mapping[str, int]) -> None:
    """What was assigned since then may not have been: no test is known of it."""
    for place, number in frame.versions.items():
        if since.get(place, 0) != number:
            frame.tests.pop(number, None)
