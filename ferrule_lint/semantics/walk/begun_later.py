"""Generators that are kept by a name: what they issue is issued where they are gone through, not where they are made.

`weights = gather_weights(model)`, then `if rank == 0: for name, weight in weights: ...`: the others have made the same
generator, and it has not begun. So the terms of its call wait until the name is read for the first time; what reads it
is taken to go through it. Of a name that is assigned again, or that nobody reads in this body, the call counts.
https://docs.python.org/3/reference/expressions.html#generator-iterators
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import blocks, nodes
from ferrule_lint.semantics.domain.trace import CallTerm, Loop, Term

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.lattice import Value
    from ferrule_lint.semantics.walk.frame import Frame


def made(frame: Frame, s: f.Assign) -> Value:
    """The value of what is assigned; of a generator under a name that is read later, the terms wait."""
    assert s.value is not None
    body = frame.module.body if frame.function is None else frame.function.body
    target = s.targets[0] if len(s.targets) == 1 else None
    if frame.light or type(target) is not f.Name or not _may_be_lazy(s.value):
        return frame.eval(s.value)
    with frame.recording() as terms:
        value = frame.eval(s.value)
    lazy = [term for term in terms if _waits(term, s.value)]
    places = _begun_at(frame, body, target.id) if lazy else frozenset()
    for term in terms:
        if not places or term not in lazy:
            frame.emit(term)
    if places:
        frame.unbegun[target.id] = (tuple(lazy), places)
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


def _may_be_lazy(value: f.Expr) -> bool:
    return type(value) is f.Call or (type(value) is f.Comprehension and value.kind == "generator")


def _waits(term: Term, value: f.Expr) -> bool:
    if type(term) is CallTerm:
        function = term.summary.function
        return function is not None and function.is_generator and not function.is_context_manager
    return type(term) is Loop and type(value) is f.Comprehension


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
