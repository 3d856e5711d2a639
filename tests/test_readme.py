"""The README shows what the tool really says, and names every rule."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ferrule_lint.project.config import TABLE, parse_settings
from ferrule_lint.rulebook import load_rules

ROOT = Path(__file__).resolve().parent.parent
if not (ROOT / "examples").exists():
    pytest.skip("examples/ and docs/ are not part of a source distribution", allow_module_level=True)
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_shown_output_is_the_real_output() -> None:
    shown = re.findall(r"^```console\n\$ ferrule-lint (\S+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert shown
    for path, output in shown:
        done = subprocess.run(
            [sys.executable, "-m", "ferrule_lint", "--no-cache", path],
            cwd=ROOT,
            env={**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
            capture_output=True,
            encoding="utf-8",
        )
        assert (done.returncode, done.stderr) == (1, "")
        assert done.stdout == output


def test_shown_code_is_the_examples() -> None:
    source = (ROOT / "examples" / "fsdp_optional_modalities" / "bug.py").read_text(encoding="utf-8")
    shown = re.search(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)[1]
    assert shown in source


def test_table_names_every_rule() -> None:
    rows = re.findall(r"^\| \[(FER\d{3})\]\(rules/(FER\d{3})\.md\) \| (\S+) \| (.+) \|$", README, re.MULTILINE)
    assert rows == [(rule.code, rule.code, rule.name, rule.title) for _, rule in sorted(load_rules().items())]


def test_configuration_is_accepted() -> None:
    (text,) = re.findall(r"^```toml\n(\[tool.ferrule-lint\].*?)^```$", README, re.MULTILINE | re.DOTALL)
    values = tomllib.loads(text)["tool"]["ferrule-lint"]
    assert parse_settings(values, Path("pyproject.toml"), text, TABLE).sharded == ("VisionTower", ".*Expert")


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))]
)
def test_links_lead_somewhere(page: str) -> None:
    text = re.sub(r"`[^`\n]+`", "", (ROOT / page).read_text(encoding="utf-8"))  # `heads[i](x)` is no link
    targets = re.findall(r"\]\((?!https?://)([^)#]+)", text)
    assert [t for t in targets if not (ROOT / page).parent.joinpath(t).exists()] == []


#: characters of a line of prose; tables and what is shown of a terminal are as long as they are
WIDEST = 150


@pytest.mark.parametrize(
    "page",
    [
        *("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "benchmarks/README.md"),
        *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))),
    ],
)
def test_lines_can_be_read(page: str) -> None:
    text = re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    prose = [line for line in text.splitlines() if not line.lstrip().startswith("|")]
    assert [line for line in prose if len(line) > WIDEST] == []


@pytest.mark.parametrize("page", ["docs/architecture.md", "docs/limits.md"])
def test_budgets_are_those_of_the_code(page: str) -> None:
    """Rows `| ... | `semantics.divergence.compare.BUDGET` | 6000 | ...`."""
    text = (ROOT / page).read_text(encoding="utf-8")
    rows = re.findall(r"\| `([a-z_.]+)\.([A-Z_]+)` \| ([\d,]+) \|", text)
    assert rows
    for module, name, number in rows:
        value = getattr(importlib.import_module(f"ferrule_lint.{module}"), name)
        assert (module, name, int(number.replace(",", ""))) == (module, name, value)


def test_shown_answer_of_why_is_the_real_one(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "why.md").read_text(encoding="utf-8")
    (place, shown), *_ = re.findall(
        r"^```console\n\$ ferrule-lint why (\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL
    )
    # of the examples alone: nothing else here says anything about them, and there is much to read
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "pyproject.toml").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "ferrule_lint", "why", "--no-cache", place],
        cwd=tmp_path,
        env={**os.environ, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
    )
    assert (done.returncode, done.stdout) == (0, shown)
