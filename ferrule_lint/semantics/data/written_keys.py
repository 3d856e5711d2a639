"""Meters whose keys the code has written: whoever fills one hands it a dict whose keys stand in the source.

`self.sums[name] += value` for each item of what `update(values)` is given meets its keys in the order of the caller's
dict; of `update(**values)` in that of the arguments, where no test of the value leaves any out. Where every caller that
can be told, of a meter that its file makes, hands over one with written keys, made without a test that the data could
decide, all ranks meet them in that order. So they do where each call names one key (`meter.update("loss", loss)`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import WITH_BLOCKS, statements, told_parts, under_tests, walk
from ferrule_lint.semantics.domain.text import last_name, place_name, variables
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: dicts of losses by their names: their keys are the terms that the code has written
LOSSES = re.compile(r"(^|_)loss(es)?(_dict)?s?$")
#: calls by which a dict is made that are looked into
_DEEPEST = 3
_VIEWS = frozenset({"items", "keys"})


class _Place(NamedTuple):
    """Where an expression stands: a function, or the top level of a file."""

    module: ModuleInfo
    function: FunctionInfo | None

    @property
    def body(self) -> f.Body:
        return self.module.body if self.function is None else self.function.body


def by_callers(analysis: Analysis, owners: Iterable[ClassInfo], filled: f.Subscript) -> bool:
    """Whether an attribute that a method of one of some classes fills (`self.sums[name]`) gets no keys but those that
    callers have written."""
    for owner in owners:
        for method in owner.methods.values():
            if not method.is_static and any(node is filled for node in walk(method.body)):
                named = next((p for p in method.parameters[1:] if p.name == place_name(filled.index)), None)
                taken = named or _taken_from(method, filled)
                handed_over = list(_handed_over(analysis, method, owner.name, taken)) if taken is not None else []
                written = _is_name if named else _is_written
                return bool(handed_over) and all(written(analysis, at, e, frozenset()) for at, e in handed_over)
    return False


def _is_name(analysis: Analysis, at: _Place, e: f.Expr | None, seen: frozenset[str]) -> bool:
    """Whether a key is written where it is handed over, and what decides about that are options at most."""
    if type(e) is not f.Const or e.text[:1] not in ("'", '"'):
        return False
    return all(
        variables(test) <= _options(at)
        for s, tests in under_tests(at.body)
        if type(s) not in WITH_BLOCKS and any(node is e for node in walk(s))
        for test in tests
    )


def _options(at: _Place) -> set[str]:
    """Parameters that are options: with a constant for those who do not pass them."""
    return {p.name for p in at.function.parameters if type(p.default) is f.Const} if at.function else set()


def _taken_from(method: FunctionInfo, filled: f.Subscript) -> f.Parameter | None:
    """The parameter whose items a method walks where it fills an attribute."""
    given = {p.name: p for p in method.parameters[1:]}
    for s in statements(method.body):
        if type(s) is f.For and variables(filled.index) <= variables(s.target) and any(n is filled for n in walk(s)):
            taken = given.get(_walked(s.iterable))
            beside = variables(s.target) - variables(filled.index)
            left_out = taken is not None and taken.kind == _KEYWORDS and _is_under_test_of(s.body, filled, beside)
            return None if left_out else taken
    return None


#: the kind of a parameter for all named arguments that no other one takes
_KEYWORDS = "**"
_ASKS_WHAT_IT_IS = "isinstance"


def _is_under_test_of(body: f.Body, filled: f.Subscript, names: set[str]) -> bool:
    """Whether a test of what some names hold, and not of its type, leads to a statement or away from it."""
    for s, tests in under_tests(body):
        if type(s) not in WITH_BLOCKS and any(node is filled for node in walk(s)):
            asked = [part for test in tests for part, _ in told_parts(test, True)]
            return any(
                not variables(test).isdisjoint(names)
                and not (type(test) is f.Call and last_name(test.func) == _ASKS_WHAT_IT_IS)
                for test in asked
            )
    return False


def _walked(iterable: f.Expr) -> str:
    """The dict whose items or keys are walked."""
    if type(iterable) is f.Call and type(iterable.func) is f.Attr and iterable.func.attr in _VIEWS:
        iterable = iterable.func.base
    return place_name(iterable)


def _handed_over(
    analysis: Analysis, method: FunctionInfo, owner: str, parameter: f.Parameter
) -> Iterator[tuple[_Place, f.Expr | None]]:
    """What callers pass for a parameter of a method, of instances that they make, or that their files keep."""
    position = method.parameters.index(parameter) - 1
    for module in analysis.names.mentioning(owner):
        kept = {place for _, body in module.bodies() for place in _made(body, owner) if "." in place}
        for function, calls in module.calls():
            made = kept | _made(module.body if function is None else function.body, owner)
            for call in calls:
                if type(call.func) is f.Attr and call.func.attr == method.name and place_name(call.func.base) in made:
                    at = _Place(module, function)
                    if parameter.kind == _KEYWORDS:
                        yield from ((at, value) for name, value in call.keywords if name is None)
                        yield at, f.DictDisplay((), ())  # the names of the others are written
                        continue
                    named = next((value for name, value in call.keywords if name == parameter.name), None)
                    passed = call.args[position] if named is None and position < len(call.args) else named
                    yield at, passed


def _made(body: f.Body, owner: str) -> set[str]:
    """The places that an instance of a class is put into."""
    return {
        place_name(target)
        for s in statements(body)
        if type(s) is f.Assign and type(s.value) is f.Call and last_name(s.value.func) == owner
        for target in s.targets
    }


def _is_written(analysis: Analysis, at: _Place, e: f.Expr | None, seen: frozenset[str]) -> bool:
    """Whether the keys of a dict stand in the source. `seen`: names and functions that are being looked at."""
    if type(e) is f.DictDisplay:
        return all(
            _is_written(analysis, at, value, seen) if key is None else type(key) is f.Const
            for key, value in zip(e.keys, e.values, strict=True)
        )
    if type(e) is f.Comprehension and e.kind == "dict" and len(e.generators) == 1 and not e.generators[0].conditions:
        iterable = e.generators[0].iterable
        if type(iterable) is f.Call and last_name(iterable.func) == "range":
            return all(type(a) is f.Const for a in iterable.args)
        walked = iterable.func.base if type(iterable) is f.Call and type(iterable.func) is f.Attr else iterable
        return bool(_walked(iterable)) and _is_written(analysis, at, walked, seen)
    if type(e) is f.Name:
        return e.id in seen or LOSSES.search(e.id) is not None or _is_filled_so(analysis, at, e.id, seen)
    if type(e) is not f.Call:
        return False
    if last_name(e.func) == "dict":
        return all(name is not None for name, _ in e.keywords) and all(
            _is_written(analysis, at, argument, seen) for argument in e.args
        )
    makers = _makers(analysis, at.module, e.func)
    return bool(makers) and all(_returns_written(analysis, maker, seen) for maker in makers)


def _is_filled_so(analysis: Analysis, at: _Place, name: str, seen: frozenset[str]) -> bool:
    """Whether a variable is a dict that is made and filled with written keys, whatever the data."""
    seen, made = seen | {name}, False
    options = _options(at)
    for s, tests in under_tests(at.body):
        entered: list[f.Expr | None] = []
        if type(s) is f.Assign:
            for target in s.targets:
                if type(target) is f.Name and target.id == name:
                    made = True
                    entered.append(s.value)
                elif type(target) is f.Subscript and place_name(target.base) == name:
                    entered.append(f.DictDisplay((target.index,), (target.index,)))
        elif type(s) is f.ExprStmt and (method := _method_of(s.value, name)) in ("update", "setdefault"):
            given = s.value.args if type(s.value) is f.Call and method == "update" else ()
            entered.append(given[0] if given else None)
        asked = frozenset[str]().union(*map(variables, tests)) - options if entered else frozenset[str]()
        if asked or not all(_is_written(analysis, at, e, seen) for e in entered):
            return False
    return made


def _method_of(e: f.Expr, name: str) -> str:
    """Which method of a variable an expression calls."""
    func = e.func if type(e) is f.Call else None
    return func.attr if type(func) is f.Attr and place_name(func.base) == name else ""


def _makers(analysis: Analysis, module: ModuleInfo, func: f.Expr) -> list[FunctionInfo]:
    """The functions of the project that a call may be of; of a method, all of its name."""
    found = analysis.names.resolve(func, module)
    if isinstance(found, FunctionInfo):
        return [found]
    return analysis.names.methods_named(func.attr) if type(func) is f.Attr and found is None else []


def _returns_written(analysis: Analysis, function: FunctionInfo, seen: frozenset[str]) -> bool:
    """Whether whatever a function hands back is such a dict; one that only raises hands back nothing."""
    inner = frozenset(name for name in seen if ":" in name) | {f":{function.id}"}
    if len(inner) > _DEEPEST or f":{function.id}" in seen:
        return False
    returned = [s.value for s in statements(function.body) if type(s) is f.Return]
    ends = type(function.body[-1]) if function.body else None
    if not returned:
        return ends is f.Raise
    return all(_is_written(analysis, _Place(function.module, function), value, inner) for value in returned)
