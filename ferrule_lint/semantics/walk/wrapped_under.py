"""Modules that are wrapped under a test: where that test is known to have come out otherwise, they are as they were.

`if args.fsdp: model = FSDP(model)` makes of `model` one in FSDP for whoever asks for it, but not in the `else` of the
same test further down, and not behind `if args.fsdp: return`.

What an attribute holds, or a function hands back, was wrapped under a test of another function. A test that asks for
FSDP by its name, or whether that very thing is an instance of it, tells the same.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.conditions import Formula, atoms, divergence_of, evaluate, implied
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import render

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


class WrappedUnder(NamedTuple):
    """What one arm has wrapped: the value behind the test, how single tests have come out there, what it is else."""

    value: Value
    outcomes: dict[str, bool]
    otherwise: Value


def met(frame: Frame, formula: Formula, a: Value, b: Value, merged: Value) -> Value:
    """What a place holds behind a test, where the test decides whether it is sharded."""
    if a.external == b.external or divergence_of(formula) is not None:
        return merged
    for one, other, outcome in ((a, b, True), (b, a, False)):
        if not _is_sharded(frame, one) or _is_sharded(frame, other):
            continue
        before = frame.wrapped_under.get(id(one))
        outcomes = (before.outcomes if before is not None else {}) | implied(formula, outcome)
        if not outcomes:
            return merged
        merged = merged._replace(external=one.external)
        frame.wrapped_under[id(merged)] = WrappedUnder(
            merged, outcomes, other if _role(frame, other) == "ddp" else _bare(other)
        )
        return merged
    return merged


def taken_out(e: f.IfExp, body: Value, orelse: Value) -> tuple[Value, Value]:
    """What the arms of `model.module if isinstance(model, DDP) else model` hold, whatever is asked: what is in no
    wrapper is as much itself as what is taken out of one."""
    if body.unwrapped and _is_inside(e.body, e.orelse):
        return body, orelse._replace(external=None, unwrapped=True)
    if orelse.unwrapped and _is_inside(e.orelse, e.body):
        return body._replace(external=None, unwrapped=True), orelse
    return body, orelse


def _is_inside(expr: f.Expr, wrapper: f.Expr) -> bool:
    """`wrapper.module`"""
    return type(expr) is f.Attr and expr.attr == "module" and render(expr.base) == render(wrapper)


def either(frame: Frame, joined: Value, a: Value, b: Value) -> Value:
    """What a place holds that two arms, or two methods, set: in DDP by one setting, and sharded by another."""
    if a.external == b.external:
        return joined
    one = a if _is_sharded(frame, a) else b
    other = b if one is a else a
    return (
        joined._replace(external=one.external) if _is_sharded(frame, one) and _role(frame, other) == "ddp" else joined
    )


def here(frame: Frame, value: Value) -> Value:
    """What a place holds where a test around it, or an exit before it, tells whether it is wrapped."""
    if value.external is None or not frame.conditions:
        return value
    known = frame.wrapped_under.get(id(value))
    if known is None or known.value is not value:
        return _bare(value)._replace(external=None) if is_ruled_out(frame, value) else value
    for condition in frame.conditions:
        told = implied(condition, True)
        if any(told.get(key, outcome) is not outcome for key, outcome in known.outcomes.items()):
            return known.otherwise
    return value


def is_ruled_out(frame: Frame, value: Value) -> bool:
    """Whether a test around the place, or before it, says by its name that nothing is in FSDP here, or in DeepSpeed."""
    if not frame.conditions or not _is_sharded(frame, value):
        return False
    deepspeed = (value.external or "").startswith("deepspeed.")
    asks, other = (_FOR_DEEPSPEED, _FOR_FSDP) if deepspeed else (_FOR_FSDP, _FOR_DEEPSPEED)
    told = [item for condition in frame.conditions for item in implied(condition, True).items()]
    return any(_says(key, outcome, asks, other) for key, outcome in told)


def _says(key: str, outcome: bool, asks: re.Pattern[str], other: re.Pattern[str]) -> bool:
    """Whether a test that has come out so says that a module is not in what another test asks for."""
    if not outcome:
        return asks.search(key) is not None
    is_one_of = " == " in key and asks.search(key) is None
    return is_one_of and (other.search(key) is not None or _WHOLE.search(key) is not None)


def is_even_in_parts(formula: Formula) -> bool:
    """Whether a test comes out alike on all ranks where something is in FSDP, or in DeepSpeed, as it asks for that by
    its name: `rank != 0 and engine != "fsdp"`."""
    settings = [atom.key for atom in atoms(formula) if atom.divergence is None]
    if len(settings) > _MOST_SETTINGS:
        return False
    for key in settings:
        if _FOR_FSDP.search(key) is None and _FOR_DEEPSPEED.search(key) is None:
            continue
        others = [other for other in settings if other != key]
        ways = itertools.product((True, False), repeat=len(others))
        if all(evaluate(formula, {key: True, **dict(zip(others, way, strict=True))}) is not None for way in ways):
            return True
    return False


def _asks(names: str, classes: str) -> re.Pattern[str]:
    """`args.use_fsdp`, `engine == "fsdp"`, `isinstance(model, FSDP)`; not `fsdp_offload`."""
    flag = rf"(^|[._'\"])(is_|use_|using_|enable_|with_)?({names})(_enabled|_mode)?['\"]?$"
    return re.compile(rf"{flag}|^=?isinstance\(.*\b({classes})\b", re.IGNORECASE)


_FOR_FSDP = _asks("fsdp[12]?|fully_sharded_data_parallel", "FSDP|FullyShardedDataParallel|FSDPModule")
_FOR_DEEPSPEED = _asks("deepspeed|ds", "DeepSpeedEngine")
#: settings in one test, for a look at what it says under all of them
_MOST_SETTINGS = 5
#: one of several ways to train (`strategy == "ddp"`, `ShardingStrategy.NO_SHARD`) that leaves each module whole
_WHOLE = re.compile(
    r"== (['\"](no|none|single|(distributed_?)?data_?parallel|d?dp|no_shard)['\"]|[\w.]*NO_SHARD)$", re.IGNORECASE
)


def _bare(value: Value) -> Value:
    """A module on the way on which nothing has sharded it."""
    return value._replace(module=True, unwrapped=True)


def _is_sharded(frame: Frame, value: Value) -> bool:
    return value.external in frame.models.engines or _role(frame, value) == "sharded"


def _role(frame: Frame, value: Value) -> str:
    model = frame.models.class_(value.external) if value.external is not None else None
    return model.role if model is not None else ""
