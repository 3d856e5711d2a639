"""What a test says of the places in it: where `x is not None` holds, `x` is there on every rank that runs it; where
`isinstance(x, C)` does, `x` is an instance of that class of the project, if nothing better is known of it; where
`isinstance(x, torch.Tensor)` does not, `x` has no shape; a number has no length; and what may be a list as well as one
item holds the parts of a structure, which are as many on all ranks. Of sizes `sizing` and `divisible` know more."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import told_parts
from ferrule_lint.semantics.data import sorts
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.dependences import MADE, NO_DEPS
from ferrule_lint.semantics.domain.lattice import SOMEWHERE, Value
from ferrule_lint.semantics.domain.targets import MethodTarget
from ferrule_lint.semantics.domain.text import called_name, instance_test, last_name, place_name
from ferrule_lint.semantics.gradients import meeting
from ferrule_lint.semantics.sources import first_rank
from ferrule_lint.semantics.walk import divisible, filled_lists, sizing
from ferrule_lint.semantics.walk.arms import with_outcome
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.instances import are_others, instances

#: place -> (value before, None if nothing was held of it; value in the arm)
Narrowed = dict[str, tuple[Value | None, Value]]


def narrow(frame: Frame, test: f.Expr, outcome: bool) -> Narrowed:
    """Let the environment know what `test` being `outcome` says; the result is for `widen`."""
    changed: Narrowed = {}
    told = tuple(_meant(frame, part, holds) for part, holds in told_parts(test, outcome))
    tested = [expr for part, holds in told for expr in _tested(part, holds)]

    def hold(place: str, before: Value | None, inside: Value) -> None:
        changed[place] = (changed[place][0] if place in changed else before, inside)
        frame.env[place] = inside

    for place in map(place_name, tested):
        value = frame.env.get(place)
        if value is not None and not value.there and value.const != "None" and place not in changed:
            of_some = value.presence is not None and value.presence.kind == "rank"
            absent = value.absent or (SOMEWHERE if of_some else None)
            types = value.of_some if _is_of_one_setting(value) else value.types
            there = value._replace(
                there=True,
                presence=None,
                absent=absent,
                types=types,
                apart=sorts.where_there(value.apart),
                presence_deps=NO_DEPS,
            )
            hold(place, value, meeting.without_nothing(frame, there))
    for expr in tested:
        place = place_name(expr)
        if place.count(".") == 1 and place not in changed and place not in frame.env and not frame.light:
            with frame.recording():
                value = frame.eval(expr)
            if _is_of_one_setting(value):
                hold(place, None, value._replace(types=value.of_some, there=True, presence=None, absent=SOMEWHERE))
    for expr, classes in [found for part, holds in told for found in instances(frame, part, holds)]:
        place = place_name(expr)
        before = frame.env.get(place)
        with frame.recording():
            value = frame.eval(expr)
        known = value.types or value.external is not None or type(value.target) not in (NoneType, MethodTarget)
        # an attribute of something unknown may be a method; a quick look wants to know what it may be
        if known and not (frame.light and are_others(frame, value.types, classes)):
            continue
        hold(place, before, value._replace(types=classes, target=None))
    for place in sizing.as_long_as_agreed(frame, told):
        frame.sized.add(place)
        if (value := frame.env.get(place)) is not None:
            hold(place, value, sizing.of_one_size(value))
    for place in [place for part, holds in told for place in _numbers(part, holds)]:
        if (value := frame.env.get(place)) is not None and not _holds_items(value):
            hold(place, value, sizing.of_one_size(value))
    for place in divisible.dealt_evenly(frame, told):
        if (value := frame.env.get(place)) is not None:
            hold(place, value, value._replace(multiple=True))
    for place in [place for part, holds in told for place in _no_tensors(part, holds)]:
        value = frame.env.get(place)
        if value is not None and (value.shape or value.padded) and not _holds_items(value):
            hold(place, value, value._replace(shape=None, padded=None, uneven_last=False, layout=None))
    for place in [place for part, holds in told for place in _structures(part, holds)]:
        value = frame.env.get(place)
        if value is not None and (value.length or value.length_deps) and not _holds_items(value):
            hold(place, value, value._replace(length=None, length_deps=NO_DEPS))
    for place in [place for part, holds in told for place in _with_items(part, holds)] if frame.gradients else ():
        if (value := frame.env.get(place)) is not None and (
            full := meeting.with_items(frame, place, value)
        ) is not value:
            hold(place, value, full)
    for place in filled_lists.filled_alike(frame, told):
        value = frame.env.get(place)
        if value is not None and value.length is not None:
            hold(place, value, value._replace(length=None))
    return changed


def read_by_name(test: f.Expr, env: dict[str, Value]) -> None:
    """What is read under `isinstance(x, str)` into `x` itself (`x = json.load(open(x))`) is no part of what else may be
    passed for it: that it is data says nothing of what lies in a file."""
    for place in [place for part, holds in told_parts(test, True) for place in _texts(part, holds)]:
        value = env.get(place)
        if value is not None and (place, MADE) in value.deps:
            env[place] = value._replace(deps=value.deps - {(place, MADE)})


def _texts(test: f.Expr, outcome: bool) -> list[str]:
    """The places that a test of their type says to be a text or a path."""
    asked = instance_test(test) if outcome else None
    return _named(asked[0]) if asked is not None and all(last_name(c) in _OF_TEXT for c in asked[1]) else []


_OF_TEXT = frozenset("str Path PurePath PathLike".split())


def _meant(frame: Frame, test: f.Expr, outcome: bool) -> tuple[f.Expr, bool]:
    """What a flag stands for that was set to one of Python's bools: `ddp = True if size else False`."""
    meant = definition(frame, test)
    if type(meant) is f.IfExp and type(test) is f.Name and {meant.body, meant.orelse} == {_TRUE, _FALSE}:
        return meant.test, outcome is (meant.body == _TRUE)
    return test, outcome


_TRUE, _FALSE = f.Const("True"), f.Const("False")


def _structures(test: f.Expr, outcome: bool) -> list[str]:
    """The places that a test of their type says to be a list, a tuple or a mapping, where they might be one item."""
    asked = instance_test(test) if outcome else None
    return _named(asked[0]) if asked is not None and all(last_name(c) in _CONTAINERS for c in asked[1]) else []


_CONTAINERS = frozenset("list tuple List Tuple Sequence Iterable Collection dict Dict Mapping OrderedDict".split())


def _numbers(test: f.Expr, outcome: bool) -> list[str]:
    """The places that a test of their type says to be one number each, which has no length."""
    asked = instance_test(test) if outcome else None
    return _named(asked[0]) if asked is not None and all(last_name(c) in _NUMBERS for c in asked[1]) else []


_NUMBERS = frozenset("int float bool complex Number Real Integral".split())


def _with_items(test: f.Expr, outcome: bool) -> list[str]:
    """The places that hold a list with items if `test` is `outcome`: `if losses`, `len(losses) > 0`."""
    if type(test) is not f.Compare:
        return _named(test) if outcome and (type(test) is f.Name or type(test) is f.Attr) else []
    counted = test.left
    if len(test.ops) != 1 or type(counted) is not f.Call or called_name(counted) != "len" or len(counted.args) != 1:
        return []
    asked = (test.ops[0], test.rights[0])
    some = asked in ((">", _ZERO), ("!=", _ZERO), (">=", f.Const("1")))
    return _named(counted.args[0]) if (some if outcome else asked == ("==", _ZERO)) else []


_ZERO = f.Const("0")


def _no_tensors(test: f.Expr, outcome: bool) -> list[str]:
    """The places that hold no tensor if `test` is `outcome`."""
    if outcome or type(test) is not f.Call or not test.args:
        return []
    asked = instance_test(test)
    says_so = last_name(test.func) == "is_tensor" if asked is None else any(last_name(c) == "Tensor" for c in asked[1])
    return _named(test.args[0]) if says_so else []


def _holds_items(value: Value) -> bool:
    """Whether a value is known to be a list or tuple, whose shape is that of its items."""
    return value.container or value.items is not None or value.slots is not None or bool(value.element_types)


def _is_of_one_setting(value: Value) -> bool:
    """Whether ranks part over what some of them have under one setting, while under another all ranks have something of
    another class: where it is asked for because ranks part, it is of the one's class."""
    return value.presence is not None and bool(value.of_some) and value.of_some < value.types


def after_test(frame: Frame, outcomes: Mapping[str, bool], narrowed: Narrowed) -> Narrowed:
    """The same for places that only some ranks have: in the arm of those ranks they are there."""
    if any(first_rank.is_test(key) for key in outcomes):
        for place, value in frame.env.items():
            if (
                value.absent is not None
                and place not in narrowed
                and (known := with_outcome(value, outcomes)) is not value
            ):
                narrowed[place] = (value, known._replace(absent=SOMEWHERE))
                frame.env[place] = narrowed[place][1]
    return narrowed


def widen(
    env: dict[str, Value], narrowed: Narrowed, other: dict[str, Value] | None = None, there: Narrowed | None = None
) -> None:
    """Take back in an environment what was narrowed and not assigned since; `other` is that of the other arm.

    Where the other arm assigned the place, what is known of it in this one lives on: `if x is None: x = default`.
    """
    for place, (before, inside) in narrowed.items():
        same = other is None or any(other.get(place) is v for v in (before, *(there or {}).get(place, ())))
        if not same or env.get(place) is not inside:
            continue
        if before is None:
            del env[place]
        else:
            env[place] = before


def _tested(test: f.Expr, outcome: bool) -> list[f.Expr]:
    """The places, as they are written, that are not None if `test` is `outcome`."""
    if type(test) is f.Compare and len(test.ops) == 1:
        is_none = test.rights[0] == f.Const("None")
        if is_none and test.ops[0] in (("is not", "!=") if outcome else ("is", "==")):
            return _places(test.left)
        return []
    if type(test) is f.Call:
        return _places(test.args[0]) if outcome and last_name(test.func) == "isinstance" and test.args else []
    return _places(test) if outcome else []


def _named(expr: f.Expr) -> list[str]:
    return [place_name(place) for place in _places(expr)]


def _places(expr: f.Expr) -> list[f.Expr]:
    return [expr] if place_name(expr) else []
