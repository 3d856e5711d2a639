"""The regression harness: run code under N ranks, record every collective, and explain where the ranks part.

`run(function_or_path, ranks=2)` is the entry point for programs, `@pytest.mark.ferrule(ranks=2)` for tests and
`ferrule-lint trace` for the command line. torch is needed to run anything and imported only then.

The harness stands apart from the linter: it imports nothing of it but the types of findings, and the linter never
imports the harness. What the linter says of a line is asked of its command line (`lint.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ferrule_lint.harness.api import run
    from ferrule_lint.harness.divergence import Divergence
    from ferrule_lint.harness.errors import DivergenceError, HarnessError
    from ferrule_lint.harness.result import Result

__all__ = ["Divergence", "DivergenceError", "HarnessError", "Result", "run"]

_HOMES = {
    "run": "api",
    "Divergence": "divergence",
    "DivergenceError": "errors",
    "HarnessError": "errors",
    "Result": "result",
}


def __getattr__(name: str) -> Any:
    """The names above, on demand: pytest loads this package in every project, for the plugin in it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
