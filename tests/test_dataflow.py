"""The dataflow specifications: `dataflow/*.md`, prose with code whose comments say what the analysis finds.

Everything under one heading is one project. A block tagged `python` is a file: `main.py`, or the one named by a line
of the form `` `path/file.py`: `` right before it; blocks of the same file under one heading are joined. Two comments
state expectations, and both are exact, what is not expected is a failure:

* `# error: FER102` on the line of the finding;
* `# revealed: divergent[world] rank` on a line with `reveal_uniformity(expression)`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from support import compare, expected_marks, lint_source, reveal_project

FOLDER = Path(__file__).parent / "dataflow"
_HEADING = re.compile(r"#+ (?P<title>.+)")
_PATH = re.compile(r"`(?P<path>[\w./-]+\.(py|toml))`:")
_REVEALED = re.compile(r"#\s*revealed:\s*(?P<text>.+?)\s*$")


@dataclass
class Section:
    """What stands under one heading: the files of a project."""

    document: str
    title: str
    line: int
    files: dict[str, str] = field(default_factory=dict)
    #: the line of the document at which each line of each file stands
    origin: dict[tuple[str, int], int] = field(default_factory=dict)


def read_sections(path: Path) -> list[Section]:
    """The sections of a document that have code."""
    section = Section(path.stem, path.stem, 1)
    sections = [section]
    name: str | None = None
    language: str | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if language is not None:
            if line == "```":
                language = name = None
            elif language:
                add_line(section, name or "main.py", line, number)
        elif line.startswith("```"):
            language = line[3:].strip()
            assert language in ("", "python", "toml", "text"), f"{path}:{number}: unknown block {language!r}"
            language = "" if language == "text" else language
        elif match := _HEADING.fullmatch(line):
            section = Section(path.stem, match["title"], number)
            sections.append(section)
        elif match := _PATH.fullmatch(line):
            name = match["path"]
        elif line:
            name = None
    assert language is None, f"{path}: a block that is never closed"
    return [section for section in sections if section.files]


def add_line(section: Section, name: str, line: str, number: int) -> None:
    section.files[name] = section.files.get(name, "") + line + "\n"
    section.origin[name, section.files[name].count("\n")] = number


SECTIONS = [section for path in sorted(FOLDER.glob("*.md")) for section in read_sections(path)]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: f"{section.document}:{section.line} {section.title}")
def test_section(section, tmp_path):
    report = lint_source(section.files, tmp_path)
    assert not report.errors
    assert not [what for what in report.statistics if "too deep" in what]
    difference = compare(report, expected_marks(section.files))
    assert not difference, f"{section.document}.md:{section.line}{difference}"
    revealed = expected_reveals(section)
    if revealed:
        found = {(path, line): text for path, line, text in reveal_project(tmp_path)}
        lines = [
            f"{section.document}.md:{section.origin[place]}: {found.get(place, 'nothing revealed')}, not {text}"
            for place, text in revealed.items()
            if found.get(place) != text
        ]
        assert not lines, "\n" + "\n".join(lines)
        assert set(found) == set(revealed)


def expected_reveals(section: Section) -> dict[tuple[str, int], str]:
    found = {}
    for name, source in section.files.items():
        for number, line in enumerate(source.splitlines(), start=1):
            match = _REVEALED.search(line)
            place = f"{section.document}.md:{section.origin[name, number]}"
            assert bool(match) == ("reveal_uniformity(" in line), place
            if match:
                found[name, number] = match["text"]
    return found


def test_sections_have_code_that_parses():
    for section in SECTIONS:
        for name, source in section.files.items():
            if name.endswith(".py"):
                compile(source, f"{section.document}.md:{section.line}:{name}", "exec")


def test_titles_are_unique():
    titles = [(section.document, section.title) for section in SECTIONS]
    assert len(titles) == len(set(titles))


def test_reader(tmp_path):
    path = tmp_path / "spec.md"
    path.write_text(
        "# Title\n\nprose\n\n```python\na = 1\n```\n\n## Two\n\n`b/c.py`:\n\n```python\nb = 1\n```\n\n"
        "```python\nc = 1\n```\n\nmore\n\n```python\nd = 1\n```\n\n```text\nnot code\n```\n"
    )
    one, two = read_sections(path)
    assert (one.title, one.files) == ("Title", {"main.py": "a = 1\n"})
    assert (two.title, two.files) == ("Two", {"b/c.py": "b = 1\n", "main.py": "c = 1\nd = 1\n"})
    assert two.origin["main.py", 2] == 24
