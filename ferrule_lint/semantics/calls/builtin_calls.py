"""Python's own functions and methods whose meaning the analysis needs: sizes, containers, iteration, callbacks."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls.forwards import runs_nothing
from ferrule_lint.semantics.data import filters, layout
from ferrule_lint.semantics.data.ordering import (
    SET_METHODS,
    leaves_ties,
    length_deps,
    made_set,
    no_order,
    numbers,
    round_order,
    sorted_value,
)
from ferrule_lint.semantics.data.selection import MASKS
from ferrule_lint.semantics.domain.lattice import (
    CONTAINED,
    COUNTED,
    EMPTY,
    FLOWS,
    ITEM,
    ITERATED,
    NO_DEPS,
    UNIFORM,
    UNKNOWN,
    WORLD,
    Deps,
    Value,
    computed,
    contained,
    join,
    reaching,
    rounds_of,
    worse,
)
from ferrule_lint.semantics.domain.targets import ClassTarget, MethodTarget, PartialTarget
from ferrule_lint.semantics.domain.text import last_name, place_name, render

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.dispatch import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

_PURE = frozenset(
    [
        "int",
        "float",
        "bool",
        "str",
        "abs",
        "sum",
        "round",
        "divmod",
        "pow",
        "bin",
        "hex",
        "ord",
        "chr",
        "repr",
        "format",
        "complex",
        "min",
        "max",
        "math.ceil",
        "math.floor",
        "math.sqrt",
        "math.log",
        "math.log2",
        "math.exp",
        "math.prod",
        "math.gcd",
        "operator.add",
        "copy.copy",
        "copy.deepcopy",
        "os.path.join",
        "os.path.abspath",
        "os.path.expanduser",
    ]
)
_CONTENT = frozenset({"bool", "int", "float", "any", "all"})
_UNIFORM = frozenset(
    [
        "isinstance",
        "issubclass",
        "hasattr",
        "callable",
        "type",
        "id",
        "super",
        "object",
        "print",
        "torch.device",
        "torch.is_grad_enabled",
        "torch.cuda.is_available",
        "torch.cuda.device_count",
        "platform.system",
        "os.cpu_count",
    ]
)
_PASS_ON = frozenset({"list", "tuple", "iter", "reversed", "enumerate", "dict", "itertools.islice", "tqdm.tqdm", "tqdm",
                      "tqdm.auto.tqdm", "itertools.chain", "collections.OrderedDict", "itertools.cycle",
                      "typing.cast", "collections.deque", "bytearray", "memoryview",
                      "numpy.frombuffer"})  # fmt: skip
_RANK_VARIABLE = re.compile(r"(^|_)RANK$|PROCID$|LOCALID$")


def call(frame: Frame, dotted: str, arguments: Arguments) -> Value | None:
    """A call of a builtin or standard-library function, or None."""
    handler = _FUNCTIONS.get(dotted)
    if handler is not None:
        return handler(frame, arguments)
    if dotted in _PURE:
        return _pure(frame, dotted, arguments)
    if dotted in _UNIFORM:
        return UNKNOWN if dotted == "id" else Value(uniform=True)
    if dotted in _PASS_ON:
        values = arguments.positional[1:] if dotted == "typing.cast" else arguments.positional
        if dotted == "dict" and arguments.keywords:
            return _pass_on(arguments.values)._replace(unordered=None, in_order=False)
        return _pass_on(values)
    return None


def _pure(frame: Frame, dotted: str, arguments: Arguments) -> Value:
    from ferrule_lint.semantics.walk.predicates import observe

    joined = computed(arguments.values)
    if dotted in ("min", "max", "sum") and len(arguments.positional) == 1:
        only = arguments.positional[0]
        length = only.length or only.divergence
        if length is not None:
            return Value(divergence=length, deps=joined.deps)
    if dotted in _CONTENT and joined.data is not None:
        return observe(frame, joined, arguments.expr.pos, render(arguments.expr))
    if dotted in _CONTENT:
        joined = joined._replace(shape=None, shape_deps=NO_DEPS)
    rank = arguments.positional[0].rank if dotted in ("int", "bool") and len(arguments.values) == 1 else ""
    return joined._replace(container=False, length=None, rank=rank)


def _pass_on(values: tuple[Value, ...]) -> Value:
    if not values:
        return Value(uniform=True, container=True)
    first = values[0]
    return first._replace(const=None, target=None)


def _len(frame: Frame, arguments: Arguments) -> Value:
    if not arguments.positional:
        return UNKNOWN
    value = arguments.positional[0]
    if value.types and value.length is None and (own := _own_length(frame, value, arguments.expr.pos)) is not None:
        return own
    if value.items is not None and value.length is None:
        return Value(uniform=True, const=str(len(value.items)) if value.items else None, deps=value.deps)
    divergence = rounds_of(value)
    if divergence is None and value.divergence is not None and value.divergence.kind in ("data", "structure"):
        divergence = value.divergence
    if divergence is not None:
        divergence = divergence.then(frame.step("flow", arguments.expr.pos, f"`{render(arguments.expr)}` differs"))
        return Value(divergence=divergence, deps=value.deps)
    deps = frozenset((p, COUNTED if how == ITERATED else how) for p, how in length_deps(value))
    # how many tensors a list holds is the program's doing, how many items a batch holds is the data's
    emptiness = value.emptiness or (None if value.container else value.data)
    return Value(uniform=value.uniform, emptiness=emptiness, deps=deps | _empty_or_not(value))


def _own_length(frame: Frame, value: Value, pos: f.Pos) -> Value | None:
    """What `__len__` of an instance of a project class says, where that is known to differ."""
    if len(value.types) > 1:
        return None
    method = frame.analysis.names.method(next(iter(value.types)), "__len__")
    if method is None:
        return None
    with frame.recording():
        result = frame.analysis.call_function(frame, method, value, (), {}, pos)
    return result if result.divergence is not None else None


def _empty_or_not(value: Value) -> Deps:
    """The parameters whose size, or that of whose items, is asked for."""
    return frozenset((p, EMPTY) for p, how in value.deps if how in (FLOWS, ITEM))


def _range(frame: Frame, arguments: Arguments) -> Value:
    joined = computed(arguments.positional)
    given = arguments.positional
    # `range(rank, n, world_size)` deals out n, which every rank gets as much of if it is a multiple
    dealt = len(given) == 3 and given[1].multiple and given[2].world_size
    return Value(
        uniform=joined.uniform,
        divergence=None,
        length=None if dealt else joined.divergence,
        length_deps=NO_DEPS if dealt else frozenset(d for d in joined.deps if d[1] != CONTAINED),
        multiple=len(given) == 1 and given[0].multiple,
    )


def _unordered(frame: Frame, arguments: Arguments) -> Value:
    expr = arguments.expr.args[0] if arguments.expr.args else None
    return made_set(frame, _pass_on(arguments.positional), expr, arguments.expr.pos)


def _sorted(frame: Frame, arguments: Arguments) -> Value:
    value = sorted_value(_pass_on(arguments.positional))
    before = arguments.positional[0].unordered if arguments.positional else None
    key = arguments.expression("key", None)
    if last_name(key) in ("id", "hash"):
        note = f"`{last_name(key)}` differs in every process, and so does what is sorted by it"
        return value._replace(unordered=no_order(frame, arguments.expr.pos, note), in_order=False)
    if before is not None and leaves_ties(frame, key):
        note = f"`{render(arguments.expr)}` leaves ties as they were"
        return value._replace(unordered=before.then(frame.step("flow", arguments.expr.pos, note)), in_order=False)
    return value


def _zip(frame: Frame, arguments: Arguments) -> Value:
    joined = join(arguments.positional)
    return joined._replace(items=None, const=None, target=None, loader=any(v.loader for v in arguments.positional))


def _next(frame: Frame, arguments: Arguments) -> Value:
    from ferrule_lint.semantics.control.exceptions import end_of_batches
    from ferrule_lint.semantics.walk.expressions import element_of

    if not arguments.positional:
        return UNKNOWN
    value = element_of(frame, arguments.positional[0], arguments.expr.args[0])
    end = end_of_batches(frame, arguments.expr)
    return value if end is None else value._replace(presence=worse(value.presence, end))


def _any_all(frame: Frame, arguments: Arguments) -> Value:
    from ferrule_lint.semantics.walk.predicates import observe

    if not arguments.positional:
        return UNKNOWN
    value = arguments.positional[0]
    if value.length is not None and value.divergence is None:
        return Value(divergence=value.length)
    return observe(frame, value, arguments.expr.pos, render(arguments.expr))


def _partial(frame: Frame, arguments: Arguments) -> Value:
    if not arguments.positional:
        return UNKNOWN
    keywords = tuple((k, v) for k, v in arguments.keywords.items() if k != "**")
    return Value(uniform=True, target=PartialTarget(arguments.positional[0], arguments.positional[1:], keywords))


def _getattr(frame: Frame, arguments: Arguments) -> Value:
    e = arguments.expr
    name = e.args[1] if len(e.args) > 1 else None
    if type(name) is f.Const and name.text[1:-1].isidentifier():
        value = frame.eval(f.Attr(e.args[0], name.text[1:-1], e.pos))
        # what is looked for by name and may not be there is a method more often than a module
        return value._replace(const=None, module=value.module and not runs_nothing(name.text[1:-1]))
    return UNKNOWN


def _run_in_thread(frame: Frame, arguments: Arguments) -> Value:
    """`asyncio.to_thread(function, ...)`, `executor.submit(function, ...)`: the function runs with the rest."""
    from ferrule_lint.semantics.calls.dispatch import Arguments, dispatch

    e = arguments.expr
    if not arguments.positional:
        return UNKNOWN
    inner = Arguments(e._replace(args=e.args[1:]), arguments.positional[1:], arguments.keywords)
    return dispatch(frame, arguments.positional[0], inner)


def _getenv(frame: Frame, arguments: Arguments) -> Value:
    name = arguments.expr.args[0] if arguments.expr.args else None
    if type(name) is f.Const and _RANK_VARIABLE.search(name.text.strip("'\"")):
        note = f"the environment variable {name.text.strip(chr(39))} differs by rank"
        return Value(divergence=frame.source(WORLD, "rank", arguments.expr.pos, note))
    return UNIFORM


def _map(frame: Frame, arguments: Arguments) -> Value:
    from ferrule_lint.semantics.calls.dispatch import Arguments as Args
    from ferrule_lint.semantics.calls.dispatch import dispatch
    from ferrule_lint.semantics.walk.expressions import element_of, loop_term

    if len(arguments.positional) < 2:
        return UNKNOWN
    iterable, expr = arguments.positional[1], arguments.expr.args[1]
    item = element_of(frame, iterable, expr)
    with frame.recording() as terms:
        result = dispatch(frame, arguments.positional[0], Args(arguments.expr._replace(args=(expr,)), (item,), {}))
    if terms:
        frame.emit(loop_term(frame, iterable, tuple(terms), arguments.expr.pos, expr))
    return Value(data=result.data, length=iterable.length, unordered=iterable.unordered, element_types=result.types)


def _empty(frame: Frame, arguments: Arguments) -> Value:
    """`defaultdict(list)`: filled from here on."""
    return Value(uniform=True, container=True)


def _type(frame: Frame, arguments: Arguments) -> Value:
    """`type(x)` of an instance of a class of the project."""
    types = arguments.positional[0].types if len(arguments.positional) == 1 else frozenset()
    return Value(uniform=True, target=ClassTarget(next(iter(types)))) if len(types) == 1 else UNKNOWN


def _filter(frame: Frame, arguments: Arguments) -> Value:
    value = arguments.positional[1] if len(arguments.positional) > 1 else UNKNOWN
    length, deps = filters.of_all(frame, value, arguments.expr.pos)
    return value._replace(items=None, const=None, uniform=False, length=value.length or length, length_deps=deps)


def _serialised(frame: Frame, arguments: Arguments) -> Value:
    """`pickle.dumps(x)`: as long as what this rank has to say, unless it says what all do."""
    if arguments.positional and arguments.positional[0].uniform:
        return UNIFORM
    note = f"`{render(arguments.expr)}` is as long as what this rank puts in"
    length = frame.source(WORLD, "data", arguments.expr.pos, note, Confidence.MEDIUM)
    return Value(length=length._replace(assumed=True), there=True)


_Handler = Callable[["Frame", "Arguments"], Value]
_FUNCTIONS: dict[str, _Handler] = {
    "len": _len,
    "range": _range,
    "set": _unordered,
    "frozenset": _unordered,
    "sorted": _sorted,
    "zip": _zip,
    "next": _next,
    "any": _any_all,
    "all": _any_all,
    "functools.partial": _partial,
    "getattr": _getattr,
    "asyncio.to_thread": _run_in_thread,
    "os.getenv": _getenv,
    "os.environ.get": _getenv,
    "map": _map,
    "filter": _filter,
    "type": _type,
    "collections.defaultdict": _empty,
    "collections.Counter": _empty,
    "pickle.dumps": _serialised,
    "dill.dumps": _serialised,
    "cloudpickle.dumps": _serialised,
    "json.dumps": _serialised,
    "msgpack.packb": _serialised,
}


SIZES = frozenset({"numel", "nelement", "size", "__len__"})


def size(frame: Frame, target: MethodTarget, arguments: Arguments) -> Value:
    """`x.size(0)`, `x.numel()`: local where the shape is; else what differs is at most whether it is zero."""
    from ferrule_lint.semantics.walk import attributes

    receiver = target.receiver
    index = render(arguments.expr.args[0]) if arguments.expr.args else ""
    if receiver.shape is None:
        emptiness = receiver.emptiness or receiver.data
        if index:
            emptiness = attributes.emptiness_of(emptiness, index)
        # what a caller passes has no items at most in the first dimension: the others are the model's
        deps = _empty_or_not(receiver) if index in ("", "0") else NO_DEPS
        return Value(emptiness=emptiness, uniform=receiver.uniform, deps=deps)
    sizes = receiver._replace(external=attributes.SIZE, target=None)
    if target.name == "size":
        if not index:
            return sizes
        return attributes.dimension(frame, sizes, index, arguments.expr.pos, render(arguments.expr))
    note = f"`{render(arguments.expr)}` differs"
    return Value(divergence=receiver.shape.then(frame.step("flow", arguments.expr.pos, note)), there=True)


def method(frame: Frame, target: MethodTarget, arguments: Arguments) -> Value | None:
    """A method of a value of unknown type whose meaning does not depend on the type, or None."""
    name, receiver = target.name, target.receiver
    if name in ("append", "add", "extend", "insert", "update", "setdefault", "appendleft"):
        return _fill(frame, arguments, receiver)
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
    if name in ("keys", "values", "items", "copy"):
        return receiver._replace(const=None, target=None, items=None, emptiness=receiver.emptiness)
    if (name in ("getvalue", "getbuffer") and not arguments.values) or (name == "encode" and _to_bytes(arguments)):
        return _serialised(frame, arguments.replaced(positional=(receiver,)))
    if name == "submit" and arguments.positional:
        return _run_in_thread(frame, arguments)
    if name in _TRANSPARENT:
        # a device is no part of the value: `x.cuda(rank)`
        operands = () if name in _MOVES else arguments.positional
        value = join([receiver, *operands]).plain()
        dim = arguments.positional[0].const if arguments.positional else None
        if name == "squeeze" and dim not in (None, "0"):  # a dimension of size 1 is the same everywhere
            deps = frozenset((p, ITEM if how == FLOWS else how) for p, how in value.deps)
            value = value._replace(shape=None if receiver.uneven_last else value.shape, deps=deps)
        return value._replace(
            boolean=receiver.boolean or name in MASKS,
            layout=layout.after(receiver.layout, name, arguments.expr),
            uniform=receiver.uniform and value.uniform,
            presence=None,
            there=receiver.there,
            unwrapped=receiver.unwrapped,
        )
    return None


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
        "permute",
        "transpose",
        "squeeze",
        "unsqueeze",
        "flatten",
        "double",
        "type",
        "numpy",
        "strip",
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
    ]
)


def _fill(frame: Frame, arguments: Arguments, receiver: Value) -> Value:
    """Adding to a container: under a divergent condition its length differs from then on."""
    e = arguments.expr
    base = e.func.base if type(e.func) is f.Attr else None
    place = place_name(base)
    if type(base) is f.Subscript and type(base.index) is not f.Const and place_name(base.base):
        # `groups[key].append(x)` where the key makes the entry
        _keyed(frame, base, join(arguments.values))
        return UNKNOWN
    if not place:
        return UNKNOWN
    if last_name(e.func) == "setdefault" and base is not None and len(e.args) == 2:
        _keyed(frame, f.Subscript(base, e.args[0], e.pos), arguments.positional[1])
        return frame.read(place) or UNKNOWN
    known = frame.read(place) or receiver
    added = join(arguments.values)
    length = known.length
    divergence = frame.path_divergence() or filters.of_round(frame, place, e.pos)
    slots = _slots(e, known, arguments)
    if divergence is None or divergence.kind == "rank" or slots is not None:
        divergence = frame.round_divergence()
    if last_name(e.func) in ("update", "extend") and added.length is not None and added.length.kind == "rank":
        length = worse(length, added.length)
    fills = last_name(e.func) in ("append", "extend") and place.startswith(f"{frame.self_name}.")
    if divergence is not None and (known.container or (fills and not known.types)):
        note = f"`{place}` gets items on some ranks only"
        length = worse(length, divergence.then(frame.step("flow", e.pos, note)))
    data = worse(known.data, added.data)
    if added.divergence is not None and added.divergence.kind == "data":
        data = worse(data, added.divergence)
    types = added.types | (added.element_types if last_name(e.func) in ("extend", "update") else frozenset())
    unordered = known.unordered
    if last_name(e.func) == "add" and any(numbers(a) for a in e.args):
        unordered = None  # a set of numbers
    elif known.container:
        taken = added.unordered if last_name(e.func) in ("extend", "update") else None
        unordered = unordered or taken or round_order(frame, e.pos, place)
    merged = known._replace(
        unordered=unordered,
        in_order=False,
        uniform=known.uniform and added.uniform and length is None,
        data=data,
        deps=known.deps | contained(added).deps if known.container else known.deps,
        length=length,
        length_deps=known.length_deps
        | (frame.round_deps() | filters.deps_of_round(frame, place, e.pos) if known.container else NO_DEPS),
        element_types=known.element_types | types,
        items=None,
        const=None,
        shape=worse(known.shape, added.shape),
        uneven_last=known.uneven_last or added.shape is not None,  # each item has a size of its own
        reach=reaching(known.reach, added.reach),
        slots=slots,
        shape_deps=known.shape_deps | added.shape_deps,
    )
    frame.env[place] = merged
    frame.versions[place] = frame.versions.get(place, 0) + 1
    if frame.self_name and place.startswith(frame.self_name + ".") and place.count(".") == 1:
        name = place.partition(".")[2]
        before = frame.self_writes.get(name)
        guard = frame.path_divergence()
        if guard is not None and guard.kind == "rank" and known.container:
            # other methods see what is left of the guard: on the other ranks there is less of it
            note = f"`{place}` gets items on some ranks only"
            merged = merged._replace(length=worse(merged.length, guard.then(frame.step("flow", e.pos, note))))
        frame.self_writes[name] = merged if before is None else join([before, merged])
    return UNKNOWN


def _keyed(frame: Frame, target: f.Subscript, value: Value) -> None:
    from ferrule_lint.semantics.walk.attributes import store_item

    store_item(frame, target, value)


def _slots(e: f.Call, known: Value, arguments: Arguments) -> frozenset[str] | None:
    """The places of a list or dict after a call that adds to it; None if they cannot be told."""
    name = last_name(e.func)
    if known.slots is None or len(known.slots) > _MOST_SLOTS:
        return None
    if name in ("append", "appendleft", "insert"):
        return known.slots | {str(len(known.slots))}
    added = arguments.positional[0].slots if len(arguments.positional) == 1 else None
    if name == "update" and added is not None and not arguments.keywords:
        return known.slots | added
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
    from ferrule_lint.semantics.walk.attributes import (
        absent_from_sample,
        environment_value,
        field_of_batch,
        optional_entry,
    )

    e = arguments.expr
    base = e.func.base if type(e.func) is f.Attr else e.func
    environment = environment_value(frame, base, e.args[0], e.pos)
    if environment is not None:
        return environment
    key = e.args[0]
    assert type(key) is f.Const
    entry = receiver.entry(key.text) if receiver.entries else None
    if entry is not None:
        # where it is not there, it is the default
        return entry._replace(divergence=worse(entry.divergence, entry.presence), const=None)
    value = receiver._replace(
        types=receiver.element_types,
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
    if value.data is not None:
        value = field_of_batch(frame, value, name, e.pos)
        if value.presence is None and (absent := absent_from_sample(frame, receiver, render(e), e.pos)) is not None:
            value = value._replace(presence=absent)
        return value
    presence = optional_entry(frame, base, name, e.pos)
    return value if presence is None else value._replace(presence=presence)
