"""Which stage of ZeRO a program asks for, where its configuration is written out beside the call, or by a function.

Stages 1 and 2 keep the parameters whole on every rank, so that a forward issues nothing; stage 3 gathers them.

Source: <https://www.deepspeed.ai/docs/config-json/#zero-optimizations-for-fp16-training>.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.import_graph import closed

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

_CONFIGS = ("config", "config_params")


def keeps_parameters_whole(
    analysis: Analysis,
    module: ModuleInfo,
    owner: FunctionInfo | None,
    call: f.Call,
    arguments: tuple[str, ...] = _CONFIGS,
) -> bool:
    """Whether the configuration that a call is given in one of these arguments is a dict that asks for less than
    stage 3: written out in this file, or in a function that hands it back."""
    found = _configurations(analysis, module, owner, call, arguments)
    return bool(found) and all(type(config) is f.DictDisplay and _is_below_three(config) for config in found)


def shards_parameters(analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, call: f.Call) -> bool:
    """Whether the configuration that a call is given, written out likewise, asks for stage 3."""
    found = _configurations(analysis, module, owner, call, _CONFIGS)
    stages = [_stage(config) for config in found if type(config) is f.DictDisplay and None not in config.keys]
    return bool(found) and len(stages) == len(found) and all(stage == f.Const("3") for stage in stages)


def _configurations(
    analysis: Analysis,
    module: ModuleInfo,
    owner: FunctionInfo | None,
    call: f.Call,
    arguments: tuple[str, ...],
) -> list[f.Expr | None]:
    given = next((value for name, value in call.keywords if name in arguments), None)
    if given is None:
        return []
    found: list[f.Expr | None] = []
    for config in _written(module, owner.body if owner is not None else module.body, given):
        maker = analysis.names.resolve(config.func, module) if type(config) is f.Call else None
        found += _returned(maker) if type(maker) is FunctionInfo else [config]
    return found


def _returned(maker: FunctionInfo) -> Iterator[f.Expr | None]:
    """What a function hands back, at each of its returns."""
    for returned in statements(maker.body):
        if type(returned) is f.Return:
            yield from _written(maker.module, maker.body, returned.value)


def _written(module: ModuleInfo, body: f.Body, expr: f.Expr | None) -> Iterator[f.Expr | None]:
    """An expression, or what the name that it is has been set to."""
    place = place_name(expr)
    if type(expr) is f.DictDisplay or type(expr) is f.Call or not place:
        yield expr
    else:
        yield from list(_assigned(module, body, place)) or [None]


def _of_programs(analysis: Analysis, path: str) -> Collection[str] | None:
    """The files of the programs which a file belongs to; None where a library may start DeepSpeed in them."""
    analysis.names.reads.ask("imports", "")
    together = closed(closed([path], analysis.imports.users), analysis.imports.imported)
    by_library = (module.path for name in _BY_LIBRARY for module in analysis.names.mentioning(name))
    return None if any(other in together for other in by_library) else together


def programs_keep_whole(analysis: Analysis, path: str) -> bool:
    """Whether all that starts DeepSpeed, in the programs which a file belongs to, writes a configuration out, and none
    but of a lower stage than 3: what gathers parameters there gathers nothing. Where a library starts it, settings
    from elsewhere decide."""
    return analysis.kept_whole.find(path, lambda: _keep_whole(analysis, path))


def _keep_whole(analysis: Analysis, path: str) -> bool:
    names, together = analysis.names, _of_programs(analysis, path)
    if together is None:
        return False
    starting = [m for m in names.mentioning("deepspeed") if m.path in together and m.mentions_any(_STARTS)]
    starting = [module for module in starting if _starts(module)]
    return bool(starting) and all(map(_writes_whole, starting))


def programs_go_without(analysis: Analysis, path: str) -> bool:
    """Whether nothing starts DeepSpeed in the programs which a file belongs to, that calls one of its helpers: neither
    by itself, nor by a library that some setting, or a text, tells to."""
    return analysis.kept_whole.find(f"{path} without", lambda: _go_without(analysis, path))


def _go_without(analysis: Analysis, path: str) -> bool:
    names, together = analysis.names, _of_programs(analysis, path)
    if together is None:
        return False
    return not any(
        _starts(names.modules[other]) or _is_said(names.modules[other]) for other in together if other in names.modules
    )


def _is_said(module: ModuleInfo) -> bool:
    """Whether a text in a file names DeepSpeed: `Trainer(strategy="deepspeed_stage_2")`."""
    return any(
        type(node) is f.Const and node.text[:1] in "'\"" and "deepspeed" in node.text.lower()
        for _, body in module.bodies()
        for node in walk(body)
    )


def _starts(module: ModuleInfo) -> bool:
    calls = (call for _, found in module.calls() for call in found)
    return any(place_name(call.func) == "deepspeed.initialize" for call in calls)


def _writes_whole(module: ModuleInfo) -> bool:
    nodes = [node for _, body in module.bodies() for node in walk(body)]
    named = sum(type(node) is f.Const and node.text.strip("'\"") == _ZERO for node in nodes)
    configs = [node for node in nodes if type(node) is f.DictDisplay and _entry(node, _ZERO) is not None]
    return bool(configs) and named == len(configs) and all(map(_is_below_three, configs))


_STARTS = frozenset({"initialize"})
_BY_LIBRARY = (
    "Accelerator",
    "TrainingArguments",
    "HfArgumentParser",
    "HfDeepSpeedConfig",
    "is_deepspeed_zero3_enabled",
    "DeepSpeedPlugin",
    "DeepSpeedStrategy",
)
_ZERO = "zero_optimization"


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
    zero = _entry(config, _ZERO)
    if zero is None:
        return True
    if type(zero) is not f.DictDisplay or None in zero.keys:
        return False
    stage = _entry(zero, "stage")
    return stage is None or (type(stage) is f.Const and stage.text in ("0", "1", "2"))


def _stage(config: f.DictDisplay) -> f.Expr | None:
    zero = _entry(config, _ZERO)
    return _entry(zero, "stage") if type(zero) is f.DictDisplay and None not in zero.keys else None


def _entry(config: f.DictDisplay, key: str) -> f.Expr | None:
    pairs = zip(config.keys, config.values, strict=True)
    return next((v for k, v in pairs if type(k) is f.Const and k.text.strip("'\"") == key), None)
