"""Which files of a project import which: by their outlines, without reading a body."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.names import Names

Edges = Mapping[str, Collection[str]]


class ImportGraph:
    """Paths of files and of what they import, worked out on first use. Who asks notes the question `imports` by itself:
    those of all files are read for it."""

    def __init__(self, names: Names) -> None:
        self._names = names

    @cached_property
    def imported(self) -> Edges:
        """What each file imports."""
        modules = self._names.modules
        with self._names.reads.apart():
            return {path: {m.path for m in self._names.imported_by(module)} for path, module in modules.items()}

    @cached_property
    def users(self) -> Edges:
        """The files that import a file; none that nothing imports."""
        found: dict[str, set[str]] = defaultdict(set)
        for path, others in self.imported.items():
            for other in others:
                found[other].add(path)
        return dict(found)


def closed(start: Iterable[str], edges: Edges) -> set[str]:
    """All that is reached over the edges, the start included."""
    found = set(start)
    todo = list(found)
    while todo:
        for other in edges.get(todo.pop(), ()):
            if other not in found:
                found.add(other)
                todo.append(other)
    return found
