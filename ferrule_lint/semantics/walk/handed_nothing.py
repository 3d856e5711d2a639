"""`with Logger() as log:` whose end goes over what the object was given, and that was given nothing in the block.

What the end of such a block reduces, it reduces item by item: an object that is new has none, and where the methods
that give it some are not called in the block, it still has none at the end of it.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.data.accumulators import FILLS, walked
from ferrule_lint.semantics.domain.text import position
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Event, Loop, Trace, parts
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.stored import is_empty

_BEGINNINGS = frozenset({"__init__", "__new__", "__enter__", "__aenter__"})


def goes_over_nothing(frame: Frame, s: f.With, target: f.Expr | None, leave: FunctionInfo, ended: Trace) -> bool:
    """Whether the end of a block issues nothing: `ended` is the call of `leave`, which ends it."""
    if type(target) is not f.Name or leave.owner is None or not leave.parameters:
        return False
    info = leave.module.classes.get(leave.owner)
    traces = [t.summary.trace for t in ended if type(t) is CallTerm]
    loops = {position(node.iterable): node.iterable for node in walk(leave.body) if type(node) is f.For}
    over = [_attribute(leave, loops[pos]) for trace in traces for pos in _loops_with_events(trace, set(loops))]
    if info is None or not over or "" in over or any(_issues_outside(trace, set(loops)) for trace in traces):
        return False
    given = [_givers(frame, info, leave, name) for name in over]
    if None in given:
        return False
    called = _called_on(s.body, target.id)
    return called is not None and not any(methods & called for methods in given if methods is not None)


def _attribute(leave: FunctionInfo, iterable: f.Expr) -> str:
    """The attribute of the instance whose items are walked; ""  for anything else."""
    attribute = walked(iterable, ordered=True)
    of_self = attribute is not None and attribute.base == f.Name(leave.parameters[0].name, _pos(attribute.base))
    return attribute.attr if attribute is not None and of_self else ""


def _pos(expr: f.Expr) -> f.Pos:
    return position(expr) or (0, 0, 0, 0)


def _issues(term: object) -> bool:
    return type(term) is Event or (type(term) is CallTerm and (bool(term.summary.events) or term.summary.busy))


def _loops_with_events(trace: Trace, known: set[f.Pos | None]) -> list[f.Pos]:
    """The outermost loops that issue something, of those that stand in the method itself."""
    found: list[f.Pos] = []
    for term in trace:
        if type(term) is Loop and term.pos in known:
            found += [term.pos] if _issues_outside((*term.body,), set()) else []
        elif type(term) in (Choice, Loop):
            found += _loops_with_events(parts(term), known)
    return found


def _issues_outside(trace: Trace, known: set[f.Pos | None]) -> bool:
    """Whether something is issued outside these loops."""
    for term in trace:
        if type(term) is Loop and term.pos in known:
            continue
        if _issues(term) or _issues_outside(parts(term), known):
            return True
    return False


def _givers(frame: Frame, info: ClassInfo, leave: FunctionInfo, name: str) -> frozenset[str] | None:
    """The methods that put something into an attribute; None if it is not empty to begin with."""
    found: set[str] = set()
    begins_empty = False
    for known in frame.analysis.names.mro(info):
        for method in known.methods.values():
            if method is leave or not method.parameters:
                continue
            for value in _put(method, name):
                if is_empty(value):
                    begins_empty = begins_empty or method.name in _BEGINNINGS
                else:
                    found.add(method.name)
    return frozenset(found) if begins_empty and not found & _BEGINNINGS else None


def _put(method: FunctionInfo, name: str) -> list[f.Expr | None]:
    """What a method sets an attribute to; None for what it puts into it."""
    own = method.parameters[0].name

    def is_it(expr: f.Expr) -> bool:
        return type(expr) is f.Attr and expr.attr == name and type(expr.base) is f.Name and expr.base.id == own

    out: list[f.Expr | None] = []
    for node in walk(method.body):
        if type(node) is f.Assign:
            out += [node.value for t in node.targets if is_it(t)]
            out += [None for t in node.targets if type(t) is f.Subscript and is_it(t.base)]
        elif type(node) is f.AugAssign and (
            is_it(node.target) or (type(node.target) is f.Subscript and is_it(node.target.base))
        ):
            out.append(None)
        elif type(node) is f.Call and type(node.func) is f.Attr and node.func.attr in {*FILLS, "setdefault"}:
            base = node.func.base
            if is_it(base) or (type(base) is f.Subscript and is_it(base.base)):
                out.append(None)
    return out


def _called_on(body: f.Body, name: str) -> frozenset[str] | None:
    """The methods that a block calls of an object; None if it hands the object on."""
    called: list[str] = []
    uses = 0
    for node in walk(body):
        uses += type(node) is f.Name and node.id == name
        if type(node) is f.Call and type(node.func) is f.Attr and type(node.func.base) is f.Name:
            called += [node.func.attr] if node.func.base.id == name else []
    return frozenset(called) if uses == len(called) else None
