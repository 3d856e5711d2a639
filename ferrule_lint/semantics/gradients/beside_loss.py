"""Terms of a loss that its callers add to another one, which flows back to the same: `loss = ce(head(x)) + term(x)`.

A helper that finds nothing to compare may well hand back a constant: what it was given has its gradient by the other
term. So it is left alone where each caller in the project adds what it gets, and what it is added to is made of what
the helper was given, as far as the names in the caller tell.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.assigned import assignments, given
from ferrule_lint.semantics.domain.text import last_name, variables
from ferrule_lint.semantics.gradients.shared_by_callers import means
from ferrule_lint.semantics.project.options import passed

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo


def is_added_beside(analysis: Analysis, function: FunctionInfo, name: str) -> bool:
    """Whether somebody in the project calls a function, and whoever does adds what it hands back to something else that
    is made of what it gave a parameter, or of what a part of the module (`.head`) puts out."""
    found = False
    for module in analysis.names.mentioning(function.name):
        for owner, calls in module.calls():
            for call in calls:
                if owner is None or last_name(call.func) != function.name:
                    continue
                if not means(analysis, function, module, owner, call):
                    continue
                value = passed(call, function, function.owner is not None, name) if name[:1] != "." else None
                meant = _variable(owner, value) or name
                if (value is None and name[:1] != ".") or not _is_added(owner.body, call, meant):
                    return False
                found = True
    return found


def _variable(owner: FunctionInfo, value: f.Expr | None) -> str:
    """The variable that something is, or is a part of: `outputs` of `outputs.logits`, which has the loss as well, and
    of `logits` after `logits = outputs.logits`."""
    if type(value) is f.Name:
        made = [made for made, _ in assignments(owner.body, value.id)]
        value = made[0] if len(made) == 1 and type(made[0]) is f.Attr else value
    while type(value) is f.Attr or type(value) is f.Subscript:
        value = value.base
    own = owner.parameters[0].name if owner.owner is not None and owner.parameters else ""
    return value.id if type(value) is f.Name and value.id != own else ""


def _is_added(body: f.Body, call: f.Call, given_to_it: str) -> bool:
    made = {s: value for s in statements(body) for _, value in given(s) if any(n is call for n in walk(value))}
    names = {t.id for s in made if type(s) is f.Assign for t in s.targets if type(t) is f.Name and s.value is call}
    return any(
        given_to_it in _made_of(body, other, names)
        for term, other in _sums(body)
        if any(n is call or (type(n) is f.Name and n.id in names) for n in walk(term))
    )


def _sums(body: f.Body) -> Iterator[tuple[f.Expr, f.Expr]]:
    """The two sides of each addition in a body, either way round."""
    for s in statements(body):
        if type(s) is f.AugAssign and s.op == "Add":
            yield s.value, s.target
        returned = [s.value] if type(s) is f.Return else []
        for value in (*(value for _, value in given(s)), *returned):
            for node in walk(value):
                if type(node) is f.Op and node.kind == "Add" and len(node.operands) == 2:
                    yield node.operands[0], node.operands[1]
                    yield node.operands[1], node.operands[0]


def _made_of(body: f.Body, expr: f.Expr, but: set[str]) -> set[str]:
    """The variables that an expression is made of, and those that these are made of; what is called of something
    (`.head`) as well."""
    known: set[str] = set()
    waiting = _named(expr) - but
    pairs = [(variables(target), _named(value)) for s in statements(body) for target, value in given(s)]
    while waiting:
        known |= waiting
        waiting = {n for targets, values in pairs if targets & waiting for n in values} - known - but
    return known


def _named(expr: f.Expr) -> set[str]:
    called = (n.func for n in walk(expr) if type(n) is f.Call)
    return {*variables(expr), *(f".{func.attr}" for func in called if type(func) is f.Attr)}
