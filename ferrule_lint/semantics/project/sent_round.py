"""Functions that send what they are given from one rank to the others, and hand back on each what it has now:

    if rank == ranks[0]:
        for other in ranks[1:]:
            send(x, other)
    else:
        x = recv(ranks[0])
    return x

That is a broadcast: behind it the ranks have the same, however different they were. Which ranks these are is not to be
told, so that nothing is said of what comes back.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from ferrule_lint.facts import types as f
from ferrule_lint.facts.plain import plain
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.text import last_name, place_name

SENDS = re.compile(r"_*i?send(_\w+)?")
RECEIVES = re.compile(r"_*(i?recv|receive)(_\w+)?")


def sends_round(body: f.Body, parameters: Collection[str]) -> bool:
    """Whether a function does that with one of its parameters."""
    returned = {place_name(s.value) for s in statements(body) if type(s) is f.Return and s.value is not None}
    return any(
        _sends(one, name) and _receives(other, name)
        for name in returned.intersection(parameters)
        for s in statements(plain(body))
        if type(s) is f.If
        for one, other in ((s.body, s.orelse), (s.orelse, s.body))
    )


def _sends(arm: f.Body, name: str) -> bool:
    """Whether an arm sends something, and does not set it."""
    sent = any(
        type(node) is f.Call
        and SENDS.fullmatch(last_name(node.func)) is not None
        and any(place_name(given) == name for given in node.args)
        for node in walk(arm)
    )
    return sent and not any(type(node) is f.Assign and name in map(place_name, node.targets) for node in walk(arm))


def _receives(arm: f.Body, name: str) -> bool:
    """Whether an arm sets something to what it receives."""
    return any(
        type(node) is f.Assign
        and name in map(place_name, node.targets)
        and type(node.value) is f.Call
        and RECEIVES.fullmatch(last_name(node.value.func)) is not None
        for node in arm
    )
