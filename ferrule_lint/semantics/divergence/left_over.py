"""Ways out for ranks that no arm of a chain is meant for: `if node == 0: ...`, `elif node == 1: ...`, `elif node == 2:
...`, `else: return None`.

Who writes out an arm for each number, one after the other, has as many ranks; the last `else` is for a job that is
larger, which there is not.
"""

from __future__ import annotations

import re

from ferrule_lint.semantics.divergence.reach import way_to
from ferrule_lint.semantics.domain.conditions import Atom, Formula, implied
from ferrule_lint.semantics.domain.trace import Choice, Exit, Trace, has_exit
from ferrule_lint.semantics.sources import first_rank

_NUMBER = re.compile(r"(?P<place>.+) == (?P<number>\d+)")
#: two of which one leaves are a pair that has something to do among others
_FEWEST = 3


def leave(root: Trace, choice: Choice) -> bool:
    """Whether those who leave in a choice are the ranks that the chain which it is part of has no arm for."""
    way = way_to(root, choice) or ()
    place, numbers = "", list[int]()
    link: Choice | None = choice
    while link is not None:
        asked = _NUMBER.fullmatch(link.formula.key) if type(link.formula) is Atom else None
        first = type(link.formula) is Atom and first_rank.is_test(link.formula.key)
        if (asked is None and not first) or has_exit(link.body) or (asked and place not in ("", asked["place"])):
            return False
        place = asked["place"] if asked else place
        numbers.append(int(asked["number"]) if asked else 0)
        later = [term for term in link.orelse if type(term) is Choice and has_exit((term,))]
        link = later[0] if len(later) == 1 and not any(type(term) is Exit for term in link.orelse) else None
    if numbers != list(range(numbers[0], numbers[-1] + 1)) or numbers[-1] + 1 < _FEWEST:
        return False
    return all(_is_ruled_out(way, place, number) for number in range(numbers[0]))


def _is_ruled_out(way: tuple[Formula, ...], place: str, number: int) -> bool:
    """Whether what has been asked on a way says that it is not a rank with this number."""
    told = {key: outcome for formula in way for key, outcome in implied(formula, True).items()}
    if told.get(f"{place} == {number}") is False:
        return True
    return number == 0 and any(outcome is False and first_rank.is_test(key) for key, outcome in told.items())
