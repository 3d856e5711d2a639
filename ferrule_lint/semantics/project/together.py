"""Which files work together with one of those that wrap modules, as far as imports tell that directly.

A backward pass reduces gradients if what the loss was made with has been wrapped: in the same file, in one that it
takes something from, or by a program that takes something from both. That some other file of a large project wraps its
own models says little. Unlike `nearness`, which asks what can have to do with each other at all, this does not go
through packages, which hold everything together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, GlobalName, ModuleInfo
from ferrule_lint.semantics.project.reads import Memo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: imports behind each other
_DEEPEST = 3
#: how far up files are looked at that take something from one
_FURTHEST = 2


class Together:
    """Files by what they take from each other; looked up when first asked."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        #: the files in which is defined what a file imports
        self._taken: Memo[str, frozenset[str]] = Memo(analysis.names.reads)
        #: the same over others, for so many imports behind each other
        self._reached: Memo[tuple[str, int], frozenset[str]] = Memo(analysis.names.reads)
        #: and but for what the code imports by a name
        self._bound_in: Memo[str, frozenset[str]] = Memo(analysis.names.reads)

    def is_with(self, path: str, some: Collection[str]) -> bool:
        """Whether a file takes something from one of some, at whatever length, or one that uses both does."""
        if path in some or self._reaches(path, some, _DEEPEST):
            return True
        self._analysis.names.reads.ask("imports", "")
        users = {path}
        for _ in range(_FURTHEST):
            users = {user for known in sorted(users) for user in self._users(known)}
            if any(user in some or self._reaches(user, some, _DEEPEST - 1) for user in sorted(users)):
                return True
        return False

    def are_apart(self, one: str, other: str) -> bool:
        """Whether neither of two files imports anything of the other, over others or itself: a registry that holds both
        is left out."""
        return other not in self._imported(one) and one not in self._imported(other)

    def _imported(self, path: str) -> frozenset[str]:
        return self._bound_in.find(path, lambda: frozenset(self._imported_by(path)), frozenset())

    def _imported_by(self, path: str) -> set[str]:
        found = {path}
        for _ in range(_DEEPEST):
            known = [self._analysis.names.modules.get(p) for p in sorted(found) if not self._is_package(p)]
            found |= {m.path for module in known if module is not None for m in self._bound(module)}
        return found

    def _reaches(self, path: str, some: Collection[str], deepest: int) -> bool:
        key = path, deepest
        return not self._reached.find(key, lambda: frozenset(self._taken_at(*key)), frozenset()).isdisjoint(some)

    def _taken_at(self, path: str, deepest: int) -> set[str]:
        found = {path}
        for _ in range(deepest):
            found |= {taken for known in sorted(found) if not self._is_package(known) for taken in self._takes(known)}
        return found

    def _users(self, path: str) -> Iterator[str]:
        """The files that take something from one, also by way of its package."""
        users = self._analysis.imports.users
        direct = users.get(path, ())
        packages = [user for user in sorted(direct) if self._is_package(user)]
        for user in sorted({*direct, *(u for package in packages for u in users.get(package, ()))}):
            if not self._is_package(user) and path in self._takes(user):
                yield user

    def _is_package(self, path: str) -> bool:
        module = self._analysis.names.modules.get(path)
        return module is None or module.is_package

    def _takes(self, path: str) -> frozenset[str]:
        return self._taken.find(path, lambda: self._taken_by(path), frozenset())

    def _taken_by(self, path: str) -> frozenset[str]:
        module = self._analysis.names.modules.get(path)
        if module is None:
            return frozenset()
        named = self._named(module)
        # `from project import models`, and then `models.Wrapped(...)`
        packages = [m for m in named if m.is_package]
        given = {m for package in packages for m in self._named(package) if not m.is_package}
        return frozenset({m.path for m in (*named, *given)} - {path})

    def _named(self, module: ModuleInfo) -> set[ModuleInfo]:
        """The files in which is defined what the imports of one name."""
        names = self._analysis.names
        found = self._bound(module)
        if module.called_for:
            names.reads.ask("imports", "")  # a new file of a package may be meant
            found |= set(names.called_for_by(module))
        return found

    def _bound(self, module: ModuleInfo) -> set[ModuleInfo]:
        """The same, but for those that the code imports by a name."""
        names = self._analysis.names
        found: set[ModuleInfo] = set()
        for name in module.bound:
            entity = names.lookup(module, name)
            if isinstance(entity, ModuleInfo):
                found.add(entity)
            elif isinstance(entity, ClassInfo | FunctionInfo | GlobalName):
                found.add(entity.module)
        for dotted, relative in module.starred:
            starred = names.module_named(dotted, module, relative)
            found |= {starred} if starred is not None else set()
        return found
