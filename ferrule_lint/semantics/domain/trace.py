"""The events of a piece of code as a tree: event, choice, loop, call, exit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ferrule_lint.facts.types import Pos
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import Axes
from ferrule_lint.semantics.domain.conditions import LAST_ROUND, Formula, atoms
from ferrule_lint.semantics.domain.dependences import Deps
from ferrule_lint.semantics.domain.lattice import Divergence

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.summary import Summary


#: the channel of what a module's own method runs of itself: `self(x)`
ITSELF = "self"

#: the channel of what is issued in a group of the first and the last pipeline stage only
ENDS = "the first and the last stage"

#: the channel of what finds its like by a name that it is given, in whatever order ranks come to it
BY_NAME = "by name"


class Event(NamedTuple):
    """A collective issued at a place. `channel` tells apart events that pair only with their like (a module's name)."""

    op: str
    axes: Axes
    channel: str
    path: str
    pos: Pos
    confidence: Confidence
    #: issued without saying so: a sharded forward, backward, optimizer step
    hidden: bool
    note: str
    #: "send", "recv" or ""
    p2p: str = ""
    #: of an input that only stands in for a real one: it is there to keep the ranks together
    dummy: bool = False
    #: of a module that need not be the one which the project shards
    assumed: bool = False
    #: the id of the class of the module that is run; "" where it cannot be told
    module: str = ""
    #: the backward pass of a module that is seen to be wrapped
    wrapped: bool = False
    #: what the call is named where the operation has no name of its own: `DeviceMesh(...)` makes groups, too
    called: str = ""

    @property
    def named(self) -> str:
        """What messages call it."""
        return self.called or self.op


class Choice(NamedTuple):
    """`form` is "if", "short circuit", "conditional expression", "filter", "except", "loop else", "decorator" or
    "assertion"."""

    formula: Formula
    body: Trace
    orelse: Trace
    path: str
    pos: Pos
    text: str
    form: str


class Loop(NamedTuple):
    """`trip` says why the number of rounds differs; `order` why the order of its items does."""

    body: Trace
    trip: Divergence | None
    order: Divergence | None
    deps: Deps
    path: str
    pos: Pos
    text: str
    key: str
    #: the dicts of whose views it walks the items, if nothing else
    dicts: frozenset[str] = frozenset()
    #: rounds are not counted: one that issues nothing is only waited out
    polls: bool = False
    #: a test ends it (`while`), and not the end of what it walks
    tested: bool = False
    #: a rank on which every round fails raises in the last one
    gives_up: bool = False
    #: where the loops stand with which it makes a number of rounds that all ranks have, in one way or several
    sums: tuple[frozenset[Pos], ...] = ()


class CallTerm(NamedTuple):
    summary: Summary
    path: str
    pos: Pos
    confidence: Confidence
    dummy: bool = False
    #: what the module that the callee runs as `self` is called here
    own_name: str = ""
    #: made with gradients off
    no_gradient: bool = False


class Exit(NamedTuple):
    """`kind` is "return", "break", "continue" or "raise"; "caught" goes on at the handler in `line`, "leaves" is an
    exception which somebody further up survives, "alone" one that a single rank raises by what it alone has found."""

    kind: str
    line: int


class Attempt(NamedTuple):
    """A `try` some of whose handlers are reached by caught exits in its body; `handlers` by their lines."""

    body: Trace
    handlers: tuple[tuple[int, Trace], ...]


Term: TypeAlias = Event | Choice | Loop | CallTerm | Exit | Attempt
Trace: TypeAlias = tuple[Term, ...]


def every_term(trace: Trace) -> Iterator[Term]:
    """Every term of a trace, outer ones first, calls not entered."""
    stack = list(reversed(trace))
    while stack:
        term = stack.pop()
        yield term
        stack.extend(reversed(parts(term)))


def every_event(trace: Trace) -> Iterator[Event]:
    """Every event of a trace, and those that its calls lead to."""
    for term in every_term(trace):
        if type(term) is Event:
            yield term
        elif type(term) is CallTerm:
            yield from term.summary.events


def same_event(a: Event, b: Event) -> bool:
    """The same event, whatever confidence the calls in between have left of it."""
    return (a.path, a.pos, a.op) == (b.path, b.pos, b.op)


def choices_and_loops(trace: Trace) -> Iterator[Choice | Loop]:
    """Every choice and loop of a trace, outer ones first, calls not entered."""
    for term in every_term(trace):
        if type(term) is Choice or type(term) is Loop:
            yield term


def takes_each(body: Trace) -> bool:
    """Whether a round issues something whatever it is about: no test, nor a handler, passes over an entry that some
    ranks alone have put into a dict (`for key in metrics: all_reduce(metrics[key])`)."""
    return all(type(term) is Event or type(term) is CallTerm for term in body)


def without_returns(trace: Trace) -> Trace:
    """A trace that is followed by something: what comes after a `return` in one arm of a choice goes to the other."""
    out: list[Term] = []
    for i, term in enumerate(trace):
        if type(term) is Exit and term.kind == "return":
            break
        if type(term) is Choice:
            rest = trace[i + 1 :]
            body, orelse = _returns(term.body), _returns(term.orelse)
            if body or orelse:
                arms = (term.body if body else (*term.body, *rest), term.orelse if orelse else (*term.orelse, *rest))
                out.append(term._replace(body=without_returns(arms[0]), orelse=without_returns(arms[1])))
                break
        out.append(term)
    return tuple(out)


def by_way_of(trace: Trace, last: Trace, in_loop: bool = False) -> Trace:
    """A trace whose exits out of a block come by what is done at its end: its `finally`, or what `__exit__` does."""
    out: list[Term] = []
    for term in trace:
        if type(term) is Exit and (term.kind == "return" or (term.kind in ("break", "continue") and not in_loop)):
            out += last
        elif type(term) is Choice:
            arms = by_way_of(term.body, last, in_loop), by_way_of(term.orelse, last, in_loop)
            term = term._replace(body=arms[0], orelse=arms[1])
        elif type(term) is Loop:
            term = term._replace(body=by_way_of(term.body, last, in_loop=True))
        elif type(term) is Attempt:
            handlers = tuple((line, by_way_of(handler, last, in_loop)) for line, handler in term.handlers)
            term = Attempt(by_way_of(term.body, last, in_loop), handlers)
        out.append(term)
    return tuple(out)


def _returns(trace: Trace) -> bool:
    """Whether an arm ends in a `return`."""
    return bool(trace) and type(trace[-1]) is Exit and trace[-1].kind == "return"


def parts(term: Term) -> Trace:
    """The terms within a term, calls not entered."""
    if type(term) is Choice:
        return (*term.body, *term.orelse)
    if type(term) is Loop:
        return term.body
    if type(term) is Attempt:
        return (*term.body, *(t for _, handler in term.handlers for t in handler))
    return ()


def weakened(trace: Trace, which: Callable[[Event], bool] = lambda e: e.op != "new_group") -> Trace:
    """A trace whose events are guesses, those of a kind; by default all but those that create groups."""
    out: list[Term] = []
    for term in trace:
        if (type(term) is Event and which(term)) or (type(term) is CallTerm and all(map(which, term.summary.events))):
            term = term._replace(confidence=Confidence.LOW)
        elif type(term) is Choice:
            term = term._replace(body=weakened(term.body, which), orelse=weakened(term.orelse, which))
        elif type(term) is Loop:
            term = term._replace(body=weakened(term.body, which))
        elif type(term) is Attempt:
            handlers = tuple((line, weakened(handler, which)) for line, handler in term.handlers)
            term = Attempt(weakened(term.body, which), handlers)
        out.append(term)
    return tuple(out)


def without(trace: Trace, op: str) -> Trace:
    """A trace without the events of one operation, calls not entered."""
    out: list[Term] = []
    for term in trace:
        if type(term) is Event and term.op == op:
            continue
        if type(term) is Choice:
            term = term._replace(body=without(term.body, op), orelse=without(term.orelse, op))
        elif type(term) is Loop:
            term = term._replace(body=without(term.body, op))
        elif type(term) is Attempt:
            term = Attempt(without(term.body, op), tuple((line, without(h, op)) for line, h in term.handlers))
        out.append(term)
    return tuple(out)


def has_exit(trace: Trace, failing: bool = True) -> str:
    """The kind of an exit that some way through the trace takes out of the enclosing block, or "".

    An exception is no exit here: FER105 is about those. `failing`: nor is, without it, that something fails in there.
    """
    for term in trace:
        if type(term) is Exit:
            return "" if term.kind == "raise" else term.kind
        if type(term) is Choice and (failing or term.form != "exception"):
            found = has_exit(term.body, failing) or has_exit(term.orelse, failing)
            if found:
                return found
        if type(term) is Loop and has_exit(term.body, failing) == "return":
            return "return"
        if type(term) is Attempt:
            found = has_exit(term.body, failing)
            found = has_exit(parts(term)[len(term.body) :], failing) if found in ("", "caught") else found
            if found:
                return found
    return ""


def caught_at(trace: Trace) -> list[int]:
    """The lines of the handlers that exits of a trace lead to."""
    found: list[int] = []
    for term in trace:
        if type(term) is Exit and term.kind == "caught":
            found.append(term.line)
        found += caught_at(parts(term))
    return found


def not_the_last(body: Trace) -> dict[str, bool]:
    """The tests in the body of a loop that tell its last round from the others: what only that one issues does not
    depend on how many rounds there are."""
    tests = (term.formula for term in every_term(body) if type(term) is Choice)
    return {atom.key: False for test in tests for atom in atoms(test) if atom.key.startswith(LAST_ROUND)}


def without_last(body: Trace, kind: str) -> Trace:
    """The body of a loop without the exits of a kind with which it would end in any case."""
    if not body:
        return body
    *before, last = body
    if type(last) is Exit and last.kind == kind:
        return without_last(tuple(before), kind)
    if type(last) is Choice:
        arms = without_last(last.body, kind), without_last(last.orelse, kind)
        if not any(arms):
            return tuple(before)
        if arms != (last.body, last.orelse):
            return (*before, last._replace(body=arms[0], orelse=arms[1]))
    return body


def stands_in(trace: Trace) -> bool:
    """Whether a trace runs something that only stands in for a real input."""
    return any((type(term) is Event or type(term) is CallTerm) and term.dummy for term in every_term(trace))


def ends(trace: Trace) -> bool:
    """Whether no way through the trace reaches its end."""
    for term in trace:
        if type(term) is Exit:
            return True
        if type(term) is Choice and ends(term.body) and ends(term.orelse):
            return True
        if type(term) is Attempt and ends(term.body) and all(ends(handler) for _, handler in term.handlers):
            return True
    return False
