"""Losses of which some term is there, because what is counted beside the terms is asked to be more than nothing.

`if has_text: loss = loss + text_loss; weight += 1`, the same for other terms, and `if weight <= 0: raise ...`: who gets
further has added one of them. What all terms flow back to has a gradient on every rank, whichever term it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import every_block
from ferrule_lint.semantics.domain.dependences import NOTHING
from ferrule_lint.semantics.domain.reach import Reach
from ferrule_lint.semantics.domain.text import variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: what a number is compared with by who asks whether there is none of it
_NONE = (("<=", "0"), ("==", "0"), ("<", "1"), ("<=", "0.0"), ("==", "0.0"))


def let_hold(frame: Frame, test: f.Expr, outcome: bool) -> None:
    """Where a test comes out so, what is counted is more than nothing: so there is a term in each sum beside it."""
    counter = "" if outcome or not frame.gradients or frame.function is None else _asked_to_be_nothing(test)
    if not counter or frame.function is None:
        return
    sums: dict[str, list[f.Expr]] = {}
    alone: set[str] = set()
    for block in every_block(frame.function.body):
        added = [found for s in block if (found := _added(s)) is not None]
        counts = any(name == counter for name, _ in added)
        for name, term in added:
            if name != counter:
                sums.setdefault(name, []).append(term)
                alone.update({name} if not counts else ())
    for name, terms in sums.items():
        value = frame.env.get(name)
        if name in alone or value is None or value.reach is None or not value.reach.partly:
            continue
        common = frozenset[str].intersection(*(_flows_to(frame, name, term) for term in terms))
        sure = {p.output for p in value.reach.partly} & common
        if sure:
            partly = frozenset(p for p in value.reach.partly if p.output not in sure) or NOTHING
            frame.env[name] = value._replace(reach=Reach(value.reach.outputs | sure, partly, value.reach.at))


def _asked_to_be_nothing(test: f.Expr) -> str:
    """The `n` of `n <= 0`, `n == 0`, `not n`."""
    if type(test) is f.Not:
        return test.operand.id if type(test.operand) is f.Name else ""
    if type(test) is not f.Compare or len(test.ops) != 1 or type(test.left) is not f.Name:
        return ""
    other = test.rights[0]
    return test.left.id if type(other) is f.Const and (test.ops[0], other.text) in _NONE else ""


def _added(s: f.Stmt) -> tuple[str, f.Expr] | None:
    """The name that a statement adds something to, and what: `n += x`, `n = n + x`."""
    if type(s) is f.AugAssign and s.op == "Add" and type(s.target) is f.Name:
        return s.target.id, s.value
    if type(s) is not f.Assign or len(s.targets) != 1 or type(s.targets[0]) is not f.Name:
        return None
    name, value = s.targets[0].id, s.value
    if type(value) is not f.Op or value.kind != "Add":
        return None
    others = [o for o in value.operands if not (type(o) is f.Name and o.id == name)]
    return (name, others[0]) if len(others) == 1 and len(value.operands) == 2 else None


def _flows_to(frame: Frame, name: str, term: f.Expr) -> frozenset[str]:
    """What a term flows back to, by what its names hold."""
    return frozenset(_outputs(frame, variables(term) - {name}))


def _outputs(frame: Frame, names: set[str]) -> Iterator[str]:
    for name in names:
        value = frame.env.get(name)
        if value is not None and value.reach is not None:
            yield from value.reach.outputs
