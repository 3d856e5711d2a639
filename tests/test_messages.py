"""What a finding says that a forward does: what was seen, and no more."""

from __future__ import annotations

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
