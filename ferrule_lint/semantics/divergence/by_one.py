"""Tests that one rank alone makes, apart from the same tests where all ranks come to them.

```python
if rank == 0:
    if source is None:
        return
    x = source.clone()
broadcast(x, src=0)
if source is None: ...
```

What the one rank does by its own answer is told of the test that lets it in. Where all ranks ask the same further down,
and answer differently because only the one was given anything, the others have made no such test above.
"""

from __future__ import annotations

from collections.abc import Collection

from ferrule_lint.semantics.domain.conditions import Formula, atoms, with_atoms
from ferrule_lint.semantics.domain.trace import Attempt, Choice, Loop, Term, Trace, choices_and_loops

_BY_ONE = "@one:"


def told_apart(trace: Trace, choice: Choice, keys: Collection[str], of_one: Collection[int]) -> tuple[Trace, Choice]:
    """A trace in which the tests of `of_one`, choices by their ids, are others than those of `keys`; and where a choice
    of it is there."""
    asked = [
        o
        for o in choices_and_loops(trace)
        if type(o) is Choice and id(o) in of_one and any(a.key in keys for a in atoms(o.formula))
    ]
    if not asked:
        return trace, choice
    number = [id(o) for o in choices_and_loops(trace)].index(id(choice))
    apart = _rebuilt(trace, keys, frozenset(id(o) for o in asked))
    found = list(choices_and_loops(apart))[number]
    assert type(found) is Choice
    return apart, found


def _rebuilt(trace: Trace, keys: Collection[str], of_one: frozenset[int]) -> Trace:
    out: list[Term] = []
    for term in trace:
        if type(term) is Choice:
            formula = _renamed(term.formula, keys) if id(term) in of_one else term.formula
            body, orelse = (_rebuilt(arm, keys, of_one) for arm in (term.body, term.orelse))
            out.append(term._replace(formula=formula, body=body, orelse=orelse))
        elif type(term) is Loop:
            out.append(term._replace(body=_rebuilt(term.body, keys, of_one)))
        elif type(term) is Attempt:
            handlers = tuple((line, _rebuilt(handler, keys, of_one)) for line, handler in term.handlers)
            out.append(Attempt(_rebuilt(term.body, keys, of_one), handlers))
        else:
            out.append(term)
    return tuple(out)


def _renamed(formula: Formula, keys: Collection[str]) -> Formula:
    return with_atoms(formula, lambda atom: atom._replace(key=_BY_ONE + atom.key) if atom.key in keys else atom)
