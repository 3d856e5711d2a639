"""The settings of each file of a run: those of the settings file that is nearest to it.

The run as a whole has settings too, those of its first path; they say what concerns no single file, such as the output
format, and count wherever no file says otherwise. The command line comes before all of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from ferrule_lint.findings import LintError
from ferrule_lint.project.config import ConfigError, Settings, settings_in

#: a path relative to the root of the run -> the same as patterns of a setting see it
Scope = Callable[[str], str]


class Nearest:
    """Answers which settings count for which file. `problems` are the settings files that cannot be used, by folder.

    What such a file should have said is taken from the file above it.
    """

    def __init__(self, run: Settings) -> None:
        self.run = run
        self.problems: dict[Path, ConfigError] = {}
        self._alone = run.root is None or not run.by_file
        self._root = Path() if run.root is None else run.root.resolve()
        self._by_prefix: dict[str, Settings] = {}
        self._by_folder: dict[Path, Settings] = {}

    def of(self, path: str) -> Settings:
        """The settings that count for a file, whose path is relative to the root of the run."""
        return self.run if self._alone else self.of_folder(path.rpartition("/")[0])

    def of_folder(self, folder: str) -> Settings:
        """The settings that count for the files in a folder."""
        if self._alone:
            return self.run
        known = self._by_prefix.get(folder)
        if known is None:
            known = self._by_prefix[folder] = self._nearest(Path(os.path.normpath(self._root / folder)))
        return known

    def among(self, paths: Iterable[str]) -> Iterator[Settings]:
        """Each of the settings that count for some of these files, but not those of the run."""
        seen = {id(self.run)}
        for path in paths:
            settings = self.of(path)
            if id(settings) not in seen:
                seen.add(id(settings))
                yield settings

    def errors(self) -> list[LintError]:
        """The problems, for a report."""
        return [as_error(problem, self.run.root or Path()) for problem in self.problems.values()]

    def _nearest(self, folder: Path) -> Settings:
        known = self._by_folder.get(folder)
        if known is not None:
            return known
        settings = self._own(folder)
        if settings is None:
            settings = self._nearest(folder.parent) if folder.parent != folder else self._none_found()
        self._by_folder[folder] = settings
        return settings

    def _own(self, folder: Path) -> Settings | None:
        if self.run.source is not None and folder == self.run.source.parent:
            return self.run
        try:
            settings = settings_in(folder)
        except ConfigError as problem:
            self.problems[folder] = problem
            return None
        return None if settings is None else self._adapted(settings)

    def _none_found(self) -> Settings:
        return self.run if self.run.source is None else self._adapted(Settings())

    def _adapted(self, settings: Settings) -> Settings:
        return replace(self.run.overrides.applied_to(settings), root=self.run.root, by_file=True)


def as_error(problem: ConfigError, root: Path) -> LintError:
    """A mistake in a settings file, for a report whose paths are relative to `root`."""
    return LintError(Path(os.path.relpath(problem.path, root)).as_posix(), problem.line, problem.message)


def scope_of(settings: Settings, key: str) -> Scope:
    """How patterns of a setting see paths: relative to the folder of the file that says it.

    If the settings' own file is not in that folder (it extends a file elsewhere), it is the settings' own folder; if
    the project is not in that one (a file given by name), it is the root of the run.
    """
    if settings.root is None or settings.source is None:
        return _unchanged
    own = settings.source.resolve().parent
    said = Path(dict(settings.origins).get(key, own / "x")).resolve().parent
    base = said if own.is_relative_to(said) else own
    root = settings.root.resolve()
    if base == root:
        return _unchanged
    if root.is_relative_to(base):
        above = root.relative_to(base).as_posix() + "/"
        return lambda path: above + path
    if base.is_relative_to(root):
        below = base.relative_to(root).as_posix() + "/"
        return lambda path: path.removeprefix(below)
    return _unchanged


def _unchanged(path: str) -> str:
    return path
