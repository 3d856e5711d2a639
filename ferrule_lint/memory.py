"""What is kept of a run file by file, so that after an edit only those files are checked again that it concerns."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ferrule_lint.findings import Finding
from ferrule_lint.project.config import Settings
from ferrule_lint.project.results import ResultsCache, encoded, key_of_files

if TYPE_CHECKING:
    from ferrule_lint.checks.remembered import Remembered, Shown
    from ferrule_lint.checks.result import Before, CheckResult

#: files that are reported, from which on it pays to keep what was found in each
WORTHWHILE = 16


@dataclass(slots=True)
class Memory:
    """What is known from earlier runs over a project, and what is to be kept of this one."""

    cache: ResultsCache
    #: of the contents of all files that are read
    digests: Mapping[str, str]
    #: by the name of the entry: one for each way to analyse (models, what is sharded)
    _found: dict[str, Remembered] = field(default_factory=dict)
    #: what earlier runs have shown of files in which nothing has changed
    _shown: dict[str, Shown] = field(default_factory=dict)
    #: what else was read to find out which fixes hold
    _read: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

    def before(self, settings: Settings) -> Before | None:
        """What is known of an analysis with these settings; None if nothing can be kept of it."""
        from ferrule_lint.checks.remembered import Remembered
        from ferrule_lint.checks.result import Before

        name = key_of_files(settings)
        if name is None:
            return None
        return Before(self.cache.load(name, Remembered) or Remembered(), self.digests)

    def keep(self, settings: Settings, result: CheckResult) -> None:
        """Keep what was found."""
        name = key_of_files(settings)
        if name is not None and result.remembered is not None:
            self._found[name] = result.remembered
            self._shown.update((file.path, file.shown) for file in result.files if file.shown is not None)

    def shown(self, path: str, findings: Sequence[Finding], suppressed: Sequence[Finding]) -> Shown | None:
        """What was made of these findings in a file, if nothing that concerns it has changed since."""
        known = self._shown.get(path)
        return known if known is not None and known.of == _digest(findings, suppressed) else None

    def also_read(self, path: str, inputs: Iterable[tuple[str, str]]) -> None:
        """Which fixes of a file hold depends on these inputs, too."""
        self._read.setdefault(path, set()).update(inputs)

    def show(
        self,
        path: str,
        of: tuple[Sequence[Finding], Sequence[Finding]],
        now: tuple[Sequence[Finding], ...],
        dropped: int,
    ) -> None:
        """Keep what was made `of` the findings and suppressed findings in a file."""
        from ferrule_lint.checks.remembered import Shown, with_shown

        shown = Shown(_digest(*of), tuple(now[0]), tuple(now[1]), dropped)
        for name, found in self._found.items():
            self._found[name] = with_shown(found, path, shown, self._read.get(path, set()))

    def store(self) -> None:
        """Write it all to the cache."""
        for name, found in self._found.items():
            self.cache.store(name, found)


def _digest(*findings: Sequence[Finding]) -> str:
    return hashlib.sha256(json.dumps([encoded(tuple(some)) for some in findings]).encode()).hexdigest()[:24]
