"""Twins: `cases/FERxxx/nok_*.py` is flagged where its comments say, `ok_*.py`, minimally different, is silent."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from support import compare, expected_marks, lint_source

from ferrule_lint.rulebook import load_rules

FOLDER = Path(__file__).parent / "cases"
FILES = sorted(FOLDER.glob("*/*.py"))
#: rules about comments, shapes and stages have fewer forms
LEAST = {"FER303": 3, "FER402": 3, "FER002": 3, "FER201": 3, "FER202": 3, "FER301": 3}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_case(path, tmp_path):
    files = {"case.py": path.read_text(encoding="utf-8")}
    expected = expected_marks(files)
    codes = {code for _, _, code in expected}
    assert codes == ({path.parent.name} if path.name.startswith("nok_") else set())
    report = lint_source(files, tmp_path)
    assert not report.errors
    difference = compare(report, expected)
    assert not difference, difference


def test_every_case_has_its_twin():
    names = {(path.parent.name, path.stem) for path in FILES}
    for code, name in names:
        kind, _, rest = name.partition("_")
        assert (code, {"nok": "ok", "ok": "nok"}[kind] + f"_{rest}") in names


def test_every_rule_has_twins():
    pairs = Counter(path.parent.name for path in FILES if path.name.startswith("nok_"))
    for code in load_rules():
        if code != "FER001":
            assert pairs[code] >= LEAST.get(code, 6)


def test_twins_differ_but_little():
    for path in FILES:
        if path.name.startswith("nok_"):
            twin = path.with_name(path.name.removeprefix("n"))
            lines = [re.sub(r"\s*# error:.*", "", line) for line in path.read_text().splitlines()]
            others = twin.read_text().splitlines()
            assert lines != others
            assert len(set(lines) & set(others)) >= len(set(lines)) / 2
