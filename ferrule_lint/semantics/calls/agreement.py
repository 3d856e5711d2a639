"""What ranks hold after a reduction or broadcast: the same, along the axes of the group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import COPIES, WITHIN_DP, WORLD, Axes, is_untold
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value
from ferrule_lint.semantics.domain.text import dotted_name, place_name
from ferrule_lint.semantics.gradients import stage_values
from ferrule_lint.semantics.walk import aliases

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.domain.trace import Event
    from ferrule_lint.semantics.walk.frame import Frame

#: what WORLD spans
_ALL_AXES: Axes = frozenset({"dp", "tp", "pp", "cp", "ep"})


def cleanse(value: Value, axes: Axes) -> Value:
    """A value after a reduction or broadcast over a group: uniform along its axes, and only those."""
    if "world" in axes:
        return Value(uniform=True, types=value.types, element_types=value.element_types, agreed=True)
    was_divergent = value.divergence is not None or value.data is not None
    if is_untold(axes):
        return Value(types=value.types, element_types=value.element_types, agreed=True)

    if axes & WITHIN_DP:
        axes |= WITHIN_DP | COPIES

    def rest(divergence: Divergence | None) -> Divergence | None:
        if divergence is None:
            return None
        before = _ALL_AXES if "world" in divergence.axes else divergence.axes
        if divergence.kind == "data" and "dp" in axes:
            return None
        left = before - axes
        return divergence._replace(axes=left) if left else None

    divergence, data, length = rest(value.divergence), rest(value.data), rest(value.length)
    left = divergence or data or length
    return Value(
        uniform=value.uniform or (was_divergent and left is None),
        divergence=divergence,
        data=data,
        length=length,
        types=value.types,
        element_types=value.element_types,
        agreed=True,
    )


def make_uniform(frame: Frame, expr: f.Expr | None, axes: Axes) -> None:
    """The tensor behind an argument holds the same value on every rank of the group afterwards."""
    if expr is None:
        return
    if type(expr) is f.Sequence:
        for element in expr.elements:
            make_uniform(frame, element, axes)
            for sent in _entries(frame, element):
                make_uniform(frame, sent, axes)
        return
    while type(expr) is f.Attr and expr.attr in ("data", "grad"):
        expr = expr.base
    if type(expr) is f.Subscript:
        place = place_name(expr.base)
        if place and type(expr.index) is f.Const:
            frame.env[f"{place}[{expr.index.text}]"] = cleanse(frame.eval(expr), axes)
        return
    expr = _cut(expr)
    if type(expr) is f.Call and type(expr.func) is f.Attr:
        expr = expr.func.base  # `x.contiguous()` shares storage with x where it can
        if frame.eval(expr).target is not None:
            return  # `torch.cat(...)` is nobody's method
    place = place_name(expr)
    if not place:
        return
    agreed = expr
    aliases.shared(
        frame, place, lambda other: make_uniform(frame, other, axes), lambda: _agree_on(frame, agreed, place, axes)
    )


def _entries(frame: Frame, expr: f.Expr) -> tuple[f.Expr, ...]:
    """What a dict is written with that goes out in a list which nobody keeps (`broadcast_object_list([meta], src=0)`):
    only the sender calls that, and what it has in hand is what the others get."""
    body = frame.function.body if frame.function is not None else ()
    made = frame.analysis.bodies.assigned(body, expr.id) if type(expr) is f.Name else [expr]
    return made[0].values if len(made) == 1 and type(made[0]) is f.DictDisplay else ()


def fill(frame: Frame, expr: f.Expr | None) -> None:
    """The items of a list are others on every rank: what each was sent."""
    place = place_name(expr) if expr is not None else ""
    if place:
        for known in [p for p in frame.env if p.startswith(f"{place}[")]:
            del frame.env[known]
        frame.env[place] = UNKNOWN
        frame.renew(place)


def deal(frame: Frame, expr: f.Expr | None, arguments: Arguments, event: Event) -> None:
    """A tensor has a part of its own on every rank: what the others have sent it, or what came out of a reduction."""
    place = place_name(expr) if expr is not None else ""
    if not place or (len(arguments.values) > 1 and arguments.values[1].uniform):
        return
    known = frame.read(place) or UNKNOWN
    if event.axes == WORLD and (known.data is not None or known.divergence is not None):
        return  # it differs already, along the axes of data
    note = f"`{event.op}` leaves each rank a part of its own in `{place}`"
    part = frame.source(event.axes, "data", event.pos, note, Confidence.MEDIUM)._replace(group=event.channel)
    frame.env[place] = known._replace(
        uniform=False, data=part, divergence=None, const=None, agreed=False, emptiness=None
    )
    frame.renew(place)


#: what hands out all tensors of one kind that a module has
_ALL_TENSORS = frozenset("buffers parameters named_buffers named_parameters state_dict".split())
#: operations that leave what they are given the same on all ranks
_SHARE = frozenset({"broadcast", "all_reduce"})


def own_tensors(frame: Frame, call: f.Call, events: Iterable[Event]) -> None:
    """`broadcast_tensors(self.buffers())`: what the module keeps is the same on all ranks afterwards."""
    whole = [a for a in (*call.args, *(v for _, v in call.keywords)) if _hands_out_own(frame, a)]
    axes = next((event.axes for event in events if event.op in _SHARE and not event.hidden), None) if whole else None
    if axes is None:
        return
    for place in [p for p, v in frame.env.items() if frame.own_attribute(p) and (v.data is not None or v.deps)]:
        frame.env[place] = cleanse(frame.env[place], axes)
        frame.renew(place)
        frame.self_writes.pop(frame.own_attribute(place), None)


def _hands_out_own(frame: Frame, expr: f.Expr) -> bool:
    """`self.buffers()`, `self.state_dict().values()`."""
    while type(expr) is f.Call and type(expr.func) is f.Attr:
        if expr.func.attr in _ALL_TENSORS and place_name(expr.func.base) == frame.self_name != "":
            return True
        expr = expr.func.base
    return False


#: functions that cut a tensor into pieces which share its storage
_CUTS = frozenset("unbind chunk split tensor_split".split())


def _cut(expr: f.Expr) -> f.Expr:
    """`x` of `list(x.unbind(0))` and `torch.chunk(x, n)`: what is written into the pieces is written into it."""
    while type(expr) is f.Call and expr.args:
        is_list = type(expr.func) is f.Name and expr.func.id in ("list", "tuple") and len(expr.args) == 1
        cuts = type(expr.func) is f.Attr and expr.func.attr in _CUTS
        if not is_list and not (cuts and dotted_name(expr.func).startswith("torch.")):
            break
        expr = expr.args[0]
    return expr


def _agree_on(frame: Frame, expr: f.Expr, place: str, axes: Axes) -> None:
    known = frame.read(place) or frame.eval(expr)
    frame.env[place] = cleanse(known, axes)._replace(reach=known.reach)
    frame.renew(place)
    for part in [p for p in frame.env if p.startswith(place + "[")]:
        frame.env[part] = cleanse(frame.env[part], axes)  # what was put into it item by item went with it
    frame.made_uniform[place] = axes
    stage_values.shared(frame, place, axes)
    if frame.self_name and place.startswith(frame.self_name + ".") and place.count(".") == 1:
        frame.self_writes.pop(place.partition(".")[2], None)
