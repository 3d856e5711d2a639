"""What is assigned to a place, and under which tests."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias, TypeVar, TypeVarTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements, under_tests
from ferrule_lint.semantics.domain.text import last_name, place_name, position

#: the tests that hold where something stands
Tests: TypeAlias = tuple[f.Expr, ...]
_Found = TypeVar("_Found")
_Given = TypeVarTuple("_Given")

#: bodies of which is known what they assign: those that were asked about last
_BODIES = 1024
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


def targets(s: f.Stmt) -> tuple[f.Expr, ...]:
    """What a statement assigns to, steps, or walks with."""
    if type(s) is f.Assign:
        return s.targets
    return (s.target,) if type(s) is f.AugAssign or type(s) is f.For else ()


def bound(body: f.Body) -> list[str]:
    """The names in what a body assigns to, steps, walks with or enters by `with`, each as often as it stands there."""
    found = [walrus.name for walrus in nodes(body, f.Walrus)]
    for s in statements(body):
        entered = [target for _, target in s.items] if type(s) is f.With else ()
        found += [name.id for target in (*targets(s), *entered) for name in nodes(target, f.Name)]
    return found


def walks(body: f.Body) -> list[tuple[f.Expr, f.Expr]]:
    """What loops and comprehensions of a body bind, each with what is walked."""
    loops = [(loop.target, loop.iterable) for loop in nodes(body, f.For)]
    return loops + [(generator.target, generator.iterable) for generator in nodes(body, f.Generator)]


def appended_to(s: f.Stmt) -> str:
    """The place that a statement appends an item to, `place.append(x)`, or ""."""
    if type(s) is not f.ExprStmt or type(s.value) is not f.Call or type(s.value.func) is not f.Attr:
        return ""
    return place_name(s.value.func.base) if s.value.func.attr == "append" else ""


def is_bar(expr: f.Expr) -> bool:
    """Whether something shows how far it is: who walks it, or what `with` makes of it, walks what it was given."""
    return type(expr) is f.Call and last_name(expr.func) in BARS


def assignments(body: f.Body, place: str) -> Iterator[tuple[f.Expr, Tests]]:
    """What is assigned to a place in a body, with the tests that hold there."""
    return ((value, tests) for at, value, tests in _assignments(body) if at == place)


def _assignments(body: f.Body) -> Iterator[tuple[str, f.Expr, Tests]]:
    """The same of every place, with its name."""
    for s, tests in under_tests(body):
        if type(s) is not f.Assign or s.value is None:
            continue
        for target in s.targets:
            if place := place_name(target):
                yield place, s.value, tests
            elif type(target) is f.Sequence and type(s.value) is f.Sequence:
                pairs = zip(target.elements, s.value.elements, strict=False)
                yield from ((place, value, tests) for part, value in pairs if (place := place_name(part)))


def assigning(body: f.Body, place: str) -> Iterator[f.Assign]:
    """The statements of a body that assign a place by itself, `place = x`, wherever in it they stand."""
    for s in statements(body):
        if type(s) is f.Assign and place in map(place_name, s.targets):
            yield s


class Bodies:
    """What bodies say of each place. Each is gone through once: who asks for every entry, group or loop of a function
    with thousands of them would go through it as often."""

    def __init__(self) -> None:
        #: by what finds it, and the body's identity, which stays its own as long as the body is kept here
        self._known: OrderedDict[tuple[object, ...], tuple[f.Body, Any]] = OrderedDict()

    def assigned(self, body: f.Body, place: str) -> list[f.Expr]:
        """What is assigned to a place in a body."""
        return [value for value, _ in self.assignments(body, place)]

    def assignments(self, body: f.Body, place: str) -> list[tuple[f.Expr, Tests]]:
        """The same with the tests that hold there; see the function of this name."""
        return self.once(_assigned, body).get(place, [])

    def given(self, body: f.Body, place: str) -> list[f.Expr]:
        """What a place gets by any statement; see `given`."""
        return self.once(_given, body).get(place, [])

    def assigning(self, body: f.Body, place: str) -> list[f.Assign]:
        """The statements of a body that assign a place by itself; see the function of this name."""
        return self.once(_assigning, body).get(place, [])

    def looked_in(self, body: f.Body, place: str) -> list[f.Compare]:
        """The comparisons that ask whether something is in a place."""
        return self.once(_looked_in, body).get(place, [])

    def once(self, find: Callable[[f.Body, *_Given], _Found], body: f.Body, *given: *_Given) -> _Found:
        """What a function of a module finds in a body with what it is given, where that is asked again and again."""
        key = (find, id(body), *given)
        if key in self._known:
            self._known.move_to_end(key)
        else:
            self._known[key] = (body, find(body, *given))
            if len(self._known) > _BODIES:
                self._known.popitem(last=False)
        found: _Found = self._known[key][1]
        return found


def by_place(found: Iterable[tuple[str, _Found]]) -> dict[str, list[_Found]]:
    """What was found of each place, in order."""
    places: dict[str, list[_Found]] = {}
    for place, value in found:
        places.setdefault(place, []).append(value)
    return places


def _assigned(body: f.Body) -> dict[str, list[tuple[f.Expr, Tests]]]:
    return by_place((place, (value, tests)) for place, value, tests in _assignments(body))


def _assigning(body: f.Body) -> dict[str, list[f.Assign]]:
    found = ((place, s) for s in statements(body) if type(s) is f.Assign for place in {*map(place_name, s.targets)})
    return by_place(found)


def _given(body: f.Body) -> dict[str, list[f.Expr]]:
    return by_place(
        (place, value) for s in statements(body) for target, value in given(s) if (place := place_name(target))
    )


def _looked_in(body: f.Body) -> dict[str, list[f.Compare]]:
    return by_place(
        (place, node)
        for node in nodes(body, f.Compare)
        if node.ops == ("in",) and (place := place_name(node.rights[0]))
    )
