"""Generated programs: whatever is fixed in them parses, keeps its comments, computes the same, and stays as it is."""

from __future__ import annotations

import itertools
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from test_fixes import check_care, fixed, torch_double

__all__ = ["torch_double"]

CONDITIONS = {
    "rank": "dist.get_rank() == 0",
    "rank and more": "flag and dist.get_rank() == 0",
    "clock": "time.time() > limit",
    "mask": 'batch["mask"].bool().any()',
    "guarded mask": 'flag and batch["mask"].bool().any()',
    "size": 'batch["x"][batch["mask"].bool()].numel() > 0',
    "not finite": "not torch.isfinite(total.sum())",
}
BODIES = {
    "barrier": "dist.barrier()  # all of them",
    "reduce": "dist.all_reduce(total)\nlog.append(total.item())",
    "print first": 'print("now")\n# the sum\ndist.all_reduce(total)\nlog.append(total.item())',
    "work and barrier": "log.append(1.0)\n\n# wait\ndist.barrier()",
    "barrier between": "log.append(1.0)\n\n# wait\ndist.barrier()\nlog.append(2.0)  # behind it",
    "exit": "log.append(2.0)\ncontinue",
}
#: what diverges without a branch around a collective
STATEMENTS = {
    "order": 'for _ in {"b", "a"}:\n    # one by one\n    dist.all_reduce(total)\n    log.append(total.item())',
    "sizes": (
        'part = batch["x"][batch["mask"].bool()]  # those that count\nout = [torch.empty_like(part)]\n'
        "dist.all_gather(out, part)\nlog += out[0].tolist()"
    ),
    "rounds": (
        'for _ in range(int(batch["mask"].sum().item())):  # each\n    dist.all_reduce(total)\n    log.append(1.0)'
    ),
    "steps": (
        'for start in range(0, int(batch["mask"].sum().item()), 2):  # two by two\n    dist.all_reduce(total)\n'
        "    log.append(float(start))"
    ),
    "patience": (
        "for number in range(3):\n    if dist.get_rank() == 0:\n        if flag and number > 0:\n"
        "            break  # enough\n        log.append(1.0)\n    # again\n    dist.all_reduce(total)\n"
        "log.append(total.sum().item())"
    ),
    "file": (
        'name = "/"  # there\nif not os.path.exists(name):\n    if dist.get_rank() == 0:\n'
        '        open(name, "w").close()\n    dist.barrier()\nlog.append(1.0)'
    ),
    "until": (
        'left = batch["x"].max()\nwhile left.item() > 2.5:\n    dist.all_reduce(left)\n    left = left - 1.0  # less'
    ),
    "failure": (
        "try:  # may fail\n    checked(batch)\nexcept Nothing:\n    # left out\n    log.append(-1.0)\n    continue\n"
        "dist.all_reduce(total)\nlog.append(total.item())"
    ),
    "reduced in the try": (
        "try:\n    log.append(checked(batch))\n    dist.all_reduce(total)  # the sum\nexcept Nothing:\n    continue\n"
        "log.append(total.item())"
    ),
    "group": (
        "members = None\nif dist.get_rank() in [0]:  # inside\n    members = dist.new_group([0])\n"
        "log.append(len(members))"
    ),
    "stale": "dist.all_reduce(total)  # seen by all  # ferrule: ignore[FER102] no more\nlog.append(total.item())",
}
CONTEXTS = {
    "plain": "{}",
    "loop": "for number in range(2):\n    log.append(float(number))\n{}",
    "arm": "if flag:\n{}\nelse:\n    log.append(0.0)",
}
PROGRAM = '''\
"""{name}"""

import os
import time

import torch
import torch.distributed as dist


class Nothing(ValueError):
    pass


def checked(batch: dict[str, torch.Tensor]) -> float:
    if batch["mask"].sum().item() == 0:
        raise Nothing("every label is masked")
    return 1.0


def run(batch: dict[str, torch.Tensor], limit: float, flag: bool) -> list[float]:
    log: list[float] = []
    for _ in range(2):
        total = batch["x"] * 1.0  # a copy
{body}
        dist.barrier()
    return log


def example() -> list[list[float]]:
    some = {{"x": torch.tensor([1.0, 2.0]), "mask": torch.tensor([0, 1])}}
    none = {{"x": torch.tensor([3.0, 4.0]), "mask": torch.tensor([0, 0])}}
    nan = {{"x": torch.tensor([float("nan"), 4.0]), "mask": torch.tensor([1, 1])}}
    past, later = 0.0, {later}
    return [run(batch, limit, flag) for batch in (some, none, nan) for limit in (past, later) for flag in (True, False)]
'''


def programs() -> dict[str, str]:
    found: dict[str, str] = {}
    parts = {
        f"{condition}, {body}": f"if {CONDITIONS[condition]}:  # why\n{textwrap.indent(BODIES[body], '    ')}"
        for condition, body in itertools.product(CONDITIONS, BODIES)
    }
    for number, (name, context) in enumerate(itertools.product({**parts, **STATEMENTS}, CONTEXTS)):
        text = {**parts, **STATEMENTS}[name]
        if context != "plain":
            text = textwrap.indent(text, "    ")
        body = textwrap.indent(CONTEXTS[context].replace("{}", text), "        ")
        found[f"p{number}.py"] = PROGRAM.format(name=f"{name}, {context}", body=body, later=time.time() + 1e6)
    return found


@pytest.fixture(scope="module")
def repaired(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, str], dict[str, bytes]]:
    """All programs, and those that were changed, as they are then."""
    sources = programs()
    result = fixed(tmp_path_factory.mktemp("programs"), dict(sources))
    assert not result.report.errors
    assert not result.repair.dropped
    return sources, result.repair.contents


def test_most_are_changed(repaired: tuple[dict[str, str], dict[str, bytes]]) -> None:
    sources, changed = repaired
    assert len(changed) > len(sources) / 2


def test_care_is_taken(repaired: tuple[dict[str, str], dict[str, bytes]]) -> None:
    sources, changed = repaired
    for path, after in changed.items():
        check_care(sources[path].encode(), after)


def test_a_second_run_changes_nothing(repaired: tuple[dict[str, str], dict[str, bytes]], tmp_path: Path) -> None:
    _, changed = repaired
    again = fixed(tmp_path, dict(changed))
    assert not again.repair.contents
    assert {finding.path for finding in again.report.findings} == set()


def test_every_statement_is_changed_somewhere(repaired: tuple[dict[str, str], dict[str, bytes]]) -> None:
    sources, changed = repaired
    for name in STATEMENTS:
        assert any(sources[path].startswith(f'"""{name}, ') for path in changed), name


def test_one_process_computes_the_same(
    repaired: tuple[dict[str, str], dict[str, bytes]], torch_double: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    sources, changed = repaired
    for path, after in changed.items():
        results = []
        for source in (sources[path].encode(), after):
            names: dict[str, Any] = {"__name__": path}
            exec(compile(source, path, "exec", dont_inherit=True), names)
            results.append((repr(names["example"]()), capsys.readouterr().out))
        assert results[0] == results[1], sources[path]
