"""All checks over the reported files of a project."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from ferrule_lint.checks import (
    bare_way,
    branches,
    calls,
    elsewhere,
    gradients,
    loops,
    middle_stages,
    order,
    p2p,
    rings,
    roles,
    stages,
    unordered,
)
from ferrule_lint.checks.alone import without_those_alone
from ferrule_lint.checks.counted import but_of_counted_rounds
from ferrule_lint.checks.entered import made_up_for
from ferrule_lint.checks.filled_up import but_of_filled_up
from ferrule_lint.checks.handed_none import but_of_those_who_have_it
from ferrule_lint.checks.in_threads import without_those_in_threads
from ferrule_lint.checks.known import FileResult, in_one_text, together
from ferrule_lint.checks.meant import as_it_is_meant
from ferrule_lint.checks.modes import but_in_local_modes
from ferrule_lint.checks.one_engine import without_those_of_one
from ferrule_lint.checks.own_groups import among_others
from ferrule_lint.checks.own_rounds import without_those_in_own_rounds
from ferrule_lint.checks.packed import packed, unpacked
from ferrule_lint.checks.processes import Share, shared_out, worth
from ferrule_lint.checks.remembered import Answers
from ferrule_lint.checks.result import Before, CheckOptions, CheckResult
from ferrule_lint.checks.set_at_end import without_those_before
from ferrule_lint.checks.stories import told_once
from ferrule_lint.checks.survivors import without_those_who_left
from ferrule_lint.checks.torn_down import without_those_behind_the_end
from ferrule_lint.checks.two_programs import of_two_programs
from ferrule_lint.checks.workers import sent_to_workers
from ferrule_lint.checks.worlds import check as worlds
from ferrule_lint.checks.wraps import with_wraps
from ferrule_lint.facts.outline import Facts
from ferrule_lint.facts.types import Body
from ferrule_lint.findings import Confidence, Finding, LintError
from ferrule_lint.models.lookup import ModelSet
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.divergence.ruled_out import RuledOut
from ferrule_lint.semantics.domain.axes import UNKNOWN_GROUP
from ferrule_lint.semantics.domain.trace import Trace, every_event, without_returns
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.gathering import tells_the_same
from ferrule_lint.semantics.project.programs import is_test, of_one_process
from ferrule_lint.semantics.walk.frame import Frame

_STACK = 6000


def check(
    facts: Mapping[str, Facts],
    report: Collection[str],
    models: ModelSet,
    options: CheckOptions | None = None,
    before: Before | None = None,
    like: CheckResult | None = None,
    jobs: int = 1,
) -> CheckResult:
    """Findings of the files in `report`, in the context of all `facts` (posix paths relative to the root).

    With `before`, files that an earlier run has checked are not checked again where that would find the same. `like`:
    the result for the same project with other contents of the files in `report`: a fix that is tried changes next to
    nothing. Up to `jobs` processes share the files, where it pays; what is found is the same.
    """
    options = options or CheckOptions()
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _STACK))
    try:
        return _check(facts, report, models, options, before, like, jobs)
    finally:
        sys.setrecursionlimit(limit)


def _check(
    facts: Mapping[str, Facts],
    report: Collection[str],
    models: ModelSet,
    options: CheckOptions,
    before: Before | None,
    like: CheckResult | None,
    jobs: int,
) -> CheckResult:
    lender = like.answers if like is not None else None
    earlier = before.known if before is not None else lender.lend() if lender is not None else None
    analysis = Analysis(facts, models, options.sharded, earlier.named() if earlier is not None else ())
    looked_at = set(report)
    if options.elsewhere:
        with analysis.names.reads.apart():
            looked_at.update(elsewhere.calling(analysis, report))
    modules = [analysis.names.modules[path] for path in sorted(looked_at) if path in analysis.names.modules]
    answers: Answers | None = None
    lent: Answers | None = None
    known: dict[str, FileResult] = {}
    if before is not None:
        answers = Answers(analysis, before.known, before.digests, before.earlier)
        answers.take_over_evidence()
        known = answers.still_true([module.path for module in modules])
    elif like is not None:
        lent = lender.lent_to(analysis) if lender is not None else None
        if like.evidence is not None and tells_the_same(analysis, like.evidence, report):
            analysis.sharding.take_over(like.evidence)
        elif lent is not None:
            lent.take_over_evidence()
    todo = [module for module in modules if module.path not in known]
    workers = worth(todo, jobs)
    if (answers is not None and todo) or workers > 1:
        # which files have a part in it depends on nothing that is found: it is asked once, and first
        with analysis.names.reads.apart():
            analysis.sharding.gather()
    errors: list[LintError] = []
    if workers > 1:
        shares = list(shared_out(todo, workers, partial(_share, analysis, answers, tuple(known.values()))))
        kept = [share.kept for share in shares if share.kept is not None]
        if before is not None and kept:
            # as if an earlier run had found it: what is missing in it is looked at now
            return _check(facts, report, models, options, replace(before, known=together(kept)), None, 1)
        known.update((result.path, result) for share in shares for result in share.results)
        errors += [error for share in shares for error in share.errors]
    results = [known.get(module.path) or _result(analysis, module, errors, answers or lent) for module in modules]
    if answers is not None:
        answers.results = tuple(results)
    counters: Counter[str] = Counter()
    for result in results:
        counters.update(result.statistics)
    found = [finding for result in results for finding in result.findings]
    evidence = analysis.sharding.evidence
    if answers is None:
        analysis.close()
    if lent is not None:
        lent.close()
    return CheckResult(
        tuple(told_once(_without_repeats(found))),
        dict(sorted(counters.items())),
        tuple(errors),
        tuple(results),
        answers,
        evidence,
    )


def _share(
    analysis: Analysis, answers: Answers | None, known: Sequence[FileResult], modules: Iterable[ModuleInfo]
) -> Share:
    """What one of several processes finds, which has some of the files; `known` are those that nobody checks again."""
    errors: list[LintError] = []
    results = [_result(analysis, module, errors, answers) for module in modules]
    if answers is None:
        return Share(tuple(results), tuple(errors))
    failed = {error.path for error in errors}
    return Share(kept=answers.remembered([*known, *(one for one in results if one.path not in failed)]))


def _result(analysis: Analysis, module: ModuleInfo, errors: list[LintError], before: Answers | None) -> FileResult:
    reads, counted = analysis.names.reads, Counter(analysis.counters)
    nothing_in = before.nothing_in(module.path) if before is not None else {}
    with reads.apart():
        found: list[Finding] = []
        for name, line, look in _parts(analysis, module):
            if name in nothing_in:
                reads.read.update(unpacked(nothing_in[name]))
                continue
            outer, number, budgets = reads.begin(), len(found), analysis.counters.total()
            try:
                for finding in look():
                    found.append(finding)  # it stays if the next one fails
            except Exception as error:
                errors.append(internal_error(module.path, line, name or "<module>", error))
            else:
                if before is not None and len(found) == number and analysis.counters.total() == budgets:
                    nothing_in[name] = packed(reads.read)
            reads.end(outer)
        if is_test(module.path):
            found = [_in_test(finding) for finding in found]
        elif found and of_one_process(analysis, module):
            found = [_of_one_process(finding) for finding in found]
        elif found and not analysis.sharding.is_near_wraps(module.path):
            found = [_of_one_process(f) if _only_of_modules(f) else f for f in found]
        found = made_up_for(analysis, but_in_local_modes(analysis, found))
        found = but_of_those_who_have_it(analysis, without_those_before(analysis, found))
        found = without_those_who_left(analysis, among_others(analysis, found))
        found = without_those_behind_the_end(analysis, found)
        found = but_of_counted_rounds(analysis, without_those_alone(analysis, found))
        found = without_those_of_one(analysis, but_of_filled_up(analysis, found))
        found = sent_to_workers(analysis, without_those_in_own_rounds(analysis, found))
        found = without_those_in_threads(analysis, found)
        found = [as_it_is_meant(analysis, finding) for finding in found]
        found = [bare_way.of_one_process(analysis, finding) for finding in found]
        found = [with_wraps(analysis, of_two_programs(analysis, finding)) for finding in found]
        # what is read says where things stand but for the lines: who shows one depends on the text
        for path in {path for finding in found for path in _shown_in(finding)}:
            reads.ask("file", path)
        read = frozenset(reads.read)
    statistics = dict(analysis.counters - counted)
    return FileResult(module.path, tuple(found), read, reads, statistics, nothing_in=in_one_text(nothing_in))


def _shown_in(finding: Finding) -> Iterator[str]:
    """The files whose lines a finding shows."""
    yield finding.path
    yield from (step.path for step in finding.witness)
    yield from (event.path for event in finding.events)


def _parts(analysis: Analysis, module: ModuleInfo) -> Iterator[tuple[str, int, Callable[[], Iterable[Finding]]]]:
    """The functions of a file, and its top level without a name: where each begins, and what is found in it."""
    for function in module.functions.values():
        yield function.qualname, function.line, partial(_function, analysis, function)
    yield "", 1, partial(_top_level, analysis, module)


def internal_error(path: str, line: int, where: str, error: BaseException) -> LintError:
    """An error of the linter itself, with the innermost place of its trace."""
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    place = f" ({tb.tb_frame.f_code.co_name}, line {tb.tb_lineno})" if tb is not None else ""
    message = f"internal error in `{where}`: {type(error).__name__}: {error}{place}; please report this"
    return LintError(path, line, message)


def _in_test(finding: Finding) -> Finding:
    """A finding in a module of tests, which knows its ranks, groups and data: of two assumptions one is wrong there."""
    sure = finding.confidence == Confidence.HIGH and not any(UNKNOWN_GROUP.issubset(e.axes) for e in finding.events)
    return finding if sure else replace(finding, confidence=Confidence.LOW)


def _of_one_process(finding: Finding) -> Finding:
    """A finding in a program that speaks of no ranks: what it calls may, but for the sake of other programs."""
    return replace(finding, confidence=Confidence.LOW)


def _only_of_modules(finding: Finding) -> bool:
    """Whether all that a finding is about are forwards and backward passes of what is taken to be wrapped."""
    modules = ("forward", "backward")
    return bool(finding.events) and all(e.hidden and e.op in modules for e in finding.events)


def _function(analysis: Analysis, function: FunctionInfo) -> Iterator[Finding]:
    known = analysis.frame_of(function)
    if known is None:
        return
    for summary, frame in (known, *analysis.frames_of_subclasses(function)):
        trace = summary.trace
        if function.name in _HALVES and (other := _other_half(analysis, function)) is not None:
            # both halves are looked at with the first
            trace = () if function.name in ("__exit__", "__aexit__") else (*without_returns(trace), *other)
        yield from _trace(frame, trace, function.display, function.body)


def _top_level(analysis: Analysis, module: ModuleInfo) -> Iterator[Finding]:
    frame = analysis.module_frame(module)
    yield from _trace(frame, frame.trace(), module.name, module.body)


#: ranks that wait on entering a context meet those that wait on leaving it
_HALVES = {"__enter__": "__exit__", "__exit__": "__enter__", "__aenter__": "__aexit__", "__aexit__": "__aenter__"}


def _other_half(analysis: Analysis, function: FunctionInfo) -> Trace | None:
    """The trace of the other of the two methods which make a class a context manager, if both have events."""
    owner = function.module.classes.get(function.owner) if function.owner else None
    other = analysis.names.method(owner, _HALVES[function.name]) if owner is not None else None
    known = analysis.frame_of(other) if other is not None and other.module is function.module else None
    return known[0].trace if known is not None and known[0].events else None


def _is_for_all_stages(frame: Frame, settings: Mapping[str, bool]) -> bool:
    return frame.function is not None and middle_stages.come_to(frame.analysis, frame.function, settings)


def _of_class(frame: Frame) -> Body:
    """The statements of all methods of the class that a function belongs to."""
    methods = frame.self_class.methods.values() if frame.self_class is not None else ()
    return tuple(s for method in methods for s in method.body)


def _trace(frame: Frame, trace: Trace, name: str, body: Body) -> Iterator[Finding]:
    found: list[Finding] = []
    if trace:
        found += stages.check(trace, name, body, lambda settings: _is_for_all_stages(frame, settings))
        ruled_out = RuledOut(frame.analysis, frame.function)
        trusted, by_number = frame.files.suspicious(), not frame.in_module
        found += branches.check(trace, name, ruled_out, trusted, frame.analysis.count, by_number)
        found += loops.check(trace, name, ruled_out)
        found += order.check(trace, name, ruled_out)
        if any(event.p2p for event in every_event(trace)):
            found += _transfers(frame, trace, name, body)
        found += unordered.check(frame, trace, name, body)
    found += calls.check(frame, name)
    yield from found
    if frame.partly_used or frame.gradient_marks:
        surely = [x for x in found if x.confidence > Confidence.LOW]
        reported = {s for x in surely for s in x.witness if s.role in ("source", "condition")}
        forwards = {(e.line, e.column) for x in surely for e in x.events if e.op == "forward" and e.path == x.path}
        yield from gradients.check(frame, name, reported, forwards)


def _transfers(frame: Frame, trace: Trace, name: str, body: Body) -> list[Finding]:
    found = [*p2p.check(trace, name, body), *roles.check(trace, name, body)]
    found += rings.check(trace, name, body, lambda: _of_class(frame), lambda: rings.waits_for_nobody(frame.module))
    # what is wrong in one of these forms is told by it
    return found or list(worlds.check(frame, trace, name, body))


def _without_repeats(findings: list[Finding]) -> list[Finding]:
    """One finding a place and code: the surest, then the one with the shortest witness."""
    best: dict[tuple[object, ...], Finding] = {}
    for finding in findings:
        key = (finding.path, finding.span, finding.code)
        known = best.get(key)
        if known is None or (-finding.confidence, len(finding.witness)) < (-known.confidence, len(known.witness)):
            best[key] = finding
    return sorted(best.values(), key=lambda f: f.sort_key)
