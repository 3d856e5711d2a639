"""Generators and the like that are kept by a name: what they issue is issued where they are gone through.

`weights = gather_weights(model)`, then `if rank == 0: for name, weight in weights: ...`: the others have made the same
generator, and it has not begun. So the terms of its call wait until the name is read for the first time; what reads it
is taken to go through it. So it is with context managers, `map` and threads. Of a name that is assigned again, or that
nobody reads in this body, the call counts, and of what takes a generator at once (`list(gather(model))`).
https://docs.python.org/3/reference/expressions.html#generator-iterators
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import blocks, nodes, statements, under_tests
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls.callbacks import RUNS
from ferrule_lint.semantics.domain.conditions import Atom, divergence_of
from ferrule_lint.semantics.domain.dependences import NO_DEPS, NOTHING
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.domain.text import last_name, shown
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Exit, Loop, Term
from ferrule_lint.semantics.project.options import passed
from ferrule_lint.semantics.walk.predicates import condition

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.lattice import Divergence, Value
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame


def made(frame: Frame, s: f.Assign) -> Value:
    """The value of what is assigned; of a generator under a name that is read later, the terms wait."""
    assert s.value is not None
    target = s.targets[0] if len(s.targets) == 1 else None
    if frame.light or type(target) is not f.Name or not _may_wait(s.value):
        return frame.eval(s.value)
    with frame.recording() as terms:
        value = frame.eval(s.value)
    waiting = _waiting(frame, terms, s.value)
    places = _begun_at(frame, target.id) if waiting else frozenset()
    for term in _but(terms, waiting) if places else terms:
        frame.emit(term)
    if places:
        frame.unbegun[target.id] = (tuple(waiting), places)
    return value


def read(frame: Frame, e: f.Name) -> None:
    """Issue what waits for this place."""
    known = frame.unbegun.get(e.id)
    if known is None or e.pos not in known[1]:
        return
    for term in known[0]:
        term = term._replace(pos=e.pos) if type(term) is CallTerm else term
        if not _is_last(frame, term):
            frame.emit(term)


def handed_over(frame: Frame, call: f.Call, function: Value, before: int) -> None:
    """A function that is handed a generator, and goes through it under a test of the rank: so much of what has been
    issued since `before`, while the arguments were evaluated, stands under that test."""
    target = function.target
    if frame.light or type(target) is not FunctionTarget or target.function.is_generator:
        return
    for name in [p.name for p in target.function.parameters]:
        arg = passed(call, target.function, target.receiver is not None, name)
        issued = frame.terms[before:]
        if type(arg) is f.Name and arg.id in frame.unbegun:
            waiting: list[Term] = [term for term in issued if type(term) is CallTerm and term.pos == arg.pos]
        else:
            waiting = _waiting(frame, issued, arg) if type(arg) is f.Call else []
        found = _test_around(frame, target.function, name) if waiting else None
        if found is not None:
            test, divergence = found
            key = f"who goes through {name} of {target.function.id}"
            why = divergence.then(frame.step("call", call.pos, f"handed to `{target.function.display}`"))
            choice = Choice(Atom(key, why, NO_DEPS), tuple(waiting), (), frame.module.path, call.pos, shown(test), "if")
            frame.terms[before:] = [*_but(issued, waiting), choice]


def _but(terms: list[Term], waiting: list[Term]) -> list[Term]:
    waits = {id(term) for term in waiting}
    return [term for term in terms if id(term) not in waits]


def _test_around(frame: Frame, function: FunctionInfo, name: str) -> tuple[f.Expr, Divergence] | None:
    """The test of the rank under which a function reads a parameter, if it reads it nowhere else."""
    places = frame.analysis.bodies.once(_first_reads, function.body, name)
    if len(places) != 1 or frame.function is function:
        return None
    around: tuple[f.Expr, ...] = ()
    for s, tests in under_tests(function.body):
        if any(n.pos in places and n.id == name for n in nodes(s, f.Name)):
            around = tests
    if not around:
        return None
    by = frame.analysis.caller(function.module, function, _LAYER)
    for test in around:
        with by.aside():
            divergence = divergence_of(condition(by, test)[0])
        if divergence is not None and divergence.kind == "rank" and divergence.confidence is not Confidence.LOW:
            return test, divergence
    return None


def _is_last(frame: Frame, term: Term) -> bool:
    """Whether it has just been issued: some places are evaluated twice."""
    last = frame.terms[-1] if frame.terms else None
    if type(last) is CallTerm and type(term) is CallTerm:
        return last.summary is term.summary and last.pos == term.pos
    return last is term


#: what goes through what it is given only as it is gone through itself
_LAZY = frozenset("enumerate zip iter reversed map filter starmap chain islice takewhile dropwhile tqdm".split())
#: callers are gone through for values
_LAYER = 1


def _may_wait(value: f.Expr | None) -> bool:
    return type(value) is f.Call or (type(value) is f.Comprehension and value.kind == "generator")


def _waiting(frame: Frame, terms: list[Term], value: f.Expr) -> list[Term]:
    """Those of the terms of an expression that wait until it is gone through."""
    if type(value) is f.Comprehension:
        return [term for term in terms if type(term) is Loop]
    if type(value) is f.Call and last_name(value.func) in RUNS:
        return terms
    issued = {term.pos: term for term in terms if type(term) is Loop or type(term) is CallTerm}
    found: list[Term] = []
    asked: list[f.Expr] = [value] if issued else []
    while asked:
        e = asked.pop()
        term = issued.get(e.pos) if type(e) is f.Call else None
        if type(e) is f.Call and (last_name(e.func) in _LAZY or _generates(frame, e) or _hands_on(term)):
            # `iter(loader)` where that does something at once, and hands back another object, has begun
            begun = last_name(e.func) == "iter" and type(term) is CallTerm and not _is_of_generator(term)
            found += [term] if term is not None and not begun else []
            asked += [*e.args, *(v for _, v in e.keywords)]
    return found


def _is_of_generator(term: CallTerm) -> bool:
    return term.summary.function is not None and term.summary.function.is_generator


def _generates(frame: Frame, call: f.Call) -> bool:
    """Whether a call makes a generator; a coroutine counts where it is called, since facts do not keep `await`."""
    target = frame.ask(call.func).target
    return type(target) is FunctionTarget and target.function.is_generator


def _hands_on(term: Term | None) -> bool:
    """Whether all that a function issues is what the generator issues that it hands back: `return self.weights()`."""
    function = term.summary.function if type(term) is CallTerm else None
    if type(term) is not CallTerm or function is None:
        return False
    returned = [s.value for s in statements(function.body) if type(s) is f.Return]
    issued = [inner for inner in term.summary.trace if type(inner) is not Exit]
    if len(returned) != 1 or len(issued) != 1 or not _may_wait(returned[0]):
        return False
    (inner,) = issued
    if type(inner) is CallTerm and type(returned[0]) is f.Call:
        return _is_of_generator(inner) and inner.pos == returned[0].pos
    return type(inner) is Loop and type(returned[0]) is f.Comprehension


def _begun_at(frame: Frame, name: str) -> frozenset[f.Pos]:
    body = frame.module.body if frame.function is None else frame.function.body
    if len(frame.analysis.bodies.assigning(body, name)) != 1:
        return frozenset()
    return frame.analysis.bodies.once(_first_reads, body, name)


def _first_reads(body: f.Body, name: str) -> frozenset[f.Pos]:
    """The places of a body at which a name may be read for the first time; none if it is given another name without
    being gone through (`bar = tqdm(weights)`), or if that hangs on another one (`bar or weights`)."""
    found: set[f.Pos] = set()
    if any(_is_left_open(s, name) for s in statements(body)):
        return NOTHING
    _scan(body, name, False, found)
    return frozenset(found)


def _scan(body: f.Body, name: str, begun: bool, found: set[f.Pos]) -> bool:
    """Whether it has been read on every way through a block; `begun`: before it."""
    for s in body:
        inner = [*blocks(s)]
        in_blocks = {id(n) for block in inner for n in nodes(block, f.Name)}
        asked = {id(n) for compare in nodes(s, f.Compare) if f.Const("None") in compare.rights for n in (compare.left,)}
        own = [n for n in nodes(s, f.Name) if n.id == name and id(n) not in in_blocks and id(n) not in asked]
        targets = s.targets if type(s) is f.Assign else ()
        read_here = sorted(n.pos for n in own if all(n is not t for t in targets))
        if read_here and not begun:
            found.update(_in_either_arm(s, name) or read_here[:1])
            begun = True
        ends = [_scan(block, name, begun, found) for block in inner]
        if type(s) is f.If:
            begun = begun or all(ends)
        elif ends and type(s) in (f.With, f.Try):
            begun = begun or ends[0]
    return begun


def _in_either_arm(s: f.Stmt, name: str) -> list[f.Pos]:
    """The first places in both arms of a conditional expression that read a name: `tqdm(items) if leads else items`."""
    for choice in nodes(s, f.IfExp):
        reads = [[n.pos for n in nodes(arm, f.Name) if n.id == name] for arm in (choice.body, choice.orelse)]
        if all(reads):
            return [min(places) for places in reads]
    return []


def _is_left_open(s: f.Stmt, name: str) -> bool:
    value = s.value if type(s) is f.Assign else None
    handed = value.args if type(value) is f.Call and last_name(value.func) in _LAZY else (value,)
    if any(type(e) is f.Name and e.id == name for e in handed):
        return True
    own = s.iterable if type(s) is f.For else value
    return any(type(e) is f.Name and e.id == name for either in nodes(own, f.BoolOp) for e in either.values)
