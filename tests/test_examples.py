"""The examples: each bug is reported as its README says, each repair is silent."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import describe, lint_source, reported_marks

from ferrule_lint.rulebook import load_rules

FOLDER = Path(__file__).resolve().parent.parent / "examples"
if not FOLDER.exists():
    pytest.skip("examples/ is not part of a source distribution", allow_module_level=True)

#: folder -> the findings in bug.py as (code, the start of the reported line)
EXPECTED: dict[str, list[tuple[str, str]]] = {
    "fsdp_optional_modalities": [
        ("FER101", "subgoal = self.tower("),
        ("FER101", "prefix = prefix + self.metadata("),
    ],
    "recsys_last_batch": [
        ("FER202", "dense=gather_first_dim(dense)"),
        ("FER202", "labels=gather_first_dim(labels)"),
    ],
    "pipeline_stage_broadcast": [("FER301", "share(tokens)")],
    "context_parallel_ring": [("FER102", "(bias,) = ring.exchange([bias])")],
    # that the count is one stage's, FER302 is to report
    "colocated_encoder_tokens": [("FER304", "finalize_gradients(mesh, encoder, tokens)")],
}
FOLDERS = sorted(path.parent.name for path in FOLDER.glob("*/bug.py"))


def lint(name: str, file: str, tmp_path: Path):
    return lint_source({file: (FOLDER / name / file).read_text(encoding="utf-8")}, tmp_path)


def test_table_is_complete():
    assert sorted(EXPECTED) == FOLDERS


@pytest.mark.parametrize("name", FOLDERS)
def test_bug_is_reported(name, tmp_path):
    report = lint(name, "bug.py", tmp_path)
    lines = (FOLDER / name / "bug.py").read_text(encoding="utf-8").splitlines()
    found = sorted((line, code) for _, line, code in reported_marks(report).elements())
    assert not report.errors
    assert len(found) == len(EXPECTED[name]), describe(report)
    for (line, code), (expected, start) in zip(found, EXPECTED[name], strict=True):
        assert code == expected, describe(report)
        assert lines[line - 1].strip().startswith(start), describe(report)


@pytest.mark.parametrize("name", FOLDERS)
def test_repair_is_silent(name, tmp_path):
    report = lint(name, "fixed.py", tmp_path)
    assert not report.errors
    assert not report.findings, describe(report)


@pytest.mark.parametrize("name", FOLDERS)
def test_story_names_the_rules(name):
    story = (FOLDER / name / "README.md").read_text(encoding="utf-8")
    table = (FOLDER / "README.md").read_text(encoding="utf-8")
    row = next(line for line in table.splitlines() if f"[{name}]" in line)
    for code, _ in EXPECTED[name]:
        assert code in load_rules()
        assert f"**{code}**" in story
        assert code in row
