"""Which programs may run with parameters in parts, where a launcher's settings decide it.

A library that has several back ends copies a model under one of them and gathers it under another. Which one it is
stands in a file of settings outside the program; but a program that may be run with sharded parameters mostly speaks of
that somewhere: it looks at a plugin, or asks which back end there is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.semantics.project.nearness import Nearness

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import ModuleInfo

_SPEAKS = re.compile(
    r"deep_?speed|fsdp|fully_?shard|megatron|zero_?(stage|[123](?!\d))|distributed_?type|automatic_checkpoint_naming",
    re.IGNORECASE,
)
#: the same where DeepSpeed has been asked for already
_BESIDE_DEEPSPEED = re.compile(r"fsdp|fully_?shard|megatron|automatic_checkpoint_naming", re.IGNORECASE)


class BackEnds:
    """The files of programs that speak of sharded parameters, and those that belong to no program."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._near: dict[re.Pattern[str], Nearness] = {}

    def may_shard(self, path: str, beside_deepspeed: bool = False) -> bool:
        """Whether a file may be run with parameters in parts, as far as the project tells; `beside_deepspeed`: where
        that is asked for by name, so that only another back end is left."""
        reads = self._analysis.names.reads
        reads.ask("back end beside" if beside_deepspeed else "back end", path)
        words = _BESIDE_DEEPSPEED if beside_deepspeed else _SPEAKS
        with reads.apart():
            if words not in self._near:
                modules = self._analysis.names.modules
                self._near[words] = Nearness(self._analysis, sorted(p for p, m in modules.items() if _speaks(m, words)))
            return path in self._near[words]


def _speaks(module: ModuleInfo, words: re.Pattern[str]) -> bool:
    imported = (dotted for dotted, _ in module.imports.values())
    return any(map(words.search, module.mentions)) or any(map(words.search, imported))
