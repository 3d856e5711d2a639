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
#: it may be a mask or positions by which items are selected
SELECTS = "selects"
#: an entry of something is picked by it: whether it has any items
PICKED = "picked"
#: it says whose share is taken, of which some have an item more
DEALT = "dealt"
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


#: by these a test asks for more than whether something was passed
_READ = frozenset({FLOWS, OBSERVED, EMPTY, ITERATED, COUNTED, PICKED})


def read(deps: Deps) -> Deps:
    """Those by which something is read: an optional input that is handed on, or left out, is its caller's choice."""
    return frozenset([d for d in deps if d[1] in _READ]) or NO_DEPS


@lru_cache(maxsize=8192)
def only(deps: Deps, how: str, *whence: str) -> Deps:
    """Those of the kinds `whence` alone, as dependences of the kind `how`."""
    return (frozenset([(p, how) for p, known in deps if known in whence]) or NO_DEPS) if deps else NO_DEPS
