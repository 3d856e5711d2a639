"""For tests of what surrounds the analysis: checks that find what the test says, and nothing else."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ferrule_lint.checks.result import CheckOptions, CheckResult
from ferrule_lint.findings import Confidence, EventSite, Finding, LintError, Span, Step

Finder = Callable[[Mapping[str, Any], Collection[str]], Sequence[Finding]]


@dataclass
class Calls:
    """What the fake check was given."""

    facts: Mapping[str, Any] | None = None
    report: Collection[str] | None = None
    sharded: object = None


def fake_checks(monkeypatch: pytest.MonkeyPatch, find: Finder, errors: tuple[LintError, ...] = ()) -> Calls:
    """Replace all checks by `find`; what they are called with is recorded in the result."""
    calls = Calls()

    def check(
        facts: Mapping[str, Any],
        report: Collection[str],
        models: object,
        options: CheckOptions,
        before: object = None,
        like: object = None,
        jobs: int = 1,
    ) -> CheckResult:
        calls.facts, calls.report, calls.sharded = facts, report, options.sharded
        return CheckResult(tuple(find(facts, report)), {"budget_exceeded": 0, "functions": 3}, errors)

    module = types.ModuleType("ferrule_lint.checks.run")
    module.check = check  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ferrule_lint.checks.run", module)
    return calls


def nothing(facts: Mapping[str, Any], report: Collection[str]) -> list[Finding]:
    return []


def at_text(path: str, source: str, call: str, condition: str = "", **changes: Any) -> Finding:
    """A FER102 at the first place of `call` in `source`, with a witness that names `condition`."""
    line, column, end_line, end_column = _range(source, call)
    witness = []
    if condition:
        row, col, *_ = _range(source, condition)
        witness = [
            Step("source", path, row, col, "`rank` is this rank's number"),
            Step("condition", path, row, col, f"`{condition}` differs along dp"),
        ]
    fields: dict[str, Any] = {
        "code": "FER102",
        "name": "collective-in-divergent-branch",
        "severity": "error",
        "confidence": Confidence.HIGH,
        "message": "`all_reduce` is reached by some ranks only",
        "path": path,
        "span": Span(line, column, end_line, end_column),
        "axes": ("dp",),
        "kind": "rank",
        "function": "train.step",
        "witness": (*witness, Step("event", path, line, column, "all_reduce over dp")),
        "events": (EventSite("all_reduce", path, line, column),),
    }
    return Finding(**(fields | changes))


def _range(source: str, text: str) -> tuple[int, int, int, int]:
    start = source.index(text)
    end = start + len(text)
    line = source.count("\n", 0, start) + 1
    end_line = source.count("\n", 0, end) + 1
    column = start - (source.rfind("\n", 0, start) + 1) + 1
    end_column = end - (source.rfind("\n", 0, end) + 1) + 1
    return line, column, end_line, end_column


def project(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write `files` below `root`, with a `pyproject.toml` if they have none; `root`."""
    for name, content in {"pyproject.toml": "", **files}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root
