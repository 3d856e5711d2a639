"""What decorators make of functions: another function of the project, or one that only some ranks run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.models.types import CallModel
from ferrule_lint.semantics.calls.passing_on import handed_on
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import Atom, Formula, divergence_of, negate
from ferrule_lint.semantics.domain.dependences import NO_DEPS
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value
from ferrule_lint.semantics.domain.targets import DECORATED, FunctionTarget
from ferrule_lint.semantics.domain.text import called_name, last_name, position, render, shown
from ferrule_lint.semantics.domain.trace import Choice, Exit
from ferrule_lint.semantics.project.entities import External, FunctionInfo
from ferrule_lint.semantics.project.reads import Memo
from ferrule_lint.semantics.sources import admissions
from ferrule_lint.semantics.walk.body import execute
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.holders import enter

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

DEEPEST = 24


def replaced(frame: Frame, function: FunctionInfo, closure: Frame | None) -> FunctionTarget | None:
    """What project decorators make of a function; None when they are none of the project's or return it, or while that
    is being asked: one that calls the function it is given would go round (`@replace(f) def f(): ...`)."""
    if function in frame.analysis.decorating:
        return None
    frame.analysis.decorating.append(function)
    try:
        return _replaced(frame, function, closure)
    finally:
        frame.analysis.decorating.pop()


def _replaced(frame: Frame, function: FunctionInfo, closure: Frame | None) -> FunctionTarget | None:
    value = Value(uniform=True, target=FunctionTarget(function, None, closure, None, True))
    changed = False
    for decorator in reversed(function.decorators):
        expr = decorator.func if type(decorator) is f.Call else decorator
        entity = frame.analysis.names.resolve(expr, function.module)
        if not isinstance(entity, FunctionInfo) or entity is function or entity.decorators:
            continue
        quiet = Frame(frame.analysis, function.module, depth=frame.depth + 1, light=frame.light)
        inner = None
        if type(decorator) is f.Call:
            made = quiet.eval(decorator)
            if type(made.target) is not FunctionTarget:
                continue
            entity, inner = made.target.function, made.target.closure
        if frame.analysis.guards.passes_on(entity, decorator, function):
            continue
        result = _call_quietly(quiet, entity, value, inner)
        if type(result.target) is FunctionTarget and result.target.function is not function:
            value, changed = result, True
    target = value.target
    return target if changed and type(target) is FunctionTarget else None


def _call_quietly(frame: Frame, decorator: FunctionInfo, value: Value, closure: Frame | None) -> Value:
    """The result of a decorator, without its events."""
    if frame.depth > DEEPEST:
        return UNKNOWN
    inner = Frame(
        frame.analysis, decorator.module, decorator, depth=frame.depth + 1, light=frame.light, closure=closure
    )
    first = next((p.name for p in decorator.parameters if p.kind == "normal"), None)
    enter(inner, decorator, None, {first: value} if first else {}, None)
    execute(inner, decorator.body)
    return inner.returns[-1][0] if inner.returns else UNKNOWN


def run(frame: Frame, function: FunctionInfo) -> None:
    """Run a function's body: under a condition where something lets only some ranks do so.

    That is a decorator (`rank_zero_only`), a library that calls a hook on one rank, or a cache.
    """
    found = _guard(frame, function) if function.decorators else None
    found = found or (_hook(frame, function) if function.owner is not None else None)
    if found is None:
        execute(frame, function.body)
        if frame.terms and function.decorators and (cache := _cache(function)) is not None:
            _remembered(frame, function, cache)
        return
    text, pos, guard = found
    frame.conditions.append(guard)
    with frame.recording() as terms:
        execute(frame, function.body)
    frame.conditions.pop()
    frame.returns.append((Value(uniform=True, const="None"), (negate(guard),)))
    if terms:
        frame.emit(Choice(guard, tuple(terms), (), frame.module.path, pos, text, "decorator"))


#: what lets only some ranks run a function: its text, where it stands, and the condition that they fulfil
Guard = tuple[str, f.Pos, Formula]


def _guard(frame: Frame, function: FunctionInfo) -> Guard | None:
    """The decorator that lets only some ranks run a function."""
    for decorator in function.decorators:
        text = f"@{shown(decorator)}"
        pos = position(decorator) or (function.line, 1, function.line, 1)
        expr = decorator.func if type(decorator) is f.Call else decorator
        entity = frame.analysis.names.resolve(expr, function.module)
        if isinstance(entity, FunctionInfo):
            guard = frame.analysis.guards.of(entity, decorator, function)
            if guard is not None:
                return text, pos, guard
            continue
        model = frame.models.call(entity.dotted) if isinstance(entity, External) else None
        if model is None:
            receiver = last_name(expr.base) if type(expr) is f.Attr else ""
            model = frame.models.method(last_name(expr), receiver)
        if model is not None and model.guards:
            return text, pos, _as_modelled(frame, function, text, pos, model)
    return None


def _hook(frame: Frame, function: FunctionInfo) -> Guard | None:
    """The library whose class says that a method is called on some ranks only (`prepare_data`)."""
    owner = function.module.classes.get(function.owner or "")
    if owner is None or frame.light:
        return None
    pos = (function.line, 1, function.line, 1)
    for base in frame.analysis.names.external_bases(owner):
        model = frame.models.call(f"{base}.{function.name}")
        if model is not None and model.guards:
            return function.name, pos, _as_modelled(frame, function, f"{base}.{function.name}", pos, model)
    return None


def _cache(function: FunctionInfo) -> f.Expr | None:
    """The decorator that runs a function for new arguments only."""
    for decorator in function.decorators:
        if called_name(decorator) in _CACHES:
            return decorator
    return None


_CACHES = frozenset("cache lru_cache memoize memoized cached ttl_cache".split())


def _remembered(frame: Frame, function: FunctionInfo, decorator: f.Expr) -> None:
    """A function that is run for new arguments only, and reduces or gathers one of them: to the others it is old."""
    known = admissions.in_any_group(frame)  # who has it in the cache is missing in that very group
    argument = next((p.name for p in function.parameters if p.name in known), None)
    if argument is None:
        return
    text = f"@{shown(decorator)}"
    pos = position(decorator) or (function.line, 1, function.line, 1)
    note = f"`{text}` answers where this rank has met this `{argument}` before, which goes into `{known[argument].op}`"
    atom = Atom(f"{text} of {function.id}", frame.source(WORLD, "host", pos, note, Confidence.MEDIUM), NO_DEPS)
    frame.terms[:] = [Choice(atom, tuple(frame.terms), (), frame.module.path, pos, text, "decorator")]


def _as_modelled(frame: Frame, function: FunctionInfo, text: str, pos: f.Pos, model: CallModel) -> Formula:
    confidence = Confidence.parse(model.confidence)
    axes = frozenset(model.axes) or WORLD
    divergence = frame.source(axes, model.kind or "rank", pos, f"by `{text}` only some ranks run this", confidence)
    return Atom(f"{text} of {function.id}", divergence, NO_DEPS)


class Guards:
    """Under which condition decorators of the project run what they decorate."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._known: Memo[tuple[str, str], Formula | None] = Memo(analysis.names.reads)
        self._passing_on: Memo[tuple[str, str], bool] = Memo(analysis.names.reads)

    def of(self, decorator: FunctionInfo, expr: f.Expr, function: FunctionInfo) -> Formula | None:
        """The test of the rank under which the wrapper calls the function; None if it does so otherwise, too."""
        key = (decorator.id, render(expr) if type(expr) is f.Call else "")
        # a decorator that is decorated by itself has none
        return self._known.find(key, lambda: self._find(decorator, expr, function))

    def passes_on(self, decorator: FunctionInfo, expr: f.Expr, function: FunctionInfo) -> bool:
        """Whether the wrapper does nothing but call the function as it was called itself, as far as ranks can tell."""
        key = (decorator.id, render(expr) if type(expr) is f.Call else "")
        return self._passing_on.find(key, lambda: self._only_passes_on(decorator, expr, function), False)

    def _only_passes_on(self, decorator: FunctionInfo, expr: f.Expr, function: FunctionInfo) -> bool:
        inner = self._wrapper(decorator, expr, function)
        if inner is None or inner.function is None or inner.decorated != [()]:
            return False
        return handed_on(inner.function) is not None and all(type(term) is Exit for term in inner.terms)

    def _find(self, decorator: FunctionInfo, expr: f.Expr, function: FunctionInfo) -> Formula | None:
        inner = self._wrapper(decorator, expr, function)
        tests = [_of_rank(conditions) for conditions in inner.decorated] if inner is not None else []
        if not tests or any(t is None or negate(t) in tests for t in tests):
            return None  # either way it is called
        return tests[0]

    def _wrapper(self, decorator: FunctionInfo, expr: f.Expr, function: FunctionInfo) -> Frame | None:
        """What a decorator puts in a function's place, walked through."""
        if decorator is function or decorator.decorators or decorator.owner is not None:
            return None
        quiet = Frame(self._analysis, function.module)
        closure = None
        if type(expr) is f.Call:
            made = quiet.eval(expr).target
            if type(made) is not FunctionTarget:
                return None
            decorator, closure = made.function, made.closure
        wrapper = _call_quietly(quiet, decorator, Value(target=DECORATED), closure).target
        if type(wrapper) is not FunctionTarget:
            return None
        inner = Frame(self._analysis, wrapper.function.module, wrapper.function, closure=wrapper.closure)
        enter(inner, wrapper.function, None, {}, None)
        execute(inner, wrapper.function.body)
        return inner


def _of_rank(conditions: tuple[Formula, ...]) -> Formula | None:
    """The outermost test of the rank among conditions."""
    for formula in conditions:
        divergence = divergence_of(formula)
        if divergence is not None and divergence.kind == "rank" and divergence.confidence > Confidence.LOW:
            return formula
    return None
