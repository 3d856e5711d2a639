"""Loops that reduce over one group after another: `for group in groups: dist.all_reduce(total, group=group)`.

Behind such a loop the ranks have agreed. Where it has no round, or a group in it is None, nobody else is there to agree
with.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.text import last_name, place_name, variables
from ferrule_lint.semantics.groups.axes import names_group


def reduced(s: f.For) -> frozenset[str]:
    """The places that a loop over groups has given to a collective in each of them."""
    groups = {name for name in variables(s.target) if names_group(name) or name.endswith(("_pg", "_comm"))}
    if type(s.target) is f.Name and last_name(s.iterable).endswith("groups"):
        groups.add(s.target.id)
    return frozenset(_places(s.body, groups)) if groups else frozenset()


def _places(body: f.Body, groups: set[str]) -> Iterator[str]:
    for statement in body:
        if type(statement) is f.If and not statement.orelse and variables(statement.test) <= groups:
            yield from _places(statement.body, groups)  # `if group is not None:`
        elif type(statement) is f.ExprStmt or type(statement) is f.Assign:
            targets = statement.targets if type(statement) is f.Assign else ()
            for call in walk((statement.value,)):
                if type(call) is f.Call and call.args and _is_in(call, groups):
                    yield from filter(None, map(place_name, (call.args[0], *targets)))


def _is_in(call: f.Call, groups: set[str]) -> bool:
    """Whether a call communicates in one of these groups, by its name and what it is given."""
    given = [*call.args[1:], *(value for _, value in call.keywords)]
    communicates = any(word in last_name(call.func) for word in _SHARES)
    return communicates and any(type(value) is f.Name and value.id in groups for value in given)


#: parts of the names of what leaves the same on all ranks
_SHARES = ("all_reduce", "allreduce", "broadcast", "bcast")
