"""Rounds of a loop that run the same modules whichever item is next: `for k in names: self.encode(texts[k])`.

What such a forward gathers are parameters, so that the order of the items matters to nobody. It does where the item
chooses the module, or whether it runs, and where something else than parameters is exchanged.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.conditions import deps_of, divergence_of
from ferrule_lint.semantics.domain.text import last_name, place_name, render, variables
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Event, Exit, Loop, Term, Trace, every_term

if TYPE_CHECKING:
    from collections.abc import Iterable

_DEEPEST = 6


def in_any_order(trace: Trace, s: f.For) -> bool:
    """Whether all that the rounds of a loop issue are forwards of modules that its items have no part in choosing."""
    return _alike(trace, s.body, variables(s.target), 0)


def _alike(trace: Trace, body: f.Body, given: Iterable[str], depth: int) -> bool:
    """The same for a body that is given something else in each round, under these names."""
    if depth > _DEEPEST:
        return False
    differing = _made_of(body, set(given))
    if any(_chooses(node, differing) for node in walk(body)):
        return False
    for term in every_term(trace):
        if type(term) is Choice:
            # what an item decides need not be seen in the test: in the loop itself, no test at all
            if _issues(term) and (not depth or deps_of(term.formula) or divergence_of(term.formula) is not None):
                return False
        elif type(term) is Loop:
            counted = depth or _is_all_there_is(term, trace)
            if _issues(term) and (not counted or term.deps or term.trip is not None or term.order is not None):
                return False
        elif type(term) is Exit:
            if not depth and term.kind != "continue":
                return False
        elif not _same_for_all(term, body, differing, depth):
            return False
    return True


def _is_all_there_is(loop: Loop, trace: Trace) -> bool:
    """Whether a round issues nothing but the rounds of a loop in it: of those there are as many in the end, whichever
    item has how many."""
    return [term for term in trace if _issues(term)] == [loop]


def _same_for_all(term: Term, body: f.Body, differing: set[str], depth: int) -> bool:
    if type(term) is not Event and (type(term) is not CallTerm or not term.summary.events):
        return True
    call = next((node for node in walk(body) if type(node) is f.Call and node.pos == term.pos), None)
    if call is None or _mentions(call.func, differing):
        return False
    if type(term) is Event:
        return term.hidden and term.op == "forward"
    assert type(term) is CallTerm
    function = term.summary.function
    if function is None or term.summary.busy:
        return False
    own = function.parameters[:1] if function.owner is not None and not function.is_static else ()
    given = [p.name for p in function.parameters if p not in own]
    return _alike(term.summary.trace, function.body, given, depth + 1)


def _chooses(node: object, differing: set[str]) -> bool:
    """`self.model.set_adapter(k)`: what comes behind it may run other modules."""
    if type(node) is not f.Call or not _CHOOSES.match(last_name(node.func)):
        return False
    return any(_mentions(given, differing) for given in (*node.args, *(v for _, v in node.keywords)))


_CHOOSES = re.compile(r"_*(set|use|select|switch|enable|disable|activate|load_adapter|load_state_dict)(_|$)")


def _issues(term: Term) -> bool:
    return any(
        type(part) is Event or (type(part) is CallTerm and bool(part.summary.events)) for part in every_term((term,))
    )


def _made_of(body: f.Body, names: set[str]) -> set[str]:
    """These names, and the places that are made of what they hold."""
    known = set(names)
    while True:
        found = {
            place
            for node in walk(body)
            for target, source in _bindings(node)
            if _mentions(source, known)
            for place in _places(target)
        }
        if found <= known:
            return known
        known |= found


def _bindings(node: object) -> list[tuple[f.Expr, f.Expr]]:
    if type(node) is f.Assign and node.value is not None:
        return [(target, node.value) for target in node.targets]
    if type(node) is f.For or type(node) is f.Generator:
        return [(node.target, node.iterable)]
    if type(node) is f.Walrus:
        return [(f.Name(node.name, (0, 0, 0, 0)), node.value)]
    if type(node) is f.AugAssign:
        return [(node.target, node.value)]
    if type(node) is f.With:
        return [(target, source) for source, target in node.items if target is not None]
    return []


def _places(target: f.Expr) -> list[str]:
    if type(target) is f.Sequence:
        return [place for element in target.elements for place in _places(element)]
    if type(target) is f.Starred:
        return _places(target.value)
    name = place_name(target.base) if type(target) is f.Subscript else place_name(target)
    return [name] if name else []


def _mentions(expr: f.Expr, places: set[str]) -> bool:
    return any(
        (type(node) is f.Name or type(node) is f.Attr or type(node) is f.Subscript) and render(node) in places
        for node in walk(expr)
    )
