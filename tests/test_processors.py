"""How many processes a run may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ferrule_lint.cli import processors


@pytest.mark.parametrize(
    ("quota", "number"),
    [
        ("max 100000\n", 6),
        ("200000 100000\n", 2),
        ("150000 100000\n", 2),
        ("50000 100000\n", 1),
        ("odd\n", 6),
        (None, 6),
    ],
)
def test_no_more_than_a_container_is_given(
    quota: str | None, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(6)), raising=False)
    monkeypatch.setattr(processors, "QUOTA", tmp_path / "cpu.max")
    if quota is not None:
        (tmp_path / "cpu.max").write_text(quota)
    assert processors.processors() == number


def test_no_more_than_pay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(64)), raising=False)
    monkeypatch.setattr(processors, "QUOTA", tmp_path / "cpu.max")
    assert processors.processors() == 8
