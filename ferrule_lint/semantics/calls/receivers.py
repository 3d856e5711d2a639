"""Calls of methods on something of unknown class that is named after a class: `checkpoint_manager.save(path)`.

Programs call an object after its class, so where one class of the project has that name and the method, it is taken for
the one (names as evidence for types: Xu, Zhang, Chen, Pei, Xu 2016, "Python probabilistic type inference with natural
language support"). A name is no more than a convention; so what the method only does in some cases stays a guess,
unless no other class has a method of that name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import PRIVATE, UNKNOWN_GROUP
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Event, Exit, Trace
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.models.types import CallModel
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.domain.targets import MethodTarget
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DEEPEST = 8
#: methods of one name that a family of classes may have, for all of them to be looked at
_MOST_OF_A_FAMILY = 4


def as_variable(class_name: str) -> str:
    """What an instance of a class is called: `CheckpointManager` -> `checkpoint_manager`."""
    return _WORDS.sub("_", class_name).strip("_").lower()


def last_word(variable: str) -> str:
    """`trainer` of `base_trainer`"""
    return variable.rpartition("_")[2]


class Receivers:
    """Classes by what their instances are called; looked up when first asked."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        #: what instances are called -> (file, class)
        self._called: dict[str, list[tuple[ModuleInfo, str]]] | None = None
        #: the last word of that -> (file, class)
        self._kinds: dict[str, list[tuple[ModuleInfo, str]]] = {}
        #: library -> files
        self._importing: dict[str, list[str]] = {}

    def named(self, variable: str, method: str) -> tuple[ClassInfo, FunctionInfo] | None:
        """The one class that a variable or attribute is named after, with the method, if it has it and is no module."""
        variable = variable.strip("_").lower()
        self._analysis.names.reads.ask("called", variable)
        found = self.called(variable)
        if len(found) != 1:
            return None
        ((module, name),) = found
        info = next(c for c in module.classes.values() if c.name == name)
        names = self._analysis.names
        known = names.method(info, method)
        if known is None or self._analysis.is_module(info):
            return None
        # with a subclass that does something else, a name is too little to go by
        below = self._analysis.hierarchy.below(info)
        return (info, known) if all(names.method(sub, method) is known for sub in below) else None

    def called(self, variable: str) -> Sequence[tuple[ModuleInfo, str]]:
        """The classes after which a variable would be named so, each with its file."""
        return self._by_name().get(variable, ())

    def only_class(self, name: str) -> ClassInfo | None:
        """The class of a name, if the project has one such outside of tests."""
        variable = as_variable(name)
        self._analysis.names.reads.ask("called", variable)
        found = [module for module, cls in self.called(variable) if cls == name]
        return found[0].classes.get(name) if len(found) == 1 else None

    def of_kind(self, word: str) -> Sequence[tuple[ModuleInfo, str]]:
        """The classes whose names end in a word, each with its file: `BaseTrainer` for "trainer"."""
        self._by_name()
        return self._kinds.get(word, ())

    def importing(self, library: str) -> list[str]:
        """The files that import a library, or a part of it."""
        if library not in self._importing:
            modules = self._analysis.names.modules.items()
            self._importing[library] = [path for path, module in modules if imports(self._analysis, module, library)]
        return self._importing[library]

    def _by_name(self) -> dict[str, list[tuple[ModuleInfo, str]]]:
        if self._called is None:
            self._called = {}
            for path, module in self._analysis.names.modules.items():
                if not is_test(path):
                    for name, _ in module.outline.classes:
                        variable = as_variable(name)
                        self._called.setdefault(variable, []).append((module, name))
                        self._kinds.setdefault(last_word(variable), []).append((module, name))
        return self._called


def call(frame: Frame, target: MethodTarget, arguments: Arguments, text: str) -> Value | None:
    """Call the method of the class that the receiver (`text`) is named after; None if there is none."""
    receiver, analysis = target.receiver, frame.analysis
    if frame.light or receiver.types or receiver.data is not None or receiver.external is not None or receiver.module:
        return None
    named = analysis.receivers.named(text, target.name)
    if named is None:
        return None
    info, method = named
    known = analysis.summaries.of(method, (), info, None, frame.depth + 1)
    surely = known is not None and (issues_anyway(known[0].trace) or only_method(frame, target.name) is method)
    return analysis.call_function(
        frame, method, receiver._replace(types=frozenset({info})), arguments.positional, arguments.keywords,
        arguments.expr.pos, call=arguments.expr, confidence=Confidence.MEDIUM if surely else Confidence.LOW,
    )  # fmt: skip


def has_its_own(frame: Frame, model: CallModel, text: str) -> bool:
    """Whether the project has a class of its own to which such a receiver belongs as well as to the library's: a
    `Trainer` with a `save_checkpoint`, that is none of the library's, in a file that does not import the library."""
    library = model.library.partition(".")[0]
    if not model.hidden or not model.receiver or imports(frame.analysis, frame.module, library):
        return False
    word = last_word(text.strip("_").lower())
    names = frame.analysis.names
    names.reads.ask("of a kind", word)
    names.reads.ask("method", model.name)
    for module, name in frame.analysis.receivers.of_kind(word):
        if model.name not in module.outline.methods:
            continue
        for info in module.classes.values():
            if info.name == name and model.name in info.methods:
                bases = names.external_bases(info)
                if not any(frame.models.canonical(f"{base}.").partition(".")[0] == library for base in bases):
                    return True
    return False


def is_elsewhere(frame: Frame, model: CallModel) -> bool:
    """Whether no file of the project imports a library whose objects such a receiver is called after: then it is
    another's (`trainer` of a plugin of fairseq)."""
    if not model.if_imported:
        return False
    for library in model.if_imported:
        frame.analysis.names.reads.ask("imports library", library)
    return not any(frame.analysis.receivers.importing(library) for library in model.if_imported)


def imports(analysis: Analysis, module: ModuleInfo, library: str) -> bool:
    """Whether a file imports a library, or a part of it."""
    imported = [i.module for i in module.outline.imports if not i.level]
    return any(analysis.models.canonical(f"{name}.").partition(".")[0] == library for name in imported)


def only_method(frame: Frame, name: str) -> FunctionInfo | None:
    """The method of this name when only one class of the project has it and the name is not an everyday one."""
    return None if is_everyday(name) else frame.analysis.names.only_method(name)


def of_a_base(frame: Frame, name: str) -> Sequence[FunctionInfo]:
    """The methods of this name by which subclasses do what a base class names, and does not do: `on_epoch_end` of a
    family of callbacks, few of which do anything there."""
    names = frame.analysis.names
    if is_everyday(name) or len(names.with_method(name)) > _MOST_OF_A_FAMILY:
        return ()
    methods = [method for method in names.methods_named(name) if not is_test(method.module.path)]
    named_by = {(m.module.path, m.owner) for m in methods if m.traits.says_nothing and not m.traits.returns}
    done = [m for m in methods if (m.module.path, m.owner) not in named_by]
    if not named_by or len(done) > _MOST_OF_A_FAMILY:
        return ()
    for method in done:
        info = method.module.classes[method.owner or ""]
        if named_by.isdisjoint([(c.module.path, c.qualname) for c in names.mro(info)]):
            return ()
    return done


def is_everyday(name: str) -> bool:
    """Whether classes that have nothing to do with each other may well have a method of this name."""
    return len(name) < 8 or "_" not in name.strip("_") or name.startswith("__")


def issues_anyway(trace: Trace, depth: int = 0) -> bool:
    """Whether a collective that the text names, on a group that can be told, is issued on every way."""
    for term in trace:
        if type(term) is Event:
            if not term.hidden and term.axes not in (UNKNOWN_GROUP, PRIVATE):
                return True
        elif type(term) is CallTerm:
            if depth < _DEEPEST and issues_anyway(term.summary.trace, depth + 1):
                return True
        elif type(term) is Choice:
            if issues_anyway(term.body, depth) and issues_anyway(term.orelse, depth):
                return True
            if any(type(t) is Exit and t.kind != "raise" for arm in (term.body, term.orelse) for t in arm):
                return False
        elif type(term) is Exit:
            return False
    return False
