"""Only what a change brings: `--since` and `--changed`, on real git repositories."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from pipeline import project

from ferrule_lint.cli import main as cli_main

HEAD = "import torch.distributed as dist\n\n\n"
BUG = HEAD + "def step(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)\n    return x\n"
HELPER = "import torch.distributed as dist\n\n\ndef sync(x):\n    return x\n"
CALLER = (
    "import torch.distributed as dist\nfrom helper import sync\n\n\n"
    "def step(x):\n    if dist.get_rank() == 0:\n        sync(x)\n"
)


def git(root: Path, *args: str) -> None:
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *args], cwd=root, check=True, capture_output=True)


def commit(root: Path) -> None:
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", "change")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with an old bug in old.py."""
    root = project(tmp_path / "repo", {"old.py": BUG, "helper.py": HELPER, "caller.py": CALLER})
    git(root, "init", "-q", "-b", "main")
    commit(root)
    monkeypatch.chdir(root)
    return root


def found(capsys: pytest.CaptureFixture[str], *args: str) -> list[str]:
    """`path:line` of what is reported."""
    capsys.readouterr()
    status = cli_main.run(["--no-cache", "-q", "--output-format", "concise", *args])
    out, err = capsys.readouterr()
    assert status in (0, 1), err
    places = [":".join(line.split(":")[:2]) for line in out.splitlines()]
    assert status == (1 if places else 0)
    return places


def test_nothing_has_changed(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert found(capsys) == ["old.py:6"]
    assert found(capsys, "--changed") == []
    assert found(capsys, "--since", "main") == []


def test_findings_in_changed_lines(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "old.py").write_text(BUG + "\n\ndef other(x):\n    if dist.get_rank() == 1:\n        dist.barrier()\n")
    assert found(capsys, "--changed") == ["old.py:12"]
    # an old finding whose own lines are edited is reported again
    (root / "old.py").write_text(BUG.replace("== 0", "== 0 and x is not None"))
    assert found(capsys, "--changed") == ["old.py:6"]
    # one that only moves is not
    (root / "old.py").write_text(HEAD + "y = 1\n\n\n" + BUG.removeprefix(HEAD))
    assert found(capsys, "--changed") == []


def test_findings_caused_by_changed_lines_elsewhere(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "helper.py").write_text(HELPER.replace("return x", "dist.all_reduce(x)\n    return x"))
    assert found(capsys, "--changed") == ["caller.py:7"]
    assert found(capsys, "--changed", "caller.py") == ["caller.py:7"]
    assert found(capsys, "--changed", "helper.py") == []


def test_findings_caused_by_lines_that_are_gone(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    agreed = (
        HEAD + "def skip(loss):\n    bad = loss.isnan().any().int()\n"
        "    dist.all_reduce(bad, op=dist.ReduceOp.MAX)\n    return bad\n"
    )
    loop = (
        "import torch.distributed as dist\nfrom skipping import skip\n\n\ndef train(loader, model):\n"
        "    for batch in loader:\n        if skip(model(batch)):\n            continue\n        dist.barrier()\n"
    )
    project(root, {"skipping.py": agreed, "train.py": loop})
    commit(root)
    (root / "skipping.py").write_text(agreed.replace("    dist.all_reduce(bad, op=dist.ReduceOp.MAX)\n", ""))
    assert found(capsys, "--changed") == ["train.py:9"]


def test_since_counts_from_where_the_branch_began(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(root, "checkout", "-q", "-b", "feature")
    (root / "new.py").write_text(BUG)
    commit(root)
    git(root, "checkout", "-q", "main")
    (root / "old.py").write_text(BUG.replace("return x", "return x + 1"))
    commit(root)
    git(root, "checkout", "-q", "feature")
    assert found(capsys, "--since", "main") == ["new.py:6"]
    assert found(capsys, "--changed") == []
    # what is not committed counts as well
    (root / "newer.py").write_text(BUG)
    assert found(capsys, "--since", "main") == ["new.py:6", "newer.py:6"]
    assert found(capsys, "--changed") == ["newer.py:6"]


def test_renamed_deleted_and_oddly_named_files(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    git(root, "mv", "old.py", "name with ü.py")
    assert found(capsys, "--changed") == []
    (root / "name with ü.py").write_text(BUG.replace("all_reduce(x)", "all_reduce(x + 1)"))
    assert found(capsys, "--changed") == ["name with ü.py:6"]
    git(root, "checkout", "-q", "-f", "HEAD", "--", ".")
    (root / "name with ü.py").unlink()
    (root / "helper.py").unlink()
    assert found(capsys, "--changed") == []


def test_a_project_below_the_top_of_the_repository(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    project(root / "pkg", {"a.py": BUG, "b.py": "x = 1\n"})
    commit(root)
    monkeypatch.chdir(root / "pkg")
    (root / "pkg/b.py").write_text(BUG)
    (root / "old.py").write_text(BUG + "x = 1\n")
    assert found(capsys, "--changed") == ["b.py:6"]


def test_the_baseline_is_applied_as_well(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "new.py").write_text(BUG)
    assert cli_main.run(["--no-cache", "--write-baseline"]) == 0
    assert found(capsys, "--changed") == []
    # entries that this run does not show are not stale
    cli_main.run(["--no-cache", "--changed"])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--since", "gone"], "error: there is no revision 'gone' here"),
        (["--since", "--output=x"], "there is no revision '--output=x' here"),
        (["--since", "main", "--changed"], "contradict each other"),
        (["--changed", "--write-baseline"], "go neither with"),
        (["--changed", "-"], "go neither with"),
    ],
)
def test_mistakes(
    root: Path, args: list[str], message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"")))
    assert cli_main.run(["--no-cache", *args]) == 2
    assert message in capsys.readouterr().err


def test_outside_of_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    project(tmp_path, {"a.py": BUG})
    monkeypatch.chdir(tmp_path)
    assert cli_main.run(["--changed"]) == 2
    assert "is not in a git repository" in capsys.readouterr().err
    git(tmp_path, "init", "-q")
    assert cli_main.run(["--changed"]) == 2
    assert capsys.readouterr().err == "error: there is no commit yet\n"


def test_what_a_shallow_clone_lacks(
    root: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (root / "more.py").write_text("x = 1\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "more")
    clone = tmp_path_factory.mktemp("shallow")
    git(clone, "clone", "-q", "--depth", "1", root.as_uri(), ".")
    monkeypatch.chdir(clone)
    assert cli_main.run(["--no-cache", "--since", "HEAD~1"]) == 2
    assert capsys.readouterr().err == (
        "error: there is no revision 'HEAD~1' here; a shallow clone has the newest commits only\n"
    )
    monkeypatch.chdir(root)
    assert cli_main.run(["--no-cache", "--since", "gone"]) == 2
    assert capsys.readouterr().err == "error: there is no revision 'gone' here\n"


def test_what_a_changed_file_makes_go_wrong_elsewhere(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flagged = "import torch.distributed as dist\n\n\ndef sync(x, flag):\n    if flag:\n        dist.all_reduce(x)\n"
    called = "from helper import sync\nimport torch.distributed as dist\n\n\ndef step(x):\n    "
    (root / "helper.py").write_text(flagged.replace("flag:", "True:"))
    (root / "caller.py").write_text(called + "sync(x, dist.get_rank() == 0)\n")
    commit(root)
    assert found(capsys, "--changed", "helper.py") == []
    (root / "helper.py").write_text(flagged)
    assert found(capsys, "--changed", "helper.py") == ["caller.py:6"]
    commit(root)
    (root / "helper.py").write_text(flagged + "\n\ndone = True\n")
    assert found(capsys, "helper.py") == ["caller.py:6"]
    assert found(capsys, "--changed", "helper.py") == []
