"""Methods that tell the workers what to call, and call the same themselves:

    def call(self, name, *args):
        if self.rank == 0:
            self.write_shm(name, *args)
        return getattr(self, name)(*args)

The workers read that in a loop, and call it with the same arguments. So whatever it issues all ranks issue, whoever
decided to call it: the first rank alone runs the program around it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.text import last_name, words

_RANK = re.compile(r"(^|_)rank$|^is_(driver|main|master|first)\w*$")


def tells_workers(body: f.Body, parameters: Collection[str]) -> bool:
    """Whether a function is such a method."""
    return not _passed_on(body).isdisjoint(parameters)


def _passed_on(body: f.Body) -> frozenset[str]:
    """The names of what is told under a test of the rank, with the rest of the arguments, and called by its name."""
    told = {name for s in body if type(s) is f.If and not s.orelse and _asks_for_rank(s.test) for name in _told(s.body)}
    return frozenset(told & {name for node in walk(body) for name in _called(node)}) if told else frozenset()


def _asks_for_rank(test: f.Expr) -> bool:
    return any(map(_RANK.search, words(test)))


def _told(arm: f.Body) -> list[str]:
    """`name` of an arm that does nothing but `self.write_shm(name, *args)`."""
    only = arm[0] if len(arm) == 1 else None
    call = only.value if type(only) is f.ExprStmt else None
    if type(call) is not f.Call or type(call.func) is not f.Attr or len(call.args) != 2:
        return []
    name, rest = call.args
    return [name.id] if type(name) is f.Name and type(rest) is f.Starred else []


def _called(node: object) -> list[str]:
    """`name` of `getattr(self, name)`."""
    if type(node) is f.Call and last_name(node.func) == "getattr" and len(node.args) > 1:
        return [node.args[1].id] if type(node.args[1]) is f.Name else []
    return []
