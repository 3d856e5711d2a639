"""Which stage of ZeRO a program asks for, where its configuration is written out beside the call.

Stages 1 and 2 keep the parameters whole on every rank, so that a forward issues nothing; stage 3 gathers them.

Source: <https://www.deepspeed.ai/docs/config-json/#zero-optimizations-for-fp16-training>.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo

_CONFIGS = frozenset(("config", "config_params"))


def keeps_parameters_whole(module: ModuleInfo, owner: FunctionInfo | None, call: f.Call) -> bool:
    """Whether the configuration that a call is given is a dict of this file that asks for less than stage 3."""
    given = next((value for name, value in call.keywords if name in _CONFIGS), None)
    if given is None:
        return False
    body = owner.body if owner is not None else module.body
    found = [given] if type(given) is f.DictDisplay else list(_assigned(module, body, place_name(given)))
    return bool(found) and all(type(config) is f.DictDisplay and _is_below_three(config) for config in found)


def _assigned(module: ModuleInfo, body: f.Body, place: str) -> Iterator[f.Expr | None]:
    """What a place is set to in a function, or else in its file; None for a part of it that is set."""
    set_here = [s for s in statements(body) if type(s) is f.Assign]
    parts = (f"{place}.", f"{place}[")
    whole = [s.value for s in set_here if any(place_name(target) == place for target in s.targets)]
    yield from whole or (module.assigned(place) if place else ())
    if any(_text(target).startswith(parts) for s in set_here for target in s.targets):
        yield None


def _text(target: f.Expr) -> str:
    while type(target) is f.Subscript and type(target.base) is f.Subscript:
        target = target.base
    return f"{place_name(target.base)}[" if type(target) is f.Subscript else place_name(target)


def _is_below_three(config: f.DictDisplay) -> bool:
    if None in config.keys:
        return False
    zero = _entry(config, "zero_optimization")
    if zero is None:
        return True
    if type(zero) is not f.DictDisplay or None in zero.keys:
        return False
    stage = _entry(zero, "stage")
    return stage is None or (type(stage) is f.Const and stage.text in ("0", "1", "2"))


def _entry(config: f.DictDisplay, key: str) -> f.Expr | None:
    pairs = zip(config.keys, config.values, strict=True)
    return next((v for k, v in pairs if type(k) is f.Const and k.text.strip("'\"") == key), None)
