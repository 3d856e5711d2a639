"""The same findings in the same order, however the run came about."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pipeline import project

from ferrule_lint import engine, extraction
from ferrule_lint.checks.run import check
from ferrule_lint.findings import Report
from ferrule_lint.frontend.lower import extract
from ferrule_lint.models.loader import load_models
from ferrule_lint.project.config import Settings, load_settings

#: classes of one method name, contexts by the dozen, and values of several classes: whatever is kept in a set
FILES = {
    f"pkg/m{number}.py": f"""\
import torch
import torch.distributed as dist
from pkg.m{(number + 1) % 6} import Part as Other, run as go


class Part(torch.nn.Module):
    def sync(self, value=None, group=None, wait=True):
        if wait:
            dist.barrier(group=group)
        return value

    def forward(self, batch):
        part = self if batch is None else Other() if batch else Part()
        if dist.get_rank() == {number}:
            part.sync(batch, wait={number % 2 == 0})
        return go(part, None, {number % 3 == 0}, lambda: dist.all_reduce(batch))


def run(part, a, b, call):
    seen = {{str(x) for x in part.parameters()}}
    for name in seen:
        dist.broadcast(name, src=0)
    if a is None and dist.get_rank() == 0:
        part.sync(a, b, b)
        call()
    return [part.sync(a), go(part, b, a, run), part.forward(seen)]
"""
    for number in range(6)
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path, {"pkg/__init__.py": "", **FILES})


def low(root: Path) -> Settings:
    settings = load_settings(root)
    return type(settings)(**{**{name: getattr(settings, name) for name in settings.__slots__}, "min_confidence": "low"})


def shown(report: Report) -> list[Any]:
    assert report.findings and not report.errors
    return list(report.findings)


def test_whatever_the_hash_seed(root: Path) -> None:
    command = [sys.executable, "-m", "ferrule_lint", "--no-cache", "--exit-zero", "--min-confidence", "low",
               "--output-format", "json", "."]  # fmt: skip
    said = []
    for seed in ("0", "1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=True)
        said.append(json.loads(done.stdout)["findings"])
    assert said[0]
    assert said[1:] == said[:1] * 3


def test_whatever_the_order_of_files() -> None:
    facts = {path: extract(source.encode()) for path, source in FILES.items()}
    expected = check(facts, list(facts), load_models())
    assert expected.findings
    pick = random.Random(1)
    for _ in range(4):
        paths = list(facts)
        pick.shuffle(paths)
        assert check({path: facts[path] for path in paths}, paths[::-1], load_models()) == expected


def test_whatever_the_number_of_processes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "WORTHWHILE", 100)
    settings = load_settings(root)
    expected = shown(engine.lint([root], settings, use_cache=False))
    assert shown(engine.lint([root], settings, use_cache=False, jobs=3)) == expected
    assert shown(engine.lint([root], settings, jobs=2)) == expected
    assert shown(engine.lint([root / "pkg", root], settings, use_cache=False)) == expected
