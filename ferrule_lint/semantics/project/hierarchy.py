"""Inherited methods that mean something else for a subclass: template methods, hooks, abstract steps.

What a method calls on its own instance is looked up in the instance's class. So a method that a subclass inherits, and
that calls (through others, maybe) something which the subclass overrides with a method that communicates, or whose
answer the rank decides, is analysed for the subclass too: this is class hierarchy analysis (Dean, Grove, Chambers
1995), one concrete class at a time, since two overrides of different subclasses never run together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo
from ferrule_lint.semantics.project.reads import Memo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: subclasses for which one inherited method is analysed
MOST_SUBCLASSES = 4
#: classes that inherit from one; the methods of one with more are analysed for none of them by itself when called on it
MOST_HEIRS = 100
#: implementations of one abstract method; one with more is no interface for communication
MOST_IMPLEMENTATIONS = 6
_DEEPEST = 6


class Hierarchy:
    """Subclasses of the project's classes, and what they change of inherited methods; looked up when first asked."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._below: Memo[str, list[ClassInfo]] = Memo(analysis.names.reads)
        self._has_heirs: dict[str, bool] = {}
        #: last name of a base -> (class that has it, file); names -> what imports make of them
        self._by_base: dict[str, list[tuple[str, str]]] | None = None
        self._renamed: dict[str, set[str]] = {}
        self._asked: dict[str, frozenset[str]] = {}
        self._implementations: Memo[str, list[tuple[ClassInfo, FunctionInfo]]] = Memo(analysis.names.reads)

    def below(self, info: ClassInfo) -> list[ClassInfo]:
        """The classes of the project that inherit from a class, in the order of their files."""
        return self._below.find(info.id, lambda: self._found_below(info), [])

    def has_many_heirs(self, cls: str) -> bool:
        """Whether a whole library of classes inherits from one, by its id: what its methods do for each of them would
        be looked at hundreds of times, and hardly ever differs."""
        with self._analysis.names.reads.answering("heirs", cls):
            if cls not in self._has_heirs:
                info = self._analysis.names.class_of_id(cls)
                self._has_heirs[cls] = info is not None and len(self.below(info)) > MOST_HEIRS
        return self._has_heirs[cls]

    def _found_below(self, info: ClassInfo) -> list[ClassInfo]:
        names = self._analysis.names
        names.reads.ask("base", info.name)
        return [
            sub
            for path in sorted(self.may_inherit(info.name))
            for sub in names.modules[path].classes.values()
            if any(base is info for base in names.mro(sub)[1:])
        ]

    def may_inherit(self, name: str) -> set[str]:
        """The files with classes that, by the names of their bases, may inherit from a class of this name."""
        if self._by_base is None:
            self._by_base = {}
            for path, module in self._analysis.names.modules.items():
                for sub, bases in module.outline.classes:
                    for base in bases:
                        self._by_base.setdefault(base, []).append((sub, path))
                for bound, (dotted, _) in module.bound.items():
                    if bound != (said := dotted.rpartition(".")[2]):
                        self._renamed.setdefault(said, set()).add(bound)
        paths: set[str] = set()
        seen: set[str] = set()
        names = [name]
        while names:
            name = names.pop()
            if name not in seen:
                seen.add(name)
                names += self._renamed.get(name, ())
                for sub, path in self._by_base.get(name, ()):
                    paths.add(path)
                    names.append(sub)
        return paths

    def implementations(
        self, function: FunctionInfo, types: frozenset[ClassInfo]
    ) -> list[tuple[ClassInfo, FunctionInfo]]:
        """The methods that do something for an abstract one, each with a class that has it, below `types`."""
        known = self._implementations.find(function.id, lambda: self._found_implementations(function), [])
        names = self._analysis.names
        owner = function.module.classes.get(function.owner or "")
        return [(sub, m) for sub, m in known if owner in types or any(info in names.mro(sub) for info in types)]

    def _found_implementations(self, function: FunctionInfo) -> list[tuple[ClassInfo, FunctionInfo]]:
        found: dict[str, tuple[ClassInfo, FunctionInfo]] = {}
        owner = function.module.classes.get(function.owner) if function.owner else None
        for sub in self._implementers(owner) if owner is not None else ():
            method = self._analysis.names.method(sub, function.name)
            if method is not None and not method.traits.says_nothing:
                found.setdefault(method.id, (sub, method))
        if len(found) > MOST_IMPLEMENTATIONS:
            self._analysis.count("implementations of an abstract method")
            return []
        return list(found.values())

    def _implementers(self, owner: ClassInfo) -> list[ClassInfo]:
        """The subclasses of a class; of a protocol, the classes that have all of its methods as well."""
        found = self.below(owner)
        names = self._analysis.names
        if owner.methods and any(b.rpartition(".")[2] == "Protocol" for b in names.external_bases(owner)):
            first = next(iter(owner.methods))
            classes = (m.module.classes.get(m.owner or "") for m in names.methods_named(first))
            found = [*found, *(c for c in classes if c and c not in found and c.methods.keys() >= owner.methods.keys())]
        return [c for c in found if c is not owner]

    def contexts(self, function: FunctionInfo) -> list[ClassInfo]:
        """Subclasses for which an inherited method issues other events than for the class that defines it."""
        owner = function.module.classes.get(function.owner) if function.owner else None
        if owner is None or function.is_static or function.is_class_method or function.parent is not None:
            return []
        if self.has_many_heirs(owner.id):
            return []
        found: list[ClassInfo] = []
        for sub, changed in self.told_apart(function, owner):
            if any(self._matters(m, sub) for m in changed):
                found.append(sub)
            if len(found) >= MOST_SUBCLASSES:
                self._analysis.count("subclasses of an inherited method")
                break
        return found

    def told_apart(self, function: FunctionInfo, owner: ClassInfo) -> Iterator[tuple[ClassInfo, list[FunctionInfo]]]:
        """The subclasses of a class for which a method that it has does something else, one for each way to, and what
        they override for that."""
        seen: set[frozenset[str]] = set()
        for sub in self.below(owner):
            if self._analysis.names.method(sub, function.name) is not function.origin:
                continue
            changed = self._changed(function, owner, sub)
            key = frozenset(m.id for m in changed)
            if changed and key not in seen:
                seen.add(key)
                yield sub, changed

    def _changed(self, function: FunctionInfo, owner: ClassInfo, sub: ClassInfo) -> list[FunctionInfo]:
        """What the subclass overrides of the methods that a method reaches through its own instance."""
        names = self._analysis.names
        changed: dict[str, FunctionInfo] = {}
        seen = {function.id}
        level = [function]
        for _ in range(_DEEPEST):
            following: list[FunctionInfo] = []
            for method in level:
                for name in self.asked_of_self(method):
                    mine, inherited = names.method(sub, name), names.method(owner, name)
                    if mine is None or mine.id in seen:
                        continue
                    seen.add(mine.id)
                    if mine is inherited:
                        following.append(mine)
                    else:
                        changed[mine.id] = mine
            level = following
        return list(changed.values())

    def asked_of_self(self, method: FunctionInfo) -> frozenset[str]:
        """The attributes that a method takes of its own instance."""
        body = method.body
        known = self._asked.get(method.id)
        if known is None:
            receiver = method.parameters[0].name if method.parameters else ""
            known = frozenset(
                node.attr for node in nodes(body, f.Attr) if type(node.base) is f.Name and node.base.id == receiver
            )
            self._asked[method.id] = known
        return known

    def _matters(self, method: FunctionInfo, sub: ClassInfo) -> bool:
        """Whether an override communicates, or answers by the rank: `return super().is_due() and self.is_main`."""
        known = self._analysis.summaries.of(method, (), sub, None, 0)
        if known is None:
            return False
        told = known[0].result.divergence
        if told is not None and told.kind == "rank" and told.confidence >= Confidence.MEDIUM:
            return True
        return any(e.confidence >= Confidence.MEDIUM for e in known[0].events)
