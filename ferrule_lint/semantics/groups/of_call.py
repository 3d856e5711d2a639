"""The group that a modelled call communicates in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.models.types import CallModel
from ferrule_lint.semantics.domain.axes import PRIVATE, UNKNOWN_GROUP, WORLD, Axes
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value
from ferrule_lint.semantics.domain.text import called_name, last_name, place_name, render
from ferrule_lint.semantics.domain.trace import ENDS
from ferrule_lint.semantics.groups import dimensions, neighbours, never_given
from ferrule_lint.semantics.sources import first_rank, rank_axes

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame


def group_axes(frame: Frame, model: CallModel, arguments: Arguments, receiver: Value | None) -> tuple[Axes, str]:
    """The axes that a call's group spans, and a name for the group where its axes cannot be told."""
    default: Axes = frozenset(model.axes) or (UNKNOWN_GROUP if model.p2p == "both" else WORLD)
    if model.group is None:
        axes = _receiver_axes(frame, arguments, receiver, model)
        func = arguments.expr.func
        if axes is None and not model.axes and type(func) is f.Attr and _is_on_group(frame, model, func.base):
            return UNKNOWN_GROUP, render(func.base)  # the receiver is the group, and says no more of itself
        return axes or default, ""
    expr = arguments.expression(model.group.name, model.group.position)
    if expr is None and model.receiver == "":
        expr = _handed_over(frame, arguments)
    if expr is None:
        axes = _receiver_axes(frame, arguments, receiver, model)
        if axes is not None:
            return axes, ""
        # `save(state, **options)`: the group may be among them
        if default == WORLD and (arguments.is_open or _is_handed_arguments(frame, arguments.expr)):
            return UNKNOWN_GROUP, ""
        func = arguments.expr.func
        if model.receiver == "" and not model.axes and type(func) is f.Attr:
            return UNKNOWN_GROUP, render(func.base)  # `reducer.all_reduce(x)`: whatever that is made for
        return default, ""
    value = arguments.value_of(expr) or UNKNOWN
    if value.const == "None":
        return default, ""
    if neighbours.is_one(frame, expr) or first_rank.has_alone(value):
        return PRIVATE, ""  # it has the others of its group in another program
    named = dimensions.axes_named(frame, expr) or rank_axes.of_mode(frame, expr)
    axes = named if value.group is None or value.group == UNKNOWN_GROUP else value.group
    if axes is not None:
        return axes, ENDS if axes == _STAGES and _is_of_ends(frame, expr) else ""
    if last_name(expr).endswith(("WORLD", "world")):
        return WORLD, ""
    if never_given.stays_none(frame, expr):
        return default, ""
    return UNKNOWN_GROUP, render(expr)


def _is_handed_arguments(frame: Frame, call: f.Call) -> bool:
    """Whether a function was handed a collective and what it is to be given, and does not know yet what that is: one
    argument, or several, the group among them (`op(*given) if isinstance(given, tuple) else op(given)`)."""
    function = frame.function
    if function is None or type(call.func) is not f.Name or call.keywords or len(call.args) != 1:
        return False
    names = {p.name for p in function.parameters}
    op, given = call.func.id, call.args[0]
    if type(given) is not f.Name or not {op, given.id} <= names:
        return False
    spread = (c.args for c in function.calls if type(c.func) is f.Name and c.func.id == op)
    return any(type(a) is f.Starred and place_name(a.value) == given.id for args in spread for a in args)


def _handed_over(frame: Frame, arguments: Arguments) -> f.Expr | None:
    """The group that a call is given at some place or other, where nothing but its own name says what it is:
    `all_to_all(x, get_sp_group(), 2, 1)`."""
    for expr in arguments.expr.args:
        value = arguments.value_of(expr)
        if (value is not None and value.group is not None) or _IS_GROUP.search(called_name(expr)) is not None:
            return expr
    return None


_STAGES: Axes = frozenset({"pp"})
#: the embeddings are shared by the first and the last stage; those of positions lie on the first alone
_OF_ENDS = re.compile(r"(^|_)(?<!position_)(?<!pos_)(embedding|embd)_group$", re.IGNORECASE)


def _is_of_ends(frame: Frame, expr: f.Expr) -> bool:
    """Whether a group is, by its name or that of the function it is got from, the one of the first and last stage."""
    made, version = frame.definitions.get(place_name(expr), (None, 0))
    if made is not None and version == frame.version(place_name(expr)):
        expr = made
    return _OF_ENDS.search(called_name(expr)) is not None


def _receiver_axes(frame: Frame, arguments: Arguments, receiver: Value | None, model: CallModel) -> Axes | None:
    """Axes of the group object or mesh that a method is called on."""
    if receiver is None:
        return None
    if model.axes:
        # of a communicator that was made of a part of the ranks, which ones are in it is all there is to know
        return UNKNOWN_GROUP if receiver.group == UNKNOWN_GROUP else None
    func = arguments.expr.func
    text = render(func.base) if type(func) is f.Attr else ""
    return receiver.group or frame.axes_in(text)


def _is_on_group(frame: Frame, model: CallModel, receiver: f.Expr) -> bool:
    """Whether a method is one of a group: by the library's class that it belongs to, or by the receiver's name."""
    if model.receiver:
        return _IS_GROUP.search(last_name(receiver)) is not None
    owner = frame.models.class_(model.name.rpartition(".")[0])
    return owner is not None and owner.role == "group"


_IS_GROUP = re.compile(r"(group|pg|comm|communicator|coordinator|collectives?)$", re.IGNORECASE)
