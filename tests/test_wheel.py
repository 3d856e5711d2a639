"""The built wheel carries all it needs, and finds it once installed."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ferrule_lint.resources import ResourceError, rules_dir

ROOT = Path(__file__).resolve().parent.parent

pytest.importorskip("hatchling")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = folder.glob("ferrule_lint-*.whl")
    return path


def test_rules_and_data_are_inside(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    shipped = {f"ferrule_lint/_rules/{path.relative_to(ROOT / 'rules').as_posix()}" for path in _files(ROOT / "rules")}
    assert shipped
    assert shipped <= names
    assert {"ferrule_lint/reporters/schema.json", "ferrule_lint/py.typed"} <= names
    # nothing but the package: no tests, no examples
    assert {name.split("/")[0].split("-")[0] for name in names} == {"ferrule_lint"}


def _files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts]


def test_metadata(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    lines = archive.read(name).decode().splitlines()
    required = {line.split()[1] for line in lines if line.startswith("Requires-Dist:") and ";" not in line}
    assert {requirement.split(">")[0] for requirement in required} == {"libcst", "click", "rich", "pathspec"}
    assert not [line for line in lines if line.startswith("Requires-Dist: torch") and "harness" not in line]
    (scripts,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
    assert b"ferrule-lint = ferrule_lint.cli.main:main" in archive.read(scripts)


def test_installed_wheel_finds_its_rules(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'site')!r})\n"
        "import ferrule_lint.resources as r; print(r.rules_dir())\n"
        "from ferrule_lint.cli.main import run; run(['explain', 'FER102'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.startswith(str(tmp_path / "site" / "ferrule_lint" / "_rules"))
    assert "What it does" in done.stdout


def test_checkout_finds_its_rules() -> None:
    assert (rules_dir() / "models").is_dir()


def test_installation_without_rules_says_so(tmp_path: Path) -> None:
    package = tmp_path / "ferrule_lint"
    with pytest.raises(ResourceError, match=r"the rule pages are missing: looked for .*_rules or .*reinstall"):
        rules_dir(package)
    (tmp_path / "rules").mkdir()
    assert rules_dir(package) == tmp_path / "rules"
    (package / "_rules").mkdir(parents=True)
    assert rules_dir(package) == package / "_rules"
