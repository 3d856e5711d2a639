"""What has changed in the files of a project since an earlier run, in terms of what the analysis reads.

A file with the same content says the same. Of one that was edited both versions are at hand (the cache of facts has the
earlier one), so each part that somebody has read is compared by itself; and a question to all files has the answer
that it had if it gets the same from both versions of each file that was edited.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from ferrule_lint.checks.questions import OF_CLASSES, OF_FILES, WHATEVER_NAME
from ferrule_lint.facts.outline import Facts, shape_of, whole
from ferrule_lint.facts.parts import Point, Version, Words, speaks_of
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.project.entities import ModuleInfo
from ferrule_lint.semantics.project.reads import Input, Reads

#: digest of a file's content, by its path
Digests = Mapping[str, str]
#: the facts of a file with the content of a digest, if they are kept
Earlier = Callable[[str], Facts | None]
#: kinds of inputs that are named by a path and a definition in that file
OF_DEFINITIONS = frozenset({"body", "class", "traits"})


class Edits:
    """The files that were edited between two runs, were added or are gone."""

    def __init__(
        self, analysis: Analysis, digests: tuple[Digests, Digests], earlier: Earlier, asked: Iterable[Words]
    ) -> None:
        """`digests`: of the earlier run, and of this one; `asked`: what the earlier one asked of the words in files."""
        self._analysis = analysis
        self._digests = digests
        self._earlier = earlier
        self._asked = frozenset(asked)
        before, now = digests
        self.paths = sorted(path for path in {*before, *now} if before.get(path) != now.get(path))
        self._edited = frozenset(self.paths)
        self._versions: dict[str, tuple[Version, Version]] = {}
        #: functions that nobody speaks of, and that a file has beside those it had
        self._beside: dict[str, frozenset[str]] = {}
        self._places: dict[str, dict[Point, Point]] = {}
        self._modules: dict[str, tuple[ModuleInfo | None, ModuleInfo | None] | None] = {}
        #: whether all edited files give the answer that they gave, by the question
        self._alike: dict[Input, bool] = {}
        #: those that have other classes than they had
        self._of_other_classes: list[str] | None = None

    def leave(self, given: Input) -> bool:
        """Whether a file, or a part of one, says what it said."""
        kind, name = given
        path, _, inner = (name, "", "") if kind not in OF_DEFINITIONS else name.rpartition(":")
        if path not in self._edited:
            return True
        if kind == "file" or (both := self._both(path)) is None or None in both:
            return False
        old, new = both
        assert old is not None and new is not None
        if kind == "shape":
            if old.outline.shape == new.outline.shape:
                return True
            added = self._added(path)
            return bool(added) and old.outline.shape == shape_of(whole(new.facts), added)
        if kind == "defined":
            with self._analysis.names.reads.apart():
                return [*old.functions] == [*new.functions]
        if kind == "names":
            return old.outline.names == new.outline.names
        if kind == "words":
            return all(speaks_of(old.outline.names, w) == speaks_of(new.outline.names, w) for w in self._asked)
        if kind == "traits":
            with self._analysis.names.reads.apart():
                one, other = (module.functions.get(inner) for module in (old, new))
                return one is not None and other is not None and one.traits.all() == other.traits.all()
        versions = self._version(path)
        return versions[0].part(kind, inner) == versions[1].part(kind, inner)

    def _version(self, path: str) -> tuple[Version, Version]:
        """A file as it was and as it is, both of which there are."""
        if path not in self._versions:
            old, new = self._both(path) or (None, None)
            assert old is not None and new is not None
            self._versions[path] = Version(old.facts), Version(new.facts, self._added(path))
        return self._versions[path]

    def _added(self, path: str) -> frozenset[str]:
        """The functions at the top level of a file that were not there, run nothing by being defined and have names of
        which nothing spoke before: whatever was looked up in the file is still what it was. Who speaks of them now was
        edited as well."""
        if path not in self._beside:
            old, new = self._both(path) or (None, None)
            before = {fn.qualname for fn in whole(old.facts).functions} if old is not None else set()
            functions = whole(new.facts).functions if old is not None and new is not None else ()
            added = {fn.qualname for fn in functions if not fn.decorators} - before
            names = set(filter(str.isidentifier, added))  # what is nested has dots in its name
            self._beside[path] = frozenset(names if names and not self._spoken_of(names) else ())
        return self._beside[path]

    def _spoken_of(self, names: set[str]) -> bool:
        """Whether one of some names stood in any file, as it was before the edits: in an expression or an import."""
        for path, module in self._analysis.names.modules.items():
            said = (self._both(path) or (None, None))[0] if path in self._edited else module
            if said is None:
                continue
            imported = (part for i in said.outline.imports for part in (i.name, i.alias, i.module.rpartition(".")[2]))
            if not said.outline.names.isdisjoint(names) or not names.isdisjoint(imported):
                return True
        return False

    def moved(self, path: str, point: Point) -> Point | None:
        """Where a place in a file is now; None if the definition around it says something else."""
        if path not in self._edited:
            return point
        if path not in self._places:
            both = self._both(path)
            old, new = both if both is not None else (None, None)
            known = old is not None and new is not None
            self._places[path] = self._version(path)[0].places_now(self._version(path)[1]) if known else {}
        return self._places[path].get(point)

    def relined(self, text: str) -> str:
        """What was written of something that says what it said, with its places as they are; "" if one is gone."""
        if not any(path in text for path in self.paths):
            return text
        try:
            said, places = json.loads(text)
            now = [(path, self.moved(path, (line, column))) for path, line, column in places]
        except (TypeError, ValueError):  # the cache says what this program has never written
            return ""
        if not all(point is not None for _, point in now):
            return ""
        return json.dumps([said, [(path, *point) for path, point in now if point]], separators=(",", ":"))

    def leave_answer(self, question: Input) -> bool:
        """Whether each edited file gives the answer to a question that it gave; then so do all of them together."""
        kind, name = question
        key = (kind, "" if kind in WHATEVER_NAME else name)
        if key not in self._alike:
            if kind in OF_CLASSES and self._of_other_classes is None:
                self._of_other_classes = [path for path in self.paths if not self._has_the_classes(path)]
            paths = self._of_other_classes if kind in OF_CLASSES else self.paths
            self._alike[key] = all(self._answers_alike(question, path) for path in paths or ())
        return self._alike[key]

    def _answers_alike(self, question: Input, path: str) -> bool:
        kind, name = question
        both = self._both(path)
        if both is None:
            return False
        with self._analysis.names.reads.apart():
            old, new = (OF_FILES[kind](self._analysis, m, name) if m is not None else None for m in both)
        return old == new or not (old or new)

    def _has_the_classes(self, path: str) -> bool:
        """Whether there are classes of the same names in a file as there were."""
        old, new = self._both(path) or (None, None)
        names = [[cls for cls, _ in m.outline.classes] for m in (old, new) if m is not None]
        return len(names) == 2 and names[0] == names[1]

    def _both(self, path: str) -> tuple[ModuleInfo | None, ModuleInfo | None] | None:
        """A file as it was and as it is, None where there was or is none; None if that is not known any more."""
        if path not in self._modules:
            before, now = self._digests
            old = self._earlier(before[path]) if path in before else None
            new = self._analysis.names.modules.get(path)
            lost = (path in before and old is None) or (path in now and new is None)
            earlier = ModuleInfo(path, old, Reads()) if old is not None else None
            self._modules[path] = None if lost else (earlier, new)
        return self._modules[path]
