"""Settings that a test passes on to a call: `while unfinished(flag, synced):`.

Such a setting may say whether the ranks agree on the outcome, and as well whether they meet under it. What it says only
the callee knows; so the loop is walked once more for each of its outcomes, as a call is for each context.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value
from ferrule_lint.semantics.walk.frame import Frame

#: settings of one loop that are told apart
MOST_SETTINGS = 2


def passed_on(frame: Frame, s: f.While, before: dict[str, Value]) -> list[f.Name]:
    """The parameters of the function that the test of a loop hands to a call as they are, of which nothing is known;
    `before`: what was known before the loop."""
    if frame.function is None:
        return []
    given = {p.name for p in frame.function.parameters}
    names: dict[str, f.Name] = {}
    for node in walk(s.test):
        if type(node) is not f.Call:
            continue
        for argument in (*node.args, *(value for _, value in node.keywords)):
            if type(argument) is f.Name and argument.id in given and not frame.version(argument.id):
                names[argument.id] = argument
    return [name for name in names.values() if _is_open(before.get(name.id, UNKNOWN))][:MOST_SETTINGS]


def _is_open(value: Value) -> bool:
    """Whether it may be true or false, and is the same on all ranks as far as anybody knows."""
    differs = value.divergence or value.data or value.presence
    return value.const is None and differs is None and not value.there and not value.types
