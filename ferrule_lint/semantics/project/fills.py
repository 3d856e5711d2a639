"""What a method adds to attributes of its instance, and under which keys: `self.seen.append(x)`,
`self.metrics[name] = x`, `self.meters[k].update(v)` for each of its keywords.

Who does not call it has an item or entry less, which counts where something goes over them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import place_name, variables

#: which of the arguments of a call tell entries apart: none, the first one, the names of its keywords
ITEMS, FIRST, KEYWORDS = "", "first", "keywords"

#: dicts that make an entry where it is missing
MAKING = frozenset({"defaultdict", "Counter"})

_ADDS = frozenset({"append", "appendleft"})


class Fill(NamedTuple):
    """How a method adds to an attribute."""

    #: ITEMS, FIRST or KEYWORDS
    key: str
    #: the entry is one that something is added to, which only a `defaultdict` or the like makes where it is missing
    to_entry: bool


def fills(body: f.Body, parameters: tuple[f.Parameter, ...]) -> dict[str, Fill]:
    """The attributes that a method with a body adds to."""
    own = parameters[0].name if parameters else ""
    given = {p.name: FIRST for p in parameters[1:2] if p.kind == "normal"}
    given |= {name: KEYWORDS for p in parameters if p.kind == "**" for name in (p.name, *_keys_of(body, p.name))}
    found: dict[str, Fill] = {}
    for s in statements(body):
        for place, fill in _of_statement(s, given):
            if place.startswith(f"{own}.") and place.count(".") == 1:
                found[place.partition(".")[2]] = fill
    return found


def _keys_of(body: f.Body, keywords: str) -> Iterator[str]:
    """What a loop calls the names of what a method is given by keywords: `for k, v in kwargs.items()`."""
    for s in statements(body):
        if type(s) is f.For and keywords in variables(s.iterable):
            key = s.target.elements[0] if type(s.target) is f.Sequence and s.target.elements else s.target
            if type(key) is f.Name:
                yield key.id


def _of_statement(s: f.Stmt, given: dict[str, str]) -> Iterator[tuple[str, Fill]]:
    if type(s) is f.Assign and type(s.targets[0]) is f.Subscript:
        yield from _entry(s.targets[0], given, to_entry=False)
    elif type(s) is f.AugAssign and type(s.target) is f.Subscript:
        yield from _entry(s.target, given, to_entry=True)
    elif type(s) is f.ExprStmt and type(s.value) is f.Call and type(s.value.func) is f.Attr:
        yield from _of_call(s.value, s.value.func, given)


def _of_call(call: f.Call, func: f.Attr, given: dict[str, str]) -> Iterator[tuple[str, Fill]]:
    base = func.base
    if func.attr == "setdefault" and call.args:
        yield from _entry(f.Subscript(base, call.args[0], call.pos), given, to_entry=False)
    elif type(base) is f.Call and type(base.func) is f.Attr:
        yield from _of_call(base, base.func, given)  # `self.values.setdefault(name, []).append(x)`
    elif type(base) is f.Subscript:
        yield from _entry(base, given, to_entry=True)
    elif func.attr in _ADDS:
        yield place_name(base), Fill(ITEMS, False)
    elif func.attr == "update":
        added = (*call.args, *(value for key, value in call.keywords if key is None))
        for x in added:
            keys = x.keys if type(x) is f.DictDisplay else (x,)
            for key in keys[:1]:
                if key is not None:
                    yield from _entry(f.Subscript(base, key, call.pos), given, to_entry=False)


def _entry(target: f.Subscript, given: dict[str, str], to_entry: bool) -> Iterator[tuple[str, Fill]]:
    """An entry under what the method is given: `self.metrics[name]`, `self.metrics[f"train/{name}"]`."""
    index = target.index
    told = [given[name] for name in sorted(variables(index)) if name in given] if type(index) is not f.Subscript else []
    if told:
        yield place_name(target.base), Fill(told[0], to_entry)
