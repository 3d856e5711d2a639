"""Results of earlier runs: a warm run says what a cold one does, whatever was edited in between."""

from __future__ import annotations

import dataclasses
import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pipeline import project

from ferrule_lint import engine
from ferrule_lint.cli.main import run
from ferrule_lint.engine import run as whole_run
from ferrule_lint.findings import Report
from ferrule_lint.project import results as module
from ferrule_lint.project.config import Settings, load_settings
from ferrule_lint.project.results import ResultsCache

GUARDED = """\
import torch.distributed as dist
from pkg.helper import save

def step(rank):
    if dist.get_rank() == 0:
        save()
"""
HELPERS = {
    "issues": "import torch.distributed as dist\n\ndef save():\n    dist.barrier()\n",
    "nothing": "def save():\n    return 1\n",
    "passes on": "from pkg.other import save\n",
    "broken": "def save(:\n",
    "suppressed": "import torch.distributed as dist\n# ferrule: ignore-file\ndef save():\n    dist.barrier()\n",
}
TRAINERS = {
    "guarded": GUARDED,
    "suppressed": GUARDED.replace("save()\n", "save()  # ferrule: ignore[FER102] only rank 0 is alone here\n"),
    "agreed": GUARDED.replace("dist.get_rank() == 0", "dist.get_world_size() > 1"),
}
FILES = {"pkg/__init__.py": "", "pkg/helper.py": HELPERS["issues"], "pkg/train.py": GUARDED}


def without_time(report: Report) -> Report:
    """A report less what differs between a warm and a cold run."""
    statistics = {k: v for k, v in report.statistics.items() if k not in ("cache_hits", "results_cached")}
    return dataclasses.replace(report, seconds=0.0, statistics=statistics)


def warm(root: Path) -> Report:
    return engine.lint([root], load_settings(root))


def cold(root: Path) -> Report:
    return engine.lint([root], load_settings(root), use_cache=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path, FILES)


def entry(root: Path) -> Path:
    """The one with the results of a whole run: there is another, by file."""
    cache = ResultsCache(root / ".ferrule_cache")
    entries = (cache.folder / "results").iterdir()
    (path,) = [path for path in entries if cache.load(path.stem, module.Results) is not None]
    return path


def refuse_to_analyse(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object) -> object:
        raise AssertionError("analysed")

    monkeypatch.setattr(whole_run, "_analyse", fail)


def test_unchanged_project_is_not_analysed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = warm(root)
    assert [finding.code for finding in first.findings] == ["FER102"]
    assert first.findings[0].witness
    refuse_to_analyse(monkeypatch)
    again = warm(root)
    assert again.statistics["results_cached"] == 1
    assert without_time(again) == without_time(first)


def _move(root: Path, old: str, new: str) -> None:
    (root / old).rename(root / new)


EDITS: tuple[Callable[[Path, random.Random], object], ...] = (
    lambda root, pick: (root / "pkg/helper.py").write_text(pick.choice(list(HELPERS.values()))),
    lambda root, pick: (root / "pkg/train.py").write_text(pick.choice(list(TRAINERS.values()))),
    lambda root, pick: (root / "pkg/other.py").write_text(pick.choice(list(HELPERS.values()))),
    lambda root, pick: (root / "pkg/other.py").unlink(missing_ok=True),
    lambda root, pick: (root / "pkg/train.py").unlink(missing_ok=True),
    lambda root, pick: (root / "pkg/helper.py").exists() and _move(root, "pkg/helper.py", "pkg/other.py"),
    lambda root, pick: (root / "pkg/other.py").exists() and _move(root, "pkg/other.py", "pkg/helper.py"),
    lambda root, pick: (root / "pyproject.toml").write_text(
        pick.choice(['[tool.ferrule-lint]\nignore = ["FER102"]\n', "[tool.ferrule-lint]\nsharded = true\n", ""])
    ),
)


@pytest.mark.parametrize("seed", range(6))
def test_warm_is_cold_after_any_edits(root: Path, seed: int) -> None:
    pick = random.Random(seed)
    seen = set()
    for _ in range(12):
        pick.choice(EDITS)(root, pick)
        expected = without_time(cold(root))
        assert without_time(warm(root)) == expected
        assert without_time(warm(root)) == expected
        seen.add(expected.findings)
    assert len(seen) > 1


def test_what_is_reported_and_how_is_part_of_the_key(root: Path) -> None:
    settings = load_settings(root)
    assert engine.lint([root], settings).findings
    assert not engine.lint([root / "pkg/helper.py"], settings).findings
    assert not engine.lint([root], dataclasses.replace(settings, ignore=("FER1",))).findings
    silent = root / "silent.toml"
    silent.write_text('[library]\nname = "mine"\n')
    engine.lint([root], dataclasses.replace(settings, models=(silent,)))
    silent.write_text(
        '[library]\nname = "mine"\n[[call]]\nnames = ["torch.distributed.barrier"]\nreturns = "unknown"\n'
    )
    assert not engine.lint([root], dataclasses.replace(settings, models=(silent,))).findings
    assert engine.lint([root], settings).statistics["results_cached"] == 1


def test_another_tool_has_other_results(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warm(root)
    monkeypatch.setattr(module, "tool_version", lambda: "another")
    assert "results_cached" not in warm(root).statistics


def test_contents_in_the_place_of_a_file(root: Path) -> None:
    settings = load_settings(root)
    path = root / "pkg/train.py"
    assert engine.lint([root], settings).findings
    assert not engine.lint([root], settings, contents={path: b"x = 1\n"}).findings
    assert engine.lint([root], settings).findings


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: b"",
        lambda whole: whole[:-3],
        lambda whole: whole.replace(b"barrier", b"barriex"),
        lambda whole: b"\xff" + whole,
        lambda whole: b"[" * 100_000,
    ],
)
def test_damaged_entry_is_ignored_and_replaced(root: Path, damage: Callable[[bytes], bytes]) -> None:
    first = warm(root)
    path = entry(root)
    whole = path.read_bytes()
    assert damage(whole) != whole
    path.write_bytes(damage(whole))
    assert without_time(warm(root)) == without_time(first)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    "body", ["[]", "null", "[[],[],1]", '[[],[],"1",{}]', '[[],[],1,{"a":"b"}]', "[[[1]],[],1,{}]", "[{},[],1,{}]"]
)
def test_foreign_entry_is_ignored(tmp_path: Path, body: str) -> None:
    (tmp_path / "results").mkdir()
    kept = body.encode()
    (tmp_path / "results" / "k.json").write_bytes(module._head(kept) + b"\n" + kept)
    assert ResultsCache(tmp_path).load("k", module.Results) is None


def test_a_run_with_errors_is_not_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ferrule_lint.checks import run as checks

    def fail(*args: object) -> object:
        raise ValueError("broken")

    with monkeypatch.context() as broken:
        broken.setattr(checks, "_function", fail)
        assert warm(root).errors
    assert not warm(root).errors


def test_a_file_that_changes_while_it_is_read_is_not_kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    analyse = whole_run._analyse

    def edit_meanwhile(*args: object) -> object:
        results = analyse(*args)  # type: ignore[arg-type]
        (root / "pkg/helper.py").write_text(HELPERS["nothing"])
        return results

    monkeypatch.setattr(whole_run, "_analyse", edit_meanwhile)
    assert warm(root).findings
    assert not (root / ".ferrule_cache/results").exists()


def test_full_disk_and_folder_in_the_way(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as nowhere:
        nowhere.setattr(os, "replace", full)
        assert warm(root).findings
    (root / ".ferrule_cache/results").touch() if not (root / ".ferrule_cache/results").exists() else None
    assert warm(root).findings


def test_old_entries_are_forgotten(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    for number in range(5):
        (root / "pkg/helper.py").write_text(HELPERS["issues"] + f"x = {number}\n")
        warm(root)
    assert len(list((root / ".ferrule_cache/results").iterdir())) == 3
    assert warm(root).statistics["results_cached"] == 1


def test_entries_take_no_more_than_so_many_bytes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    warm(root)
    folder = root / ".ferrule_cache/results"
    size = sum(path.stat().st_size for path in folder.iterdir())
    monkeypatch.setattr(module, "MOST_BYTES", size + size // 2)
    for number in range(3):
        (root / "pkg/helper.py").write_text(HELPERS["issues"] + f"x = {number}\n")
        warm(root)
        assert sum(path.stat().st_size for path in folder.iterdir()) <= size + size // 2
    monkeypatch.setattr(module, "MOST_BYTES", 1)
    (root / "pkg/helper.py").write_text(HELPERS["issues"] + "x = 4\n")
    warm(root)
    assert len(list(folder.iterdir())) == 1


def test_clean(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    warm(root)
    folder = root / ".ferrule_cache"
    kept = folder / "notes.txt"
    kept.write_text("mine")
    assert run(["clean", str(root)]) == 0
    assert "Deleted 5 files" in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == [".gitignore", "notes.txt"]
    kept.unlink()
    assert run(["clean", "-q", str(root)]) == 0
    assert not folder.exists()
    assert run(["clean", str(root)]) == 0
    assert "Deleted 0 files" in capsys.readouterr().out


def test_clean_follows_no_links(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(parents=True)
    (outside / "precious").touch()
    folder = root / "cache"
    (folder / "results").mkdir(parents=True)
    (folder / "results" / "link").symlink_to(outside)
    (folder / ("0" * 16)).symlink_to(outside)
    assert run(["clean", "--cache-dir", str(folder)]) == 0
    assert (outside / "precious").exists()


def test_settings_that_only_show_are_no_part_of_the_key() -> None:
    names = {field.name for field in dataclasses.fields(Settings)}
    assert set(module._ELSEWHERE) <= names
