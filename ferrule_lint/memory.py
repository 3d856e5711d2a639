"""What is kept of a run for the next one: what was found file by file, so that after an edit only those files are
checked again that it concerns, and of these only what the edit has changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from ferrule_lint.findings import Finding
from ferrule_lint.project.cache import FactsCache
from ferrule_lint.project.config import Settings
from ferrule_lint.project.results import ResultsCache, encoded, key_of_project, said

if TYPE_CHECKING:
    from ferrule_lint.checks.known import FileResult, Shown
    from ferrule_lint.checks.result import Before, CheckResult

#: the findings in a file, and the suppressed ones
Chosen: TypeAlias = tuple[Sequence[Finding], Sequence[Finding]]
#: files that are reported, from which on a run is one over the project. One over fewer (a commit, an editor) uses what
#: such a run has kept, and leaves it alone: to write it all again would take longer than the run
MANY = 16


@dataclass(slots=True)
class Memory:
    """What is known from earlier runs over a project, and what is to be kept of this one."""

    cache: ResultsCache
    #: of the contents of all files that are read
    digests: Mapping[str, str]
    #: the facts of files as they are, and as they were
    facts: FactsCache
    #: whether this is a run over the project
    of_many: bool
    #: by the name of the entry: one for each way to analyse (models, what is sharded)
    _found: dict[str, CheckResult] = field(default_factory=dict)
    #: those that are of runs over the project, and are only used
    _used: set[str] = field(default_factory=set)
    #: the names under which others are kept
    _names: dict[str, str] = field(default_factory=dict)
    #: what this run and earlier ones have shown of files, as far as nothing has changed in them
    _shown: dict[str, Shown] = field(default_factory=dict)
    #: what else was read to find out which fixes hold
    _read: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

    def before(self, settings: Settings) -> Before | None:
        """What is known of an analysis with these settings; None if nothing can be kept of it."""
        from ferrule_lint.checks.known import Remembered
        from ferrule_lint.checks.result import Before

        name = key_of_project(settings, "files")
        if name is None:
            return None
        known = self.cache.load(name, Remembered)
        if known is None and not self.of_many:
            known = self.cache.load(self._of_few(settings), Remembered)
        elif not self.of_many:
            self._used.add(name)
        if known is None or not known.is_whole():
            known = Remembered()
        return Before(known, self.digests, self.facts.of_digest)

    def keep(self, settings: Settings, before: Before | None, result: CheckResult) -> None:
        """Keep what was found."""
        name = key_of_project(settings, "files")
        if name is not None and before is not None:
            self._found[name] = result
            if not self.of_many:
                self._names[name] = self._of_few(settings)
            self._shown.update((file.path, file.shown) for file in result.files if file.shown is not None)

    def shown(self, path: str, of: Chosen, settings: Settings) -> Shown | None:
        """What was made of findings in a file, if nothing that concerns it has changed since."""
        known = self._shown.get(path)
        return known if known is not None and known.of == _digest(of, settings) else None

    def tried_together(self, paths: set[str], shown: Mapping[str, Shown | None]) -> set[str]:
        """Files whose fixes are tried, and those of the others `shown` whose fixes have to be tried at the same time:
        the one file reads something of the other, which its own fixes change."""
        if not paths:
            return set()
        fixed = {path for path, known in shown.items() if known is not None and known.has_fixes()}
        reads = {
            file.path: result.answers.files_of(file)
            for result in self._found.values()
            for file in result.files
            if result.answers is not None and (file.path in fixed or file.path in paths)
        }
        found = set(paths)
        todo = list(found)
        while todo:
            path = todo.pop()
            beside = {other for other in fixed - found if path in reads.get(other, ()) or other in reads.get(path, ())}
            found |= beside
            todo += beside
        return found

    def also_read(self, files: Iterable[FileResult]) -> None:
        """Which fixes of files hold depends on what was read to check them with their fixes."""
        for file in files:
            self._read.setdefault(file.path, set()).update(file.inputs)

    def looked_at(self, path: str, other: str) -> None:
        """The fixes of a file depend on another file."""
        self._read.setdefault(path, set()).add(("file", other))

    def show(self, path: str, of: Chosen, now: Chosen, dropped: int, settings: Settings) -> None:
        """Keep what was made `of` the findings and suppressed findings in a file."""
        from ferrule_lint.checks.known import Shown

        self._shown[path] = Shown(_digest(of, settings), tuple(now[0]), tuple(now[1]), dropped)

    def store(self) -> None:
        """Write it all to the cache."""
        for name, result in self._found.items():
            if result.answers is not None and name not in self._used:
                failed = {error.path for error in result.errors}
                files = [self._with_shown(file) for file in result.files if file.path not in failed]
                self.cache.store(self._names.get(name, name), result.answers.remembered(files))

    @staticmethod
    def _of_few(settings: Settings) -> str:
        """The name of the entry that runs over a few files write where there was none over the project."""
        return key_of_project(settings, "few files") or ""

    def _with_shown(self, file: FileResult) -> FileResult:
        read = set(file.read)
        for given in sorted(self._read.get(file.path, ())):
            read.add(file.reads.number(given))
        return replace(file, read=frozenset(read), shown=self._shown.get(file.path))


def _digest(of: Chosen, settings: Settings) -> str:
    """Of findings, and of the settings that decide which fixes they get."""
    text = json.dumps([encoded(tuple(some)) for some in of])
    return hashlib.sha256(said(settings) + settings.fix_preference.encode() + text.encode()).hexdigest()[:24]
