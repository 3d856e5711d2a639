"""What a finding says that a forward does: what was seen, and no more."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from support import lint_source

MODEL = """
import torch
from torch import nn
from torch.distributed.fsdp import fully_shard


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = {layer}

    def forward(self, x: torch.Tensor, pixel_values: torch.Tensor | None = None) -> torch.Tensor:
        if pixel_values is not None:
            x = x + self.layer(pixel_values)
        return x
"""
SHARDS = """

def build() -> nn.Module:
    return fully_shard(Model())
"""


@pytest.mark.parametrize(
    ("source", "said", "done"),
    [
        (
            MODEL.format(layer="nn.SyncBatchNorm(8)"),
            "a synchronised batch norm is run",
            "reduces the statistics",
        ),
        (MODEL.format(layer="nn.Linear(8, 8)") + SHARDS, "a sharded module is run", "gathers its sharded parameters"),
    ],
)
def test_what_a_forward_does(source: str, said: str, done: str, tmp_path: Path) -> None:
    report = lint_source({"main.py": source}, tmp_path)
    (finding,) = report.findings
    assert said in finding.message
    assert done in finding.witness[-1].note


PARTS = """
import torch
from torch import nn


class Tower(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(x)


class Base(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tower = Tower()

    def show(self, x: torch.Tensor, loss_mask: torch.Tensor) -> torch.Tensor:
        if loss_mask.any():
            return {runs}(x)
        return x


class Model(Base):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.tower(x)
"""
WRAPS = """
from torch import nn
from torch.distributed.fsdp import fully_shard
from model import Base, Model


def wrap({parameter}) -> None:
    fully_shard({given})
"""


@pytest.mark.parametrize(
    ("runs", "parameter", "given", "said"),
    [
        ("self", "", "Model()", "`fully_shard(Model())` wraps `Model`, which inherits from `Base`"),
        ("self", "", "Base()", "`fully_shard(Base())` wraps `Base`"),
        ("self.tower", "", "Model()", "`fully_shard(Model())` wraps `Model`, and `Tower` in it"),
        ("self.tower", "model: nn.Module", "model", "`fully_shard(model)` wraps a module whose class cannot be told"),
    ],
)
def test_where_a_module_is_sharded(runs: str, parameter: str, given: str, said: str, tmp_path: Path) -> None:
    wraps = WRAPS.format(parameter=parameter, given=given)
    # what a test shards is named only where nothing else does
    files = {"model.py": PARTS.format(runs=runs), "train.py": wraps, "aaa/tests/test_model.py": wraps}
    (finding,) = lint_source(files, tmp_path).findings
    step = finding.witness[-2]
    assert (step.role, step.path, step.line, step.note[: len(said)]) == ("wrap", "train.py", 8, said)
    assert finding.witness[-1].role == "event"


def test_where_gradients_are_reduced(tmp_path: Path) -> None:
    source = """
    from torch.nn.parallel import DistributedDataParallel


    def train(model, loader):
        model = DistributedDataParallel(model)
        for batch in loader:
            loss = model(batch).mean()
            if loss > 10:
                continue
            loss.backward()
    """
    (finding,) = lint_source({"train.py": textwrap.dedent(source)}, tmp_path).findings
    assert [s.role for s in finding.witness[-2:]] == ["wrap", "event"]
    assert finding.witness[-2].note == "`DistributedDataParallel(model)` wraps a module: gradients are reduced"


def test_what_is_skipped_stands_behind_what_raises(tmp_path: Path) -> None:
    source = """
import torch.distributed as dist


def prepare(path):
    dist.init_process_group("nccl")
    if dist.get_rank() == 0:
        with open(path, "w") as file:
            file.write("begun")
    dist.barrier()


def main(paths):
    for path in paths:
        try:
            prepare(path)
        except OSError as error:
            print(error)
"""
    (finding,) = lint_source({"main.py": source}, tmp_path).findings
    assert (finding.code, [event.op for event in finding.events]) == ("FER105", ["barrier"])
    assert finding.message.startswith("`barrier` (hidden in this call) is skipped")


@pytest.mark.parametrize(
    "condition",
    [
        "len(losses) > 10 and losses[-1] > 3 * sum(losses[-11:-1])",
        "losses[-1] > 1e9",
        "losses[-1] > 1_000",
        "losses[-1] > -1e-3",
        "(last := losses[-1]) > 3",
        "(losses[-1] if flag else 0) > 3",
        "any(i == j for i, j in zip(losses, losses))",
        "torch.tensor(losses)[0, 1:] > 3",
        "sum(losses[::2]) > 3",
        "max((losses[-1], 3)) == 3",
    ],
)
def test_conditions_are_shown_as_they_are_written(condition: str, tmp_path: Path) -> None:
    source = f"""
import torch
import torch.distributed as dist


def train(model, loader, flag):
    losses = []
    for batch in loader:
        losses.append(model(batch["x"]).mean().item())
        if {condition}:
            dist.barrier()
"""
    (finding,) = lint_source({"main.py": source}, tmp_path).findings
    assert f": `{condition}` " in finding.message


@pytest.mark.parametrize(
    ("call", "said"),
    [
        ("(dist.barrier if bad else print)()", "`dist.barrier if bad else print`"),
        ("{True: dist.barrier, False: print}[bool(bad)]()", "`{True: dist.barrier, False: print}[bool(bad)]`"),
    ],
)
def test_what_chooses_a_callable_is_shown_as_it_is_written(call: str, said: str, tmp_path: Path) -> None:
    source = f"""
import torch.distributed as dist


def check(batch):
    bad = [x for x in batch["labels"].tolist() if x < 0]
    {call}
"""
    (finding,) = lint_source({"main.py": source}, tmp_path).findings
    assert said in finding.message


@pytest.mark.parametrize("call", ["DeviceMesh('cuda', [0, 1])", "init_device_mesh('cuda', (2,))"])
def test_a_mesh_is_called_what_the_call_is(call: str, tmp_path: Path) -> None:
    source = f"""
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh


def build():
    if dist.get_rank() < 2:
        return {call}
"""
    (finding,) = lint_source({"main.py": source}, tmp_path).findings
    assert finding.code == "FER401"
    assert finding.message.startswith(f"`{call.partition('(')[0]}` is reached")
    assert [event.op for event in finding.events] == ["init_device_mesh"]


GIVEN = """
import torch
import torch.distributed as dist


def after(rows: torch.Tensor, limit: float) -> None:
    value = rows.max().item()
    {code}


def run(loader: torch.utils.data.DataLoader) -> None:
    for batch in loader:
        after(batch["x"], 2.0)
"""


@pytest.mark.parametrize(
    ("code", "said"),
    [
        # a parameter is one of the ways to the condition
        ("if value > limit: dist.barrier()", "`value > limit`, which differs between ranks as `rows` does"),
        ("if value > limit: return\n    dist.barrier()", "`value > limit`, which differs between ranks as `rows` does"),
        ("value > limit and dist.barrier()", "`value > limit`, which differs between ranks as `rows` does"),
        # and is not named twice
        ("if rows.max() > limit: dist.barrier()", "`rows.max() > limit`, which differs between ranks"),
        # a loop is no test
        ("for _ in range(value): dist.barrier()", "`rows`, which differs between ranks"),
    ],
)
def test_what_a_callee_depends_on(code: str, said: str, tmp_path: Path) -> None:
    (finding,) = lint_source({"main.py": GIVEN.format(code=code)}, tmp_path).findings
    assert finding.message == f"`after` issues barrier depending on {said}"


MASKED = """
import torch
import torch.distributed as dist


def after(rows: torch.Tensor, chosen: torch.Tensor) -> None:
    left = rows[chosen]
    if len(left):
        dist.barrier()


def run(loader: torch.utils.data.DataLoader) -> None:
    for batch in loader:
        after(batch["rows"], batch["chosen"])
"""


def test_the_mask_is_named_and_not_what_it_selects_from(tmp_path: Path) -> None:
    (finding,) = lint_source({"main.py": MASKED}, tmp_path).findings
    assert (
        finding.message
        == "`after` issues barrier depending on `len(left)`, which differs between ranks as `chosen` does"
    )
