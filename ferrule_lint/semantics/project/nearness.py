"""Which files can have to do with what is wrapped somewhere in the project.

Where a wrapped module's class cannot be told, it may be any. But a repository of examples has many programs, and what
one of them wraps is not made in another: the two share no file that imports both.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ferrule_lint.semantics.project.entities import ModuleInfo
from ferrule_lint.semantics.project.import_graph import closed
from ferrule_lint.semantics.project.programs import can_be_started

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis


class Nearness:
    """What some file imports, over others or itself, which also imports one of those that wrap; what lies in a package
    with such a file, since a registry finds modules without an import, and is no program of its own; and, unless
    `strangers` is False, what belongs to no program at all, as nobody knows who uses that. What is installed by itself
    is not used by a project that lies beside it and imports nothing of it."""

    def __init__(self, analysis: Analysis, wrapping: Iterable[str], strangers: bool = True) -> None:
        self._modules = analysis.names.modules
        analysis.names.reads.ask("imports", "")
        self._users = analysis.imports.users
        self._near = closed(closed(wrapping, self._users), analysis.imports.imported)
        self._packages = {self._package(path) for path in self._near} - {""}
        self._strangers = strangers
        self._known: dict[str, bool] = {}

    def __contains__(self, path: str) -> bool:
        if path not in self._known:
            self._known[path] = (
                path in self._near
                or (self._package(path) in self._packages and not self._is_program(path))
                or (self._strangers and not self._is_apart(path) and not self._is_of_program(path))
            )
        return self._known[path]

    def _is_program(self, path: str) -> bool:
        return path in self._modules and can_be_started(self._modules, self._modules[path])

    def _is_of_program(self, path: str) -> bool:
        return any(can_be_started(self._modules, m) for m in self._using(path))

    def _is_apart(self, path: str) -> bool:
        """Whether a file lies in a folder that is installed by itself, and nothing near does."""
        folder = path
        while folder := folder.rpartition("/")[0]:
            if f"{folder}/setup.py" in self._modules:
                return not any(near.startswith(f"{folder}/") for near in self._near)
        return False

    def _using(self, path: str) -> Iterator[ModuleInfo]:
        """A file and those that import it, over others or themselves."""
        users = closed([path], self._users)
        return (self._modules[user] for user in sorted(users) if user in self._modules)

    def _package(self, path: str) -> str:
        """The topmost package that a file lies in, "" for a loose one."""
        folder, top = path.rpartition("/")[0], ""
        while folder and f"{folder}/__init__.py" in self._modules:
            folder, top = folder.rpartition("/")[0], folder
        return top
