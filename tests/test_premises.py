"""Steps that several findings rest on: named once, below the findings."""

from __future__ import annotations

from pathlib import Path

import pytest

from ferrule_lint.cli.main import run
from ferrule_lint.findings import Confidence, Finding, Span, Step
from ferrule_lint.reporters import premises, text

SHARD = Step("wrap", "model.py", 9, 5, "`fully_shard(block)` wraps a module whose class cannot be told")
BATCH = Step("source", "train.py", 3, 9, "`batch` is the rank's own batch")


def finding(line: int, *steps: Step, kind: str = "data") -> Finding:
    return Finding(
        code="FER102", name="collective-in-divergent-branch", severity="error", confidence=Confidence.MEDIUM,
        message="m", path="train.py", span=Span(line, 1, line, 9), kind=kind, witness=steps,
    )  # fmt: skip


def shown(findings: list[Finding]) -> list[str]:
    return text.plain(premises.lines(findings, Path("/p"), Path("/p"))).splitlines()


def test_a_step_of_three_findings_is_named() -> None:
    assert shown([finding(n, BATCH) for n in (4, 5, 6)]) == [
        "All 3 rest on one step: `batch` is the rank's own batch (train.py:3:9)"
    ]
    assert shown([finding(n, BATCH) for n in (4, 5)]) == []


def test_a_step_is_counted_once_a_finding() -> None:
    assert shown([finding(4, BATCH, BATCH), finding(5, BATCH)]) == []


def test_what_adds_no_finding_is_left_out() -> None:
    both = [finding(n, BATCH, SHARD) for n in (4, 5, 6)]
    assert shown([*both, finding(7, BATCH)]) == [
        "All 4 rest on one step: `batch` is the rank's own batch (train.py:3:9)"
    ]
    assert shown([*both, finding(7, BATCH), finding(8, SHARD)]) == [
        "4 of them rest on one step: `fully_shard(block)` wraps a module whose class cannot be told (model.py:9:5)",
        "4 of them rest on one step: `batch` is the rank's own batch (train.py:3:9)",
    ]


def test_that_ranks_have_numbers_is_no_premise() -> None:
    rank = Step("source", "train.py", 1, 1, "`dist.get_rank()` differs by rank")
    assert shown([finding(n, rank, kind="rank") for n in (4, 5, 6)]) == []


def test_below_the_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = "import torch.distributed as dist\n\n\ndef step(batch, x):\n"
    source += "".join(f"    if batch.sum() > {n}:\n        dist.all_reduce(x)\n" for n in range(3))
    (tmp_path / "train.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    for name in ("full", "concise", "grouped"):
        assert run(["--no-cache", "--output-format", name, "train.py"]) == 1
        lines = capsys.readouterr().out.splitlines()
        found = lines.index("Found 3 problems (3 errors) in 1 file.")
        assert lines[found + 1] == "All 3 rest on one step: `batch` is the rank's own batch (train.py:4:1)"
    assert run(["--no-cache", "--quiet", "train.py"]) == 1
    assert "rest on one step" not in capsys.readouterr().out
