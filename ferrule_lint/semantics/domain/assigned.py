"""What is assigned to a place, and under which tests."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, under_tests
from ferrule_lint.semantics.domain.text import last_name, place_name, position

#: what shows how far something is that is walked by way of it
BARS = frozenset({"tqdm", "trange", "track", "progress_bar", "auto_tqdm", "ProgressBar"})


def given(s: f.Stmt) -> Iterator[tuple[f.Expr, f.Expr]]:
    """What a statement assigns, each target with what it gets; `with tqdm(loader) as bar:` assigns the bar (or what a
    name stands for that may be one: `with bar as shown:`), and so does `for batch in (bar := tqdm(loader)):`."""
    if type(s) is f.Assign and s.value is not None:
        yield from ((target, s.value) for target in s.targets)
    elif type(s) is f.With:
        bars = [(target, expr) for expr, target in s.items if type(expr) is f.Name or is_bar(expr)]
        yield from ((target, expr) for target, expr in bars if target is not None)
    elif type(s) is f.For and type(s.iterable) is f.Walrus:
        yield f.Name(s.iterable.name, position(s.iterable) or (s.line, 1, s.line, 1)), s.iterable.value


def is_bar(expr: f.Expr) -> bool:
    """Whether something shows how far it is: who walks it, or what `with` makes of it, walks what it was given."""
    return type(expr) is f.Call and last_name(expr.func) in BARS


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
