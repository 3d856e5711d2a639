"""Values of the analysis: is a value the same on every rank, and if not, along which axes and why?

Three states: uniform, unknown, divergent; only divergent is ever reported (the rule of PARCOACH and of LLVM's
uniformity analysis, with the unknown middle that a language without types needs). A value has facets, each of which
can diverge for itself: the value, the *data* in a tensor or batch (which diverges once somebody looks at it), its
*presence* (is the optional input there at all), its *length*, its *shape*.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ferrule_lint.findings import Confidence, Step
from ferrule_lint.semantics.domain.axes import Axes
from ferrule_lint.semantics.domain.dependences import CONTAINED, FLOWS, HOLDS, ITEM, NO_DEPS, NOTHING, Deps, recast
from ferrule_lint.semantics.domain.reach import Reach

if TYPE_CHECKING:
    from ferrule_lint.semantics.data.layout import Layout
    from ferrule_lint.semantics.data.number_types import Number
    from ferrule_lint.semantics.data.sorts import Apart
    from ferrule_lint.semantics.domain.targets import Target
    from ferrule_lint.semantics.project.entities import ClassInfo


#: some ranks do not have it, by a test that is not followed
SOMEWHERE = ("", True)

_LONGEST_CHAIN = 6
_FLAGS = ("True", "False", "None")


def member(name: str) -> str:
    """How a member of an `Enum` is written as a constant: one that differs from all others."""
    return f"<member {name}>"


def is_member(const: str | None) -> bool:
    return const is not None and const.startswith("<member ")


class Divergence(NamedTuple):
    """Why and along which axes something differs between ranks."""

    axes: Axes
    #: "rank", "data", "host" or "structure"
    kind: str
    why: tuple[Step, ...]
    confidence: Confidence
    #: a test of membership in a group (`group is not None`, `rank in ranks`)
    member: bool = False
    #: rests on nothing but the name of a parameter
    assumed: bool = False
    #: and that name says little of what it holds: `x`, `hidden_states`
    unnamed: bool = False
    #: only under a setting that is not known
    partial: bool = False
    #: that there may be nothing at all is what differs
    empty: bool = False
    #: the group whose places these are, by its text, where its axes cannot be told
    group: str = ""
    #: of a tensor whose size is the same on all ranks, as what is reduced has to be
    sized: bool = False
    #: of an entry that some ranks alone put into a dict: loops over the entries may pass over it, who takes all has it
    own_entry: bool = False
    #: that the rank is the one which an attribute names: every group may have its own
    leads: bool = False

    def then(self, step: Step) -> Divergence:
        """The same, with one more place the value went through; long chains keep their ends."""
        if self.why and self.why[-1] == step:
            return self
        why = (*self.why, step)
        if len(why) > _LONGEST_CHAIN:
            why = (why[0], *why[-(_LONGEST_CHAIN - 1) :])
        return self._replace(why=why)

    def at_most(self, confidence: Confidence) -> Divergence:
        return self if self.confidence <= confidence else self._replace(confidence=confidence)


#: `Value.counts` of what yields a number beside each item, which has nothing to do with the item
NUMBERED = (True, False)


class Value(NamedTuple):
    """What is known of a value."""

    #: certainly the same on every rank
    uniform: bool = False
    divergence: Divergence | None = None
    #: local tensor data: what is read out of it differs
    data: Divergence | None = None
    presence: Divergence | None = None
    length: Divergence | None = None
    #: some dimension's size is decided by local data
    shape: Divergence | None = None
    #: the uneven dimension is the last (a padded length), not the first (a number of items)
    uneven_last: bool = False
    #: padded on some ranks only, or to a rank-local size
    padded: Divergence | None = None
    deps: Deps = NO_DEPS
    types: frozenset[ClassInfo] = NOTHING
    element_types: frozenset[ClassInfo] = NOTHING
    #: the library class of what it holds, as `external` is of an object
    holds: str | None = None
    #: parameters that decide its length
    length_deps: Deps = NO_DEPS
    #: an nn.Module that the project does not define, or of unknown class
    module: bool = False
    loader: bool = False
    unordered: Divergence | None = None
    #: repr of a constant
    const: str | None = None
    target: Target | None = None
    items: tuple[Value, ...] | None = None
    #: axes of a process group, or of the mesh or object that holds one
    group: Axes | None = None
    #: a number that says how many ranks there are
    world_size: bool = False
    #: dotted name of the library class it is an instance of
    external: str | None = None
    #: a size that differs between ranks at most in being zero (the number of items of a local batch)
    emptiness: Divergence | None = None
    #: a plain container that starts empty and is filled locally
    container: bool = False
    #: sorted: its order depends on its items only
    in_order: bool = False
    #: the ranks of some group have agreed on it by a collective
    agreed: bool = False
    #: certainly not None
    there: bool = False
    #: a library's module made in this function, which nothing that could shard it has seen
    unwrapped: bool = False
    #: filled up to a length, or what it is filled up with
    filled: bool = False
    #: the rank itself, or the test for the first rank: see `first_rank`
    rank: str = ""
    #: attributes that its constructor call has fixed for good: (name, constant)
    fields: tuple[tuple[str, Value], ...] = ()
    #: only some pipeline stages have it; on the others there is something in its place
    stage: Divergence | None = None
    #: what its gradient flows back to; None: not known
    reach: Reach | None = None
    #: true or false for each item: what a comparison of tensors yields
    boolean: bool = False
    #: parameters that decide its shape: by their content (OBSERVED) or their number of items (COUNTED)
    shape_deps: Deps = NO_DEPS
    #: the places of a list or dict that has been filled under this function's eyes only
    slots: frozenset[str] | None = None
    #: what a dict holds under keys that are written out, or a record in its fields, where that tells something:
    #: (text of the key or name of the field, value)
    entries: tuple[tuple[str, Value], ...] = ()
    #: the local data in a dict, as far as it lies under keys that are written out, all of them among its entries
    keyed: Divergence | None = None
    #: arguments of its constructor whose number of items may differ: see `constructed`
    given: tuple[tuple[str, Value], ...] = ()
    #: as many as some multiple of the number of ranks, or a number that is one: what was cut to be dealt out evenly
    multiple: bool = False
    #: shape and element type of a tensor, where the text tells them
    layout: Layout | None = None
    #: only some ranks have it: the test for the first rank (its key, "" for any other test) and the outcome with which
    #: there is nothing (None)
    absent: tuple[str, bool] | None = None
    #: the classes of what is there on some ranks only, where all ranks have something of another class
    of_some: frozenset[ClassInfo] = NOTHING
    #: what sort of thing it is differs: a tensor made by hand on some ranks, what a call hands back on others
    apart: Apart | None = None
    #: parameters that decide whether it is there, by how they are asked: `if rows.max() < 0: return None`
    presence_deps: Deps = NO_DEPS
    #: of a generator that always yields as many things side by side: which of them are nothing of the local data that
    #: the others are (`yield step, batch`)
    counts: tuple[bool, ...] = ()
    #: taken out of what it depends on (an entry, an item, an attribute): who had nothing there has failed
    part: bool = False
    #: the element type that torch gives it, or why that is another one on some ranks: see `number_types`
    number: Number | None = None

    @property
    def observed(self) -> Divergence | None:
        """The divergence of what one learns by reading the value."""
        return self.divergence or self.data

    @property
    def level(self) -> str:
        return "divergent" if self.divergence else "uniform" if self.uniform else "unknown"

    def plain(self) -> Value:
        """Without constant, callable and tuple structure: what survives a computation."""
        if not (
            self.const is not None or self.target is not None or self.items is not None or self.world_size or self.rank
            or self.entries or self.given or self.multiple or self.apart or self.number
        ):  # fmt: skip
            return self
        return self._replace(
            const=None,
            target=None,
            items=None,
            world_size=False,
            rank="",
            entries=(),
            keyed=None,
            given=(),
            multiple=False,
            apart=None,
            number=None,
        )

    @property
    def is_keyed(self) -> bool:
        """Whether all local data in a dict lies under keys that are known: what else it holds is none."""
        return self.keyed is not None and self.keyed == self.data

    @property
    def tells(self) -> bool:
        """Whether there is something in it that is lost among the other entries of a dict or record."""
        differs = self.divergence or self.presence or self.shape or self.padded or self.length or self.emptiness
        if differs or self.shape_deps or self.length_deps:
            return True
        return any(how not in HOLDS for _, how in self.deps) if self.deps else False

    @property
    def is_flag(self) -> bool:
        """Whether it is one of the constants by which a function tells what has come of it."""
        return self.const in _FLAGS

    def entry(self, key: str) -> Value | None:
        """What a dict holds under a key (its text), or a record in a field, where that is known: where any of it
        tells something, or may be called, or local data is kept in it that the others are none of. Flags alone may
        have been set again."""
        found = next((value for known, value in self.entries if known == key), None)
        if found is not None and found.data is not None and (self.data is None or self.is_keyed):
            return found
        if found is None or found.module or found.types:
            return found
        return found if any(v.tells or v.target is not None for _, v in self.entries) else None


def _replaced(self: Value, **changes: Any) -> Value:
    fields: list[Any] | None = None
    for name, value in changes.items():
        place = _PLACES[name]
        if self[place] is not value:
            if fields is None:
                fields = list(self)
            fields[place] = value
    return self if fields is None else tuple.__new__(Value, fields)


_PLACES = {name: place for place, name in enumerate(Value._fields)}
# named tuples' own takes four times as long for so many fields, and the analysis does little else; a third of what is
# replaced is there already
Value._replace = _replaced  # type: ignore[method-assign, assignment]

UNIFORM = Value(uniform=True)
UNKNOWN = Value()


def of_entries(found: Divergence | None) -> Divergence | None:
    """Why a dict has other entries on each rank; what one rank alone puts in, the others pass over."""
    return entry_of_one(found) if found is not None and found.kind == "rank" else found


def entry_of_one(found: Divergence) -> Divergence:
    """Why a dict has an entry that one rank alone puts in: a guess for loops, unless they take whatever there is."""
    own = found.confidence > Confidence.LOW
    return found.at_most(Confidence.LOW)._replace(own_entry=own)


def taken_with_all(found: Divergence) -> Divergence:
    """The same where all items are taken, whatever they are: what may be passed over elsewhere counts here."""
    return found._replace(confidence=Confidence.MEDIUM, own_entry=False) if found.own_entry else found


def worse(a: Divergence | None, b: Divergence | None) -> Divergence | None:
    """The joint divergence of two sources: both axes; of the chains the more certain one."""
    if a is None or b is None:
        return a or b
    if a is b:
        return a
    best = b if (b.confidence, a.unnamed) > (a.confidence, b.unnamed) else a
    if a.axes == b.axes and a.partial == b.partial:
        return best
    member = best.member if a.axes == b.axes else a.member and b.member
    return best._replace(axes=a.axes | b.axes, member=member, partial=a.partial and b.partial)


def contained(value: Value) -> Value:
    """A value put into a container or object: a rank-derived field does not make the object divergent."""
    if value.divergence is None and not value.deps:
        return value
    divergence = value.divergence
    if divergence is not None:
        data = worse(value.data, divergence) if divergence.kind == "data" else value.data
        value = value._replace(divergence=None, uniform=False, data=data)
    if value.deps:
        value = value._replace(deps=recast(value.deps, CONTAINED, FLOWS, ITEM))
    return value


def number_of(value: Value) -> Divergence | None:
    """Why something holds another number of items, also where all that is known is that it differs with the data: a
    rank's number is one number."""
    own = value.divergence if value.divergence is not None and value.divergence.kind in ("data", "structure") else None
    return rounds_of(value) or own


def emptiness_of(value: Value) -> Divergence | None:
    """Why something has no items on some ranks: it is known of it, or it is local data. How many tensors a list holds
    is the program's doing, how many items a batch holds is the data's."""
    local = value.data is not None and not value.container and not value.data.sized
    return value.emptiness or (value.data if local else None)


def rounds_of(value: Value) -> Divergence | None:
    """Why iterating a value takes another number of rounds; a display of items has as many on every rank, a padded
    length is another dimension than the one that is iterated over, and how long the items of a container are says
    nothing of how many it holds."""
    if value.items and value.length is None:
        return None
    return value.length or (None if value.uneven_last or value.container else value.shape)
