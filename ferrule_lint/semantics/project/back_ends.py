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


class BackEnds:
    """The files of programs that speak of sharded parameters, and those that belong to no program."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._near: Nearness | None = None

    def may_shard(self, path: str) -> bool:
        """Whether a file may be run with parameters in parts, as far as the project tells."""
        reads = self._analysis.names.reads
        reads.ask("back end", path)
        with reads.apart():
            if self._near is None:
                modules = self._analysis.names.modules
                self._near = Nearness(self._analysis, sorted(p for p, m in modules.items() if _speaks(m)))
            return path in self._near


def _speaks(module: ModuleInfo) -> bool:
    imported = (dotted for dotted, _ in module.imports.values())
    return any(map(_SPEAKS.search, module.mentions)) or any(map(_SPEAKS.search, imported))
