"""Inputs that may be given in another form, worked out before: `image` or `image_embed`.

A module that is given the one makes the other of it. Which of them it gets is decided by whoever calls it, for all
batches alike, and not by what is in a batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.assigned import assignments
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import FunctionInfo


def is_one_form(function: FunctionInfo, name: str) -> bool:
    """Whether a function makes a parameter of something else where it is missing, or makes of it another one, of which
    and it exactly one has to be given."""
    own = {parameter.name for parameter in function.parameters}
    if name not in own:
        return False
    tests = [node for node in walk(function.body) if type(node) is f.If]
    if any(_made(node.body, name) for node in tests if name in _asked(_kept(function.body, node.test), "is")):
        return True
    others = {other for pair in _exactly_one(function.body) if name in pair for other in pair if other != name}
    return any(
        _made(statements(node.body), other)
        for node in tests
        if _asked(node.test, "is not") == [name]
        for other in others & own
    )


def _kept(body: f.Body, test: f.Expr) -> f.Expr:
    """A test, or the one that a variable holds which is assigned once: `missing = x is None`, `if missing:`."""
    held = [value for value, _ in assignments(body, test.id)] if type(test) is f.Name else []
    return held[0] if len(held) == 1 else test


def _made(arm: Iterable[f.Stmt], name: str) -> bool:
    """Whether one of some statements calls something for a name."""
    return any(
        type(s) is f.Assign and type(s.value) is f.Call and any(name in _names(target) for target in s.targets)
        for s in arm
    )


def _names(target: f.Expr) -> list[str]:
    if type(target) is f.Sequence:
        return [name for element in target.elements for name in _names(element)]
    return [target.id] if type(target) is f.Name else []


def _asked(test: f.Expr, operator: str) -> list[str]:
    """The names that a test asks for: `x is None and ...`, `not exists(x)`; `x is not None`, `exists(x)`."""
    if type(test) is f.BoolOp and test.op == "and":
        return [name for value in test.values for name in _asked(value, operator)]
    negated = type(test) is f.Not
    asked = _presence(test.operand if type(test) is f.Not else test)
    return [asked[0]] if asked is not None and (asked[1] is negated) is (operator == "is") else []


def _presence(test: f.Expr) -> tuple[str, bool] | None:
    """A name, and whether a test is true where it is there."""
    if type(test) is f.Compare and test.rights == (f.Const("None"),) and test.ops[0] in ("is", "is not"):
        return (test.left.id, test.ops[0] == "is not") if type(test.left) is f.Name else None
    if type(test) is f.Call and last_name(test.func) == "exists" and len(test.args) == 1 and not test.keywords:
        return (test.args[0].id, True) if type(test.args[0]) is f.Name else None
    return None


def _exactly_one(body: f.Body) -> Iterator[tuple[str, str]]:
    """Of which two names an assertion wants one: `assert exists(a) ^ exists(b)`, `(a is None) != (b is None)`."""
    for node in walk(body):
        if type(node) is f.Assert:
            test = node.test
            sides: tuple[f.Expr, ...] = ()
            if type(test) is f.Op and test.kind == "BitXor":
                sides = test.operands
            elif type(test) is f.Compare and test.ops == ("!=",):
                sides = (test.left, test.rights[0])
            asked = [found for side in sides if (found := _presence(side)) is not None]
            if len(asked) == 2 and asked[0][1] is asked[1][1]:
                yield asked[0][0], asked[1][0]
