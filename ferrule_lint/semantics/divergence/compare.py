"""What one of two ranks issues that answer a test differently, for the two to be compared.

A *signature* is the sequence of events that a rank issues, as nested tuples, computed right to left with the
continuation, so that an exit simply drops what follows. What may be issued at all are *occurrences*.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import forwards
from ferrule_lint.semantics.divergence import retried
from ferrule_lint.semantics.divergence.signatures import (
    ALIKE,
    ENDLESS,
    LONGEST_CALL_SIGNATURE,
    RAISES,
    Signature,
    events_of,
    issues,
    leaves,
    mentions,
    runs_the_same,
    size_of,
    tokens_of,
    without_empty_rounds,
)
from ferrule_lint.semantics.domain.axes import NO_AXES, REPLICATE, UNKNOWN_GROUP, WORLD, Axes, is_dimension, overlap
from ferrule_lint.semantics.domain.conditions import Connective, Negation, atoms, connect, deps_of, evaluate, implied
from ferrule_lint.semantics.domain.dependences import NOTHING, PRESENT
from ferrule_lint.semantics.domain.summary import Summary
from ferrule_lint.semantics.domain.trace import (
    BY_NAME,
    ENDS,
    ITSELF,
    Attempt,
    CallTerm,
    Choice,
    Event,
    Exit,
    Loop,
    Trace,
    every_term,
    has_exit,
    same_event,
    stands_in,
)

MOST_ATOMS = 4

BUDGET = 6000


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
    def once(self) -> bool:
        """Whether it is the broadcast of buffers before the first of several forwards: each rank has a first, however
        many there are."""
        return forwards.is_of_first(self.event if self.call is None else forwards.made_in(self.call, self.event))

    @property
    def dummy(self) -> bool:
        """Whether it is there for the sake of the other ranks only."""
        return (self.call or self.event).dummy


#: what is issued once for each call, however hidden it is: gradients are reduced, metrics that a framework keeps are
_COUNTED = frozenset({"backward", "all_reduce"})


class Difference(NamedTuple):
    """What only one of two ranks does. `after_exit`: it follows an exit that the other rank took."""

    occurrences: tuple[Occurrence, ...]
    after_exit: bool
    axes: Axes
    #: both ranks come to the same lines in what they call, each if settings of its own way say so
    open: bool = False


@dataclass(slots=True)
class Comparison:
    """Signatures for one set of axes and least confidence. `lenient`: an unknown group counts as met."""

    axes: Axes
    least: Confidence
    lenient: bool
    #: hidden events are compared by whether they happen at all, not by how often
    by_presence: bool = False
    #: but how often the function itself runs a model counts: it is no model with a stand-in for each of its towers
    by_number: bool = False
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
    #: nothing counts that is issued in a group of the first and the last stage: for ranks that may be none of these
    but_ends: bool = False
    #: beside `surely`: the names of what the call is given, whose fields (`args.strategy`) are asked for in there
    given: frozenset[str] = frozenset()
    #: of a choice that both ranks share the arm where the test holds is told first, however the test is written
    by_truth: bool = False
    #: inside a call
    inside: bool = False
    #: the tests that are asked for more than once: only of these anything is known in the arms of another; None: all
    often: frozenset[str] | None = None
    budget: int = BUDGET
    exhausted: bool = False
    _depth: int = field(default=0)
    #: what a rank issues that goes on with another round of the innermost loop
    _again: Signature = field(default=())
    #: shared by all comparisons of one difference
    _tokens: dict[tuple[object, ...], Signature] = field(default_factory=dict)
    #: line of a handler -> the depth of loops it stands in, and what a rank issues that gets there
    _handlers: dict[int, tuple[int, Signature]] = field(default_factory=dict)
    _reached: set[int] = field(default_factory=set)

    def counts(self, event: Event) -> bool:
        if self.but_ends and event.channel == ENDS:
            return False
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
        of_place = is_dimension(self.axes) or "world" in self.axes
        unknown = event.axes == UNKNOWN_GROUP or (is_dimension(event.axes) and not of_place)
        return self.lenient or not unknown or self.least == Confidence.LOW

    def fresh(self) -> Comparison:
        """The same question with a budget of its own."""
        return replace(self, budget=BUDGET, exhausted=False, _depth=0, _again=(), _handlers={}, _reached=set())

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
                    token = self._token("event", term.op, term.axes, "" if term.channel == ENDS else term.channel)
                    hidden = term.hidden and term.op not in _COUNTED
                    if not (hidden and self.by_presence and token in result and (self.inside or not self.by_number)):
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
            return handled if depth == self._depth else (self._token("return", term.line, depth),)
        if term.kind == "break":
            return (self._token("break"),)
        return self._again if term.kind == "continue" else RAISES

    def _choice(self, term: Choice, rest: Signature, assignment: Mapping[str, bool]) -> Signature:
        taken = evaluate(term.formula, assignment)
        if taken is None and term.form == "exception":
            taken = False
        if taken is not None:
            arm, other = (term.body, term.orelse) if taken else (term.orelse, term.body)
            return self.signature(self._with_stand_ins(arm, other, assignment), rest, assignment)
        if (grouped := self._grouped(term)) is not None:
            return self.signature(grouped, rest, assignment)
        if (split := _one_by_one(term, assignment)) is not None:
            return self._choice(split, rest, assignment)
        # both ranks share this choice, and in each arm they know what it was
        a = self.signature(term.body, rest, self._known(term, True, assignment))
        b = self.signature(term.orelse, rest, self._known(term, False, assignment))
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
        if self.surely and self.inside and (_asks_for_setting(term) or self._asks_what_is_given(term)):
            return tail
        arms = (a[: len(a) - common], b[: len(b) - common])
        if self.by_truth and type(term.formula) is Negation:
            arms = (arms[1], arms[0])
        return (self._token("either", *arms), *tail)

    def _known(self, term: Choice, holds: bool, assignment: Mapping[str, bool]) -> Mapping[str, bool]:
        """What is known in an arm of a choice. A chain of a thousand arms asks for as many things, each once."""
        said = implied(term.formula, holds)
        if self.often is not None:
            said = {key: value for key, value in said.items() if key in self.often}
        return {**said, **assignment} if said else assignment

    def _asks_what_is_given(self, term: Choice) -> bool:
        """Whether a test names something that the call is given: `if "zero3" in args.strategy`."""
        return bool(self.given) and any(not self.given.isdisjoint(names_in(atom.key)) for atom in atoms(term.formula))

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
        # a round that fails is tried again, or the last one: what the loop issues is what gets through
        tries = retried.gets_through(term)
        outer, self._again = self._again, RAISES if tries else ()
        self._depth += 1
        body = self.signature(term.body, self._again, assignment)
        self._depth -= 1
        self._again = outer
        if body is RAISES and tries:
            return RAISES
        if body is RAISES or rest is RAISES:
            return rest
        if term.polls and (self.waits or self.comes_back):
            body = without_empty_rounds(body)
            if self.waits and not leaves(body) and not issues(body) and self._may_issue(term.body):
                return RAISES
        if term.text == "while True" and not leaves(body) and issues(body):
            return (self._token("loop", body, ENDLESS),)
        exits = tokens_of(body, "return")
        # an exception gets no further than its handler: what follows the loop, or what the handler does
        handled = [self._handlers.get(t[1], (0, ()))[1] for t in exits if len(t) > 1 and t[2] == self._depth]
        ways = [way for way in handled if way != rest]
        if issues(body) or ways or (self._leaves(body) and (self._depth or issues(rest))):
            for way in ways:
                rest = (self._token("either", way, rest),)
            return (self._token("loop", body), *rest)
        return rest

    def _leaves(self, body: Signature) -> bool:
        """Whether a round may be the last one of the loop around this one as well, in which something may be skipped:
        by a `return`, or by an exception with a handler further out."""
        return any(len(t) == 1 or t[2] < self._depth for t in tokens_of(body, "return"))

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
            self.group, self.given, self.but_ends,
        )  # fmt: skip
        known = summary.signatures.get(key)
        if known is None:
            summary.signatures[key] = ()
            given: frozenset[str] = NOTHING
            if self.given and summary.function is not None:
                # what a callee of the callee asks may be what was given, under another name, or the state of its object
                given = frozenset(p.name for p in summary.function.parameters)
            inner = replace(self.fresh(), inside=True, given=given, by_truth=False, often=None)
            known = inner.signature(summary.trace, (), {})
            if known is RAISES or not issues(known):
                known = ()
            elif size_of(known) > LONGEST_CALL_SIGNATURE:
                # whether there is a way through it that issues nothing is what still counts of its own tests
                whole: Signature = (("event", "call", NO_AXES, summary.display),)
                known = whole if events_of(known, surely=True) else (("either", whole, ()),)
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
                in_body = assignment if taken else self._known(term, True, assignment)
                in_orelse = assignment if taken is False else self._known(term, False, assignment)
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


def _one_by_one(choice: Choice, assignment: Mapping[str, bool]) -> Choice | None:
    """`if (rank == 0 or everywhere) and is_due` as one test within the other: of two ranks that share what is left open
    the one may be let in by the first test, and for the other this is open, too."""
    formula, holds = choice.formula, True
    if type(formula) is Negation:
        formula, holds = formula.operand, False
    if type(formula) is not Connective:
        return None
    for i, operand in enumerate(formula.operands):
        if not any(a.divergence is not None and a.key in assignment for a in atoms(operand)):
            continue
        if evaluate(operand, assignment) is not None:
            continue
        others = connect(formula.op, [o for j, o in enumerate(formula.operands) if j != i])
        yes, no = (choice.body, choice.orelse) if holds else (choice.orelse, choice.body)
        if formula.op == "and":
            return choice._replace(
                formula=operand, body=(choice._replace(formula=others, body=yes, orelse=no),), orelse=no
            )
        return choice._replace(
            formula=operand, body=yes, orelse=(choice._replace(formula=others, body=yes, orelse=no),)
        )
    return None


#: the names in a test that begin a place (`args` of `args.strategy`), and what is none
_NAMES = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")


def names_in(key: str) -> list[str]:
    """The names with which the places in a test's key begin."""
    return _NAMES.findall(_QUOTED.sub("", key))


def _is_setting(choice: Choice, assignment: Mapping[str, bool]) -> bool:
    """Whether what is left open of a choice is the same on all ranks, and not whether the module is being trained."""
    left = [atom for atom in atoms(choice.formula) if atom.key not in assignment]
    return not any(atom.divergence is not None or atom.key.endswith(".training") for atom in left)


#: every rank of the default group has to take part in these, members of the new group or not
GROUP_CREATION = ("new_group", "split_group", "init_device_mesh")


def _asks_for_setting(choice: Choice) -> bool:
    """Whether a test in a callee hangs on an argument's value, or whether something is true: that nothing may have been
    passed is asked to be safe, and who calls it passes something."""
    return any(how != PRESENT for _, how in deps_of(choice.formula))


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
    return next((o for o in found if o.event.op not in ALIKE and o.event.channel != BY_NAME), None)


#: calls through which an event is followed that is issued in any case
_DEEPEST = 3


def _in_any_case(call: CallTerm, event: Event, least: Confidence, depth: int = _DEEPEST) -> bool:
    """Whether a call comes to an event under no test."""
    if depth == 0 or call.confidence < least or event.hidden:
        return False
    for term in call.summary.trace:
        if has_exit((term,)):
            return False
        if (type(term) is Event and same_event(term, event)) or (
            type(term) is CallTerm and _in_any_case(term, event, least, depth - 1)
        ):
            return True
    return False


def issues_by_itself(call: CallTerm, event: Event, comparison: Comparison, methods: bool = False) -> bool:
    """Whether what a call issues depends on no argument and on no object's state: a helper for a barrier, say.
    `methods`: such a helper may be a method that asks for nothing at all on its way to the event."""
    function = call.summary.function
    if function is None:
        return False
    if function.owner is not None:
        return methods and _in_any_case(call, event, comparison.least)
    given = frozenset(p.name for p in function.parameters)
    return issues(replace(comparison.fresh(), surely=True, given=given).call_signature(call.summary))
