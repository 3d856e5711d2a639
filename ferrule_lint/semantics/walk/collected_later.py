"""Lists in attributes that hold what each batch has left: `self.losses.append(loss)` in one method, and in another
`torch.stack(self.losses).mean()`.

What an attribute holds is asked for without its instance, and of most that says little of the tensors in it: who set it
last, and whether the ranks have brought it together since, is not known. A list that the methods of a class do nothing
with but begin it anew, fill it and read it is known better: what has been put in is in it. It is the rank's own until
somebody reduces or gathers what comes of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.assigned import appended_to, given
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.lattice import Divergence, Value
    from ferrule_lint.semantics.project.entities import FunctionInfo

_MAKES_EMPTY = frozenset({"list", "deque"})
_BRINGS_TOGETHER = ("reduce", "gather", "broadcast", "sync")


def left_in(values: Iterable[Value], methods: Iterable[FunctionInfo], name: str) -> Divergence | None:
    """Why what is in a list of the instance is the rank's own: methods append such, and none does anything else."""
    found = [v.data for v in values if v.data is not None]
    told = [why for why in found if not why.assumed and why.confidence > Confidence.LOW]
    if not told or len(told) != len(found):
        return None
    filled = False
    for method in methods:
        if not method.parameters or method.is_static:
            continue
        place = f"{method.parameters[0].name}.{name}"
        if any(_registers(call, name) for call in method.calls):
            return None
        for s in statements(method.body):
            filled = filled or appended_to(s) == place
            if not _keeps(s, place):
                return None
    return told[0].at_most(Confidence.MEDIUM) if filled else None


def of_some_parts(added: Value) -> bool:
    """Whether some entries of what is put in are the rank's own, and others are not, or not known to be: which of them
    somebody asks for later is not told by the list."""
    return any(entry.observed is None for _, entry in added.entries)


def _registers(call: f.Call, name: str) -> bool:
    """`self.add_state("preds", default=[])`: a metric's own state, which its library gathers before it is asked for."""
    named = [*call.args[:1], *(value for key, value in call.keywords if key == "name")]
    return last_name(call.func) == "add_state" and any(type(arg) is f.Const and arg.text[1:-1] == name for arg in named)


def _keeps(s: f.Stmt, place: str) -> bool:
    """Whether a statement leaves a list what it is: it may begin it anew, but brings nothing together in place."""
    if type(s) is f.AugAssign and place_name(s.target) == place:
        return False
    for target, value in given(s):
        if place_name(target) == place and not _is_empty(value):
            return False
        if type(target) is f.Subscript and place_name(target.base) == place:
            return False
        if type(target) is f.Sequence and any(place_name(one) == place for one in target.elements):
            return type(value) is f.Sequence and all(map(_is_empty, value.elements))
    if type(s) is f.For and any(place_name(node) == place for node in walk(s.iterable) if type(node) is f.Attr):
        return not any(brings_together(node) for inner in s.body for node in walk(inner))
    return True


def brings_together(node: object) -> bool:
    """Whether something is a call that, by its name, reduces or gathers what ranks have."""
    return type(node) is f.Call and any(word in last_name(node.func).lower() for word in _BRINGS_TOGETHER)


def _is_empty(value: f.Expr) -> bool:
    if type(value) is f.Sequence:
        return not value.elements
    if type(value) is f.Call and last_name(value.func) in _MAKES_EMPTY:
        return not value.args or (last_name(value.func) == "deque" and value.args[0] in _NOTHING)
    return value == f.Const("None")


_NOTHING = (f.Sequence("list", ()), f.Sequence("tuple", ()))
