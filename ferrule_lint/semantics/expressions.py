"""Expressions -> values, and tests -> formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics import attributes, calls
from ferrule_lint.semantics.conditions import Atom, Formula, Known, Negation, connect, divergence_of, evaluate, negate
from ferrule_lint.semantics.frame import Frame
from ferrule_lint.semantics.lattice import (
    CONTAINED,
    DP,
    FLOWS,
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
    worse,
)
from ferrule_lint.semantics.names import ClassInfo, External, FunctionInfo, GlobalName, ModuleInfo
from ferrule_lint.semantics.targets import ClassTarget, ExternalTarget, FunctionTarget, ModuleTarget
from ferrule_lint.semantics.text import last_name, place_name, position, render
from ferrule_lint.semantics.trace import Choice, Loop

_SHOWN = 60


def shown(expr: f.Expr) -> str:
    text = render(expr)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def evaluate_expr(frame: Frame, expr: f.Expr) -> Value:
    return _EVALUATORS[type(expr)](frame, expr)


# ---------------------------------------------------------------------- names
def _name(frame: Frame, e: f.Name) -> Value:
    value = frame.read(e.id)
    if value is not None:
        return value
    qualname = frame.function.qualname if frame.function else ""
    while qualname:
        nested = frame.module.functions.get(f"{qualname}.{e.id}")
        if nested is not None and nested.owner is None:
            return Value(uniform=True, target=FunctionTarget(nested, None, frame))
        qualname = qualname.rpartition(".")[0]
    return global_value(frame, e.id)


def global_value(frame: Frame, name: str) -> Value:
    """The value of a module-level or builtin name."""
    entity = frame.analysis.names.lookup(frame.module, name)
    if entity is None:
        if name in _UNORDERED_BUILTINS:
            return Value(uniform=True, target=ExternalTarget(name))
        axes = frame.models.convention("rank", name) if name.isupper() else None
        if axes is not None:
            note = f"`{name}` differs by rank"
            return Value(divergence=frame.source(frozenset(axes) or WORLD, "rank", None, note, Confidence.MEDIUM))
        return Value(uniform=name in _BUILTIN_CONSTANTS, target=ExternalTarget(name))
    return entity_value(frame, entity)


_UNORDERED_BUILTINS = ("set", "frozenset")
_BUILTIN_CONSTANTS = ("__name__", "__debug__", "NotImplemented", "Ellipsis")


def entity_value(
    frame: Frame, entity: ClassInfo | FunctionInfo | ModuleInfo | External | GlobalName
) -> Value:
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
    return Value(uniform=True, const=e.text)


def _not(frame: Frame, e: f.Not) -> Value:
    return condition(frame, e)[1]


def _boolop(frame: Frame, e: f.BoolOp) -> Value:
    formula, value = condition(frame, e)
    if e.op == "or" and type(formula) is not Known:
        # `x = given or default`: the operands' structure lives on
        issues, latents = len(frame.issues), len(frame.latents)
        with frame.recording():
            operands = frame.eval(e.values[-1])
        del frame.issues[issues:], frame.latents[latents:]
        return value._replace(
            types=operands.types, data=worse(value.data, operands.data), module=operands.module, const=None
        )
    return value


def _compare(frame: Frame, e: f.Compare) -> Value:
    return condition(frame, e)[1]


def _op(frame: Frame, e: f.Op) -> Value:
    values = [frame.eval(o) for o in e.operands]
    if e.kind == "FString":
        return Value(uniform=all(v.uniform for v in values))
    value = computed(values)
    if e.kind == "Capture":
        return value._replace(uniform=False, divergence=None)
    return value


def _sequence(frame: Frame, e: f.Sequence) -> Value:
    values = [frame.eval(v) for v in e.elements]
    if not values:
        return Value(uniform=True, items=(), container=True)
    joined = contained(join(values))
    items = tuple(values) if len(values) <= 12 and not any(type(v) is f.Starred for v in e.elements) else None
    return Value(
        uniform=joined.uniform,
        divergence=joined.divergence,
        data=joined.data,
        deps=joined.deps,
        element_types=joined.types | joined.element_types,
        items=items,
        group=joined.group,
        shape=joined.shape,
        padded=joined.padded,
        container=not values,
    )


def _set(frame: Frame, e: f.SetDisplay) -> Value:
    value = _sequence(frame, f.Sequence("list", e.elements))
    if len(e.elements) > 1:
        value = value._replace(unordered=frame.source(WORLD, "host", e.pos, "a set has no order"), items=None)
    return value


def _dict(frame: Frame, e: f.DictDisplay) -> Value:
    values = [frame.eval(v) for v in e.values]
    for key in e.keys:
        if key is not None:
            frame.eval(key)
    if not values:
        return Value(uniform=True, container=True)
    joined = contained(join(values)).plain()
    return Value(
        uniform=joined.uniform,
        divergence=joined.divergence,
        data=joined.data,
        deps=joined.deps,
        element_types=joined.types | joined.element_types,
        module=False,
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
    environment = attributes.environment_value(frame, e.base, e.index, e.pos)
    if environment is not None:
        return environment
    if base.items is not None and type(e.index) is f.Const:
        try:
            return base.items[int(e.index.text)]
        except (ValueError, IndexError):
            pass
    key = e.index.text.strip("'\"") if type(e.index) is f.Const else ""
    role = frame.models.class_(base.external) if base.external else None
    if role is not None and role.role == "group":
        return base._replace(group=frame.axes_in(key) or base.group)
    value = base._replace(
        types=base.element_types,
        element_types=frozenset(),
        items=None,
        const=None,
        target=None,
        length=None,
        loader=False,
        container=False,
        external=None,
        emptiness=base.emptiness,
    )
    if base.data is not None:
        if key:
            value = attributes.field_of_batch(frame, value, key, e.pos)
        elif index.data is not None and type(e.index) is not f.Op:
            note = f"`{shown(e)}` keeps a local number of items"
            value = value._replace(shape=index.data.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM))
    if type(e.index) is f.Op and e.index.kind == "Slice" and index.divergence is not None:
        note = f"`{shown(e)}` takes another share on every rank"
        share = index.divergence.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM)
        return value._replace(length=share, uniform=False, types=base.types, element_types=base.element_types, divergence=None)
    if index.divergence is not None and base.divergence is None:
        # a table indexed by the rank is different data everywhere, but a guess as a condition
        return value._replace(uniform=False)
    if not key and not index.uniform:
        value = value._replace(uniform=False)
    return value


def _ifexp(frame: Frame, e: f.IfExp) -> Value:
    formula, tested = condition(frame, e.test)
    known = evaluate(formula, {})
    if known is not None:
        return frame.eval(e.body if known else e.orelse)
    frame.conditions.append(formula)
    with frame.recording() as body_terms:
        body = frame.eval(e.body)
    frame.conditions[-1] = negate(formula)
    with frame.recording() as else_terms:
        orelse = frame.eval(e.orelse)
    frame.conditions.pop()
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
    divergence = divergence_of(formula)
    deps = NO_DEPS
    for atom_deps in (atom.deps for atom in _atoms(formula)):
        deps |= atom_deps
    differ = a.const != b.const and (a.const is not None or b.const is not None)
    if divergence is not None and differ and (a.const is None) != (b.const is None) and "None" in (a.const, b.const):
        # present on some ranks only; what it holds there is not known to differ otherwise
        return joined._replace(
            uniform=False, presence=worse(joined.presence, divergence),
            divergence=worse(joined.divergence, divergence), const=None,
        )  # fmt: skip
    if divergence is not None:
        if differ:
            return joined._replace(uniform=False, divergence=worse(joined.divergence, divergence), const=None)
        if a != b:
            return joined._replace(uniform=False)
    if deps and a != b:
        return joined._replace(uniform=False, deps=joined.deps | deps)
    if not (a.uniform and b.uniform) or not _is_uniform(formula):
        joined = joined._replace(uniform=False) if a != b else joined
    return joined


def _atoms(formula: Formula) -> list[Atom]:
    from ferrule_lint.semantics.conditions import atoms

    return list(atoms(formula))


def _is_uniform(formula: Formula) -> bool:
    return all(a.key.startswith("=") for a in _atoms(formula))


def _comprehension(frame: Frame, e: f.Comprehension) -> Value:
    conditions: list[Formula] = []
    iterables: list[Value] = []
    filtered: Divergence | None = None
    with frame.recording() as head:
        for generator in e.generators:
            iterable = frame.eval(generator.iterable)
            iterables.append(iterable)
            bind(frame, generator.target, element_of(frame, iterable, generator.iterable))
            for test in generator.conditions:
                formula, value = condition(frame, test)
                conditions.append(formula)
                filtered = worse(filtered, value.observed)
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
    unordered = worse(first.unordered, None)
    if e.kind == "set":
        unordered = frame.source(WORLD, "host", e.pos, "a set has no order")
    length = worse(worse(first.length, filtered), first.divergence if first.divergence and first.items is None else None)
    joined = contained(join(values)).plain()
    return Value(
        uniform=joined.uniform and all(i.uniform for i in iterables),
        divergence=joined.divergence,
        data=worse(joined.data, first.data),
        length=length,
        deps=joined.deps,
        element_types=joined.types,
        unordered=unordered,
        shape=joined.shape,
    )


def loop_term(frame: Frame, iterable: Value, body: tuple[Any, ...], pos: f.Pos, expr: f.Expr) -> Loop:
    trip = iterable.length or iterable.shape or iterable.divergence
    if trip is not None and trip.kind == "rank" and iterable.length is None:
        # a rank-derived object that merely is iterated is no evidence about its length
        trip = trip.at_most(Confidence.LOW)
    return Loop(
        body, trip, iterable.unordered, frozenset(d for d in iterable.deps if d[1] != CONTAINED), frame.module.path,
        pos, shown(expr), frame.key(expr),
    )  # fmt: skip


def element_of(frame: Frame, iterable: Value, expr: f.Expr) -> Value:
    """What iterating a value yields."""
    if type(expr) is f.Call and expr.args and last_name(expr.func) == "enumerate":
        return Value(items=(UNKNOWN, element_of(frame, iterable, expr.args[0])))
    if type(expr) is f.Call and type(expr.func) is f.Attr and expr.func.attr == "items" and not expr.args:
        return Value(items=(UNKNOWN, element_of(frame, iterable, expr.func.base)))
    if iterable.items:
        joined = join(iterable.items)
        if joined.target is not None or joined.const is not None:
            joined = joined._replace(const=None)
        return joined
    value = Value(
        uniform=iterable.uniform,
        divergence=None,
        data=iterable.data,
        deps=frozenset((p, CONTAINED if how == FLOWS else how) for p, how in iterable.deps),
        types=iterable.element_types,
        module=iterable.module,
        group=iterable.group,
    )
    if iterable.loader or attributes.is_loader(frame, expr):
        note = f"`{shown(expr)}` yields the rank's own batches"
        value = value._replace(
            uniform=False, data=frame.source(DP, "data", position(expr), note, Confidence.MEDIUM), loader=False
        )
    return value


def bind(frame: Frame, target: f.Expr, value: Value) -> None:
    """Assign to a name, attribute, item or nested tuple of them."""
    if type(target) is f.Sequence:
        for i, element in enumerate(target.elements):
            if value.items is not None and len(value.items) == len(target.elements):
                bind(frame, element, value.items[i])
            else:
                types = value.types | value.element_types
                part = value._replace(items=None, const=None, target=None, types=types, length=None)
                bind(frame, element, part)
        return
    if type(target) is f.Starred:
        bind(frame, target.value, value._replace(items=None, const=None))
        return
    if type(target) is f.Subscript:
        attributes.store_item(frame, target, value)
        return
    place = place_name(target)
    if place:
        frame.write(place, value)


# ---------------------------------------------------------------------- conditions
def condition(frame: Frame, expr: f.Expr) -> tuple[Formula, Value]:
    """A test as a formula, and the value it has as an expression."""
    if type(expr) is f.Not:
        formula, value = condition(frame, expr.operand)
        return negate(formula), _truth(negate(formula), value)
    if type(expr) is f.BoolOp:
        return _connective(frame, expr)
    if type(expr) is f.Compare and len(expr.ops) == 1:
        return _comparison(frame, expr, expr.left, expr.ops[0], expr.rights[0])
    if type(expr) is f.Compare:
        value = observe(frame, join([frame.eval(expr.left), *map(frame.eval, expr.rights)]), expr.pos, shown(expr))
        return _atom(frame, expr, value), value
    if type(expr) is f.Walrus:
        value = frame.eval(expr)
        return _truthiness(frame, f.Name(expr.name, position(expr.value) or (frame.line, 1, frame.line, 1)), value)
    return _truthiness(frame, expr, frame.eval(expr))


def _truth(formula: Formula, value: Value) -> Value:
    if type(formula) is Known:
        return Value(uniform=True, const=repr(formula.value))
    return value.plain()


def _connective(frame: Frame, expr: f.BoolOp) -> tuple[Formula, Value]:
    formulas: list[Formula] = []
    values: list[Value] = []
    decides = expr.op == "or"
    for i, operand in enumerate(expr.values):
        if i == 0:
            formula, value = condition(frame, operand)
        else:
            guard = connect(expr.op, list(formulas))
            guard = negate(guard) if decides else guard
            frame.conditions.append(guard)
            with frame.recording() as terms:
                formula, value = condition(frame, operand)
            frame.conditions.pop()
            if terms:
                first = expr.values[0] if i == 1 else f.BoolOp(expr.op, expr.values[:i], expr.pos)
                pos = position(expr.values[0]) or expr.pos
                frame.emit(Choice(guard, tuple(terms), (), frame.module.path, pos, shown(first), "short circuit"))
        formulas.append(formula)
        values.append(value)
        if type(formula) is Known and formula.value is decides:
            break
    if expr.op == "and":
        formulas = _beside_agreed_flag(formulas)
    formula = connect(expr.op, formulas)
    if type(formula) is Known:
        return formula, Value(uniform=True, const=repr(formula.value))
    return formula, join(values).plain()._replace(types=frozenset(), uniform=all(v.uniform for v in values))


def _beside_agreed_flag(formulas: list[Formula]) -> list[Formula]:
    """`agreed and x is not None`: who agreed on a flag among the ranks has thought of presence; the guard is for None."""
    if not any(type(g) is Atom and g.key.startswith("=") for g in formulas):
        return formulas
    return [_doubted(g) for g in formulas]


def _doubted(formula: Formula) -> Formula:
    if type(formula) is Negation:
        return Negation(_doubted(formula.operand))
    if type(formula) is Atom and formula.divergence is not None and formula.divergence.kind == "structure":
        return formula._replace(divergence=formula.divergence.at_most(Confidence.LOW))
    return formula


def _atom(frame: Frame, expr: f.Expr, value: Value, deps: Deps | None = None, divergence: Divergence | None = None) -> Formula:
    key = frame.key(expr)
    if value.uniform and not value.divergence:
        key = "=" + key  # a test that is certainly uniform can never be told apart by ranks
    return Atom(key, divergence or value.divergence, value.deps if deps is None else deps)


def _truthiness(frame: Frame, expr: f.Expr, value: Value) -> tuple[Formula, Value]:
    name = last_name(expr.func if type(expr) is f.Call else expr)
    if name and frame.models.convention("initialized", name) is not None and value.divergence is None:
        return Known(True), Value(uniform=True, const="True")
    if value.const is not None and value.divergence is None and not value.deps:
        truth = value.const not in ("None", "False", "0", "0.0", "''", '""', "b''")
        if value.const in ("<given>",):
            truth = True
        return Known(truth), Value(uniform=True, const=repr(truth))
    if value.target is not None and type(value.target) in (FunctionTarget, ClassTarget, ModuleTarget):
        return Known(True), Value(uniform=True, const="True")
    if value.divergence is None:
        if value.presence is not None:
            value = value._replace(divergence=value.presence.then(
                frame.step("flow", position(expr), f"whether `{shown(expr)}` is there differs between ranks")))
        elif value.data is not None and not value.container and _reads_content(frame, expr):
            value = observe(frame, value, position(expr), shown(expr))
        elif value.length is not None and value.items is None:
            value = value._replace(divergence=value.length)
        elif value.emptiness is not None:
            value = value._replace(divergence=value.emptiness)
    deps = frozenset((p, PRESENT if how == FLOWS and value.container else how) for p, how in value.deps)
    return _atom(frame, expr, value, deps), value.plain()._replace(types=frozenset(), data=None, uniform=value.uniform)


def _reads_content(frame: Frame, expr: f.Expr) -> bool:
    """Whether the truth of a value of tensor data is its content: a computed predicate, not `if batch:`."""
    if type(expr) is f.Call:
        name = last_name(expr.func)
        return name in _PREDICATES or name.startswith("is")
    return False


_PREDICATES = frozenset({"any", "all", "item", "equal", "allclose", "isnan", "isinf", "isfinite", "bool", "numel", "len",
                         "nelement", "count_nonzero", "sum", "int"})  # fmt: skip


def observe(frame: Frame, value: Value, pos: f.Pos | None, text: str) -> Value:
    """Reading the content of tensor or batch data: from here on the value is known to differ."""
    if value.divergence is not None:
        return value
    deps = frozenset((p, OBSERVED if how == FLOWS else how) for p, how in value.deps)
    if value.data is None:
        return value.plain()._replace(deps=deps, types=frozenset())
    divergence = value.data.then(frame.step("flow", pos, f"`{text}` reads the rank's own data"))
    return Value(divergence=divergence.at_most(Confidence.MEDIUM), data=value.data, deps=deps)


_NEGATIVE = {"is not": "is", "!=": "==", "not in": "in", ">=": "<", ">": "<="}
_ZERO = ("0", "1")


def _comparison(frame: Frame, e: f.Compare, left: f.Expr, op: str, right: f.Expr) -> tuple[Formula, Value]:
    positive = _NEGATIVE.get(op, op)
    negative = positive != op
    a, b = frame.eval(left), frame.eval(right)

    def result(formula: Formula, value: Value) -> tuple[Formula, Value]:
        formula = negate(formula) if negative else formula
        return formula, _truth(formula, value)

    if type(left) is f.Const and type(right) is not f.Const and positive in ("==", "is"):
        left, right, a, b = right, left, b, a
    known = _known_comparison(a, b, op)
    if known is not None:
        return Known(known), Value(uniform=True, const=repr(known))
    key_expr = f.Compare(left, (positive,), (right,), e.pos)
    if b.const == "None" and positive in ("is", "=="):
        return result(*_presence(frame, key_expr, left, a))
    if positive == "in":
        return result(*_membership(frame, key_expr, left, a, b))
    value = _compared(frame, e, left, a, right, b)
    return result(_atom(frame, key_expr, value), value)


def _known_comparison(a: Value, b: Value, op: str) -> bool | None:
    """A comparison whose outcome is known: two constants, or the number of ranks with 1."""
    for number, other, sign in ((a, b, op), (b, a, {">": "<", "<": ">", ">=": "<=", "<=": ">="}.get(op, op))):
        if number.world_size and other.const in ("0", "1", "2") and number.const is None:
            if sign in (">", "!=") and other.const in ("0", "1"):
                return True
            if sign == ">=":
                return True
            if sign in ("==", "<=") and other.const in ("0", "1"):
                return False
            if sign == "<" and other.const in ("1", "2"):
                return False
    if a.const is None or b.const is None or a.divergence or b.divergence or a.deps or b.deps:
        if b.const == "None" and op in ("is", "is not", "==", "!=") and a.const not in (None, "None"):
            return op in ("is not", "!=")
        if b.const == "None" and op in ("is", "is not") and type(a.target) in (FunctionTarget, ClassTarget):
            return op == "is not"
        return None
    if "<given>" in (a.const, b.const):
        return (op in ("is not", "!=")) if "None" in (a.const, b.const) else None
    if op in ("==", "is"):
        return a.const == b.const
    if op in ("!=", "is not"):
        return a.const != b.const
    return None


def _presence(frame: Frame, key: f.Compare, left: f.Expr, value: Value) -> tuple[Formula, Value]:
    """`x is None`."""
    divergence = value.presence
    if divergence is None and value.divergence is not None and value.divergence.kind != "data":
        divergence = value.divergence
    if divergence is not None:
        note = f"whether `{shown(left)}` is there differs between ranks"
        divergence = divergence.then(frame.step("flow", key.pos, note))
    deps = frozenset((p, PRESENT) for p, how in value.deps if how != "contained")
    tested = Value(uniform=value.uniform and divergence is None, divergence=divergence, deps=deps)
    return _atom(frame, key, tested), tested


def _membership(frame: Frame, key: f.Compare, left: f.Expr, a: Value, b: Value) -> tuple[Formula, Value]:
    """`x in y`."""
    if type(left) is f.Const and b.data is not None:
        name = left.text.strip("'\"")
        if frame.models.convention("optional", name) is not None:
            note = f"{left.text} may be absent from the local batch"
            divergence = b.data.then(frame.step("flow", key.pos, note))._replace(kind="structure")
            value = Value(divergence=divergence.at_most(Confidence.MEDIUM))
            return _atom(frame, key, value), value
        value = Value(deps=frozenset((p, PRESENT) for p, how in b.deps))
        return _atom(frame, key, value, frozenset()), value
    divergence = a.divergence or (b.divergence if b.divergence and b.divergence.kind == "rank" else None)
    if divergence is not None:
        divergence = divergence._replace(member=True)
    value = Value(
        uniform=a.uniform and b.uniform, divergence=divergence, deps=a.deps | frozenset(d for d in b.deps if d[1] == FLOWS)
    )
    return _atom(frame, key, value), value


def _compared(frame: Frame, e: f.Compare, left: f.Expr, a: Value, right: f.Expr, b: Value) -> Value:
    """The value of `a < b`, `a == b`, ..."""
    values = [a, b]
    for value, other in ((a, b), (b, a)):
        if value.divergence is None and other.const in _ZERO and value.emptiness is not None:
            return Value(divergence=value.emptiness.then(frame.step("flow", e.pos, f"`{shown(e)}` tests if it is empty")),
                         deps=value.deps)  # fmt: skip
    joined = computed(values)
    if joined.divergence is None and joined.data is not None:
        # a comparison of tensors is a tensor; `observe` happens where it is used as a condition
        is_scalar = any(type(x) is f.Call and last_name(x.func) in _PREDICATES for x in (left, right))
        if is_scalar or any(v.const is not None for v in values):
            return observe(frame, joined, e.pos, shown(e))
        return joined
    member = any(v.divergence is not None and v.divergence.member for v in values)
    if e.ops[0] in (">=", "<", "!=", "==") and any(v.const == "-1" for v in values):
        member = True
    if e.ops[0] in (">=", "<") and b.const == "0" and a.divergence is not None and a.divergence.kind == "rank":
        member = True  # "is this process in the group at all"
    if joined.divergence is not None and member:
        joined = joined._replace(divergence=joined.divergence._replace(member=True))
    return joined


_EVALUATORS: dict[type, Callable[[Frame, Any], Value]] = {
    f.Name: _name,
    f.Attr: attributes.attribute,
    f.Call: calls.call,
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
