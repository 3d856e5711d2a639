"""`try` and `with`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.control import cleanups, exceptions, failing, services, swallowed, turns
from ferrule_lint.semantics.control.process_ends import status_of
from ferrule_lint.semantics.domain.assigned import is_bar
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import Atom, Formula, divergence_of
from ferrule_lint.semantics.domain.dependences import NO_DEPS
from ferrule_lint.semantics.domain.lattice import UNIFORM, UNKNOWN, Value, worse
from ferrule_lint.semantics.domain.text import called_name, last_name, position, variables
from ferrule_lint.semantics.domain.trace import Attempt, Choice, Exit, Trace, by_way_of, ends, has_exit
from ferrule_lint.semantics.gradients import meeting
from ferrule_lint.semantics.project.entities import WITHOUT_GRADIENT, FunctionInfo, by_id
from ferrule_lint.semantics.walk import handed_nothing, joined, kept_tests, left_by_failing, left_early, unsynchronised
from ferrule_lint.semantics.walk.binding import bind
from ferrule_lint.semantics.walk.body import execute
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.loops import any_rounds

#: exceptions that one rank has and the others have not: no memory, an empty queue, nobody answers, somebody stops it
_LOCAL_EXCEPTIONS = frozenset({"OutOfMemoryError", "OutOfMemory", "KeyboardInterrupt"}) | exceptions.LOCAL

_OUT_OF_MEMORY = re.compile(r"out of memory|(^|_)oom(_|$)", re.IGNORECASE)


def try_block(frame: Frame, s: f.Try) -> None:
    before, entered_with, start = dict(frame.env), dict(frame.versions), len(frame.terms)
    attempt = exceptions.open_try(frame, s)
    # what only tidies up lets an exception through to the handlers around it
    through = not s.handlers and not _may_communicate(frame, s.final)
    with frame.recording() as inner:
        frame.attempts += [] if through else [attempt]
        execute(frame, s.body)
        del frame.attempts[len(frame.attempts) - (not through) :]
        execute(frame, s.orelse)
    body = (*exceptions.expected(frame, attempt, tuple(inner)), *inner) if not frame.light else tuple(inner)
    handlers: list[tuple[int, Trace]] = []
    if not attempt.reached:
        frame.terms.extend(body)
    after = frame.env
    if s.handlers:
        kept_tests.forget(frame, entered_with)
    for handler in s.handlers:
        frame.env = any_rounds(before, after)
        entered = dict(frame.env)
        if handler.name:
            frame.env[handler.name] = UNKNOWN
        alone = exceptions.had_alone(frame, attempt, handler)
        frame.conditions += [alone] if alone is not None else []
        begun = frame.clock
        with frame.recording() as terms:
            execute(frame, handler.body)
        frame.conditions[len(frame.conditions) - (alone is not None) :] = []
        handled = tuple(terms)
        if alone is not None and ends(handled):
            left_early.by_arm(frame, alone, handled, frame.env, begun)
        if alone is not None and has_exit(handled) == "continue":
            after = left_by_failing.has_less(frame, s, handler, alone, before, after)
        handlers.append((handler.line, handled))
        if handled and not frame.light:
            cleanups.in_handler(frame, s, handler, tuple(inner), handled)
        if handled and not attempt.reached and not _gives_up(frame, handler, handled):
            pos = (handler.line, 1, handler.line, 1)
            atom = Atom(f"except at {frame.module.path}:{handler.line}", None, NO_DEPS)
            frame.emit(Choice(atom, handled, (), frame.module.path, pos, "except", "except"))
        if not ends(handled):
            raised = _raised_here(frame, s, handler, before, frame.env, attempt.alone.get(handler.line))
            if alone is not None:
                raised = left_by_failing.told_apart(s, alone, (before, entered, after), raised)
                raised = left_by_failing.has_less(frame, s, handler, alone, before, raised)
            tried, after = after, any_rounds(after, raised)
            if frame.gradients:
                meeting.with_handler(frame, handler, before, tried, entered, after)
    if attempt.reached and (inner or any(handled for _, handled in handlers)):
        frame.emit(Attempt(body, tuple(handlers)))
    frame.env = after
    if s.handlers:
        kept_tests.forget(frame, entered_with)
    with frame.recording() as final:
        execute(frame, s.final)
    if not frame.light:
        cleanups.in_finally(frame, s, body, tuple(final))
        if not _asks_how_it_went(s):
            _end_by(frame, start, tuple(final))
    frame.terms.extend(final)


def _gives_up(frame: Frame, handler: f.Handler, handled: Trace) -> bool:
    """Whether a handler ends the process and does nothing else that others would see, among what a rank does with its
    own data: whoever is spared the work by them is spared no more than an exception that nobody catches."""
    around = frame.path_divergence()
    if around is None or around.kind != "data" or any(type(term) is not Exit for term in handled):
        return False
    return any(type(s) is f.ExprStmt and type(s.value) is f.Call and status_of(s.value) for s in handler.body)


def _asks_how_it_went(s: f.Try) -> bool:
    """Whether a `finally` asks for something that the block sets: whoever has left it may get another answer."""
    asked = {name for part in statements(s.final) if type(part) is f.If for name in variables(part.test)}
    return any(type(part) is f.Assign and not asked.isdisjoint(variables(part.targets)) for part in statements(s.body))


def _end_by(frame: Frame, start: int, last: Trace) -> None:
    """Whoever has left a block, whose terms begin at `start`, comes by what is issued at its end."""
    if last and not frame.light:
        frame.terms[start:] = by_way_of(tuple(frame.terms[start:]), last)


_COLLECTIVE = re.compile(r"barrier|reduce|gather|broadcast|scatter|all_to_all|sync|wait|join|destroy|save")


def _may_communicate(frame: Frame, body: f.Body) -> bool:
    """Whether a block calls something of the project, or by its name something that other ranks take part in."""
    calls = (node for node in walk(body) if type(node) is f.Call)
    return any(
        _COLLECTIVE.search(last_name(call.func))
        or isinstance(frame.analysis.names.resolve(call.func, frame.module), FunctionInfo)
        or (type(call.func) is f.Attr and last_name(call.func.base) == frame.self_name)
        for call in calls
    )


def _raised_here(
    frame: Frame,
    s: f.Try,
    handler: f.Handler,
    before: dict[str, Value],
    env: dict[str, Value],
    alone: Formula | None,
) -> dict[str, Value]:
    """What a handler sets differs between ranks, if one can have the exception alone."""
    types = handler.type.elements if type(handler.type) is f.Sequence else (handler.type,)
    name = next((last_name(t) for t in types if t is not None and last_name(t) in _LOCAL_EXCEPTIONS), "")
    of_memory = name.startswith("OutOfMemory")
    if not name and _speaks_of_memory(handler.body):
        name, of_memory = "out-of-memory error", True
    if not name and exceptions.is_broad(handler):
        call = services.asked(frame.module, s.body)
        name = f"`{call}` asks a service" if call else ""
    here, note = (handler.line, 1, handler.line, 1), "set where this rank had the exception"
    if name:
        least = Confidence.LOW if of_memory and failing.allocates_alike(frame, s.body) else Confidence.MEDIUM
        divergence = frame.source(WORLD, "host", here, f"{note}: {name}", least)
    elif alone is not None and (own := divergence_of(alone)) is not None:
        divergence = own.then(frame.step("flow", here, note))
    else:
        return env
    changed = dict(env)
    for place, value in env.items():
        if value is not before.get(place) and (value.const is not None or value.uniform):
            presence = worse(value.presence, divergence) if value.const == "None" else value.presence
            apart = worse(value.divergence, divergence)
            changed[place] = value._replace(uniform=False, const=None, divergence=apart, presence=presence)
    return changed


def _speaks_of_memory(node: object) -> bool:
    """Whether a handler of a general exception asks if memory ran out."""
    for item in walk(node):
        if type(item) is f.Const and _OUT_OF_MEMORY.search(item.text):
            return True
        if (type(item) is f.Name or type(item) is f.Attr) and _OUT_OF_MEMORY.search(last_name(item)):
            return True
    return False


def with_block(frame: Frame, s: f.With) -> None:
    suppressed = swallowed.by_suppress(s)
    if suppressed is not None:
        try_block(frame, _caught(s, suppressed))
        return
    body = s.body
    exits: list[Callable[[], None]] = []
    one_first = None
    for expr, target in s.items:
        before = len(frame.terms)
        value = frame.eval(expr)
        one_first = one_first or turns.divides(frame, tuple(frame.terms[before:]))
        entered = value
        pos = position(expr) or (s.line, 1, s.line, 1)
        if len(value.types) == 1 and not frame.light and _dunder(frame, next(iter(value.types)), ("__exit__",)):
            issues, latents = len(frame.issues), len(frame.latents)
            value = value._replace(fields=frame.analysis.fixed_fields(frame, expr, next(iter(value.types))))
            del frame.issues[issues:], frame.latents[latents:]
        for info in by_id(value.types)[:2]:
            enter = _dunder(frame, info, ("__enter__", "__aenter__"))
            leave = _dunder(frame, info, ("__exit__", "__aexit__"))
            if enter is not None:
                entered = frame.analysis.call_function(frame, enter, value, (), {}, pos)
                entered = entered if entered.types else value
            if leave is not None:
                exits.append(partial(_leave, frame, leave, value, pos, s, target))
                caught = swallowed.by_exit(frame, leave) if len(value.types) == 1 else None
                body = (_caught(s, caught),) if caught is not None else body
        if types := swallowed.by_generator(frame, expr):
            body = (_caught(s, *types),)
        if target is not None:
            bind(frame, target, entered._replace(const=None))
            if type(target) is f.Name and is_bar(expr):
                frame.definitions[target.id] = (expr, frame.version(target.id))
    if exits:
        # an exception in the body passes the exits before any handler: not followed
        frame.attempts.append(exceptions.OpenTry((), frozenset()))
    without = any(called_name(expr) in WITHOUT_GRADIENT for expr, _ in s.items)
    frame.no_gradient += without
    start = len(frame.terms)
    if (joins := joined.call_of(frame, s)) is not None:
        joined.block(frame, s, joins)
    elif (kept := unsynchronised.by_block(frame, s)) is not None:
        with frame.recording() as terms:
            execute(frame, s.body)
        unsynchronised.emit(frame, kept, tuple(terms))
    else:
        execute(frame, body)
    if one_first is not None and not frame.light:
        turns.check(frame, one_first, frame.terms[start:])
    frame.no_gradient -= without
    if exits:
        frame.attempts.pop()
    for leave_block in reversed(exits):
        with frame.recording() as last:
            leave_block()
        _end_by(frame, start, tuple(last))
        frame.terms.extend(last)


def _caught(s: f.With, *types: f.Expr) -> f.Try:
    """A block that does not let some exceptions out, with handlers for them that do nothing."""
    return f.Try(s.line, s.body, tuple([f.Handler(s.line, of, None, ()) for of in types]), (), ())


def _dunder(frame: Frame, info: Any, names: tuple[str, ...]) -> Any:
    return next((m for m in (frame.analysis.names.method(info, n) for n in names) if m is not None), None)


def _leave(frame: Frame, method: Any, value: Value, pos: f.Pos, s: f.With, target: f.Expr | None) -> None:
    with frame.recording() as terms:
        frame.analysis.call_function(frame, method, value, (UNIFORM, UNIFORM, UNIFORM), {}, pos)
    if not terms or frame.light or not handed_nothing.goes_over_nothing(frame, s, target, method, tuple(terms)):
        frame.terms.extend(terms)
