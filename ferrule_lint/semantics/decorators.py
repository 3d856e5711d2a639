"""What decorators make of functions: another function of the project, or one that only some ranks run."""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.models.types import CallModel
from ferrule_lint.semantics.conditions import Atom, negate
from ferrule_lint.semantics.frame import Frame
from ferrule_lint.semantics.holders import enter
from ferrule_lint.semantics.lattice import NO_DEPS, UNKNOWN, WORLD, Value
from ferrule_lint.semantics.names import External, FunctionInfo
from ferrule_lint.semantics.statements import execute
from ferrule_lint.semantics.targets import FunctionTarget
from ferrule_lint.semantics.text import last_name, position, shown
from ferrule_lint.semantics.trace import Choice

DEEPEST = 24


def replaced(frame: Frame, function: FunctionInfo, closure: Frame | None) -> FunctionTarget | None:
    """What project decorators make of a function; None when they are none of the project's or return it."""
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
    """Run a function's body: under a condition where a decorator (`rank_zero_only`) lets only some ranks do so."""
    found = _guard(frame, function)
    if found is None:
        execute(frame, function.body)
        return
    decorator, model = found
    text = f"@{shown(decorator)}"
    pos = position(decorator) or (function.line, 1, function.line, 1)
    confidence = Confidence.parse(model.confidence)
    axes = frozenset(model.axes) or WORLD
    divergence = frame.source(axes, model.kind or "rank", pos, f"under `{text}` only some ranks run this", confidence)
    atom = Atom(f"{text} of {function.id}", divergence, NO_DEPS)
    frame.conditions.append(atom)
    with frame.recording() as terms:
        execute(frame, function.body)
    frame.conditions.pop()
    frame.returns.append((Value(uniform=True, const="None"), (negate(atom),)))
    if terms:
        frame.emit(Choice(atom, tuple(terms), (), frame.module.path, pos, text, "decorator"))


def _guard(frame: Frame, function: FunctionInfo) -> tuple[f.Expr, CallModel] | None:
    for decorator in function.decorators:
        expr = decorator.func if type(decorator) is f.Call else decorator
        entity = frame.analysis.names.resolve(expr, function.module)
        if isinstance(entity, FunctionInfo):
            continue  # its body tells
        model = frame.models.call(entity.dotted) if isinstance(entity, External) else None
        if model is None:
            receiver = last_name(expr.base) if type(expr) is f.Attr else ""
            model = frame.models.method(last_name(expr), receiver)
        if model is not None and model.guards:
            return decorator, model
    return None
