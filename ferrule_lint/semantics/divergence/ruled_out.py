"""Calls that issue nothing under the settings that lead to them: `if args.reuse: evaluate()`, where `evaluate`, or what
it calls, begins with `if args.reuse: return saved`.

What a program is started with is one set of settings, under one name of its own or in an attribute (`self.args`), and
holds everywhere unless some file of the project sets it anew. What models are made with (`config`) may differ from one
to the other.

So it is with options of a class that nobody takes (`Statistics(shape)`, which is made with `over_mpi=False`), where
another class or a function calls a method that asks for one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.calls.summaries import MOST_EVENTS
from ferrule_lint.semantics.divergence import left_at_default, never_set, of_one_rank, stood_in_for
from ferrule_lint.semantics.divergence.compare import Occurrence
from ferrule_lint.semantics.divergence.reach import way_to
from ferrule_lint.semantics.domain.conditions import Formula, atoms, evaluate, implied
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Event, Trace, every_term, same_event
from ferrule_lint.semantics.project import options
from ferrule_lint.semantics.project.programs import is_test
from ferrule_lint.semantics.sources.setting_names import hold_settings

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo

#: a field of what a program is started with, as it stands in an atom's key, whichever version of the whole it is of,
#: also where that is asked for by a call (`get_args().reuse`); one that was set here has a number of its own behind it
_SETTING = re.compile(
    r"(?:^|\.)(?:get)?_?(args|opts?|options|flags|hparams|cfg)(?:\(\)|#\d+)?\.([A-Za-z_]\w*)$", re.IGNORECASE
)
#: calls through which an event is followed
_DEEPEST = 8


class RuledOut:
    """What settings rule out in one run of the checks over a function."""

    def __init__(self, analysis: Analysis, function: FunctionInfo | None = None) -> None:
        self._analysis = analysis
        self._function = function

    def all(self, root: Trace, occurrences: Sequence[Occurrence]) -> bool:
        """Whether everything that was found lies behind calls which issue nothing under the settings around them."""
        calls = [o.call for o in occurrences]
        return bool(calls) and all(call is not None and self._issues_nothing(root, call) for call in calls)

    def left(self, root: Trace, occurrences: Sequence[Occurrence]) -> list[Occurrence]:
        """What is not ruled out of what was found: one of two classes that an object may be of, say."""
        return [o for o in occurrences if o.call is None or not self._issues_nothing(root, o.call)]

    def for_nobody(self, divergence: Divergence) -> bool:
        """Whether the data of one rank decides in what no other rank comes to."""
        if divergence.kind != "data" or self._function is None:
            return False
        return of_one_rank.is_for_one(self._analysis, self._function)

    def way_out(self, choice: Choice) -> bool:
        """Whether the way out in the arms of a choice is never gone as far as the project tells, or leads to what the
        function stands in for."""
        analysis, function = self._analysis, self._function
        if function is not None and left_at_default.leaves_nowhere(analysis, function, choice):
            return True
        if function is not None and stood_in_for.leaves_to_it(analysis, function, choice):
            return True
        return never_set.leaves_nowhere(analysis, choice)

    def _issues_nothing(self, root: Trace, call: CallTerm) -> bool:
        known = settings_on(way_to(root, call) or ())
        if len(call.summary.events) >= MOST_EVENTS:
            return False
        if not all(map(self._stays, known)):
            known = {}
        return not any(self._comes_to(call, event, known, {}) for event in call.summary.events)

    def _comes_to(
        self, call: CallTerm, event: Event, known: Mapping[str, bool], seen: dict[int, bool], depth: int = _DEEPEST
    ) -> bool:
        """Whether some way through a call leads to an event under these settings."""
        if id(call.summary) in seen:
            return seen[id(call.summary)]
        seen[id(call.summary)] = True  # one that calls itself, or lies too deep, may come to anything
        if depth:
            trace, function = call.summary.trace, call.summary.function
            seen[id(call.summary)] = any(
                self._holds(function, way_to(trace, term) or (), known)
                and (type(term) is not CallTerm or self._comes_to(term, event, known, seen, depth - 1))
                for term in every_term(trace)
                if (type(term) is Event and same_event(term, event))
                or (type(term) is CallTerm and any(same_event(e, event) for e in term.summary.events))
            )
        return seen[id(call.summary)]

    def _holds(self, function: FunctionInfo | None, way: Sequence[Formula], known: Mapping[str, bool]) -> bool:
        """Whether what is asked on a way may hold under these settings, and with the options that nobody takes."""
        for formula in way:
            told = {**as_set(formula, known), **self._not_taken(function, formula)}
            if told and evaluate(formula, told) is False:
                return False
        return True

    def _not_taken(self, function: FunctionInfo | None, formula: Formula) -> dict[str, bool]:
        """The tests in a formula of another class's method that ask for an option which nobody takes."""
        info = function.module.classes.get(function.owner or "") if function is not None else None
        if function is None or info is None or function.is_static or self._is_of(info):
            return {}
        asked = [(atom.key, atom.key.removeprefix(f"{function.parameters[0].name}.")) for atom in atoms(formula)]
        asked = [(key, name) for key, name in asked if name != key]
        return {key: False for key, name in asked if options.is_off(self._analysis, info, name, by_tests=False)}

    def _is_of(self, info: ClassInfo) -> bool:
        """Whether what is checked is a method of a class: what it leaves out is for those who use it otherwise."""
        own = self._function
        return own is not None and own.module is info.module and own.owner == info.qualname

    def _stays(self, setting: str) -> bool:
        """Whether no file of the project sets a setting, other than for a test."""
        name = setting.rpartition(".")[2]
        return not any(
            type(target) is f.Attr and target.attr == name and hold_settings(target.base)
            for module in self._analysis.names.mentioning(name)
            if not is_test(module.path)
            for _, body in module.bodies()
            for node in walk(body)
            for target in (node.targets if type(node) is f.Assign else ())
        )


def settings_on(way: Sequence[Formula]) -> dict[str, bool]:
    """The settings that some way asks for, and what they are on it."""
    told = [pair for formula in way for pair in implied(formula, True).items()]
    return {name: value for key, value in told if (name := _setting(key))}


def as_set(formula: Formula, known: Mapping[str, bool]) -> dict[str, bool]:
    """How the tests in a formula that ask for settings come out under these."""
    return {atom.key: known[name] for atom in atoms(formula) if (name := _setting(atom.key)) in known}


def _setting(key: str) -> str:
    """The setting that a test asks for, by the atom's key, or ""."""
    match = _SETTING.search(key)
    return f"{match[1]}.{match[2]}" if match else ""
