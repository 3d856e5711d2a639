"""Expressions -> values, and tests -> formulas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import dispatch
from ferrule_lint.semantics.data import accumulators, filters, iteration, layout, selection
from ferrule_lint.semantics.data.ordering import (
    dicts_walked,
    length_deps,
    made_set,
    no_order,
    numbers,
    of_operator,
    round_order,
)
from ferrule_lint.semantics.domain.conditions import Formula, Known, atoms, connect, divergence_of, evaluate, negate
from ferrule_lint.semantics.domain.lattice import (
    CONTAINED,
    DP,
    FLOWS,
    ITEM,
    NO_DEPS,
    OBSERVED,
    PRESENT,
    UNIFORM,
    UNKNOWN,
    WORLD,
    Deps,
    Divergence,
    Value,
    computed,
    contained,
    join,
    join2,
    rounds_of,
    settled,
    worse,
)
from ferrule_lint.semantics.domain.targets import (
    ClassTarget,
    ExternalTarget,
    FunctionTarget,
    ModuleTarget,
    PartialTarget,
    SeveralTarget,
)
from ferrule_lint.semantics.domain.text import last_name, place_name, position, render, shown
from ferrule_lint.semantics.domain.trace import Choice, Loop
from ferrule_lint.semantics.gradients import participation, stage_values, surgery
from ferrule_lint.semantics.project.names import ClassInfo, External, FunctionInfo, GlobalName, ModuleInfo
from ferrule_lint.semantics.sources import admissions, loss_names, rank_names
from ferrule_lint.semantics.walk import attributes
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.narrowing import narrow, widen
from ferrule_lint.semantics.walk.predicates import condition, is_empty_display, reads_content


# ---------------------------------------------------------------------- names
def _name(frame: Frame, e: f.Name) -> Value:
    value = frame.read(e.id)
    if value is not None:
        return value
    qualname = frame.function.qualname if frame.function and frame.module.outer else ""
    while qualname:
        if qualname in frame.module.outer:
            nested = frame.module.functions.get(f"{qualname}.{e.id}")
            if nested is not None and nested.owner is None:
                return Value(uniform=True, target=FunctionTarget(nested, None, frame))
        qualname = qualname.rpartition(".")[0]
    return global_value(frame, e.id)


def global_value(frame: Frame, name: str) -> Value:
    """The value of a module-level or builtin name."""
    known = frame.module.values.get(name)
    if known is not None:
        return known
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


_UNORDERED_BUILTINS = ("set", "frozenset")
_BUILTIN_CONSTANTS = ("__name__", "__debug__", "NotImplemented", "Ellipsis")


#: items of a tuple that are told apart, those of tuples in it included
_MOST_ITEMS = 64
#: entries of a dict that are told apart
_MOST_ENTRIES = 16


def entity_value(frame: Frame, entity: ClassInfo | FunctionInfo | ModuleInfo | External | GlobalName) -> Value:
    if isinstance(entity, ClassInfo):
        return Value(uniform=True, target=ClassTarget(entity))
    if isinstance(entity, FunctionInfo):
        return Value(uniform=True, target=FunctionTarget(entity))
    if isinstance(entity, ModuleInfo):
        return Value(uniform=True, target=ModuleTarget(entity))
    if isinstance(entity, External):
        return Value(uniform=True, target=ExternalTarget(entity.dotted))
    return frame.analysis.global_variable(entity)


# ---------------------------------------------------------------------- simple expressions
def _const(frame: Frame, e: f.Const) -> Value:
    return _constant(e.text)


@lru_cache(maxsize=4096)
def _constant(text: str) -> Value:
    return Value(uniform=True, const=text)


def _not(frame: Frame, e: f.Not) -> Value:
    return condition(frame, e)[1]


def _boolop(frame: Frame, e: f.BoolOp) -> Value:
    formula, value = condition(frame, e)
    if e.op == "or" and type(formula) is not Known:
        # `x = given or default`: the operands' structure lives on
        issues, latents = len(frame.issues), len(frame.latents)
        with frame.recording():
            operands = frame.eval(e.values[-1])
            if operands.divergence is None and value.divergence is not None and not reads_content(e.values[-1]):
                # nobody asks for the truth of the last one: that it may be empty does not matter
                first = e.values[0] if len(e.values) == 2 else e._replace(values=e.values[:-1])
                value = value._replace(divergence=condition(frame, first)[1].divergence)
        del frame.issues[issues:], frame.latents[latents:]
        if is_empty_display(e.values[-1]) and (value.divergence is None or value.divergence.kind == "structure"):
            # `given or []`: whether it has items is all that is left of whether it is there
            asked = frozenset((p, PRESENT if how == FLOWS else how) for p, how in value.deps)
            value = value._replace(
                divergence=None, presence=None, there=True, length=worse(value.length, value.divergence),
                length_deps=value.length_deps | asked,
            )  # fmt: skip
        return value._replace(
            types=operands.types, data=worse(value.data, operands.data), module=operands.module, const=None
        )
    return value


def _compare(frame: Frame, e: f.Compare) -> Value:
    value = condition(frame, e)[1]
    return value if value.uniform or (value.divergence and not value.data) else value._replace(boolean=True)


def _op(frame: Frame, e: f.Op) -> Value:
    values = [frame.eval(o) for o in e.operands]
    if e.kind == "FString":
        rank = next((v.divergence for v in values if v.divergence is not None and v.divergence.kind == "rank"), None)
        return Value(uniform=all(v.uniform for v in values), divergence=rank)
    value = computed(values)._replace(unordered=of_operator(frame, e, values), there=e.kind != "Await")
    if frame.gradients:
        value = value._replace(reach=participation.combined(values))
    if e.kind in ("Mult", "Sub") and iteration.is_multiple(frame, e, values):
        value = value._replace(multiple=True)
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
    deps = frozenset(d for d in number.deps if d[1] != CONTAINED)
    return joined._replace(divergence=None, uniform=False, length=number.divergence, length_deps=deps, deps=NO_DEPS)


def _sequence(frame: Frame, e: f.Sequence) -> Value:
    values = [frame.eval(v) for v in e.elements]
    if not values:
        return Value(uniform=True, items=(), container=True, there=True, slots=frozenset())
    joined = contained(join(values))
    items = tuple(values) if len(values) <= 12 and not any(type(v) is f.Starred for v in e.elements) else None
    if items is not None and not _few_items(values):
        items = None
    return Value(
        uniform=joined.uniform,
        divergence=joined.divergence,
        data=joined.data,
        deps=joined.deps,
        element_types=joined.types | joined.element_types,
        items=items,
        group=joined.group,
        unordered=_spread(e, values),
        # a tuple is a record: what is uneven in one field is not in the others
        shape=joined.shape if e.kind == "list" else None,
        uneven_last=joined.shape is not None,
        padded=joined.padded if e.kind == "list" else None,
        container=e.kind == "list",
        there=True,
        slots=frozenset(map(str, range(len(values)))) if items is not None else None,
        shape_deps=joined.shape_deps if e.kind == "list" else NO_DEPS,
        reach=participation.combined(values) if frame.gradients else None,
    )


def _spread(e: f.Sequence, values: list[Value]) -> Divergence | None:
    """The order of `[*a, b]` is that of `a`."""
    return next(
        (v.unordered for x, v in zip(e.elements, values, strict=True) if type(x) is f.Starred and v.unordered), None
    )


def _few_items(values: list[Value]) -> bool:
    """Whether tuples in tuples have few items in all: a display may double them, and whoever looks goes through all."""
    count = 0
    pending = values
    while pending and count <= _MOST_ITEMS:
        count += len(pending)
        pending = [item for value in pending for item in value.items or ()]
    return count <= _MOST_ITEMS


def _set(frame: Frame, e: f.SetDisplay) -> Value:
    value = _sequence(frame, f.Sequence("list", e.elements))
    if len(e.elements) > 1 or any(type(x) is f.Starred for x in e.elements):
        return made_set(frame, value, e, e.pos)
    return value


#: what a table may hold to be called or made
_CALLED = (FunctionTarget, ClassTarget, PartialTarget)


def _is_table(values: Iterable[Value]) -> bool:
    """Whether all of a dict's values are called by who takes one, some of them of the project."""
    kinds = {type(v.target) for v in values}
    return not kinds.isdisjoint(_CALLED) and kinds <= {*_CALLED, ExternalTarget}


def _dict(frame: Frame, e: f.DictDisplay) -> Value:
    values = [frame.eval(v) for v in e.values]
    for key in e.keys:
        if key is not None:
            frame.eval(key)
    if not values:
        return Value(uniform=True, container=True, there=True, slots=frozenset())
    joined = contained(join(values)).plain()
    names = [k.text for k in e.keys if type(k) is f.Const]
    entries: tuple[tuple[str, Value], ...] = ()
    if len(values) <= _MOST_ENTRIES and (any(v.tells for v in values) or _is_table(values)):
        entries = tuple((k.text, v) for k, v in zip(e.keys, values, strict=True) if type(k) is f.Const)
    return Value(
        uniform=joined.uniform,
        divergence=joined.divergence,
        data=joined.data,
        deps=joined.deps,
        element_types=joined.types | joined.element_types,
        module=False,
        there=True,
        slots=frozenset(names) if len(names) == len(e.keys) else None,
        reach=participation.combined(values) if frame.gradients else None,
        entries=entries,
    )


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
    frame.yielded_deps |= frame.round_deps() | value.length_deps | frame.path_deps()
    local = frame.path_divergence() or frame.round_divergence()
    if local is not None:
        known = frame.yielded_length or local
        step = frame.step("condition", e.pos, "yields as often as this rank has items")
        frame.yielded_length = known if step in known.why else known.then(step)
    frame.returns.append((value, tuple(frame.conditions)))
    return UNKNOWN


def _subscript(frame: Frame, e: f.Subscript) -> Value:
    place = place_name(e.base)
    if type(e.index) is f.Const and place:
        known = frame.read(f"{place}[{e.index.text}]")
        if known is not None:
            frame.eval(e.base)
            return known
    base, index = frame.eval(e.base), frame.eval(e.index)
    if base.entries and type(e.index) is f.Const and (entry := base.entry(e.index.text)) is not None:
        return entry
    if base.entries and type(e.index) is not f.Const and _is_table(v for _, v in base.entries):
        return Value(target=SeveralTarget(tuple(v for _, v in base.entries)))
    environment = attributes.environment_value(frame, e.base, e.index, e.pos)
    if environment is not None:
        return environment
    if base.items is not None and type(e.index) is f.Const:
        try:
            return base.items[int(e.index.text)]
        except (ValueError, IndexError):
            pass
    if base.items is not None and type(e.index) is f.Op and (some := _part_of_display(base.items, e.index)):
        return base._replace(items=some, const=None, slots=None)
    if base.external == attributes.SIZE and type(e.index) is not f.Op:
        return attributes.dimension(frame, base, render(e.index), e.pos, shown(e))
    key = e.index.text.strip("'\"") if type(e.index) is f.Const else ""
    role = frame.models.class_(base.external) if base.external else None
    if role is not None and role.role == "group":
        return base._replace(group=frame.axes_in(key) or base.group)
    value = base._replace(
        given=(),
        multiple=False,
        layout=None,
        types=base.element_types,
        element_types=frozenset(),
        items=None,
        const=None,
        target=None,
        length=None,
        length_deps=frozenset([d for d in base.length_deps if d[1] != OBSERVED]) if base.length_deps else NO_DEPS,
        loader=base.loader,
        container=False,
        external=None,
        emptiness=base.emptiness,
        unordered=None,
        in_order=False,
        there=False,
        slots=None,
        boolean=False,
    )
    selected = selection.of_index(frame, e, base, index)
    if selected is not None:
        value = value._replace(shape=selected.shape, shape_deps=selected.shape_deps, uneven_last=False)
    if base.reach is not None and type(e.index) is f.Const:
        value = value._replace(reach=participation.part(base, e.index.text.strip("'\"")))
    if base.data is not None:
        if key:
            value = attributes.field_of_batch(frame, value, key, e.pos)
        elif _is_token_shift(frame, e):
            note = f"`{shown(e)}` is shifted by a token: a sequence, padded to a length that the local batch decides"
            shape = base.data.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM)
            value = value._replace(shape=shape, uneven_last=True)
    if type(e.index) is f.Op and e.index.kind == "Slice" and index.divergence is not None:
        if iteration.is_even(frame, e.index) or base.multiple:
            return value._replace(uniform=False, types=base.types, element_types=base.element_types)
        note = f"`{shown(e)}` takes another share on every rank"
        share = index.divergence.then(frame.step("condition", e.pos, note)).at_most(Confidence.MEDIUM)
        if iteration.is_hidden(frame, e.index):
            share = share.at_most(Confidence.LOW)
        return value._replace(
            length=share, uniform=False, types=base.types, element_types=base.element_types, divergence=None,
            emptiness=share.at_most(Confidence.LOW),  # only if there are fewer items than ranks
        )  # fmt: skip
    if type(e.index) is f.Op and e.index.kind == "Slice":
        leading = e.index.operands[0] == f.Const("None")
        return value._replace(
            unordered=base.unordered,
            in_order=base.in_order,
            length=base.length,
            length_deps=base.length_deps,
            types=base.types,
            element_types=base.element_types,
            external=base.external if base.external == attributes.SIZE and leading else None,
            multiple=iteration.cut_to_multiple(frame, e.index),
        )
    if value.deps:
        value = value._replace(deps=_of_items(value.deps))
    if index.divergence is not None and base.divergence is None:
        # a table indexed by the rank is different data everywhere, but a guess as a condition
        return value._replace(uniform=False)
    if not key and not index.uniform:
        value = value._replace(uniform=False)
    return value


def _part_of_display(items: tuple[Value, ...], index: f.Op) -> tuple[Value, ...] | None:
    """`items[1:3]` of items that are told apart, with ends that are written out."""
    ends = [e.text for e in index.operands if type(e) is f.Const]
    if index.kind != "Slice" or len(ends) != 3 or not all(t == "None" or t.lstrip("-").isdigit() for t in ends):
        return None
    lower, upper, step = (None if t == "None" else int(t) for t in ends)
    return items[lower:upper:step] if step != 0 else None


def _is_token_shift(frame: Frame, e: f.Subscript) -> bool:
    """`logits[..., :-1, :]`, `labels[:, 1:]`: the next-token shift tells that the second dimension is a sequence."""
    if type(e.index) is not f.Sequence or frame.models.convention("tokens", _field_name(e.base)) is None:
        return False
    return any(i > 0 and part in _SHIFTS for i, part in enumerate(e.index.elements[:3]))


def _field_name(expr: f.Expr) -> str:
    """`labels` for `labels`, `inputs.labels` and `inputs["labels"]`."""
    if type(expr) is f.Subscript and type(expr.index) is f.Const:
        return expr.index.text.strip("'\"")
    return last_name(expr)


_NONE = f.Const("None")
_SHIFTS = (f.Op("Slice", (_NONE, f.Const("-1"), _NONE)), f.Op("Slice", (f.Const("1"), _NONE, _NONE)))


def _ifexp(frame: Frame, e: f.IfExp) -> Value:
    formula, _ = condition(frame, e.test)
    known = evaluate(formula, {})
    if known is not None:
        return frame.eval(e.body if known else e.orelse)
    frame.conditions.append(formula)
    narrowed = narrow(frame, e.test, True)
    with frame.recording() as body_terms:
        body = frame.eval(e.body)
    widen(frame.env, narrowed)
    frame.conditions[-1] = negate(formula)
    narrowed = narrow(frame, e.test, False)
    with frame.recording() as else_terms:
        orelse = frame.eval(e.orelse)
    widen(frame.env, narrowed)
    frame.conditions.pop()
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
    return merge_arms(formula, body, orelse)


def merge_arms(formula: Formula, a: Value, b: Value) -> Value:
    """What a place holds where two arms meet (sync dependence): divergent arms that set different constants diverge."""
    if a is b:
        return a
    joined = join2(a, b)
    if a.reach is not None or b.reach is not None:
        joined = joined._replace(reach=participation.met(formula, a, b))
    if a.filled is not b.filled:
        # filled up to a length in one arm: in the other it has that length already
        joined = joined._replace(
            shape=None, deps=frozenset((p, ITEM if how == FLOWS else how) for p, how in joined.deps)
        )
    divergence = divergence_of(formula)
    if divergence is not None and a.slots is not None and b.slots is not None and a.slots != b.slots:
        filled = divergence
        if divergence.kind == "rank" and any(s[:1] in "'\"" for s in a.slots ^ b.slots):
            filled = divergence.at_most(Confidence.LOW)  # entries of its own, which loops over the others pass over
        joined = joined._replace(length=worse(joined.length, filled), uniform=False)
    if divergence is not None:
        joined = _made_apart(joined, a, b, divergence)
    if divergence is None and (one := settled(a, b)) is not None:
        return one
    deps = NO_DEPS
    for atom in atoms(formula):
        deps |= atom.deps
    differ = a.const != b.const and (a.const is not None or b.const is not None)
    if divergence is not None and divergence.kind == "rank" and (told := _told(a, b)) is not None:
        return told
    if divergence is not None and differ and "None" in (a.const, b.const):
        # present on some ranks only; what it holds there is not known to differ otherwise
        return joined._replace(
            uniform=False, presence=worse(joined.presence, divergence),
            divergence=worse(joined.divergence, divergence), const=None,
        )  # fmt: skip
    if divergence is not None:
        if differ:
            return joined._replace(uniform=False, divergence=worse(joined.divergence, divergence), const=None)
        of_world = divergence.kind == "rank" and divergence.axes == WORLD
        if of_world and (a.uniform or b.uniform) and _is_plain(a) and _is_plain(b) and a.const is None:
            # the others keep what was the same everywhere (the best loss so far)
            kept = divergence.at_most(Confidence.MEDIUM)
            return joined._replace(uniform=False, divergence=worse(joined.divergence, kept))
        if a != b:
            return stage_values.merged(joined._replace(uniform=False), a, b, divergence)
    if joined.divergence is not None and (a.uniform or b.uniform):
        joined = joined._replace(divergence=joined.divergence._replace(partial=True))
    if deps and a != b:
        return joined._replace(uniform=False, deps=joined.deps | deps)
    if not (a.uniform and b.uniform) or not is_uniform(formula):
        joined = joined._replace(uniform=False) if a != b else joined
    return joined


def _told(a: Value, b: Value) -> Value | None:
    """Of what two arms of a test of the rank hold, one value that was read out of something received: it is what the
    other arm, the sender's, has told. None if it is not so."""
    for received, own in ((a, b), (b, a)):
        if received.agreed and not own.agreed and not (received.divergence or received.data or received.length):
            return received._replace(const=None, items=None, deps=NO_DEPS)
    return None


def _made_apart(joined: Value, a: Value, b: Value, divergence: Divergence) -> Value:
    """What two arms of a divergent test make, each for its own ranks: of one size, or not."""
    words = layout.conflict(a.layout, b.layout)
    if words:
        last = divergence.why[-1]
        step = replace(last, role="flow", note=f"the ranks make it differently: {words}")
        return joined._replace(shape=divergence.then(step).at_most(Confidence.MEDIUM), uneven_last=False)
    if a.shape is not None and b.shape is not None and surgery.both(a.shape, b.shape, divergence):
        return joined._replace(shape=None)
    for one, other in ((a, b), (b, a)):
        if divergence.kind in ("rank", "structure") and _is_empty(one) and not _is_empty(other) and other.const is None:
            joined = joined._replace(length=worse(joined.length, divergence.at_most(Confidence.MEDIUM)))
        if divergence.kind == "rank" and one.shape is not None and other.shape is None and other.uniform:
            joined = joined._replace(shape=None)  # the receivers' buffer, of a size that they were told
    return joined


def _is_empty(value: Value) -> bool:
    return value.const in ("''", '""', "b''", 'b""') or (value.slots is not None and not value.slots)


def _is_plain(value: Value) -> bool:
    """Whether a value may be a number, as far as is known."""
    holds = value.types or value.element_types or value.module or value.container
    known = (value.items, value.target, value.external, value.group, value.data, value.shape, value.presence)
    return not holds and all(k is None for k in known)


def is_uniform(formula: Formula) -> bool:
    return all(a.key.startswith("=") for a in atoms(formula))


def _comprehension(frame: Frame, e: f.Comprehension) -> Value:
    """A comprehension. Its variables are its own: what the function has under their names is there again behind it."""
    own = {name for g in e.generators for name in _bound_names(g.target)}
    before = {place: value for place, value in frame.env.items() if _root(place) in own}
    value = _evaluated_comprehension(frame, e)
    for place in [place for place in frame.env if _root(place) in own]:
        del frame.env[place]
    frame.env.update(before)
    return value


def _bound_names(target: f.Expr) -> list[str]:
    if type(target) is f.Sequence:
        return [name for element in target.elements for name in _bound_names(element)]
    if type(target) is f.Starred:
        return _bound_names(target.value)
    return [target.id] if type(target) is f.Name else []


def _root(place: str) -> str:
    return place.partition(".")[0].partition("[")[0]


def _evaluated_comprehension(frame: Frame, e: f.Comprehension) -> Value:
    conditions: list[Formula] = []
    iterables: list[Value] = []
    filtered: Divergence | None = None
    chosen = NO_DEPS
    # what is walked is computed once, before the first round
    outer = frame.eval(e.generators[0].iterable)
    with frame.recording() as head:
        for generator in e.generators:
            iterable = outer if generator is e.generators[0] else frame.eval(generator.iterable)
            iterables.append(iterable)
            bind(frame, generator.target, element_of(frame, iterable, generator.iterable))
            for test in generator.conditions:
                formula, value = condition(frame, test)
                conditions.append(formula)
                if not (iterable.multiple and value.observed is not None and value.observed.kind == "rank"):
                    filtered = worse(filtered, value.observed)
                asked = (formula,)
                chosen |= filters.decided_by(asked, iterable, generator.target)
                filtered = filtered or filters.left_out(frame, asked, iterable, generator.target, {}, position(test))
    formula = connect("and", conditions)
    frame.conditions.append(formula)
    with frame.recording() as body_terms:
        values = [frame.eval(v) for v in e.elements]
    frame.conditions.pop()
    body = tuple(body_terms)
    pos = position(e.generators[0].iterable) or e.pos
    if body and conditions:
        test_pos = next((p for g in e.generators for c in g.conditions if (p := position(c))), e.pos)
        text = " and ".join(shown(c) for g in e.generators for c in g.conditions)
        body = (Choice(formula, body, (), frame.module.path, test_pos, text, "filter"),)
    body = (*head, *body)
    first = iterables[0]
    if body:
        frame.emit(loop_term(frame, first, body, pos, e.generators[0].iterable))
    unordered = next((i.unordered for i in iterables if i.unordered is not None), None)
    if e.kind == "set":
        unordered = None if numbers(e) else no_order(frame, e.pos)
    length = next((d for i in iterables if (d := rounds_of(i)) is not None), None)
    length = worse(length, filtered)
    joined = contained(join(values)).plain()
    return Value(
        uniform=joined.uniform and all(i.uniform for i in iterables),
        divergence=joined.divergence,
        data=worse(joined.data, first.data),
        length=length,
        length_deps=frozenset().union(chosen, *map(length_deps, iterables)),
        deps=joined.deps,
        element_types=joined.types,
        unordered=unordered,
        shape=joined.shape,
        uneven_last=joined.shape is not None,  # as many as there are rounds, each with a size of its own
        agreed=joined.agreed,
        there=True,
        reach=participation.combined([*values, *iterables]) if frame.gradients else None,
    )


def loop_term(frame: Frame, iterable: Value, body: tuple[Any, ...], pos: f.Pos, expr: f.Expr) -> Loop:
    trip = rounds_of(iterable)
    if trip is None and iterable.divergence is not None:
        # that an object differs is no evidence about its length
        trip = iterable.divergence.at_most(Confidence.LOW)
    order = None if numbers(expr) else iterable.unordered or accumulators.order(frame, iterable, expr)
    return Loop(
        body, trip, order, length_deps(iterable), frame.module.path, pos, shown(expr), frame.key(expr),
        dicts_walked(expr),
    )  # fmt: skip


def _of_items(deps: Deps) -> Deps:
    return frozenset([(p, ITEM if how == FLOWS else how) for p, how in deps]) if deps else NO_DEPS


#: wrappers around an iterable that show how far it is
_SHOWS_PROGRESS = frozenset({"tqdm", "trange", "track", "progress_bar", "auto_tqdm", "ProgressBar"})


def element_of(frame: Frame, iterable: Value, expr: f.Expr) -> Value:
    """What iterating a value yields."""
    while type(expr) is f.Call and expr.args and last_name(expr.func) in _SHOWS_PROGRESS:
        expr = expr.args[0]
    if type(expr) is f.Call and expr.args and last_name(expr.func) == "enumerate":
        return Value(items=(UNKNOWN, element_of(frame, iterable, expr.args[0])))
    if type(expr) is f.Call and type(expr.func) is f.Attr and expr.func.attr == "items" and not expr.args:
        return Value(items=(UNKNOWN, element_of(frame, iterable, expr.func.base)))
    if (
        type(expr) is f.Call
        and last_name(expr.func) == "zip"
        and len(expr.args) > 1
        and all(map(place_name, expr.args))
    ):
        return Value(items=tuple([_beside_others(element_of(frame, frame.eval(a), a)) for a in expr.args]))
    if iterable.items:
        joined = join(iterable.items)
        if joined.target is not None or joined.const is not None:
            joined = joined._replace(const=None)
        return joined
    value = Value(
        uniform=iterable.uniform,
        divergence=None,
        data=iterable.data,
        deps=_of_items(iterable.deps),
        types=iterable.element_types,
        module=iterable.module,
        group=iterable.group,
        agreed=iterable.agreed,
        reach=iterable.reach,
    )
    if iterable.loader or attributes.is_loader(frame, expr):
        note = f"`{shown(expr)}` yields the rank's own batches"
        value = value._replace(
            uniform=False, data=frame.source(DP, "data", position(expr), note, Confidence.MEDIUM), loader=False
        )
        if iterable.shape is not None:
            value = value._replace(shape=iterable.shape)
    elif value.data is not None and not _PARTS.search(last_name(expr)):
        # samples have lengths of their own
        value = value._replace(length=value.data.at_most(Confidence.MEDIUM))
    elif value.deps and not _PARTS.search(last_name(expr)):
        value = value._replace(length_deps=selection.by_content(value))
    return value


def _beside_others(item: Value) -> Value:
    """An item of one of several things that are walked side by side: that it has a length of its own is left to what is
    known to be local, and not just called so."""
    return item if item.data is None or not item.data.assumed else item._replace(length=None)


#: parts of a batch that are made alike
_PARTS = re.compile(r"batch|chunk|shard|part|split|group|layer|block|row|dim|stage|range", re.IGNORECASE)


def bind(frame: Frame, target: f.Expr, value: Value, source: f.Expr | None = None) -> None:
    """Assign to a name, attribute, item or nested tuple of them; `source` is the text of what is assigned."""
    if type(target) is f.Sequence:
        for i, element in enumerate(target.elements):
            if value.items is not None and len(value.items) == len(target.elements):
                bind(frame, element, value.items[i], source)
            elif value.external == attributes.SIZE:
                index = str(i) if i + 1 < len(target.elements) or not i else "-1"
                bind(frame, element, attributes.dimension(frame, value, index, position(element), shown(element)))
            else:
                types = value.types | value.element_types
                part = value._replace(
                    items=None, const=None, target=None, types=types, length=None, there=False, layout=None
                )
                if value.reach is not None:
                    part = part._replace(reach=participation.part(value, str(i)))
                bind(frame, element, part, source)
        return
    if type(target) is f.Starred:
        bind(frame, target.value, value._replace(items=None, const=None))
        return
    if type(target) is f.Subscript:
        attributes.store_item(frame, target, value)
        return
    place = place_name(target)
    if place:
        if source is not None:
            value = rank_names.of_target(frame, target, source, value)
            value = admissions.of_target(frame, target, source, value)
            value = loss_names.of_target(frame, target, source, value)
        frame.write(place, value)


#: how each kind of expression is evaluated
EVALUATORS: dict[type, Callable[[Frame, Any], Value]] = {
    f.Name: _name,
    f.Attr: attributes.attribute,
    f.Call: dispatch.call,
    f.Const: _const,
    f.Not: _not,
    f.BoolOp: _boolop,
    f.Compare: _compare,
    f.Op: _op,
    f.Sequence: _sequence,
    f.SetDisplay: _set,
    f.DictDisplay: _dict,
    f.Subscript: _subscript,
    f.IfExp: _ifexp,
    f.Comprehension: _comprehension,
    f.Lambda: _lambda,
    f.Yield: _yield,
    f.Starred: _starred,
    f.Walrus: _walrus,
}
