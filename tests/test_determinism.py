"""The same findings in the same order, however the run came about."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pipeline import project

from ferrule_lint import engine, extraction
from ferrule_lint.checks import processes
from ferrule_lint.checks import run as check_run
from ferrule_lint.checks.known import KnownFile, KnownInput, Remembered, by_function, in_one_text, together
from ferrule_lint.checks.run import check
from ferrule_lint.findings import Confidence, Report
from ferrule_lint.frontend.lower import extract
from ferrule_lint.models.loader import load_models
from ferrule_lint.project.config import Settings, load_settings

#: classes of one method name, contexts by the dozen, and values of several classes: whatever is kept in a set
FILES = {
    f"pkg/m{number}.py": f"""\
import torch
import torch.distributed as dist
from pkg.m{(number + 1) % 5} import Part as Other, run as go


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
    for number in range(5)
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path, {"pkg/__init__.py": "", **FILES})


def low(root: Path) -> Settings:
    return replace(load_settings(root), min_confidence=Confidence.LOW)


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
    monkeypatch.setattr(processes, "WORTHWHILE", 40)
    settings = load_settings(root)
    expected = shown(engine.lint([root], settings, use_cache=False))
    assert shown(engine.lint([root], settings, use_cache=False, jobs=3)) == expected
    assert shown(engine.lint([root], settings, jobs=2)) == expected
    assert shown(engine.lint([root / "pkg", root], settings, use_cache=False)) == expected


def test_wherever_classes_lie_in_memory() -> None:
    """A set has them in the order of their addresses: the one that a finding names is the first by name."""
    kinds = [f"Part{number}" for number in range(12)]
    model = "import torch\nfrom torch.distributed.fsdp import fully_shard\n"
    model += "".join(f"\n\nclass {kind}(torch.nn.Module):\n    pass\n" for kind in reversed(kinds))
    model += "\n\nclass Model(torch.nn.Module):\n    def __init__(self, kind):\n        super().__init__()\n"
    for kind in reversed(kinds):
        model += f"        if kind == '{kind}':\n            self.part = fully_shard({kind}())\n"
    model += "\n    def forward(self, x):\n        if x.sum() > 0:\n            x = self.part(x)\n        return x\n"
    model += "\n\ndef build(kind):\n    return fully_shard(Model(kind))\n"
    found = check({"model.py": extract(model.encode())}, ["model.py"], load_models()).findings
    (finding,) = (one for one in found if one.code == "FER101")
    assert finding.events[0].module == "model.py:Part0"


def of_forks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The forks that are started from here on."""
    started: list[int] = []
    fork = os.fork

    def counted() -> int:
        started.append(fork())
        return started[-1]

    monkeypatch.setattr(os, "fork", counted)
    monkeypatch.setattr(processes, "WORTHWHILE", 40)
    return started


linux = pytest.mark.skipif(sys.platform != "linux", reason="one process checks there")


@linux
def test_what_several_processes_have_found_is_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = shown(engine.lint([root], low(root), use_cache=False))
    started = of_forks(monkeypatch)
    assert shown(engine.lint([root], low(root), jobs=3)) == expected
    assert len(started) == 3
    again = engine.lint([root], low(root), jobs=3)
    assert again.statistics["results_cached"] and shown(again) == expected


@linux
@pytest.mark.parametrize("edited", sorted(FILES)[:2])
def test_an_edit_goes_on_from_what_several_processes_have_found(
    root: Path, monkeypatch: pytest.MonkeyPatch, edited: str
) -> None:
    of_forks(monkeypatch)
    expected = shown(engine.lint([root], low(root), jobs=3))
    source = (root / edited).read_text()
    for before, after in (
        ("dist.barrier(group=group)", "pass"),
        ("dist.all_reduce(batch)", "batch"),
        ("dist.broadcast(name, src=0)", "pass"),
    ):
        source = source.replace(before, after)
        (root / edited).write_text(source)
        warm = engine.lint([root], low(root))
        assert shown(warm) == shown(engine.lint([root], low(root), use_cache=False))
        assert warm.statistics["cache_hits"] == len(FILES)
    assert shown(warm) != expected


@linux
@pytest.mark.parametrize("use_cache", [True, False])
def test_what_a_process_takes_that_ends_is_checked_by_others(
    root: Path, monkeypatch: pytest.MonkeyPatch, use_cache: bool
) -> None:
    expected = shown(engine.lint([root], low(root), use_cache=False))
    started = of_forks(monkeypatch)
    checked, here = check_run._result, os.getpid()

    def dies(analysis: Any, module: Any, *others: Any) -> Any:
        if module.path.endswith("m2.py") and os.getpid() != here:
            os._exit(9)
        return checked(analysis, module, *others)

    monkeypatch.setattr(check_run, "_result", dies)
    assert shown(engine.lint([root], low(root), use_cache=use_cache, jobs=3)) == expected
    assert len(started) == 3


@linux
def test_without_further_processes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = shown(engine.lint([root], low(root), use_cache=False))
    monkeypatch.setattr(processes, "WORTHWHILE", 40)

    def refused() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(os, "fork", refused)
    assert shown(engine.lint([root], low(root), jobs=3)) == expected


@linux
def test_an_error_in_one_file_is_reported_whoever_checks_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(analysis: Any, function: Any) -> Any:
        if function.qualname == "run" and function.module.path.endswith("m1.py"):
            raise ValueError("made up")
        return known(analysis, function)

    known = check_run._function
    monkeypatch.setattr(check_run, "_function", fails)
    alone = engine.lint([root], low(root), use_cache=False)
    assert [error.path for error in alone.errors] == ["pkg/m1.py"]
    of_forks(monkeypatch)
    for use_cache in (False, True):
        together = engine.lint([root], low(root), use_cache=use_cache, jobs=3)
        assert (together.findings, together.errors) == (alone.findings, alone.errors)


def test_inputs_of_several_processes_get_one_number_each() -> None:
    first = Remembered(
        {"a.py": "1", "b.py": "2"},
        (("x",),),
        Remembered.in_columns(
            [
                KnownInput("file", "a.py"),
                KnownInput("summary", "f", "said by f", "0", "text"),
                KnownInput("unused", "g"),
            ]
        ),
        (KnownFile("a.py", "0 1", (), {}, None, in_one_text({"h": "0"})),),
    )
    second = Remembered(
        {"a.py": "1", "b.py": "2"},
        (("y",),),
        Remembered.in_columns(
            [
                KnownInput("summary", "g", "said by g", "1 2"),
                KnownInput("file", "b.py"),
                KnownInput("summary", "f", "said by f", "3", "text"),
                KnownInput("file", "a.py"),
            ]
        ),
        (KnownFile("b.py", "0 1 2", (), {}, None, in_one_text({"h": "1", "": "0 2"})),),
    )
    kept = together([first, second])
    inputs = kept.inputs()
    assert kept.is_whole() and kept.counted == len(inputs) == 4

    def named(numbers: str) -> set[str]:
        return {inputs[int(number)].name for number in numbers.split()}

    rests = {given.name: (given.answer, named(given.rests)) for given in inputs}
    files = {file.path: (named(file.inputs), by_function(file.nothing_in)) for file in kept.files}
    assert rests["f"] == ("said by f", {"a.py"}) and rests["g"] == ("said by g", {"b.py", "f"})
    assert files["a.py"][0] == {"a.py", "f"} and files["b.py"][0] == {"b.py", "f", "g"}
    assert {name: named(read) for name, read in files["b.py"][1].items()} == {"h": {"b.py"}, "": {"f", "g"}}
    assert kept.asked == (("x",), ("y",)) and kept.digests == first.digests
