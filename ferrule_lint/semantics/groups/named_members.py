"""Tests that name the ranks which a group has just been made of, and ask for something beside.

```python
self.group = new_group([src, dest])
if master in [self.src, self.dest] and local_rank == 0:
    all_reduce(x, group=self.group)
```

Whoever is asked for beside them, it is who of the named ones is meant. And who asks for each of several ranks, one
after the other (`rank == 0 or rank == last`), asks who is among them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.semantics.domain.text import last_name, render

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def asks_for_them(frame: Frame, test: f.BoolOp) -> bool:
    """Whether one part of a test asks who is among the ranks of a group that this body makes."""
    if test.op != "and" or frame.function is None or not frame.module.mentions_any(frozenset({"new_group"})):
        return False
    among = {names for part in test.values if (names := _named_in(part))}
    return bool(among) and any(names in among for names in _made_of(frame.function.body))


def names_each(op: str, parts: Sequence[f.Expr]) -> bool:
    """Whether a test is `x in (a, b)` in other words: `x == a or x == b`, or `x != a and x != b` for the others."""
    asks = ("==",) if op == "or" else ("!=",)
    pairs = [
        {render(part.left), render(part.rights[0])} for part in parts if type(part) is f.Compare and part.ops == asks
    ]
    if len(pairs) != len(parts):
        return False
    common = set.intersection(*pairs)
    # one rank that is compared with each, and not several that are compared with one number
    return len(common) == 1 and not min(common).isdigit() and len(set.union(*pairs)) == len(parts) + 1


def _named_in(test: f.Expr) -> frozenset[str]:
    """The last names of `x in [self.src, self.dest]`; none if it is no such test."""
    return _names(test.rights[0]) if type(test) is f.Compare and test.ops == ("in",) else frozenset()


def _made_of(body: f.Body) -> Iterator[frozenset[str]]:
    for call in nodes(body, f.Call):
        if last_name(call.func) == "new_group":
            ranks = next(
                (value for name, value in call.keywords if name == "ranks"), call.args[0] if call.args else None
            )
            if ranks is not None:
                yield _names(ranks)


def _names(ranks: f.Expr) -> frozenset[str]:
    parts = ranks.elements if type(ranks) is f.Sequence else ()
    return frozenset(map(last_name, parts)) if len(parts) > 1 and all(map(last_name, parts)) else frozenset()
