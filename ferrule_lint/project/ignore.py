"""What `.gitignore` files and the `exclude` settings leave out, by git's own rules.

Git asks about each file and folder by itself, on the way down from the top: the last pattern that matches in the
deepest file that has one decides, and nothing below an ignored folder is looked at again. `pathspec` answers for
whole paths instead (a pattern that matches a parent matches what is in it), so a match that ends before the end of
the path is not counted here: otherwise `!pkg/` in a nested file would bring back what `*.py` above it ignores.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pathspec import GitIgnoreSpec
from pathspec.pattern import RegexPattern

#: the group that pathspec's patterns give to the slash behind a matched folder
_FOLDER_GROUP = "ps_d"
#: patterns for "every folder", for which pathspec's shortcut does not say where the match ended
_EVERY_FOLDER = frozenset({"*/", "**/", "**/*/"})
#: a name and nothing else: an entry of this name is meant wherever it lies. Compiling and asking an expression for
#: each of the names that are excluded by default took a tenth of a run in which hardly anything was edited.
_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class _Pattern:
    include: bool
    #: None: every folder
    pattern: RegexPattern | None

    def matches(self, path: str) -> bool:
        """Whether the entry `path` itself matches; a folder's path ends in a slash."""
        if self.pattern is None:
            return path.endswith("/")
        result = self.pattern.match_file(path)
        if result is None:
            return False
        match = result.match
        if match.groupdict().get(_FOLDER_GROUP) is None:
            return True
        return bool(match.end(_FOLDER_GROUP) == len(path))


@dataclass(frozen=True, slots=True)
class _Names:
    """Patterns that are plain names, one after the other in their file."""

    names: frozenset[str]
    include: bool = True

    def matches(self, path: str) -> bool:
        return path.removesuffix("/").rpartition("/")[2] in self.names


@dataclass(frozen=True, slots=True)
class PatternSet:
    """The patterns of one file (or setting), relative to the folder `base` ("" or "a/b/")."""

    base: str
    patterns: tuple[_Pattern | _Names, ...]

    @classmethod
    def parse(cls, lines: Iterable[str], base: str = "") -> PatternSet:
        """The patterns in `lines`."""
        patterns: list[_Pattern | _Names] = []
        for are_names, some in itertools.groupby(lines, lambda line: _NAME.fullmatch(line) is not None):
            together = tuple(some)
            patterns += [_Names(frozenset(together))] if are_names else [p for line in together for p in _parsed(line)]
        return cls(base, tuple(patterns))

    def decide(self, path: str) -> bool | None:
        """True: ignored. False: explicitly not. None: no pattern speaks of it."""
        if not path.startswith(self.base):
            return None
        relative = path[len(self.base) :]
        for pattern in reversed(self.patterns):
            if pattern.matches(relative):
                return pattern.include
        return None


def _parsed(line: str) -> Iterator[_Pattern]:
    """The patterns in a line; none if git would discard it."""
    body = line.strip().removeprefix("!").removeprefix("/")
    if body in _EVERY_FOLDER and not line.strip().lstrip("!").startswith("/"):
        yield _Pattern(not line.strip().startswith("!"), None)
        return
    # to git `a/**` is what is in `a`, to pathspec `a/` too
    stripped = line.rstrip("\r\n ")
    if stripped.endswith("/**"):
        line = stripped + "/*"
    elif stripped.endswith("/**/"):
        line = stripped + "*/"
    try:
        parsed = GitIgnoreSpec.from_lines([line]).patterns
    except ValueError:
        return
    for pattern in parsed:
        if isinstance(pattern, RegexPattern) and pattern.include is not None:
            yield _Pattern(pattern.include, pattern)


@dataclass(frozen=True, slots=True)
class IgnoreStack:
    """The pattern sets that apply in one folder, outermost first."""

    sets: tuple[PatternSet, ...] = field(default=())

    def ignored(self, path: str) -> bool:
        """Whether the entry `path` is ignored, its parents being known not to be."""
        for patterns in reversed(self.sets):
            decision = patterns.decide(path)
            if decision is not None:
                return decision
        return False

    def with_file(self, path: Path, base: str) -> IgnoreStack:
        """This stack and the patterns of the file `path`, if it is there and can be read."""
        try:
            # a .gitignore that is a folder, a dangling link or not text is no reason to stop
            text = path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return self
        patterns = PatternSet.parse(text.removeprefix("\ufeff").split("\n"), base)
        return IgnoreStack((*self.sets, patterns)) if patterns.patterns else self
