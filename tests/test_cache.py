"""The facts cache: what it keeps, and that nothing wrong with it is ever noticed in the results."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ferrule_lint.facts.types import FileFacts
from ferrule_lint.frontend.lower import extract
from ferrule_lint.project import cache as cache_module
from ferrule_lint.project.cache import FactsCache, facts_version

SOURCE = b"import torch.distributed as dist\nif rank == 0:\n    dist.barrier()\n"


@pytest.fixture
def stored(tmp_path: Path) -> FactsCache:
    cache = FactsCache(tmp_path / "cache")
    cache.store(SOURCE, extract(SOURCE))
    return cache


def loaded(cache: FactsCache, source: bytes) -> FileFacts | None:
    """What the cache has for a file, which is not made anew."""
    facts = cache.load(source, otherwise=lambda: pytest.fail("made anew"))
    return None if facts is None else facts.whole


def entry(root: Path) -> Path:
    (path,) = (root / "cache").rglob("*.json")
    return path


def test_round_trip(stored: FactsCache, tmp_path: Path) -> None:
    assert loaded(FactsCache(tmp_path / "cache"), SOURCE) == extract(SOURCE)
    assert loaded(stored, SOURCE + b"\n") is None
    assert stored.hits == 0


def test_hits_are_counted(stored: FactsCache) -> None:
    loaded(stored, SOURCE)
    assert stored.hits == 1


def test_folder_ignores_itself(stored: FactsCache, tmp_path: Path) -> None:
    assert (tmp_path / "cache" / ".gitignore").read_text() == "*\n"


def test_no_temporary_files_are_left(stored: FactsCache, tmp_path: Path) -> None:
    assert not list((tmp_path / "cache").rglob(".tmp-*"))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"lines": "x"}', b"[" * 100_000])
def test_damaged_entry_is_ignored(stored: FactsCache, tmp_path: Path, content: bytes) -> None:
    entry(tmp_path).write_bytes(content)
    assert loaded(stored, SOURCE) is None


def test_truncated_and_changed_entries_are_ignored(stored: FactsCache, tmp_path: Path) -> None:
    whole = entry(tmp_path).read_bytes()
    for damaged in (whole[:-2], whole.replace(b"barrier", b"barriex")):
        assert damaged != whole
        entry(tmp_path).write_bytes(damaged)
        assert loaded(stored, SOURCE) is None


def test_damaged_entry_is_replaced(stored: FactsCache, tmp_path: Path) -> None:
    entry(tmp_path).write_bytes(b"")
    stored.store(SOURCE, extract(SOURCE))
    assert loaded(stored, SOURCE) == extract(SOURCE)


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file is in the way")
    cache = FactsCache(tmp_path / "cache")
    cache.store(SOURCE, extract(SOURCE))
    assert loaded(cache, SOURCE) is None


def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    cache = FactsCache(tmp_path / "cache")
    cache.store(SOURCE, extract(SOURCE))
    assert loaded(cache, SOURCE) is None
    assert not list((tmp_path / "cache").rglob(".tmp-*"))


def test_key_depends_on_content_and_version(monkeypatch: pytest.MonkeyPatch) -> None:
    before = FactsCache.key(SOURCE)
    assert FactsCache.key(SOURCE) == before
    assert FactsCache.key(SOURCE + b" ") != before
    monkeypatch.setattr(cache_module, "facts_version", lambda: "another")
    assert FactsCache.key(SOURCE) != before


def test_version_depends_on_the_code_that_makes_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_module, "_PACKAGE", tmp_path)
    (tmp_path / "frontend").mkdir()
    versions = set()
    for text in ("a = 1", "a = 2"):
        (tmp_path / "frontend" / "lower.py").write_text(text)
        facts_version.cache_clear()
        versions.add(facts_version())
    facts_version.cache_clear()
    assert len(versions) == 2


def test_bounded_in_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = FactsCache(tmp_path / "cache")
    sources = [SOURCE + b"# %d\n" % number for number in range(5)]
    for age, source in enumerate(sources):
        cache.store(source, extract(source))
        os.utime(cache._path(cache.key(source)), (1000 + age, 1000 + age))
    size = cache._path(cache.key(sources[0])).stat().st_size
    monkeypatch.setattr(cache_module, "MOST_BYTES", 2 * size)
    (tmp_path / "cache" / "notes.txt").write_text("x" * 9 * size)
    cache.forget()
    assert [loaded(cache, source) is not None for source in sources] == [False, False, False, True, True]
    assert (tmp_path / "cache" / "notes.txt").exists()


def test_runs_at_once_use_one_folder(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "pyproject.toml").touch()
    for number in range(12):
        source = SOURCE.replace(b"rank == 0", b"dist.get_rank() == %d" % number)
        (root / f"m{number}.py").write_bytes(source)
    command = [sys.executable, "-m", "ferrule_lint", "--cache-dir", str(tmp_path / "cache"), "--exit-zero",
               "--output-format", "concise", "."]  # fmt: skip
    running = [subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for _ in range(3)]
    said = {process.communicate()[0] for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(said) == 1
    assert b"12 problems" in said.pop()
    assert not list((tmp_path / "cache").rglob(".tmp-*"))


@pytest.mark.skipif(os.getuid() == 0, reason="root may write anywhere")
def test_folder_that_may_only_be_read(stored: FactsCache, tmp_path: Path) -> None:
    folders = [path for path in (tmp_path / "cache").rglob("*") if path.is_dir()]
    for path in folders:
        path.chmod(0o555)
    other = SOURCE + b"x = 1\n"
    stored.store(other, extract(other))
    assert loaded(stored, other) is None
    assert loaded(stored, SOURCE) is not None
    for path in folders:
        path.chmod(0o755)
