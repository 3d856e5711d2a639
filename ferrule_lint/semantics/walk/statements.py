"""Simple statements, and which function walks which statement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import told_parts
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import methods
from ferrule_lint.semantics.control import exceptions, flags, hooks, process_ends, registered
from ferrule_lint.semantics.data import exchanged, filling, lengths, number_types, put_together
from ferrule_lint.semantics.data.filled_sets import is_empty_set, is_of_numbers
from ferrule_lint.semantics.data.ordering import is_set, no_order, round_order
from ferrule_lint.semantics.domain.conditions import deps_of, divergence_of
from ferrule_lint.semantics.domain.dependences import NOTHING
from ferrule_lint.semantics.domain.joins import join, join2
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value, worse
from ferrule_lint.semantics.domain.targets import ClassTarget, FunctionTarget
from ferrule_lint.semantics.domain.text import place_name, position, shown, variables
from ferrule_lint.semantics.domain.trace import Choice, Exit
from ferrule_lint.semantics.gradients import loss_entries, no_loss, participation, surgery
from ferrule_lint.semantics.project import signals
from ferrule_lint.semantics.project.entities import FunctionInfo
from ferrule_lint.semantics.sources import first_rank
from ferrule_lint.semantics.walk import (
    aliases,
    asserted,
    begun_later,
    behind_exits,
    counters,
    divisible,
    given,
    grown,
    handed_back,
    in_place,
    kept_tests,
    left_early,
    removed,
    state,
    stored,
    yielding,
)
from ferrule_lint.semantics.walk.binding import bind
from ferrule_lint.semantics.walk.blocks import try_block, with_block
from ferrule_lint.semantics.walk.branches import if_statement
from ferrule_lint.semantics.walk.frame import Frame, Revealed
from ferrule_lint.semantics.walk.loops import for_loop, while_loop
from ferrule_lint.semantics.walk.predicates import condition


def _expr(frame: Frame, s: f.ExprStmt) -> None:
    frame.unused = s.value
    frame.eval(s.value)
    frame.unused = None
    if type(s.value) is f.Call and (status := process_ends.status_of(s.value)):
        frame.emit(Exit("raise" if status == "failure" else "return", s.line))
    if type(s.value) is f.Call and type(s.value.func) is f.Name and s.value.func.id == "reveal_uniformity":
        _reveal(frame, s.line, s.value)


def _reveal(frame: Frame, line: int, call: f.Call) -> None:
    if call.args:
        frame.revealed.append(Revealed(line, call.args[0], frame.eval(call.args[0])))


def _assign(frame: Frame, s: f.Assign) -> None:
    if s.value is None:
        return
    if (step := _step_of(s)) is not None:
        _aug_assign(frame, step)
        return
    value = begun_later.made(frame, s)
    if s.annotation is not None and not value.types:
        info = frame.analysis.annotations.class_of(s.annotation, frame.module)
        if info is not None:
            value = value._replace(types=frozenset({info}))
        elif not value.element_types:
            annotations = frame.analysis.annotations
            held = value.holds or annotations.held_by(s.annotation, frame.module)
            value = value._replace(element_types=annotations.elements_of(s.annotation, frame.module), holds=held)
            told = annotations.instance_of(s.annotation, frame.module) if value.external is None else None
            if told is not None:
                value = value._replace(external=told.external, module=value.module or told.module)
    if is_set(s.annotation) and value.unordered is None:
        value = value._replace(unordered=no_order(frame, position(s.targets[0])))
    if value.unordered is not None and is_empty_set(s.value) and is_of_numbers(frame, place_name(s.targets[0])):
        value = value._replace(unordered=None)
    if frame.gradients:
        if no_loss.begins_a_search(s.value) or any(no_loss.empties_a_mask(frame, t, s.value) for t in s.targets):
            value = value._replace(reach=None)
        else:
            value = participation.assigned(value, position(s.targets[0]) or (s.line, 1, s.line, 1))
    if frame.exchanged:
        value = exchanged.worked_on(frame, value)
    for target in s.targets:
        if handed_back.is_same(frame, place_name(target), s.value):
            continue
        if type(target) is f.Attr and target.attr in frame.models.assigned:
            flags.assigned(frame, target, value)
        if type(target) is f.Attr and value.module and not frame.light:
            surgery.of_assignment(frame, target, value)
        value = in_place.made_anew(frame, target, s.value, value)
        bind(frame, target, _by_signal(frame, target, value), s.value)
        if type(target) is f.Name:
            if type(s.value) is f.DictDisplay:
                _begin_entries(frame, target.id, s.value)
            frame.definitions[target.id] = (s.value, frame.version(target.id))
            kept_tests.keep(frame, target.id, s.value, value)
            if type(s.value) is f.Name or type(s.value) is f.Attr:
                aliases.note(frame, target.id, s.value)
        elif type(target) is f.Attr and (place := place_name(target)):
            kept_tests.keep(frame, place, s.value, value)
        elif type(target) is f.Sequence and type(s.value) is f.Sequence:
            _defined_side_by_side(frame, target.elements, s.value.elements)


def _begin_entries(frame: Frame, name: str, made: f.DictDisplay) -> None:
    """`found = {"good": [], "bad": []}`: each entry is a list of its own, with nothing in it."""
    for key, value in zip(made.keys, made.values, strict=True):
        if type(key) is f.Const and stored.is_empty(value):
            frame.env[f"{name}[{key.text}]"] = frame.eval(value)


def _defined_side_by_side(frame: Frame, targets: tuple[f.Expr, ...], values: tuple[f.Expr, ...]) -> None:
    """`low, high = rank * n, (rank + 1) * n`: each name stands for what it is given, unless one is given another."""
    names = {t.id for t in targets if type(t) is f.Name}
    if not len(names) == len(targets) == len(values) or any(not names.isdisjoint(variables(v)) for v in values):
        return
    for target, value in zip(targets, values, strict=True):
        if type(target) is f.Name:
            frame.definitions[target.id] = (value, frame.version(target.id))


def _by_signal(frame: Frame, target: f.Expr, value: Value) -> Value:
    """`self.stopped = False`, where a method that handles a signal may set it at any time from here on."""
    info = frame.self_class
    if value.const != "False" or type(target) is not f.Attr or info is None or frame.light:
        return value
    if frame.function is None or frame.function.name == "__init__" or place_name(target.base) != frame.self_name:
        return value
    handler = frame.analysis.signals.setter(info, target.attr)
    return value if handler is None else signals.set_by(value, handler)


def _aug_assign(frame: Frame, s: f.AugAssign) -> None:
    old, new = frame.eval(s.target), frame.eval(s.value)
    joined = join2(old.plain(), new.plain())._replace(
        slots=put_together.of_operator(s.op, (old, new)), number=number_types.stepped(s.op, old, new, frame.loop_depth),
        presence=None, absent=None, presence_deps=NOTHING, there=True,  # nothing can be added to None
    )  # fmt: skip
    if joined.agreed and not all(v.agreed or v.uniform for v in (old, new)):
        joined = joined._replace(agreed=False)  # `stop |= late()`, after a round at whose end the ranks agreed on it
    divergence = frame.path_divergence(counters.of_both_arms(frame, s))
    if s.op == "Add":
        registered.at_adding(frame, s, new)
        fuller = filling.with_added(frame, joined, s.value, place_name(s.target))
        if fuller is joined:
            fuller = lengths.filled(frame, (s.target, s.value), position(s.target), joined)
        if fuller is not joined:
            bind(frame, s.target, fuller)
            return
        place, pos = place_name(s.target), position(s.target)
        if place and pos and _is_list(s.value) and given.stands_for_passed(frame, place):
            added, method = (join(new.items), "append") if new.items else (new, "extend")
            methods.filled(frame, place, old, added, pos, method)
            return
    if old.layout is not None:  # a tensor keeps its size, whatever is added in place
        joined = joined._replace(
            shape=old.shape,
            shape_deps=old.shape_deps,
            uneven_last=old.uneven_last,
            padded=old.padded,
            layout=old.layout,
        )
    if s.op == "Add" and type(s.value) is f.Sequence and s.value.kind == "list" and new.items:
        joined = put_together.as_large_as(joined, new.items)
    if old.container:
        joined = joined._replace(unordered=joined.unordered or round_order(frame, position(s.target), shown(s.target)))
        if s.op == "Add" and (more := frame.round_divergence()) is not None:
            why = more.then(
                frame.step("flow", position(s.target), f"`{shown(s.target)}` gets items on some ranks only")
            )
            joined = joined._replace(length=worse(joined.length, why), uniform=False)
    is_step = _is_step(frame, s, old, new)
    # what its methods' parameters are called tells little of an attribute, and hides nothing
    unknown = joined.divergence is None or (is_step and joined.divergence.confidence == Confidence.LOW)
    counts = divergence is not None and (divergence.kind != "rank" or counters.counts_alone(frame, s, divergence))
    if divergence is not None and counts and unknown and (old.uniform or is_step):
        note = f"`{shown(s.target)}` is changed on some ranks only"
        why = divergence.then(frame.step("flow", position(s.target), note))
        if why.kind == "rank":
            why = why.at_most(Confidence.MEDIUM)
        if old.container or old.element_types:
            joined = joined._replace(length=why, uniform=False)
        elif not left_early.only_by_leaving(frame, s.target, why):
            joined = joined._replace(divergence=worse(joined.divergence, why), uniform=False)
    elif divergence is None and unknown and is_step:
        joined = joined._replace(deps=joined.deps | frame.path_deps())  # who calls tells what decides over the step
    if type(s.target) is f.Subscript:
        stored.store_item(frame, s.target, joined, grouped=True)
    else:
        bind(frame, s.target, joined)


def _is_list(expr: f.Expr) -> bool:
    return (type(expr) is f.Sequence or type(expr) is f.Comprehension) and expr.kind == "list"


def _step_of(s: f.Assign) -> f.AugAssign | None:
    """`self.skipped = self.skipped + 1`, in other words."""
    target, value = s.targets[0], s.value
    if type(target) is not f.Attr or len(s.targets) > 1 or type(value) is not f.Op or value.kind not in ("Add", "Sub"):
        return None
    place = place_name(target)
    if not place or place_name(value.operands[0]) != place or type(value.operands[1]) is not f.Const:
        return None
    return f.AugAssign(s.line, target, value.kind, value.operands[1])


def _is_step(frame: Frame, s: f.AugAssign, old: Value, new: Value) -> bool:
    """`self.skipped += 1`, or of a name that is `global` or `nonlocal`: a counter, whatever it was before. What the
    ranks agree on is no count of their own."""
    number = new.const is not None and new.const.isdigit()
    kept = type(s.target) is f.Attr or (type(s.target) is f.Name and s.target.id in frame.shared)
    if not number or s.op not in ("Add", "Sub") or not kept or old.agreed or old.data:
        return False
    return all(place == place_name(s.target) for place, _ in old.deps)  # a count as the caller has it is one


def _return(frame: Frame, s: f.Return) -> None:
    grown.at_return(frame, s)
    with behind_exits.as_returned(frame):
        value = frame.eval(s.value) if s.value is not None else Value(uniform=True, const="None")
    value = state.handed_back(frame, s.value, value)
    if frame.exchanged:
        value = exchanged.given_back(frame, value)
    if frame.gradients:
        value = participation.given_back(value, (s.line, 1, s.line, 1))
        loss_entries.note(frame, s)
    yielding.at_exit(frame, s)
    frame.returns.append((value, tuple(frame.conditions)))
    hooks.returned(frame, s, value)
    frame.emit(Exit("raise" if process_ends.fails_by_return(frame.function, s) else "return", s.line))


def _raise(frame: Frame, s: f.Raise) -> None:
    frame.eval(s.value)
    frame.emit(exceptions.of_raise(frame, s))


def _break(frame: Frame, s: f.Break) -> None:
    yielding.at_exit(frame, s)
    frame.emit(Exit("break", s.line))


def _continue(frame: Frame, s: f.Continue) -> None:
    if frame.gradients and frame.skipped:
        formula = next((c for c in reversed(frame.conditions) if divergence_of(c) is not None or deps_of(c)), None)
        if formula is not None:
            frame.skipped[-1].append((formula, dict(frame.env)))
    frame.emit(Exit("continue", s.line))


def _function(frame: Frame, s: f.FunctionDef) -> None:
    function = frame.module.functions.get(s.qualname)
    if function is not None and frame.function is not None:
        frame.write(s.name, Value(uniform=True, target=FunctionTarget(function, None, frame)))
        if frame.analysis.signals.handles(function):
            _set_by_handler(frame, function)


def _set_by_handler(frame: Frame, function: FunctionInfo) -> None:
    """What a nested function sets when the process gets a signal, which may be at any time from here on."""
    value = signals.set_by(UNKNOWN, function)
    for name in signals.shared_attributes(function, frame.self_name) if frame.self_name else ():
        frame.write(f"{frame.self_name}.{name}", value)
        frame.also_left(name, value)
    if frame.light:
        return
    for name in signals.shared_names(function):
        if name in frame.env:
            frame.write(name, signals.set_by(frame.env[name], function))
    for name, key in signals.shared_entries(function):
        if name in frame.env:
            frame.write(f"{name}[{key}]", value)


def _class(frame: Frame, s: f.ClassDef) -> None:
    info = frame.module.classes.get(s.qualname)
    if info is not None and frame.function is not None:
        frame.write(s.name, Value(uniform=True, target=ClassTarget(info)))


def _assert(frame: Frame, s: f.Assert) -> None:
    if type(s.test) is f.Const and s.test.text in ("False", "0") and not frame.attempts:
        frame.emit(Exit("raise", s.line))  # nobody gets further: another way of writing `raise`
        return
    formula, tested = condition(frame, s.test)
    if tested.agreed:
        exchanged.settled(frame)
    if first_rank.of(formula) and divergence_of(formula) is not None and not frame.attempts:
        # `assert rank == 0`: whoever else comes here goes no further, and with it the job
        pos = position(s.test) or (s.line, 1, s.line, 1)
        stops = (Exit("raise", s.line),)
        frame.emit(Choice(formula, (), stops, frame.module.path, pos, shown(s.test), "assertion"))
    divisible.hold(frame, divisible.dealt_evenly(frame, told_parts(s.test, True)))
    if not frame.attempts:
        asserted.hold(frame, s.test)


def _delete(frame: Frame, s: f.Delete) -> None:
    for target in s.targets:
        removed.by_delete(frame, target)
        place = place_name(target)
        if place:
            frame.env.pop(place, None)


def _scope(frame: Frame, s: f.ScopeDecl) -> None:
    return None


EXECUTORS: dict[type, Callable[[Frame, Any], None]] = {
    f.ExprStmt: _expr,
    f.Assign: _assign,
    f.AugAssign: _aug_assign,
    f.If: if_statement,
    f.For: for_loop,
    f.While: while_loop,
    f.Try: try_block,
    f.With: with_block,
    f.Return: _return,
    f.Raise: _raise,
    f.Break: _break,
    f.Continue: _continue,
    f.FunctionDef: _function,
    f.ClassDef: _class,
    f.Assert: _assert,
    f.Delete: _delete,
    f.ScopeDecl: _scope,
}
