"""Questions about one place of a project: what the analysis holds of it, beside what is reported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ferrule_lint.extraction import Crashed, Unparsable, Unreadable, read_facts
from ferrule_lint.project.cache import FOLDER, FactsCache
from ferrule_lint.project.config import Settings
from ferrule_lint.project.discovery import discover

if TYPE_CHECKING:
    from ferrule_lint.checks.why import Explanation


class CannotAnswer(Exception):
    """The file cannot be read or parsed; the message says why. `line` 0: the whole file."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


@dataclass(frozen=True, slots=True)
class Answer:
    """The explanation of a line, or None if no statement stands there, and the root its paths are relative to."""

    explanation: Explanation | None
    root: Path


def why(
    path: Path | str,
    line: int,
    settings: Settings,
    *,
    use_cache: bool = True,
    contents: Mapping[Path, bytes] | None = None,
) -> Answer:
    """What the analysis holds of `line` in `path`. Raises `CannotAnswer`, and `ModelError` for a broken model file."""
    from ferrule_lint.checks.result import CheckOptions
    from ferrule_lint.checks.why import explain_line
    from ferrule_lint.models.loader import load_models

    contents = contents or {}
    discovery = discover([path], settings, contents)
    if discovery.errors:
        raise CannotAnswer(discovery.errors[0].message)
    if len(discovery.report) != 1:
        raise CannotAnswer("is not a Python file")
    (name,) = discovery.report
    given = {
        one.relative_to(discovery.root).as_posix(): data
        for one, data in contents.items()
        if one.is_relative_to(discovery.root)
    }
    cache = FactsCache(settings.cache_dir or discovery.root / FOLDER) if use_cache else None
    facts = {}
    for one, outcome in read_facts(discovery.root, discovery.read, cache, 1, given):
        match outcome:
            case Unreadable() | Unparsable() | Crashed():
                if one == name:
                    raise _cannot(outcome)
            case _:
                facts[one] = outcome
    options = CheckOptions(sharded=settings.sharded)
    ordered = {one: facts[one] for one in discovery.read if one in facts}
    return Answer(explain_line(ordered, load_models(settings.models), name, line, options), discovery.root)


def _cannot(outcome: Unreadable | Unparsable | Crashed) -> CannotAnswer:
    match outcome:
        case Unparsable():
            return CannotAnswer(f"cannot be parsed: {outcome.message}", outcome.line)
        case Unreadable():
            return CannotAnswer(f"cannot be read: {outcome.reason}")
        case Crashed():
            return CannotAnswer(outcome.message)
