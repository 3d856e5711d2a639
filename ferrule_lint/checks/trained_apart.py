"""Backward passes that only some ranks run: what one rank trains on purpose is mostly a module of its own."""

from __future__ import annotations

from ferrule_lint.semantics.control import end_of_data
from ferrule_lint.semantics.divergence.compare import Difference
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.trace import Choice, Loop, Trace, choices_and_loops, ends, every_term


def is_guess(root: Trace, choice: Choice, divergence: Divergence, found: Difference, has_setting: bool) -> bool:
    """Whether all that differs by the rank are backward passes of modules that nothing wraps here, and nothing says
    that the ranks which leave have run them, too. `has_setting`: the test asks for more than the rank."""
    if not all(o.event.op == "backward" and not o.event.wrapped for o in found.occurrences):
        return False
    return not (found.after_exit and (end_of_data.ends(divergence) or _all_had(root, choice, found, has_setting)))


def _all_had(root: Trace, choice: Choice, found: Difference, has_setting: bool) -> bool:
    """Whether all ranks have run what some leave: it stands before their way out, or behind it in the same loop, which
    they leave in some of its rounds only (`if rank == 0: if waited > patience: break`)."""
    places = [o.call or o.event for o in found.occurrences]
    if all(place.path == choice.path and place.pos < choice.pos for place in places):
        return True
    if not has_setting and (ends(choice.body) or ends(choice.orelse)):
        return False
    for loop in choices_and_loops(root):
        if type(loop) is not Loop:
            continue
        terms = {id(term) for term in every_term(loop.body)}
        if id(choice) in terms and all(id(place) in terms for place in places):
            return True
    return False
