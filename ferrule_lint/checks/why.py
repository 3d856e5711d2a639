"""What the analysis holds of one line: of each value on it, and of the collectives of the function around it.

The values are asked for as specifications do it, by calls of `reveal_uniformity`: here they are put into the facts of
the function, around the statement. A second, untouched analysis gives the trace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ferrule_lint.checks.graph import Graph, axes_text, graph_of
from ferrule_lint.checks.result import CheckOptions
from ferrule_lint.facts import types as f
from ferrule_lint.facts.outline import Facts, whole
from ferrule_lint.facts.walk import statements
from ferrule_lint.findings import Confidence, Step
from ferrule_lint.models.lookup import ModelSet
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.conditions import divergence_of
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import position, shown
from ferrule_lint.semantics.domain.trace import Attempt, CallTerm, Choice, Event, Exit, Loop, Trace
from ferrule_lint.semantics.walk.frame import Frame

#: values shown of one line
MOST_VALUES = 40
#: terms shown of one trace
MOST_TERMS = 200

_FACETS = (
    ("divergence", "the value"),
    ("data", "its content"),
    ("presence", "whether it is there"),
    ("length", "how many items it has"),
    ("emptiness", "whether it is empty"),
    ("shape", "its size"),
    ("padded", "its padding"),
    ("unordered", "the order of its items"),
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which a value differs between ranks, and how it came about."""

    facet: str
    axes: tuple[str, ...]
    kind: str
    confidence: Confidence
    why: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class KnownValue:
    """What is known of one expression. `level` is "uniform", "unknown" or "divergent"."""

    text: str
    column: int
    end_column: int
    level: str
    differences: tuple[Difference, ...]
    #: parameters of the function that it depends on
    parameters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TraceLine:
    """One term of a trace, indented by `depth`; `differs` if ranks may part there. `cell`: which one of a notebook,
    if it is another one than that of the line."""

    depth: int
    line: int
    text: str
    differs: bool
    cell: int = 0


@dataclass(frozen=True, slots=True)
class Explanation:
    """What there is to know of a line. `function` is empty outside of functions."""

    path: str
    line: int
    function: str
    values: tuple[KnownValue, ...]
    trace: tuple[TraceLine, ...]
    graph: Graph


def explain_line(
    facts: Mapping[str, Facts], models: ModelSet, path: str, line: int, options: CheckOptions | None = None
) -> Explanation | None:
    """What is known of `line` in `path`; None if no statement stands there."""
    sharded = (options or CheckOptions()).sharded
    asked = _asked(whole(facts[path]), line)
    if asked is None:
        return None
    changed, qualname = asked
    frame, _ = _analysed(Analysis({**facts, path: changed}, models, sharded), path, qualname)
    _, trace = _analysed(Analysis(facts, models, sharded), path, qualname)
    values: dict[tuple[int, str], KnownValue] = {}
    for one in frame.revealed if frame is not None else ():
        # functions and modules are no values that could differ
        if one.line == line and not (one.value.uniform and one.value.target is not None):
            known = _known(one.expression, one.value)
            values[known.column, known.text] = known
    ordered = tuple(values[key] for key in sorted(values))[:MOST_VALUES]
    differing = [(one.text, [way.why for way in one.differences]) for one in ordered if one.differences]
    graph = graph_of(trace, qualname or path, path, line, differing)
    return Explanation(path, line, qualname, ordered, tuple(_lines(trace, 0))[:MOST_TERMS], graph)


def next_statement(facts: Facts, line: int) -> int:
    """The line of the next statement below `line` in the innermost function around it that has one; 0 if none has."""
    above = [function for function in whole(facts).functions if function.line < line]
    for function in sorted(above, key=lambda one: one.line, reverse=True):
        below = [statement.line for statement in statements(function.body) if statement.line > line]
        if below:
            return min(below)
    return 0


def _analysed(analysis: Analysis, path: str, qualname: str) -> tuple[Frame | None, Trace]:
    """The frame and the trace of a function, or of a file's top level if `qualname` is empty."""
    module = analysis.names.modules.get(path)
    if module is None:
        return None, ()
    if not qualname:
        frame = analysis.module_frame(module)
        return frame, frame.trace()
    function = module.functions.get(qualname)
    known = None if function is None else analysis.frame_of(function)
    return (None, ()) if known is None else (known[1], known[0].trace)


# ---------------------------------------------------------------------- asking
def _asked(facts: f.FileFacts, line: int) -> tuple[f.FileFacts, str] | None:
    """The facts with questions at `line`, and the qualified name of the function where it stands."""
    for index, function in enumerate(facts.functions):
        body = _with_questions(function.body, line)
        if body is None and function.line == line:
            names = [f.Name(one.name, (line, 1, line, 1)) for one in function.parameters]
            body = (*(_question(name, line) for name in names), *function.body)
        if body is not None:
            changed = (*facts.functions[:index], function._replace(body=body), *facts.functions[index + 1 :])
            return facts._replace(functions=changed), function.qualname
    top = _with_questions(facts.body, line)
    return None if top is None else (facts._replace(body=top), "")


def _with_questions(body: f.Body, line: int) -> f.Body | None:
    """The body with questions before and after the statements at `line`; None if there is none."""
    found = False
    out: list[f.Stmt] = []
    for statement in body:
        inner = _inside(statement, line)
        before, after, entered = _expressions(statement)
        if inner is not None:
            found = True
            out.append(inner)
        elif statement.line == line or any(_covers(expr, line) for expr in (*before, *after, *entered)):
            found = True
            questions = [_question(part, line) for expr in before for part in _parts(expr)]
            out += questions
            out.append(_entered(statement, [_question(part, line) for expr in entered for part in _parts(expr)]))
            out += [_question(part, line) for expr in after for part in _parts(expr)]
        else:
            out.append(statement)
    return tuple(out) if found else None


_BODIES = ("body", "orelse", "final")


def _inside(statement: f.Stmt, line: int) -> f.Stmt | None:
    """A compound statement with questions somewhere in it; None if the line is not in it."""
    changes: dict[str, object] = {}
    for name in _BODIES:
        block = getattr(statement, name, None)
        if type(block) is tuple:
            changed = _with_questions(block, line)
            if changed is not None:
                changes[name] = changed
    if type(statement) is f.Try:
        handlers = []
        for handler in statement.handlers:
            changed = _with_questions(handler.body, line)
            handlers.append(handler if changed is None else handler._replace(body=changed))
        if tuple(handlers) != statement.handlers:
            changes["handlers"] = tuple(handlers)
    return statement._replace(**changes) if changes else None


def _expressions(s: f.Stmt) -> tuple[tuple[f.Expr, ...], tuple[f.Expr, ...], tuple[f.Expr, ...]]:
    """What a statement's own lines say: expressions that it reads, those it sets, those its body begins with."""
    match s:
        case f.ExprStmt() | f.Return() | f.Raise():
            return (() if s.value is None else (s.value,)), (), ()
        case f.Assign():
            return (() if s.value is None else (s.value,)), s.targets, ()
        case f.AugAssign():
            return (s.value,), (s.target,), ()
        case f.If() | f.While() | f.Assert():
            return (s.test,), (), ()
        case f.For():
            return (s.iterable,), (), (s.target,)
        case f.With():
            return (
                tuple(context for context, _ in s.items),
                (),
                tuple(target for _, target in s.items if target is not None),
            )
        case f.Delete():
            return s.targets, (), ()
    return (), (), ()


def _entered(statement: f.Stmt, questions: list[f.Stmt]) -> f.Stmt:
    if questions and isinstance(statement, f.For | f.With):
        return statement._replace(body=(*questions, *statement.body))
    return statement


def _covers(expr: f.Expr, line: int) -> bool:
    return any(pos[0] <= line <= pos[2] for part in _parts(expr) if (pos := position(part)))


def _question(expr: f.Expr, line: int) -> f.Stmt:
    pos = position(expr) or (line, 1, line, 1)
    return f.ExprStmt(line, f.Call(f.Name("reveal_uniformity", pos), (expr,), (), pos))


def _parts(expr: f.Expr) -> Iterator[f.Expr]:
    """The expressions in `expr` that have a value where it stands, inner ones first, calls last."""
    parts = list(_walk(expr))
    yield from (part for part in parts if type(part) is not f.Call)
    yield from (part for part in parts if type(part) is f.Call)


def _walk(expr: f.Expr) -> Iterator[f.Expr]:
    for child in _children(expr):
        yield from _walk(child)
    if isinstance(expr, f.Name | f.Attr | f.Subscript | f.Call | f.Compare | f.BoolOp | f.IfExp | f.Comprehension):
        yield expr


def _children(expr: f.Expr) -> Iterable[f.Expr]:
    match expr:
        case f.Attr() | f.Subscript():
            return (expr.base, expr.index) if isinstance(expr, f.Subscript) else (expr.base,)
        case f.Call():
            # `a.b` of `a.b()` is a method, `a` has a value
            base = (expr.func.base,) if isinstance(expr.func, f.Attr) else ()
            return (*base, *expr.args, *(value for _, value in expr.keywords))
        case f.Not():
            return (expr.operand,)
        case f.BoolOp():
            return expr.values
        case f.Compare():
            return (expr.left, *expr.rights)
        case f.Op():
            return expr.operands
        case f.Sequence() | f.SetDisplay():
            return expr.elements
        case f.DictDisplay():
            return (*(key for key in expr.keys if key is not None), *expr.values)
        case f.IfExp():
            return (expr.test, expr.body, expr.orelse)
        case f.Comprehension():
            # the names bound inside have no value outside
            return (expr.generators[0].iterable,) if expr.generators else ()
        case f.Starred() | f.Walrus():
            return (expr.value,)
        case f.Yield():
            return () if expr.value is None else (expr.value,)
    return ()


# ---------------------------------------------------------------------- answers
def _known(expr: f.Expr, value: Value) -> KnownValue:
    differences = [_difference(name, facet) for attribute, name in _FACETS if (facet := getattr(value, attribute))]
    pos = position(expr) or (0, 1, 0, 1)
    return KnownValue(
        text=shown(expr),
        column=pos[1],
        end_column=pos[3] if pos[0] == pos[2] else pos[1],
        level="divergent" if differences else value.level,
        differences=tuple(differences),
        parameters=tuple(sorted({name for name, _ in value.deps | value.length_deps})),
    )


def _difference(facet: str, divergence: Divergence) -> Difference:
    axes = tuple(sorted(divergence.axes))
    return Difference(facet, axes, divergence.kind, divergence.confidence, divergence.why)


def _lines(trace: Trace, depth: int) -> Iterator[TraceLine]:
    for term in trace:
        if type(term) is Event:
            hidden = " (hidden)" if term.hidden else ""
            yield TraceLine(depth, term.pos[0], f"{term.op} over {axes_text(term.axes)}{hidden}: {term.note}", False)
        elif type(term) is CallTerm:
            kinds = sorted({f"{event.op} over {axes_text(event.axes)}" for event in term.summary.events})
            yield TraceLine(depth, term.pos[0], f"calls `{term.summary.display}`: {', '.join(kinds)}", False)
        elif type(term) is Choice:
            yield from _choice(term, depth)
        elif type(term) is Loop:
            divergence = term.trip or term.order
            yield TraceLine(
                depth, term.pos[0], f"loop over `{term.text}`{_differs(divergence)}", divergence is not None
            )
            yield from _lines(term.body, depth + 1)
        elif type(term) is Attempt:
            yield from _lines(term.body, depth)
            for line, handler in term.handlers:
                yield TraceLine(depth, line, "except", False)
                yield from _lines(handler, depth + 1)
        elif type(term) is Exit:
            yield TraceLine(depth, term.line, _exit(term), False)


def _exit(term: Exit) -> str:
    """An exit in words; a caught one stands where its handler is."""
    return {"caught": "goes on at this handler", "leaves": "an exception leaves the function"}.get(term.kind, term.kind)


def _choice(term: Choice, depth: int) -> Iterator[TraceLine]:
    divergence = divergence_of(term.formula)
    yield TraceLine(depth, term.pos[0], f"{term.form} `{term.text}`{_differs(divergence)}", divergence is not None)
    yield from _lines(term.body, depth + 1)
    if term.orelse:
        yield TraceLine(depth, term.pos[0], "else", False)
        yield from _lines(term.orelse, depth + 1)


def _differs(divergence: Divergence | None) -> str:
    return f", which differs along {axes_text(divergence.axes)} ({divergence.kind})" if divergence else ""
