"""Classes that a walk over modules picks out to shard: `for m in model.modules(): if wanted(m): fully_shard(m)`.

What a test says a module to be is told where it is looked at (`semantics.walk.instances`). Here are the tests that say
it by something else: the name of its class, a function, conditions or classes that callers pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements, told_parts, under_tests, way_to
from ferrule_lint.semantics.domain.assigned import appended_to
from ferrule_lint.semantics.domain.text import variables
from ferrule_lint.semantics.project import policies
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, ModuleInfo, by_id

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: lists that what is picked out is put into before it is sharded, one after the other
_DEEPEST = 1


def classes(
    analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, pos: f.Pos, expr: f.Expr
) -> list[ClassInfo]:
    """The project's modules that the tests around a place name of which an expression there is one."""
    if owner is None or type(expr) is not f.Name:
        return []
    tests = analysis.bodies.once(_tests, owner.body, expr.id, pos)
    return by_id(
        {info for test, asked in tests for info in policies.named_in(analysis, module, owner, test, asked=asked)}
    )


def _tests(body: f.Body, name: str, pos: f.Pos, rounds: int = _DEEPEST) -> list[tuple[f.Expr, str]]:
    """The tests that hold at a place and ask about a variable, each with that."""
    way = way_to(body, pos)
    if not way:
        return []
    block, number = way[-1]
    around = next((tests for s, tests in under_tests(body) if s is block[number]), ())
    found = [part for test in around for part in _asking_of(test, name)]
    for walked in _walked(way, name):
        if type(walked) is f.Comprehension:
            found += _conditions(walked)
        elif type(walked) is f.Name and rounds:
            found += _tests_of_items(body, walked.id, rounds)
    return found


#: tests, and those that hold where these do not
_OPPOSITE = {"not in": "in", "!=": "==", "is not": "is"}


def _asking_of(test: f.Expr, name: str) -> Iterator[tuple[f.Expr, str]]:
    """The parts of a test that ask about a variable, each with that."""
    for part, holds in told_parts(test, True):
        if name in variables(part) and holds:
            yield part, name
        elif name in variables(part) and type(part) is f.Compare and len(part.ops) == 1 and part.ops[0] in _OPPOSITE:
            yield part._replace(ops=(_OPPOSITE[part.ops[0]],)), name


def _walked(way: list[tuple[f.Body, int]], name: str) -> Iterator[f.Expr]:
    """What the loops around a place walk with a name."""
    for block, number in way:
        s = block[number]
        if type(s) is f.For and name in variables(s.target):
            iterable = s.iterable
            while type(iterable) is f.Call and type(iterable.func) is f.Name and iterable.args:
                iterable = iterable.args[0]  # `reversed(found)`
            yield iterable


def _tests_of_items(body: f.Body, listed: str, rounds: int) -> Iterator[tuple[f.Expr, str]]:
    """The tests under which something is put into a list."""
    for s in statements(body):
        if appended_to(s) == listed and type(s) is f.ExprStmt and type(s.value) is f.Call:
            for item in s.value.args[:1]:
                if type(item) is f.Name:
                    yield from _tests(body, item.id, s.value.pos, rounds - 1)
        elif type(s) is f.Assign and any(type(t) is f.Name and t.id == listed for t in s.targets):
            for made in nodes(s.value, f.Comprehension):
                yield from _conditions(made)


def _conditions(made: f.Comprehension) -> Iterator[tuple[f.Expr, str]]:
    """What a comprehension asks about the items that it leaves in."""
    for item in (element for element in made.elements if type(element) is f.Name):
        for generator in made.generators:
            for test in generator.conditions:
                yield from _asking_of(test, item.id)
