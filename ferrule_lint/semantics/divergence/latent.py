"""Latent findings: what comes true when a divergent argument is passed.

A parameter is a symbolic condition. A choice on it whose arms issue different events is nothing to report in the
function itself, and a finding at the call that passes something divergent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls.forwards import is_of_buffers
from ferrule_lint.semantics.calls.instantiate import asks_for_entries, divergence_through, of_its_later
from ferrule_lint.semantics.calls.shapes import (
    is_of_type,
    meets,
    selected_by_content,
    shape_message,
    shape_problems,
    told_by_rank,
)
from ferrule_lint.semantics.control import more_items, needed
from ferrule_lint.semantics.data.by_lot import OF_ANOTHER
from ferrule_lint.semantics.data.ordering import length_deps
from ferrule_lint.semantics.divergence import by_one, ends
from ferrule_lint.semantics.divergence.compare import Comparison, Occurrence, branch_code, first_in_order
from ferrule_lint.semantics.divergence.difference import Effort, difference
from ferrule_lint.semantics.divergence.reach import asked_by_one
from ferrule_lint.semantics.divergence.sent_earlier import pairs_later
from ferrule_lint.semantics.divergence.signatures import issues
from ferrule_lint.semantics.domain.axes import UNKNOWN_GROUP, WORLD, overlap
from ferrule_lint.semantics.domain.conditions import Atom, atoms, divergence_of
from ferrule_lint.semantics.domain.dependences import (
    CONTAINED,
    COUNTED,
    EMPTY,
    FLOWS,
    HELD,
    ITEM,
    ITERATED,
    LATER,
    NO_DEPS,
    OBSERVED,
    PICKED,
    PRESENT,
    TRUE,
    ZERO,
    asked_for_by_callee,
    only,
    recast,
    told_from_zero,
)
from ferrule_lint.semantics.domain.lattice import Divergence, Value, rounds_of, taken_with_all, worse
from ferrule_lint.semantics.domain.summary import Latent, Summary
from ferrule_lint.semantics.domain.targets import FunctionTarget, PartialTarget
from ferrule_lint.semantics.domain.trace import (
    Choice,
    Exit,
    Loop,
    Trace,
    choices_and_loops,
    every_term,
    has_exit,
    not_the_last,
    takes_each,
)
from ferrule_lint.semantics.groups import same_for_all
from ferrule_lint.semantics.walk.frame import CallIssue, Frame

MOST_LATENTS = 24
DEEPEST = 5
#: forms of choices whose text is a test as it is written
_TESTS = frozenset({"if", "short circuit", "conditional expression", "assertion"})
_ANY = Divergence(WORLD, "rank", (), Confidence.HIGH)


def of_summary(trace: Trace, count: Callable[[str], None]) -> tuple[Latent, ...]:
    """The latent findings of a function's own trace; `count` is told what a budget leaves out."""
    out: list[Latent] = []
    effort = Effort(count)
    of_one = frozenset(asked_by_one(trace))
    for term in choices_and_loops(trace):
        if len(out) >= MOST_LATENTS:
            count("latent findings of a function")
            break
        if type(term) is Choice and (id(term) in of_one or _only_raises(term)):
            continue
        if type(term) is Choice:
            own = {a.key: a._replace(divergence=_ANY) for a in atoms(term.formula) if _is_open(a, term)}
            if not own or len(own) > 3:
                continue
            apart, asked = by_one.told_apart(trace, term, own, of_one)
            found = difference(apart, asked, own, _ANY, Confidence.MEDIUM, effort=effort)
            if found is None:
                continue
            guess = [ends.asks_who_is_one(trace, o) for o in found.occurrences]
            shown = _surest([o for o, is_guess in zip(found.occurrences, guess, strict=True) if is_guess is all(guess)])
            event = shown.event._replace(confidence=Confidence.LOW) if all(guess) else shown.event
            code = "FER103" if found.after_exit else branch_code(found.occurrences, "")
            deps = frozenset().union(*(a.deps for a in own.values()))
            where, is_test = (term.path, term.pos, term.text), term.form in _TESTS
            out.append(Latent(code, "condition", deps, *where, event, shown.call, is_test=is_test))
        elif type(term) is Loop and term.deps and term.trip is None:
            first = _first_of_a_round(term, collectives_only=True) or _first_of_a_round(term, collectives_only=False)
            if first is not None:
                event, call = first
                each = takes_each(term.body)
                where = (term.path, term.pos, term.text)
                out.append(Latent("FER104", "trips", term.deps, *where, event, call, each=each))
    return (*out, *_of_order(trace))


def _only_raises(choice: Choice) -> bool:
    """Whether a test decides over nothing but whether there is an exception: on which ranks there is none, they issue
    the same. What else hangs on what it asks for is a choice of its own, and most tests in a constructor are like
    this."""
    terms = [t for t in every_term(choice.body + choice.orelse) if type(t) is not Choice]
    return bool(terms) and all(type(t) is Exit and t.kind == "raise" for t in terms)


def _first_of_a_round(loop: Loop, *, collectives_only: bool) -> Occurrence | None:
    comparison = Comparison(WORLD, Confidence.MEDIUM, True, collectives_only=collectives_only)
    others = not_the_last(loop.body)
    if not issues(comparison.signature(loop.body, (), others)):
        return None
    occurrences: list[Occurrence] = []
    comparison.occurrences(loop.body, others, occurrences)
    each = [o for o in occurrences if not o.once]
    return _surest(each) if each else None


def _surest(occurrences: Sequence[Occurrence]) -> Occurrence:
    """The first that is no forward of a module which need not be the one that is sharded, if there is one."""
    return next((o for o in occurrences if not o.event.assumed), occurrences[0])


def _is_open(atom: Atom, choice: Choice) -> bool:
    """Whether it is for callers to say if a test differs; at the end of an iterator there may be a guess here, too, and
    where a function that is called takes by a parameter's name for local data what nobody knows of here, or this one
    takes a list that it is passed to be empty on some ranks."""
    if atom.divergence is None or not atom.deps:
        return bool(atom.deps)
    why = atom.divergence
    by_name = why.assumed and (why.empty or any(step.role == "call" for step in why.why))
    return (by_name or choice.form == "exception") and why.confidence == Confidence.LOW


def _of_order(trace: Trace) -> Iterator[Latent]:
    """Loops with events over what a parameter decides the order of."""
    for term in choices_and_loops(trace):
        if type(term) is not Loop or term.order is not None:
            continue
        deps = frozenset(d for d in term.deps if d[1] == ITERATED)
        event = first_in_order(term.body, Confidence.MEDIUM) if deps else None
        if event is not None:
            yield Latent("FER106", "order", deps, term.path, term.pos, term.text, event.event, event.call)


def of_context(
    trace: Trace,
    context: Mapping[str, Value],
    operations: Collection[str],
    methods: Collection[int],
    count: Callable[[str], None],
) -> tuple[tuple[Divergence, Latent], ...]:
    """Divergent choices around calls of a callable that was passed in, or of a module in DDP, and around `operations`
    of a library's object, or `methods` of one of the project's (by identity): nobody but the caller can be told."""
    passed = {*methods, *(id(t.function.origin) for v in context.values() if (t := _function_of(v)) is not None)}
    modules = any(v.module and v.external for v in context.values())
    if not passed and not modules and not operations:
        return ()
    out: list[tuple[Divergence, Latent]] = []
    effort = Effort(count)
    for term in choices_and_loops(trace):
        if type(term) is not Choice or len(out) >= MOST_LATENTS:
            continue
        divergence = divergence_of(term.formula)
        if divergence is None:
            continue
        own = {a.key: a for a in atoms(term.formula) if a.divergence is not None}
        found = difference(trace, term, own, divergence, Confidence.MEDIUM, effort=effort)
        calls = [o for o in found.occurrences if _is_passed(o, passed, modules, operations)] if found else []
        if found is None or not calls or _is_told_there(found.occurrences, calls):
            continue
        if not pairs_later(trace, term, found):
            event = calls[0].event
            code = branch_code(calls[:1], divergence.kind)
            if found.after_exit:
                survived = (has_exit(term.body) or has_exit(term.orelse)) in ("caught", "leaves")
                code = "FER105" if survived else "FER103"
            out.append((divergence, Latent(code, "condition", NO_DEPS, term.path, term.pos, term.text, event)))
    return tuple(out)


def _is_told_there(occurrences: Sequence[Occurrence], passed: Sequence[Occurrence]) -> bool:
    """Whether the function itself has a collective that hangs on the same choice: it is a finding of its own."""
    return any(o not in passed and o.event.confidence > Confidence.LOW and not o.event.assumed for o in occurrences)


def _is_passed(occurrence: Occurrence, functions: set[int], modules: bool, operations: Collection[str]) -> bool:
    """Whether an occurrence is a call of one of these functions, a forward that only a module in DDP makes one, or one
    of some operations."""
    if modules and is_of_buffers(occurrence.event):
        return True
    if occurrence.event.hidden and occurrence.event.op in operations:
        return True
    return occurrence.call is not None and id(occurrence.call.summary.origin) in functions


def _function_of(value: Value) -> FunctionTarget | None:
    target = value.target
    while type(target) is PartialTarget:
        target = target.target.target
    return target if type(target) is FunctionTarget else None


def _is_dealt_out(length: Divergence) -> bool:
    """Whether all that is said of a number of items is that they are, or were made of, the rank's own batch: nothing
    was read, left out or put aside on the way. A loader deals out as many to every rank."""
    return length.kind == "data" and not any(step.role == "flow" for step in length.why)


def _is_reckoned(length: Divergence) -> bool:
    """Whether a number of rounds is told by a process, or follows from the rank over more than one step: who reckons so
    what each rank has sees to the rounds of the helpers that it is handed to. A rank, or a share of something, that is
    handed on as it is tells for itself, and so does what is filled on some ranks only, because they have something.
    Which of two loaders is walked, where each rank draws for itself, nobody reckons with."""
    reckoned = (step for step in length.why if step.role == "flow" and not _ON_SOME.search(step.note))
    by_lot = bool(length.why) and length.why[-1].note.endswith(OF_ANOTHER)
    return (length.kind == "host" and not by_lot) or (length.kind == "rank" and any(reckoned))


_ON_SOME = re.compile(
    r"^whether `.*` is there differs between ranks$|(is filled|gets items) on some ranks only$|"
    r"^`len\([\w.]+\)` differs$|yields as many batches as this rank has items for$"  # of a share, as it is
)


def _is_needed(frame: Frame, call: f.Call | None, name: str, summary: Summary) -> bool:
    """Whether the caller takes for granted what it passes: without it, it would not get far after the call."""
    function = summary.function
    if call is None or frame.function is None or function is None:
        return False
    given = next((v for k, v in call.keywords if k == name), None)
    names = [p.name for p in function.parameters if p.kind == "normal"]
    if function.owner is not None and not function.is_static:
        names = names[1:]
    if given is None and name in names and names.index(name) < len(call.args):
        given = call.args[names.index(name)]
    return type(given) is f.Name and needed.after(frame.function.body, call.pos, given.id)


def _fails_without(summary: Summary, name: str, value: Value, found: Divergence) -> bool:
    """Whether ranks differ in no more than that some have None, which the callee takes an item or attribute of before
    it does anything else: these fail, and go no other way."""
    missing, function = value.presence, summary.function
    if missing is None or function is None:
        return False
    if found.why != missing.why and (missing.kind != "rank" or found.why[:1] != missing.why[:1]):
        return False
    given = any(parameter.name == name for parameter in function.parameters)
    return given and needed.from_the_start(function.body, name)


#: what becomes of a collective of what a function is given, by rule
_OF_GIVEN = {
    "FER103": "skipped by ranks that leave earlier",
    "FER105": "skipped by ranks that have an exception, which is survived",
}


def raise_or_pass_on(
    frame: Frame,
    summary: Summary,
    bound: Mapping[str, Value],
    pos: f.Pos,
    confidence: Confidence,
    call: f.Call | None = None,
) -> None:
    """At a call: report the callee's latent findings that this call makes true, pass on those it leaves open.

    `confidence`: how sure it is that this function is the one that is called.
    """
    for divergence, latent in summary.in_context:
        how = _OF_GIVEN.get(latent.code, "reached by some ranks only")
        message = f"`{latent.event.named}` of what `{summary.display}` is given is {how}: `{latent.text}`"
        frame.issues.append(CallIssue(latent.code, pos, divergence, latent.event, message, latent))
    for latent in summary.latents:
        if confidence < latent.event.confidence:
            latent = replace(latent, event=latent.event._replace(confidence=confidence))
        for name, how in sorted(latent.deps):
            value = bound.get(name)
            if value is None:
                continue
            if latent.needs == "shape":
                _shape(frame, summary, latent, value, how, pos)
                continue
            if latent.needs == "argument":
                same_for_all.at_call(frame, summary, latent, value, pos)
                continue
            if how in (OBSERVED, ITEM) and asks_for_entries(latent.deps, name, bound):
                continue
            if value.is_keyed and any(d.startswith(f"{name}[") for d, _ in latent.deps):
                # an entry is asked for by its key: that of the data is a dependence of its own
                value = value._replace(data=None, keyed=None)
            if how == PRESENT and (value.there or _is_needed(frame, call, name, summary)):
                continue
            found = value.unordered if latent.needs == "order" else divergence_through(value, how)
            if found is not None and _fails_without(summary, name, value, found):
                continue
            if found is not None:
                if found.kind == "rank" and latent.event.p2p:
                    continue  # how much a rank sends and how much the next one receives follow from their places
                if latent.each:
                    found = taken_with_all(found)
                if latent.needs == "trips" and found.empty and rounds_of(value) is None:
                    found = found.at_most(Confidence.LOW)  # batches have as many rows everywhere
                by_items = how == ITERATED or found is value.length
                if latent.needs == "trips" and (_is_reckoned(found) or (by_items and _is_dealt_out(found))):
                    found = found.at_most(Confidence.LOW)
                if latent.needs == "trips" and more_items.are_silent(frame, found, value):
                    found = found.at_most(Confidence.LOW)
                if how == PRESENT and found.kind == "rank" and latent.event.op == "forward":
                    found = found.at_most(Confidence.LOW)  # what only some ranks have is not sharded over all of them
                if overlap(found.axes, latent.event.axes) and latent.event.axes != UNKNOWN_GROUP:
                    op = latent.event.named
                    decides = _decider(latent, _cause(latent, name, how, bound))
                    message = f"`{summary.display}` issues {op} depending on {decides}"
                    if latent.needs == "order":
                        message = f"`{summary.display}` issues {op} in the order of `{name}`, which ranks do not share"
                    code = "FER107" if latent.code == "FER101" and found.kind == "structure" else latent.code
                    frame.issues.append(CallIssue(code, pos, found, latent.event, message, latent))
            elif (value.deps or value.length_deps) and latent.depth < DEEPEST and len(frame.latents) < MOST_LATENTS:
                # what rests on whether something was passed says no more than that, however it is read
                passed = frozenset((p, h if how == FLOWS or h in (PRESENT, HELD) else how) for p, h in value.deps)
                size = only(value.deps, LATER, LATER)
                passed -= size | recast(size, how, LATER)
                asks_zero = (name, ZERO) in latent.deps or ((name, TRUE) in latent.deps and not value.boolean)
                if how in (FLOWS, OBSERVED) and not asks_zero:
                    passed |= size  # that of a dimension which is never zero
                if how == OBSERVED:  # a number of which only zero matters is compared with another one
                    passed -= recast(only(value.deps, EMPTY, EMPTY), OBSERVED, EMPTY)
                elif how == ZERO:
                    passed = told_from_zero(value.deps)
                elif how == TRUE:  # whether anything is left of what was filtered is up to what decided that
                    left = frozenset([d for d in value.length_deps if d[1] in (OBSERVED, PRESENT, EMPTY)])
                    passed = only(value.deps, TRUE, FLOWS) | left
                if how in (PRESENT, HELD):
                    passed = asked_for_by_callee(value.deps, how, value.part)
                if how == LATER:
                    passed = of_its_later(value)
                if how == ITERATED:
                    passed = length_deps(value)
                elif how == COUNTED:
                    passed = recast(length_deps(value), COUNTED, ITERATED)
                elif how == EMPTY and value.container:  # whatever its items hold
                    passed = recast(length_deps(value), EMPTY, ITERATED)
                if latent.needs == "order":
                    passed = frozenset(d for d in passed if d[1] == ITERATED)
                    if not passed:
                        continue
                frame.latents.append(replace(latent, deps=passed, depth=latent.depth + 1))


def _cause(latent: Latent, name: str, how: str, bound: Mapping[str, Value]) -> str:
    """By which parameter a test comes out as it does, for the message: that there is nothing in `crops[has_crop]` is up
    to the mask, where that is local data, rather than to what it picks from."""
    picked = [other for other, as_ in sorted(latent.deps) if how == EMPTY and as_ == PICKED]
    return next((other for other in picked if other in bound and bound[other].observed is not None), name)


def _decider(latent: Latent, name: str) -> str:
    """What a latent finding depends on, in words: the test, and the parameter or attribute by which it differs here."""
    what = name.lstrip(".")
    if not latent.is_test:
        return f"`{what}`, which differs between ranks"
    named = re.search(rf"(?<!\w){re.escape(what)}(?!\w)", latent.text) or what != name
    return f"`{latent.text}`, which differs between ranks" + ("" if named else f" as `{what}` does")


def _shape(frame: Frame, summary: Summary, latent: Latent, value: Value, how: str, pos: f.Pos) -> None:
    """`how` the parameter decides the shape: it has it, or its content or number of items makes it."""
    if frame.of_one_size:
        return
    typed = _apart_in_type(latent, value)
    if how == CONTAINED:
        value, how = Value(number=value.number), FLOWS  # a number that is put into a tensor tells its type only
    elif latent.typed == "type":
        value = Value(layout=value.layout)  # as does a tensor of one item
    if how == ITEM:  # one of what is handed over in a list or dict
        value, how = _item_of(value), FLOWS
    problems = shape_problems(value)
    if problems and is_of_type(value, problems[0][1]) and typed is None:
        problems = []  # whether it is brought to one type in there is not known
    if how == FLOWS and not problems and typed is not None:
        problems = [("FER201", typed)]
    if how == FLOWS and not problems and (own := selected_by_content(frame, value, latent.event, pos)) is not None:
        problems = [("FER201", own)]
    if how != FLOWS:
        found = divergence_through(value, how)
        problems = [("FER201", found.at_most(Confidence.MEDIUM))] if found is not None else []
        value = value._replace(uneven_last=False)
    for code, divergence in problems:
        if meets(value, divergence, latent.event.axes) and not told_by_rank(frame, divergence, latent.event):
            message = shape_message(code, latent.event.op, divergence, divergence is typed)
            frame.issues.append(CallIssue(code, pos, divergence, latent.event, message, latent))
    direct = frozenset(d for d in value.deps if d[1] == FLOWS) | value.shape_deps
    if how == COUNTED:
        direct = recast(length_deps(value), COUNTED, ITERATED)
    elif how != FLOWS:
        direct = frozenset((p, how) for p, h in value.deps if h in (FLOWS, ITEM))
    if not problems and direct and latent.depth < DEEPEST and len(frame.latents) < MOST_LATENTS:
        frame.latents.append(replace(latent, deps=direct, depth=latent.depth + 1, typed=""))


def _item_of(value: Value) -> Value:
    """An item of a list or dict, as far as sizes go: any may be the one that is uneven."""
    shape = value.shape if value.container or value.slots is not None else None
    for _, entry in value.entries:
        shape = worse(shape, entry.shape)
    return Value(shape=shape)


def _apart_in_type(latent: Latent, value: Value) -> Divergence | None:
    """Why an argument's element type is another one on some ranks, where the function brings it as it is."""
    if latent.typed == "number":
        return value.number.apart if value.number is not None else None
    return value.layout.apart if latent.typed and value.layout is not None else None
