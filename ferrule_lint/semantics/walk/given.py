"""Given: what a function leaves in the things that were passed to it, and what it asks of their fields.

`batch["loss"] = local`, `state.stop = True`, `out.append(local)`: who passes the dict, object or list finds it there
afterwards. The other way round, a test of `state.stop` in the function is a test of what the caller has put there: the
function says that it depends on `state.stop`, and the caller looks in its own `state`.

Places go by their text, `state.stop`, `batch['loss']`, and `out[]` for items of a list. A parameter that is assigned to
stands for something else from there on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.findings import Step
from ferrule_lint.semantics.calls.instantiate import of_parameters
from ferrule_lint.semantics.domain.axes import Axes
from ferrule_lint.semantics.domain.dependences import FLOWS, NOTHING, root_of
from ferrule_lint.semantics.domain.joins import join2
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.summary import Latent
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.project.entities import FunctionInfo
from ferrule_lint.semantics.project.options import passed
from ferrule_lint.semantics.walk import aliases, captured, state, stored

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.summary import Summary
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: places in its parameters that one function's summary tells of
MOST_PLACES = 16
#: stands for the items of a list
ITEMS = "[]"
#: stands for the entries of a dict, whose keys need not be others in each round
ENTRIES = "[=]"


def enter(frame: Frame, function: FunctionInfo) -> None:
    """The parameters of a function stand for what was passed."""
    frame.given = {p.name for p in function.parameters if p.kind != "*"}
    captured.enter(frame, function)


def stands_for_passed(frame: Frame, place: str) -> bool:
    """Whether a place is a parameter or a part of one, other than an attribute of the instance itself, which `state`
    follows."""
    root = root_of(place)
    if root in frame.captured:
        return True
    return root in frame.given and not (root == frame.self_name and place.count(".") <= 1)


# ---------------------------------------------------------------------- what is left there
def left(frame: Frame) -> tuple[dict[str, Value], frozenset[str]]:
    """What a function leaves in its parameters, that which tells most first; and which of it on every way."""
    places = sorted(frame.left_in, key=lambda place: not _tells(frame.left_in[place]))[:MOST_PLACES]
    return {p: frame.left_in[p] for p in places}, frozenset(frame.surely.intersection(places)) or NOTHING


def agreed(frame: Frame) -> dict[str, Axes]:
    """The parameters, and fields of them, that hold the same on all ranks afterwards."""
    assert frame.function is not None
    names = {p.name for p in frame.function.parameters}
    own = frame.self_name
    return {
        place: axes
        for place, axes in frame.made_uniform.items()
        if place in names or (root_of(place) in frame.given and root_of(place) != own)
    }


def after_call(frame: Frame, summary: Summary, call: f.Call | None, receiver: bool, bound: Mapping[str, Value]) -> None:
    """At a call: what the callee has left in what was passed to it."""
    if call is None or frame.light or summary.function is None:
        return
    with frame.recording():  # that a property of what is passed is looked at again is no event
        for place, value in summary.left_in.items():
            root = root_of(place)
            if captured.is_mark(root):
                now = of_parameters(frame, value, summary, bound, call.pos)
                surely = place in summary.surely and last_name(call.func) == summary.function.name
                captured.after_call(frame, place, now, surely, call)
                continue
            expr = passed(call, summary.function, receiver, root)
            if expr is not None and place_name(expr):
                now = of_parameters(frame, value, summary, bound, call.pos)
                own = receiver and root == summary.function.parameters[0].name
                if place in (root + ITEMS, root + ENTRIES) and _is_entry(
                    frame, summary.function, call, receiver, root, now
                ):
                    continue
                leave(frame, expr, place[len(root) :], now, place in summary.surely, call, own)


def _is_entry(frame: Frame, function: FunctionInfo, call: f.Call, receiver: bool, parameter: str, now: Value) -> bool:
    """Whether what a call has put into a dict is an entry under a key that it is passed."""
    from ferrule_lint.semantics.walk import entered_by_calls

    if now.length is not None:
        return False  # a test in the function tells who enters something
    found = False
    for target, index in entered_by_calls.entries(frame, function, call, receiver, parameter):
        if type(index) is f.Const:
            stored.store_item(frame, f.Subscript(target, index, call.pos), now)
        elif frame.path_divergence() is None or not entered_by_calls.is_made_elsewhere(frame, call, index):
            return False
        found = True
    return found


def leave(frame: Frame, expr: f.Expr, rest: str, now: Value, surely: bool, call: f.Call, own: bool) -> None:
    for suffix, method in ((ITEMS, "append"), (ENTRIES, "__setitem__")):
        if rest.endswith(suffix):
            _add(frame, part_of(expr, rest[: -len(suffix)]), now, call, own, method)
            return
    target = part_of(expr, rest)
    if type(target) is not f.Subscript:
        for name in (expr, *aliases.other_names(frame, place_name(expr))):
            _set(frame, part_of(name, rest), now, surely)
    elif _tells(now) or (now.uniform and surely):
        stored.store_item(frame, target, now)


def part_of(expr: f.Expr, rest: str) -> f.Expr:
    """`expr.a['b']` for the rest `.a['b']` of a place."""
    pos = getattr(expr, "pos", (0, 0, 0, 0))
    path, bracket, key = rest.partition("[")
    for name in path.split(".")[1:]:
        expr = f.Attr(expr, name, pos)
    return f.Subscript(expr, f.Const(key[:-1]), pos) if bracket else expr


def _place_of_item(target: f.Expr) -> str:
    """A place, or an entry of one whose key is written out: `history["loss"]`."""
    if type(target) is f.Subscript and type(target.index) is f.Const and (holder := place_name(target.base)):
        return f"{holder}[{target.index.text}]"
    return place_name(target)


def _set(frame: Frame, target: f.Expr, now: Value, surely: bool) -> None:
    place = place_name(target)
    known = frame.read(place) or _in_record(frame, place)
    if not surely:
        now = now._replace(const=None)
        if known is None and not _tells(now):
            return
        now = join2(frame.eval(target) if known is None else known, now)._replace(const=None, items=None)
    elif known is None and not _tells(now):
        return
    frame.write(place, now)


def _in_record(frame: Frame, place: str) -> Value | None:
    """What a field of an object holds that somebody has handed back with what is in it."""
    holder, _, name = place.rpartition(".")
    record = frame.read(holder) if holder else None
    return record.entry(name) if record is not None and record.types else None


def _add(frame: Frame, target: f.Expr, added: Value, call: f.Call, own: bool, method: str) -> None:
    from ferrule_lint.semantics.calls import methods

    place = _place_of_item(target)
    # whether it is called, and how often, is for this function to say, where it does not change an object of its own
    if place and (_tells(added) or (not own and (frame.conditions or frame.loop_depth))):
        methods.filled(frame, place, frame.read(place) or frame.eval(target), added, call.pos, method, of_object=own)


def _tells(value: Value) -> bool:
    return bool(value.tells or value.data or value.deps or value.unordered)


# ---------------------------------------------------------------------- what is asked of it
#: fields of tensors, and what is the same whatever it is asked of
_OF_TENSORS = frozenset("shape dtype device grad data T ndim is_cuda requires_grad config training __class__".split())


def of_field(frame: Frame, place: str, value: Value) -> Value:
    """A field of a parameter, or of a field of one: it depends on what the caller has put there."""
    if not place or root_of(place) not in frame.given or place.rpartition(".")[2] in _OF_TENSORS:
        return value
    # what the function takes it for, its caller may know; and of what size what methods have put under a key is
    data = value.data is not None and not value.data.assumed and not (place[-1] == "]" and _attribute(frame, place))
    known = value.divergence or data or value.presence or value.uniform or value.const or value.group
    if known or value.module or value.loader:
        return value
    if root_of(place) == frame.self_name and not _is_matter_of_calls(frame, _attribute(frame, place)):
        return value
    return value._replace(deps=value.deps | {(place, FLOWS)})


def _attribute(frame: Frame, place: str) -> str:
    """The attribute of the instance that a place is, or is an entry of."""
    return frame.own_attribute(place.partition("[")[0])


def _is_matter_of_calls(frame: Frame, name: str) -> bool:
    """Whether an attribute of the instance is one that a method sets, counts with or adds to: what it holds is a matter
    of who has called that."""
    if not name or frame.self_class is None:
        return False
    holders = frame.analysis.holders
    return name in holders.changed(frame.self_class) or name in holders.set_later(frame.self_class)


def _is_changed_by_calls(frame: Frame, receiver: Value, name: str) -> bool:
    """Whether an attribute of an object is one that a method counts with or adds to, and that none sets again: that may
    be known of an object which the function has from elsewhere, too."""
    return any(name in frame.analysis.holders.changed(info) for info in receiver.types)


def asked(summary: Summary) -> frozenset[str]:
    """The fields of parameters on which something depends that a summary tells its callers."""
    values = (summary.result, *summary.left_in.values(), *summary.self_writes.values())
    names = {name for value in values for name in _names(value)}
    names |= {name for latent in summary.latents for name in _of_latent(latent)}
    return frozenset([name for name in names if root_of(name) not in ("", name)]) or NOTHING


def _of_latent(latent: Latent) -> Iterator[str]:
    return (name for name, _ in latent.deps)


def _names(value: Value) -> Iterator[str]:
    for deps in (value.deps, value.length_deps, value.shape_deps):
        yield from (name for name, _ in deps)
    for part in value.items or ():
        yield from _names(part)
    for _, part in value.entries:
        yield from _names(part)


def bind(
    frame: Frame, summary: Summary, call: f.Call | None, receiver: bool, bound: dict[str, Value]
) -> dict[str, Value]:
    """The arguments of a call, with the fields of them that the summary asks for."""
    if not summary.fields or call is None or summary.function is None:
        return bound
    found: dict[str, Value] = {}
    for name in summary.fields:
        root = root_of(name)
        argument = bound.get(root)
        if argument is None:
            continue
        rest = name[len(root) :]
        expr = passed(call, summary.function, receiver, root)
        place = place_name(expr or _spread(call, summary.function, root))
        value = frame.read(place + rest) if place else None
        if value is None and argument.entries:
            value = argument.entry(rest[1:-1] if rest[0] == "[" else rest[1:])
        if value is None and root_of(place) in frame.given and root_of(place) != frame.self_name:
            value = Value(deps=frozenset([(place + rest, FLOWS)]))
        own = receiver and root == summary.function.parameters[0].name
        if value is not None and own and _set_by_another_class(frame, place, argument, value):
            continue
        if value is None and expr is not None and place:
            value = _held(frame, argument, part_of(expr, rest), rest[1:], own)
        if value is None and expr is not None and argument.data is not None and rest[0] == "." and not own:
            value = frame.ask(part_of(expr, rest))  # a field of local data is local data
        if value is not None:
            found[name] = value
    return bound | found if found else bound


def _held(frame: Frame, instance: Value, part: f.Expr, name: str, own: bool) -> Value | None:
    """What a field of an object holds by what methods of its class do, where that tells something; `own`: of the object
    whose method is called, only what these change there."""
    if not (_is_changed_by_calls(frame, instance, name) if own else len(instance.types) == 1):
        return None
    held = frame.ask(part)
    if own:  # what the rank alone decides is mostly asked in the same way on either side
        by_rank = any(why is not None and why.kind == "rank" for why in (held.divergence, held.length))
        return None if by_rank else held
    return held if held.divergence or held.presence or held.length or held.shape else None


def _set_by_another_class(frame: Frame, place: str, instance: Value, value: Value) -> bool:
    """Whether a variable is one of several classes, of which another one than this call is about has set the field."""
    held = frame.read(place)
    apart = value.presence or value.divergence
    if apart is None or held is None or len(held.types) < 2 or len(instance.types) != 1:
        return False
    (info,) = instance.types
    methods = [m for c in frame.analysis.names.mro(info) for m in c.methods.values()]
    setting = [step for step in apart.why if step.note.endswith(state.SET_THERE)]
    return bool(setting) and not any(_stands_in(step, m) for step in setting for m in methods)


def _stands_in(step: Step, method: FunctionInfo) -> bool:
    last = max((s.line for s in statements(method.body)), default=0)
    return step.path == method.module.path and method.line <= step.line <= last


def _spread(call: f.Call, function: FunctionInfo, name: str) -> f.Expr | None:
    """What `**options` of a call passes on to a parameter `**options`."""
    takes = any(p.name == name and p.kind == "**" for p in function.parameters)
    return next((value for key, value in call.keywords if key is None), None) if takes else None
