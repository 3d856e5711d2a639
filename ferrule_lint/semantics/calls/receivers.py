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
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.domain.targets import MethodTarget
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DEEPEST = 8


def as_variable(class_name: str) -> str:
    """What an instance of a class is called: `CheckpointManager` -> `checkpoint_manager`."""
    return _WORDS.sub("_", class_name).strip("_").lower()


class Receivers:
    """Classes by what their instances are called; looked up when first asked."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        #: what instances are called -> (file, class)
        self._called: dict[str, list[tuple[ModuleInfo, str]]] | None = None

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
        if self._called is None:
            self._called = {}
            for path, module in self._analysis.names.modules.items():
                if not is_test(path):
                    for name, _ in module.outline.classes:
                        self._called.setdefault(as_variable(name), []).append((module, name))
        return self._called.get(variable, ())


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


def only_method(frame: Frame, name: str) -> FunctionInfo | None:
    """The method of this name when only one class of the project has it and the name is not an everyday one."""
    everyday = len(name) < 8 or "_" not in name.strip("_") or name.startswith("__")
    return None if everyday else frame.analysis.names.only_method(name)


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
