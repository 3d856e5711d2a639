"""Names of what wraps modules (`FSDP`, `fully_shard`, `prepare`, ...), and the files that speak of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ferrule_lint.semantics.project.entities import ModuleInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

_HINT = re.compile(
    r"fsdp|fully_?shard|deepspeed|accelerat|lightning|DistributedDataParallel|ddp|nn\.parallel|^torch$|"
    r"transformers|^trl",
    re.I,
)


#: what accelerate takes DDP's settings in, which may be made in another file than the model is prepared in
_SETTINGS = frozenset({"DistributedDataParallelKwargs"})


def names(analysis: Analysis) -> frozenset[str]:
    """Names of what wraps modules or holds settings for that, those that imports anywhere in the project give it, and
    those of classes that inherit from it."""
    modules, models = analysis.names.modules.values(), analysis.models
    pairs = [pair for m in modules for pair in renamed(m)]
    heirs = _also_renamed(models.wrapping_classes, [*pairs, *(pair for m in modules for pair in inherited(m))])
    return _also_renamed(models.wrapping | _SETTINGS, pairs) | heirs


def files(analysis: Analysis) -> list[str]:
    """The files that speak of something which wraps modules."""
    wrapping, modules = names(analysis), analysis.names.modules
    with analysis.names.reads.apart():
        return [path for path, module in modules.items() if speaks_of(module, wrapping)]


def speaks_of(module: ModuleInfo, wrapping: frozenset[str]) -> bool:
    """Whether a file speaks of something which wraps modules, and of a library that does."""
    return not module.outline.names.isdisjoint(wrapping) and _mentions_sharding(module)


def _mentions_sharding(module: ModuleInfo) -> bool:
    if any(_HINT.search(dotted) for dotted, _ in module.imports.values()):
        return True
    return any(_HINT.search(name) for name in module.functions)


def renamed(module: ModuleInfo) -> list[tuple[str, str]]:
    """Names, and those that imports of a file give them (`import fully_shard as shard`)."""
    last = ((dotted.rpartition(".")[2], bound) for bound, (dotted, _) in module.bound.items())
    return [(name, bound) for name, bound in last if name != bound]


def inherited(module: ModuleInfo) -> list[tuple[str, str]]:
    """Names of bases, and those of the classes of a file that have them."""
    return [(base, name) for name, bases in module.outline.classes for base in bases]


def _also_renamed(names: frozenset[str], renamed: Iterable[tuple[str, str]]) -> frozenset[str]:
    pairs = list(renamed)
    while True:
        more = names.union(bound for name, bound in pairs if name in names)
        if more == names:
            return names
        names = more
