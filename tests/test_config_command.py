"""`ferrule-lint config` and completion in real shells."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from pipeline import project

from ferrule_lint.cli import main as cli_main
from ferrule_lint.project.values import KEYS


def test_config_says_where_settings_come_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = {
        "pyproject.toml": '[tool.ferrule-lint]\nselect = ["FER1"]\nsharded = true\n',
        "pkg/ferrule.toml": 'extend = "../pyproject.toml"\nsharded = false\nper-file-ignores = { "a" = ["FER101"] }\n',
    }
    project(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    assert cli_main.run(["config", "pkg"]) == 0
    out = capsys.readouterr().out
    sections = {head: body for head, _, body in (part.partition("\n") for part in out.split("\n\n"))}
    assert list(sections) == ["# from pkg/../pyproject.toml", "# from pkg/ferrule.toml", "# defaults"] or list(
        sections
    ) == ["# from pyproject.toml", "# from pkg/ferrule.toml", "# defaults"]
    first, second, rest = sections.values()
    assert first.strip() == 'select = ["FER1"]'
    assert set(second.splitlines()) == {"sharded = false", 'per-file-ignores = { a = ["FER101"] }'}
    assert 'min-confidence = "medium"' in rest
    # all of it is a settings file, and nothing is left out
    values = tomllib.loads(out)
    assert values["sharded"] is False
    assert {key for key in KEYS if key in values or f"# {key}: not set" in out} == set(KEYS)
    assert cli_main.run(["config", "--isolated"]) == 0
    assert capsys.readouterr().out.startswith("# defaults\n")


def test_config_with_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(tmp_path, {"ferrule.toml": "\nselct = []\n"})
    assert cli_main.run(["config", str(tmp_path)]) == 2
    assert f'{tmp_path / "ferrule.toml"}:2: error: unknown setting "selct"' in capsys.readouterr().err


def test_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["config", "--schema"]) == 0
    assert set(KEYS) < set(json.loads(capsys.readouterr().out)["properties"])


# ---------------------------------------------------------------------- completion
CASES = [
    ("ferrule-lint ex", ["explain"]),
    ("ferrule-lint --ign", ["--ignore", "--ignore-suppressions"]),
    ("ferrule-lint check --extend-sel", ["--extend-select"]),
    ("ferrule-lint --select FER10", ["FER101", "FER102"]),
    ("ferrule-lint --select FER201,FER1", ["FER201,FER1", "FER201,FER101"]),
    ("ferrule-lint explain fer2", ["FER201", "FER202"]),
    ("ferrule-lint --output-format git", ["github", "gitlab"]),
]


@pytest.fixture
def command(tmp_path: Path) -> dict[str, str]:
    """An environment in which `ferrule-lint` is a command."""
    folder = project(tmp_path / "bin", {})
    script = folder / "ferrule-lint"
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m ferrule_lint "$@"\n')
    script.chmod(0o755)
    path = os.pathsep.join(filter(None, [*sys.path, os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": path}


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash(command: dict[str, str]) -> None:
    lines = ['eval "$(ferrule-lint completion bash)"']
    for line, _ in CASES:
        words = " ".join(map(shlex.quote, line.split()))
        lines += [
            f"COMP_WORDS=({words}) COMP_CWORD={len(line.split()) - 1} COMPREPLY=()",
            "_ferrule_lint_completion ferrule-lint 2>/dev/null",
            'echo "${COMPREPLY[*]}"',
        ]
    shell = ["bash", "--noprofile", "--norc", "-c", "\n".join(lines)]
    done = subprocess.run(shell, capture_output=True, encoding="utf-8", env=command, check=False)
    assert done.returncode == 0, done.stderr
    answers = done.stdout.splitlines()
    assert len(answers) == len(CASES)
    for (line, expected), answer in zip(CASES, answers, strict=True):
        assert set(expected) <= set(answer.split()), line


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_accept_the_script(shell: str, command: dict[str, str]) -> None:
    done = subprocess.run(
        ["ferrule-lint", "completion", shell], capture_output=True, encoding="utf-8", env=command, check=True
    )
    assert "_FERRULE_LINT_COMPLETE" in done.stdout
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=done.stdout, encoding="utf-8", check=True)


def _zsh(words: list[str]) -> str:
    # outside of an editor line: what would be offered is printed instead
    return (
        "compdef() { }; compadd() { print -rl -- ${(P)argv[-1]} }; _path_files() { }\n"
        "_describe() { local array; for array in $argv; do print -rl -- ${(P)array} 2>/dev/null; done }\n"
        'eval "$(ferrule-lint completion zsh)"\n'
        f"words=({' '.join(map(shlex.quote, words))}) CURRENT={len(words)}\n"
        "_ferrule_lint_completion\n"
    )


def _fish(words: list[str]) -> str:
    return f"ferrule-lint completion fish | source\ncomplete -C {shlex.quote(' '.join(words))}\n"


@pytest.mark.parametrize(("shell", "script", "options"), [("zsh", _zsh, ["-f"]), ("fish", _fish, ["--no-config"])])
def test_zsh_and_fish(
    shell: str, script: Callable[[list[str]], str], options: list[str], command: dict[str, str]
) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    for line, expected in CASES:
        done = subprocess.run(
            [shell, *options, "-c", script(line.split())],
            capture_output=True,
            encoding="utf-8",
            env=command,
            check=False,
        )
        offered = {re.split(r"[\t:]", one)[0] for one in done.stdout.splitlines()}
        assert set(expected) <= offered, f"{line}: {done.stdout} {done.stderr}"
