"""Methods of containers, strings and tensors, told by their names: sizes, items, what is put into a list."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import text_methods
from ferrule_lint.semantics.calls.builtin_calls import empty_or_not, serialised
from ferrule_lint.semantics.calls.callbacks import mapped_in_threads, run_in_thread
from ferrule_lint.semantics.data import (
    batch_fields,
    by_number,
    each_way,
    filling,
    filters,
    grouping,
    layout,
    lengths,
    put_together,
)
from ferrule_lint.semantics.data.ordering import SET_METHODS, numbers, round_order, sorted_value
from ferrule_lint.semantics.data.records import MOST_ENTRIES, with_entry
from ferrule_lint.semantics.data.selection import MASKS
from ferrule_lint.semantics.domain.axes import UNKNOWN_GROUP
from ferrule_lint.semantics.domain.dependences import FLOWS, ITEM, NO_DEPS, NOTHING, OBSERVED, only, recast
from ferrule_lint.semantics.domain.joins import join
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value, contained, worse
from ferrule_lint.semantics.domain.reach import reaching
from ferrule_lint.semantics.domain.targets import MethodTarget
from ferrule_lint.semantics.domain.text import called_name, last_name, place_name, render, shown
from ferrule_lint.semantics.gradients import meeting
from ferrule_lint.semantics.project.fills import MAKING
from ferrule_lint.semantics.sources import environment, setting_names
from ferrule_lint.semantics.walk import (
    aliases,
    behind_exits,
    captured,
    collected_later,
    filled_by_others,
    given,
    own_keys,
    removed,
    updated,
)
from ferrule_lint.semantics.walk.binding import held_class

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

#: how many elements a tensor has, which is nothing of what is in it
COUNTS = frozenset({"numel", "nelement"})
SIZES = COUNTS | {"size", "__len__"}


def size(frame: Frame, target: MethodTarget, arguments: Arguments) -> Value:
    """`x.size(0)`, `x.numel()`: local where the shape is; else what differs is at most whether it is zero."""
    receiver = target.receiver
    index = render(arguments.expr.args[0]) if arguments.expr.args else ""
    if receiver.shape is None:
        emptiness = receiver.emptiness or (None if _is_sized(receiver) else receiver.data)
        if index:
            emptiness = batch_fields.emptiness_of(emptiness, index)
        # what a caller passes has no items at most in the first dimension: the others are the model's
        deps = empty_or_not(receiver) if index in ("", "0") else NO_DEPS
        deps |= batch_fields.later(frame, _asked_of(arguments), index if target.name == "size" else "")
        if target.name == "size" and index and receiver.shape_deps:
            deps |= batch_fields.sized_by(receiver, index)
        elif target.name in COUNTS:
            deps |= only(receiver.shape_deps, OBSERVED, OBSERVED)
        return Value(emptiness=emptiness, uniform=receiver.uniform, deps=deps)
    later = batch_fields.is_uneven_later(receiver)
    sizes = receiver._replace(external=batch_fields.SIZE, target=None, uneven_last=later, layout=None)
    if target.name == "size":
        if not index:
            return sizes
        text, tensor = shown(arguments.expr), _asked_of(arguments)
        return batch_fields.dimension(frame, sizes, index, arguments.expr.pos, text, tensor)
    note = f"`{shown(arguments.expr)}` differs"
    return Value(divergence=receiver.shape.then(frame.step("flow", arguments.expr.pos, note)), there=True)


def _asked_of(arguments: Arguments) -> f.Expr | None:
    """What a method is called on."""
    return arguments.expr.func.base if type(arguments.expr.func) is f.Attr else None


def _is_sized(value: Value) -> bool:
    """Whether all ranks have as much of it, as of what is reduced."""
    return value.data is not None and value.data.sized


def method(frame: Frame, target: MethodTarget, arguments: Arguments) -> Value | None:
    """A method of a value of unknown type whose meaning does not depend on the type, or None."""
    name, receiver = target.name, target.receiver
    if name in ("append", "add", "extend", "insert", "update", "setdefault", "appendleft"):
        return _fill(frame, arguments, receiver)
    if (asked := text_methods.method(frame, name, arguments, receiver)) is not None:
        return asked
    if name in removed.METHODS:
        removed.by_method(frame, arguments.expr, receiver)
    if name == "index" and len(arguments.values) == 1 and (place := _place_of(frame, arguments)) is not None:
        return Value(divergence=place, there=True)
    if name in _SAME_EVERYWHERE:
        return Value(uniform=receiver.uniform)
    if name in SET_METHODS and receiver.unordered is not None:
        return receiver._replace(const=None, target=None, items=None)
    if name == "resize_":
        return _resized(frame, arguments, receiver)
    if name == "sort":
        _sort_in_place(frame, arguments, receiver)
        return UNKNOWN
    if name in ("get", "pop") and arguments.expr.args and _is_key(arguments.expr.args[0], name):
        return _get(frame, arguments, receiver)
    if name in ("keys", "values", "items", "copy") or (name == "most_common" and not arguments.values):
        return receiver._replace(const=None, target=None, items=None, emptiness=receiver.emptiness)
    if (name in ("getvalue", "getbuffer") and not arguments.values) or (name == "encode" and _to_bytes(arguments)):
        return serialised(frame, arguments.replaced(positional=(receiver,)))
    if name == "submit" and arguments.positional:
        return run_in_thread(frame, arguments)
    if name == "map" and receiver.external in _EXECUTORS:
        return mapped_in_threads(frame, arguments)
    if name in _TRANSPARENT:
        # a device is no part of the value: `x.cuda(rank)`
        operands = () if name in _MOVES else arguments.positional
        if name in _OF_SIZES:
            operands = tuple(map(_as_size, operands))
        value = join([receiver, *operands]).plain()
        dim = arguments.positional[0].const if arguments.positional else None
        if name == "squeeze" and dim not in (None, "0"):  # a dimension of size 1 is the same everywhere
            deps = recast(value.deps, ITEM, FLOWS)
            value = value._replace(shape=None if receiver.uneven_last else value.shape, deps=deps)
        return value._replace(
            boolean=name in MASKS or (receiver.boolean and not by_number.casts(arguments.expr)),
            layout=layout.after(receiver.layout, name, arguments.expr),
            uniform=receiver.uniform and value.uniform,
            presence=None,
            there=receiver.there,
            unwrapped=receiver.unwrapped,
        )
    return None


#: what a call of its class makes, and what an annotation says
_EXECUTORS = frozenset({"concurrent.futures.Executor", "concurrent.futures.ThreadPoolExecutor"})


def pushed(frame: Frame, arguments: Arguments) -> Value:
    """`heapq.heappush(heap, item)`: the heap gets an item, as by a method of its own."""
    e = arguments.expr
    if len(e.args) != 2 or len(arguments.positional) != 2:
        return UNKNOWN
    call = e._replace(func=f.Attr(e.args[0], "append", e.pos), args=e.args[1:])
    return _fill(frame, arguments.replaced(expr=call, positional=arguments.positional[1:]), arguments.positional[0])


def _place_of(frame: Frame, arguments: Arguments) -> Divergence | None:
    """Where a rank stands in a list (`ranks.index(rank)`): its place in the group whose members these are."""
    rank = arguments.values[0]
    if rank.divergence is None or rank.divergence.kind != "rank" or rank.rank[:1] != "#":
        return None
    text = render(arguments.expr.func)
    axes = frame.axes_in(text) or UNKNOWN_GROUP
    return rank.divergence._replace(axes=axes, group=text).at_most(Confidence.MEDIUM)


def _to_bytes(arguments: Arguments) -> bool:
    """`text.encode()`, `text.encode("utf-8")`: tokenizers have another `encode`."""
    first = arguments.expr.args[0] if arguments.expr.args else None
    return first is None or (type(first) is f.Const and re.search("(?i)utf|ascii|latin", first.text) is not None)


#: what depends on the program, not on the data
_SAME_EVERYWHERE = frozenset(
    "dim ndimension element_size is_floating_point is_contiguous is_complex get_device data_ptr stride".split()
)

_MOST_SLOTS = 48

_MOVES = frozenset({"to", "cuda", "cpu", "type_as"})
#: those that are given a size, or something of that size
_OF_SIZES = frozenset({"view", "reshape", "view_as", "reshape_as"})


def _as_size(value: Value) -> Value:
    """What something says that has the size of what a tensor is brought to: nothing of what is in that."""
    return Value(
        uniform=value.uniform, shape=value.shape, uneven_last=value.uneven_last, padded=value.padded,
        shape_deps=value.shape_deps, length=value.length, length_deps=value.length_deps,
    )  # fmt: skip


_TRANSPARENT = frozenset(
    [
        "to",
        "cuda",
        "cpu",
        "float",
        "half",
        "bfloat16",
        "int",
        "long",
        "bool",
        "contiguous",
        "detach",
        "clone",
        "view",
        "reshape",
        "view_as",
        "reshape_as",
        "permute",
        "transpose",
        "squeeze",
        "unsqueeze",
        "flatten",
        "double",
        "type",
        "numpy",
        "strip",
        "total_seconds",
        "timestamp",
        "lower",
        "upper",
        "logical_not",
        "logical_and",
        "logical_or",
        "ne",
        "eq",
        "lt",
        "gt",
        "le",
        "ge",
        "npu",
        "bitwise_not",
        "type_as",
        "iterrows",
        "itertuples",
        "reset_index",
    ]
)


def _is_uneven_here(frame: Frame, item: f.Expr) -> bool:
    """Whether this function has begun a list, and filled it in rounds, or under tests, of which the rank has its own:
    `self.data.extend(episode)`."""
    known = frame.env.get(item.id) if type(item) is f.Name else None
    return known is not None and known.container and known.length is not None and not known.length.assumed


def _fill(frame: Frame, arguments: Arguments, receiver: Value) -> Value:
    """Adding to a container: under a divergent condition its length differs from then on."""
    e = arguments.expr
    base = e.func.base if type(e.func) is f.Attr else None
    place = place_name(base)
    if type(base) is f.Subscript and type(base.index) is not f.Const and place_name(base.base):
        # `groups[key].append(x)` where the key makes the entry
        _keyed(frame, base, join(arguments.values))
        return UNKNOWN
    if type(base) is f.Subscript and type(base.index) is f.Const and (holder := place_name(base.base)):
        place = f"{holder}[{base.index.text}]"  # `history["loss"].append(x)`
        if _makes_entry(frame, base):
            _keyed(frame, base, frame.read(place) or UNKNOWN)
    if not place:
        return UNKNOWN
    if last_name(e.func) == "setdefault" and base is not None and len(e.args) == 2:
        _keyed(frame, f.Subscript(base, e.args[0], e.pos), arguments.positional[1], makes=True)
        return frame.read(place) or UNKNOWN
    if base is not None and (key := setting_names.key_of(e)) is not None:
        _keyed(frame, f.Subscript(base, key, e.pos), arguments.positional[1])
        return UNKNOWN
    known = frame.read(place) or receiver
    if last_name(e.func) == "update" and base is not None and updated.with_entries(frame, base, known, arguments):
        return UNKNOWN
    added = join(arguments.values)
    whole = last_name(e.func) in ("extend", "update")
    of_rank = whole and added.length is not None and added.length.kind == "rank"
    # `found.extend([x for x in xs if x.ok])`; what sets and dicts are updated with are mostly keys
    tested = last_name(e.func) == "extend" and any(
        filters.asks_each(frame, item) or _is_list_of(item) or _is_uneven_here(frame, item) for item in e.args
    )
    if of_rank or (whole and (put_together.is_filled_here(known, added) or _brings_keys(e, known, added))):
        known = known._replace(length=worse(known.length, added.length))
    added = added._replace(
        length=added.length if of_rank or tested else None,
        length_deps=added.length_deps if tested else NO_DEPS,
        unordered=added.unordered if whole else None,
        element_types=added.types | (added.element_types if whole else NOTHING),
        holds=added.holds if whole else added.external,
        # each item has a size of its own; how many rows there are is how many items are put in: `kept.extend(x[mask])`
        uneven_last=added.shape is not None and (last_name(e.func) != "extend" or added.container or added.uneven_last),
    )
    adds_one = last_name(e.func) == "add" and len(e.args) == 1
    if adds_one and (known.container or own_keys.begun_empty(frame, place, e.args[0])):
        met = grouping.of_member(frame, e.args[0], place, added, e.pos)
        known = known._replace(length=worse(known.length, met))
    if last_name(e.func) == "update" and len(e.args) == 1 and known.container:
        met = grouping.of_update(frame, e.args[0], place, arguments.positional[0], e.pos)
        known = known._replace(length=worse(known.length, met))
    if last_name(e.func) == "extend" and len(arguments.values) == 1 and (items := arguments.values[0].items):
        added = put_together.as_large_as(added, items)
    of_numbers = last_name(e.func) == "add" and any(numbers(a) for a in e.args)
    if of_numbers:
        known = known._replace(unordered=None)
    extends = last_name(e.func) == "extend" and len(e.args) == 1
    evened = filling.with_added(frame, UNKNOWN, e.args[0], place) if extends else UNKNOWN
    if extends and not evened.filled and type(e.func) is f.Attr and (known.length or known.length_deps):
        evened = evened._replace(filled=lengths.is_filled(frame, (e.func.base, e.args[0]), e.pos))
    filled(frame, place, known, added, e.pos, last_name(e.func), _slots(e, known, arguments), of_numbers, evened.filled)
    if evened.multiple:
        frame.env[place] = frame.env[place]._replace(multiple=True)
    if type(base) is f.Subscript:
        _in_own_dict(frame, base, place)
    return UNKNOWN


def filled(
    frame: Frame,
    place: str,
    known: Value,
    added: Value,
    pos: f.Pos,
    method: str = "append",
    slots: frozenset[str] | None = None,
    of_numbers: bool = False,
    evened: bool = False,
    of_object: bool = False,
) -> None:
    """Something is added to a container, by a method of its own or by a function that it is passed to. The length of
    what is added is why there is more of it on some ranks, its order the one in which it comes. `evened`: it is what
    the container lacked to a length that ranks agree on."""

    def by_name(name: str, held: Value) -> None:
        _put_in(frame, name, held, added, pos, method, slots, of_numbers, evened, of_object)

    def by_other_name(other: f.Expr) -> None:
        by_name(place_name(other), frame.eval(other))

    aliases.shared(frame, place, by_other_name, lambda: by_name(place, known))


def _put_in(
    frame: Frame,
    place: str,
    known: Value,
    added: Value,
    pos: f.Pos,
    method: str,
    slots: frozenset[str] | None,
    of_numbers: bool,
    evened: bool,
    of_object: bool,
) -> None:
    passed = given.stands_for_passed(frame, place)
    by_path, of_round = frame.path_divergence(), filters.of_round(frame, place, pos)
    if by_path is not None and method == "append" and _is_on_each_way(frame, place):
        around = frame.rounds[-1].conditions if frame.rounds else 0
        by_path, of_round = frame.path_divergence(len(frame.conditions) - around), None
    divergence = by_path or of_round
    if by_path is not None and by_path.kind == "rank" and method == "append":
        filled_by_others.by_others(frame, place, pos)
    if frame.gradients:
        meeting.append(frame, place, added.reach if method == "append" else None)
    more = added.length
    grows = method in ("append", "extend") and not known.types
    fills = grows and (of_object or place.startswith(f"{frame.self_name}."))
    step = frame.step("flow", pos, f"`{captured.as_written(place)}` gets items on some ranks only")
    in_rounds = method != "__setitem__"  # an entry is made once, in however many rounds
    if divergence is None or divergence.kind == "rank" or slots is not None:
        of_rank = passed and by_path is not None and by_path.kind == "rank" and place not in frame.filled_alike
        # callers see no arms that meet
        divergence = by_path if of_rank else frame.round_divergence() if in_rounds else None
    elif known.container and by_path and behind_exits.concerns_callers(frame, place, by_path.then(step)):
        divergence = of_round or frame.round_divergence()
    if divergence is not None and (known.container or fills or passed):
        more = worse(more, divergence.then(step))
    data = added.data
    for item in (added, *(added.items or ())):  # what the host or the data says: `results.append((fine, path))`
        if item.divergence is not None and item.divergence.kind in ("data", "host"):
            data = worse(data, item.divergence)
    if method in ("append", "extend") and not of_numbers and (own := only(added.deps, FLOWS, FLOWS)):
        rows = method == "extend" and added.shape is not None and not added.uneven_last  # `kept.extend(x[mask])`
        added = added._replace(shape_deps=added.shape_deps | own, uneven_last=not rows)  # of what size callers know
    order = None
    if (known.container or passed) and not of_numbers:
        order = added.unordered or round_order(frame, pos, place)
    lengths = added.length_deps
    if (known.container or passed) and in_rounds:
        lengths |= frame.round_deps() | filters.deps_of_round(frame, place, pos)
    if known.container or grows or passed:
        lengths |= filters.deps_of_presence(frame, place, pos)
    if passed:
        frame.leave(
            f"{place}{given.ITEMS if in_rounds else given.ENTRIES}",
            Value(
                data=data, deps=contained(added).deps, length=more, length_deps=lengths, unordered=order,
                element_types=added.element_types, holds=added.holds, shape=added.shape, uneven_last=added.uneven_last,
                shape_deps=added.shape_deps,
            ),
        )  # fmt: skip
    elif fills:
        # for callers, who may do so in rounds of their own
        sized = Value(shape=added.shape, uneven_last=added.uneven_last, shape_deps=added.shape_deps)
        frame.leave(f"{place}{given.ITEMS}", sized._replace(data=data, deps=contained(added).deps))
    length = worse(known.length, more) if known.container or fills else known.length
    merged = known._replace(
        unordered=known.unordered or order if known.container else known.unordered,
        in_order=False,
        uniform=known.uniform and added.uniform and length is None,
        data=worse(known.data, data),
        keyed=known.keyed if data is None else None,
        deps=known.deps | contained(added).deps if known.container else known.deps,
        length=length,
        length_deps=known.length_deps | lengths if known.container or grows else known.length_deps,
        element_types=known.element_types | added.element_types,
        holds=known.holds or added.holds,
        items=None,
        const=None,
        shape=worse(known.shape, added.shape),
        uneven_last=known.uneven_last or added.uneven_last,
        padded=worse(known.padded, added.padded),
        reach=reaching(known.reach, added.reach),
        slots=slots,
        shape_deps=known.shape_deps | added.shape_deps,
        agreed=added.agreed and (known.agreed or known.slots == NOTHING),
    )
    if evened:
        merged = filling.filled_up(merged)
    frame.env[place] = merged
    frame.renew(place)
    if place.endswith("]") and (merged.tells or merged.slots is not None):
        _in_its_dict(frame, place, merged)
    if name := frame.own_attribute(place):
        guard = frame.path_divergence()
        if guard is not None and guard.kind == "rank" and (known.container or fills):
            # other methods see what is left of the guard: on the other ranks there is less of it
            note = f"`{place}` gets items on some ranks only"
            guard = guard.then(frame.step("flow", pos, note))
            if not known.container:
                guard = guard.at_most(Confidence.MEDIUM)  # made elsewhere
            merged = merged._replace(length=worse(merged.length, guard))
        if frame.light and collected_later.of_some_parts(added):
            merged = merged._replace(data=None)
        frame.also_left(name, merged)


def _in_its_dict(frame: Frame, place: str, value: Value) -> None:
    """`results["loss"].append(x)`: whoever is handed the dict finds the list under that key."""
    name, _, key = place.removesuffix("]").partition("[")
    held = frame.env.get(name) if key[:1] in ("'", '"') else None
    if held is None or not name.isidentifier():
        return
    entries = with_entry(held.entries, key, value)
    if len(entries) <= MOST_ENTRIES:
        frame.env[name] = held._replace(entries=entries, uniform=False)


def _in_own_dict(frame: Frame, entry: f.Subscript, place: str) -> None:
    """`self.results["loss"].append(x)`: other methods find the list under that key of the attribute."""
    holder, value = place_name(entry.base), frame.env[place]
    name = frame.own_attribute(holder)
    if not name or type(entry.index) is not f.Const or not value.tells:
        return
    held = frame.eval(entry.base)
    entries = with_entry(held.entries, entry.index.text, value)
    if len(entries) <= MOST_ENTRIES:
        frame.env[holder] = held._replace(entries=entries, uniform=False)
        frame.also_left(name, frame.env[holder])


def _is_on_each_way(frame: Frame, place: str) -> bool:
    """Whether a list gets as many items in a round of the loop around, or in the function, whichever way that takes."""
    around = frame.rounds[-1].statement if frame.rounds else frame.function
    if around is None:
        return False
    body = around.body
    return frame.analysis.bodies.once(each_way.gets_as_many, body, place)


def _is_list_of(expr: f.Expr) -> bool:
    """`x.tolist()`: as long as the tensor."""
    return type(expr) is f.Call and last_name(expr.func) == "tolist"


def _brings_keys(e: f.Call, known: Value, added: Value) -> bool:
    """`total.update(losses(batch))`: what a function has put in under a test of local data comes with it."""
    of_data = added.length is not None and added.length.kind == "data" and not added.length.assumed
    called = bool(e.args) and type(e.args[0]) is f.Call
    return last_name(e.func) == "update" and known.container and of_data and called


def _makes_entry(frame: Frame, entry: f.Subscript) -> bool:
    """Whether an entry of a `defaultdict` of the function, asked for nowhere else in it, is added to."""
    body = frame.function.body if frame.function is not None else ()
    made = [called_name(value) for value in frame.analysis.bodies.assigned(body, place_name(entry.base))]
    if not made or not MAKING.issuperset(made):
        return False
    written = frame.analysis.bodies.once(_entries, body).get(render(entry), set())
    return written <= {entry.pos}


def _entries(body: f.Body) -> Mapping[str, set[f.Pos]]:
    """Where each entry is written, by its text."""
    found: dict[str, set[f.Pos]] = {}
    for node in nodes(body, f.Subscript):
        found.setdefault(render(node), set()).add(node.pos)
    return found


def _keyed(frame: Frame, target: f.Subscript, value: Value, makes: bool = False) -> None:
    """`makes`: the entry if it is not there."""
    from ferrule_lint.semantics.walk.stored import store_item

    store_item(frame, target, value, grouped=True, makes=makes)


def _slots(e: f.Call, known: Value, arguments: Arguments) -> frozenset[str] | None:
    """The places of a list or dict after a call that adds to it; None if they cannot be told."""
    name = last_name(e.func)
    if known.slots is None or len(known.slots) > _MOST_SLOTS:
        return None
    if name in ("append", "appendleft", "insert", "add"):
        return known.slots | {str(len(known.slots))}
    if name == "update" and (given_keys := put_together.by_keywords(arguments)) is not None:
        return known.slots | given_keys
    added = arguments.positional[0].slots if len(arguments.positional) == 1 else None
    if name == "extend" and added is not None:
        return known.slots | {str(len(known.slots) + i) for i in range(len(added))}
    if name == "setdefault" and e.args and type(e.args[0]) is f.Const:
        return known.slots | {e.args[0].text}
    return None


def _resized(frame: Frame, arguments: Arguments, receiver: Value) -> Value:
    """`x.resize_(n)`: cut or filled up to a size."""
    func = arguments.expr.func
    place = place_name(func.base) if type(func) is f.Attr else ""
    resized = receiver._replace(shape=None, length=None, padded=None, shape_deps=NO_DEPS, layout=None)
    if place:
        frame.env[place] = resized
    return resized


def _sort_in_place(frame: Frame, arguments: Arguments, receiver: Value) -> None:
    """`x.sort()`."""
    func = arguments.expr.func
    place = place_name(func.base) if type(func) is f.Attr else ""
    if place:
        frame.env[place] = sorted_value(frame.read(place) or receiver)


def _is_key(expr: f.Expr, method: str) -> bool:
    """Whether an argument of `get` or `pop` is a key that is written out; lists are popped by numbers."""
    return type(expr) is f.Const and (method == "get" or expr.text[:1] in "'\"")


def _get(frame: Frame, arguments: Arguments, receiver: Value) -> Value:
    """`batch.get("key")`."""
    e = arguments.expr
    base = e.func.base if type(e.func) is f.Attr else e.func
    told = environment.looked_up(frame, base, e.args[0], e.pos)
    if told is not None:
        return told
    key = e.args[0]
    assert type(key) is f.Const
    entry = receiver.entry(key.text) if receiver.entries else None
    if entry is not None:
        # where it is not there, it is the default
        return entry._replace(divergence=worse(entry.divergence, entry.presence), const=None)
    value = receiver._replace(
        data=None if receiver.is_keyed and setting_names.is_name(key.text) else receiver.data,
        keyed=None,
        types=receiver.element_types,
        external=held_class(frame, receiver),
        items=None,
        const=None,
        target=None,
        length=None,
        uniform=False,
        divergence=None,
        there=False,
        unordered=None,
        in_order=False,
    )
    name = key.text.strip("'\"")
    value = setting_names.of_entry(base, value)
    if value.data is not None:
        value = batch_fields.field_of_batch(frame, value, name, e.pos)
        if value.presence is None:
            value = value._replace(presence=batch_fields.absent_from_sample(frame, receiver, shown(e), e.pos))
        return value
    if (place := place_name(base)) and receiver.keyed is None:
        value = given.of_field(frame, f"{place}[{key.text}]", value)
    presence = batch_fields.optional_entry(frame, base, name, e.pos)
    return value if presence is None else value._replace(presence=presence)
