"""Do two ranks that answer a test differently issue the same events?

A product of two abstract ranks (GPUVerify's two-thread reduction): both share every undecided choice, and differ in the
divergent atoms. A *signature* is the sequence of events that a rank issues, as nested tuples, computed right to left
with the continuation, so that an exit simply drops what follows. Cost: linear in the trace for each assignment of at
most `MOST_ATOMS` linked atoms, within a budget that ends in silence.
"""

from __future__ import annotations

import collections
import itertools
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.divergence.signatures import (
    ALIKE,
    LONGEST_CALL_SIGNATURE,
    RAISES,
    Signature,
    alike,
    issues,
    mentions,
    runs_the_same,
    size_of,
)
from ferrule_lint.semantics.domain.conditions import Atom, atoms, deps_of, evaluate, implied
from ferrule_lint.semantics.domain.lattice import NO_AXES, REPLICATE, UNKNOWN_GROUP, WORLD, Axes, Divergence, overlap
from ferrule_lint.semantics.domain.summary import Summary
from ferrule_lint.semantics.domain.trace import (
    ITSELF,
    Attempt,
    CallTerm,
    Choice,
    Event,
    Exit,
    Loop,
    Trace,
    choices_and_loops,
    every_term,
    has_exit,
    parts,
    stands_in,
)

MOST_ATOMS = 4

BUDGET = 6000

#: trace terms visited in all comparisons of one function
MOST_EFFORT = 300_000

#: settings that several tests ask for, told apart when a difference is checked once more
MOST_SETTINGS = 3


class Occurrence(NamedTuple):
    """An event, or the call that leads to one, as it stands in the function that is looked at."""

    event: Event
    call: CallTerm | None

    @property
    def key(self) -> tuple[object, ...]:
        place = self.call or self.event
        return (place.path, place.pos, self.event.op, self.event.channel)

    @property
    def kind(self) -> tuple[object, ...]:
        """What pairs with its like on another rank."""
        of_itself = self.call is not None and self.call.own_name and self.event.channel == ITSELF
        channel = self.call.own_name if self.call is not None and of_itself else self.event.channel
        return (self.event.op, self.event.axes, channel)

    @property
    def dummy(self) -> bool:
        """Whether it is there for the sake of the other ranks only."""
        return (self.call or self.event).dummy


@dataclass(slots=True)
class Effort:
    """What the comparisons of one function may still cost, and who is told where that, or another budget, ends one."""

    count: Callable[[str], None] = lambda what: None
    left: int = MOST_EFFORT


class Difference(NamedTuple):
    """What only one of two ranks does. `after_exit`: it follows an exit that the other rank took."""

    occurrences: tuple[Occurrence, ...]
    after_exit: bool
    axes: Axes


@dataclass(slots=True)
class Comparison:
    """Signatures for one set of axes and least confidence. `lenient`: an unknown group counts as met."""

    axes: Axes
    least: Confidence
    lenient: bool
    #: hidden events are compared by whether they happen at all, not by how often
    by_presence: bool = False
    #: point-to-point calls are not compared: a stage that sends and one that receives differ by design
    collectives_only: bool = False
    #: the ranks differ in being members of some group: what they do inside a group is nobody else's business
    members: bool = False
    #: what calls issue only if their arguments say so does not count
    surely: bool = False
    #: the group whose places the ranks differ in, where nothing else is known of it
    group: str = ""
    #: what the ranks answer otherwise is the host's, and may be answered otherwise in the next round: where rounds are
    #: not counted, a rank whose round issues nothing comes to the events later
    waits: bool = False
    #: what they answer otherwise is their rank: of ways through such a round that another test leaves open, those
    #: that issue nothing are no rounds
    comes_back: bool = False
    #: beside `surely`: the names of what the call is given, whose fields (`args.strategy`) are asked for in there
    given: frozenset[str] = frozenset()
    #: inside a call
    inside: bool = False
    budget: int = BUDGET
    exhausted: bool = False
    _depth: int = field(default=0)
    #: shared by all comparisons of one difference
    _tokens: dict[tuple[object, ...], Signature] = field(default_factory=dict)
    #: line of a handler -> the depth of loops it stands in, and what a rank issues that gets there
    _handlers: dict[int, tuple[int, Signature]] = field(default_factory=dict)
    _reached: set[int] = field(default_factory=set)

    def counts(self, event: Event) -> bool:
        if event.p2p and self.collectives_only:
            return False
        if event.hidden and event.op != "backward" and self.axes == REPLICATE:
            return False  # what a sharded model issues stays within each copy of it
        if self.members and "world" not in event.axes:
            return False
        if self.group and event.axes == UNKNOWN_GROUP and event.channel not in ("", self.group):
            return False  # a place in one group says nothing of who meets in another
        if event.confidence < self.least or not overlap(self.axes, event.axes):
            return False
        return self.lenient or event.axes != UNKNOWN_GROUP or self.least == Confidence.LOW

    def fresh(self) -> Comparison:
        """The same question with a budget of its own."""
        return replace(self, budget=BUDGET, exhausted=False, _depth=0, _handlers={}, _reached=set())

    # ------------------------------------------------------------------ signatures
    def signature(self, trace: Trace, rest: Signature, assignment: Mapping[str, bool]) -> Signature:
        """What a rank with this assignment issues in `trace` and after it (`rest`)."""
        result = rest
        for term in reversed(trace):
            if self.budget <= 0:
                self.exhausted = True
                return result
            self.budget -= 1
            if type(term) is Event:
                if result is not RAISES and self.counts(term):
                    token = self._token("event", term.op, term.axes, term.channel)
                    again = self.by_presence and term.hidden and term.op != "backward" and token in result
                    if not again:
                        result = (token, *result)
            elif type(term) is CallTerm:
                if result is not RAISES and term.confidence >= self.least:
                    result = self._called(term) + result
            elif type(term) is Choice:
                result = self._choice(term, result, assignment)
            elif type(term) is Loop:
                result = self._loop(term, result, assignment)
            elif type(term) is Attempt:
                result = self._attempt(term, result, assignment)
            elif type(term) is Exit:
                result = self._exit(term)
        return result

    def _attempt(self, term: Attempt, rest: Signature, assignment: Mapping[str, bool]) -> Signature:
        before = dict(self._handlers)
        for line, handler in term.handlers:
            self._handlers[line] = (self._depth, self.signature(handler, rest, assignment))
        result = self.signature(term.body, rest, assignment)
        self._handlers = before
        return result

    def _exit(self, term: Exit) -> Signature:
        if term.kind in ("return", "leaves", "alone"):
            return (self._token("return"),) if self._depth else ()
        if term.kind == "caught":
            depth, handled = self._handlers.get(term.line, (0, ()))
            return handled if depth == self._depth else (self._token("return", term.line),)
        if term.kind == "break":
            return (self._token("break"),)
        return () if term.kind == "continue" else RAISES

    def _choice(self, term: Choice, rest: Signature, assignment: Mapping[str, bool]) -> Signature:
        taken = evaluate(term.formula, assignment)
        if taken is None and term.form == "exception":
            taken = False
        if taken is not None:
            arm, other = (term.body, term.orelse) if taken else (term.orelse, term.body)
            return self.signature(self._with_stand_ins(arm, other, assignment), rest, assignment)
        if (grouped := self._grouped(term)) is not None:
            return self.signature(grouped, rest, assignment)
        # both ranks share this choice, and in each arm they know what it was
        a = self.signature(term.body, rest, {**implied(term.formula, True), **assignment})
        b = self.signature(term.orelse, rest, {**implied(term.formula, False), **assignment})
        if a == b or b is RAISES:
            return a
        if a is RAISES:
            return b
        if self.by_presence and (on := self._balanced(term, a, b, rest, assignment)) is not None:
            return on
        # mostly both arms go on with all of the rest
        common = len(rest)
        if common > min(len(a), len(b)) or not (a[len(a) - common :] == rest == b[len(b) - common :]):
            common = 0
        shorter = min(len(a), len(b))
        while common < shorter and a[-1 - common] == b[-1 - common]:
            common += 1
        tail = a[len(a) - common :]
        if self.surely and self.inside and (deps_of(term.formula) or self._asks_what_is_given(term)):
            return tail
        return (self._token("either", a[: len(a) - common], b[: len(b) - common]), *tail)

    def _asks_what_is_given(self, term: Choice) -> bool:
        """Whether a test names something that the call is given: `if "zero3" in args.strategy`."""
        return bool(self.given) and any(
            not self.given.isdisjoint(_NAMES.findall(_QUOTED.sub("", atom.key))) for atom in atoms(term.formula)
        )

    def _grouped(self, term: Choice) -> Trace | None:
        """Of a callee's choice between a collective in a group and the same one over all ranks, by whether it is given
        something, the one in the group: who passes something passes what has the group."""
        if not self.inside or not deps_of(term.formula):
            return None
        arms = (term.body, term.orelse)
        events = [[t for t in every_term(arm) if type(t) is Event] for arm in arms]
        if [e.op for e in events[0]] != [e.op for e in events[1]] or not events[0]:
            return None
        for arm, own, other in ((0, events[0], events[1]), (1, events[1], events[0])):
            if all(e.axes == WORLD for e in other) and not any("world" in e.axes for e in own):
                return arms[arm]
        return None

    def _with_stand_ins(self, arm: Trace, other: Trace, assignment: Mapping[str, bool]) -> Trace:
        """An arm whose stand-ins are run: what it runs under a setting are the modules that the other arm runs in any
        case (`if x is not None: tower(x)`, `elif forced: tower(zeros)`), and so it is there for the ranks that do."""
        if not self.by_presence:
            return arm
        for i, term in enumerate(arm):
            if type(term) is not Choice or evaluate(term.formula, assignment) is not None:
                continue
            if not _is_setting(term, assignment):
                continue
            on = self.fresh().signature(term.body, (), assignment)
            off = self.fresh().signature(term.orelse, (), assignment)
            real = self.fresh().signature(other, (), assignment)
            if off == () and runs_the_same(on, real):
                return (*arm[:i], *term.body, *arm[i + 1 :])
            if on == () and runs_the_same(off, real):
                return (*arm[:i], *term.orelse, *arm[i + 1 :])
        return arm

    def _balanced(
        self, term: Choice, a: Signature, b: Signature, rest: Signature, assignment: Mapping[str, bool]
    ) -> Signature | None:
        """Of a setting under which stand-ins are run, the arm that runs them: where the setting is off, nothing is
        sharded that would have to be balanced (`elif fsdp_enabled: self.visual.dummy_forward()`). Training is no such
        setting: in evaluation the modules are as sharded as before."""
        if not _is_setting(term, assignment):
            return None
        if b == rest and stands_in(term.body):
            return a
        return b if a == rest and stands_in(term.orelse) else None

    def _token(self, *parts: object) -> Signature:
        """The one tuple of these parts.

        A signature shares its parts like a graph, with more ways through it than can be gone: comparing two is quick
        only where equal parts are the same object.
        """
        key = tuple([tuple(map(id, part)) if type(part) is tuple else part for part in parts])
        return self._tokens.setdefault(key, parts)

    def _loop(self, term: Loop, rest: Signature, assignment: Mapping[str, bool]) -> Signature:
        self._depth += 1
        body = self.signature(term.body, (), assignment)
        self._depth -= 1
        if body is RAISES or rest is RAISES:
            return rest
        if term.polls and (self.waits or self.comes_back):
            body = _without_empty_rounds(body)
            if self.waits and not _leaves(body) and not issues(body) and self._may_issue(term.body):
                return RAISES
        if issues(body) or (mentions(body, "return") and issues(rest)):
            return (self._token("loop", body), *rest)
        return rest

    def _may_issue(self, body: Trace) -> bool:
        """Whether some way through a loop's body issues what counts."""
        found: list[Occurrence] = []
        self.fresh().occurrences(body, {}, found)
        return bool(found)

    def call_signature(self, summary: Summary) -> Signature:
        """What a call issues, whatever way it takes; a call that is being computed is silent."""
        if summary.busy or not summary.events:
            return ()
        key = (
            self.axes, self.least, self.lenient, self.by_presence, self.collectives_only, self.members, self.surely,
            self.group, self.given,
        )  # fmt: skip
        known = summary.signatures.get(key)
        if known is None:
            summary.signatures[key] = ()
            inner = replace(self.fresh(), inside=True)
            known = inner.signature(summary.trace, (), {})
            if known is RAISES or not issues(known):
                known = ()
            elif size_of(known) > LONGEST_CALL_SIGNATURE:
                known = (("event", "call", NO_AXES, summary.display),)
            summary.signatures[key] = known
        return known

    def _called(self, term: CallTerm) -> Signature:
        """The signature of a call, with the module that it runs as `self` under its name here."""
        known = self.call_signature(term.summary)
        return self._renamed(known, term.own_name) if term.own_name and mentions(known, "event") else known

    def _renamed(self, signature: Signature, name: str) -> Signature:
        if signature[:1] == ("event",):
            op, axes, channel = signature[1:]
            return self._token("event", op, axes, name) if channel == ITSELF and op == "forward" else signature
        parts = [self._renamed(part, name) if type(part) is tuple else part for part in signature]
        return self._token(*parts) if signature and type(signature[0]) is str else tuple(parts)

    # ------------------------------------------------------------------ occurrences
    def occurrences(self, trace: Trace, assignment: Mapping[str, bool], out: list[Occurrence]) -> bool:
        """Everything that may be issued under the assignment; True when control surely leaves."""
        for term in trace:
            if type(term) is Event:
                if self.counts(term):
                    out.append(Occurrence(term, None))
            elif type(term) is CallTerm:
                if term.confidence >= self.least and self.call_signature(term.summary):
                    inner = [e for e in term.summary.events if self.counts(e)]
                    if inner:
                        out.append(Occurrence(max(inner, key=_tells_most), term))
            elif type(term) is Choice:
                taken = evaluate(term.formula, assignment)
                if taken is None and term.form == "exception":
                    taken = False
                in_body = assignment if taken else {**implied(term.formula, True), **assignment}
                in_orelse = assignment if taken is False else {**implied(term.formula, False), **assignment}
                left = taken is not False and self.occurrences(term.body, in_body, out)
                right = taken is not True and self.occurrences(term.orelse, in_orelse, out)
                if (left or taken is False) and (right or taken is True):
                    return True
            elif type(term) is Loop:
                self.occurrences(term.body, assignment, out)
            elif type(term) is Attempt:
                left = self.occurrences(term.body, assignment, out)
                reached = [h for line, h in term.handlers if line in self._reached]
                handled = [self.occurrences(h, assignment, out) for h in reached]
                if left and all(handled):
                    return True
            elif type(term) is Exit:
                if term.kind == "caught":
                    self._reached.add(term.line)
                return True
        return False


#: the names in a test that begin a place (`args` of `args.strategy`), and what is none
_NAMES = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def _is_setting(choice: Choice, assignment: Mapping[str, bool]) -> bool:
    """Whether what is left open of a choice is the same on all ranks, and not whether the module is being trained."""
    left = [atom for atom in atoms(choice.formula) if atom.key not in assignment]
    return not any(atom.divergence is not None or atom.key.endswith(".training") for atom in left)


#: every rank of the default group has to take part in these, members of the new group or not
GROUP_CREATION = ("new_group", "split_group", "init_device_mesh")


def _tells_most(event: Event) -> tuple[object, ...]:
    """Which event of a call is shown: one that every call issues, not the first alone (a group), and a certain one."""
    return (event.op not in GROUP_CREATION, event.confidence, not event.assumed, not event.hidden)


def branch_code(occurrences: Sequence[Occurrence], kind: str) -> str:
    """The rule that speaks of events which only one of two arms issues, by what they are and why the test differs."""
    events = [o.event for o in occurrences]
    if all(e.op in GROUP_CREATION for e in events):
        return "FER401"
    if all(e.hidden and e.op == "forward" for e in events):
        return "FER107" if kind == "structure" else "FER101"
    return "FER102"


def first_in_order(body: Trace, least: Confidence) -> Occurrence | None:
    """The first event of a loop's body that pairs wrongly if the items come in another order on another rank."""
    found: list[Occurrence] = []
    Comparison(WORLD, least, True).occurrences(body, {}, found)
    return next((o for o in found if o.event.op not in ALIKE), None)


def difference(
    root: Trace,
    choice: Choice,
    own: Mapping[str, Atom],
    divergence: Divergence,
    least: Confidence,
    surely: bool = False,
    effort: Effort | None = None,
) -> Difference | None:
    """How the events of `root` differ between ranks that answer `choice`'s divergent atoms differently, or None.

    `surely`: the ranks differ only under a setting that is not known, so that what calls issue only if an argument
    says so is no evidence: the two settings may exclude each other.
    """
    effort = effort or Effort()
    if effort.left <= 0:
        effort.count("comparisons of long traces")
        return None
    axes = divergence.axes
    lenient = divergence.kind == "host" or (divergence.kind == "rank" and not divergence.member)
    # a tower run for images and again for videos, or for each span of a sample, is balanced by one dummy run in
    # practice; that it runs matters
    by_presence = divergence.kind in ("structure", "data")
    only = divergence.kind == "rank"
    question = Comparison(
        axes, least, lenient, by_presence, only, divergence.member, surely,
        divergence.group if axes == UNKNOWN_GROUP else "", divergence.kind == "host", divergence.kind == "rank",
    )  # fmt: skip
    keys = _linked(root, own)
    if len(keys) > MOST_ATOMS:
        effort.count("tests linked in a comparison")
        keys = keys[:MOST_ATOMS] if len(own) <= MOST_ATOMS else list(own)[:MOST_ATOMS]
    outcomes: list[tuple[dict[str, bool], Signature]] = []
    for values in itertools.product((True, False), repeat=len(keys)):
        assignment = dict(zip(keys, values, strict=True))
        comparison = question.fresh()
        signature = comparison.signature(root, (), assignment)
        effort.left -= BUDGET - comparison.budget
        if comparison.exhausted:
            effort.count("comparisons of long traces")
            return None
        if signature is not RAISES:
            outcomes.append((assignment, signature))
    for (a, x), (b, y) in itertools.combinations(outcomes, 2):
        if not (issues(x) or issues(y)) or alike(x, y, by_presence):
            continue
        if any(a[k] != b[k] for k in keys if k not in own):
            continue
        for settings in _settings(root, choice):
            one, other = {**settings, **a}, {**settings, **b}
            # without settings that is what has been compared just now
            if not settings or _differ(question, root, one, other, by_presence):
                found = _explain(root, choice, one, other, question.fresh())
                if found is not None:
                    return found
    return None


def _leaves(body: Signature) -> bool:
    return mentions(body, "return") or mentions(body, "break")


def _without_empty_rounds(body: Signature) -> Signature:
    """The rounds of a loop that issue something: of two ways through it, the other where one issues nothing."""
    while len(body) == 1 and type(body[0]) is tuple and body[0] and body[0][0] == "either":
        _, a, b = body[0]
        if not issues(a) and not _leaves(a):
            body = b
        elif not issues(b) and not _leaves(b):
            body = a
        else:
            break
    return body


def _settings(root: Trace, choice: Choice) -> list[dict[str, bool]]:
    """The answers to tests which both ranks answer alike and which decide more than once, the choice being one."""
    own = [o for o in choices_and_loops((choice,)) if type(o) is Choice]
    asked = _settings_of([choice])
    leaving = _settings_of([o for o in own if o is not choice and has_exit(o.body + o.orelse)])
    others: set[str] = set()
    outside: set[str] = set()
    if asked or leaving:
        inside = {id(o) for o in own}
        choices = [o for o in choices_and_loops(root) if type(o) is Choice and o is not choice]
        others = _settings_of(choices)
        outside = _settings_of([o for o in choices if id(o) not in inside])
    # an exit in here may be taken under the same setting that decides over what comes elsewhere, and in another round
    # of a loop the settings that led here are what they were
    keys = sorted((asked & others) | (leaving & outside) | _settings_of(_around(root, choice) or ()))[:MOST_SETTINGS]
    return [dict(zip(keys, values, strict=True)) for values in itertools.product((False, True), repeat=len(keys))]


def _around(trace: Trace, choice: Choice) -> list[Choice] | None:
    """The choices that a choice stands in, itself not included; None: it is not here."""
    for term in trace:
        if term is choice:
            return []
        if inner := parts(term):
            found = _around(inner, choice)
            if found is not None:
                return [term, *found] if type(term) is Choice else found
    return None


def _settings_of(choices: Iterable[Choice]) -> set[str]:
    return {a.key for o in choices for a in atoms(o.formula) if a.divergence is None}


def _differ(question: Comparison, root: Trace, a: Mapping[str, bool], b: Mapping[str, bool], by_presence: bool) -> bool:
    """Whether two ranks issue different events, or it would take too long to tell."""
    first, second = question.fresh(), question.fresh()
    x, y = first.signature(root, (), a), second.signature(root, (), b)
    if first.exhausted or second.exhausted:
        return True
    return x is not RAISES and y is not RAISES and not alike(x, y, by_presence)


def _linked(root: Trace, own: Mapping[str, Atom]) -> list[str]:
    """The divergent atoms that appear in one choice with one of `own`: their outcomes have to be told together."""
    keys = dict.fromkeys(own)
    for other in choices_and_loops(root):
        if type(other) is Choice:
            divergent = [a.key for a in atoms(other.formula) if a.divergence is not None]
            if any(k in own for k in divergent):
                keys.update(dict.fromkeys(divergent))
    return list(keys)


def _explain(
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
    if within:
        return Difference(tuple(_unmatched(within, first, second)), False, comparison.axes)
    if not (has_exit(choice.body) or has_exit(choice.orelse)):
        return None  # another choice on the same atom speaks of these
    rest: list[Occurrence] = []
    comparison.occurrences(_after(root, choice) or (), {}, rest)
    skipped = {o.key for o in rest}
    after = [o for o in differing if o.key in skipped]
    # the same occurrences on both ways: in other numbers, or where an exit lies in one arm of an undecided choice
    found = after or differing or _unique(rest) or _unique(first + second)
    return Difference(tuple(found), True, comparison.axes) if found else None


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
        if comparison.least > Confidence.LOW:
            found = [o for o in found if o.call is None or _issues_by_itself(o.call, comparison)]
        if found:
            return _unique(found)
    return []


def _issues_by_itself(call: CallTerm, comparison: Comparison) -> bool:
    """Whether what a call issues depends on no argument and on no object's state: a helper for a barrier, say."""
    function = call.summary.function
    if function is None or function.owner is not None:
        return False
    given = frozenset(p.name for p in function.parameters)
    return issues(replace(comparison.fresh(), surely=True, given=given).call_signature(call.summary))


def _after(trace: Trace, choice: Choice) -> Trace | None:
    """What comes after a choice on the ways through it, the next round of a loop included; None: it is not here."""
    for i, term in enumerate(trace):
        if term is choice:
            return trace[i + 1 :]
        if type(term) is Choice:
            for arm in (term.body, term.orelse):
                found = _after(arm, choice)
                if found is not None:
                    return (*found, *trace[i + 1 :])
        elif type(term) is Loop:
            found = _after(term.body, choice)
            if found is not None:
                return (*found, *term.body, *trace[i + 1 :])
        elif type(term) is Attempt:
            for tried in (term.body, *(handled for _, handled in term.handlers)):
                found = _after(tried, choice)
                if found is not None:
                    return (*found, *trace[i + 1 :])
    return None


def _unmatched(within: list[Occurrence], first: list[Occurrence], second: list[Occurrence]) -> list[Occurrence]:
    """Of the differing occurrences, those whose like the other rank does not issue at all, or else not as often; all
    if that is none."""
    balance: collections.Counter[tuple[object, ...]] = collections.Counter()
    for occurrences, sign in ((first, 1), (second, -1)):
        for o in occurrences:
            balance[o.kind] += sign
    alone = {o.kind for o in first} ^ {o.kind for o in second}
    return [o for o in within if o.kind in alone] or [o for o in within if balance[o.kind]] or within


def _unique(occurrences: Iterable[Occurrence]) -> list[Occurrence]:
    return list({o.key: o for o in occurrences}.values())
