"""Summaries of functions, on demand and bottom-up over the call graph.

A function is analysed once for each *context*: what its arguments fix of it (None / True / False, "a group is given",
callables). Recursion is silent: a summary that is still being computed has no events and an unknown result. A summary
that was computed while one further down the stack was open is thrown away with its cycle's root, so that what is kept
does not depend on where the analysis began (the strongly connected components of the call graph, found on the way).
"""

from __future__ import annotations

import collections
import json
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from ferrule_lint.semantics.calls import by_class, decorators, forwards, passed_classes
from ferrule_lint.semantics.control import exceptions
from ferrule_lint.semantics.divergence import guessed, inference, latent
from ferrule_lint.semantics.domain.dependences import NOTHING
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.summary import Summary
from ferrule_lint.semantics.domain.targets import MethodTarget
from ferrule_lint.semantics.domain.trace import CallTerm, Event, Trace, parts
from ferrule_lint.semantics.gradients import gradient_order, meeting, no_loss, only_logged, partly_used, stage_values
from ferrule_lint.semantics.project.annotations import leaves_no_none
from ferrule_lint.semantics.project.entities import SPELLED, ClassInfo, FunctionInfo
from ferrule_lint.semantics.project.reads import UNKNOWN_ANSWER, Input, Numbers
from ferrule_lint.semantics.walk import given, returned, sizing, state
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.holders import enter

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

DEEPEST_CALL = 24
#: contexts of one function (of one class, in one closure). Real code stays below: were they to run out, it would depend
#: on the order of the files which of them are told apart
MOST_CONTEXTS = 256
#: how often a summary that leans on unfinished ones is computed anew
MOST_ATTEMPTS = 48
#: summaries of one function, in all contexts, classes and closures
MOST_SUMMARIES = 2048
MOST_EVENTS = 16
MOST_ESCAPES = 4

Context: TypeAlias = tuple[tuple[str, Value], ...]
#: a function's id, its context, the class of its receiver, what it is nested in
Key: TypeAlias = tuple[str, Context, str, Frame | None]


class Summaries:
    """What functions do, seen from their callers."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._known: dict[Key, tuple[Summary, Frame | None]] = {}
        self._open: dict[Key, int] = {}
        #: lowest open frame that the frame at each depth has leant on
        self._leans: list[int] = []
        #: open functions that call themselves, as far as one has seen
        self._again: set[Key] = set()
        #: how many contexts of a function there are, attempts at a summary, and summaries of a function
        self._contexts: collections.Counter[tuple[object, ...]] = collections.Counter()
        self._attempts: collections.Counter[Key] = collections.Counter()
        self._of_function: collections.Counter[str] = collections.Counter()
        #: what somebody wants the frame of
        self._with_frame: set[Key] = set()
        #: what was read for each summary that answers no question
        self._read: dict[Key, Numbers] = {}

    def of(
        self, function: FunctionInfo, context: Context, info: ClassInfo | None, closure: Frame | None, depth: int
    ) -> tuple[Summary, Frame | None] | None:
        """The summary of a function in a context, and the frame it was read off, which is kept for constructors and
        without a context only; None when a budget ended."""
        key: Key = (function.spelling, context, info.id if info else "", closure)
        known = self._known.get(key)
        reads = self._analysis.names.reads
        if known is not None:
            if known[0].busy and self._leans:
                self._leans[-1] = min(self._leans[-1], self._open[key])
                self._again.add(key)
                reads.lean(key)
            asked = known[0].question
            reads.use(asked, reads.rests[asked] if asked is not None else self._read.get(key, ()))
            return known
        if key not in self._with_frame and (kept := self._recalled(key)) is not None:
            return kept
        if depth > DEEPEST_CALL:
            self._analysis.count("calls nested too deeply")
            return None
        if not self._attempts[key]:
            variant = (function.id, key[2], closure)
            if context and self._contexts[variant] >= MOST_CONTEXTS:
                self._analysis.count("contexts of a function")
                return self.of(function, (), info, closure, depth)
            self._contexts[variant] += bool(context)
            self._of_function[function.id] += 1
        self._attempts[key] += 1
        if self._attempts[key] > MOST_ATTEMPTS or self._of_function[function.id] > MOST_SUMMARIES:
            self._analysis.count("summaries of a function")
            return None
        place = len(self._leans)
        before = reads.begin()
        question: Input | None = None
        try:
            known, leans = self._computed(key, (), function, context, info, closure, depth)
            if key in self._again:
                self._again.discard(key)
                if leans == place and known[0].events:
                    # what a call of itself does is what was found without such calls: one level of them is seen
                    known, leans = self._computed(key, known, function, context, info, closure, depth)
            if leans >= place:
                known[0].question = question = question_of(key)
            if question is None:
                reads.remember(self._read, key, self._known, key)
            else:
                reads.remember(reads.rests, question, self._known, key)
        finally:
            reads.settle(key)
            reads.end(before, question)
        if leans < place:
            del self._known[key]
            if self._leans:
                self._leans[-1] = min(self._leans[-1], leans)
        return known

    def _recalled(self, key: Key) -> tuple[Summary, None] | None:
        """The summary that an earlier run has found, without its frame."""
        reads = self._analysis.names.reads
        question = question_of(key) if reads.earlier is not None else None
        summary = reads.recall(question) if question is not None else UNKNOWN_ANSWER
        if question is None or type(summary) is not Summary:
            return None
        summary.question, summary.recalled = question, True
        self._known[key] = summary, None
        reads.use(question, reads.rests[question])
        return summary, None

    def answer(self, question: str) -> Summary | None:
        """The summary that answers a question; None if there is no such function any more."""
        function, cls, *context = json.loads(question)
        names = self._analysis.names
        found = names.function_of_id(function)
        info = names.class_of_id(cls) if cls else None
        if found is None or (cls and info is None):
            return None
        given = tuple(
            (name, Value(there=True) if const is None else Value(uniform=True, const=const)) for name, const in context
        )
        known = self.of(found, given, info, None, 0)
        return known[0] if known is not None else None

    def with_frame(
        self, function: FunctionInfo, context: Context, info: ClassInfo | None, closure: Frame | None, depth: int
    ) -> tuple[Summary, Frame | None] | None:
        """The same for those who look into the frame: they rest on all that was read for the summary."""
        key: Key = (function.spelling, context, info.id if info else "", closure)
        if key not in self._with_frame:
            self._with_frame.add(key)
            if key in self._known and self._known[key][0].recalled:
                del self._known[key]
        known = self.of(function, context, info, closure, depth)
        if known is not None and known[0].question is not None:
            reads = self._analysis.names.reads
            reads.read.update(reads.rests[known[0].question])
        return known

    def _computed(
        self,
        key: Key,
        before: tuple[Summary, Frame | None] | tuple[()],
        function: FunctionInfo,
        context: Context,
        info: ClassInfo | None,
        closure: Frame | None,
        depth: int,
    ) -> tuple[tuple[Summary, Frame | None], int]:
        """A function's summary and frame, and the lowest open frame that they lean on; `before` is what calls of itself
        find, nothing if they are to be silent."""
        summary = Summary(function)
        frame = Frame(self._analysis, function.module, function, depth=depth, closure=closure)
        known: tuple[Summary, Frame | None] = (summary, frame)
        place = len(self._leans)
        self._open[key] = place
        self._known[key] = before or known
        self._leans.append(place)
        try:
            enter(frame, function, info, dict(context), None)
            passed_in = [
                (p.name, frame.env.get(p.name)) for p in function.parameters if p.kind in ("normal", "keyword")
            ]
            decorators.run(frame, function)
            summary.hands_back = returned.handed_back(frame, passed_in)
        except RecursionError:
            self._analysis.count("too deep for Python's stack")
            frame.terms.clear()
        finally:
            leans = self._leans.pop()
            del self._open[key]
            summary.busy = False
        self._known[key] = known
        self._finish(summary, frame)
        stage_values.finish(frame)
        if summary.events:
            operations = self._operations(function, context)
            methods = passed_classes.methods_of(self._analysis, context)
            count = self._analysis.count
            summary.in_context = latent.of_context(summary.trace, dict(context), operations, methods, count)
        if function.qualname not in function.module.outer:
            # nobody looks names up in it any more
            for held in (frame.env, frame.versions, frame.terms, frame.returns, frame.definitions):
                held.clear()
            if function.name != "__init__":  # what that has fixed is asked for by `with` blocks
                frame.self_writes.clear()
                frame.left_in.clear()
                if context:
                    self._known[key] = (summary, None)
            frame.put_away()
        return known, leans

    def _operations(self, function: FunctionInfo, context: Context) -> frozenset[str]:
        """What a function issues by methods of the library's objects that a context passes."""
        asked = (by_class.issued(self._analysis, function, n, v.external) for n, v in context if v.external is not None)
        of_items = (
            passed_classes.issued_for_each(self._analysis, function, n, v.holds)
            for n, v in context
            if v.holds is not None
        )
        return frozenset().union(*asked, *of_items)

    def evaluated(self, summary: Summary) -> Summary:
        """What a call comes to that is handed a model in evaluation mode."""
        return inference.of_call(summary, self._events_of)

    def guessed(self, summary: Summary) -> Summary:
        """What a call comes to that is made by what only generates."""
        return guessed.of_call(summary, self._events_of)

    def part(self, summary: Summary, trace: Trace) -> Summary:
        """A call of which no more is looked at than some of what it issues."""
        return replace(summary, trace=trace, events=self._events_of(trace))

    def _events_of(self, trace: Trace) -> tuple[Event, ...]:
        return tuple(_events(trace, self._analysis.count))

    def _finish(self, summary: Summary, frame: Frame) -> None:
        assert summary.function is not None
        summary.trace = frame.trace()
        if inference.infers(summary.function):
            summary.trace = inference.in_evaluation(summary.trace, self._events_of)
        summary.result = sizing.given_back(frame, state.in_its_place(frame, returned.result_of(frame)))
        if frame.gradients:
            summary.result = only_logged.left_out(frame, meeting.returned(frame, summary.result))
            if no_loss.makes_targets(summary.function.name):
                summary.result = no_loss.without_gradient(summary.result)
            partly_used.at_return(frame, summary.result)
        annotated = self._analysis.annotations.class_of(summary.function.returns, summary.function.module)
        if annotated is not None and not summary.result.types and _tells_nothing(summary.result):
            summary.result = summary.result._replace(types=frozenset({annotated}), target=None)
        elif summary.result.external is None and not summary.result.types and _tells_nothing(summary.result):
            told = self._analysis.annotations.instance_of(summary.function.returns, summary.function.module)
            if told is not None:
                summary.result = summary.result._replace(external=told.external, module=told.module, target=None)
        if summary.result.presence is None and leaves_no_none(summary.function.returns):
            summary.result = summary.result._replace(there=True)
        parameters = {p.name for p in summary.function.parameters}
        summary.made_uniform = given.agreed(frame)
        summary.left_in, summary.surely = given.left(frame)
        summary.self_writes, summary.self_uniform = state.left(frame)
        summary.gradient_kinds = gradient_order.shown(frame)
        summary.wraps = frozenset(frame.wraps & parameters) or NOTHING
        summary.sharded = tuple((n, to) for n, to in frame.sharded.items() if n in parameters and not frame.version(n))
        summary.written = frame.files.told_to_callers(parameters)
        summary.events = tuple(_events(summary.trace, self._analysis.count))
        summary.escapes = tuple(list(exceptions.told_to_callers(frame, summary))[:MOST_ESCAPES])
        summary.fallible = frame.fallible
        if len(frame.latents) >= latent.MOST_LATENTS:
            self._analysis.count("latent findings of a function")
        own = latent.of_summary(summary.trace, self._analysis.count) if summary.events else ()
        summary.latents = (*frame.latents[: latent.MOST_LATENTS], *own)
        summary.fields = given.asked(summary)


def question_of(key: Key) -> Input | None:
    """The question that a summary answers: what does this function do, called so; None if that cannot be written."""
    function, context, info, closure = key
    if closure is not None or SPELLED in function or not all(map(_is_simple, context)):
        return None
    return "summary", json.dumps([function, info, *([name, value.const] for name, value in context)])


def _is_simple(given: tuple[str, Value]) -> bool:
    """Whether a context says no more of a parameter than which constant it is, or that it is there."""
    value = given[1]
    return value in (Value(uniform=True, const=value.const), Value(there=True))


def _tells_nothing(value: Value) -> bool:
    """Whether the text says less of what a value may be called or asked for than an annotation does: it refers to
    nothing, or is an attribute of something unknown (`return self._trainer`)."""
    return value.target is None or type(value.target) is MethodTarget


def _events(trace: Trace, count: Callable[[str], None]) -> list[Event]:
    """One event of each kind in a trace and in the calls it makes: the surest, of those the first."""
    found: dict[tuple[object, ...], Event] = {}
    stack = list(reversed(trace))
    while stack:
        term = stack.pop()
        if type(term) is Event:
            _keep(found, term)
        elif type(term) is CallTerm:
            for event in term.summary.events:
                if event.confidence > term.confidence:
                    event = event._replace(confidence=term.confidence)
                event = forwards.made_in(term, event)
                _keep(found, event._replace(dummy=event.dummy or term.dummy))
        else:
            stack.extend(reversed(parts(term)))
    if len(found) >= MOST_EVENTS:
        count("kinds of events of a function")
    return list(found.values())


def _keep(found: dict[tuple[object, ...], Event], event: Event) -> None:
    kind = (event.op, event.axes, event.hidden, event.channel)
    known = found.get(kind)
    if known is None and len(found) >= MOST_EVENTS and not _makes_room(found, event):
        return
    dummy = event.dummy and (known is None or known.dummy)  # one of a real input is enough
    if known is None or event.confidence > known.confidence:
        found[kind] = event._replace(dummy=dummy)
    elif forwards.is_of_first(known) and not forwards.is_of_first(event):
        found[kind] = event._replace(dummy=dummy, confidence=known.confidence)
    elif known.dummy and not dummy:
        found[kind] = known._replace(dummy=False)


def _makes_room(found: dict[tuple[object, ...], Event], event: Event) -> bool:
    """Lets go of the least sure of several events of one operation, the last of them, for another operation or a surer
    event: a model of many layers has a forward for each, and the reduction behind it is told of, too."""
    ops = [known.op for known in found.values()]
    several = [(known.confidence, -place) for place, known in enumerate(found.values()) if ops.count(known.op) > 1]
    if not several:
        return False
    least, place = min(several)
    if event.op in ops and event.confidence <= least:
        return False
    del found[list(found)[-place]]
    return True
