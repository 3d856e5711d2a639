"""Reduce the trip count: a loop of collectives turns as often as the rank that needs most turns.

`while residual.item() > tolerance` goes on while some rank is above; `range(n)` goes up to the largest `n`, and so does
`range(0, n, step)`, which assumes that a turn with nothing left to do is possible.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.agreeing import agreeing
from ferrule_lint.fixes.edits import in_order
from ferrule_lint.fixes.helpers import LARGEST
from ferrule_lint.fixes.site import Site, conjuncts, in_a_callee
from ferrule_lint.fixes.terms import asks

FORM = "reduce-trip-count"


def propose(site: Site) -> Fix | None:
    """The test of a `while`, or the argument of `range`, agreed on."""
    owner = site.owner
    if site.finding.kind != "data":
        return None
    if owner is None:
        inner = in_a_callee(site)
        return _for(inner, inner.owner) if inner is not None and isinstance(inner.owner, cst.For) else None
    if isinstance(owner, cst.While) and owner.orelse is None:
        return _while(site, owner)
    if isinstance(owner, cst.For):
        return _for(site, owner)
    return None


def _while(site: Site, owner: cst.While) -> Fix | None:
    tree = site.tree
    group = site.group(owner)
    terms = conjuncts(owner.test)
    comparisons = all(isinstance(term, cst.Comparison) for term in terms)
    if group is None or not comparisons or {asks(tree, term) for term in terms} - {"value", "other"}:
        return None
    if any(isinstance(one, cst.Break) for one in tree.walk(owner.body)):
        return None
    helper = agreeing(site, "MAX", group)
    if helper is None:
        return None
    name, edits = helper
    wrap = Edit(tree.span(owner.test), f"{name}({tree.text(owner.test)}{group.text})")
    message = "the loop goes on while some rank's condition holds"
    if not group.certain:
        message += "; assumes that all ranks of the job come here"
    return Fix(FORM, message, Safety.SAFE if group.certain else Safety.UNSAFE, in_order((*edits, wrap)))


def _for(site: Site, owner: cst.For) -> Fix | None:
    tree, rounds = site.tree, owner.iter
    if not (isinstance(rounds, cst.Call) and isinstance(rounds.func, cst.Name) and rounds.func.value == "range"):
        return None
    if not 1 <= len(rounds.args) <= 3 or any(arg.star or arg.keyword is not None for arg in rounds.args):
        return None
    # whether start and step are the same on all ranks is for the analysis to say, when it verifies the fix
    count = rounds.args[min(1, len(rounds.args) - 1)].value
    if isinstance(rounds.args[-1].value, cst.UnaryOperation) and len(rounds.args) == 3:
        # counting down, the smallest end would be wanted
        return None
    group = site.group(owner)
    helper = site.module.helper("_largest", LARGEST)
    if group is None or helper is None:
        return None
    name, edits = helper
    wrap = Edit(tree.span(count), f"{name}({tree.text(count)}{group.text})")
    message = "the loop turns as often as on the rank with most turns; assumes that a turn beyond its own does no harm"
    return Fix(FORM, message, Safety.UNSAFE, in_order((*edits, wrap)))
