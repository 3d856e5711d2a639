"""What is assigned to a place, and under which tests."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, under_tests
from ferrule_lint.semantics.domain.text import place_name


def assignments(body: f.Body, place: str) -> Iterator[tuple[f.Expr, tuple[f.Expr, ...]]]:
    """What is assigned to a place in a body, with the tests that hold there."""
    for s, tests in under_tests(body):
        if type(s) is not f.Assign or s.value is None:
            continue
        for target in s.targets:
            if place_name(target) == place:
                yield s.value, tests
            elif type(target) is f.Sequence and type(s.value) is f.Sequence:
                pairs = zip(target.elements, s.value.elements, strict=False)
                yield from ((value, tests) for part, value in pairs if place_name(part) == place)


def assigning(body: f.Body, place: str) -> Iterator[f.Assign]:
    """The statements of a body that assign a place by itself, `place = x`, wherever in it they stand."""
    for s in statements(body):
        if type(s) is f.Assign and place in map(place_name, s.targets):
            yield s
