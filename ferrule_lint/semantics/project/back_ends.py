"""Which programs may run with parameters in parts, where a launcher's settings decide it.

A library that has several back ends copies a model under one of them and gathers it under another. Which one it is
stands in a file of settings outside the program; but a program that may be run with sharded parameters mostly speaks of
that somewhere: it looks at a plugin, or asks which back end there is.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.semantics.project.nearness import Nearness
from ferrule_lint.semantics.project.reads import Memo
from ferrule_lint.semantics.project.refused import are_only_refused

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import ModuleInfo

_SPEAKS = re.compile(
    r"deep_?speed|fsdp|fully_?shard|megatron|zero_?(stage|[123](?!\d))|automatic_checkpoint_naming",
    re.IGNORECASE,
)
#: who asks which back end there is, and those that copy a model: to ask for one of them says nothing of the others
_ASKS = re.compile(r"distributed_?type", re.IGNORECASE)
_COPIES = frozenset("NO MULTI_GPU MULTI_CPU MULTI_NPU MULTI_MLU MULTI_XPU MULTI_HPU".split())
#: the same where DeepSpeed has been asked for already
_BESIDE_DEEPSPEED = re.compile(r"fsdp|fully_?shard|megatron|automatic_checkpoint_naming", re.IGNORECASE)


class BackEnds:
    """The files of programs that speak of sharded parameters, and those that belong to no program."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._near: Memo[str, Nearness] = Memo(analysis.names.reads)
        self._are_spoken_of: bool | None = None

    def may_shard(self, path: str, beside_deepspeed: bool = False) -> bool:
        """Whether a file may be run with parameters in parts, as far as the project tells; `beside_deepspeed`: where
        that is asked for by name, so that only another back end is left."""
        question = "back end beside" if beside_deepspeed else "back end"
        with self._analysis.names.reads.answering(question, path):
            return path in self._near.find(question, lambda: self._nearness(question))

    def are_spoken_of(self) -> bool:
        """Whether any file of the project speaks of sharded parameters: a library that does not may still be run so,
        but to take its models for sharded would be a guess."""
        self._analysis.names.reads.ask("speaks", "back end")
        if self._are_spoken_of is None:
            self._are_spoken_of = bool(self.speaking("back end"))
        return self._are_spoken_of

    def _nearness(self, question: str) -> Nearness:
        self._analysis.names.reads.ask("speaks", question)
        return Nearness(self._analysis, self.speaking(question))

    def speaking(self, question: str) -> list[str]:
        """The files that speak of it."""
        modules = self._analysis.names.modules
        with self._analysis.names.reads.apart():
            return sorted(path for path, module in modules.items() if speaks(module, question))


def speaks(module: ModuleInfo, question: str) -> bool:
    """Whether a file speaks of sharded parameters, or of those of another back end than DeepSpeed."""
    words = _BESIDE_DEEPSPEED if question == "back end beside" else _SPEAKS
    imported = [dotted for dotted, _ in module.imports.values()]
    if any(map(words.search, imported)):
        return True
    if module.mentions_like(words) and not are_only_refused(module, words, _ASKS):
        return True
    asks = words is _SPEAKS and (module.mentions_like(_ASKS) or any(map(_ASKS.search, imported)))
    return asks and not module.mentions_any(_COPIES)
