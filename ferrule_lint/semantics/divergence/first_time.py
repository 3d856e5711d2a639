"""`best is None or loss < best`: a test whose first term lets the first round in, as there is nothing to compare yet.

That is no setting: from the second round on the comparison alone decides, on every rank by itself.
"""

from __future__ import annotations

import re

from ferrule_lint.semantics.domain.conditions import Connective
from ferrule_lint.semantics.domain.trace import Choice

_TESTS = re.compile(r"(?P<place>[\w.]+) is None or (?P<other>.+)|(?P<first>.+) or (?P<last>[\w.]+) is None")


def lets_the_first_in(choice: Choice) -> bool:
    """Whether a choice asks whether something is still None, or else compares it."""
    found = _TESTS.fullmatch(choice.text)
    if found is None or type(choice.formula) is not Connective or len(choice.formula.operands) != 2:
        return False
    place, other = found["place"] or found["last"], found["other"] or found["first"]
    return re.search(rf"[<>]=? {re.escape(place)}$|^{re.escape(place)} [<>]", other) is not None
