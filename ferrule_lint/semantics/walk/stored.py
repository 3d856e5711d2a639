"""`place[key] = value`: what a container holds, and how much of it there is, after one of its items is set."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements, way_to
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import grouping, layout
from ferrule_lint.semantics.data.accumulators import has_keys
from ferrule_lint.semantics.data.ordering import stored_order
from ferrule_lint.semantics.data.records import MOST_ENTRIES, with_entry
from ferrule_lint.semantics.domain.conditions import lets_others_in
from ferrule_lint.semantics.domain.dependences import NO_DEPS
from ferrule_lint.semantics.domain.lattice import Divergence, Value, contained, entry_of_one, worse
from ferrule_lint.semantics.domain.reach import reaching
from ferrule_lint.semantics.domain.text import last_name, place_name, position, render
from ferrule_lint.semantics.project.fills import MAKING
from ferrule_lint.semantics.sources import setting_names
from ferrule_lint.semantics.walk import (
    aliases,
    behind_exits,
    entered_later,
    filled_by_others,
    given,
    in_place,
    own_keys,
    written_beside,
)

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def store_item(frame: Frame, target: f.Subscript, value: Value, grouped: bool = False, makes: bool = False) -> None:
    """`place[key] = value`; `grouped`: the entry is one that others are added to (`place[key] += value`), and which
    `makes` says to be made where it is missing (`place.setdefault(key, value)`)."""
    if (whole := in_place.seen_through(target.base)) is not None:
        in_place.write_through(frame, whole, value, frame.eval(target.index))
        return
    place = place_name(target.base)
    there = grouped and not makes and _has_its_keys(frame, place, target.pos)

    def by_name(base: f.Expr) -> None:
        _store(frame, target._replace(base=base), value, grouped, there)

    aliases.shared(frame, place, by_name, lambda: by_name(target.base))


def _has_its_keys(frame: Frame, place: str, pos: f.Pos) -> bool:
    """Whether a dict is made with its keys in this function, and no `defaultdict`: to add to an entry makes none. What
    the place gets further down, behind all loops around, is another dict."""
    if frame.function is None or not place:
        return False
    made = frame.analysis.bodies.assigned(frame.function.body, place)
    around = [block[i] for block, i in way_to(frame.function.body, pos)]
    loop = next((s for s in around if type(s) in (f.For, f.While)), None)
    last = max((s.line for s in statements((loop,))), default=pos[0]) if loop is not None else pos[0]
    before = [value for value in made if (position(value) or pos)[0] <= last]
    return bool(before) and all(map(has_keys, before))


def _store(frame: Frame, target: f.Subscript, value: Value, grouped: bool, there: bool) -> None:
    place = place_name(target.base)
    index, base = frame.eval(target.index), frame.eval(target.base)
    if not place:
        return
    if layout.is_number(base.layout) and not frame.light:
        frame.env[place] = in_place.item_set(frame, target, base, value)
        frame.renew(place)
        return
    key = target.index.text if type(target.index) is f.Const else None
    tensor = base.layout is not None
    divergence = frame.path_divergence()
    if divergence is not None and divergence.kind == "rank" and filled_by_others.by_others(frame, place, target.pos):
        divergence = filled_by_others.by_other_tests(frame)
    length, counted = base.length, NO_DEPS
    slots = None
    passed = not frame.light and given.stands_for_passed(frame, place)
    more: Divergence | None = None
    if base.slots is not None and key is not None:
        slots = base.slots | {key}  # where the arms meet one sees which of them have it
    grows = slots is None and not there and not _is_list(frame, target)
    own = grows and divergence is not None and _is_new_in_instance(frame, target, place, base)
    if grows and divergence is not None and (base.container or passed or own):
        note = f"`{place}` is filled on some ranks only"
        more = divergence.then(frame.step("flow", target.pos, note))
        if divergence.kind == "rank" and _lets_others_in(frame):
            more = more.at_most(Confidence.LOW)
        elif divergence.kind == "rank" and key is not None:
            more = entry_of_one(more)  # of its own: loops over the others may pass over it
        elif own and not base.container:
            more = more.at_most(Confidence.MEDIUM)  # made elsewhere
        later = entered_later.is_entered(frame, place, key, target.pos[0], apart=True)
        if later or behind_exits.concerns_callers(frame, place, more):
            more = None
    met = grows and not base.container and own_keys.begun_empty(frame, place, target.index)
    if grows and (base.container or passed or met):
        more = worse(more, grouping.of_entry(frame, target, place, index, grouped))
        counted = grouping.deps_of_entry(frame, target, place)
    if base.container or own or met:
        length = worse(length, more)
    if key is not None and entered_later.completed(base, key, divergence):
        length = None
    # what is put into places that are there does not change how much there is
    masked = index.data is not None or (type(target.index) is f.Op and target.index.kind == "Slice")
    # nor is what is uneven in one field of a record uneven in the others
    masked = masked or (key is not None and key[:1] in "'\"")
    masked = masked or in_place.is_tensor(frame, target.base, base)
    beside_settings = key is not None and setting_names.is_name(key) and setting_names.hold_settings(target.base)
    entries = base.entries
    data = base.data if beside_settings else worse(base.data, value.data)
    keyed = base.keyed
    if key is not None and setting_names.is_name(key) and not tensor and (base.data is None or base.is_keyed):
        keyed = data
    # a place in a tensor is there whether it is set or not
    told = value.tells or (beside_settings and value.data is not None)
    if key is not None and not tensor and (entries or divergence is not None or told or keyed is not None):
        entry = value
        if divergence is not None:
            entry = value._replace(presence=worse(value.presence, divergence))
        entries = with_entry(entries, key, entry)
    if key is None and more is not None and more.kind == "rank":
        entries = written_beside.told(frame, target, place, base)
    merged = base._replace(
        entries=entries if len(entries) <= MOST_ENTRIES else (),
        keyed=keyed if len(entries) <= MOST_ENTRIES else None,
        unordered=base.unordered or (None if there else _order(frame, target, place, base, index)),
        in_order=False,
        uniform=base.uniform and value.uniform and index.uniform,
        data=data,
        length=length,
        element_types=base.element_types | value.types,
        holds=base.holds or value.external,
        items=None,
        const=None,
        shape=base.shape if masked else worse(base.shape, value.shape),
        padded=base.padded if masked else worse(base.padded, value.padded),
        reach=reaching(base.reach, value.reach),
        slots=slots,
        shape_deps=base.shape_deps if masked else base.shape_deps | value.shape_deps,
        length_deps=base.length_deps | counted if base.container else base.length_deps,
    )
    if tensor and not frame.light:
        merged = in_place.part_set(frame, target, base, index, merged)
    frame.env[place] = merged
    part = f"{place}[{render(target.index)}]"
    if tensor and divergence is not None:
        frame.env.pop(part, None)  # the tensor says that it differs
    elif key is not None:
        frame.env[part] = value
    frame.renew(place)
    if passed and key is not None:
        frame.leave(part, value)
    elif passed:
        order = merged.unordered if base.unordered is None else None
        added = value._replace(
            length=more,
            length_deps=counted,
            unordered=order,
            element_types=value.types,
            holds=value.external,
            items=None,
        )
        frame.leave(f"{place}{given.ENTRIES}", contained(added)._replace(divergence=None, const=None, target=None))
    if frame.self_name and place.startswith(frame.self_name + "."):
        frame.also_left(place.partition(".")[2], merged)


def _order(frame: Frame, target: f.Subscript, place: str, base: Value, index: Value) -> Divergence | None:
    """The order of a dict after `place[index] = ...`, where that may make an entry."""
    order = None if _is_list(frame, target) else stored_order(frame, target, place, base, index)
    return None if order is None or _has_keys_in_instance(frame, place) else order


def _has_keys_in_instance(frame: Frame, place: str) -> bool:
    """Whether a dict in an attribute of the instance may have its keys before any are met: some method makes it with
    something in it, or enters something in each round of a loop where the instance is made."""
    prefix = f"{frame.self_name}."
    if frame.self_class is None or frame.function is None or not place.startswith(prefix) or place.count(".") != 1:
        return False
    name, function = place.removeprefix(prefix), frame.function.origin
    lines = [c.methods for c in frame.analysis.names.mro(frame.self_class)]
    methods = [method for of in lines for method in of.values() if method.parameters]
    makers = [method for method in methods if method.name == "__init__"]
    first = {called for maker in makers for called in maker.calls_on(maker.parameters[0].name)} | {"__init__"}
    for method in methods:
        own = f"{method.parameters[0].name}.{name}"
        made = frame.analysis.bodies.assigned(method.body, own)
        # what is made of itself (`self.sums = reduced(self.sums)`) has the keys that were met
        if any(value != f.Const("None") and not is_empty(value) and own not in _attributes(value) for value in made):
            return True
        if (
            method.name in first
            and method is not function
            and own in frame.analysis.bodies.once(_filled_in_rounds, method.body)
        ):
            return True
    return False


def _attributes(value: f.Expr) -> set[str]:
    """The attributes that an expression names, with what they are of."""
    return {place_name(node) for node in nodes(value, f.Attr)}


def _filled_in_rounds(body: f.Body) -> frozenset[str]:
    """The places in which the loops of a body enter something."""
    inner = [s for loop in statements(body) if type(loop) is f.For for s in statements(loop.body)]
    entries = [t for s in inner if type(s) is f.Assign for t in s.targets if type(t) is f.Subscript]
    return frozenset([place_name(t.base) for t in entries])


def _is_new_in_instance(frame: Frame, target: f.Subscript, place: str, base: Value) -> bool:
    """Whether an entry is put into a dict in an attribute of the instance that no other statement of the class puts
    there: whoever does not come here has an entry less."""
    prefix = f"{frame.self_name}."
    if frame.self_class is None or not place.startswith(prefix) or place.count(".") != 1 or base.types:
        return False
    name, key = place.removeprefix(prefix), target.index
    for info in frame.analysis.names.mro(frame.self_class):
        for method in info.methods.values():
            own = method.parameters[0].name if method.parameters else ""
            if any(_may_put(s, f"{own}.{name}", key, target.pos) for s in statements(method.body)):
                return False
    return True


def _may_put(statement: object, place: str, key: f.Expr, at: f.Pos) -> bool:
    """Whether another statement puts something under this key into a place, or makes the place with something in it."""
    if type(statement) is f.Assign:
        targets, value = statement.targets, statement.value
    elif type(statement) is f.AugAssign:
        targets, value = (statement.target,), None
    else:
        return False
    for t in targets:
        if type(t) is f.Subscript and place_name(t.base) == place and t.pos != at:
            if type(key) is not f.Const or type(t.index) is not f.Const or t.index.text == key.text:
                return True
        elif place_name(t) == place and not is_empty(value):
            return True
    return False


_EMPTY = frozenset({"dict", "OrderedDict", "list", "set", "deque"}) | MAKING


def is_empty(value: f.Expr | None) -> bool:
    """Whether a container is made with nothing in it: `{}`, `[]`, `dict()`, `defaultdict(list)`."""
    if type(value) is f.Call:
        name = last_name(value.func)
        return name in _EMPTY and not value.keywords and (name == "defaultdict" or not value.args)
    if type(value) is f.Sequence:
        return not value.elements
    return type(value) is f.DictDisplay and not value.keys


def _is_list(frame: Frame, target: f.Subscript) -> bool:
    """Whether an item is set of what was last made a list that is written out (`found = [0] * n`): its places are there
    before one of them is set."""
    if type(target.base) is not f.Name or frame.function is None:
        return False
    assigned = frame.analysis.bodies.assigning(frame.function.body, target.base.id)
    above = (s for s in assigned if s.line < target.pos[0])
    last = max(above, key=lambda s: s.line, default=None)
    return last is not None and last.value is not None and _makes_list(last.value)


def _makes_list(value: f.Expr) -> bool:
    if type(value) is f.Op and value.kind == "Mult":
        return any(map(_makes_list, value.operands))
    return type(value) is f.Sequence or (type(value) is f.Comprehension and value.kind == "list")


def _lets_others_in(frame: Frame) -> bool:
    """Whether the innermost divergent condition is met by ranks on either side of its tests, for the sake of what is at
    hand: `if rank == 0 or is_expert(p)`. What has a key of its own may well be what all come here for."""
    formula = frame.path_condition()
    return formula is not None and lets_others_in(formula)
