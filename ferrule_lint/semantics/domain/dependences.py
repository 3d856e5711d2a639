"""How a value depends on parameters of the function it is computed in."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

#: how a result depends on a parameter: its value flows on, its content is read, it is merely contained,
#: only whether it is there matters, or it is iterated (how many items, in which order), or only counted; or it is
#: an item of it that flows on, or all of it, with sizes that all ranks agree on
FLOWS, OBSERVED, CONTAINED, PRESENT, ITERATED = "flows", "observed", "contained", "present", "iterated"
COUNTED, ITEM = "counted", "item"
SIZED = "sized"
#: whether it, or what is in it, has any items
EMPTY = "empty"
#: it is a number that is told from zero, such as the size of something
ZERO = "zero"
#: it may be a mask or positions by which items are selected
SELECTS = "selects"
#: an entry of something is picked by it: whether it has any items
PICKED = "picked"
#: whether what was taken out of it is there: who had nothing to take it out of has failed
HELD = "held"
#: it says whose share is taken, of which some have an item more
DEALT = "dealt"
#: a dict has some of its entries only where what it holds says so
ENTERED = "entered"
#: whether it is true, as it was passed: a list is where there is anything in it
TRUE = "true"
#: something unknown has made it of the value (`model(ids)`): data stays data, and no more is known; that is read
MADE, DATA = "made", "data"
#: of a tensor it is the size of another dimension than the first
LATER = "later"
#: it has no more to do with it than that
HOLDS = frozenset({CONTAINED, MADE})
#: what has any of these is there in any case
_NO_QUESTION = HOLDS | {LATER}
Deps = frozenset[tuple[str, str]]
#: Python makes a new empty set each time it is asked for one; with one for all, most facets are the same object
NOTHING: frozenset[Any] = frozenset()
NO_DEPS: Deps = NOTHING


def root_of(name: str) -> str:
    """The parameter that a dependence is on, or a field of which it is on: `state` for `state.flag`, `batch['x']`."""
    return name.partition("[")[0].partition(".")[0]


@lru_cache(maxsize=8192)
def recast(deps: Deps, how: str, *whence: str) -> Deps:
    """Dependences of what is made of a value: those of the kinds `whence` are of the kind `how` from here on."""
    return frozenset([(p, how if known in whence else known) for p, known in deps]) if deps else NO_DEPS


def observed(deps: Deps) -> Deps:
    """Dependences of what is learnt by reading a value that has these."""
    return recast(recast(deps, OBSERVED, FLOWS, ITEM), DATA, MADE)


def made_of(deps: Deps) -> Deps:
    """Dependences of what has been made of a value in some way that is not known, and is there in any case."""
    return only(deps, MADE, FLOWS, ITEM, OBSERVED, DATA, CONTAINED, MADE)


def asked_for(deps: Deps, part: bool) -> Deps:
    """The parameters that a test asks for whether a value is there: `part` if it was taken out of what they hold, so
    that they themselves are there on every rank that asks."""
    return (
        frozenset([(p, HELD if part and p == root_of(p) else PRESENT) for p, how in deps if how not in _NO_QUESTION])
        or NO_DEPS
    )


def asked_for_by_callee(deps: Deps, how: str, part: bool) -> Deps:
    """The same where a function asks it of an argument, or of what that holds; what has been made of it, and no more is
    known of, is there whatever it was made of."""
    whole = [(p, known) for p, known in deps if known not in (MADE, LATER)]
    if how == PRESENT:
        return frozenset([(p, HELD if part and known != CONTAINED and p == root_of(p) else how) for p, known in whole])
    return frozenset([(p, PRESENT if known == CONTAINED else how) for p, known in whole])


def still_part(deps: Deps) -> bool:
    """Whether what tests by these decide is still there with all it was taken out of: they have read it, too."""
    return all(how in (HELD, OBSERVED, DATA) for _, how in deps)


@lru_cache(maxsize=8192)
def without(deps: Deps, *hows: str) -> Deps:
    """Those of other kinds."""
    return frozenset([d for d in deps if d[1] not in hows]) or NO_DEPS


def entered_by(deps: Deps) -> Deps:
    """Dependences of which entries something has, where a test that has these decides over some of them."""
    return recast(without(deps, PRESENT, HELD), ENTERED, FLOWS, OBSERVED, ITEM, EMPTY)


def told_from_zero(deps: Deps) -> Deps:
    """Dependences of what only asks a number that has these whether it is zero."""
    return only(deps, EMPTY, EMPTY) | only(deps, ZERO, FLOWS, ITEM)


#: by these a test asks for more than whether something was passed
_READ = frozenset({FLOWS, OBSERVED, EMPTY, ITERATED, COUNTED, PICKED, TRUE, LATER})


def read(deps: Deps) -> Deps:
    """Those by which something is read: an optional input that is handed on, or left out, is its caller's choice."""
    return frozenset([d for d in deps if d[1] in _READ]) or NO_DEPS


@lru_cache(maxsize=8192)
def only(deps: Deps, how: str, *whence: str) -> Deps:
    """Those of the kinds `whence` alone, as dependences of the kind `how`."""
    return (frozenset([(p, how) for p, known in deps if known in whence]) or NO_DEPS) if deps else NO_DEPS
