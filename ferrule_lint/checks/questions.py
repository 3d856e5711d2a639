"""The questions on whose answers findings depend, and how each is asked of an analysis.

Some are answered by the outlines of all files, and an edit changes the answer only if it changes what its file has to
do with it. Others are worked out from inputs of their own (see `semantics.project.reads`).
"""

from __future__ import annotations

from collections.abc import Callable

from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.calls import plain_methods
from ferrule_lint.semantics.calls.receivers import as_variable, imports, last_word
from ferrule_lint.semantics.control import end_of_data
from ferrule_lint.semantics.data import collators
from ferrule_lint.semantics.project import (
    back_ends,
    begun,
    built_around,
    gathering,
    handed_over,
    handed_wrapped,
    kept_arguments,
    options,
    signals,
    training,
    wrapping_names,
)
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.programs import is_test
from ferrule_lint.semantics.sources import absent_inputs, admissions, always_given, collected, own_device

#: questions to all files: what one file has to do with the answer, which is nothing where that is empty
OF_FILES: dict[str, Callable[[Analysis, ModuleInfo, str], object]] = {
    "module": lambda analysis, module, name: True,
    "method": lambda analysis, module, name: name in module.outline.methods,
    "mention": lambda analysis, module, name: name in module.outline.names,
    "base": lambda analysis, module, name: [*module.outline.classes, *wrapping_names.renamed(module)],
    "called": lambda analysis, module, name: (
        [cls for cls, _ in module.outline.classes if as_variable(cls) == name] if not is_test(module.path) else []
    ),
    "of a kind": lambda analysis, module, word: (
        [cls for cls, _ in module.outline.classes if last_word(as_variable(cls)) == word]
        if not is_test(module.path)
        else []
    ),
    "imports library": imports,
    "imports": lambda analysis, module, name: (True, sorted(module.bound.items()), module.starred, module.called_for),
    "renamed": lambda analysis, module, name: [*wrapping_names.renamed(module), *wrapping_names.inherited(module)],
    "may wrap": lambda analysis, module, name: wrapping_names.speaks_of(module, wrapping_names.names(analysis)),
    "many classes": lambda analysis, module, name: len(module.outline.classes),
    "trains": lambda analysis, module, name: training.file_trains(module),
    "may seed": lambda analysis, module, name: analysis.seeding.can_seed(module),
    "of signals": lambda analysis, module, name: signals.of_signals(module),
    "speaks": lambda analysis, module, name: back_ends.speaks(module, name),
}
#: those that say of a file what it says, whatever they are about
WHATEVER_NAME = frozenset({"module", "base", "imports"})
#: those that go by the names of the classes in a file, and by nothing else of it
OF_CLASSES = frozenset({"called", "of a kind"})

_Question = Callable[[Analysis, str], list[str]]
#: questions to all files, which the outlines answer
OF_ALL: dict[str, _Question] = {
    "module": lambda analysis, name: analysis.names.candidates(name),
    "method": lambda analysis, name: analysis.names.with_method(name),
    "mention": lambda analysis, name: [module.path for module in analysis.names.mentioning(name)],
    "base": lambda analysis, name: sorted(analysis.hierarchy.may_inherit(name)),
    "called": lambda analysis, name: [f"{m.path}:{cls}" for m, cls in analysis.receivers.called(name)],
    "of a kind": lambda analysis, word: [f"{m.path}:{cls}" for m, cls in analysis.receivers.of_kind(word)],
    "imports library": lambda analysis, name: analysis.receivers.importing(name),
    "imports": lambda analysis, name: [f"{path} {sorted(to)}" for path, to in analysis.imports.imported.items()],
    "renamed": lambda analysis, name: sorted(wrapping_names.names(analysis)),
    "may wrap": lambda analysis, name: sorted(wrapping_names.files(analysis)),
    "many classes": lambda analysis, name: [str(gathering.number_of_classes(analysis) > gathering.MOST_MEANT)],
    "trains": lambda analysis, name: [str(training.trains(analysis))],
    "may seed": lambda analysis, name: analysis.seeding.may_seed(),
    "of signals": lambda analysis, name: analysis.signals.of_signals(),
    "speaks": lambda analysis, question: analysis.back_ends.speaking(question),
    "of data sets": lambda analysis, name: collected.speaking(analysis),
}
#: questions whose answers are worked out from other inputs
WORKED_OUT: dict[str, _Question] = {
    "sharding": lambda analysis, name: analysis.sharding.gather().lines(),
    "seeding": lambda analysis, name: analysis.seeding.evidence(),
    "signals": lambda analysis, name: sorted(analysis.signals.handlers()),
    "calls of": options.said_of_calls,
    "calls in": lambda analysis, path: _of_file(analysis, path, _calls_in),
    "heirs": lambda analysis, cls: [str(analysis.hierarchy.has_many_heirs(cls))],
    "calls that wrap": lambda analysis, path: gathering.calls_that_wrap(analysis, path),
    "feed in": lambda analysis, question: [str(analysis.threads.in_file(*question.split(" ", 1)))],
    "feed": lambda analysis, name: [str(analysis.threads.feed(name))],
    "handled": lambda analysis, name: [str(analysis.exceptions.handled(name))],
    "back end": lambda analysis, path: [str(analysis.back_ends.may_shard(path))],
    "back end beside": lambda analysis, path: [str(analysis.back_ends.may_shard(path, beside_deepspeed=True))],
    "trained by": training.trained_by,
    "used where trained": training.used_where_trained,
    "only run around": lambda analysis, path: [str(training.only_run_around(analysis, path))],
    "near": lambda analysis, path: [str(analysis.sharding.is_near(path))],
    "with_wraps": lambda analysis, paths: [str(analysis.sharding.is_with_wraps(*paths.split("\n")))],
    "beside_wraps": lambda analysis, path: [str(analysis.sharding.is_beside_wraps(path))],
    "near_wraps": lambda analysis, path: [str(analysis.sharding.is_near_wraps(path))],
    "rebound": lambda analysis, path: _of_file(analysis, path, lambda m: sorted(m.declared_global().items())),
    "handling": lambda analysis, path: _of_file(analysis, path, lambda m: analysis.exceptions.handling(m).said()),
    "uneven": lambda analysis, path: _of_file(analysis, path, lambda m: end_of_data.is_dealt_out(analysis, m)),
    "even": lambda analysis, path: _of_file(analysis, path, lambda m: end_of_data.deals_out_evenly(analysis, m)),
    "stacking": lambda analysis, path: _of_file(analysis, path, lambda m: collators.only_stacks(analysis, m)),
    "collating": lambda analysis, path: _of_file(analysis, path, lambda m: collators.methods_taken(analysis, m)),
    "own devices": lambda analysis, path: _of_file(analysis, path, lambda m: own_device.chosen_by(analysis, m)),
    "accumulates": lambda analysis, path: _of_file(analysis, path, analysis.accumulators.filled_in),
    "stored": lambda analysis, method: analysis.holders.stored(method),
    "called under tests": lambda analysis, method: analysis.holders.called(method),
    "option": lambda analysis, name: _of_option(analysis, *name.rsplit(" ", 2)),
    "built around": lambda analysis, question: _of_parameter(analysis, question, built_around.is_given_module),
    "given wrapper": lambda analysis, question: _of_parameter(analysis, question, built_around.wrapper_given),
    "kept": lambda analysis, question: _of_parameter(analysis, question, kept_arguments.of_parameter),
    "begun": lambda analysis, question: _of_parameter(analysis, question, _begun),
    "handed wrapped": lambda analysis, question: _of_parameter(analysis, question, handed_wrapped.wrapper_of),
    "handed over": lambda analysis, question: _of_parameter(analysis, question, handed_over.of_parameter),
    "handed on": lambda analysis, function: _handed_on(analysis, function),
    "kept under": lambda analysis, name: [str(plain_methods.is_kept_under(analysis, name))],
    "bare": lambda analysis, cls: _of_class(analysis, cls, analysis.sharding.is_bare),
    "filled": lambda analysis, name: [str(absent_inputs.is_filled(analysis, name))],
    "collected": lambda analysis, name: list(collected.entries(analysis)),
    "always given": lambda analysis, name: [str(always_given.is_always_given(analysis, name))],
    "in turn": lambda analysis, name: [str(absent_inputs.is_in_turn(analysis))],
}
#: functions and attributes: what they say is compared as a whole (see `said`)
SAID: dict[str, Callable[[Analysis, str], object]] = {
    "summary": lambda analysis, question: analysis.summaries.answer(question),
    "attribute": lambda analysis, question: analysis.holders.answer(question),
    "writes": lambda analysis, question: analysis.holders.written(question),
    "variable": lambda analysis, question: analysis.holders.variable(question),
    "light": lambda analysis, question: analysis.light.answer(question),
}
#: those whose answers rest on inputs of their own
ASKED = frozenset({*WORKED_OUT, *SAID})
QUESTIONS = frozenset({*OF_ALL, *ASKED})


def _of_file(analysis: Analysis, path: str, answer: Callable[[ModuleInfo], object]) -> list[str]:
    module = analysis.names.modules.get(path)
    return [] if module is None else [repr(answer(module))]


def _calls_in(module: ModuleInfo) -> dict[str, list[str]]:
    """Where a file calls what: the functions around the calls of each name."""
    return {
        name: [owner.id if owner is not None else "" for owner, _ in calls]
        for name, calls in module.calls_by_name().items()
    }


def _handed_on(analysis: Analysis, function: str) -> list[str]:
    found = analysis.names.function_of_id(function)
    return [] if found is None else sorted(map(repr, admissions.handed_on(analysis, found).items()))


def _of_class(analysis: Analysis, cls: str, answer: Callable[[ClassInfo], object]) -> list[str]:
    info = analysis.names.class_of_id(cls)
    return [] if info is None else [repr(answer(info))]


def _of_option(analysis: Analysis, cls: str, name: str, by_tests: str) -> list[str]:
    return _of_class(analysis, cls, lambda info: options.is_off(analysis, info, name, by_tests == "True"))


def _of_parameter(
    analysis: Analysis, question: str, answer: Callable[[Analysis, FunctionInfo, str], object]
) -> list[str]:
    function, name = question.rsplit(" ", 1)
    found = analysis.names.function_of_id(function)
    return [] if found is None else [repr(answer(analysis, found, name))]


def _begun(analysis: Analysis, function: FunctionInfo, name: str) -> list[str]:
    return [one.said() for one in begun.of_parameter(analysis, function, name)]
