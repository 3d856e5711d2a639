"""Widen the guard: a stand-in that exists already runs on every rank that lacks the input, not only in one mode.

`if self.training and pixel_values is None: total += 0.0 * self.visual(zeros)` keeps the test of the input and loses the
other, so that evaluation is balanced as training is. Only for stand-ins whose result has the weight zero.
"""

from __future__ import annotations

import re

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.names import below
from ferrule_lint.fixes.site import Site, conjuncts
from ferrule_lint.fixes.terms import asks
from ferrule_lint.fixes.tree import Tree

FORM = "widen-guard"
#: a factor that is zero
_WEIGHTLESS = re.compile(r"(?<![\w.])0(\.0*)?\s*\*|\*\s*0(\.0*)?(?![\w.])")


def propose(site: Site) -> Fix | None:
    """The test of the stand-in, without what does not ask for the input."""
    owner = site.owner
    if site.finding.kind != "structure" or not isinstance(owner, cst.If):
        return None
    return _arm(site, owner) or _apart(site, owner)


def _arm(site: Site, owner: cst.If) -> Fix | None:
    """`elif self.training:` becomes `else:`."""
    tree, other = site.tree, owner.orelse
    if not isinstance(other, cst.If) or other.orelse is not None or not _stands_in(site, other):
        return None
    terms = conjuncts(other.test)
    training = [term for term in terms if tree.text(term).endswith(".training")]
    kept = [term for term in terms if term not in training]
    head, test = tree.span(other), tree.span(other.test)
    if not all(asks(tree, term) == "truth" for term in terms):
        if not training or not all(_is_setting(term) for term in kept) or test.line != test.end_line:
            return None
        return _fix([tree.text(term) for term in training], Edit(test, " and ".join(map(tree.text, kept))))
    edit = Edit(Span(head.line, head.column, test.end_line, test.end_column), "else")
    return _fix([tree.text(other.test)], edit)


def _is_setting(term: cst.BaseExpression) -> bool:
    """Whether a term compares a name with True, False or None: what the caller has asked for."""
    only = term.comparisons[0] if isinstance(term, cst.Comparison) and len(term.comparisons) == 1 else None
    constant = None if only is None else only.comparator
    named = isinstance(term, cst.Comparison) and isinstance(term.left, cst.Name | cst.Attribute)
    return named and isinstance(constant, cst.Name) and constant.value in ("True", "False", "None")


def _apart(site: Site, owner: cst.If) -> Fix | None:
    """`if self.training and x is None:` becomes `if x is None:`."""
    tree = site.tree
    inputs = _absent(tree, owner.test, present=True)
    for other in below(site.function.body):
        if not isinstance(other, cst.If) or other is owner or not _stands_in(site, other):
            continue
        terms = conjuncts(other.test)
        lacks = [term for term in terms if _absent(tree, term, present=False)]
        rest = [term for term in terms if term not in lacks]
        asked = set().union(*(_absent(tree, term, present=False) for term in lacks)) if lacks else set()
        if not rest or not inputs or not inputs <= asked or any(asks(tree, term) != "truth" for term in rest):
            continue
        span = tree.span(other.test)
        if span.line != span.end_line or other.orelse is not None:
            continue
        return _fix([tree.text(term) for term in rest], Edit(span, " and ".join(map(tree.text, lacks))))
    return None


def _absent(tree: Tree, test: cst.BaseExpression, *, present: bool) -> set[str]:
    """What the terms of a test say is there (`x is not None`), or is not (`x is None`)."""
    found = set()
    for term in conjuncts(test):
        if isinstance(term, cst.Comparison) and len(term.comparisons) == 1:
            only = term.comparisons[0]
            if isinstance(only.operator, cst.IsNot if present else cst.Is) and tree.text(only.comparator) == "None":
                found.add(tree.text(term.left))
    return found


def _stands_in(site: Site, arm: cst.If) -> bool:
    """Whether an arm calls what the finding's call calls, for nothing but the call: its result has the weight zero."""
    tree = site.tree
    wanted = tree.text(site.call.func)
    calls = [one for one in below(arm.body) if isinstance(one, cst.Call) and tree.text(one.func) == wanted]
    body = below(site.owner.body) if isinstance(site.owner, cst.If) else ()
    elsewhere = any(isinstance(one, cst.Call) and tree.text(one.func) == wanted for one in body)
    return bool(calls) and (site.call not in calls or elsewhere) and _WEIGHTLESS.search(tree.text(arm.body)) is not None


def _fix(dropped: list[str], edit: Edit) -> Fix:
    listed = " and ".join(f"`{one}`" for one in dropped)
    message = (
        f"the stand-in runs on every rank without the input, and not only if {listed};"
        " assumes that a result with the weight zero changes nothing"
    )
    return Fix(FORM, message, Safety.UNSAFE, (edit,))
