"""Ranks at a distance from each other, of which a group is made: the first of each node, say.

```python
leaders = new_group(list(range(0, world_size, per_node)))
if rank % per_node == 0:
    broadcast(x, src=0, group=leaders)
```

Who asks whether the rank is a multiple of the distance asks whether it is a member. On a node the first has the local
rank 0, so that this asks the same where the distance is the number of ranks on one. And a list of ranks that a function
makes a group of has as many on every rank: groups of a kind are of one size.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, walk
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.text import last_name, render, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_MAKES = "new_group"
_SAYS_IT = frozenset({_MAKES})
#: what makes groups by its name, or hands out one of some ranks
_GIVES = re.compile(r"(^|_)(group|pg|subgroup)s?(_|$)")
_LOCAL_RANK = re.compile(r"^local_?rank$", re.IGNORECASE)
#: how many ranks there are on a node
_ON_NODE = re.compile(
    r"local|(per|in|each)_?(node|host|machine)|node_?size|device_?count|(n|num)_?(gpus?|devices?)", re.IGNORECASE
)


def asks_for_member(frame: Frame, left: f.Expr, right: f.Expr) -> bool:
    """Whether a comparison of two sides asks if the rank is one of those, at some distance, that a group is made of."""
    for asked, other in ((left, right), (right, left)):
        # what is asked tells in most comparisons that it is no such, before the function is gone through
        lets_in = _member_by(frame, asked, other) if type(other) is f.Const else None
        if lets_in is not None and any(lets_in(first, step) for first, step in _strides(frame)):
            return True
    return False


def _member_by(frame: Frame, asked: f.Expr, answer: f.Const) -> Callable[[f.Expr, f.Expr], bool] | None:
    """Whether who gives this answer is a member, by the first of the ranks and their distance; None if in no group."""
    meant = definition(frame, asked)
    if type(meant) is f.Op and meant.kind == "Mod" and len(meant.operands) == 2:
        by = render(meant.operands[1])
        return lambda first, step: render(first) == answer.text and render(step) == by
    if answer.text == "0" and is_place_on_node(asked, meant):
        return lambda first, step: render(first) == answer.text and counts_on_node(step)
    return None


def is_place_on_node(asked: f.Expr, meant: f.Expr) -> bool:
    """Whether something is the local rank, by its name or by what it stands for."""
    return _LOCAL_RANK.match(last_name(asked)) is not None or "LOCAL_RANK" in render(meant)


def counts_on_node(step: f.Expr) -> bool:
    """Whether a distance may be the number of ranks on a node: by what it is called, or because it is written out."""
    return type(step) is f.Const or _ON_NODE.search(render(step)) is not None


def _strides(frame: Frame) -> Iterator[tuple[f.Expr, f.Expr]]:
    """The first and the distance of the ranks that a function hands to what makes groups: `range(0, n, step)`, or those
    of all ranks that leave the same rest, `[r for r in range(n) if r % step == 0]`."""
    body = frame.function.body if frame.function is not None else frame.module.body
    if not frame.module.mentions_any(_SAYS_IT) and frame.function is None:
        return
    calls = frame.function.calls if frame.function is not None else nodes(body, f.Call)
    if not any(last_name(call.func) == "range" for call in calls):
        return
    handed = [call for call in calls if _GIVES.search(last_name(call.func))]
    names = variables(tuple((call.args, call.keywords) for call in handed))
    held = [s.value for s in walk(body) if type(s) is f.Assign and variables(s.targets) & names]
    for expr in (*handed, *held):
        for node in walk(expr):
            if type(node) is f.Call and _is_range(node):
                yield node.args[0], node.args[2]
            elif type(node) is f.Comprehension and (left := _with_one_rest(node)) is not None:
                yield left


def _with_one_rest(listed: f.Comprehension) -> tuple[f.Expr, f.Expr] | None:
    """The rest and the divisor of `r for r in range(n) if r % divisor == rest`."""
    only = listed.generators[0]
    number, walked = render(only.target), only.iterable
    if len(listed.generators) != 1 or len(only.conditions) != 1 or list(map(render, listed.elements)) != [number]:
        return None
    if type(walked) is not f.Call or last_name(walked.func) != "range" or len(walked.args) != 1:
        return None
    test = only.conditions[0]
    if type(test) is not f.Compare or test.ops != ("==",) or type(test.left) is not f.Op or test.left.kind != "Mod":
        return None
    return (test.rights[0], test.left.operands[1]) if render(test.left.operands[0]) == number else None


def _is_range(call: f.Call) -> bool:
    return last_name(call.func) == "range" and len(call.args) == 3


def is_made_group(frame: Frame, expr: f.Expr) -> bool:
    """Whether the function makes a group of the ranks in a list: `new_group(list(ranks))`."""
    # asked of every `len`: most files make no groups, and need not be gone through
    if type(expr) is not f.Name or frame.function is None or not frame.module.mentions_any(_SAYS_IT):
        return False
    made = (call for call in frame.function.calls if last_name(call.func) == _MAKES)
    lists = (e for call in made for e in (*call.args[:1], *(v for k, v in call.keywords if k == "ranks")))
    return any(render(_listed(e)) == expr.id for e in lists)


def _listed(expr: f.Expr) -> f.Expr:
    """What a list is made of: `list(ranks)`, `sorted(ranks)`."""
    if type(expr) is f.Call and last_name(expr.func) in ("list", "tuple", "sorted") and len(expr.args) == 1:
        return expr.args[0]
    return expr
