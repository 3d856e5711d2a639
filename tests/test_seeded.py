"""benchmarks/seeds.py and benchmarks/seeded.py on a small invented project: where bugs go, and which count as found."""

from __future__ import annotations

import ast
import pathlib
from typing import Any

import pytest
from support import benchmark

seeds, seeded = benchmark("seeds"), benchmark("seeded")

PROJECT = '''\
import torch
import torch.distributed as dist
import torch.nn.functional as F


def any_rank(flag: bool) -> bool:
    """Whether it is so on some rank."""
    box = torch.tensor([int(flag)])
    dist.all_reduce(box)
    return box.item() > 0


def wait() -> None:
    dist.barrier()


def step(batch, x):
    wait()
    total = batch["mask"].sum()
    dist.all_reduce(
        total,
    )
    if total.item() > 0:
        dist.all_reduce(x)


def skip(batch, x):
    if any_rank(batch["mask"].any().item()):
        return
    dist.all_reduce(x)


def told(folder, x):
    names = [folder]
    dist.broadcast_object_list(names, src=0)
    if names[0] == "":
        print("none")


def uneven(x, most, parts):
    x = F.pad(x, (0, most - len(x)))
    dist.all_gather(parts, x)


def in_order(sums):
    for name in sorted({"a", "b"}):
        dist.all_reduce(sums[name])
'''


@pytest.fixture
def tree(tmp_path: pathlib.Path) -> Any:
    (tmp_path / "main.py").write_text(PROJECT, "utf-8")
    return seeded.Tree(tmp_path)


def of_kind(tree: Any, kind: str, function: str = "") -> list[Any]:
    found = [s for s in seeds.seeds(tree.parsed) if s.kind == kind and function in ("", s.function.name)]
    tree.look_at(found)
    return found


@pytest.mark.parametrize(
    ("kind", "places"),
    [
        ("guard", ["step: wait()"]),
        ("agreement", ["any_rank: dist.all_reduce(box)", "step: dist.all_reduce(total)",
                       "told: dist.broadcast_object_list(names, src=0)"]),
        ("helper", ["skip: any_rank(batch['mask'].any().item())"]),
        ("padding", ["uneven: F.pad(x, (0, most - len(x)))"]),
        ("order", ["in_order: sorted({'a', 'b'})"]),
    ],
)  # fmt: skip
def test_where_bugs_go(tree: Any, kind: str, places: list[str]) -> None:
    assert sorted(f"{s.function.name}: {ast.unparse(s.node)}" for s in of_kind(tree, kind)) == places


def test_what_is_below_keeps_its_lines(tree: Any) -> None:
    for seed in seeds.seeds(tree.parsed):
        changed = seed.applied(PROJECT, seed.text)
        assert ast.parse(changed)
        more = 2 if seed.kind == "guard" else 0
        assert changed.count("\n") == PROJECT.count("\n") + more
        assert changed.split("\n")[-4:] == PROJECT.split("\n")[-4:] or seed.kind == "order"


def test_bugs_that_are_found(tree: Any) -> None:
    assert [seeded.judged(tree, s) for s in of_kind(tree, "guard")] == [True]
    assert [seeded.judged(tree, s) for s in of_kind(tree, "agreement", "step")] == [True]
    assert [seeded.judged(tree, s) for s in of_kind(tree, "agreement", "any_rank")] == [True]
    assert [seeded.judged(tree, s) for s in of_kind(tree, "helper")] == [True]
    assert [seeded.judged(tree, s) for s in of_kind(tree, "order")] == [True]


def test_an_agreement_on_which_no_collective_depends_is_none(tree: Any) -> None:
    assert [seeded.judged(tree, s) for s in of_kind(tree, "agreement", "told")] == [None]


def test_a_bug_that_no_text_tells(tree: Any) -> None:
    assert [seeded.judged(tree, s) for s in of_kind(tree, "padding")] == [False]
