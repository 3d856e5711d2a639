"""Which modules are taken to be sharded where a configuration decides it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pipeline import project

from ferrule_lint.engine import lint
from ferrule_lint.project.config import load_settings
from ferrule_lint.semantics.project.gathering import MOST_CANDIDATES, MOST_MEANT
from ferrule_lint.semantics.project.wrapped import WrapSite, nearest

MODEL = """
from torch import nn


class Captioner(nn.Module):
    def __init__(self):
        super().__init__()
        self.visual = nn.Linear(8, 8)

    def forward(self, hidden, pixel_values=None):
        if pixel_values is not None:
            hidden = hidden + self.visual(pixel_values)
        return hidden
"""
TRAIN = """
import {library}


def train(model, loader, optimizer, accelerator):
    model = {shard}
    for batch in loader:
        model(batch).sum().backward()
        optimizer.step()
"""
LAYER = """
class Layer{number}(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x):
        return self.linear(x)
"""
DETECTOR = """
import torch
from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.classes = nn.Linear(8, 1)
        self.boxes = nn.Linear(8, 1)

    def forward(self, features: torch.Tensor, loss_mask: torch.Tensor):
        boxes = self.boxes(features)
        if loss_mask.any():
            loss = boxes[loss_mask].mean()
        else:
            loss = torch.tensor(0.0)
        return self.classes(features).mean() + loss
"""
CONFIGURED = ("accelerate\nfrom accelerate import FullyShardedDataParallelPlugin", "accelerator.prepare(model)")
GATHERED = ("deepspeed", "deepspeed.zero.GatheredParameters(model.parameters())")
SHARDED = ("torch", "torch.distributed.fsdp.fully_shard(model)")


@pytest.mark.parametrize(
    ("shard", "layers", "found"),
    [
        (CONFIGURED, MOST_CANDIDATES - 1, ["FER107"]),
        # a library of models: which of them somebody trains sharded is anybody's guess
        (CONFIGURED, MOST_CANDIDATES, []),
        # made for parameters that may be sharded
        (GATHERED, MOST_CANDIDATES - 1, ["FER107"]),
        (GATHERED, MOST_CANDIDATES, []),
        # the code itself shards, and so a model of the library
        (SHARDED, MOST_CANDIDATES, ["FER107"]),
        (SHARDED, MOST_MEANT - 1, ["FER107"]),
        (SHARDED, MOST_MEANT, []),
    ],
)
def test_what_a_configuration_shards_is_one_of_few_modules(
    tmp_path: Path, shard: tuple[str, str], layers: int, found: list[str]
) -> None:
    library, call = shard
    files = {
        "models/__init__.py": "",
        "models/captioner.py": MODEL,
        "models/layers.py": "from torch import nn\n" + "".join(LAYER.format(number=i) for i in range(layers)),
        "models/train.py": TRAIN.format(library=f"{library}\nfrom models.captioner import Captioner", shard=call),
    }
    project(tmp_path, files)
    report = lint([tmp_path], load_settings(tmp_path), use_cache=False)
    assert [finding.code for finding in report.findings] == found


@pytest.mark.parametrize(("models", "found"), [(MOST_MEANT - 1, ["FER107"]), (MOST_MEANT, [])])
def test_a_base_of_all_models_of_a_library_tells_no_class(tmp_path: Path, models: int, found: list[str]) -> None:
    """`fully_shard(model)` where `model: Base`: of a class with few below it, and of a library's."""
    base = "from torch import nn\n\n\nclass Base(nn.Module):\n    pass\n"
    layer = LAYER.replace("nn.Module", "Base")
    files = {
        "models/__init__.py": "",
        "models/base.py": base,
        "models/captioner.py": "from models.base import Base\n" + MODEL.replace("(nn.Module)", "(Base)"),
        "models/layers.py": "from torch import nn\nfrom models.base import Base\n"
        + "".join(layer.format(number=i) for i in range(models)),
        "models/train.py": "from models.base import Base\n"
        + TRAIN.format(library="torch", shard=SHARDED[1]).replace("(model,", "(model: Base,"),
    }
    project(tmp_path, files)
    report = lint([tmp_path], load_settings(tmp_path), use_cache=False)
    assert [finding.code for finding in report.findings] == found


@pytest.mark.parametrize(("layers", "found"), [(MOST_MEANT - 1, ["FER304"]), (MOST_MEANT, [])])
def test_what_ddp_wraps_is_one_of_a_thousand_modules(tmp_path: Path, layers: int, found: list[str]) -> None:
    files = {
        "models/__init__.py": "",
        "models/detector.py": DETECTOR,
        "models/layers.py": "from torch import nn\n" + "".join(LAYER.format(number=i) for i in range(layers)),
        "models/train.py": TRAIN.format(library="torch", shard="torch.nn.parallel.DistributedDataParallel(model)"),
    }
    project(tmp_path, files)
    report = lint([tmp_path], load_settings(tmp_path), use_cache=False)
    assert [finding.code for finding in report.findings] == found


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("b/model.py", "b/model.py"),
        ("b/other.py", "b/model.py"),
        ("c/other.py", "a/tools.py"),
        ("main.py", "a/tools.py"),
    ],
)
def test_which_of_several_places_is_shown(path: str, shown: str) -> None:
    sites = [WrapSite(name, (1, 1, 1, 2), "wrap(x)") for name in ("tests/test_a.py", "a/tools.py", "b/model.py")]
    site = nearest(sites, path)
    assert site is not None
    assert site.path == shown
    assert nearest([], path) is None


def test_what_gathers_for_a_block_wraps_no_module(tmp_path: Path) -> None:
    """`GatheredParameters` tells that something is in parts; shown is what wraps the module, wherever it is."""
    fill = "import deepspeed\n\n\ndef fill(p):\n    with deepspeed.zero.GatheredParameters(p):\n        p.zero_()\n"
    files = {
        "models/__init__.py": "",
        "models/fill.py": fill,
        "models/detector.py": "from models.fill import fill\n" + DETECTOR,
        "models/other.py": "from models.fill import fill\n",
        "train.py": TRAIN.format(
            library="torch\nfrom models.detector import Detector",
            shard="torch.nn.parallel.DistributedDataParallel(model)",
        ),
    }
    project(tmp_path, files)
    report = lint([tmp_path], load_settings(tmp_path), use_cache=False)
    (finding,) = report.findings
    assert [step.path for step in finding.witness if step.role == "wrap"] == ["train.py"]
