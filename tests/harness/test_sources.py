"""Lines of the program in a report are the program's."""

from __future__ import annotations

import linecache
from pathlib import Path

import pytest

from ferrule_lint.harness.sources import line_of, lines_of


def test_a_line_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("first = 1\n    second = 2\n")
    path = str(tmp_path / "train.py")
    assert line_of(path, 2) == "second = 2"
    assert [line_of(path, number) for number in (0, 3)] == ["", ""]


def test_code_without_a_file_is_not_that_of_a_module_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a GPU machine showed: its licence text, from an `example.py` in site-packages."""
    (tmp_path / "compiled_example.py").write_text("# All rights reserved\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert linecache.getline("compiled_example.py", 1)
    linecache.clearcache()
    assert lines_of("compiled_example.py") == []


def test_a_cell_of_a_notebook_is_known_to_linecache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(linecache.cache, "<cell 1>", (6, None, ["x = 1\n"], "<cell 1>"))
    assert line_of("<cell 1>", 1) == "x = 1"
