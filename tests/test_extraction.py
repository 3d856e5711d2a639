"""Facts of many files: the same from the cache, from this process and from several."""

from __future__ import annotations

from pathlib import Path

import pytest
from pipeline import project

from ferrule_lint import extraction
from ferrule_lint.extraction import Unparsable, Unreadable, read_facts
from ferrule_lint.facts.outline import LazyFacts
from ferrule_lint.frontend.lower import extract
from ferrule_lint.project.cache import FactsCache

FILES = {f"pkg/m{number}.py": f"def f{number}(x):\n    return g(x, {number})\n" for number in range(40)}


@pytest.fixture
def many(tmp_path: Path) -> Path:
    return project(tmp_path, {**FILES, "pkg/bad.py": "x = (\n"})


def test_in_several_processes(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction, "WORTHWHILE", 100)
    paths = [*FILES, "pkg/bad.py", "pkg/gone.py"]
    alone = dict(read_facts(many, paths, None, 1))
    cache = FactsCache(many / "cache")
    together = dict(read_facts(many, paths, cache, 2))
    assert together == alone
    assert together["pkg/m7.py"] == extract(FILES["pkg/m7.py"].encode())
    assert isinstance(together["pkg/bad.py"], Unparsable)
    assert together["pkg/gone.py"] == Unreadable("No such file or directory")
    # the processes have filled the cache
    again = dict(read_facts(many, paths, cache, 2))
    assert cache.hits == len(FILES)
    assert {p: o.whole if isinstance(o, LazyFacts) else o for p, o in again.items()} == alone


def test_few_files_start_no_process(many: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(extraction, "_in_parallel", refuse)
    assert len(dict(read_facts(many, list(FILES), None, 8))) == len(FILES)


@pytest.mark.parametrize("error", [OSError("no semaphores"), RuntimeError("broken"), ImportError("_multiprocessing")])
def test_without_processes_it_goes_on_alone(many: Path, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(missed: list[tuple[str, bytes]], *args: object) -> object:
        path, source = missed[0]
        yield path, extract(source)
        raise error

    monkeypatch.setattr(extraction, "WORTHWHILE", 100)
    monkeypatch.setattr(extraction, "_in_parallel", fail)
    found = list(read_facts(many, list(FILES), None, 2))
    assert len(found) == len(FILES)
    assert dict(found) == dict(read_facts(many, list(FILES), None, 1))
