"""Methods that leave a part of their calls to the inherited one: `if images is None: return super().forward(x)`.

Such a method is mostly the inherited one written out again, with a step more. How often either issues something is
then no difference that anybody could be sure of: they are compared by what they issue at all.
"""

from __future__ import annotations

from collections.abc import Iterable

from ferrule_lint.semantics.domain.axes import Axes
from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Event, Exit, Term, Trace, every_term


def is_version_of_inherited(root: Trace, choice: Choice, function: str) -> bool:
    """Whether an arm hands over to a method of the same name, and what is left of this one issues the same kinds of
    events. `function`: the method, with its class."""
    for arm in (choice.body, choice.orelse):
        calls = [term for term in arm if type(term) is CallTerm]
        left = [term for term in arm if type(term) is not CallTerm]
        if len(calls) != 1 or not left or any(type(term) is not Exit or term.kind != "return" for term in left):
            continue
        inherited = calls[0].summary.function
        if inherited is None or inherited.owner is None or not function.endswith(f".{inherited.name}"):
            continue
        own = [term for term in every_term(root) if term is not calls[0]]
        issued = _kinds(calls)
        return inherited.display != function and bool(issued) and issued == _kinds(own)
    return False


def _kinds(terms: Iterable[Term]) -> set[tuple[str, Axes]]:
    found: set[tuple[str, Axes]] = set()
    for term in terms:
        events = (term,) if type(term) is Event else term.summary.events if type(term) is CallTerm else ()
        found |= {(event.op, event.axes) for event in events}
    return found
