"""Source text on the standard input, as editors send it."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest
from pipeline import project

from ferrule_lint.cli import main as cli_main

HELPER = "import torch.distributed as dist\n\n\ndef sync(x):\n    dist.all_reduce(x)\n"
MAIN = (
    "import torch.distributed as dist\nfrom pkg.helper import sync\n\n\n"
    "def step(x):\n    if dist.get_rank() == 0:\n        sync(x)\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path, {"pkg/__init__.py": "", "pkg/helper.py": HELPER, "pkg/main.py": "x = 1\n"})


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def run(root: Path, source: str | bytes, *args: str) -> Done:
    """The command line, run in this process."""
    content = source.encode() if isinstance(source, str) else source
    out, err = io.StringIO(), io.StringIO()
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch("sys.stdin", io.TextIOWrapper(io.BytesIO(content))))
        stack.enter_context(contextlib.chdir(root))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        status = cli_main.run(["--no-cache", "--output-format", "json", *args])
    return Done(status, out.getvalue(), err.getvalue())


def test_a_real_pipe(root: Path) -> None:
    command = [sys.executable, "-m", "ferrule_lint", "--no-cache", "--output-format", "json", "-"]
    done = subprocess.run(command, input=MAIN.encode(), capture_output=True, cwd=root, check=False)
    assert found(Done(done.returncode, done.stdout.decode(), "")) == [("-", 7, "FER102")]


def found(done: Done) -> list[tuple[str, int, str]]:
    return [(one["path"], one["line"], one["code"]) for one in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("args", [["--stdin-filename", "pkg/main.py", "-"], ["--stdin-filename=pkg/main.py"]])
def test_the_text_stands_in_for_the_file_and_the_project_is_read_around_it(root: Path, args: list[str]) -> None:
    done = run(root, MAIN, *args)
    assert done.returncode == 1, done.stderr
    assert found(done) == [("pkg/main.py", 7, "FER102")]
    assert json.loads(done.stdout)["summary"]["files"] == 1
    # the file itself is as it was
    assert (root / "pkg/main.py").read_text() == "x = 1\n"


def test_a_file_that_does_not_exist(root: Path) -> None:
    assert found(run(root, MAIN, "--stdin-filename", "pkg/new.py")) == [("pkg/new.py", 7, "FER102")]
    assert found(run(root, MAIN, "--stdin-filename", "nowhere/new.py")) == [("nowhere/new.py", 7, "FER102")]


def test_without_a_name(root: Path) -> None:
    assert found(run(root, HELPER.replace("    dist", "    if dist.get_rank() == 1:\n        dist"), "-")) == [
        ("-", 6, "FER102")
    ]
    done = run(root, MAIN, "-", "--output-format", "full")
    assert done.stdout.startswith("-:7:9: FER102")
    # the frame shows what was sent
    assert "7 | sync(x)" in done.stdout


def test_settings_and_comments_count(root: Path) -> None:
    assert found(run(root, MAIN.replace("sync(x)\n", "sync(x)  # ferrule: ignore[FER102]\n"), "-")) == []
    (root / "ferrule.toml").write_text('extend-exclude = ["new.py"]\nper-file-ignores = { "main.py" = ["FER1"] }\n')
    assert found(run(root, MAIN, "--stdin-filename", "pkg/main.py")) == []
    assert found(run(root, MAIN, "--stdin-filename", "pkg/new.py")) != []
    assert found(run(root, MAIN, "--stdin-filename", "pkg/new.py", "--force-exclude")) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(:\n", [("a.py", 1, "FER001")]),
        (b"\xff\xfe", [("a.py", 1, "FER001")]),
        (b"", []),
        (b"\xef\xbb\xbfx = 1", []),
    ],
)
def test_odd_texts(root: Path, source: str | bytes, expected: list[tuple[str, int, str]]) -> None:
    assert found(run(root, source, "--stdin-filename", "a.py")) == expected


def test_stubs_are_ignored(root: Path) -> None:
    done = run(root, MAIN, "--stdin-filename", "a.pyi")
    assert (done.returncode, found(done)) == (0, [])


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["-", "pkg"], "checked alone"),
        (["-", "--add-suppressions"], "cannot be used with the standard input"),
        (["-", "--write-baseline"], "--stdin-filename"),
    ],
)
def test_contradictions(root: Path, args: list[str], message: str) -> None:
    done = run(root, MAIN, *args)
    assert done.returncode == 2
    assert message in done.stderr


UNEVEN = (
    "import torch\nimport torch.distributed as dist\n\n\ndef gather(batch):\n"
    '    kept = batch["x"][batch["mask"]]\n'
    "    out = [torch.zeros_like(kept) for _ in range(dist.get_world_size())]\n"
    "    dist.all_gather(out, kept)\n    return torch.cat(out)\n"
)


def piped(root: Path, source: str, *args: str) -> Done:
    """The command line in a process, whose output is bytes."""
    command = [sys.executable, "-m", "ferrule_lint", "--no-cache", "--output-format", "concise", *args]
    done = subprocess.run(command, input=source.encode(), capture_output=True, cwd=root, check=False)
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def test_what_is_repaired_comes_back(root: Path) -> None:
    done = piped(root, UNEVEN + MAIN, "--fix", "--unsafe-fixes", "--stdin-filename", "pkg/main.py", "-")
    # the text on the output, what is left beside it
    assert "out[:] = _all_gather_uneven(kept)\n" in done.stdout
    assert done.stdout.endswith(MAIN) and "FER" not in done.stdout
    assert (done.returncode, done.stderr.count("FER102"), done.stderr.count("FER201")) == (1, 1, 0)
    assert (root / "pkg/main.py").read_text() == "x = 1\n"


def test_text_with_nothing_to_repair_comes_back_as_it_was(root: Path) -> None:
    for source in ("x = 1\r\n", "x = (\n", ""):
        done = piped(root, source, "--fix", "-q", "-")
        assert done.stdout == source
        assert done.returncode == (1 if "(" in source else 0)


def test_the_setting_fix_is_about_files(root: Path) -> None:
    project(root, {"ferrule.toml": "fix = true\nunsafe-fixes = true\n"})
    assert found(run(root, UNEVEN, "-")) == [("-", 8, "FER201")]
