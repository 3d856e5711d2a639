"""Mixins: classes that are a part of others, and ask their instance for what only those have.

What a mixin's method does is told by the class that it is mixed into: there are its modules, its rank, its settings. So
it is analysed for that class, and where there are several of them that differ in what it asks for, for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.project.entities import ClassInfo
from ferrule_lint.semantics.project.hierarchy import MOST_HEIRS, MOST_SUBCLASSES
from ferrule_lint.semantics.project.reads import Memo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: bases outside the project that bring nothing along which an instance could be asked for
_EMPTY_BASES = frozenset({"object", "ABC", "Generic", "Protocol"})


class Mixins:
    """The classes that each mixin of a project is mixed into; looked up when first asked."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._wholes: Memo[str, tuple[ClassInfo, ...]] = Memo(analysis.names.reads)
        self._had: Memo[str, frozenset[str]] = Memo(analysis.names.reads)

    def wholes(self, info: ClassInfo) -> tuple[ClassInfo, ...]:
        """The classes for which the methods of a mixin are analysed; none for a class that is whole by itself."""
        return self._wholes.find(info.id, lambda: self._found(info), ())

    def _found(self, info: ClassInfo) -> tuple[ClassInfo, ...]:
        names = self._analysis.names
        if names.method(info, "__init__") is not None or self._has_more(info):
            return ()
        below = self._analysis.hierarchy.below(info)
        if not below or len(below) > MOST_HEIRS:
            return ()
        own = frozenset(names.mro(info))
        had: frozenset[str] = frozenset().union(*map(self._has, own))
        hierarchy = self._analysis.hierarchy
        missing: frozenset[str] = frozenset().union(*(hierarchy.asked_of_self(m) for m in info.methods.values())) - had
        found: list[ClassInfo] = []
        seen: set[frozenset[tuple[str, str]]] = set()
        for sub in below:
            bases = names.mro(sub)[1:]
            if any(base in found for base in bases):
                continue  # it is whole without what this class adds
            brought = frozenset(
                (name, base.id) for base in (sub, *bases) if base not in own for name in self._has(base) & missing
            )
            if brought in seen or not (brought or (missing and self._has_more(sub))):
                continue
            seen.add(brought)
            found.append(sub)
            if len(found) >= MOST_SUBCLASSES:
                self._analysis.count("classes that a mixin is mixed into")
                break
        return tuple(found)

    def _has_more(self, info: ClassInfo) -> bool:
        """Whether a class inherits from something outside the project that may hold anything."""
        return any(b.rpartition(".")[2] not in _EMPTY_BASES for b in self._analysis.names.external_bases(info))

    def _has(self, info: ClassInfo) -> frozenset[str]:
        """The methods and attributes that a class itself brings to its instances."""
        return self._had.find(info.id, lambda: self._found_in(info), frozenset())

    def _found_in(self, info: ClassInfo) -> frozenset[str]:
        found = {*info.methods, *info.attributes}
        for method in info.methods.values():
            receiver = method.parameters[0].name if method.parameters else ""
            for s in statements(method.body):
                for target in s.targets if type(s) is f.Assign else ():
                    for place in target.elements if type(target) is f.Sequence else (target,):
                        if type(place) is f.Attr and type(place.base) is f.Name and place.base.id == receiver:
                            found.add(place.attr)
        return frozenset(found)
