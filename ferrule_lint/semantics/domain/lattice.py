"""Values of the analysis: is a value the same on every rank, and if not, along which axes and why?

Three states: uniform, unknown, divergent; only divergent is ever reported (the rule of PARCOACH and of LLVM's
uniformity analysis, with the unknown middle that a language without types needs). A value has facets, each of which
can diverge for itself: the value, the *data* in a tensor or batch (which diverges once somebody looks at it), its
*presence* (is the optional input there at all), its *length*, its *shape*.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import compress
from operator import is_not
from typing import TYPE_CHECKING, Any, NamedTuple

from ferrule_lint.findings import Confidence, Step

if TYPE_CHECKING:
    from ferrule_lint.semantics.data.layout import Layout
    from ferrule_lint.semantics.domain.targets import Target
    from ferrule_lint.semantics.project.entities import ClassInfo

Axes = frozenset[str]

NO_AXES: Axes = frozenset()
WORLD: Axes = frozenset({"world"})
DP: Axes = frozenset({"dp"})
#: a group that cannot be told
UNKNOWN_GROUP: Axes = frozenset({"?"})
#: a communicator in which only some processes of the program take part by design
PRIVATE: Axes = frozenset({"private"})

#: some ranks do not have it, by a test that is not followed
SOMEWHERE = ("", True)
#: which copy of a sharded model this is
REPLICATE: Axes = frozenset({"replicate"})
#: axes along which ranks of data parallelism differ that hold the same part of the model: of the experts, of all of it
COPIES: Axes = frozenset({"edp", "replicate"})

_LONGEST_CHAIN = 6
_FLAGS = ("True", "False", "None")

#: how a result depends on a parameter: its value flows on, its content is read, it is merely contained,
#: only whether it is there matters, or it is iterated (how many items, in which order), or only counted; or it is
#: an item of it that flows on, or all of it, with sizes that all ranks agree on
FLOWS, OBSERVED, CONTAINED, PRESENT, ITERATED = "flows", "observed", "contained", "present", "iterated"
COUNTED, ITEM = "counted", "item"
SIZED = "sized"
#: whether it, or what is in it, has any items
EMPTY = "empty"
#: it may be a mask or positions by which items are selected
SELECTS = "selects"
Deps = frozenset[tuple[str, str]]
#: Python makes a new empty set each time it is asked for one; with one for all, most facets are the same object
NOTHING: frozenset[Any] = frozenset()
NO_DEPS: Deps = NOTHING


def root_of(name: str) -> str:
    """The parameter that a dependence is on, or a field of which it is on: `state` for `state.flag`, `batch['x']`."""
    return name.partition("[")[0].partition(".")[0]


@lru_cache(maxsize=8192)
def recast(deps: Deps, how: str, *whence: str) -> Deps:
    """Dependences of what is made of a value: those of the kinds `whence` are of the kind `how` from here on."""
    return frozenset([(p, how if known in whence else known) for p, known in deps]) if deps else NO_DEPS


@lru_cache(maxsize=8192)
def only(deps: Deps, how: str, *whence: str) -> Deps:
    """Those of the kinds `whence` alone, as dependences of the kind `how`."""
    return (frozenset([(p, how) for p, known in deps if known in whence]) or NO_DEPS) if deps else NO_DEPS


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


class Partly(NamedTuple):
    """An output that a value's gradient flows back to on some ranks only: under a condition that differs, or that
    depends on parameters. `at`: where the other way gets its constant."""

    output: str
    divergence: Divergence | None
    deps: Deps
    at: tuple[int, int, int, int] | None


class Reach(NamedTuple):
    """The outputs of modules that a value's gradient flows back to; see `participation`."""

    outputs: frozenset[str] = NOTHING
    partly: frozenset[Partly] = NOTHING
    #: where a constant was assigned
    at: tuple[int, int, int, int] | None = None


@lru_cache(maxsize=4096)
def reach_of(output: str) -> Reach:
    """What flows back to one output and nothing else."""
    return Reach(frozenset([output]))


#: certainly without a gradient
DETACHED = Reach()
#: the output that stands for all parameters of the module itself
OWN = "*"
#: the same where they are put into the loss one by one
EVERY = "*~"


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
            or self.entries or self.given or self.multiple
        ):  # fmt: skip
            return self
        return self._replace(
            const=None, target=None, items=None, world_size=False, rank="", entries=(), given=(), multiple=False
        )

    @property
    def tells(self) -> bool:
        """Whether there is something in it that is lost among the other entries of a dict or record."""
        differs = self.divergence or self.presence or self.shape or self.padded or self.length or self.emptiness
        if differs or self.shape_deps or self.length_deps:
            return True
        return any(how != CONTAINED for _, how in self.deps) if self.deps else False

    @property
    def is_flag(self) -> bool:
        """Whether it is one of the constants by which a function tells what has come of it."""
        return self.const in _FLAGS

    def entry(self, key: str) -> Value | None:
        """What a dict holds under a key (its text), or a record in a field, where that is known: where any of it
        tells something, or may be called. Flags alone may have been set again."""
        found = next((value for known, value in self.entries if known == key), None)
        return found if found and any(v.tells or v.target is not None for _, v in self.entries) else None


def _replaced(self: Value, **changes: Any) -> Value:
    fields = list(self)
    for name, value in changes.items():
        fields[_PLACES[name]] = value
    return tuple.__new__(Value, fields)


_PLACES = {name: place for place, name in enumerate(Value._fields)}
# named tuples' own takes four times as long for so many fields, and the analysis does little else
Value._replace = _replaced  # type: ignore[method-assign, assignment]

UNIFORM = Value(uniform=True)
UNKNOWN = Value()


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


def join(values: Iterable[Value]) -> Value:
    """The least value that covers all: uniform only if every one is."""
    result: Value | None = None
    for value in values:
        result = value if result is None else join2(result, value)
    return UNIFORM if result is None else result


def join2(a: Value, b: Value) -> Value:
    if a is b or a == b:
        return a
    fields = list(a)
    # most facets are the same default in both: only the others are looked at
    for place in compress(_ALL, map(is_not, a, b)):
        fields[place] = _JOINS[place](fields[place], b[place], a, b)
    return tuple.__new__(Value, fields)


_Join = Callable[[Any, Any, "Value", "Value"], Any]


def _both(x: Any, y: Any, a: Value, b: Value) -> Any:
    return x and y


def _either(x: Any, y: Any, a: Value, b: Value) -> Any:
    return x or y


def _worse(x: Any, y: Any, a: Value, b: Value) -> Any:
    return worse(x, y)


def _union(x: Any, y: Any, a: Value, b: Value) -> Any:
    return x | y if x and y else x or y


def _same_or_one(x: Any, y: Any, a: Value, b: Value) -> Any:
    return x if x == y else x or y


def _same_or(nothing: object) -> _Join:
    return lambda x, y, a, b: x if x == y else nothing


def _joined_items(x: Any, y: Any, a: Value, b: Value) -> Any:
    if x is None or y is None or len(x) != len(y):
        return None
    return tuple([join2(one, other) for one, other in zip(x, y, strict=True)])


def reaching(a: Reach | None, b: Reach | None) -> Reach | None:
    """What a combination of two values reaches: all that either does."""
    if a is None or b is None or a == b:
        return a or b
    outputs = a.outputs | b.outputs or NOTHING
    partly = a.partly | b.partly or NOTHING
    if partly and outputs:
        partly = frozenset(p for p in partly if not covered(p.output, outputs)) or NOTHING
    return Reach(outputs, partly, None if outputs or partly else b.at or a.at)


def covered(output: str, outputs: frozenset[str]) -> bool:
    """Whether an output is among others: itself, the whole of which it is a part, or a part of it.

    A parameter that is a module stands for its output where it was passed on (`=model` for `model`).
    """
    if output in outputs or OWN in outputs or EVERY in outputs:
        return True
    name, _, part = output.lstrip("=").partition("#")
    name = name.rstrip("~")
    for other in outputs:
        known, _, known_part = other.lstrip("=").partition("#")
        if known.rstrip("~") == name and (not part or not known_part or part == known_part):
            return True
    return False


def _of_any(x: Any, y: Any, a: Value, b: Value) -> Any:
    """What holds of whatever is there: None stands aside."""
    return (x or a.const == "None") and (y or b.const == "None") and (x or y)


def _one_rank(a: Value, b: Value) -> str:
    """What one of two values says of the rank: a flag that is false to begin with still asks for the first rank."""
    for one, other in ((a, b), (b, a)):
        if one.rank == other.rank or (one.rank.strip("!").startswith("first") and other.const in ("True", "False")):
            return one.rank
    return ""


def _joined_entries(
    a: tuple[tuple[str, Value], ...], b: tuple[tuple[str, Value], ...]
) -> tuple[tuple[str, Value], ...]:
    if not a or not b or a == b:
        return a or b
    joined = dict(a)
    for key, value in b:
        joined[key] = join2(joined[key], value) if key in joined else value
    return tuple(joined.items())


def settled(a: Value, b: Value) -> Value | None:
    """Of two values that meet after a test which is not known to differ: if the ranks agreed on one of them and on
    the other they did not, then the test is the switch for agreeing (more than one process, a setting), and the
    other is a single process's. Along axes on which nobody agreed they still differ. None if they do not meet so.
    """
    for one, other in ((a, b), (b, a)):
        if not one.agreed or other.agreed or one.data:
            continue
        left = one.divergence
        if left is not None and not (other.divergence is not None and _spans_more(other.divergence.axes, left.axes)):
            continue
        if other.divergence or other.data or other.deps or other.length:
            return join2(one, other)._replace(
                uniform=False, divergence=left, data=None, deps=one.deps, length=one.length, emptiness=one.emptiness
            )
    return None


def _spans_more(axes: Axes, left: Axes) -> bool:
    """Whether ranks have agreed along some of the axes, and `left` are the others."""
    return left < axes or (axes >= WORLD and not left >= WORLD)


def _one_group(a: Value, b: Value) -> Axes | None:
    """The group of one of two values: None stands aside, two that differ are no group that can be told."""
    if a.group == b.group or b.const == "None":
        return a.group
    return b.group if a.const == "None" else None


#: how two values are joined, facet by facet: given both facets, which are not the same object, and both values
_JOIN: dict[str, _Join] = {
    "uniform": _both,
    "divergence": _worse,
    "data": _worse,
    "presence": _worse,
    "length": _worse,
    "shape": _worse,
    "uneven_last": _either,
    "padded": _worse,
    "deps": _union,
    "types": _union,
    "element_types": _union,
    "length_deps": _union,
    "module": _either,
    "loader": _either,
    "unordered": _worse,
    "const": _same_or(None),
    "target": _same_or_one,
    "items": _joined_items,
    "group": lambda x, y, a, b: _one_group(a, b),
    "world_size": _both,
    "external": _same_or_one,
    "emptiness": _worse,
    "container": _either,
    "in_order": _both,
    "agreed": _either,
    "there": _both,
    "unwrapped": lambda x, y, a, b: _of_any(x, y, a, b),
    "filled": _either,
    "rank": lambda x, y, a, b: _one_rank(a, b),
    "fields": _same_or(()),
    "stage": _worse,
    "reach": lambda x, y, a, b: reaching(x, y),
    "boolean": _both,
    "shape_deps": _union,
    "slots": _same_or(None),
    "entries": lambda x, y, a, b: _joined_entries(x, y),
    "given": _same_or(()),
    "multiple": _either,
    "layout": _same_or(None),
    "absent": _same_or(None),
    "of_some": _union,
}
_JOINS = tuple(_JOIN[name] for name in Value._fields)
_ALL = range(len(_JOINS))


def computed(values: Iterable[Value]) -> Value:
    """The result of a pure computation on values."""
    operands = list(values)
    plain = join(operands).plain()
    if len(operands) > 1 and plain.emptiness is not None:
        plain = plain._replace(emptiness=None)
    if plain.slots is not None or plain.layout is not None:
        plain = plain._replace(slots=None, layout=None)
    if plain.types or plain.element_types or plain.presence or plain.loader or plain.module or plain.external:
        plain = plain._replace(
            types=NOTHING,
            element_types=NOTHING,
            presence=None,
            absent=None,
            loader=False,
            module=False,
            external=None,
            of_some=NOTHING,
        )
    return plain


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


def rounds_of(value: Value) -> Divergence | None:
    """Why iterating a value takes another number of rounds; a display of items has as many on every rank, and a padded
    length is another dimension than the one that is iterated over."""
    if value.items and value.length is None:
        return None
    return value.length or (None if value.uneven_last else value.shape)


def overlap(condition: Axes, event: Axes) -> bool:
    """Whether ranks that differ along `condition` can meet in a group that spans `event`.

    An unknown group overlaps only the world and data; expert parallelism spans data parallelism in practice, but not
    the copies of one expert.
    """
    if not condition or not event or "private" in condition or "private" in event:
        return False
    if condition & COPIES or event & COPIES:
        copies, other = (condition, event) if condition & COPIES else (event, condition)
        whole = (copies - COPIES) | {"dp"}
        return bool(other & COPIES) or overlap(copies - COPIES, other) or (other != {"ep"} and overlap(whole, other))
    if "world" in condition or "world" in event or condition & event:
        return True
    union = condition | event
    if "?" in union:
        return union <= {"dp", "ep", "?"}
    return ("dp" in condition and "ep" in event) or ("ep" in condition and "dp" in event)
