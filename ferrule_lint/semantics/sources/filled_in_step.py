"""Lists that all ranks fill alike: an item in each round of loops of which they go through as many rounds.

So it is with rounds in each of which the ranks meet (`barrier(); times.append(...)`), or they would wait there, and
with those of a loop over a data loader, of which all ranks have as many (see docs/limits.md): a rank that has put
nothing into `losses` there has had no batch, as all others. Batches that are drawn by hand
(`found.append(next(batches))`) are as many, too, and so is what is made of each item of such a list.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.plain import plain
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.data import loaders
from ferrule_lint.semantics.domain.assigned import by_place
from ferrule_lint.semantics.domain.lattice import rounds_of
from ferrule_lint.semantics.domain.text import last_name, variables
from ferrule_lint.semantics.project.entities import External

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: methods that put something into a list, set or dict
PUTS = frozenset("append extend add update insert appendleft setdefault".split())


#: functions that walk as many items as they are given
_WALKS = frozenset("enumerate zip sorted reversed list tuple tqdm iter".split())


def is_filled(frame: Frame, function: FunctionInfo, name: str, seen: frozenset[str] = frozenset()) -> bool:
    """Whether all that puts something into a list stands in such loops."""
    bodies = frame.analysis.bodies
    puts = bodies.once(_puts, function.body).get(name, [])
    seen |= {name}
    if not puts:
        made = bodies.given(function.body, name)
        return len(made) == 1 and _has_an_item_each(frame, function, made[0], seen)
    loops = bodies.once(_loops, function.body).get(name, [])
    met = [s.body for s in loops if any(_meets(frame, inner) for inner in plain(s.body))]
    inside: set[int] = {id(node) for body in met for node in walk(body) if _puts_into(node, name)}
    for s in loops:
        if type(s) is f.For and (_is_dealt_evenly(frame, s) or _walks_filled(frame, function, s.iterable, seen)):
            inside.update(id(inner.value) for inner in _in_each_round(frame, s) if _puts_into(inner.value, name))
    return all(id(put) in inside or _is_drawn(frame, put) for put in puts)


def _puts(body: f.Body) -> dict[str, list[object]]:
    """The calls and statements of a body that put something into a variable, by its name."""
    return by_place((name, node) for node in walk(body) if (name := _put_into(node)))


def _loops(body: f.Body) -> dict[str, list[f.For | f.While]]:
    """The loops of a body in which something is put into a variable, by its name."""
    loops = [s for s in statements(body) if type(s) is f.For or type(s) is f.While]
    return by_place((name, s) for s in loops for name in {_put_into(node) for node in walk(s.body)} - {""})


def _has_an_item_each(frame: Frame, function: FunctionInfo, value: f.Expr, seen: frozenset[str]) -> bool:
    """Whether a list is made of each item of one that is filled so: `[score(row) for row in rows]`."""
    if type(value) is not f.Comprehension or len(value.generators) != 1 or value.generators[0].conditions:
        return False
    return _walks_filled(frame, function, value.generators[0].iterable, seen)


def _walks_filled(frame: Frame, function: FunctionInfo, walked: f.Expr, seen: frozenset[str]) -> bool:
    """Whether something walks lists that are filled so, and begun empty or made of others that are."""
    if type(walked) is f.Call and walked.args and last_name(walked.func) in _WALKS:
        several = walked.args if last_name(walked.func) == "zip" else walked.args[:1]
        return all(_walks_filled(frame, function, argument, seen) for argument in several)
    if type(walked) is not f.Name or walked.id in seen:
        return False
    made = [v for v in frame.analysis.bodies.given(function.body, walked.id) if not _is_empty(v)]
    if any(not _has_an_item_each(frame, function, value, seen | {walked.id}) for value in made):
        return False
    return is_filled(frame, function, walked.id, seen)


def _is_empty(value: f.Expr) -> bool:
    if type(value) is f.Call:
        return last_name(value.func) == "list" and not value.args
    return type(value) is f.Sequence and not value.elements


def _put_into(node: object) -> str:
    """The variable that something is put into, or ""."""
    if type(node) is f.AugAssign:
        return node.target.id if type(node.target) is f.Name else ""
    if type(node) is not f.Call or type(node.func) is not f.Attr or node.func.attr not in PUTS:
        return ""
    return node.func.base.id if type(node.func.base) is f.Name else ""


def _puts_into(node: object, name: str) -> bool:
    return _put_into(node) == name


def _is_drawn(frame: Frame, put: object) -> bool:
    """Whether what is put into a list is the next of an iterator, of which nothing says that it ends earlier on some
    ranks."""
    given = put.value if type(put) is f.AugAssign else put.args[0] if type(put) is f.Call and put.args else None
    one = given.elements[0] if type(given) is f.Sequence and len(given.elements) == 1 else given
    if type(one) is not f.Call or type(one.func) is not f.Name or one.func.id != "next" or len(one.args) != 1:
        return False
    with frame.recording():
        return rounds_of(frame.eval(one.args[0])) is None


def _meets(frame: Frame, statement: f.Stmt) -> bool:
    """Whether a statement is a collective that says so."""
    if type(statement) is not f.ExprStmt or type(statement.value) is not f.Call:
        return False
    entity = frame.analysis.names.resolve(statement.value.func, frame.module)
    model = frame.models.call(entity.dotted) if isinstance(entity, External) else None
    return model is not None and model.event is not None and not model.hidden


def _is_dealt_evenly(frame: Frame, loop: f.For) -> bool:
    """Whether a loop walks a data loader, of which nothing says that it is shorter on some ranks."""
    walked = list(_behind_bars(frame, loop.iterable))
    if not all(loaders.is_loader(frame, e) and not loaders.holds_several(frame, e) for e in walked):
        return False
    with frame.recording():
        return rounds_of(frame.eval(loop.iterable)) is None


def _behind_bars(frame: Frame, walked: f.Expr) -> Iterator[f.Expr]:
    """What is walked, and what a bar shows the progress of: `bar = tqdm(loader) if is_main else loader`."""
    whole = walked.args[0] if type(walked) is f.Call and walked.args and last_name(walked.func) in _WALKS else walked
    made: list[f.Expr] = []
    if type(whole) is f.Name and frame.function is not None:
        made = frame.analysis.bodies.given(frame.function.body, whole.id)
    if loaders.is_loader(frame, walked) or not made:
        yield walked
        return
    for value in made:
        yield from (value.body, value.orelse) if type(value) is f.IfExp else (value,)


def _in_each_round(frame: Frame, loop: f.For) -> Iterator[f.ExprStmt]:
    """The calls that each round comes to, whatever its batch holds; a round that a count of rounds ends is none."""
    own = variables(loop.target)
    for node in walk(loop.body):
        if type(node) is f.Assign:
            own |= {name for target in node.targets for name in variables(target)}
    for statement in _flat(frame, loop.body, own):
        if type(statement) is f.ExprStmt:
            yield statement
        leaves = any(type(n) in (f.Break, f.Continue, f.Return) for n in walk(statement))
        if leaves and not _is_count(statement, own):
            return


def _is_count(statement: f.Stmt, own: set[str]) -> bool:
    """`if rounds >= most: break`: a test of nothing that the round has set or drawn."""
    if type(statement) is not f.If or type(statement.test) is not f.Compare:
        return False
    asked = variables(statement.test)
    ends = type(statement.body[-1]) is f.Break and not any(type(n) is f.Call for n in walk(statement.test))
    return ends and own.isdisjoint(asked)


def _flat(frame: Frame, body: f.Body, own: set[str]) -> Iterator[f.Stmt]:
    """The statements of a body, those of `with` blocks in it, those of the other arm of a count of rounds, and what is
    done where a model has some output."""
    for statement in body:
        if type(statement) is f.With:
            yield from _flat(frame, statement.body, own)
        elif type(statement) is f.If and statement.orelse and _is_count(statement, own):
            yield statement._replace(orelse=())
            yield from _flat(frame, statement.orelse, own)
        elif type(statement) is f.If and not statement.orelse and _asks_for_outputs(frame, statement.test):
            yield from _flat(frame, statement.body, own)
        else:
            yield statement


def _asks_for_outputs(frame: Frame, test: f.Expr) -> bool:
    """`if result.values is not None and targets is not None:`, which is up to the model and its settings: none of these
    is called after an input that a batch may lack."""
    if type(test) is f.BoolOp and test.op == "and":
        return all(_asks_for_outputs(frame, value) for value in test.values)
    if type(test) is not f.Compare or test.ops != ("is not",) or test.rights != (f.Const("None"),):
        return False
    name = last_name(test.left)
    return type(test.left) in (f.Name, f.Attr) and frame.models.convention("optional", name) is None


def is_collected(function: FunctionInfo, place: str) -> bool:
    """Whether another method of the class than its constructor puts something into a list of its instances; what only
    the constructor sets is a setting."""
    owner = function.module.classes.get(function.owner or "")
    own, _, attribute = place.partition(".")
    if owner is None or not function.parameters or function.parameters[0].name != own:
        return False
    methods = [m for m in owner.methods.values() if m.name not in ("__init__", "setup", "build") and m is not function]
    return any(_collects(node, attribute) for m in methods for node in walk(m.body))


def _collects(node: object, attribute: str) -> bool:
    if type(node) is f.Call:
        func = node.func
        return type(func) is f.Attr and func.attr in PUTS and last_name(func.base) == attribute
    if type(node) is f.AugAssign:
        return type(node.target) is f.Attr and node.target.attr == attribute
    targets = node.targets if type(node) is f.Assign else ()
    return any(type(t) is f.Subscript and last_name(t.base) == attribute for t in targets)
