"""The questions that the analyser asks of the models.

Exact dotted names come first; bare method names with a receiver pattern second; conventions last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeVar

from ferrule_lint.models.types import AttributeModel, CallModel, ClassModel, ModelFile

_Model = TypeVar("_Model", CallModel, AttributeModel)


class _Pattern:
    """A regular expression that is compiled when it is first asked: most never are."""

    __slots__ = ("_compiled", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._compiled: re.Pattern[str] | None = None

    def _pattern(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self._text)
        return self._compiled

    def found_in(self, text: str) -> bool:
        return self._pattern().search(text) is not None


class ModelSet:
    """All loaded models, indexed."""

    def __init__(self, files: Iterable[ModelFile]) -> None:
        self.files = tuple(files)
        self._calls: dict[str, CallModel] = {}
        self._methods: dict[str, list[tuple[_Pattern, CallModel]]] = {}
        self._attributes: dict[str, AttributeModel] = {}
        self._attribute_patterns: dict[str, list[tuple[_Pattern, AttributeModel]]] = {}
        self._classes: dict[str, ClassModel] = {}
        self._aliases: list[tuple[str, str]] = []
        patterns: dict[str, list[tuple[str, tuple[str, ...]]]] = {}
        for file in self.files:
            self._aliases.extend(file.aliases)
            for call in file.calls:
                if call.receiver is None:
                    self._calls[call.name] = call
                else:
                    self._methods.setdefault(call.name, []).append((_Pattern(call.receiver), call))
            for attribute in file.attributes:
                if attribute.receiver is None:
                    self._attributes[attribute.name] = attribute
                else:
                    pattern = _Pattern(attribute.receiver)
                    self._attribute_patterns.setdefault(attribute.name, []).append((pattern, attribute))
            for model in file.classes:
                self._classes[model.name] = model
            for convention in file.conventions:
                patterns.setdefault(convention.what, []).append((convention.pattern, convention.axes))
        self._conventions = patterns
        self._aliases.sort(key=lambda pair: -len(pair[0]))
        self._prefixes = tuple([prefix for prefix, _ in self._aliases])
        self.convention = lru_cache(maxsize=None)(self._convention)
        self._matching = lru_cache(maxsize=None)(self._compiled)
        self.canonical = lru_cache(maxsize=None)(self._canonical)
        #: last names of the calls that wrap modules, or tell that somebody does
        self.wrapping = frozenset(
            call.name.rpartition(".")[2]
            for file in self.files
            for call in file.calls
            if call.wraps or call.shards_by or call.units_by or call.wraps_by or call.wraps_all or call.strategy
        )
        #: those of them that are classes, from which a project's own may inherit
        wrappers = (call.name for file in self.files for call in file.calls if call.wraps)
        self.wrapping_classes = frozenset(n for name in wrappers if (n := name.rpartition(".")[2])[:1].isupper())
        #: operation -> the mode in which it is none, for those whose calls all have the same
        self.local_within = {
            call.event: call.local_within
            for file in self.files
            for call in file.calls
            if call.event is not None and call.local_within
        }
        #: last names of attributes that are flags of a library's loop
        self.assigned = frozenset(
            a.name.rpartition(".")[2] for file in self.files for a in file.attributes if a.assigned
        )
        #: last names of methods whose result a library works on
        self.worked_on = frozenset(
            call.name.rpartition(".")[2] for file in self.files for call in file.calls if call.returned
        )
        #: last names of calls that have a function called again when it raises
        self.trying_again = frozenset(
            call.name.rpartition(".")[2] for file in self.files for call in file.calls if call.tries_again
        )
        #: classes of what a call makes that puts a module in parts: an engine
        self.engines = frozenset(call.makes for file in self.files for call in file.calls if call.wraps and call.makes)
        #: classes of libraries of whose methods and attributes some model speaks
        owners = {name.rpartition(".")[0] for name in (*self._calls, *self._attributes)}
        self._owners = frozenset(name for name in owners if name.rpartition(".")[2][:1].isupper())
        self._libraries = frozenset(file.library.partition(".")[0] for file in self.files)
        named = (name for known in (self._calls, self._attributes, self._classes) for name in known if "." in name)
        self._named = self._libraries | {name.partition(".")[0] for name in named}

    def _canonical(self, dotted: str) -> str:
        if not dotted.startswith(self._prefixes):
            return dotted
        for prefix, target in self._aliases:
            if dotted.startswith(prefix):
                return target + dotted[len(prefix) :]
        return dotted

    def call(self, dotted: str) -> CallModel | None:
        """The model of the function or method with this full dotted name; a class has its base's methods."""
        dotted = self.canonical(dotted)
        return self._calls.get(dotted) or self._of_base(dotted, self.call)

    def method(self, name: str, receiver: str) -> CallModel | None:
        """The model of `receiver.name(...)` for a receiver of unknown type, by the receiver's last name."""
        for pattern, call in self._methods.get(name, ()):
            if pattern.found_in(receiver):
                return call
        return None

    def attribute(self, dotted: str) -> AttributeModel | None:
        dotted = self.canonical(dotted)
        return self._attributes.get(dotted) or self._of_base(dotted, self.attribute)

    def _of_base(self, dotted: str, find: Callable[[str], _Model | None]) -> _Model | None:
        owner, _, name = dotted.rpartition(".")
        known = self._class(owner)
        return find(f"{known.base}.{name}") if known is not None and known.base else None

    def attribute_of(self, name: str, receiver: str) -> AttributeModel | None:
        for pattern, attribute in self._attribute_patterns.get(name, ()):
            if pattern.found_in(receiver):
                return attribute
        return None

    def class_(self, dotted: str) -> ClassModel | None:
        return self._class(self.canonical(dotted))

    def _class(self, dotted: str) -> ClassModel | None:
        """The model of a class by its name, else that of all classes of its module (`torchmetrics.text.*`), or of the
        package that this lies in (`torchmetrics.text.rouge.ROUGEScore`)."""
        known = self._classes.get(dotted)
        if known is None:
            module, _, name = dotted.rpartition(".")
            if name[:1].isupper():
                known = self._classes.get(f"{module}.*") or self._classes.get(f"{module.rpartition('.')[0]}.*")
        return known

    def more_than_module(self, dotted: str) -> str | None:
        """The full name of a class that models know as more than some module or tensor; None if they do not."""
        name = self.canonical(dotted)
        if name == "torch.Tensor":
            return None
        model = self._class(name)
        known = model.role != "module" if model is not None else name in self._owners
        return name if known else None

    def known_class(self, dotted: str) -> str | None:
        """The full name of a class of which models know methods or attributes; None if they know none."""
        name = self.canonical(dotted)
        return name if name in self._owners else None

    def knows_library(self, dotted: str) -> bool:
        """Whether some model speaks of the package that this dotted name starts with."""
        return dotted.partition(".")[0] in self._libraries

    def names_library(self, dotted: str) -> bool:
        """Whether the package that this dotted name starts with is that of some library of which a model says anything:
        also of one that has no file of its own (`numpy.random`)."""
        return dotted.partition(".")[0] in self._named

    def _convention(self, what: str, name: str) -> tuple[str, ...] | None:
        """Axes of the first convention of this sort that the whole `name` matches (maybe empty), else None."""
        return next((axes for matches, axes in self._matching(what) if matches(name)), None)

    def _compiled(self, what: str) -> list[tuple[Callable[[str], re.Match[str] | None], tuple[str, ...]]]:
        """The conventions of one sort, once somebody asks for it: most names are held against all of them."""
        return [(re.compile(pattern).fullmatch, axes) for pattern, axes in self._conventions.get(what, ())]
