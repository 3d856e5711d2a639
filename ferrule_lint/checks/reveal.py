"""What the analysis holds of an expression: `reveal_uniformity(x)` in a linted file, for specifications."""

from __future__ import annotations

from collections.abc import Mapping

from ferrule_lint.checks.result import CheckOptions
from ferrule_lint.facts.outline import Facts
from ferrule_lint.models.lookup import ModelSet
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.lattice import Value


def reveal(
    facts: Mapping[str, Facts], models: ModelSet, options: CheckOptions | None = None
) -> list[tuple[str, int, str]]:
    """(path, line, "uniform" | "unknown" | "divergent[axes] kind") of every `reveal_uniformity(...)` call."""
    analysis = Analysis(facts, models, (options or CheckOptions()).sharded)
    out: list[tuple[str, int, str]] = []
    for path in sorted(analysis.names.modules):
        module = analysis.names.modules[path]
        for function in module.functions.values():
            known = analysis.frame_of(function)
            if known is not None:
                out += [(path, one.line, level(one.value)) for one in known[1].revealed]
        out += [(path, one.line, level(one.value)) for one in analysis.module_frame(module).revealed]
    return sorted(set(out))


def level(value: Value) -> str:
    """A value in a few words."""
    divergence = value.divergence or value.data
    if divergence is None:
        return value.level
    return f"divergent[{','.join(sorted(divergence.axes))}] {divergence.kind}"
