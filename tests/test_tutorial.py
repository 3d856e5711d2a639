"""The tutorial, executed: each file saved, each command run, what is printed compared."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ferrule_lint

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tutorial.md"
if not PAGE.exists():
    pytest.skip("docs/ is not part of a source distribution", allow_module_level=True)
_BLOCK = re.compile(r"^```(python|console)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
#: what is run by a module of this interpreter
_MODULES = {"ferrule-lint": "ferrule_lint", "pytest": "pytest", "torchrun": "torch.distributed.run"}


def steps() -> Iterator[tuple[str, str]]:
    """(name of a file, its text) and (a command with `$ ` before it, what it prints), in order."""
    for language, name, text in _BLOCK.findall(PAGE.read_text("utf-8")):
        if language == "python" and name:
            yield name, text
        elif language == "console":
            for part in re.split(r"^(?=\$ )", text, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                yield command, output


def needs_torch(command: str) -> bool:
    return any(word in command for word in ("torchrun", "trace", "pytest"))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The commands of the tutorial on the path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, module in _MODULES.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m {module} "$@"\n')
        (folder / name).chmod(0o755)
    package = str(Path(ferrule_lint.__file__).parent.parent)
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "FORCE_"))},
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])),
        "NO_COLOR": "1",
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "120",
    }


def agrees(printed: str, expected: str) -> bool:
    """Whether the output is as expected; `...` in it stands for anything, on a line of its own for any lines."""
    lines = expected.rstrip("\n").split("\n")
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if line == "..." else re.escape(line).replace(re.escape("..."), r"[^\n]*") + r"\n"
        for line in lines
    )
    return re.fullmatch(pattern, printed.rstrip("\n") + "\n") is not None


def follow(folder: Path, environment: dict[str, str], *, with_torch: bool) -> list[str]:
    """Do what the tutorial says; the commands that were run."""
    done: list[str] = []
    status, said = 0, ""
    for step, text in steps():
        if not step.startswith("$ "):
            (folder / step).write_text(text, "utf-8")
            continue
        command = step.removeprefix("$ ")
        if command == "echo $?":
            if with_torch:
                assert str(status) == text.strip(), f"$ {done[-1]}\n{said}"
            continue
        if needs_torch(command) and not with_torch:
            continue
        run = subprocess.run(
            ["sh", "-c", f"{command} 2>&1"],
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            encoding="utf-8",
            check=False,
            timeout=240,
        )
        assert agrees(run.stdout, text), f"$ {command}\n{run.stdout}"
        status, said = run.returncode, run.stdout
        done.append(command)
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "tutorial"
    work.mkdir()
    return work


def test_what_needs_no_torch(folder: Path, environment: dict[str, str]) -> None:
    done = follow(folder, environment, with_torch=False)
    assert done == [
        "ferrule-lint train.py",
        "ferrule-lint why train.py:18 --graph why.svg",
        "ferrule-lint --fix train.py",
    ]
    assert (folder / "why.svg").read_text("utf-8").startswith("<svg ")
    # a second look finds nothing
    again = subprocess.run(["ferrule-lint", "train.py"], cwd=folder, env=environment, capture_output=True, check=False)
    assert again.returncode == 0


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_all_of_it(folder: Path, environment: dict[str, str]) -> None:
    done = follow(folder, environment, with_torch=True)
    assert [command.split()[0] for command in done] == (
        "timeout ferrule-lint ferrule-lint ferrule-lint pytest ferrule-lint pytest ferrule-lint".split()
    )


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        ("a\nb\n", "a\nb", True),
        ("a\nc", "a\nb", False),
        ("a\nx\ny\nb", "a\n...\nb", True),
        ("a\nb", "a\n...\nb", True),
        ("a\nb", "a\n...\nc", False),
        ("xa\nb", "a\n...\nb", False),
        ("1 passed in 3.2s", "1 passed in ...", True),
        ("1 passed in 3\nand more", "1 passed in ...", False),
    ],
)
def test_how_output_is_compared(printed: str, expected: str, same: bool) -> None:
    assert agrees(printed, expected) is same
