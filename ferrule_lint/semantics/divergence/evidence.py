"""The events behind two signatures that differ: those inside the choice that is looked at, else what follows it."""

from __future__ import annotations

import collections
import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping

from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.divergence.compare import MOST_ATOMS, Comparison, Difference, Occurrence, issues_by_itself
from ferrule_lint.semantics.divergence.first_time import lets_the_first_in
from ferrule_lint.semantics.domain.conditions import atoms, divergence_of, implied_alike
from ferrule_lint.semantics.domain.trace import (
    Attempt,
    Choice,
    Event,
    Exit,
    Loop,
    Trace,
    ends,
    every_term,
    has_exit,
    parts,
)


def explain(
    root: Trace, choice: Choice, a: Mapping[str, bool], b: Mapping[str, bool], comparison: Comparison
) -> Difference | None:
    """The occurrences behind two differing signatures, those inside the choice first."""
    first: list[Occurrence] = []
    second: list[Occurrence] = []
    comparison.occurrences(root, a, first)
    comparison.occurrences(root, b, second)
    in_first, in_second = {o.key for o in first}, {o.key for o in second}
    differing = _unique([o for o in first if o.key not in in_second] + [o for o in second if o.key not in in_first])
    if differing and all(o.dummy for o in differing):
        return None
    inside: list[Occurrence] = []
    comparison.occurrences(choice.body, {}, inside)
    comparison.occurrences(choice.orelse, {}, inside)
    inside_keys = {o.key for o in inside}
    within = [o for o in differing if o.key in inside_keys]
    if not within:
        within = _under_a_setting(root, choice, a, b, comparison, inside_keys)
    if within and _is_what_is_waited_for(root, choice, comparison):
        return None
    if within:
        unmatched = _unmatched(within, first, second)
        if not unmatched and has_exit((choice,)):
            # `if rank > 0: barrier(); return`, and the same barrier behind what only the others do
            behind: list[Occurrence] = []
            comparison.occurrences(what_follows(root, choice) or (), {}, behind)
            skipped = {o.key for o in behind}
            surplus = _unmatched([o for o in differing if o.key in skipped], first, second)
            if surplus:
                return Difference(tuple(surplus), True, comparison.axes)
        if not unmatched and _unmatched([o for o in differing if o.key not in inside_keys], first, second):
            return None  # both arms issue the same, and another choice on the same atom speaks of the others
        return Difference(tuple(unmatched or within), False, comparison.axes)
    of_failure = choice.form == "exception"
    if not (has_exit(choice.body, of_failure) or has_exit(choice.orelse, of_failure)):
        return None  # another choice on the same atom speaks of these
    if comparison.comes_back and not inside and _only_tries_again(root, choice, comparison):
        return None
    rest = _behind_exit(root, choice, comparison)
    skipped = {o.key for o in rest}
    after = [o for o in differing if o.key in skipped]
    # what the other rank has issued before it left, in other words, is not what it leaves out
    after = _unmatched(after, first, second) or after
    if differing and not after and _is_of_another_loop(root, choice, differing, comparison):
        return None
    # the same occurrences on both ways: in other numbers, or where an exit lies in one arm of an undecided choice
    found = after or differing or _unique(rest) or _of_rounds(root, choice, comparison) or _unique(first + second)
    leaves = ends(choice.body) is not ends(choice.orelse)
    if not differing and leaves and any(atom.key not in a for atom in atoms(choice.formula)):
        # what comes behind is the other arm, unless a loop is left that may have had no round at all
        looped = any(type(term) is Loop and _holds(term.body, choice) for term in every_term(root))
        found = _under_a_setting(root, choice, a, b, comparison, skipped) or (found if looped else [])
    return Difference(tuple(found), True, comparison.axes) if found else None


def meet_again(
    found: Difference, root: Trace, ranks: tuple[Mapping[str, bool], Mapping[str, bool]], comparison: Comparison
) -> bool:
    """Whether what differs are calls that one of two ranks comes to, and the other comes to the lines in them by calls
    of its own."""
    reached: list[list[Occurrence]] = [[], []]
    for assignment, occurrences in zip(ranks, reached, strict=True):
        comparison.fresh().occurrences(root, assignment, occurrences)
    keys = [{o.key for o in occurrences} for occurrences in reached]
    lines = [
        {place for o in occurrences if o.key not in keys[1 - i] for place in _lines_in(o, comparison)}
        for i, occurrences in enumerate(reached)
    ]

    def comes_by_itself(o: Occurrence) -> bool:
        one = next((i for i in (0, 1) if o.key in keys[i] and o.key not in keys[1 - i]), None)
        return one is not None and _place(o.event) in lines[1 - one]

    return all(map(comes_by_itself, found.occurrences))


def _lines_in(occurrence: Occurrence, comparison: Comparison) -> Iterator[tuple[object, ...]]:
    if occurrence.call is not None:
        yield from (_place(e) for e in occurrence.call.summary.events if comparison.counts(e))


def _place(event: Event) -> tuple[object, ...]:
    return (event.path, event.pos, event.op)


def _behind_exit(root: Trace, choice: Choice, comparison: Comparison) -> list[Occurrence]:
    """What follows a choice that some way through it leaves; not what is there only under a setting that rules the
    exit out (`if rank == 0: if not resume: return`, and further down `if resume: barrier()`), as long as something
    else is."""
    after = what_follows(root, choice) or ()
    for implied_by_exit in (*_ways_out((choice,), {}), {}):
        found: list[Occurrence] = []
        comparison.occurrences(after, implied_by_exit, found)
        if found:
            return found
    return []


def _ways_out(trace: Trace, known: Mapping[str, bool]) -> Iterator[dict[str, bool]]:
    """What is known, of the tests that all ranks answer alike, on the ways to the exits in a trace."""
    for term in trace:
        if type(term) is Exit and term.kind != "raise":
            yield dict(known)
        elif type(term) is Choice:
            for arm, outcome in ((term.body, True), (term.orelse, False)):
                yield from _ways_out(arm, {**known, **implied_alike(term.formula, outcome)})


def _only_tries_again(root: Trace, choice: Choice, comparison: Comparison) -> bool:
    """Whether a choice may end a round in which nothing has been issued, of a loop whose rounds nothing counts, and
    does no more: a later round comes to what this one leaves out; of what else differs another choice speaks."""
    if ends(choice.body) or ends(choice.orelse):
        return False
    exits = {term.kind for term in every_term((choice,)) if type(term) is Exit} - {"raise"}
    loops = [term for term in every_term(root) if type(term) is Loop and _holds(term.body, choice)]
    if exits != {"continue"} or not loops or not loops[-1].polls:
        return False
    issued: list[Occurrence] = []
    comparison.occurrences(_before(loops[-1].body, choice), {}, issued)
    return not issued


def _is_what_is_waited_for(root: Trace, choice: Choice, comparison: Comparison) -> bool:
    """Whether a choice is the one way out of a `while True` that does nothing else: a test decides in which round a
    rank leaves, and what it issues then each rank issues once (`if handle.is_completed(): save(); break`)."""
    divergence = divergence_of(choice.formula)
    if divergence is None or divergence.kind == "rank":
        return False  # a rank that is not the one asked for waits for ever
    loops = [term for term in every_term(root) if type(term) is Loop and _holds(term.body, choice)]
    if not loops or loops[-1].text != "while True" or not any(term is choice for term in loops[-1].body):
        return False
    leaving, staying = (choice.body, choice.orelse) if ends(choice.body) else (choice.orelse, choice.body)
    if not ends(leaving) or any(type(t) is Exit and t.kind == "continue" for t in every_term(leaving)):
        return False
    others = (*(term for term in loops[-1].body if term is not choice), *staying)
    issued: list[Occurrence] = []
    comparison.occurrences(others, {}, issued)
    return not issued and not any(type(term) is Exit for term in every_term(others))


def _is_of_another_loop(root: Trace, choice: Choice, differing: list[Occurrence], comparison: Comparison) -> bool:
    """Whether a choice does no more than to end a round early, and what differs is not in its loop: another choice on
    the same atom speaks of that."""
    exits = {term.kind for term in every_term((choice,)) if type(term) is Exit} - {"raise"}
    if exits != {"continue"}:
        return False
    own = {o.key for o in _of_rounds(root, choice, comparison)}
    return not any(o.key in own for o in differing)


def _of_rounds(root: Trace, choice: Choice, comparison: Comparison) -> list[Occurrence]:
    """What a round of the loop issues that a choice stands in: where what follows the choice ends the loop
    (`if again: continue`, `break`), some ranks run another round."""
    loops = [term for term in every_term(root) if type(term) is Loop and _holds(term.body, choice)]
    issued: list[Occurrence] = []
    if loops:
        comparison.occurrences(loops[-1].body, {}, issued)
    return _unique(issued)


def _before(trace: Trace, choice: Choice) -> Trace:
    """What stands in a trace before a choice, or may."""
    for i, term in enumerate(trace):
        if term is choice:
            return trace[:i]
        if _holds((term,), choice):
            return (*trace[:i], *_before(parts(term), choice))
    return trace


def _holds(trace: Trace, choice: Choice) -> bool:
    return any(term is choice for term in every_term(trace))


def _under_a_setting(
    root: Trace,
    choice: Choice,
    a: Mapping[str, bool],
    b: Mapping[str, bool],
    comparison: Comparison,
    inside: Collection[tuple[object, ...]],
) -> list[Occurrence]:
    """What only one of two ranks issues inside `choice` when the tests that they share come out in some way: in
    `rank == 0 or setting` either rank may issue it as long as the setting is open. What a call issues is a guess
    then: the same setting may stand before it in there."""
    shared = list(dict.fromkeys(atom.key for atom in atoms(choice.formula) if atom.key not in a))
    for outcome in itertools.product((False, True), repeat=len(shared)) if 0 < len(shared) <= MOST_ATOMS else ():
        settings = dict(zip(shared, outcome, strict=True))
        first: list[Occurrence] = []
        second: list[Occurrence] = []
        comparison.occurrences(root, {**settings, **a}, first)
        comparison.occurrences(root, {**settings, **b}, second)
        in_first, in_second = {o.key for o in first}, {o.key for o in second}
        found = [o for o in first + second if o.key in inside and (o.key in in_first) is not (o.key in in_second)]
        if comparison.least > Confidence.LOW and not lets_the_first_in(choice):
            by_rank = all(a.divergence is None or a.divergence.kind == "rank" for a in atoms(choice.formula))
            found = [o for o in found if o.call is None or issues_by_itself(o.call, o.event, comparison, by_rank)]
        if found:
            return _unique(found)
    return []


def what_follows(trace: Trace, choice: Choice) -> Trace | None:
    """What comes after a choice on the ways through it, the next round of a loop included; None: it is not here."""
    for i, term in enumerate(trace):
        if term is choice:
            return trace[i + 1 :]
        if type(term) is Choice:
            for arm in (term.body, term.orelse):
                found = what_follows(arm, choice)
                if found is not None:
                    return (*found, *trace[i + 1 :])
        elif type(term) is Loop:
            found = what_follows(term.body, choice)
            if found is not None:
                return (*found, *term.body, *trace[i + 1 :])
        elif type(term) is Attempt:
            for tried in (term.body, *(handled for _, handled in term.handlers)):
                found = what_follows(tried, choice)
                if found is not None:
                    return (*found, *trace[i + 1 :])
    return None


def _unmatched(among: list[Occurrence], first: list[Occurrence], second: list[Occurrence]) -> list[Occurrence]:
    """Of some occurrences, those whose like one of two ranks does not issue at all, or else not as often."""
    balance: collections.Counter[tuple[object, ...]] = collections.Counter()
    for occurrences, sign in ((first, 1), (second, -1)):
        for o in occurrences:
            balance[o.kind] += sign
    alone = {o.kind for o in first} ^ {o.kind for o in second}
    return [o for o in among if o.kind in alone] or [o for o in among if balance[o.kind]]


def _unique(occurrences: Iterable[Occurrence]) -> list[Occurrence]:
    return list({o.key: o for o in occurrences}.values())
