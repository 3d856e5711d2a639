"""What the linter says of the lines that a divergence is about, asked of its command line and read from its JSON.

A process of its own: the harness imports nothing of the linter, and a linter that fails costs a hint and no more.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ferrule_lint.harness.divergence import Divergence, LintNote
from ferrule_lint.harness.events import Site
from ferrule_lint.harness.rank.sites import is_user

#: seconds that the linter may take
PATIENCE = 120
#: files that are asked about
MOST_FILES = 8


def notes(divergence: Divergence) -> tuple[LintNote, ...]:
    """The findings whose condition, calls or events lie on one of the divergence's lines."""
    return notes_at(divergence.places())


def notes_at(places: Iterable[Site], source: Path | None = None) -> tuple[LintNote, ...]:
    """The findings on these lines; `source` is the tree to lint, by default the files themselves."""
    wanted = [place for place in places if source is not None or is_user(place.path)]
    files = list(dict.fromkeys(place.path for place in wanted if Path(place.path).is_file()))[:MOST_FILES]
    if not wanted or (source is None and not files):
        return ()
    folder = source if source is not None and source.is_dir() else Path.cwd()
    targets = [str(source.resolve())] if source is not None else files
    found = []
    for finding in _lint(targets, folder):
        lines = _lines(finding)
        if any(place.line == line and _same(place.path, path, folder) for place in wanted for path, line in lines):
            found.append(
                LintNote(finding["code"], finding["name"], finding["path"], finding["line"], finding["message"])
            )
    return tuple(dict.fromkeys(found))


def _lint(targets: list[str], folder: Path) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "ferrule_lint", "check", "--output-format", "json", "--exit-zero", "--no-cache"]
    try:
        done = subprocess.run(
            [*command, "--", *targets], cwd=folder, capture_output=True, text=True, timeout=PATIENCE, env=_environment()
        )
        findings: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    except (OSError, ValueError, KeyError, TypeError, subprocess.TimeoutExpired):
        return []
    return findings


def _environment() -> dict[str, str]:
    """The same package in a process that starts in another folder."""
    paths = [path for path in sys.path if path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _lines(finding: Mapping[str, Any]) -> set[tuple[str, int]]:
    """The lines that a finding is about: its call, its condition, the calls on the way, its events."""
    lines = {(finding["path"], finding["line"])}
    lines |= {(event["path"], event["line"]) for event in finding["events"]}
    lines |= {(s["path"], s["line"]) for s in finding["witness"] if s["role"] in ("condition", "call", "event")}
    return lines


def _same(absolute: str, shown: str, folder: Path) -> bool:
    """The linter names files from `folder`; a dump has them where they were on another machine."""
    here = os.path.normpath(folder / shown)
    path = Path(absolute).as_posix()
    return os.path.realpath(absolute) == os.path.realpath(here) or path.endswith(f"/{shown}")
