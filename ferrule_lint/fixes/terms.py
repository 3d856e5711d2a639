"""What a term of a condition asks, also where a local name keeps the answer: `is_main = rank == 0`, `if is_main:`."""

from __future__ import annotations

import libcst as cst

from ferrule_lint.fixes import tests
from ferrule_lint.fixes.flags import resolved
from ferrule_lint.fixes.site import conjuncts
from ferrule_lint.fixes.tests import Asks
from ferrule_lint.fixes.tree import Tree


def asks(tree: Tree, term: cst.BaseExpression) -> Asks:
    """What a term asks; of a name that is assigned a test once, what that test asks, if all its terms ask the same."""
    written = tests.asks(tree, term)
    if written != "truth":
        return written
    test = resolved(tree, term)
    if test is term:
        return written
    answers = {tests.asks(tree, part) for part in conjuncts(test)}
    return answers.pop() if len(answers) == 1 else written
