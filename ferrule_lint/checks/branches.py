"""FER101, FER102, FER103: events that depend on a divergent choice, or on an exit taken under one."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from ferrule_lint.checks import by_name, far, trained_apart
from ferrule_lint.checks.build import confidence_of
from ferrule_lint.checks.build import finding as finding_of
from ferrule_lint.checks.overrides import is_version_of_inherited
from ferrule_lint.checks.places import decision
from ferrule_lint.findings import Confidence, Finding, Step
from ferrule_lint.semantics.calls.forwards import is_of_buffers, is_of_statistics
from ferrule_lint.semantics.control.end_of_data import RUN_DRY
from ferrule_lint.semantics.divergence import (
    agreed_under,
    by_kind,
    farewells,
    left_over,
    reach,
    sent_earlier,
    transfers,
)
from ferrule_lint.semantics.divergence.compare import Difference, Occurrence, branch_code
from ferrule_lint.semantics.divergence.difference import Effort, difference
from ferrule_lint.semantics.divergence.first_time import lets_the_first_in
from ferrule_lint.semantics.divergence.ruled_out import RuledOut
from ferrule_lint.semantics.domain.conditions import Atom, Connective, Formula, atoms, divergence_of
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.trace import (
    Attempt,
    CallTerm,
    Choice,
    Event,
    Exit,
    Loop,
    Term,
    Trace,
    caught_at,
    choices_and_loops,
    every_term,
    has_exit,
)
from ferrule_lint.semantics.walk import wrapped_under

_WHAT = {"rank": "differs by rank", "data": "depends on the rank's own data", "host": "can differ between processes",
         "structure": "depends on what the local batch contains"}  # fmt: skip

#: why ranks differ that have other batches
_OF_BATCH = ("data", "structure")

_SHARDED = "the forward of a sharded module"
_SYNCHRONISED = "the forward of a synchronised batch norm"
_BRANCH = {
    "FER101": "{forward}{reached} is reached by some ranks only",
    "FER102": "`{op}`{reached} is reached by some ranks only",
    "FER107": "{forward}{reached} is run only where an optional input is there",
    "FER401": "`{op}`{reached} is reached by some ranks only, but every rank has to create every group",
}

_UNDER_DDP = "the forward of a module in DDP{reached}, which broadcasts its buffers, is reached by some ranks only"


def check(
    root: Trace,
    function: str,
    ruled_out: RuledOut,
    trusted: Collection[Step] = (),
    count: Callable[[str], None] = lambda what: None,
    by_number: bool = False,
) -> Iterator[Finding]:
    """Findings of one function's trace: one for each divergent choice.

    `trusted`: weak sources that count here (file-system tests in a function that also writes under a rank guard).
    `count` is told what a budget leaves out; `by_number`: it runs whole models.
    """
    seen: dict[tuple[bool, frozenset[tuple[object, ...]]], Confidence] = {}
    found_at: dict[int, _Found] = {}
    effort = Effort(count, by_number=by_number)
    of_one = frozenset(reach.asked_by_one(root))
    for choice in choices_and_loops(root):
        if type(choice) is not Choice or choice.form == "except":
            continue
        if id(choice) in of_one and choice.form != "exception":
            continue
        for divergence, own in _by_cause(choice.formula):
            known = _looked_at(root, choice, divergence, own, function, trusted, effort)
            if known is not None:
                if known.after_exit and ruled_out.way_out(choice):
                    known = known.as_guess()
                if not ruled_out.all(root, known.occurrences) and not ruled_out.for_nobody(divergence):
                    found_at[id(choice)] = known
                break
    found_at = _to_blame(root, found_at, effort)
    for known in found_at.values():
        if any(known.goes_on_in(found_at.get(id(term))) for term in known.choice.orelse):
            continue  # all arms of a chain do this: the last of its tests tells who does not
        # what fails is one thing, who leaves out the same without a failure another
        key = known.choice.form == "exception", frozenset(o.key for o in known.occurrences)
        if key not in seen or known.finding.confidence > seen[key]:
            seen[key] = known.finding.confidence
            yield known.finding


def _by_cause(formula: Formula) -> Iterator[tuple[Divergence, dict[str, Atom]]]:
    """The divergent terms of a test by why ranks differ in them, the surest first: where ranks have one answer to `not
    os.path.exists(cache) and rank == 0` in its first half, only the second tells them apart. Then all at once."""
    own = {a.key: a for a in atoms(formula) if a.divergence is not None}
    kinds = dict.fromkeys(a.divergence.kind for a in own.values() if a.divergence is not None)
    apart: list[tuple[Divergence, dict[str, Atom]]] = []
    for kind in kinds if len(kinds) > 1 else ():
        of_kind = {key: a for key, a in own.items() if a.divergence is not None and a.divergence.kind == kind}
        joint = divergence_of(Connective("and", tuple(of_kind.values())))
        assert joint is not None
        apart.append((joint, of_kind))
    yield from sorted(apart, key=lambda one: -one[0].confidence)
    joint = divergence_of(formula)
    if joint is not None:
        yield joint.at_most(min([one[0].confidence for one in apart], default=joint.confidence)), own


def _looked_at(
    root: Trace,
    choice: Choice,
    divergence: Divergence,
    own: Mapping[str, Atom],
    function: str,
    trusted: Collection[Step],
    effort: Effort,
) -> _Found | None:
    """What a choice makes ranks do that give other answers to these terms of its test."""
    if divergence.kind in _OF_BATCH and is_version_of_inherited(root, choice, function):
        return None
    weak = divergence.confidence == Confidence.LOW
    if weak and ((divergence.why and divergence.why[0] in trusted) or _expects_nothing(choice, divergence)):
        divergence = divergence._replace(confidence=Confidence.MEDIUM)
    for least in (Confidence.MEDIUM, Confidence.LOW):
        surely = least > Confidence.LOW and (divergence.partial or _has_setting(choice))
        found = difference(root, choice, own, divergence, least, surely, effort)
        if found is not None:
            if not reach.can_run(root, choice):
                return None
            if found.open or _is_guess(root, choice, divergence, found, function):
                least = Confidence.LOW
            finding = _finding(root, choice, divergence, found, least, function)
            known = _Found(choice, finding, found.occurrences, own, divergence, least, surely, found.after_exit)
            assumed = all(o.event.assumed for o in found.occurrences)
            if not found.after_exit and (assumed or finding.confidence == Confidence.LOW < least):
                behind = _behind_guess(root, known, function, effort)
                if behind is not None and behind.finding.confidence > finding.confidence:
                    return behind
            return known
    return None


def _expects_nothing(choice: Choice, divergence: Divergence) -> bool:
    """Whether a rank whose share is empty leaves and does nothing else: somebody has thought of fewer items than ranks
    (`if not mine: return`)."""
    ways = [arm for arm in (choice.body, choice.orelse) if arm]
    return (
        divergence.empty
        and divergence.kind == "rank"
        and choice.form == "if"
        and len(ways) == 1
        and all(type(term) is Exit and term.kind == "return" for term in ways[0])
    )


def _behind_guess(root: Trace, guess: _Found, function: str, effort: Effort) -> _Found | None:
    """What a way out in an arm makes some ranks skip, where the arm has a guess before it: `if rank == 0: if
    validate(model) < least: break`. Whether the model is one that the others have a part of or not, they go on."""
    choice = guess.choice
    if not (has_exit(choice.body) or has_exit(choice.orelse)):
        return None
    rest = _left_out(root, {id(o.call or o.event) for o in guess.occurrences})
    same = (c for c in choices_and_loops(rest) if type(c) is Choice and c.pos == choice.pos and c.form == choice.form)
    left = next((c for c in same if c.path == choice.path), None)
    if left is None:
        return None
    found = difference(rest, left, guess.own, guess.divergence, guess.least, guess.surely, effort)
    if found is None or not found.after_exit or found.open:
        return None
    if not reach.can_run(rest, left) or _is_guess(rest, left, guess.divergence, found, function):
        return None
    finding = _finding(rest, left, guess.divergence, found, guess.least, function)
    if finding.confidence == Confidence.LOW:
        return None
    return guess._replace(finding=finding, occurrences=found.occurrences, after_exit=True)


#: hooks that are called where somebody stops the job: all ranks end, and what one of them still does is its own
_AT_ITS_END = ("on_keyboard_interrupt",)


def _is_guess(root: Trace, choice: Choice, divergence: Divergence, found: Difference, function: str) -> bool:
    """Whether something else in the function says that the ranks may well agree."""
    if function.rpartition(".")[2] in _AT_ITS_END or far.is_made_before(root, choice, found.occurrences):
        return True
    if divergence.kind == "rank":
        told = found.after_exit and farewells.is_said(root, choice, found.occurrences)
        told = told or (found.after_exit and left_over.leave(root, choice))
        told = told or sent_earlier.pairs_later(root, choice, found) or (found.after_exit and by_kind.may_agree(choice))
        return told or transfers.is_half(root, choice, found.occurrences)
    is_way_out = found.after_exit and choice.form != "exception"
    if is_way_out and by_name.is_guess(root, function, divergence, found.occurrences):
        return True
    return agreed_under.is_guess(root, choice, found.occurrences)


class _Found(NamedTuple):
    choice: Choice
    finding: Finding
    occurrences: tuple[Occurrence, ...]
    #: what its difference was asked with
    own: Mapping[str, Atom]
    divergence: Divergence
    least: Confidence
    surely: bool
    after_exit: bool

    def as_guess(self) -> _Found:
        return self._replace(finding=replace(self.finding, confidence=Confidence.LOW))

    def goes_on_in(self, other: _Found | None) -> bool:
        """Whether the next test of a chain tells of the same events."""
        if other is None or {o.kind for o in self.occurrences} != {o.kind for o in other.occurrences}:
            return False
        one, following = self.finding, other.finding
        return (one.code, one.kind) == (following.code, following.kind) and one.confidence <= following.confidence


#: choices of a function among which the one is looked for that alone makes them differ
_MOST_SUSPECTS = 6


def _to_blame(root: Trace, found_at: dict[int, _Found], effort: Effort) -> dict[int, _Found]:
    """Without those that make up for each other: `if rank > 0: barrier()` and then `if rank == 0: barrier()` are told
    apart only because of a third `if` further down, without which they are even; or because ranks leave there."""
    suspects = [known.choice for known in found_at.values()]
    if not 2 < len(suspects) <= _MOST_SUSPECTS:
        return found_at
    for suspect in reversed(suspects):
        rest = _left_out(root, {id(suspect)})
        others = [found_at[id(term)] for term in suspects if term is not suspect]
        if any(_is_in(suspect, other.choice) or _is_in(other.choice, suspect) for other in others):
            continue  # one test in another makes up for nothing
        even = [o for o in others if difference(rest, o.choice, o.own, o.divergence, o.least, o.surely, effort) is None]
        if len(even) == len(others):
            gone = {id(other.choice) for other in others}
            return {key: found for key, found in found_at.items() if key not in gone}
    return found_at


def _is_in(choice: Choice, other: Choice) -> bool:
    return any(term is choice for term in every_term((other,)))


def _left_out(trace: Trace, terms: Collection[int]) -> Trace:
    """A trace without some of its choices, calls or events."""
    out: list[Term] = []
    for term in trace:
        if id(term) in terms:
            continue
        if type(term) is Choice:
            arms = _left_out(term.body, terms), _left_out(term.orelse, terms)
            changed = arms != (term.body, term.orelse)
            out.append(term._replace(body=arms[0], orelse=arms[1]) if changed else term)
        elif type(term) is Loop:
            out.append(term._replace(body=_left_out(term.body, terms)))
        else:
            out.append(term)
    return tuple(out)


def _has_setting(choice: Choice) -> bool:
    """Whether a term of several is not known to differ: a setting, mostly."""
    if type(choice.formula) is not Connective or lets_the_first_in(choice):
        return False
    return any(divergence_of(o) is None for o in choice.formula.operands)


def _stands_in_handler(root: Trace, lines: Collection[int], occurrence: Occurrence) -> bool:
    """Whether something stands in one of the handlers at these lines, and not behind them."""
    place = occurrence.call or occurrence.event
    attempts = (term for term in every_term(root) if type(term) is Attempt)
    handled = (trace for attempt in attempts for line, trace in attempt.handlers if line in lines)
    terms = (term for trace in handled for term in every_term(trace) if type(term) is CallTerm or type(term) is Event)
    return any(term.path == place.path and term.pos == place.pos for term in terms)


#: what only modules in parts issue
_OF_PARTS = frozenset({"forward", "state_dict"})
#: functions of a project that move data between two ranks, by their names, and which half they are
_TRANSFER = re.compile(r"(?:^|[._])i?(?:(send)|recv|receive)(?:_\w+)?$")


def _hands_over(occurrences: Sequence[Occurrence]) -> bool:
    """Whether all that differs is hidden in calls of a project's own transfers, in either direction: what they issue
    is over a group of the two."""
    halves = [_TRANSFER.search(o.call.summary.display) if o.call is not None else None for o in occurrences]
    return len({half[1] for half in halves if half is not None}) == 2 and None not in halves


def _finding(
    root: Trace, choice: Choice, divergence: Divergence, found: Difference, least: Confidence, function: str
) -> Finding:
    found = far.nearer(found, divergence, least)
    confidence = min(
        confidence_of(divergence, found.occurrences), least if least == Confidence.LOW else Confidence.HIGH
    )
    if far.is_guess(found.occurrences, divergence):
        confidence = Confidence.LOW
    made = all(o.event.op == "new_group" for o in found.occurrences)  # which all ranks of the job have to come to
    if divergence.member and found.occurrences[0].call is not None and not made:
        # ranks with parts of their own: what the others do instead is mostly in another program
        confidence = Confidence.LOW
    if divergence.kind == "rank" and all(o.call is not None and o.event.assumed for o in found.occurrences):
        # what one rank gives to a helper on purpose is mostly a model of its own
        confidence = Confidence.LOW
    if divergence.empty and all(o.event.assumed for o in found.occurrences):
        # two guesses: that a rank may have nothing, and that the module is sharded
        confidence = Confidence.LOW
    if divergence.kind == "host" and all(o.event.op == "forward" and o.event.assumed for o in found.occurrences):
        # two guesses: that processes differ there, and that the module is one of those which the project shards
        confidence = Confidence.LOW
    if divergence.kind == "host" and all(o.event.p2p for o in found.occurrences):
        # who stops, and need not hear the other end of it any more
        confidence = Confidence.LOW
    if divergence.kind == "rank" and _hands_over(found.occurrences):
        # sender and receiver each have their half of what they do together
        confidence = Confidence.LOW
    if divergence.kind == "rank" and trained_apart.is_guess(root, choice, divergence, found, _has_setting(choice)):
        confidence = Confidence.LOW
    if all(o.event.op in _OF_PARTS for o in found.occurrences) and wrapped_under.is_even_in_parts(choice.formula):
        confidence = Confidence.LOW
    op = found.occurrences[0].event.named
    reached = " (hidden in this call)" if found.occurrences[0].call is not None else ""
    why = _WHAT.get(divergence.kind, "differs between ranks")
    way = has_exit(choice.body) or has_exit(choice.orelse)
    if found.after_exit and way == "alone":
        code, confidence = "FER105", Confidence.LOW  # the job ends of it, where its launcher sees to that
        message = f"`{op}`{reached} waits for ranks that raise before it, on their own: `{choice.text}` {why}"
    elif found.after_exit and choice.form == "exception" and choice.text == RUN_DRY:
        code = "FER103"
        message = f"`{op}`{reached} is skipped by ranks whose own data ends earlier: `{choice.text}` {why}"
    elif found.after_exit and way in ("caught", "leaves"):
        code = "FER105"
        text = choice.text if choice.form == "exception" else f"{choice.text} ({why})"
        ending = "is caught and survived" if way == "caught" else "is survived elsewhere"
        message = f"`{op}`{reached} is skipped by ranks that have an exception, which {ending}: `{text}`"
        if _stands_in_handler(root, caught_at((*choice.body, *choice.orelse)), found.occurrences[0]):
            message = (
                f"`{op}`{reached} is issued only by ranks that have an exception, in its handler: `{text.strip()}`"
            )
    elif found.after_exit or choice.form == "loop else":
        code = "FER103"
        kind = has_exit(choice.body) or has_exit(choice.orelse) or ("break" if choice.form == "loop else" else "return")
        message = f"`{op}`{reached} is skipped by ranks that {kind} earlier: `{choice.text}` {why}"
        if far.is_out_of_reach(found.occurrences, divergence):
            confidence = Confidence.LOW
    else:
        code = branch_code(found.occurrences, divergence.kind)
        form = _UNDER_DDP if all(is_of_buffers(o.event) for o in found.occurrences) else _BRANCH[code]
        forward = _SYNCHRONISED if all(is_of_statistics(o.event) for o in found.occurrences) else _SHARDED
        message = form.format(op=op, forward=forward, reached=reached) + f": `{choice.text}` {why}"
    condition = decision(choice)
    middle = [condition]
    if code == "FER105":
        middle += [
            Step("condition", choice.path, line, 1, "the handler that goes on")
            for line in caught_at((*choice.body, *choice.orelse))
        ]
    return finding_of(code, message, divergence, found.occurrences, middle, function, confidence)
