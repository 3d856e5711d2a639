"""The example of a tested training script: its tests pass, and fail with the line where it is broken."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from test_plugin import _plugin, pytest_run

pytest.importorskip("torch")

from ferrule_lint.harness.rank.dispatcher import version

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "tested_training"
if not EXAMPLE.exists():
    pytest.skip("examples/ is not part of a source distribution", allow_module_level=True)
if version() < (2, 7):
    pytest.skip("FSDP2 runs on the CPU since torch 2.7", allow_module_level=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for file in EXAMPLE.glob("*.py"):
        shutil.copy(file, tmp_path)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def test_its_tests_pass(folder: Path) -> None:
    done = pytest_run(folder, *_plugin())
    assert "4 passed" in done.stdout, done.stdout


BREAKS = [
    # each rank steps as often as it has batches itself
    ("    dist.all_reduce(mine, op=dist.ReduceOp.MAX)\n", "", "for number in range(int(mine.item())):"),
    # only the first rank gathers what it writes
    (
        "    state = get_model_state_dict(model, options=options)\n    if dist.get_rank() == 0:\n",
        "    if dist.get_rank() == 0:\n        state = get_model_state_dict(model, options=options)\n",
        "if dist.get_rank() == 0:",
    ),
]


@pytest.mark.parametrize(("before", "after", "cause"), BREAKS, ids=["trip count", "state dict"])
def test_a_break_is_reported_with_its_line(before: str, after: str, cause: str, folder: Path) -> None:
    source = (folder / "train.py").read_text()
    assert source.count(before) == 1
    (folder / "train.py").write_text(source.replace(before, after))
    done = pytest_run(folder, *_plugin(), "-k", "together and uneven")
    assert "1 failed" in done.stdout, done.stdout
    lines = done.stdout.splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith(("the ranks parted", "out of step")))
    assert lines[place + 1].strip() == cause, done.stdout
