"""A root that is no member of the group: `broadcast(x, src=0, group=new_group([2, 3]))`.

The ranks of the group are written out, and so is the root: the call fails on each of its members (`Global rank 0 is not
part of group`, torch/distributed/distributed_c10d.py, `get_group_rank`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.text import last_name, position, shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: a group of so many ranks is not counted out
_MOST = 4096


def told(frame: Frame, root: f.Expr, group: f.Expr) -> Divergence | None:
    """Why a rank of the job that is written out is in no group of these ranks; None if it is, or that is not known."""
    number = definition(frame, root)
    made = definition(frame, group)
    if type(number) is not f.Const or not number.text.isdigit():
        return None
    if type(made) is not f.Call or last_name(made.func) != "new_group":
        return None
    given = next((value for name, value in made.keywords if name == "ranks"), made.args[0] if made.args else None)
    listed = definition(frame, given) if given is not None else None
    members = _numbers(listed) if listed is not None else None
    if listed is None or members is None or int(number.text) in members:
        return None
    note = f"`{shown(group)}` is made of `{shown(listed)}`"
    return frame.source(WORLD, "rank", position(made), note)


def _numbers(listed: f.Expr) -> frozenset[int] | None:
    """The ranks of a list or range that is written out; None of another."""
    if type(listed) is f.Call and last_name(listed.func) == "list" and len(listed.args) == 1:
        return _numbers(listed.args[0])
    whole = listed.elements if type(listed) is f.Sequence else ()
    if type(listed) is f.Call and last_name(listed.func) == "range" and not listed.keywords:
        whole = listed.args
    texts = [e.text for e in whole if type(e) is f.Const and e.text.isdigit()]
    if not texts or len(texts) != len(whole):
        return None
    numbers = [int(text) for text in texts]
    if type(listed) is not f.Call:
        return frozenset(numbers)
    every = range(*numbers) if len(numbers) < 3 or numbers[2] else range(0)
    return frozenset(every) if 0 < len(every) <= _MOST else None
