"""Work on the rank's own data that may fail on one rank only, inside a `try` whose handler carries on.

What a call works on is what it is given, or what the function that is called takes from elsewhere: an evaluation over
the loader that its object holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.control import failing, in_step
from ferrule_lint.semantics.control.exceptions import DEEPEST, OpenTry, emit, is_broad, names_of
from ferrule_lint.semantics.domain.dependences import FLOWS, ITEM, NO_DEPS, OBSERVED, read, recast
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import dotted_name, last_name, shown
from ferrule_lint.semantics.domain.trace import CallTerm, Event, Exit
from ferrule_lint.semantics.project.entities import ClassInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: handlers of these expect anything that a whole function may bring
_FOR_ALL = frozenset(["Exception", "BaseException", "RuntimeError"])


def after_call(frame: Frame, e: f.Call, values: tuple[Value, ...], before: int) -> None:
    """A call on local data inside a `try` whose handler carries on: it may fail on one rank only."""
    if frame.light or (frame.fallible is not None and not frame.attempts):
        return
    attempt = frame.attempts[-1] if frame.attempts else None
    issued = frame.terms[before:]
    if (attempt is not None and attempt.fallible) or any(type(t) is Event and not t.hidden for t in issued):
        return
    source = next((d for v in values if (d := v.data or _of_data(v)) is not None), None)
    own_file = _own_file(e, values) if source is None else None
    source = source or own_file
    if source is None:
        _in_callee(frame, attempt, e, before)
        _on_what_was_passed(attempt, e, values)
        return
    if failing.is_harmless(e) or (own_file is None and _is_of_torch(e)):
        return
    made_up = own_file is None and failing.is_made_up(frame, e, values)
    if (made_up and attempt is not None and attempt.guessed) or failing.only_communicates(frame, e, values, issued):
        return
    what = "the rank's own data" if own_file is None else "a file of this rank's own"
    note = f"`{shown(e.func)}` works on {what}, and may fail on one rank only"
    most = Confidence.LOW if made_up else Confidence.MEDIUM
    divergence = source.then(frame.step("flow", e.pos, note)).at_most(most)
    if own_file is None:
        _told_by_failing(frame, divergence, 0)
    if attempt is None:
        return
    for handler in attempt.handlers:
        about_files = own_file is not None and "FileNotFoundError" in names_of(handler)
        if handler.line in attempt.swallows and (
            is_broad(handler) or about_files or _expects_failure(frame, handler, e)
        ):
            if failing.is_stopped_at(frame, names_of(handler)):
                return
            attempt.fallible, attempt.guessed = not made_up, True
            _comes_alone(frame, attempt, handler, divergence, e, before)
            return


def _is_of_torch(e: f.Call) -> bool:
    """Whether a call is one of torch's own that fails by no content: matrices can be such that they are not solved."""
    name = dotted_name(e.func)
    return name.startswith("torch.") and not name.startswith("torch.linalg.")


def _on_what_was_passed(attempt: OpenTry | None, e: f.Call, values: tuple[Value, ...]) -> None:
    """Work on what the function was given, which fails on one rank where that is the rank's own data: what a handler
    for anything hands back then is for callers to judge (`try: return decode(raw) except ValueError: return None`)."""
    if attempt is None or failing.is_harmless(e) or _is_of_torch(e):
        return
    deps = NO_DEPS.union(*(recast(v.deps, OBSERVED, FLOWS, ITEM) for v in values if v.deps))
    if not deps:
        return
    for handler in attempt.handlers:
        if handler.line in attempt.swallows and is_broad(handler):
            attempt.passed[handler.line] = attempt.passed.get(handler.line, NO_DEPS) | read(deps)
            return


def _comes_alone(
    frame: Frame, attempt: OpenTry, handler: f.Handler, divergence: Divergence, e: f.Call, before: int
) -> None:
    """Some rank comes to a handler by a call that only fails there."""
    atom = emit(frame, divergence, Exit("caught", handler.line), e.pos, shown(e.func), before)
    attempt.come_to(handler.line, atom)


def _told_by_failing(frame: Frame, divergence: Divergence, depth: int) -> None:
    """What a function tells its callers of work in it that may fail on one rank, and that nothing in it survives."""
    survived = any(h.line in a.swallows for a in frame.attempts for h in a.handlers if _is_for_all(h))
    if frame.fallible is None and not survived and divergence.confidence > Confidence.LOW:
        frame.fallible = (divergence, depth)


def _is_for_all(handler: f.Handler) -> bool:
    """Whether a handler catches whatever a call of a function may bring."""
    names = names_of(handler)
    return not names or not _FOR_ALL.isdisjoint(names)


def _in_callee(frame: Frame, attempt: OpenTry | None, e: f.Call, before: int) -> None:
    """A call that issues collectives and works on local data which nobody has passed to it (`self.evaluate()`), in a
    `try` of a loop whose handler goes on with the next round, whatever has gone wrong."""
    called = next((t for t in frame.terms[before:] if type(t) is CallTerm and t.summary.fallible is not None), None)
    if called is None or called.summary.fallible is None or failing.launches(frame, e.pos, dotted_name(e.func)):
        return
    divergence, depth = called.summary.fallible
    if depth >= DEEPEST:
        return
    divergence = divergence.then(frame.step("call", e.pos, f"`{shown(e.func)}` does that"))
    _told_by_failing(frame, divergence, depth + 1)
    if attempt is None or not frame.loop_depth:
        return
    for handler in attempt.handlers:
        if handler.line in attempt.swallows and _is_for_all(handler):
            attempt.fallible = attempt.guessed = True
            _comes_alone(frame, attempt, handler, divergence, e, before)
            return


def _expects_failure(frame: Frame, handler: f.Handler, call: f.Call) -> bool:
    """Whether a handler names a class that the project raises in place of what a library has raised."""
    types = handler.type.elements if type(handler.type) is f.Sequence else (handler.type,)
    for expr in types:
        entity = frame.analysis.names.resolve(expr, frame.module) if expr is not None else None
        if isinstance(entity, ClassInfo) and frame.analysis.exceptions.translates(entity):
            return not in_step.brings(frame, call, entity)
    return False


_READS_FILES = frozenset(
    "open load read_text read_bytes load_file safe_open stat getsize read_csv read_parquet".split()
)


def _own_file(e: f.Call, values: tuple[Value, ...]) -> Divergence | None:
    """Why a call that reads a file reads another one on every rank."""
    if last_name(e.func) not in _READS_FILES:
        return None
    found = (v.divergence for v in values[:1])
    return next((d for d in found if d is not None and d.kind == "rank" and d.confidence > Confidence.LOW), None)


def _of_data(value: Value) -> Divergence | None:
    return value.divergence if value.divergence is not None and value.divergence.kind == "data" else None
