"""Statements: walks a body once, keeping the environment and building the trace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.conditions import FALSE, TRUE, Atom, Formula, Known, divergence_of, evaluate, negate
from ferrule_lint.semantics.expressions import bind, element_of, loop_term, merge_arms
from ferrule_lint.semantics.frame import Frame, Revealed
from ferrule_lint.semantics.lattice import NO_DEPS, UNIFORM, UNKNOWN, Value, join2
from ferrule_lint.semantics.narrowing import narrow, widen
from ferrule_lint.semantics.ordering import is_set, no_order, numbers, round_order
from ferrule_lint.semantics.predicates import condition
from ferrule_lint.semantics.targets import ClassTarget, FunctionTarget
from ferrule_lint.semantics.text import place_name, position, shown
from ferrule_lint.semantics.trace import Choice, Exit, Loop, Trace, choices_and_loops, ends, has_exit, weakened

_DEEPEST_SECOND_PASS = 2
Env = dict[str, Value]


def execute(frame: Frame, body: f.Body) -> None:
    """Run a body: an early exit under a condition makes what follows conditional, which the trace's exits express."""
    guards = 0
    for statement in body:
        frame.line = statement.line
        before = len(frame.terms)
        _STATEMENTS[type(statement)](frame, statement)
        guard = _exit_guard(frame, before, statement)
        if guard is not None:
            frame.conditions.append(guard)
            guards += 1
    if guards:
        del frame.conditions[-guards:]


def _exit_guard(frame: Frame, before: int, statement: f.Stmt) -> Formula | None:
    """The condition under which the rest of the block runs, when this statement may have left it."""
    if type(statement) is not f.If or len(frame.terms) == before:
        return None
    last = frame.terms[-1]
    if type(last) is not Choice or last.form != "if":
        return None
    if ends(last.body):
        return negate(last.formula)
    if ends(last.orelse):
        return last.formula
    return None


# ---------------------------------------------------------------------- simple statements
def _expr(frame: Frame, s: f.ExprStmt) -> None:
    frame.eval(s.value)
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
    if is_set(s.annotation) and value.unordered is None:
        value = value._replace(unordered=no_order(frame, position(s.targets[0])))
    for target in s.targets:
        bind(frame, target, value)


def _aug_assign(frame: Frame, s: f.AugAssign) -> None:
    old, new = frame.eval(s.target), frame.eval(s.value)
    joined = join2(old.plain(), new.plain())
    divergence = frame.path_divergence()
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
    frame.returns.append((value, tuple(frame.conditions)))
    frame.emit(Exit("return", s.line))


def _raise(frame: Frame, s: f.Raise) -> None:
    frame.eval(s.value)
    frame.emit(Exit("raise", s.line))


def _break(frame: Frame, s: f.Break) -> None:
    frame.emit(Exit("break", s.line))


def _continue(frame: Frame, s: f.Continue) -> None:
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
    formula, _ = condition(frame, s.test)
    known = evaluate(formula, {})
    if known is not None:
        execute(frame, s.body if known else s.orelse)
        return
    saved = dict(frame.env)
    guarded = {p: frame.version(p) for p in _tested_for_presence(s.test)}
    frame.conditions.append(formula)
    in_body = narrow(frame, s.test, True)
    with frame.recording() as body_terms:
        execute(frame, s.body)
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
    if body and _made_on_first_use(frame, s):
        body = weakened(body)
    if body or orelse:
        frame.emit(Choice(formula, body, orelse, frame.module.path, pos, shown(s.test), "if"))
    for place, version in guarded.items():
        # `x = f(x)` under `x is not None` leaves the answer to "is x there" as it was
        if (value := body_env.get(place)) is not None and value.const is None:
            frame.versions[place] = version
    if not ends(body) and not ends(orelse):
        _padded_in_both(formula, saved, body_env, frame.env)
    frame.env = _merge(frame, formula, body_env, frame.env, ends(body), ends(orelse), frozenset(guarded))


def _made_on_first_use(frame: Frame, s: f.If) -> bool:
    """`if self._cache is None: self._cache = make()`: who comes first makes it, and that is mostly somebody else."""
    test = s.test
    if type(test) is f.Not:
        place = place_name(test.operand)
    elif type(test) is f.Compare and test.ops == ("is",) and test.rights == (f.Const("None"),):
        place = place_name(test.left)
    else:
        return False
    kept = "." in place or any(type(d) is f.ScopeDecl and place in d.names for d in _function_body(frame))
    return kept and any(type(x) is f.Assign and place in map(place_name, x.targets) for x in s.body)


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
            merged[place] = value._replace(uniform=False, const=None, target=value.target, divergence=value.divergence)
            continue
        merged[place] = merge_arms(formula, value, other)
        if place in guarded and value.const is None:
            merged[place] = merged[place]._replace(presence=other.presence)
        else:
            frame.versions[place] = frame.versions.get(place, 0) + 1
    for place, value in b.items():
        if place not in a:
            merged[place] = value._replace(uniform=False, const=None)
    return merged


# ---------------------------------------------------------------------- loops
def _for(frame: Frame, s: f.For) -> None:
    iterable = frame.eval(s.iterable)
    if iterable.unordered is not None and numbers(s.target):
        iterable = iterable._replace(unordered=None)
    if iterable.items is not None and not iterable.items and not iterable.container:
        return
    pos = position(s.iterable) or (s.line, s.column, s.line, s.column)

    def enter() -> None:
        bind(frame, s.target, element_of(frame, iterable, s.iterable))

    frame.rounds.append(iterable)
    body = _rounds(frame, s.body, enter)
    frame.rounds.pop()
    if body:
        frame.emit(loop_term(frame, iterable, body, pos, s.iterable))
    _loop_else(frame, s, body, pos)


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
    body = _rounds(frame, s.body, enter)
    formula = formulas[0]
    pos = position(s.test) or (s.line, s.column, s.line, s.column)
    divergence = divergence_of(formula)
    deps = NO_DEPS
    if type(formula) is not Known:
        from ferrule_lint.semantics.conditions import deps_of

        deps = deps_of(formula)
    if body:
        frame.emit(Loop(body, divergence, None, deps, frame.module.path, pos, shown(s.test), frame.key(s.test)))
    _loop_else(frame, s, body, pos)


def _rounds(frame: Frame, statements: f.Body, enter: Callable[[], None]) -> Trace:
    """The loop body's trace in a state that any round may start from: a first pass finds what it changes."""
    saved = dict(frame.env)
    frame.loop_depth += 1
    if frame.loop_depth <= _DEEPEST_SECOND_PASS:
        returns, issues, latents = len(frame.returns), len(frame.issues), len(frame.latents)
        revealed = len(frame.revealed)
        with frame.recording():
            enter()
            execute(frame, statements)
        del frame.returns[returns:], frame.issues[issues:], frame.latents[latents:], frame.revealed[revealed:]
        frame.env = _widen(saved, frame.env)
        saved = dict(frame.env)
    with frame.recording() as terms:
        enter()
        execute(frame, statements)
    frame.loop_depth -= 1
    frame.env = _widen(saved, frame.env)
    return tuple(terms)


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
    execute(frame, s.body)
    execute(frame, s.orelse)
    after = frame.env
    for handler in s.handlers:
        frame.env = _widen(before, after)
        if handler.name:
            frame.env[handler.name] = UNKNOWN
        with frame.recording() as terms:
            execute(frame, handler.body)
        body = tuple(terms)
        if body:
            pos = (handler.line, 1, handler.line, 1)
            atom = Atom(f"except at {frame.module.path}:{handler.line}", None, NO_DEPS)
            frame.emit(Choice(atom, body, (), frame.module.path, pos, "except", "except"))
        if not ends(body):
            after = _widen(after, frame.env)
    frame.env = after
    execute(frame, s.final)


def _with(frame: Frame, s: f.With) -> None:
    exits: list[Callable[[], None]] = []
    for expr, target in s.items:
        value = frame.eval(expr)
        entered = value
        pos = position(expr) or (s.line, 1, s.line, 1)
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
    execute(frame, s.body)
    for leave_block in reversed(exits):
        leave_block()


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
