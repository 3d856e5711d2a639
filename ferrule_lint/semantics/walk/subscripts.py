"""`a[b]`: items, entries and slices."""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import special_methods
from ferrule_lint.semantics.data import (
    batch_fields,
    by_lot,
    cutting,
    lengths,
    looked_up,
    own_records,
    sample_fields,
    selection,
    shares,
)
from ferrule_lint.semantics.domain.dependences import (
    DEALT,
    ENTERED,
    FLOWS,
    NO_DEPS,
    NOTHING,
    OBSERVED,
    SIZED,
    only,
    recast,
    without,
)
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value
from ferrule_lint.semantics.domain.targets import SeveralTarget
from ferrule_lint.semantics.domain.text import last_name, place_name, render, shown
from ferrule_lint.semantics.gradients import participation
from ferrule_lint.semantics.groups import dimensions
from ferrule_lint.semantics.sources import admissions, environment, field_names, own_number, setting_names
from ferrule_lint.semantics.walk import given, read_entries
from ferrule_lint.semantics.walk.binding import held_class, of_items
from ferrule_lint.semantics.walk.displays import is_table
from ferrule_lint.semantics.walk.frame import Frame

_COORDINATES = ("_coord", "_coords", "_coordinate", "_coordinates")


def _of_one_axis(frame: Frame, name: str) -> bool:
    """Whether this holds the place and the number of places along one axis: `tp_coord`."""
    return name.endswith(_COORDINATES) and frame.models.convention("rank", name) is not None


def _is_new_list(frame: Frame, e: f.Subscript, place: str, base: Value) -> bool:
    """Whether nothing has been put into a dict that makes a list for each key which it is asked for
    (`defaultdict(list)`), and it is asked for one that is written out."""
    if type(e.index) is not f.Const or not base.container or base.entries or base.data is not None or not base.uniform:
        return False
    # asked of every entry that is read: most files make no such dict
    if frame.function is None or not place or not frame.module.mentions_any(_SAYS_IT):
        return False
    made = frame.analysis.bodies.assigned(frame.function.body, place)
    return bool(made) and all(map(_makes_lists, made))


_SAYS_IT = frozenset({"defaultdict"})


def _makes_lists(value: f.Expr) -> bool:
    if type(value) is not f.Call or last_name(value.func) != "defaultdict" or len(value.args) != 1:
        return False
    return type(value.args[0]) is f.Name and value.args[0].id == "list"


def _some_of(value: Value, base: Value) -> Value:
    """Some of the items of a list, which are a list of the same."""
    return value._replace(types=base.types, element_types=base.element_types, external=None, holds=base.holds)


def _sized(size: f.Expr) -> f.Expr | None:
    """`x` of `x.shape`."""
    return size.base if type(size) is f.Attr and size.attr == "shape" else None


def subscript(frame: Frame, e: f.Subscript) -> Value:
    place = place_name(e.base)
    if type(e.index) is f.Const and place:
        known = frame.read(f"{place}[{e.index.text}]")
        if known is not None:
            frame.eval(e.base)
            return read_entries.made(frame, place, e, known)
    base, index = frame.eval(e.base), frame.eval(e.index)
    if index.divergence is not None and own_number.is_of_thread(frame, e.index):
        index = UNKNOWN
    if base.entries and type(e.index) is f.Const and (entry := base.entry(e.index.text)) is not None:
        if place and frame.own_attribute(place):
            entry = given.of_field(frame, f"{place}[{e.index.text}]", entry)
        return read_entries.made(frame, place, e, entry)
    if base.entries and type(e.index) is not f.Const and is_table(v for _, v in base.entries):
        return Value(target=SeveralTarget(tuple(v for _, v in base.entries)), divergence=index.divergence)
    special_methods.run(frame, base, "__getitem__", e.pos, (index,))
    told = environment.looked_up(frame, e.base, e.index, e.pos)
    if told is not None:
        return told
    if (drawn := by_lot.item_of(frame, e)) is not None:
        return drawn
    if _is_new_list(frame, e, place, base):
        return Value(uniform=True, container=True, slots=NOTHING)
    if base.items is not None and type(e.index) is f.Const:
        try:
            return base.items[int(e.index.text)]
        except (ValueError, IndexError):
            pass
    if base.items is not None and type(e.index) is f.Op and (some := _part_of_display(base.items, e.index)):
        return base._replace(items=some, const=None, slots=None)
    if base.divergence is not None and (along := dimensions.place_along(frame, e, base)) is not None:
        return along
    if base.external == batch_fields.SIZE and type(e.index) is not f.Op:
        return batch_fields.dimension(frame, base, render(e.index), e.pos, shown(e), _sized(e.base))
    if base.divergence is not None and e.index != f.Const("0") and _of_one_axis(frame, last_name(e.base)):
        return UNKNOWN
    key = e.index.text.strip("'\"") if type(e.index) is f.Const else ""
    role = frame.models.class_(base.external) if base.external else None
    if role is not None and role.role == "group":
        named = dimensions.axes_of(frame, key) if dimensions.key_in(e.index) else frame.axes_in(key)
        return base._replace(group=named or base.group)
    # local data that lies under other keys is none of this entry
    of_others = base.is_keyed and type(e.index) is f.Const and setting_names.is_name(e.index.text)
    value = base._replace(
        data=None if of_others else base.data,
        keyed=None,
        given=(),
        multiple=False,
        layout=None,
        apart=None,
        presence_deps=NO_DEPS,
        part=True,
        types=base.element_types,
        element_types=NOTHING,
        holds=None,
        items=None,
        const=None,
        target=None,
        length=None,
        length_deps=without(base.length_deps, OBSERVED, ENTERED) if base.length_deps else NO_DEPS,
        loader=base.loader,
        container=False,
        external=held_class(frame, base),
        emptiness=base.emptiness,
        unordered=None,
        in_order=False,
        there=False,
        slots=None,
        boolean=False,
    )
    selected = selection.of_index(frame, e, base, index)
    if selected is not None:
        value = value._replace(shape=selected.shape, shape_deps=selected.shape_deps, uneven_last=False)
    elif (cut := cutting.of_slice(frame, e, base) or cutting.of_rounded_share(frame, e, base)) is not None:
        value = value._replace(shape=cut[0], uneven_last=cut[1])
    elif (value.shape is not None or value.shape_deps) and selection.is_one_row(frame, e, base):
        value = value._replace(shape=None, shape_deps=NO_DEPS)
    elif (value.shape or value.shape_deps) and not base.uneven_last and shares.cut_as_agreed(frame, e.index):
        most = type(e.index) is f.Op and shares.is_most_of_all(frame, e.index.operands[1])
        left = value.shape_deps if most else NO_DEPS
        value = value._replace(shape=None, shape_deps=left)
    elif value.shape is not None and selection.drops_padding(frame, e, base):
        value = value._replace(shape=None, uneven_last=False)
    if base.reach is not None and type(e.index) is f.Const:
        value = value._replace(reach=participation.part(base, e.index.text.strip("'\"")))
    if value.data is not None and (own_records.is_own_flag(frame, e) or cutting.to_whole_set(frame, e)):
        return UNKNOWN
    local = value.data
    if key:
        value = setting_names.of_entry(e.base, value)
        value = field_names.of_field(frame, e, base, key, value)
        value = admissions.of_entry(frame, e, value) if base.data is None else value
    if local is not None:
        if key and not own_records.is_of_one_size(frame, e, key):
            value = batch_fields.field_of_batch(frame, value, key, e.pos)
        elif not key and _is_token_shift(frame, e):
            note = f"`{shown(e)}` is shifted by a token: a sequence, padded to a length that the local batch decides"
            shape = local.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM)
            value = value._replace(shape=shape, uneven_last=True)
    if type(e.index) is f.Op and e.index.kind == "Slice" and index.divergence is not None:
        if shares.is_even(frame, e.index) or base.multiple or shares.dealt_in_turn(frame, e.base, e.index):
            return _some_of(value, base)._replace(uniform=False, in_order=base.in_order)
        note = f"`{shown(e)}` takes another share on every rank"
        share = index.divergence.then(frame.step("condition", e.pos, note)).at_most(Confidence.MEDIUM)
        if shares.is_hidden(frame, e.index):
            share = share.at_most(Confidence.LOW)
        # there is nothing only if there are fewer items than ranks
        emptiness = share.at_most(Confidence.LOW)
        return _some_of(value, base)._replace(
            length=share, uniform=False, divergence=None, emptiness=emptiness, in_order=base.in_order
        )
    dealt = only(index.deps, DEALT, FLOWS) if not base.multiple else NO_DEPS
    if _takes_no_rows(e):
        return Value(uniform=True)
    if type(e.index) is f.Op and e.index.kind == "Slice":
        leading = e.index.operands[0] == f.Const("None")
        deciding = base.length_deps
        if dealt and shares.deals_out(frame, e.base, e.index):
            deciding |= dealt
        uneven = value.shape if not base.uneven_last else None
        by_caller = not base.uneven_last and bool(value.shape_deps)
        alike = bool(base.length or deciding or uneven) and shares.cut_alike(frame, e.index)
        if (
            not alike
            and bool(base.length or deciding or uneven or by_caller or base.padded)
            and lengths.is_cut_in_full(frame, e)
        ):
            alike, value = True, value._replace(padded=None, deps=recast(value.deps, SIZED, FLOWS))
        if alike and (uneven is not None or by_caller):
            value = value._replace(shape=None, shape_deps=NO_DEPS)
        return _some_of(value, base)._replace(
            unordered=base.unordered,
            in_order=base.in_order,
            length=None if alike else base.length,
            length_deps=NO_DEPS if alike else deciding,
            external=base.external if base.external == batch_fields.SIZE and leading else None,
            multiple=shares.cut_to_multiple(frame, e.base, e.index),
        )
    if index.divergence is not None and not base.multiple and selection.deals(frame, e.index, index):
        note = f"`{shown(e)}` takes another share on every rank"
        share = index.divergence.then(frame.step("condition", e.pos, note)).at_most(Confidence.MEDIUM)
        emptiness = share.at_most(Confidence.LOW)
        return _some_of(value, base)._replace(length=share, uniform=False, divergence=None, emptiness=emptiness)
    if dealt and shares.dealt(frame, e.base):
        value = value._replace(length_deps=value.length_deps | dealt)
    if value.deps:
        value = value._replace(deps=of_items(value.deps))
    value = sample_fields.of_entry(frame, e, base, value)
    if frame.given and place and key:
        value = given.of_field(frame, f"{place}[{render(e.index)}]", value)
    if index.divergence is not None and base.divergence is None:
        # a table indexed by the rank is different data everywhere, but a guess as a condition
        if index.divergence.kind == "rank" and shares.dealt(frame, e.base):
            note = f"`{shown(e)}` is another share on every rank"
            share = index.divergence.then(frame.step("condition", e.pos, note)).at_most(Confidence.MEDIUM)
            value = value._replace(length=share, shape=share)
        return looked_up.of_entry(frame, e, base, index, value._replace(uniform=False))
    if not key and not index.uniform:
        value = looked_up.of_entry(frame, e, base, index, value._replace(uniform=False))
    return value


def _part_of_display(items: tuple[Value, ...], index: f.Op) -> tuple[Value, ...] | None:
    """`items[1:3]` of items that are told apart, with ends that are written out."""
    ends = [e.text for e in index.operands if type(e) is f.Const]
    if index.kind != "Slice" or len(ends) != 3 or not all(t == "None" or t.lstrip("-").isdigit() for t in ends):
        return None
    lower, upper, step = (None if t == "None" else int(t) for t in ends)
    return items[lower:upper:step] if step != 0 else None


def _takes_no_rows(e: f.Subscript) -> bool:
    """`table.iloc[0:0]`: none, on whatever rank and of whatever there is. Of a tensor the other dimensions would stay,
    and its gradient."""
    if type(e.base) is not f.Attr or e.base.attr != "iloc" or type(e.index) is not f.Op or e.index.kind != "Slice":
        return False
    lower, upper, _ = e.index.operands
    return upper == _ZERO and lower in (_NONE, _ZERO)


def _is_token_shift(frame: Frame, e: f.Subscript) -> bool:
    """`logits[..., :-1, :]`, `labels[:, 1:]`: the next-token shift tells that the second dimension is a sequence."""
    if type(e.index) is not f.Sequence or frame.models.convention("tokens", _field_name(e.base)) is None:
        return False
    return any(i > 0 and part in _SHIFTS for i, part in enumerate(e.index.elements[:3]))


def _field_name(expr: f.Expr) -> str:
    """`labels` for `labels`, `inputs.labels` and `inputs["labels"]`."""
    if type(expr) is f.Subscript and type(expr.index) is f.Const:
        return expr.index.text.strip("'\"")
    return last_name(expr)


_NONE = f.Const("None")
_ZERO = f.Const("0")

_SHIFTS = (f.Op("Slice", (_NONE, f.Const("-1"), _NONE)), f.Op("Slice", (f.Const("1"), _NONE, _NONE)))
