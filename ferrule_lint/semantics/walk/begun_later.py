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
from ferrule_lint.facts.walk import blocks, nodes
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.domain.trace import CallTerm, Loop, Term

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.lattice import Value
    from ferrule_lint.semantics.walk.frame import Frame


def made(frame: Frame, s: f.Assign) -> Value:
    """The value of what is assigned; of a generator under a name that is read later, the terms wait."""
    assert s.value is not None
    body = frame.module.body if frame.function is None else frame.function.body
    target = s.targets[0] if len(s.targets) == 1 else None
    if frame.light or type(target) is not f.Name or not _may_wait(s.value):
        return frame.eval(s.value)
    with frame.recording() as terms:
        value = frame.eval(s.value)
    waiting = _waiting(frame, terms, s.value)
    places = _begun_at(frame, body, target.id) if waiting else frozenset()
    for term in terms:
        if not places or term not in waiting:
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


def _is_last(frame: Frame, term: Term) -> bool:
    """Whether it has just been issued: some places are evaluated twice."""
    last = frame.terms[-1] if frame.terms else None
    if type(last) is CallTerm and type(term) is CallTerm:
        return last.summary is term.summary and last.pos == term.pos
    return last is term


#: what goes through what it is given only as it is gone through itself
_LAZY = frozenset("enumerate zip iter reversed map filter starmap chain islice takewhile dropwhile tqdm".split())
_THREADS = frozenset({"Thread", "Timer"})


def _may_wait(value: f.Expr) -> bool:
    return type(value) is f.Call or (type(value) is f.Comprehension and value.kind == "generator")


def _waiting(frame: Frame, terms: list[Term], value: f.Expr) -> list[Term]:
    """Those of the terms of an expression that wait until it is gone through."""
    if type(value) is f.Comprehension:
        return [term for term in terms if type(term) is Loop]
    if type(value) is f.Call and last_name(value.func) in _THREADS:
        return terms
    issued = {term.pos: term for term in terms if type(term) is Loop or type(term) is CallTerm}
    found: list[Term] = []
    asked: list[f.Expr] = [value] if issued else []
    while asked:
        e = asked.pop()
        if type(e) is f.Call and (last_name(e.func) in _LAZY or _generates(frame, e)):
            found += [issued[e.pos]] if e.pos in issued else []
            asked += [*e.args, *(v for _, v in e.keywords)]
    return found


def _generates(frame: Frame, call: f.Call) -> bool:
    """Whether a call makes a generator; a coroutine counts where it is called, since facts do not keep `await`."""
    target = frame.ask(call.func).target
    return type(target) is FunctionTarget and target.function.is_generator


def _begun_at(frame: Frame, body: f.Body, name: str) -> frozenset[f.Pos]:
    if len(frame.analysis.bodies.assigning(body, name)) != 1:
        return frozenset()
    return frame.analysis.bodies.once(_first_reads, body, name)


def _first_reads(body: f.Body, name: str) -> frozenset[f.Pos]:
    """The places of a body at which a name may be read for the first time."""
    found: set[f.Pos] = set()
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
        read_here = sorted(n.pos for n in own if n.pos is not None and all(n is not t for t in targets))
        if read_here and not begun:
            found.add(read_here[0])
            begun = True
        ends = [_scan(block, name, begun, found) for block in inner]
        if type(s) is f.If:
            begun = begun or all(ends)
        elif ends and type(s) in (f.With, f.Try):
            begun = begun or ends[0]
    return begun
