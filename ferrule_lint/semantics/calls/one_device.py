"""Trainers and the like that are made for one device: `Trainer(devices=1)`, `Trainer(devices=[index])`,
`Fabric(strategy=SingleDeviceStrategy(d))`.

Who has one works by itself, on whatever rank of a job it was made: to test after the training, or to act while others
train. What it was made with stands in the call, in a dict that the call is given (`Trainer(**options)`), or in a
function of the project that makes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.calls import made_with
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.assigned import assigning, assignments
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.project.entities import FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

    _Around: TypeAlias = "Frame | Place"


class Place(NamedTuple):
    """Where a call stands that nobody runs."""

    analysis: Analysis
    module: ModuleInfo


#: names that may stand between an object and what says how many devices it has
_DEEPEST = 3
#: a strategy of one device begins so: `SingleDeviceStrategy`, `SingleDeviceXLAStrategy`
_OF_ONE = "SingleDevice"


def is_for_one(frame: Frame, receiver: f.Expr) -> bool:
    """Whether an object is made for one device, at each place where it is made as far as that is seen."""
    body = frame.function.body if frame.function is not None else frame.module.body
    made = definition(frame, receiver)
    calls = [made] if type(made) is f.Call else [] if type(receiver) is f.Name else made_with.made(frame, receiver)
    return bool(calls) and all(_makes_for_one(frame, body, call, _DEEPEST) for call in calls)


def is_made_for_one(at: Place, body: f.Body, call: f.Call) -> bool:
    """Whether a call makes something for one device."""
    return _makes_for_one(at, body, call, _DEEPEST)


def _makes_for_one(frame: _Around, body: f.Body, made: f.Expr, deepest: int) -> bool:
    if type(made) is not f.Call or not deepest:
        return False
    given = dict(_given(body, made))
    if _is_one(frame, given.get("devices"), deepest - 1) and given.get("num_nodes", _ONE) == _ONE:
        return True
    if (strategy := given.get("strategy")) is not None:
        return _is_of_one(body, strategy, _DEEPEST)
    maker = frame.analysis.names.resolve(made.func, frame.module)
    return type(maker) is FunctionInfo and _hands_back_one(frame, maker, deepest - 1)


_ONE = f.Const("1")


def _is_one(frame: _Around, devices: f.Expr | None, deepest: int) -> bool:
    """Whether a number of devices is one, on either way, also where a function of the project says so."""
    if type(devices) is f.IfExp:
        return _is_one(frame, devices.body, deepest) and _is_one(frame, devices.orelse, deepest)
    if type(devices) is f.Sequence:
        return len(devices.elements) == 1 and type(devices.elements[0]) is not f.Starred
    if type(devices) is not f.Call:
        return devices == _ONE
    teller = frame.analysis.names.resolve(devices.func, frame.module) if deepest > 0 else None
    if type(teller) is not FunctionInfo:
        return False
    told = [s.value for s in statements(teller.body) if type(s) is f.Return]
    return bool(told) and all(_is_one(frame, value, deepest - 1) for value in told)


def _hands_back_one(frame: _Around, maker: FunctionInfo, deepest: int) -> bool:
    """Whether all that a function hands back is made in it, for one device."""
    returned = [s.value for s in statements(maker.body) if type(s) is f.Return]
    made = [x for value in returned if value is not None for x in _meanings(maker.body, value)]
    return bool(returned) and None not in returned and all(_makes_for_one(frame, maker.body, x, deepest) for x in made)


def _given(body: f.Body, made: f.Call) -> Iterator[tuple[str, f.Expr]]:
    """What a call is given by name, also in a dict that the function writes out once: the entries that it keeps."""
    for name, value in made.keywords:
        if name is not None:
            yield name, value
            continue
        written = [x for x, _ in assignments(body, place_name(value))] if place_name(value) else [value]
        if len(written) == 1:
            kept = set(_stored(body, place_name(value)))
            yield from ((key, entry) for key, entry in _entries(written[0]) if key not in kept)


def _entries(written: f.Expr) -> Iterator[tuple[str, f.Expr]]:
    if type(written) is f.Call and last_name(written.func) == "dict":
        yield from ((name, value) for name, value in written.keywords if name is not None)
    elif type(written) is f.DictDisplay:
        pairs = zip(written.keys, written.values, strict=True)
        yield from ((key.text[1:-1], value) for key, value in pairs if type(key) is f.Const)


def _stored(body: f.Body, place: str) -> Iterator[str]:
    """The keys under which something is put into a dict: `place[key] = value`."""
    for s in statements(body):
        for target in s.targets if type(s) is f.Assign else ():
            if type(target) is f.Subscript and place_name(target.base) == place and type(target.index) is f.Const:
                yield target.index.text[1:-1]


def _is_of_one(body: f.Body, strategy: f.Expr, deepest: int) -> bool:
    """Whether a strategy is one of a single device, whichever of several a test has chosen."""
    if type(strategy) is f.IfExp:
        return _is_of_one(body, strategy.body, deepest) and _is_of_one(body, strategy.orelse, deepest)
    name = strategy.func if type(strategy) is f.Call else strategy
    if last_name(name).startswith(_OF_ONE):
        return True
    meant = _meanings(body, name) if deepest and place_name(name) else []
    return bool(meant) and all(x is not name and _is_of_one(body, x, deepest - 1) for x in meant)


def _meanings(body: f.Body, expr: f.Expr) -> list[f.Expr]:
    """What a name stands for in a body, at each place where it is assigned; anything else for itself."""
    place = place_name(expr)
    found = [s.value for s in assigning(body, place) if s.value is not None] if place else []
    return found or [expr]
