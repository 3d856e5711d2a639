"""What several test modules share: lint source text in process, read expectations from comments."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest
from pipeline import project

from ferrule_lint.engine import lint
from ferrule_lint.findings import Report
from ferrule_lint.project.config import load_settings
from ferrule_lint.project.discovery import discover

#: a finding is expected on this line: `# error: FER102` or `# error: FER102, FER201`
_EXPECTED = re.compile(r"#\s*error:\s*(FER\d{3}(?:\s*,\s*FER\d{3})*)\s*(?:$|#)")

#: path, line and code of a finding, and how often
Marks = Counter[tuple[str, int, str]]


def benchmark(name: str, loaded_as: str | None = None) -> ModuleType:
    """`benchmarks/NAME.py`. Of those that import each other the imported one first."""
    return load_script(Path(__file__).parent.parent / "benchmarks" / f"{name}.py", loaded_as or name)


def load_script(path: Path, name: str) -> ModuleType:
    """A script that is no part of the package, as a module. Where it is not there, the tests of the module that asks
    for it are skipped."""
    if not path.exists():
        pytest.skip(f"{path.parent.name}/ is not part of a source distribution", allow_module_level=True)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def lint_source(files: dict[str, str], root: Path) -> Report:
    """Lint a project of these files (path -> source) with its own configuration and without a cache."""
    return lint_project(project(root, files))


def lint_project(root: Path) -> Report:
    """Lint a folder that is the root of a project."""
    return lint([root], load_settings(root), use_cache=False)


def reveal_project(root: Path) -> list[tuple[str, int, str]]:
    """What the analysis knows of the arguments of `reveal_uniformity(...)`: path, line and text of each call."""
    from ferrule_lint.checks.reveal import reveal
    from ferrule_lint.checks.run import CheckOptions
    from ferrule_lint.frontend.lower import extract
    from ferrule_lint.models.loader import load_models

    settings = load_settings(root)
    facts = {path: extract((root / path).read_bytes()) for path in discover([root], settings).read}
    return list(reveal(facts, load_models(settings.models), CheckOptions(sharded=settings.sharded)))


def expected_marks(files: dict[str, str]) -> Marks:
    """The findings that `# error: ...` comments announce."""
    marks: Marks = Counter()
    for name, source in files.items():
        for number, line in enumerate(source.splitlines(), start=1):
            if match := _EXPECTED.search(line):
                for code in match[1].split(","):
                    marks[name, number, code.strip()] += 1
    return marks


def reported_marks(report: Report) -> Marks:
    """The findings of a report in the same form."""
    return Counter((finding.path, finding.span.line, finding.code) for finding in report.findings)


def describe(report: Report) -> str:
    """A report for a test's failure message: findings with their witnesses."""
    lines = [f"{error.path}:{error.line}: {error.message}" for error in report.errors]
    for finding in report.findings:
        place = f"{finding.path}:{finding.span.line}"
        lines.append(f"{place}: {finding.code} {finding.confidence.label} {list(finding.axes)} {finding.message}")
        lines.extend(f"    {step.role} {step.path}:{step.line}: {step.note}" for step in finding.witness)
    return "\n".join(lines) or "no findings"


def compare(report: Report, expected: Marks) -> str:
    """What is missing and what is too much, or an empty string."""
    reported = reported_marks(report)
    lines = [f"missing: {path}:{line}: {code}" for path, line, code in (expected - reported).elements()]
    lines += [f"extra:   {path}:{line}: {code}" for path, line, code in (reported - expected).elements()]
    return "\n".join(["", *lines, "", describe(report)]) if lines else ""
