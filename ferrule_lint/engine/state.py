"""What a run has gathered so far: every step of it reads here what the steps before have left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ferrule_lint.findings import Finding, LintError, NotebookCells
from ferrule_lint.memory import Memory
from ferrule_lint.project.cache import FactsCache
from ferrule_lint.project.discovery import Discovery

if TYPE_CHECKING:
    from ferrule_lint.checks.result import CheckResult
    from ferrule_lint.facts.outline import Facts
    from ferrule_lint.fixes.verify import Dropped

#: called with what is being done, how much of it is done, and how much there is
Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Run:
    """What a run has gathered so far."""

    discovery: Discovery
    cache: FactsCache | None
    progress: Progress
    #: what stands in for files, by path relative to the root
    contents: dict[str, bytes]
    notebooks: dict[str, NotebookCells] = field(default_factory=dict)
    facts: dict[str, Facts] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    suppressed: list[Finding] = field(default_factory=list)
    #: whether to look for findings in other files that come from those of the run, and what was found there
    looks_elsewhere: bool = False
    elsewhere: list[Finding] = field(default_factory=list)
    errors: list[LintError] = field(default_factory=list)
    statistics: dict[str, int] = field(default_factory=dict)
    #: files with findings as they were when their findings were anchored
    sources: dict[str, bytes] = field(default_factory=dict)
    #: fixes that did not hold
    dropped: list[Dropped] = field(default_factory=list)
    #: what the checks came to, for each way to analyse (models, what is sharded)
    checked: dict[tuple[object, object], CheckResult] = field(default_factory=dict)
    #: what earlier runs have found
    memory: Memory | None = None

    def read(self, path: str) -> bytes:
        """The content of a file, always the same in one run; raises OSError."""
        if path not in self.sources:
            given = self.contents.get(path)
            self.sources[path] = (self.discovery.root / path).read_bytes() if given is None else given
        return self.sources[path]

    def note(self, path: str, other: str) -> None:
        """The fixes of a file depend on another one."""
        if self.memory is not None:
            self.memory.looked_at(path, other)

    def count(self, what: str, number: int = 1) -> None:
        if number:
            self.statistics[what] = self.statistics.get(what, 0) + number
