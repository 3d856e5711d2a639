"""Blocks of ranks: a rank divided by the sizes of groups (`rank // (tp_size * dp_size)`) is the same for all members.

Tensor parallelism is innermost in the numbering of ranks, as meshes and Megatron-Core have it, so that the ranks of one
of its groups follow each other; a block of several sizes is made of the axes that they are the sizes of. A rank divided
by the size of another group alone says nothing: its members may be ranks with a gap.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.arithmetic import factors
from ferrule_lint.semantics.domain.assigned import assignments
from ferrule_lint.semantics.domain.axes import WITHIN_DP, WORLD, Axes
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name, render

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_INNERMOST = "tp"
#: what the axes of a whole job are
_EVERY = frozenset({"dp", "tp", "pp", "cp", "ep"})
_DEEPEST = 3


def numbered(frame: Frame, e: f.Op, value: Value) -> Value:
    """The value of a division, of which a rank of the whole job says which block it is in."""
    divergence = value.divergence
    if divergence is None or divergence.kind != "rank" or divergence.axes != WORLD or len(e.operands) != 2:
        return value
    along = frozenset[str]().union(*(_axes_of_size(frame, factor, 0) for factor in factors(e.operands[1])))
    if _INNERMOST not in along:
        return value
    if along & WITHIN_DP:
        along |= {"ep"}  # experts are dealt out to copies
    return value._replace(divergence=divergence._replace(axes=_EVERY - along))


def same_place_in_both(frame: Frame, left: f.Expr, right: f.Expr) -> bool:
    """`get_rank(inner) == get_rank(outer)`: true for all members of the first of the groups that make up a bigger one,
    and for nobody else. Where one is a group of unknown axes, it may be such a part of the other."""
    asked = [definition(frame, expr) for expr in (left, right)]
    groups = [_asked_for(call) for call in asked]
    if None in groups or groups[0] == groups[1]:
        return False
    axes = [frame.axes_in(group or "") for group in groups]
    return None in axes or bool(axes[0] and axes[1] and axes[0] & axes[1])


def _asked_for(expr: f.Expr) -> str | None:
    """The group, by its text, in which a call asks for the caller's own place; the job is one, too."""
    if type(expr) is not f.Call:
        return None
    name = last_name(expr.func)
    if name == "get_rank":
        given = next((v for k, v in expr.keywords if k == "group"), expr.args[0] if expr.args else None)
        return "world" if given is None else render(given)
    return name if _PLACE.search(name) and not _ANOTHER.search(name) and not expr.args else None


#: functions that answer with a place in the group they are named after, and those that answer with another rank's
_PLACE = re.compile(r"_rank$")
_ANOTHER = re.compile(r"src|source|root|dst|first|last|next|prev|peer|leader|main|master|owner")


def _axes_of_size(frame: Frame, expr: f.Expr, depth: int) -> Axes:
    """The axes of the groups whose size an expression is, by what it is set to, or else by its name."""
    place = place_name(expr)
    owner = frame.self_class
    bodies = [frame.function.body if frame.function is not None else frame.module.body]
    if type(expr) is f.Attr and owner is not None:
        bodies = [method.body for method in owner.methods.values()]
    if place and depth < _DEEPEST:
        made = [value for body in bodies for value, _ in assignments(body, place) if type(value) is not f.Const]
        found = {_axes_of_size(frame, value, depth + 1) for value in made}
        if found:
            return found.pop() if len(found) == 1 else frozenset()
    text = render(expr).lower()
    return (frame.axes_in(text) or frozenset()) - WORLD if "size" in text else frozenset()
