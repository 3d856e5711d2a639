"""The pytest plugin, used as its users do: a test file in a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SUITE = """
import unittest

import pytest
import torch
import torch.distributed as dist


@pytest.fixture(scope="module")
def weights():
    return torch.arange(4.0)


@pytest.mark.ferrule(ranks=2)
def test_fixture(weights, tmp_path):
    x = weights.clone()
    dist.all_reduce(x)
    assert x.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert tmp_path.exists()


@pytest.mark.ferrule(3)
@pytest.mark.parametrize("root", [0, 2])
def test_parameters(root):
    x = torch.full((1,), float(dist.get_rank()))
    dist.broadcast(x, root)
    assert x.item() == root


@pytest.mark.ferrule(ranks=2, expect="divergence")
@pytest.mark.parametrize("is_first", [lambda: dist.get_rank() == 0])
def test_known_bug(is_first):
    if is_first():
        dist.all_reduce(torch.ones(1))


@pytest.mark.ferrule(ranks=2, expect="shape")
def test_known_kind():
    dist.all_reduce(torch.ones(1 + dist.get_rank()))


@pytest.mark.ferrule(ranks=2)
def test_skipped():
    pytest.skip("not here")


@pytest.mark.ferrule(ranks=2)
def test_skipped_on_one():
    if dist.get_rank() == 1:
        pytest.skip("not on this rank")


@pytest.mark.ferrule(ranks=2)
def test_known_failure():
    pytest.xfail("known on all ranks")


@pytest.mark.ferrule(ranks=2)
async def test_not_awaited():
    assert False


@pytest.mark.ferrule(ranks=2, expect="divergence")
def test_hands_back_what_nobody_awaits():
    return test_not_awaited()


class TestOfUnittest(unittest.TestCase):
    @pytest.mark.ferrule(ranks=2, expect="divergence")
    def test_no_rank(self):
        self.assertTrue(True)

    def test_plain(self):
        self.assertTrue(True)


class TestMethods:
    @pytest.mark.ferrule(ranks=2, mode="trace")
    def test_method(self, weights):
        dist.barrier()


@pytest.mark.ferrule(ranks=2)
def test_diverges():
    print("before the branch on", dist.get_rank())
    if dist.get_rank() == 0:
        dist.all_reduce(torch.ones(3))
    else:
        dist.barrier()


@pytest.mark.ferrule(ranks=2)
def test_fails_on_both():
    total = torch.ones(1)
    dist.all_reduce(total)
    assert total.item() == 3


@pytest.mark.ferrule(ranks=2, expect="op")
def test_expected_in_vain():
    dist.barrier()


@pytest.mark.ferrule(ranks=2, timeout=0.5)
def test_too_slow():
    while True:
        pass


@pytest.mark.ferrule(ranks=2, colour="red")
def test_wrong_option():
    pass


@pytest.mark.ferrule(ranks=2, expect="shapes")
def test_wrong_kind():
    dist.all_reduce(torch.ones(1 + dist.get_rank()))


@pytest.mark.ferrule(ranks=2, backend="nccl")
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu():
    pass
"""


def pytest_run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    # where one of the two is set, pytest's summary repeats each message in full
    plain = {name: value for name, value in os.environ.items() if name not in ("CI", "BUILD_NUMBER")}
    environment = {**plain, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-ra", "--color=no", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("suite")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_ranks.py").write_text(SUITE)
    return pytest_run(folder, *_plugin())


def _plugin() -> list[str]:
    """In a checkout without an installation the entry point is missing."""
    from importlib.metadata import entry_points

    known = any(entry.value == "ferrule_lint.harness.plugin" for entry in entry_points(group="pytest11"))
    return [] if known else ["-p", "ferrule_lint.harness.plugin"]


def test_outcomes(done: subprocess.CompletedProcess[str]) -> None:
    without_gpu = not pytest.importorskip("torch").cuda.is_available()
    counts = f"{9 + without_gpu} failed, 7 passed, {2 - without_gpu} skipped, 1 xfailed, 1 error in"
    assert counts in done.stdout, done.stdout


def test_divergence_is_explained_with_what_the_ranks_printed(done: subprocess.CompletedProcess[str]) -> None:
    assert "DIVERGENCE (op): rank 0 issues all_reduce, rank 1 barrier" in done.stdout
    assert "the ranks parted after" in done.stdout
    assert "before the branch on 0" in done.stdout and "before the branch on 1" in done.stdout
    # the linter's word on the same line
    assert "lint: FER102 collective-in-divergent-branch" in done.stdout


def test_failed_assertion_is_shown_as_pytest_does(done: subprocess.CompletedProcess[str]) -> None:
    assert "ranks 0-1 raised AssertionError: assert 2.0 == 3" in done.stdout
    assert "where 2.0 = " in done.stdout


def test_other_outcomes_are_said(done: subprocess.CompletedProcess[str]) -> None:
    assert "expected op, but the ranks did not diverge" in done.stdout
    assert "not done after 0.5 s" in done.stdout
    assert "not here" in done.stdout
    assert "ferrule has no option colour; there are backend, expect," in done.stdout
    assert "expect='shapes': expected one of divergence, op, module," in done.stdout
    assert "During handling" not in done.stdout


def test_what_would_run_on_no_rank_is_refused(done: subprocess.CompletedProcess[str]) -> None:
    assert done.stdout.count("Failed: ferrule awaits no async function") == 1
    assert "ranks 0-1 raised Failed: ferrule awaits no async function" in done.stdout
    assert "ERROR test_ranks.py::TestOfUnittest::test_no_rank" in done.stdout
    assert "ferrule runs no method of a unittest.TestCase on ranks" in done.stdout


def test_skips_and_expected_failures(done: subprocess.CompletedProcess[str]) -> None:
    assert "rank 1 raised Skipped: not on this rank" in done.stdout
    assert "XFAIL test_ranks.py::test_known_failure - known on all ranks" in done.stdout


STARTED_CUDA = """
import torch

torch.cuda.is_initialized = lambda: True
"""

FRESH = """
import os
import pytest
import torch
import torch.distributed as dist

IMPORTED_BY = os.getpid()


@pytest.fixture
def weights():
    return torch.arange(4.0)


@pytest.mark.ferrule(ranks=2)
@pytest.mark.parametrize("scale", [2])
def test_interpreter_of_its_own(weights, scale, tmp_path):
    assert IMPORTED_BY == os.getpid()
    x = weights * scale
    dist.all_reduce(x)
    assert x.tolist() == [0.0, 4.0, 8.0, 12.0]
    assert tmp_path.exists()


class TestMethods:
    @pytest.mark.ferrule(ranks=2)
    def test_fails_on_one(self):
        print("here is rank", dist.get_rank())
        assert dist.get_rank() == 0


@pytest.mark.ferrule(ranks=2, hash_seeds=[1, 2], expect="shape")
def test_order_of_a_set():
    for name in {"tower", "head", "words", "metadata", "mix", "patches"}:
        dist.all_reduce(torch.ones(len(name)))
"""


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """A test process that has started CUDA, or so it seems: its forks could not use it."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("fresh")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(STARTED_CUDA)
    (folder / "test_ranks.py").write_text(FRESH)
    return pytest_run(folder, *_plugin())


def test_after_cuda_ranks_are_interpreters_of_their_own(fresh: subprocess.CompletedProcess[str]) -> None:
    assert "1 failed, 2 passed" in fresh.stdout, fresh.stdout


def test_fresh_ranks_show_failures_and_output_too(fresh: subprocess.CompletedProcess[str]) -> None:
    assert "rank 1 raised AssertionError: assert 1 == 0" in fresh.stdout
    assert "where 1 = " in fresh.stdout
    assert "here is rank 0" in fresh.stdout and "here is rank 1" in fresh.stdout
    assert "rank 0 raised" not in fresh.stdout


def test_works_under_xdist(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("xdist")
    (tmp_path / "test_ranks.py").write_text(SUITE)
    done = pytest_run(tmp_path, *_plugin(), "-n", "2", "-k", "fixture or parameters or known")
    assert "5 passed" in done.stdout, done.stdout


def test_projects_without_marked_tests_pay_nothing(tmp_path: Path) -> None:
    source = (
        "import sys\n\ndef test_nothing_is_loaded():\n"
        "    loaded = [name for name in sys.modules if name.startswith('ferrule_lint')]\n"
        "    own = ['ferrule_lint.harness', 'ferrule_lint.harness.forks', 'ferrule_lint.harness.plugin']\n"
        "    assert sorted(loaded) == ['ferrule_lint', *own]\n"
        "    assert 'torch' not in sys.modules\n"
    )
    (tmp_path / "test_plain.py").write_text(source)
    done = pytest_run(tmp_path, *_plugin())
    assert "1 passed" in done.stdout, done.stdout


def test_without_torch_marked_tests_are_skipped_and_say_why(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(
        "import importlib.util\nfound = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *rest: None if name == 'torch' else found(name, *rest)\n"
    )
    (tmp_path / "test_marked.py").write_text("import pytest\n\n@pytest.mark.ferrule(ranks=2)\ndef test_it(): ...\n")
    done = pytest_run(tmp_path, *_plugin())
    assert "1 skipped" in done.stdout and "torch is not installed" in done.stdout
