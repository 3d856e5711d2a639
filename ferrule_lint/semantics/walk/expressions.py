"""Expressions -> values, and tests -> formulas."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import dispatch
from ferrule_lint.semantics.data import (
    by_lot,
    filling,
    filters,
    iteration,
    lengths,
    number_types,
    products,
    put_together,
    rejoined,
    shares,
    yields,
)
from ferrule_lint.semantics.data.ordering import length_deps, of_operator, of_parts, round_order
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import Formula, Known, evaluate, negate
from ferrule_lint.semantics.domain.dependences import EMPTY, FLOWS, HOLDS, NO_DEPS, PRESENT, recast, without
from ferrule_lint.semantics.domain.joins import computed
from ferrule_lint.semantics.domain.lattice import UNIFORM, UNKNOWN, Value, rounds_of, worse
from ferrule_lint.semantics.domain.reach import DETACHED
from ferrule_lint.semantics.domain.targets import ClassTarget, ExternalTarget, FunctionTarget, ModuleTarget
from ferrule_lint.semantics.domain.text import last_name, position, shown
from ferrule_lint.semantics.domain.trace import Choice
from ferrule_lint.semantics.gradients import participation
from ferrule_lint.semantics.groups import blocks, places
from ferrule_lint.semantics.project.entities import ClassInfo, External, FunctionInfo, GlobalName, ModuleInfo
from ferrule_lint.semantics.walk import attributes, begun_later, sizing, wrapped_under
from ferrule_lint.semantics.walk.arms import merge_arms
from ferrule_lint.semantics.walk.comprehensions import comprehension
from ferrule_lint.semantics.walk.displays import dict_display, sequence, set_display
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.kept_tests import spelled_out
from ferrule_lint.semantics.walk.narrowing import narrow, widen
from ferrule_lint.semantics.walk.predicates import condition, is_empty_display
from ferrule_lint.semantics.walk.subscripts import subscript
from ferrule_lint.semantics.walk.truth import reads_content
from ferrule_lint.semantics.walk.unfolded import unfolded


def _name(frame: Frame, e: f.Name) -> Value:
    if frame.unbegun:
        begun_later.read(frame, e)
    value = frame.read(e.id)
    if value is not None:
        return wrapped_under.here(frame, value)
    qualname = frame.function.qualname if frame.function and frame.module.outer else ""
    while qualname:
        if qualname in frame.module.outer:
            nested = frame.module.functions.get(f"{qualname}.{e.id}")
            if nested is not None and nested.owner is None:
                return Value(uniform=True, target=FunctionTarget(nested, None, frame))
        qualname = qualname.rpartition(".")[0]
    return global_value(frame, e.id)


def _attribute(frame: Frame, e: f.Attr) -> Value:
    return wrapped_under.here(frame, attributes.attribute(frame, e))


def global_value(frame: Frame, name: str) -> Value:
    """The value of a module-level or builtin name."""
    if name in frame.module.values:
        return frame.module.values[name]
    reads = frame.analysis.names.reads
    before = reads.begin()
    try:
        return _global_value(frame, name)
    finally:
        reads.end(before)


def _global_value(frame: Frame, name: str) -> Value:
    entity = frame.analysis.names.lookup(frame.module, name)
    if entity is None:
        if name in _UNORDERED_BUILTINS:
            return Value(uniform=True, target=ExternalTarget(name))
        axes = frame.models.convention("rank", name) if name.isupper() else None
        if axes is not None:
            note = f"`{name}` differs by rank"
            return Value(divergence=frame.source(frozenset(axes) or WORLD, "rank", None, note, Confidence.MEDIUM))
        value = Value(uniform=name in _BUILTIN_CONSTANTS, target=ExternalTarget(name))
    else:
        value = entity_value(frame, entity)
    if not isinstance(entity, GlobalName):
        frame.module.values[name] = value
    return value


#: kinds of divergence that say who has something, and nothing of what it holds
_OF_PRESENCE = ("structure", "rank")
_UNORDERED_BUILTINS = ("set", "frozenset")

_BUILTIN_CONSTANTS = ("__name__", "__debug__", "NotImplemented", "Ellipsis")


def entity_value(frame: Frame, entity: ClassInfo | FunctionInfo | ModuleInfo | External | GlobalName) -> Value:
    if isinstance(entity, ClassInfo):
        return Value(uniform=True, target=ClassTarget(entity))
    if isinstance(entity, FunctionInfo):
        return Value(uniform=True, target=FunctionTarget(entity))
    if isinstance(entity, ModuleInfo):
        return Value(uniform=True, target=ModuleTarget(entity))
    if isinstance(entity, External):
        return Value(uniform=True, target=ExternalTarget(entity.dotted))
    return frame.analysis.holders.global_variable(entity)


def _const(frame: Frame, e: f.Const) -> Value:
    return _constant(e.text)


@lru_cache(maxsize=4096)
def _constant(text: str) -> Value:
    return Value(uniform=True, const=text)


def _not(frame: Frame, e: f.Not) -> Value:
    formula, value = condition(frame, e)
    frame.asked = (e, formula, value)
    return value


_ONE = f.Const("1")


def _boolop(frame: Frame, e: f.BoolOp) -> Value:
    formula, asked = condition(frame, e)
    value = _of_boolop(frame, e, formula, asked)
    frame.asked = (e, formula, asked)
    return value


def _of_boolop(frame: Frame, e: f.BoolOp, formula: Formula, value: Value) -> Value:
    if e.op == "or" and e.values[1:] == (_ONE,):
        with frame.aside():
            ranks = frame.eval(e.values[0])
        if ranks.world_size:
            return ranks  # `get_world_size() or 1`
    if e.op == "or" and type(formula) is not Known:
        # `x = given or default`: the operands' structure lives on
        with frame.aside():
            operands = frame.eval(e.values[-1])
            counts = type(e.values[-1]) is f.Call and last_name(e.values[-1].func) == "len"
            kept = counts or not reads_content(e.values[-1])
            if operands.divergence is None and value.divergence is not None and kept:
                # nobody asks for the truth of the last one: that it may be empty does not matter
                first = e.values[0] if len(e.values) == 2 else e._replace(values=e.values[:-1])
                value = value._replace(divergence=condition(frame, first)[1].divergence)
        if is_empty_display(e.values[-1]) and (value.divergence is None or value.divergence.kind in _OF_PRESENCE):
            # `given or []`: whether it has items is all that is left of whether it is there
            asked = recast(value.deps, PRESENT, FLOWS)
            value = value._replace(
                divergence=None, presence=None, there=True, length=worse(value.length, value.divergence),
                length_deps=value.length_deps | asked,
            )  # fmt: skip
        return value._replace(
            types=operands.types, data=worse(value.data, operands.data), module=operands.module, const=None
        )
    return value


def _compare(frame: Frame, e: f.Compare) -> Value:
    formula, value = condition(frame, e)
    frame.asked = (e, formula, value)
    if value.uniform or (value.divergence and not value.data):
        return value
    # whether something is there tells nothing of what it holds
    return value._replace(boolean=e.ops[0] not in ("is", "is not"), reach=DETACHED if frame.gradients else None)


def _op(frame: Frame, e: f.Op) -> Value:
    values = [frame.eval(o) for o in e.operands]
    if e.kind == "FString":
        rank = next((v.divergence for v in values if v.divergence is not None and v.divergence.kind == "rank"), None)
        return Value(uniform=all(v.uniform for v in values), divergence=rank)
    if e.kind == "MatMult" and len(values) == 2:
        values = products.operands(frame, e, values)
    elif e.kind == "Add" and any(v.in_order for v in values):
        values = of_parts(values)
    value = computed(values)._replace(unordered=of_operator(frame, e, values), there=e.kind != "Await")
    if e.kind in ("Add", "BitOr") and (slots := put_together.of_operator(e.kind, values)) is not None:
        value = value._replace(slots=slots)
    if (number := number_types.of_operation(e.kind, values)) is not None:
        value = value._replace(number=number)
    if frame.gradients:
        value = value._replace(reach=participation.of_operation(frame, e.kind, values))
    if e.kind == "Add" and any(type(o) is f.Sequence for o in e.operands):
        # `found + (x,)` holds as many as were put into it
        value = value._replace(
            container=all(v.container or type(o) is f.Sequence for o, v in zip(e.operands, values, strict=True))
        )
    if e.kind == "Add" and len(e.operands) == 2 and shares.rotates(*e.operands):
        value = value._replace(length=None, shape=None, divergence=None)
    elif e.kind == "Add" and (value.length or value.length_deps) and len(e.operands) == 2:
        value = rejoined.of_both(frame, e, value)
    if e.kind == "Add":
        for whole, added in itertools.permutations(e.operands, 2):
            if place := filling.counted_as(whole):
                value = filling.with_added(frame, value, added, place)
        value = lengths.filled(frame, e.operands, position(e), value)
    if e.kind in ("Mult", "Sub") and shares.is_multiple(frame, e, values):
        value = value._replace(multiple=True)
    if e.kind in ("Mod", "FloorDiv", "Div") and any(how == EMPTY for _, how in value.deps):
        # that `len(x) % n` or `n // len(x)` is zero says nothing of whether there is anything
        value = value._replace(deps=without(value.deps, EMPTY))
    if e.kind == "FloorDiv":
        value = blocks.numbered(frame, e, value)
    value = places.of_remainder(frame, e, value)
    if e.kind in _LOGICAL and any(v.boolean for v in values):
        value = value._replace(boolean=True)
    if e.kind == "Div" and (values[0].external == _PATH or _is_text(e.operands[-1])):
        return value._replace(external=_PATH)  # nothing else is divided by a string
    if e.kind == "Mult" and any(type(o) is f.Sequence for o in e.operands):
        numbers = [v for v, o in zip(values, e.operands, strict=True) if type(o) is not f.Sequence]
        return _repeated(values, computed(numbers))
    if e.kind == "Capture":
        return value._replace(uniform=False, divergence=None)
    return value


_PATH = "pathlib.Path"

#: operators that make masks of masks
_LOGICAL = frozenset({"BitAnd", "BitOr", "BitXor", "Invert"})


def _is_text(expr: f.Expr) -> bool:
    return (type(expr) is f.Const and expr.text[:1] in "'\"") or (type(expr) is f.Op and expr.kind == "FString")


def _repeated(values: list[Value], number: Value) -> Value:
    """`[None] * n`: as long as the number says."""
    joined = computed(values)
    deps = frozenset(d for d in number.deps if d[1] not in HOLDS)
    return joined._replace(divergence=None, uniform=False, length=number.divergence, length_deps=deps, deps=NO_DEPS)


def _starred(frame: Frame, e: f.Starred) -> Value:
    return frame.eval(e.value)._replace(items=None, const=None)


def _walrus(frame: Frame, e: f.Walrus) -> Value:
    value = frame.eval(e.value)
    frame.write(e.name, value)
    return value


def _lambda(frame: Frame, e: f.Lambda) -> Value:
    function = frame.module.functions.get(e.qualname)
    return Value(uniform=True, target=FunctionTarget(function, None, frame) if function else None)


def _yield(frame: Frame, e: f.Yield) -> Value:
    value = frame.eval(e.value) if e.value is not None else UNIFORM
    frame.yielded_order = frame.yielded_order or value.unordered or round_order(frame, e.pos, "what is yielded")
    whole = type(e.value) is f.Starred
    even = yields.even_tests(frame.function.body, e.pos) if frame.function is not None else 0
    left_out, chosen = filters.of_yield(frame, e.pos, even)
    frame.yielded_deps |= (
        frame.round_deps() | (length_deps(value) if whole else NO_DEPS) | frame.path_deps(even) | chosen
    )
    local = None if iteration.re_yields(frame) else frame.path_divergence(even) or frame.round_divergence() or left_out
    local = local or (rounds_of(value) if whole else None)
    if local is not None:
        known = frame.yielded_length or local
        step = frame.step("condition", e.pos, "yields as often as this rank has items")
        frame.yielded_length = known if step in known.why else known.then(step)
    frame.returns.append((value, tuple(frame.conditions)))
    return UNKNOWN


def _ifexp(frame: Frame, e: f.IfExp) -> Value:
    test = unfolded(frame, e.test)
    formula, _ = condition(frame, test)
    known = evaluate(formula, {})
    if known is not None:
        return frame.eval(e.body if known else e.orelse)
    test = spelled_out(frame, e.test)
    frame.conditions.append(formula)
    narrowed = narrow(frame, test, True)
    with frame.recording() as body_terms:
        body = frame.eval(e.body)
    widen(frame.env, narrowed)
    frame.conditions[-1] = negate(formula)
    narrowed = narrow(frame, test, False)
    with frame.recording() as else_terms:
        orelse = frame.eval(e.orelse)
    widen(frame.env, narrowed)
    frame.conditions.pop()
    body, orelse = wrapped_under.taken_out(e, body, orelse)
    if frame.gradients:
        body = participation.assigned(body, position(e.body) or e.pos)
        orelse = participation.assigned(orelse, position(e.orelse) or e.pos)
    if body_terms or else_terms:
        frame.emit(
            Choice(
                formula, tuple(body_terms), tuple(else_terms), frame.module.path,
                position(e.test) or e.pos, shown(e.test), "conditional expression",
            )
        )  # fmt: skip
    merged = by_lot.loader_of_arms(frame, formula, e.body, e.orelse, merge_arms(formula, body, orelse))
    if _is_uneven(merged) and lengths.of_arms(frame, e):
        merged = sizing.of_one_size(merged)
    return wrapped_under.met(frame, formula, body, orelse, merged)


def _is_uneven(value: Value) -> bool:
    known = value.padded or value.length or value.length_deps
    return bool(known or (not value.uneven_last and (value.shape or value.shape_deps)))


#: how each kind of expression is evaluated
EVALUATORS: dict[type, Callable[[Frame, Any], Value]] = {
    f.Name: _name,
    f.Attr: _attribute,
    f.Call: dispatch.call,
    f.Const: _const,
    f.Not: _not,
    f.BoolOp: _boolop,
    f.Compare: _compare,
    f.Op: _op,
    f.Sequence: sequence,
    f.SetDisplay: set_display,
    f.DictDisplay: dict_display,
    f.Subscript: subscript,
    f.IfExp: _ifexp,
    f.Comprehension: comprehension,
    f.Lambda: _lambda,
    f.Yield: _yield,
    f.Starred: _starred,
    f.Walrus: _walrus,
}
