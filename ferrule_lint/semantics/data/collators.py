"""How a loader makes a batch of samples: who stacks them needs samples of one size, who pads them does not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.text import dotted_name, last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: https://huggingface.co/docs/transformers/main_classes/data_collator and torch.utils.data.default_collate
_STACKS = frozenset({"default_data_collator", "torch_default_data_collator", "default_collate"})
_KEYWORDS = frozenset({"collate_fn", "data_collator"})
#: fields that the model makes, however samples were put together
_GENERATED = re.compile(r"generated|completion|response")


def stacks(frame: Frame, field: str) -> bool:
    """Whether a field of a batch comes out of a collator that stacks, as all do that the file names."""
    if not frame.module.mentions_any(_STACKS) or _GENERATED.search(field):
        return False
    return only_stacks(frame.analysis, frame.module)


def only_stacks(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether all collators that a file names stack."""
    return analysis.stacking.find(module.path, lambda: _only_stacks(module), False)


def _only_stacks(module: ModuleInfo) -> bool:
    named = [
        _of_library(module, value)
        for _, calls in module.calls()
        for call in calls
        for keyword, value in call.keywords
        if keyword in _KEYWORDS
    ]
    return bool(named) and _STACKS.issuperset(named)


def _of_library(module: ModuleInfo, expr: f.Expr) -> str:
    """The last name of what a library gives, "" for anything else."""
    root, dot, rest = dotted_name(expr).partition(".")
    full = module.imports.get(root, ("", False))[0] + dot + rest
    return last_name(expr) if full.partition(".")[0] in ("torch", "transformers") else ""
