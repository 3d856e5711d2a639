"""benchmarks/oracle.py: what it runs is right, and the analysis is right about it; benchmarks/fuzz.py in short."""

from __future__ import annotations

import ast
import pathlib
import random

import pytest
from support import benchmark

from ferrule_lint.models.loader import load_models

spmd, programs = benchmark("spmd"), benchmark("programs")
oracle, fuzz = benchmark("oracle"), benchmark("fuzz")

HEAD = "import torch\nimport torch.distributed as dist\n\ndef step(n, flag, batch):\n    rank = dist.get_rank()\n"


def happens(body: str) -> tuple[bool, dict[int, bool]]:
    """Whether some run diverges, and which lines have values that differ, counted from the body's first."""
    source = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    runs = [spmd.run(source, str(draw)) for draw in range(spmd.DRAWS)]
    first = HEAD.count("\n")
    return any(run.diverged for run in runs), {k - first: v for run in runs for k, v in run.values.items()}


@pytest.mark.parametrize(
    ("body", "diverges"),
    [
        ("dist.barrier()", False),
        ("if rank == 0:\n    dist.barrier()", True),
        ("if rank == 0:\n    return\ndist.barrier()", True),
        ("if flag:\n    dist.barrier()", False),
        ("for i in range(rank):\n    dist.barrier()", True),
        ("if batch.sum().item() > 2:\n    dist.barrier()", True),
        ("t = torch.tensor(rank)\ndist.all_reduce(t)\nif t.item() == 0:\n    dist.barrier()", False),
        ("if rank == 0:\n    dist.barrier()\nelse:\n    dist.barrier()", False),
        ("if rank == 0:\n    dist.barrier()\nelse:\n    dist.all_reduce(torch.tensor(1))", True),
    ],
)
def test_what_happens_on_ranks(body: str, diverges: bool) -> None:
    assert happens(body)[0] is diverges


def test_what_ranks_hold() -> None:
    body = "reveal_uniformity(rank)\nreveal_uniformity(n)\nt = [rank]\ndist.broadcast_object_list(t, src=1)\n"
    assert happens(body + "reveal_uniformity(t[0])\nif rank == 0:\n    reveal_uniformity(n)")[1] == {
        1: True,
        2: False,
        5: False,
    }


def test_closed_paths_are_opened() -> None:
    source = HEAD + "    if rank > 1:\n        if rank == 0:\n            dist.barrier()\n"
    assert not any(spmd.run(source, str(draw)).diverged for draw in range(20))
    assert any(spmd.run(source, str(draw), opened=True).diverged for draw in range(20))


def test_the_analysis_is_right() -> None:
    models = load_models()
    judged = [oracle.judge(spmd.program(seed), models, seed) for seed in range(25)]
    assert not [(j.bugs, j.source) for j in judged if j.bugs]
    assert {j.outcome for j in judged} >= {oracle.OUTCOMES[0], oracle.OUTCOMES[2]}
    found = [j for j in judged if j.outcome == oracle.OUTCOMES[0] and j.verdict != "nothing"]
    assert len(found) > 5


def test_a_wrong_analysis_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    source = HEAD + "    reveal_uniformity(rank)\n"
    monkeypatch.setattr(oracle, "reveal", lambda files, models: [("program.py", 6, "uniform")])
    assert oracle.judge(source, load_models(), 0).bugs == ["line 6 differs and is called uniform"]


@pytest.mark.parametrize("target", list(fuzz.TARGETS))
def test_nothing_breaks(target: str) -> None:
    corpus = [pathlib.Path(__file__)]
    for number in range(25):
        text = fuzz.make(target, random.Random(f"test/{number}"), corpus)
        assert fuzz.attempt(target, text)[1] == "", text


def test_programs_parse() -> None:
    for number in range(50):
        ast.parse(programs.module(random.Random(number)))


def test_what_breaks_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(text: str) -> str:
        raise KeyError("gone")

    monkeypatch.setitem(fuzz.TARGETS, "frontend", broken)
    outcome, trace = fuzz.attempt("frontend", "x")
    assert outcome == "FAILED KeyError: 'gone'"
    assert "in broken" in trace
