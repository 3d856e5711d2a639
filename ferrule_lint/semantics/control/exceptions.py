"""Exceptions as control flow: what a `raise`, a call that may raise and a handler that carries on do to the trace.

Only exceptions that some rank may have and another may not are followed: raised under a divergent condition, here or in
a callee; memory that runs out; and work on local data inside a `try` whose handler carries on (`work`). Where one is
caught, an `Attempt` holds the handlers, and a choice whose arm ends in a *caught* exit leads there. One that the
project catches elsewhere, so that it belongs to normal operation, but not here, *leaves* the function.
"""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import blocks, statements, walk
from ferrule_lint.findings import Confidence, Step
from ferrule_lint.models.lookup import ModelSet
from ferrule_lint.semantics.control import (
    begun_anew,
    called_again,
    end_of_data,
    ended,
    failing,
    needed,
    one_has_failed,
    process_ends,
    services,
)
from ferrule_lint.semantics.control.built_meanwhile import built_by_some
from ferrule_lint.semantics.control.end_of_data import Ending
from ferrule_lint.semantics.control.queues import EMPTY, looks_again
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import CAUGHT, Atom, Formula, connect, divergence_of
from ferrule_lint.semantics.domain.dependences import FLOWS, ITEM, NO_DEPS, Deps, read
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import called_name, last_name, shown
from ferrule_lint.semantics.domain.trace import Attempt, CallTerm, Choice, Event, Exit, Term, Trace, every_term
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.reads import Asked, Memo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.domain.summary import Summary
    from ferrule_lint.semantics.walk.frame import Frame

#: calls through which an exception is followed
DEEPEST = 3
#: handlers of these expect anything that the data may bring
_BROAD = frozenset(
    "Exception BaseException RuntimeError ValueError KeyError IndexError OSError IOError ArithmeticError "
    "ZeroDivisionError JSONDecodeError UnicodeDecodeError UnicodeError UnidentifiedImageError DecodeError "
    "ParseError LinAlgError".split()
)
_MEMORY = frozenset(["OutOfMemoryError"])
#: exceptions that tell of a moment: an empty queue, nobody who answers in time, a service that is down for one client
LOCAL = frozenset(
    "Empty Full QueueEmpty QueueFull TimeoutError Timeout ReadTimeout ConnectTimeout ZMQError Again "
    "RequestException ConnectionError ConnectionResetError ConnectionRefusedError HTTPError URLError HTTPStatusError "
    "ClientError ClientConnectorError ServerDisconnectedError RemoteDisconnected APIError APIConnectionError "
    "APITimeoutError RateLimitError InternalServerError HfHubHTTPError".split()
)
#: what work on the host raises where it fails; see `host_work`
HOST_ERROR = "OSError"
_ENDS = frozenset("exit _exit abort kill killpg fail skip skipTest xfail".split())
#: methods that an iterator is asked by
_ITERATE = frozenset({"__next__", "__anext__"})


class Escape(NamedTuple):
    """An exception that leaves a function on some ranks, or does so if what it was passed (`deps`) differs between
    them. `info` is its class, if the project defines it; `site` is where it is raised."""

    name: str
    info: ClassInfo | None
    divergence: Divergence | None
    depth: int
    deps: Deps = NO_DEPS
    site: Step | None = None


@dataclass(slots=True)
class OpenTry:
    """A `try` whose body is being walked."""

    handlers: tuple[f.Handler, ...]
    #: lines of the handlers that carry on
    swallows: frozenset[int]
    #: what the body does
    body: f.Body = ()
    #: lines of the handlers that something in the body leads to
    reached: set[int] = field(default_factory=set)
    #: whether a call on local data was seen, or one on data that a program makes up
    fallible: bool = False
    guessed: bool = False
    #: under how many conditions of the frame it stands
    conditions: int = 0
    #: line of a handler -> the condition under which a rank comes to it and others do not
    alone: dict[int, Formula] = field(default_factory=dict)
    #: line of a handler -> what was passed to the function that decides whether its body fails
    passed: dict[int, Deps] = field(default_factory=dict)

    def come_to(self, line: int, formula: Formula) -> None:
        """Something in the body leads to a handler where a condition holds."""
        self.reached.add(line)
        known = self.alone.get(line)
        self.alone[line] = formula if known is None else connect("or", [known, formula])


def open_try(frame: Frame, s: f.Try) -> OpenTry:
    told = process_ends.tells_of_failure(s)
    going_on = [] if told else [h for h in s.handlers if carries_on(h.body) and not begun_anew.by(frame, s, h)]
    swallows = frozenset(h.line for h in going_on if not _fails_behind(frame, s, h))
    return OpenTry(s.handlers, swallows, s.body, conditions=len(frame.conditions))


def _fails_behind(frame: Frame, s: f.Try, handler: f.Handler) -> bool:
    """Whether a rank that comes through a handler fails behind the `try`, where nothing in the function catches it."""
    if frame.function is None or any(attempt.handlers for attempt in frame.attempts):
        return False
    return _ways(handler.body) == {"through"} and needed.behind(frame.function.body, s, handler)


def carries_on(body: f.Body) -> bool:
    """Whether a handler's code goes on with the program on some way."""
    return bool(_ways(body) & {"on", "through"})


def _ways(body: f.Body) -> set[str]:
    """How a block may end: "raise", "on" (it leaves for another place of the function) or "through"."""
    ways: set[str] = set()
    for s in body:
        if type(s) is f.Raise:
            return ways | {"raise"}
        if type(s) in (f.Return, f.Continue, f.Break):
            return ways | {"on"}
        if type(s) is f.ExprStmt and type(s.value) is f.Call:
            status = process_ends.status_of(s.value)
            if status or _ends(s.value):
                # without a status of failure the other processes go on, and wait for this one
                return ways | {"on" if status == "success" else "raise"}
        if type(s) is f.If:
            inner = _ways(s.body) | (set() if _of_several(s.test) else _ways(s.orelse))
            ways |= inner - {"through"}
            if "through" not in inner:
                return ways
    return ways | {"through"}


def _ends(call: f.Call) -> bool:
    """Whether a call ends the process, or hands the text of the exception to the one that has started it
    (`error_queue.put((rank, traceback.format_exc()))`), which ends all of them."""
    name = last_name(call.func)
    told = name in process_ends.TELLS and any(
        type(node) is f.Call and called_name(node) == "format_exc" for node in walk(call.args)
    )
    return name in _ENDS or told


def _of_several(test: f.Expr) -> bool:
    """`world_size > 1`, `rank != -1`: a handler that asks so is for one process where that does not hold."""
    if type(test) is f.BoolOp:
        return test.op == "or" and any(map(_of_several, test.values))
    if type(test) is not f.Compare:
        return False
    asked, name = (test.ops, test.rights), last_name(test.left)
    if asked == (("!=",), (f.Const("-1"),)):
        return _RANK.search(name) is not None
    return asked == ((">",), (f.Const("1"),)) and _SIZES.search(name) is not None


_RANK = re.compile(r"(^|_)rank$", re.IGNORECASE)
_SIZES = re.compile(r"world_size|num_(processes|replicas|ranks)|nprocs", re.IGNORECASE)


def names_of(handler: f.Handler) -> tuple[str, ...]:
    """The last names of the classes that a handler catches; nothing for a bare `except`."""
    types = handler.type.elements if type(handler.type) is f.Sequence else (handler.type,)
    return tuple(last_name(t) for t in types if t is not None)


def is_broad(handler: f.Handler) -> bool:
    """Whether a handler catches whatever may go wrong."""
    names = names_of(handler)
    return not names or any(n in _BROAD for n in names)


def _matches(frame: Frame, handler: f.Handler, name: str, info: ClassInfo | None) -> bool:
    """Whether a handler catches exceptions of a class."""
    caught = names_of(handler)
    if not caught or "BaseException" in caught or "Exception" in caught or name in caught:
        return True
    bases = [c.name for c in frame.analysis.names.mro(info)] if info is not None else []
    outer = [b.rpartition(".")[2] for b in frame.analysis.names.external_bases(info)] if info is not None else [name]
    for base in outer:
        known = getattr(builtins, base, None)
        if isinstance(known, type):
            bases += [c.__name__ for c in known.__mro__]
    return any(b in caught for b in bases)


# ---------------------------------------------------------------------- what raises
def of_raise(frame: Frame, s: f.Raise) -> Exit:
    """The exit that a `raise` is: into a handler that carries on, or out of the function."""
    expr = s.value.func if type(s.value) is f.Call else s.value
    name = last_name(expr)
    if not name or frame.light:
        return Exit("raise", s.line)
    entity = frame.analysis.names.resolve(expr, frame.module)
    info = entity if isinstance(entity, ClassInfo) else None
    line = handler_of(frame, name, info)
    if line:
        attempt = frame.attempts[-1]
        attempt.come_to(line, connect("and", frame.conditions[attempt.conditions :]))
        return Exit("caught", line)
    if _found_by_one(frame):
        return Exit("alone", s.line)
    divergence = frame.path_divergence()
    raised = frame.step("flow", (s.line, 1, s.line, 1), f"raises `{name}` there")
    if divergence is not None:
        frame.escapes[(name, s.line)] = Escape(name, info, divergence.then(raised), 0)
    elif deps := read(frame.path_deps()):
        frame.escapes[(name, s.line)] = Escape(name, info, None, 0, deps, raised)
    if name in end_of_data.EXHAUSTED and frame.function is not None and frame.function.name in _ITERATE:
        return Exit("return", s.line)  # no failure: it is how an iterator says that it has come to its end
    return Exit("raise", s.line)


def _found_by_one(frame: Frame) -> bool:
    """Whether one rank alone looks at its host (a file, most often) and raises by what it finds there.

    Of other tests under a guard for one rank it is taken that they end the job, and are meant to.
    """
    guards = [divergence_of(c) for c in frame.conditions]
    if not guards or guards[-1] is None or guards[-1].kind != "host":
        return False
    return any(
        g is not None and g.kind == "rank" and not g.member and g.confidence > Confidence.LOW for g in guards[:-1]
    )


def handler_of(frame: Frame, name: str, info: ClassInfo | None) -> int:
    """The line of the handler which catches an exception here and carries on, or 0."""
    for attempt in reversed(frame.attempts):
        for handler in attempt.handlers:
            if _matches(frame, handler, name, info):
                if handler.line not in attempt.swallows or attempt is not frame.attempts[-1]:
                    return 0
                return handler.line
    return 0


def at_call(frame: Frame, summary: Summary, bound: Mapping[str, Value], pos: f.Pos) -> None:
    """After the events of a call: what its callee may raise, before it issues them or else with all of them issued."""
    for told in summary.escapes:
        if told.depth >= DEEPEST:
            continue
        escape = _passed(told, bound) if told.divergence is None else told
        if escape.divergence is None:
            if escape.deps:
                frame.escapes.setdefault((escape.name, pos[0]), escape._replace(depth=escape.depth + 1))
            continue
        step = frame.step("call", pos, f"`{summary.display}` raises `{escape.name}`")
        divergence = escape.divergence.then(step)
        line = handler_of(frame, escape.name, escape.info)
        text = f"{escape.name} from {summary.display}"
        if line:
            if _ends_with_program(frame, summary, escape, pos):
                continue
            before = _before_events(frame, summary, escape)
            if before is not None:
                divergence = divergence.at_most(Confidence.MEDIUM)
                before += _parted(frame, summary, escape)
            atom = emit(frame, divergence, Exit("caught", line), pos, text, before)
            frame.attempts[-1].come_to(line, atom)
            continue
        if _belongs_to_normal_operation(frame, escape, summary.function):
            emit(frame, divergence, Exit("leaves", pos[0]), pos, text)
        frame.escapes[(escape.name, pos[0])] = escape._replace(divergence=divergence, depth=escape.depth + 1)


def _passed(escape: Escape, bound: Mapping[str, Value]) -> Escape:
    """The exception that a function raises by what it is passed, for the arguments of a call."""
    from ferrule_lint.semantics.calls.instantiate import divergence_through

    deps = NO_DEPS
    for name, how in sorted(escape.deps):
        value = bound.get(name)
        divergence = divergence_through(value, how) if value is not None else None
        if divergence is not None:
            site = escape.site
            return escape._replace(divergence=divergence.then(site) if site is not None else divergence)
        deps |= frozenset((p, how) for p, known in value.deps if known in (FLOWS, ITEM)) if value is not None else deps
    return escape._replace(deps=deps)


def _ends_with_program(frame: Frame, summary: Summary, escape: Escape, pos: f.Pos) -> bool:
    """Whether work on the host fails in a call that trains, or does more than that work, and nothing calls it again: at
    the end of a program it is the program that ends. So it is with all processes that were started together."""
    if escape.name != HOST_ERROR or not summary.events:
        return False
    if summary.function is not None and failing.launches(frame, pos, summary.function.name):
        return True
    return not frame.loop_depth and (escape.depth > 0 or any(event.hidden for event in summary.events))


def _before_events(frame: Frame, summary: Summary, escape: Escape) -> int | None:
    """The place of a call among the terms, where its callee raises before something that it issues."""
    if not frame.terms or type(frame.terms[-1]) is not CallTerm or frame.terms[-1].summary is not summary:
        return None
    assert escape.divergence is not None
    raised = escape.divergence.why[-1]
    issued = (t for t in every_term(summary.trace) if type(t) is Event or (type(t) is CallTerm and t.summary.events))
    later = any(t.path == raised.path and t.pos[0] > raised.line for t in issued)
    return len(frame.terms) - 1 if later else None


def _parted(frame: Frame, summary: Summary, escape: Escape) -> int:
    """Part a call that has just been issued where its callee raises, so that nobody skips what comes before that: how
    many of the parts stand before it."""
    assert escape.divergence is not None
    raised = escape.divergence.why[-1]
    first: list[Term] = []
    rest: list[Term] = []
    for term in summary.trace:
        (first if _is_before(term, raised) else rest).append(term)
    if len(summary.escapes) != 1 or any(type(term) is Exit for term in every_term(tuple(first))):
        return 0
    one, other = (frame.analysis.summaries.part(summary, tuple(terms)) for terms in (first, rest))
    if not one.events or not other.events:
        return 0
    call = frame.terms.pop()
    assert type(call) is CallTerm
    frame.terms += [call._replace(summary=one), call._replace(summary=other)]
    return 1


def _is_before(term: Term, raised: Step) -> bool:
    """Whether a term stands in the lines before the place where something is raised."""
    return not isinstance(term, Exit | Attempt) and term.path == raised.path and term.pos[0] < raised.line


def _belongs_to_normal_operation(frame: Frame, escape: Escape, function: FunctionInfo | None) -> bool:
    """Whether an exception tells of the local batch and is survived: what validates raises to end the job. `function`:
    what is called, which a decorator may have called again."""
    divergence = escape.divergence
    if divergence is None or divergence.kind not in ("data", "structure") or divergence.confidence == Confidence.LOW:
        return False
    if function is not None and called_again.is_for(function, frame.analysis.models, escape.name):
        return True
    return escape.info is not None and frame.analysis.exceptions.is_survived_in(frame.module, escape.info)


def told_to_callers(frame: Frame, summary: Summary) -> Iterator[Escape]:
    """The exceptions that leave a function. What comes from a callee and skips events here is reported here."""
    reported = any(not e.hidden and e.confidence >= Confidence.MEDIUM for e in summary.events)
    found = (escape for escape in frame.escapes.values() if escape.depth == 0 or not reported)
    return iter(sorted(found, key=lambda escape: escape.divergence is None))


def emit(frame: Frame, divergence: Divergence, way: Exit, pos: f.Pos, text: str, at: int | None = None) -> Atom:
    atom = Atom(f"{CAUGHT}{frame.module.path}:{pos[0]}:{pos[1]} {text}", divergence, NO_DEPS)
    choice = Choice(atom, (way,), (), frame.module.path, pos, text, "exception")
    frame.terms.insert(len(frame.terms) if at is None else at, choice)
    return atom


# ---------------------------------------------------------------------- what a handler says
def expected(frame: Frame, attempt: OpenTry, issued: Trace) -> Iterator[Choice]:
    """What the handlers themselves tell of exceptions in the body that only some ranks have. `issued`: what the body
    has issued."""
    for handler in attempt.handlers:
        if handler.line in attempt.reached or handler.line not in attempt.swallows:
            continue
        if _waits_for_more(frame, handler, attempt):
            continue
        divergence = _told_by(frame, handler, attempt.body)
        if divergence is None:
            divergence = one_has_failed.alone(frame, handler, names_of(handler), attempt.body, issued)
        dry = _runs_dry(frame, handler, attempt.body) if divergence is None else None
        divergence = dry.divergence if dry is not None else divergence
        if divergence is not None or (dry is not None and dry.deps):
            pos = (handler.line, 1, handler.line, 1)
            text = end_of_data.RUN_DRY if dry is not None else "except " + ", ".join(names_of(handler))
            atom = _atom(frame, handler, divergence, dry.deps if dry is not None else NO_DEPS)
            if dry is None:
                attempt.come_to(handler.line, atom)
            attempt.reached.add(handler.line)
            yield Choice(atom, (Exit("caught", handler.line),), (), frame.module.path, pos, text, "exception")


def _waits_for_more(frame: Frame, handler: f.Handler, attempt: OpenTry) -> bool:
    """Whether a rank whose queue was empty looks into it again, as if it had waited: nothing tells it from others."""
    return bool(names_of(handler)) and EMPTY.issuperset(names_of(handler)) and looks_again(frame, handler, attempt.body)


def _notes(body: f.Body) -> bool:
    """Whether a handler sets or counts something, by which it may be told that it ran."""
    return any(type(s) not in (f.Continue, f.ExprStmt, f.If) for s in statements(body))


def had_alone(frame: Frame, attempt: OpenTry, handler: f.Handler) -> Formula | None:
    """The condition under which a handler runs, where what it catches, or what was tried, tells that one rank may have
    it alone."""
    if _waits_for_more(frame, handler, attempt) and not _notes(handler.body):
        return None
    known = attempt.alone.get(handler.line)
    if known is not None and divergence_of(known) is not None:
        return known
    divergence = _by_name(frame, handler, attempt.body)
    if divergence is not None:
        return _atom(frame, handler, divergence)
    passed = attempt.passed.get(handler.line)
    if passed is not None:
        return _atom(frame, handler, None, passed)  # the callers tell
    return _out_of_items(frame, handler, attempt.body)


def _out_of_items(frame: Frame, handler: f.Handler, body: f.Body) -> Formula | None:
    """The same of a handler that waits for the end of an iterator, where that is known to be over a share of this rank,
    or is up to what was passed."""
    if not end_of_data.EXHAUSTED.intersection(names_of(handler)):
        return None
    found = end_of_data.at_handler(frame, body, (handler.line, 1, handler.line, 1))
    if found is None or not (found.known or found.deps):
        return None
    return _atom(frame, handler, found.divergence if found.known else None, found.deps)


def _atom(frame: Frame, handler: f.Handler, divergence: Divergence | None, deps: Deps = NO_DEPS) -> Atom:
    return Atom(f"{CAUGHT}{frame.module.path}:{handler.line}", divergence, deps)


def _by_name(frame: Frame, handler: f.Handler, body: f.Body) -> Divergence | None:
    """Why only some ranks have what a handler catches, as its name tells."""
    pos = (handler.line, 1, handler.line, 1)
    names = names_of(handler)
    if any(n in _MEMORY for n in names) or ("RuntimeError" in names and _mentions(handler.body, "out of memory")):
        least = Confidence.LOW if failing.allocates_alike(frame, body) else Confidence.MEDIUM
        return frame.source(WORLD, "host", pos, "memory runs out on one rank only", least)
    alone = next((n for n in names if n in LOCAL), None)
    if alone is not None and not ended.by_signal(frame, alone):
        least = Confidence.LOW if services.only_missing(handler.body) else Confidence.MEDIUM
        told = frame.source(WORLD, "host", pos, f"one rank may have `{alone}` and the others not", least)
        return _of_call(frame, body, told)
    if (build := built_by_some(handler, names, body)) is not None:
        note = f"where `{shown(build.func)}` has run elsewhere, this rank can import it"
        built = frame.step("flow", build.pos, "what is imported is built here, by some ranks")
        return frame.source(WORLD, "host", pos, note, Confidence.MEDIUM).then(built)
    if is_broad(handler) and carries_on(handler.body) and (call := services.asked(frame.module, body)):
        note = f"`{call}` asks a service, which may fail one rank and not the others"
        return _of_call(frame, body, frame.source(WORLD, "host", pos, note, Confidence.MEDIUM))
    return None


#: what a witness says of the one call in a `try` that its handler is there for
IS_WHAT_FAILS = "is what may fail"


def _of_call(frame: Frame, body: f.Body, divergence: Divergence) -> Divergence:
    """With the call that asks the service, if there is one such call."""
    call = services.asked_alone(frame.module, body)
    if call is None:
        return divergence
    return divergence.then(frame.step("flow", call.pos, f"`{shown(call.func)}` {IS_WHAT_FAILS}"))


def _told_by(frame: Frame, handler: f.Handler, body: f.Body) -> Divergence | None:
    if (by_name := _by_name(frame, handler, body)) is not None:
        return by_name
    types = handler.type.elements if type(handler.type) is f.Sequence else (handler.type,)
    for expr in types:
        entity = frame.analysis.names.resolve(expr, frame.module) if expr is not None else None
        if isinstance(entity, ClassInfo):
            divergence = frame.analysis.exceptions.raised(entity)
            if divergence is not None:
                return divergence.at_most(Confidence.MEDIUM)
    return None


def _runs_dry(frame: Frame, handler: f.Handler, body: f.Body) -> Ending | None:
    """The end of an iterator over the rank's own batches, caught by hand."""
    if not end_of_data.EXHAUSTED.intersection(names_of(handler)):
        return None
    here = (handler.line, 1, handler.line, 1)
    found = end_of_data.at_handler(frame, body, here)
    yields = frame.function is not None and frame.function.is_generator and _ways(handler.body) == {"on"}
    if found is not None and found.divergence is not None and yields:
        step = frame.step("condition", here, "ends what is yielded here")
        frame.yielded_length = frame.yielded_length or found.divergence.then(step)
    return found


def _raised_name(s: f.Raise) -> str:
    return called_name(s.value)


def _mentions(node: object, text: str) -> bool:
    """Whether a string constant somewhere in facts holds a text."""
    return any(type(item) is f.Const and text in item.text for item in walk(node))


class _Handling:
    """What the functions of one file do with exceptions, by the names of the classes."""

    def __init__(self, module: ModuleInfo, models: ModelSet) -> None:
        #: named in a handler that carries on, or for a library to try again for
        self.survived = called_again.in_file(module, models)
        #: raised in a handler of another exception
        self.translating: set[str] = set()
        #: raised -> qualified names of functions
        self.raisers: dict[str, list[str]] = {}
        for qualname, function in module.functions.items():
            stack = list(function.body)
            while stack:
                s = stack.pop()
                stack += [inner for block in blocks(s) for inner in block]
                if type(s) is f.Try:
                    for handler in s.handlers:
                        self.translating |= {_raised_name(x) for x in handler.body if type(x) is f.Raise}
                        if carries_on(handler.body):
                            self.survived.update(names_of(handler))
                elif type(s) is f.Raise:
                    self.raisers.setdefault(_raised_name(s), []).append(qualname)

    def said(self) -> list[object]:
        """All of it, in one order."""
        return [sorted(self.survived), sorted(self.translating), sorted(self.raisers.items())]


class Exceptions:
    """What the whole project does with its own exception classes, looked up when it is first asked."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._handling: Asked[_Handling | None] = Asked(analysis.names.reads, "handling")
        self._handled: dict[str, tuple[list[str], list[tuple[str, str]]]] = {}
        self._raised: Memo[str, Divergence | None] = Memo(analysis.names.reads)

    def is_survived_in(self, module: ModuleInfo, info: ClassInfo) -> bool:
        """Whether a handler in a file names the class and carries on: its functions deal with such exceptions."""
        return module.mentions_any(frozenset({info.name})) and info.name in self.handling(module).survived

    def translates(self, info: ClassInfo) -> bool:
        """Whether the project raises the class in a handler: something has failed, and is called by another name."""
        return bool(self.handled(info.name)[0])

    def raised(self, info: ClassInfo) -> Divergence | None:
        """Why only some ranks raise the class, where the project raises it under a divergent condition."""
        return self._raised.find(info.id, lambda: self._raised_where(info))

    def _raised_where(self, info: ClassInfo) -> Divergence | None:
        modules = self._analysis.names.modules
        for path, qualname in islice(self.handled(info.name)[1], 4):
            known = self._analysis.frame_of(modules[path].functions[qualname])
            found = known[1].escapes.values() if known is not None else ()
            divergence = next((e.divergence for e in found if e.info is info and e.depth == 0 and e.divergence), None)
            if divergence is not None:
                return divergence
        return None

    def handled(self, name: str) -> tuple[list[str], list[tuple[str, str]]]:
        """The files in which a class of this name is raised in a handler, and the functions that raise one."""
        with self._analysis.names.reads.answering("handled", name):
            if name not in self._handled:
                modules = self._analysis.names.mentioning(name)
                self._handled[name] = (
                    [m.path for m in modules if name in self.handling(m).translating],
                    [(m.path, qualname) for m in modules for qualname in self.handling(m).raisers.get(name, ())],
                )
        return self._handled[name]

    def handling(self, module: ModuleInfo) -> _Handling:
        """What a file does with exceptions."""
        found = self._handling.find(module.path, lambda: _Handling(module, self._analysis.models), None)
        assert found is not None  # nothing is asked of other files for it
        return found
