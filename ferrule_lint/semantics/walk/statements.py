"""Statements: walks a body once, keeping the environment and building the trace."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls.modelled import shape_message
from ferrule_lint.semantics.control import cleanups, exceptions, flags, queues, turns
from ferrule_lint.semantics.data import iteration
from ferrule_lint.semantics.data.layout import conflict
from ferrule_lint.semantics.data.ordering import is_set, no_order, numbers, round_order
from ferrule_lint.semantics.domain.conditions import (
    FALSE,
    TRUE,
    Atom,
    Formula,
    Known,
    deps_of,
    divergence_of,
    evaluate,
    negate,
)
from ferrule_lint.semantics.domain.lattice import DP, NO_DEPS, UNIFORM, UNKNOWN, WORLD, Value, join2, rounds_of, worse
from ferrule_lint.semantics.domain.targets import ClassTarget, FunctionTarget, MethodTarget
from ferrule_lint.semantics.domain.text import dotted_name, last_name, place_name, position, shown
from ferrule_lint.semantics.domain.trace import (
    Attempt,
    Choice,
    Event,
    Exit,
    Loop,
    Term,
    Trace,
    choices_and_loops,
    ends,
    has_exit,
    weakened,
    without,
)
from ferrule_lint.semantics.gradients import participation, stage_values, surgery
from ferrule_lint.semantics.walk.expressions import bind, element_of, is_uniform, loop_term, merge_arms
from ferrule_lint.semantics.walk.frame import CallIssue, Frame, Revealed
from ferrule_lint.semantics.walk.narrowing import narrow, widen
from ferrule_lint.semantics.walk.predicates import condition, doubted

_DEEPEST_SECOND_PASS = 2
#: calls after which nothing runs, as after a `raise`
_ENDS_PROCESS = ("sys.exit", "exit", "quit", "os._exit")
#: exceptions that one rank has and the others have not: no memory, an empty queue, nobody answers
_LOCAL_EXCEPTIONS = frozenset({"OutOfMemoryError", "OutOfMemory"}) | exceptions.LOCAL
_OUT_OF_MEMORY = re.compile(r"out of memory|(^|_)oom(_|$)", re.IGNORECASE)
#: what a program ends with that has done what it was to do
_SUCCESS = (f.Const("0"), f.Const("None"))
Env = dict[str, Value]
#: words of a test that compares sizes
_ABOUT_SIZES = re.compile(r"size|shape|len|equal|same|even", re.IGNORECASE)


def execute(frame: Frame, body: f.Body) -> None:
    """Run a body: an early exit under a condition makes what follows conditional, which the trace's exits express."""
    guards = 0
    for statement in body:
        frame.line = statement.line
        before = len(frame.terms)
        _STATEMENTS[type(statement)](frame, statement)
        if type(statement) is f.If and len(frame.terms) > before:
            guard = _exit_guard(frame.terms[-1])
            if guard is not None:
                frame.conditions.append(guard)
                guards += 1
    if guards:
        del frame.conditions[-guards:]


def _exit_guard(last: Term) -> Formula | None:
    """The condition under which the rest of the block runs, when the `if` that this term is of may have left it."""
    if type(last) is not Choice or last.form != "if":
        return None
    # an exception ends the job: who is still there is everybody
    if ends(last.body) and has_exit(last.body):
        return negate(last.formula)
    if ends(last.orelse) and has_exit(last.orelse):
        return last.formula
    return None


# ---------------------------------------------------------------------- simple statements
def _expr(frame: Frame, s: f.ExprStmt) -> None:
    frame.eval(s.value)
    if type(s.value) is f.Call and dotted_name(s.value.func) in _ENDS_PROCESS:
        # a launcher ends the job for a status of failure only: without one, the others go on
        failed = bool(s.value.args) and s.value.args[0] not in _SUCCESS
        frame.emit(Exit("raise" if failed else "return", s.line))
    if type(s.value) is f.Call and type(s.value.func) is f.Name and s.value.func.id == "reveal_uniformity":
        _reveal(frame, s.line, s.value)


def _reveal(frame: Frame, line: int, call: f.Call) -> None:
    if call.args:
        frame.revealed.append(Revealed(line, call.args[0], frame.eval(call.args[0])))


def _assign(frame: Frame, s: f.Assign) -> None:
    if s.value is None:
        return
    value = frame.eval(s.value)
    if s.annotation is not None and not value.types:
        info = frame.analysis.annotated_class(s.annotation, frame.module)
        if info is not None:
            value = value._replace(types=frozenset({info}))
        elif not value.element_types:
            value = value._replace(element_types=frame.analysis.annotated_elements(s.annotation, frame.module))
    if is_set(s.annotation) and value.unordered is None:
        value = value._replace(unordered=no_order(frame, position(s.targets[0])))
    if frame.gradients:
        value = participation.assigned(value, position(s.targets[0]) or (s.line, 1, s.line, 1))
    for target in s.targets:
        if type(target) is f.Attr and target.attr in frame.models.assigned:
            flags.assigned(frame, target, value)
        if type(target) is f.Attr and value.module and not frame.light:
            surgery.of_assignment(frame, target, value)
        bind(frame, target, value, s.value)
        if type(target) is f.Name:
            frame.definitions[target.id] = (s.value, frame.version(target.id))


def _aug_assign(frame: Frame, s: f.AugAssign) -> None:
    old, new = frame.eval(s.target), frame.eval(s.value)
    joined = join2(old.plain(), new.plain())._replace(slots=None)
    divergence = frame.path_divergence()
    if old.layout is not None:  # a tensor keeps its size, whatever is added in place
        joined = joined._replace(
            shape=old.shape,
            shape_deps=old.shape_deps,
            uneven_last=old.uneven_last,
            padded=old.padded,
            layout=old.layout,
        )
    if old.container:
        joined = joined._replace(unordered=joined.unordered or round_order(frame, position(s.target), shown(s.target)))
    if divergence is not None and divergence.kind != "rank" and joined.divergence is None and old.uniform:
        note = f"`{shown(s.target)}` is changed on some ranks only"
        step = frame.step("flow", position(s.target), note)
        if old.container or old.element_types:
            joined = joined._replace(length=divergence.then(step), uniform=False)
        else:
            joined = joined._replace(divergence=divergence.then(step), uniform=False)
    bind(frame, s.target, joined)


def _return(frame: Frame, s: f.Return) -> None:
    value = frame.eval(s.value) if s.value is not None else Value(uniform=True, const="None")
    if frame.gradients:
        value = participation.given_back(value, (s.line, 1, s.line, 1))
    frame.returns.append((value, tuple(frame.conditions)))
    frame.emit(Exit("return", s.line))


def _raise(frame: Frame, s: f.Raise) -> None:
    frame.eval(s.value)
    frame.emit(exceptions.of_raise(frame, s))


def _break(frame: Frame, s: f.Break) -> None:
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


def _class(frame: Frame, s: f.ClassDef) -> None:
    info = frame.module.classes.get(s.qualname)
    if info is not None and frame.function is not None:
        frame.write(s.name, Value(uniform=True, target=ClassTarget(info)))


def _assert(frame: Frame, s: f.Assert) -> None:
    condition(frame, s.test)


def _delete(frame: Frame, s: f.Delete) -> None:
    for target in s.targets:
        place = place_name(target)
        if place:
            frame.env.pop(place, None)


def _scope(frame: Frame, s: f.ScopeDecl) -> None:
    return None


# ---------------------------------------------------------------------- branches
def _if(frame: Frame, s: f.If) -> None:
    formula, tested = condition(frame, s.test)
    if _is_given_instead(frame, s):
        formula = doubted(formula)
    known = evaluate(formula, {})
    if known is not None:
        execute(frame, s.body if known else s.orelse)
        return
    about_sizes = (tested.agreed and _ABOUT_SIZES.search(shown(s.test)) is not None) or _is_number_test(s.test)
    saved = dict(frame.env)
    guarded = {p: frame.version(p) for p in _tested_for_presence(s.test)}
    frame.conditions.append(formula)
    in_body = narrow(frame, s.test, True)
    frame.of_one_size += about_sizes
    with frame.recording() as body_terms:
        execute(frame, s.body)
    frame.of_one_size -= about_sizes
    body_env, frame.env = frame.env, dict(saved)
    frame.conditions[-1] = negate(formula)
    in_else = narrow(frame, s.test, False)
    with frame.recording() as else_terms:
        execute(frame, s.orelse)
    frame.conditions.pop()
    body, orelse = tuple(body_terms), tuple(else_terms)
    if not ends(body) and not ends(orelse):
        widen(body_env, in_body, frame.env, in_else)
        widen(frame.env, in_else, body_env, in_body)
    pos = position(s.test) or (s.line, s.column, s.line, s.column)
    if stage_values.is_stage_test(formula):
        frame.stage_tests.add(pos[:2])
    if body and _made_on_first_use(frame, s):
        body = weakened(body)
    if body and _is_default(frame, s):
        body = weakened(body, lambda e: e.op == "forward")
    if body and orelse:
        _buffers_of_arms(frame, formula, body, orelse)
    if body or orelse:
        frame.emit(Choice(formula, body, orelse, frame.module.path, pos, shown(s.test), "if"))
    for place, version in guarded.items():
        # `x = f(x)` under `x is not None` leaves the answer to "is x there" as it was
        if (value := body_env.get(place)) is not None and value.const is None:
            frame.versions[place] = version
    if not ends(body) and not ends(orelse):
        _padded_in_both(formula, saved, body_env, frame.env)
    frame.env = _merge(frame, formula, body_env, frame.env, ends(body), ends(orelse), frozenset(guarded))


def _buffers_of_arms(frame: Frame, formula: Formula, body: Trace, orelse: Trace) -> None:
    """Collectives that the arms of a test of the rank issue for each other, with buffers that do not fit."""
    divergence = divergence_of(formula)
    a, b = ([t for t in arm if type(t) is not Exit] for arm in (body, orelse))
    if divergence is None or len(a) != len(b):
        return
    for one, other in zip(a, b, strict=True):
        if type(one) is not Event or type(other) is not Event or one.op != other.op or one.axes != other.axes:
            return
        words = conflict(frame.layouts.get(one.pos), frame.layouts.get(other.pos))
        if words:
            step = frame.step("event", one.pos, f"the other ranks' half of it: {words}")
            apart = divergence.then(step).at_most(Confidence.MEDIUM)
            message = shape_message("FER201", other.op, divergence)
            frame.issues.append(CallIssue("FER201", other.pos, apart, other, message))
            return


def _made_on_first_use(frame: Frame, s: f.If) -> bool:
    """`if self._cache is None: self._cache = make()`: who comes first makes it, and that is mostly somebody else."""
    tests = s.test.values if type(s.test) is f.BoolOp and s.test.op == "and" else (s.test,)
    return any(_is_first_use(frame, test, s.body) for test in tests)


def _is_given_instead(frame: Frame, s: f.If) -> bool:
    """`if image_embeds is not None: return image_embeds`: as with a default, and all callers pass it or none does."""
    if type(s.test) is not f.Compare or s.test.ops != ("is not",) or not s.body or frame.function is None:
        return False
    place, last = place_name(s.test.left), s.body[-1]
    if place not in {p.name for p in frame.function.parameters} or type(last) is not f.Return:
        return False
    returned = {n.id for n in walk(last) if type(n) is f.Name}
    return place in returned and _MADE_BEFORE.search(place) is not None


#: names of what a module has made
_MADE_BEFORE = re.compile(r"(embeds|embeddings?|features|hidden_states|outputs?|states?)$")


def _is_default(frame: Frame, s: f.If) -> bool:
    """`if embeds is None: embeds = self.embed(ids)` of a parameter: who passes it has run the same module already."""
    parameters = {p.name for p in frame.function.parameters} if frame.function is not None else set()
    place = place_name(s.test.left) if type(s.test) is f.Compare else ""
    if place not in parameters or type(s.test) is not f.Compare or s.test.rights != (f.Const("None"),):
        return False
    return s.test.ops == ("is",) and any(type(x) is f.Assign and place in map(place_name, x.targets) for x in s.body)


def _is_first_use(frame: Frame, test: f.Expr, body: f.Body) -> bool:
    if type(test) is f.Not:
        place = place_name(test.operand)
    elif type(test) is f.Compare and test.ops == ("is",) and test.rights == (f.Const("None"),):
        place = place_name(test.left)
    else:
        return False
    kept = "." in place or any(type(d) is f.ScopeDecl and place in d.names for d in _function_body(frame))
    return kept and any(type(x) is f.Assign and place in map(place_name, x.targets) for x in body)


def _function_body(frame: Frame) -> f.Body:
    return frame.function.body if frame.function is not None else ()


def _padded_in_both(formula: Formula, before: Env, a: Env, b: Env) -> None:
    """A place that both arms set, or that only one knows, is not padded by one of them: each ranks builds its own."""
    divergence = divergence_of(formula)
    if divergence is None:
        return
    for env, other in ((a, b), (b, a)):
        for place, value in env.items():
            padded = value.padded
            if padded is None or padded.why[: len(divergence.why)] != divergence.why:
                continue
            if other.get(place) is None or other[place] is not before.get(place):
                env[place] = value._replace(padded=None)


def _is_number_test(test: f.Expr) -> bool:
    """`x.ndim == 0`: a single number has no uneven dimension."""
    if type(test) is not f.Compare or test.ops != ("==",) or test.rights != (f.Const("0"),):
        return False
    return last_name(test.left.func if type(test.left) is f.Call else test.left) in ("ndim", "dim", "ndimension")


def _tested_for_presence(test: f.Expr) -> list[str]:
    """The places that a test, or each term of its conjunction, asks to be there."""
    if type(test) is f.BoolOp and test.op == "and":
        return [p for value in test.values for p in _tested_for_presence(value)]
    if type(test) is f.Compare and test.ops == ("is not",) and test.rights == (f.Const("None"),):
        return [p for p in [place_name(test.left)] if p]
    return []


def _merge(
    frame: Frame,
    formula: Formula,
    a: dict[str, Value],
    b: dict[str, Value],
    a_left: bool,
    b_left: bool,
    guarded: frozenset[str],
) -> dict[str, Value]:
    """The environment after two arms; an arm that left contributes nothing."""
    if a_left:
        return b
    if b_left:
        return a
    merged = dict(b)
    for place, value in a.items():
        other = b.get(place)
        if other is value:
            continue
        if other is None:
            # bound in one arm only: that it exists is what the other code relies on, or it was read before as unknown
            merged[place] = _set_in_one_arm(frame, formula, place, value)
            continue
        merged[place] = merge_arms(formula, value, other)
        if place in guarded and value.const is None:
            merged[place] = merged[place]._replace(presence=other.presence)
        else:
            frame.versions[place] = frame.versions.get(place, 0) + 1
    for place, value in b.items():
        if place not in a:
            merged[place] = _set_in_one_arm(frame, formula, place, value)
    if frame.gradients:
        participation.collected(formula, a, b, merged)
    return merged


def _set_in_one_arm(frame: Frame, formula: Formula, place: str, value: Value) -> Value:
    """What only one arm binds: an attribute held something before, so that a constant differs as the test does."""
    divergence = divergence_of(formula)
    if value.const is None or divergence is None or not frame.self_name or not place.startswith(frame.self_name + "."):
        return value._replace(uniform=False, const=None)
    return value._replace(uniform=False, const=None, divergence=worse(value.divergence, divergence))


# ---------------------------------------------------------------------- loops
def _for(frame: Frame, s: f.For) -> None:
    iterable = frame.eval(s.iterable)
    iterable = iteration.of_instance(frame, iterable, position(s.iterable))
    if iterable.unordered is not None and numbers(s.target):
        iterable = iterable._replace(unordered=None)
    if iterable.items is not None and not iterable.items and not iterable.container:
        return
    pos = position(s.iterable) or (s.line, s.column, s.line, s.column)

    def enter() -> None:
        bind(frame, s.target, _batch_by_name(frame, s.target, element_of(frame, iterable, s.iterable)))

    frame.rounds.append(iterable)
    frame.items.append((s.target, len(frame.conditions), s.body))
    body = _rounds(frame, s.body, enter, lambda: iterable.uniform and rounds_of(iterable) is None)
    frame.rounds.pop()
    frame.items.pop()
    if body:
        term = loop_term(frame, iterable, body, pos, s.iterable)
        if term.trip is None and not iterable.uniform:
            term = term._replace(trip=iteration.drawn(frame, s.body))
        frame.emit(term)
    _loop_else(frame, s, body, pos)


_BATCH = re.compile(r"(^|_)(micro|mini)?_?batch$")


def _batch_by_name(frame: Frame, target: f.Expr, value: Value) -> Value:
    """`for batch in stream`: what a loop takes from something unknown and calls a batch is one."""
    if type(target) is f.Sequence and value.items is not None and len(value.items) == len(target.elements):
        pairs = zip(target.elements, value.items, strict=True)
        return value._replace(items=tuple(_batch_by_name(frame, t, v) for t, v in pairs))
    if type(target) is not f.Name or not _BATCH.search(target.id):
        return value
    if value.uniform or value.data is not None or value.divergence is not None or value.types:
        return value
    note = f"`{target.id}` is the rank's own batch"
    return value._replace(data=frame.source(DP, "data", target.pos, note, Confidence.MEDIUM))


def _loop_else(frame: Frame, s: f.For | f.While, body: Trace, pos: f.Pos) -> None:
    """The else of a loop runs on ranks that did not leave it by `break`."""
    if not s.orelse:
        return
    breaks = [
        c for c in choices_and_loops(body) if type(c) is Choice and "break" in (has_exit(c.body), has_exit(c.orelse))
    ]
    divergence = next((d for c in breaks if (d := divergence_of(c.formula)) is not None), None)
    with frame.recording() as terms:
        execute(frame, s.orelse)
    if not breaks:
        frame.terms.extend(terms)
    elif terms:
        atom = Atom(f"left the loop at {frame.module.path}:{s.line}", divergence, NO_DEPS)
        place = breaks[0]
        frame.emit(Choice(atom, (), tuple(terms), frame.module.path, place.pos, place.text, "loop else"))


def _while(frame: Frame, s: f.While) -> None:
    formulas: list[Formula] = [TRUE]

    def enter() -> None:
        formulas[0], _ = condition(frame, s.test)

    formula_first, _ = condition(frame, s.test)
    if formula_first == FALSE:
        return
    body = _rounds(frame, s.body, enter, lambda: is_uniform(formulas[0]))
    formula = formulas[0]
    _filled_up(frame, s.test)
    pos = position(s.test) or (s.line, s.column, s.line, s.column)
    divergence = divergence_of(formula)
    if divergence is not None and divergence.kind == "host" and queues.sets_no_number(frame, s):
        divergence = None
    deps = NO_DEPS
    if type(formula) is not Known:
        from ferrule_lint.semantics.domain.conditions import deps_of

        deps = deps_of(formula)
    if body:
        trip = divergence or iteration.drawn(frame, s.body)
        text = "while True" if s.test == f.Const("True") else shown(s.test)
        frame.emit(Loop(body, trip, None, deps, frame.module.path, pos, text, frame.key(s.test)))
    _loop_else(frame, s, body, pos)


def _filled_up(frame: Frame, test: f.Expr) -> None:
    """`while len(items) < most: items.append(...)`: as long as the number says, from here on."""
    if type(test) is not f.Compare or test.ops not in (("<",), ("!=",)) or type(test.left) is not f.Call:
        return
    place = place_name(test.left.args[0]) if last_name(test.left.func) == "len" and test.left.args else ""
    known = frame.read(place) if place else None
    if known is not None and known.length is not None and frame.eval(test.rights[0]).divergence is None:
        frame.env[place] = known._replace(length=None)


def _rounds(frame: Frame, statements: f.Body, enter: Callable[[], None], alike: Callable[[], bool]) -> Trace:
    """The loop body's trace in a state that any round may start from: a first pass finds what it changes.

    `alike`: whether all ranks certainly run as many rounds. If not, what the loop changes is uniform within a round but
    not after the loop (temporal divergence, as in LLVM's uniformity analysis).
    """
    before = saved = dict(frame.env)
    frame.loop_depth += 1
    if frame.loop_depth <= _DEEPEST_SECOND_PASS:
        returns, issues, latents = len(frame.returns), len(frame.issues), len(frame.latents)
        revealed, marks = len(frame.revealed), len(frame.gradient_marks)
        frame.skipped.append([])
        with frame.recording():
            enter()
            execute(frame, statements)
        participation.after_round(frame.env, frame.skipped.pop())
        del frame.returns[returns:], frame.issues[issues:], frame.latents[latents:], frame.revealed[revealed:]
        del frame.gradient_marks[marks:]
        frame.env = _widen(saved, frame.env)
        saved = dict(frame.env)
    frame.skipped.append([])
    with frame.recording() as terms:
        enter()
        execute(frame, statements)
    participation.after_round(frame.env, frame.skipped.pop())
    frame.loop_depth -= 1
    after = _widen(saved, frame.env)
    if not (alike() and all(_left_together(term) for term in choices_and_loops(tuple(terms)))):
        for place, value in after.items():
            if value.uniform and before.get(place) != value:
                after[place] = value._replace(uniform=False)
    frame.env = after
    return tuple(terms)


def _left_together(term: Choice | Loop) -> bool:
    """Whether ranks that leave a round early here, or the loop, do so together."""
    if type(term) is not Choice:
        return True
    return is_uniform(term.formula) or not (has_exit(term.body) or has_exit(term.orelse))


def _widen(before: dict[str, Value], after: dict[str, Value]) -> dict[str, Value]:
    """What holds after any number of rounds, none included."""
    merged = dict(after)
    for place, value in before.items():
        other = after.get(place)
        if other is None:
            merged[place] = value
        elif other is not value:
            joined = join2(value, other)
            merged[place] = (
                joined._replace(const=None) if joined.const is not None and value.const != other.const else joined
            )
    return merged


# ---------------------------------------------------------------------- try and with
def _try(frame: Frame, s: f.Try) -> None:
    before = dict(frame.env)
    attempt = exceptions.open_try(s)
    with frame.recording() as inner:
        frame.attempts.append(attempt)
        execute(frame, s.body)
        frame.attempts.pop()
        execute(frame, s.orelse)
    body = (*exceptions.expected(frame, attempt), *inner) if not frame.light else tuple(inner)
    handlers: list[tuple[int, Trace]] = []
    if not attempt.reached:
        frame.terms.extend(body)
    after = frame.env
    for handler in s.handlers:
        frame.env = _widen(before, after)
        entered = dict(frame.env) if frame.gradients else {}
        if handler.name:
            frame.env[handler.name] = UNKNOWN
        alone = exceptions.had_alone(frame, handler) if not frame.light else None
        frame.conditions += [alone] if alone is not None else []
        with frame.recording() as terms:
            execute(frame, handler.body)
        frame.conditions[len(frame.conditions) - (alone is not None) :] = []
        handled = tuple(terms)
        handlers.append((handler.line, handled))
        if handled and not frame.light:
            cleanups.in_handler(frame, s, handler, tuple(inner), handled)
        if handled and not attempt.reached:
            pos = (handler.line, 1, handler.line, 1)
            atom = Atom(f"except at {frame.module.path}:{handler.line}", None, NO_DEPS)
            frame.emit(Choice(atom, handled, (), frame.module.path, pos, "except", "except"))
        if not ends(handled):
            tried, after = after, _widen(after, _raised_here(frame, handler, before, frame.env))
            if frame.gradients:
                participation.with_handler(frame, handler, before, tried, entered, after)
    if attempt.reached and (inner or any(handled for _, handled in handlers)):
        frame.emit(Attempt(body, tuple(handlers)))
    frame.env = after
    with frame.recording() as final:
        execute(frame, s.final)
    if not frame.light:
        cleanups.in_finally(frame, s, body, tuple(final))
    frame.terms.extend(final)


def _raised_here(frame: Frame, handler: f.Handler, before: dict[str, Value], env: dict[str, Value]) -> dict[str, Value]:
    """What a handler sets differs between ranks, if one can have the exception alone."""
    types = handler.type.elements if type(handler.type) is f.Sequence else (handler.type,)
    name = next((last_name(t) for t in types if t is not None and last_name(t) in _LOCAL_EXCEPTIONS), "")
    if not name and _speaks_of_memory(handler.body):
        name = "out-of-memory error"
    if not name:
        return env
    note = f"set where this rank had the exception: {name}"
    divergence = frame.source(WORLD, "host", (handler.line, 1, handler.line, 1), note, Confidence.MEDIUM)
    changed = dict(env)
    for place, value in env.items():
        if value is not before.get(place) and (value.const is not None or value.uniform):
            changed[place] = value._replace(uniform=False, const=None, divergence=worse(value.divergence, divergence))
    return changed


def _speaks_of_memory(node: object) -> bool:
    """Whether a handler of a general exception asks if memory ran out."""
    for item in walk(node):
        if type(item) is f.Const and _OUT_OF_MEMORY.search(item.text):
            return True
        if (type(item) is f.Name or type(item) is f.Attr) and _OUT_OF_MEMORY.search(last_name(item)):
            return True
    return False


def _with(frame: Frame, s: f.With) -> None:
    suppressed = _suppressed(frame, s)
    if suppressed is not None:
        handler = f.Handler(s.line, suppressed, None, ())
        _try(frame, f.Try(s.line, s.body, (handler,), (), ()))
        return
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
        for info in sorted(value.types, key=lambda c: c.id)[:2]:
            enter = _dunder(frame, info, ("__enter__", "__aenter__"))
            leave = _dunder(frame, info, ("__exit__", "__aexit__"))
            if enter is not None:
                entered = frame.analysis.call_function(frame, enter, value, (), {}, pos)
                entered = entered if entered.types else value
            if leave is not None:
                exits.append(lambda leave=leave, value=value, pos=pos: _leave(frame, leave, value, pos))  # type: ignore[misc]
        if target is not None:
            bind(frame, target, entered._replace(const=None))
    if exits:
        # an exception in the body passes the exits before any handler: not followed
        frame.attempts.append(exceptions.OpenTry((), frozenset()))
    without = any(participation.without_gradient(expr) for expr, _ in s.items)
    frame.no_gradient += without
    start = len(frame.terms)
    if any(_is_join(frame, expr) for expr, _ in s.items):
        with frame.recording() as terms:
            execute(frame, s.body)
        frame.terms.extend(weakened(tuple(terms)))
    elif (unsynchronised := _no_sync(frame, s)) is not None:
        with frame.recording() as terms:
            execute(frame, s.body)
        _emit_unsynchronised(frame, unsynchronised, tuple(terms))
    else:
        execute(frame, s.body)
    if one_first is not None and not frame.light:
        turns.check(frame, one_first, frame.terms[start:])
    frame.no_gradient -= without
    if exits:
        frame.attempts.pop()
    for leave_block in reversed(exits):
        leave_block()


def _suppressed(frame: Frame, s: f.With) -> f.Expr | None:
    """What `with contextlib.suppress(...)` catches: a handler that does nothing."""
    expr = s.items[0][0]
    if len(s.items) != 1 or type(expr) is not f.Call or last_name(expr.func) != "suppress" or not expr.args:
        return None
    return expr.args[0] if len(expr.args) == 1 else f.Sequence("tuple", expr.args)


def _is_join(frame: Frame, expr: f.Expr) -> bool:
    """`with model.join():`, `with Join([model]):` answer the collectives of ranks that go on after others are done.

    https://docs.pytorch.org/docs/stable/distributed.algorithms.join.html
    """
    if type(expr) is not f.Call:
        return False
    target = frame.eval(expr.func).target
    if type(target) is MethodTarget:
        return target.name == "join" and all(type(a) is f.Const for a in expr.args)
    return last_name(expr.func) == "Join"


def _no_sync(frame: Frame, s: f.With) -> tuple[Formula, f.Expr] | None:
    """Whether gradients are kept to the rank in a block: `with model.no_sync():`, also as one arm of a conditional
    expression, and under which condition.

    https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    """
    for expr, _ in s.items:
        made = iteration.definition(frame, expr)
        if _makes_no_sync(made):
            return TRUE, made
        if type(made) is f.IfExp and _makes_no_sync(made.body) is not _makes_no_sync(made.orelse):
            formula, _ = condition(frame, made.test)
            return (formula if _makes_no_sync(made.body) else negate(formula)), made.test
    return None


def _makes_no_sync(expr: f.Expr) -> bool:
    return type(expr) is f.Call and last_name(expr.func) == "no_sync"


def _emit_unsynchronised(frame: Frame, decided: tuple[Formula, f.Expr], trace: Trace) -> None:
    """A block whose backward reduces no gradients where `decided` holds."""
    formula, test = decided
    quiet = without(trace, "backward")
    if formula == TRUE or quiet == trace:
        frame.terms.extend(quiet)
        return
    pos = position(test) or (frame.line, 1, frame.line, 1)
    frame.emit(Choice(formula, quiet, trace, frame.module.path, pos, shown(test), "conditional expression"))


def _dunder(frame: Frame, info: Any, names: tuple[str, ...]) -> Any:
    return next((m for m in (frame.analysis.names.method(info, n) for n in names) if m is not None), None)


def _leave(frame: Frame, method: Any, value: Value, pos: f.Pos) -> None:
    frame.analysis.call_function(frame, method, value, (UNIFORM, UNIFORM, UNIFORM), {}, pos)


_STATEMENTS: dict[type, Callable[[Frame, Any], None]] = {
    f.ExprStmt: _expr,
    f.Assign: _assign,
    f.AugAssign: _aug_assign,
    f.If: _if,
    f.For: _for,
    f.While: _while,
    f.Try: _try,
    f.With: _with,
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
