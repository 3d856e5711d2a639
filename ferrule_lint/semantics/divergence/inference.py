"""What a function issues that runs without gradients by its own word: nothing of what modules do in training only.

`if self.training: all_gather(...)` in a module says that the ranks agree on something for the backward pass. A function
under `@torch.inference_mode()`, or one that generates under `@torch.no_grad()`, runs modules in evaluation; so does one
that is handed a model after `model.eval()`, unless it puts that back into training itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.conditions import atoms, evaluate
from ferrule_lint.semantics.domain.summary import Summary
from ferrule_lint.semantics.domain.trace import Attempt, CallTerm, Choice, Event, Loop, Term, Trace
from ferrule_lint.semantics.project.entities import FunctionInfo

#: calls of calls that are looked into
_DEEPEST = 6
_INFERS = re.compile(r"_*(generate|predict|sample|evaluate|infer|decode|translate)")

EventsOf = Callable[[Trace], tuple[Event, ...]]


def infers(function: FunctionInfo) -> bool:
    """Whether a function, by its decorators, runs modules in evaluation."""
    names = function.decorator_names
    return "inference_mode" in names or ("no_grad" in names and _INFERS.match(function.name) is not None)


def of_call(summary: Summary, events_of: EventsOf) -> Summary:
    """What a call issues that is handed a model in evaluation mode."""
    if summary.evaluated is None:
        summary.evaluated = _called(summary, events_of, {}, 0)
    return summary.evaluated


def _puts_back(summary: Summary) -> bool:
    """Whether a function puts something into training mode: `model.train()`."""
    function = summary.function
    if function is None or not function.module.mentions_any(_TRAIN):
        return False
    calls = (node for node in walk(function.body) if type(node) is f.Call)
    return any(type(call.func) is f.Attr and call.func.attr == "train" for call in calls)


_TRAIN = frozenset({"train"})


def in_evaluation(trace: Trace, events_of: EventsOf, known: dict[int, Summary] | None = None, depth: int = 0) -> Trace:
    """A trace without the arms that modules take in training only, those in calls too; itself if there are none."""
    known = {} if known is None else known

    def inner(part: Trace) -> Trace:
        return in_evaluation(part, events_of, known, depth)

    out: list[Term] = []
    for term in trace:
        if type(term) is Choice:
            training = {a.key: False for a in atoms(term.formula) if a.key.endswith(".training")}
            taken = evaluate(term.formula, training) if training else None
            if taken is not None:
                out.extend(inner(term.body if taken else term.orelse))
                continue
            body, orelse = inner(term.body), inner(term.orelse)
            if body is not term.body or orelse is not term.orelse:
                term = term._replace(body=body, orelse=orelse)
        elif type(term) is Loop:
            if (body := inner(term.body)) is not term.body:
                term = term._replace(body=body)
        elif type(term) is Attempt:
            handlers = tuple((line, inner(handler)) for line, handler in term.handlers)
            if (body := inner(term.body)) is not term.body or not _alike(handlers, term.handlers):
                term = Attempt(body, handlers)
        elif type(term) is CallTerm and term.summary.events and depth < _DEEPEST:
            called = _called(term.summary, events_of, known, depth)
            term = term if called is term.summary else term._replace(summary=called)
        out.append(term)
    unchanged = len(out) == len(trace) and all(a is b for a, b in zip(out, trace, strict=True))
    return trace if unchanged else tuple(out)


def _alike(a: tuple[tuple[int, Trace], ...], b: tuple[tuple[int, Trace], ...]) -> bool:
    return all(x is y for (_, x), (_, y) in zip(a, b, strict=True))


def _called(summary: Summary, events_of: EventsOf, known: dict[int, Summary], depth: int) -> Summary:
    if id(summary) not in known:
        known[id(summary)] = summary  # a function that calls itself
        if _puts_back(summary):
            return summary
        trace = in_evaluation(summary.trace, events_of, known, depth + 1)
        if trace is not summary.trace:
            known[id(summary)] = summary.with_trace(trace, events_of(trace))
    return known[id(summary)]
