"""Python's own functions whose meaning the analysis needs: sizes, iteration, callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import begun_loaders, filtered, iterators, record_makers, special_methods
from ferrule_lint.semantics.calls.callbacks import mapped, run_in_thread
from ferrule_lint.semantics.calls.forwards import runs_nothing
from ferrule_lint.semantics.data import (
    all_alike,
    filters,
    grouping,
    instances,
    iteration,
    own_count,
    picked,
    put_together,
    shares,
    side_by_side,
    sorts,
)
from ferrule_lint.semantics.data.module_outputs import parts_of_one_input
from ferrule_lint.semantics.data.ordering import leaves_ties, length_deps, made_set, no_order, own_number, sorted_value
from ferrule_lint.semantics.data.records import NAMESPACE, entries_of
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import Known
from ferrule_lint.semantics.domain.dependences import (
    COUNTED,
    EMPTY,
    FLOWS,
    HOLDS,
    ITEM,
    ITERATED,
    NO_DEPS,
    NOTHING,
    PRESENT,
    Deps,
    observed,
    only,
    recast,
)
from ferrule_lint.semantics.domain.joins import computed, join
from ferrule_lint.semantics.domain.lattice import (
    NUMBERED,
    UNIFORM,
    UNKNOWN,
    Value,
    emptiness_of,
    number_of,
    rounds_of,
    worse,
)
from ferrule_lint.semantics.domain.targets import ClassTarget, ExternalTarget, PartialTarget
from ferrule_lint.semantics.domain.text import last_name, render, shown, turned_rows
from ferrule_lint.semantics.groups import strides
from ferrule_lint.semantics.project.entities import ModuleInfo
from ferrule_lint.semantics.sources import environment, parts
from ferrule_lint.semantics.walk import left_unset
from ferrule_lint.semantics.walk.truth import observe, truthiness

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
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
        "datetime.timedelta",
        "datetime.datetime.fromtimestamp",
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
        "issubclass",
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

_PASS_ON = frozenset({"list", "tuple", "iter", "reversed", "enumerate", "dict", "tqdm.tqdm", "tqdm",
                      "tqdm.auto.tqdm", "itertools.chain", "itertools.batched", "collections.OrderedDict",
                      "more_itertools.chunked", "more_itertools.batched", "more_itertools.ichunked",
                      "typing.cast", "collections.deque", "bytearray", "memoryview",
                      "numpy.frombuffer"})  # fmt: skip


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
            return _dict(arguments)
        passed = _pass_on(values)
        if dotted == "iter" and len(values) == 1:
            pos = arguments.expr.pos
            return special_methods.begun(frame, iteration.of_instance(frame, passed, pos), pos)
        return passed._replace(counts=NUMBERED) if dotted == "enumerate" else passed
    return None


#: the same in whatever order the items come
_OF_ALL = frozenset(["min", "max", "sum", "math.prod"])


def _pure(frame: Frame, dotted: str, arguments: Arguments) -> Value:
    if dotted == "bool" and len(arguments.positional) == 1 and arguments.positional[0].const is not None:
        formula, known = truthiness(frame, arguments.expr.args[0], arguments.positional[0])
        if type(formula) is Known:
            return known
    if dotted == "bool" and len(arguments.positional) == 1 and _is_container(frame, arguments):
        return truthiness(frame, arguments.expr.args[0], arguments.positional[0])[1]  # whether it has items
    joined = computed(arguments.values)
    if dotted in _OF_ALL and joined.unordered is not None:
        joined = joined._replace(unordered=None)
    if dotted in ("min", "max", "sum") and len(arguments.positional) == 1:
        only = arguments.positional[0]
        length = only.length or only.divergence or (only.data if _of_numbers(frame, arguments) else None)
        if length is not None:
            return Value(divergence=length, deps=joined.deps)
        if joined.length_deps:
            # a number of how many there are, which has no length itself
            counted = recast(joined.length_deps, COUNTED, ITERATED, FLOWS)
            joined = joined._replace(deps=joined.deps | counted, length_deps=NO_DEPS)
    if dotted in _CONTENT and joined.data is not None:
        return observe(frame, joined, arguments.expr.pos, shown(arguments.expr))
    if dotted in _CONTENT:
        deps = observed(joined.deps) if _reads_tensor(arguments) else joined.deps
        joined = joined._replace(shape=None, shape_deps=NO_DEPS, deps=deps)
    if dotted in ("int", "float"):
        joined = joined._replace(length_deps=NO_DEPS)  # of a number there is one
    only = arguments.positional[0] if dotted in ("int", "bool") and len(arguments.values) == 1 else UNKNOWN
    return joined._replace(
        container=False,
        length=None,
        rank=only.rank,
        world_size=dotted == "int" and only.world_size,
        there=joined.there or (dotted == "int" and only.there),
    )


#: methods that make a number of what is in a tensor
_REDUCES = frozenset({"max", "min", "amax", "amin", "sum", "mean", "prod", "any", "all", "count_nonzero", "item"})


def _reads_tensor(arguments: Arguments) -> bool:
    """`int(lengths.max())`: a number of what a tensor holds, which `int` alone does not say of its argument."""
    asked = arguments.expr.args[0] if len(arguments.expr.args) == 1 else None
    return type(asked) is f.Call and type(asked.func) is f.Attr and asked.func.attr in _REDUCES


def _is_container(frame: Frame, arguments: Arguments) -> bool:
    """Whether the only argument is a list, a set or a dict, as far as it is written out."""
    made = iteration.definition(frame, arguments.expr.args[0])
    return arguments.positional[0].container or type(made) in (f.Comprehension, f.Sequence, f.DictDisplay)


#: what a call or attribute of these yields is a number, and no tensor
_NUMBERS = frozenset(["len", "int", "float", "numel", "nelement", "item", "size"])


def _of_numbers(frame: Frame, arguments: Arguments) -> bool:
    """`max(len(s) for s in samples)`, also by way of a name: the items are numbers that the text reads out of data."""
    made = iteration.definition(frame, arguments.expr.args[0]) if arguments.expr.args else None
    if type(made) is not f.Comprehension or len(made.elements) != 1:
        return False
    item = made.elements[0]
    if type(item) is f.Subscript:
        return type(item.base) is f.Attr and item.base.attr == "shape"
    return (
        type(item) is f.Call
        and last_name(item.func) in _NUMBERS
        and (last_name(item.func) != "size" or bool(item.args))
    )


def _pass_on(values: tuple[Value, ...]) -> Value:
    if not values:
        return Value(uniform=True, container=True, slots=NOTHING)
    first = values[0]
    return first._replace(const=None, target=None)


def _dict(arguments: Arguments) -> Value:
    """`dict(a=x, b=y)`"""
    made = _pass_on(arguments.values)._replace(unordered=None, in_order=False)
    made = made._replace(slots=put_together.by_keywords(arguments))
    if arguments.positional or arguments.is_open:
        return made
    return made._replace(entries=entries_of({repr(name): value for name, value in arguments.keywords.items()}))


def _namespace(frame: Frame, arguments: Arguments) -> Value:
    """`SimpleNamespace(a=x, b=y)`: a record of what it is given."""
    entries = () if arguments.is_open else entries_of(arguments.keywords)
    return Value(there=True, external=NAMESPACE, entries=entries)


def _len(frame: Frame, arguments: Arguments) -> Value:
    from ferrule_lint.semantics.data.batch_fields import SIZE

    if not arguments.positional:
        return UNKNOWN
    value = arguments.positional[0]
    if value.external == SIZE:
        return Value(uniform=True, there=True)  # how many dimensions a tensor has
    if strides.is_made_group(frame, arguments.expr.args[0] if arguments.expr.args else arguments.expr):
        return UNKNOWN
    told = _own_length(frame, value, arguments.expr) if value.types and value.length is None else None
    if told is not None and (told.divergence is not None or own_count.is_of_fields(told)):
        return told
    if value.items is not None and value.length is None:
        return Value(uniform=True, const=str(len(value.items)) if value.items else None, deps=value.deps)
    read_out = bool(arguments.expr.args) and _is_read_out(frame, arguments.expr.args[0])
    divergence = rounds_of(value) if read_out else number_of(value)
    if divergence is not None:
        divergence = divergence.then(frame.step("flow", arguments.expr.pos, f"`{shown(arguments.expr)}` differs"))
        return Value(divergence=divergence, deps=value.deps)
    deps = recast(length_deps(value), COUNTED, ITERATED)
    asked = arguments.expr.args[0]
    emptiness = value.emptiness if _is_handed_dict(frame, asked) else emptiness_of(value)
    emptiness = emptiness or parts.nothing_of(frame, asked, value)
    in_entry, picked_by = picked.emptiness(frame, asked, arguments.expr.pos)
    emptiness = emptiness or in_entry
    if not _has_entries(frame, asked):
        deps |= empty_or_not(value)
    deps |= picked_by
    return Value(uniform=value.uniform, emptiness=emptiness, deps=deps, multiple=value.multiple)


def _is_read_out(frame: Frame, expr: f.Expr) -> bool:
    """`x.tolist()`, `x.cpu().numpy()`: as many as the tensor has, whatever is in it."""
    made = iteration.definition(frame, expr)
    return type(made) is f.Call and last_name(made.func) in ("tolist", "numpy") and not made.args


def _has_entries(frame: Frame, expr: f.Expr) -> bool:
    """Whether a function asks for the entries of what it was passed: a dict, such as one of losses, of which there are
    as many as the program has put into it, whatever the data."""
    if type(expr) is not f.Name or frame.function is None or frame.version(expr.id):
        return False
    return not _OF_DICTS.isdisjoint(frame.function.calls_on(expr.id))


def _is_handed_dict(frame: Frame, expr: f.Expr) -> bool:
    """Whether a name holds a dict that a call has handed back, by what the function asks of it: the entries of metrics
    are those that the program names, whatever the data. Entries that some ranks alone have put in are known by
    themselves."""
    if type(expr) is not f.Name or frame.function is None or not frame.version(expr.id):
        return False
    asked = frozenset(frame.function.calls_on(expr.id))
    return not asked.isdisjoint(_OF_DICTS) and asked.isdisjoint(_OF_TENSORS)


_OF_DICTS = frozenset({"items", "keys", "values"})
#: sparse tensors have values, too
_OF_TENSORS = frozenset("size dim numel to sum mean indices coalesce detach cpu cuda lengths".split())


def _own_length(frame: Frame, value: Value, call: f.Call) -> Value | None:
    """What `__len__` of an instance of a project class says."""
    if len(value.types) > 1 or not call.args:
        return None
    method = frame.analysis.names.method(next(iter(value.types)), "__len__")
    if method is None:
        return None
    if (counted := own_count.of_field(method, value)) is not None:
        return counted
    result = special_methods.asked(frame, method, value, call.args[0], call.pos)
    if result.divergence is None and result.length is not None:
        return Value(divergence=result.length)  # as many as what it is built around
    return result


def empty_or_not(value: Value) -> Deps:
    """The parameters whose size, or that of whose items, is asked for."""
    return only(value.deps, EMPTY, FLOWS, ITEM)


def _range(frame: Frame, arguments: Arguments) -> Value:
    joined = computed(arguments.positional)
    given = arguments.positional
    # `range(rank, n, world_size)` deals out n, which every rank gets as much of if it is a multiple
    dealt = len(given) == 3 and given[1].multiple and given[2].world_size
    if len(given) > 1 and not arguments.is_open and all(v.divergence is None for v in given[2:]):
        dealt = dealt or shares.as_far(frame, *arguments.expr.args[:2])
        if not dealt and len(given) == 3 and shares.steps_evenly(frame, *arguments.expr.args):
            joined = computed(given[1:])  # wherever a rank begins, it is the stop that says how far it goes
    return Value(
        uniform=joined.uniform,
        divergence=None,
        length=None if dealt else joined.divergence,
        length_deps=NO_DEPS if dealt else frozenset(d for d in joined.deps if d[1] not in HOLDS),
        multiple=len(given) == 1 and given[0].multiple,
        agreed=all(v.agreed or v.const is not None for v in given) and any(v.agreed for v in given),
    )


def _unordered(frame: Frame, arguments: Arguments) -> Value:
    expr = arguments.expr.args[0] if arguments.expr.args else None
    made = made_set(frame, _pass_on(arguments.positional), expr, arguments.expr.pos)
    distinct = grouping.of_distinct(frame, made, expr, arguments.expr.pos)
    return made if distinct is None else made._replace(length=distinct, uniform=False)


def _sorted(frame: Frame, arguments: Arguments) -> Value:
    value = sorted_value(_pass_on(arguments.positional))
    before = arguments.positional[0].unordered if arguments.positional else None
    key = arguments.expression("key", None)
    if by := own_number(frame, key):
        note = f"`{by}` differs in every process, and so does what is sorted by it"
        return value._replace(unordered=no_order(frame, arguments.expr.pos, note), in_order=False)
    if before is not None and leaves_ties(frame, key):
        note = f"`{shown(arguments.expr)}` leaves ties as they were"
        return value._replace(unordered=before.then(frame.step("flow", arguments.expr.pos, note)), in_order=False)
    return value


def _zip(frame: Frame, arguments: Arguments) -> Value:
    joined = join(arguments.positional)
    length = joined.length
    if any(v.agreed and v.length is None for v in arguments.positional):
        length = None  # `zip(range(least), items)`, where ranks have agreed on what each has at least
    if side_by_side.are_even(frame, arguments):
        length, joined = None, joined._replace(length_deps=NO_DEPS)
    if length is not None and length.kind == "data" and iteration.counts_rounds(frame, arguments):
        length = length.at_most(Confidence.LOW)  # there are as many batches as a loop is told to take
    loader = any(v.loader for v in arguments.positional)
    made = joined._replace(items=None, const=None, target=None, loader=loader, length=length)
    if length is not None and turned_rows(arguments.expr) is not None:
        # there are as many columns in a row as in another, and none where there is no row
        return made._replace(length=None, emptiness=length.at_most(Confidence.LOW))
    return made


def _next(frame: Frame, arguments: Arguments) -> Value:
    from ferrule_lint.semantics.control import end_of_data
    from ferrule_lint.semantics.walk.binding import element_of

    if not arguments.positional:
        return UNKNOWN
    begun_loaders.begin(frame, arguments.expr.args[0], by_next=True)
    special_methods.each_round(frame, arguments.positional[0], arguments.expr.pos)
    value = element_of(frame, arguments.positional[0], arguments.expr.args[0])
    end = end_of_data.of_default(frame, arguments.expr)
    if end is None:
        return value
    presence = worse(value.presence, end.divergence)
    return value._replace(presence=presence, presence_deps=value.presence_deps | end.deps)


def _any_all(frame: Frame, arguments: Arguments) -> Value:
    if not arguments.positional:
        return UNKNOWN
    value = arguments.positional[0]
    if value.length is not None and value.divergence is None:
        return Value(divergence=value.length)
    if _asks_for_none(frame, arguments.expr.args[0]):
        return Value(divergence=value.divergence, deps=recast(value.deps, PRESENT, FLOWS, ITEM))
    if all_alike.is_asked(frame, last_name(arguments.expr.func), arguments.expr.args[0]):
        return Value(uniform=True)
    return observe(frame, value, arguments.expr.pos, shown(arguments.expr))


def _asks_for_none(frame: Frame, asked: f.Expr) -> bool:
    """`all(w is not None for w in weights)`, where that is asked of the parts of one input and not of the samples of a
    batch: the outputs of a module, or a list that is written out."""
    if type(asked) is not f.Comprehension or len(asked.generators) != 1:
        return False
    tests = asked.elements
    if not all(type(t) is f.Compare and t.ops in (("is",), ("is not",)) and t.rights == (_NONE,) for t in tests):
        return False
    return parts_of_one_input(frame, asked.generators[0].iterable)


_NONE = f.Const("None")


def _partial(frame: Frame, arguments: Arguments) -> Value:
    if not arguments.positional:
        return UNKNOWN
    keywords = tuple((k, v) for k, v in arguments.keywords.items() if k != "**")
    return Value(uniform=True, target=PartialTarget(arguments.positional[0], arguments.positional[1:], keywords))


def _getattr(frame: Frame, arguments: Arguments) -> Value:
    e = arguments.expr
    text = _text_of(arguments)
    name = text[1:-1]
    if text[:1] in ("'", '"') and name.isidentifier():
        holder = frame.analysis.names.resolve(e.args[0], frame.module)
        if type(holder) is ModuleInfo:
            holder.rests_on_all()
        value = frame.eval(f.Attr(e.args[0], name, e.pos))
        if len(e.args) == 3 and type(e.args[2]) is f.Const and e.args[2].text != "None":
            value = value._replace(data=None)  # a number or text for want of one: a setting, whatever holds it
        # what is looked for by name and may not be there is a method more often than a module
        return value._replace(const=None, module=value.module and not runs_nothing(name))
    return UNKNOWN


def _text_of(arguments: Arguments) -> str:
    """The text that names an attribute, written out or in a variable (`getattr(callback, event)`), or ""."""
    name = arguments.positional[1] if len(arguments.positional) > 1 else UNKNOWN
    return name.const or "" if name.divergence is None else ""


def _getenv(frame: Frame, arguments: Arguments) -> Value:
    const = arguments.positional[0].const if arguments.positional else None
    return environment.variable(frame, const, arguments.expr.pos)


def _of_sets(frame: Frame, arguments: Arguments) -> Value:
    """`set.union(*gathered)`: of what the ranks have agreed on, the same everywhere."""
    given = arguments.values
    agreed = bool(given) and all(v.agreed for v in given)
    return join(given)._replace(const=None, items=None, target=None) if agreed else computed(given)


def _empty(frame: Frame, arguments: Arguments) -> Value:
    """`defaultdict(list)`: filled from here on; the entries of `defaultdict(Meter)` are instances of that class, made
    by whoever asks for one."""
    made = arguments.positional[0].target if arguments.positional else None
    if type(made) is ExternalTarget and (held := frame.models.more_than_module(made.dotted)) is not None:
        return Value(container=True, holds=held)
    if type(made) is not ClassTarget:
        return Value(uniform=True, container=True)
    return Value(container=True, element_types=frozenset({made.info}))


def _groups(frame: Frame, arguments: Arguments) -> Value:
    """`Counter(items)`, `groupby(items, key)`: one for each of the different items."""
    if not arguments.positional:
        return _empty(frame, arguments)
    expr = arguments.expr.args[0] if arguments.expr.args else None
    items = _pass_on(arguments.positional)
    distinct = grouping.of_distinct(frame, items, expr, arguments.expr.pos)
    return Value(uniform=items.uniform, data=items.data, length=distinct, container=True)


def _of_keys(frame: Frame, arguments: Arguments) -> Value:
    """`dict.fromkeys(items)`: a set of them that keeps their order."""
    made = computed(arguments.values)
    if not arguments.positional or not arguments.expr.args:
        return made
    keys = arguments.positional[0]
    distinct = grouping.of_distinct(frame, keys, arguments.expr.args[0], arguments.expr.pos)
    return made._replace(length=keys.length or distinct, length_deps=keys.length_deps, unordered=keys.unordered)


def _type(frame: Frame, arguments: Arguments) -> Value:
    """`type(x)` of an instance of a class of the project."""
    types = arguments.positional[0].types if len(arguments.positional) == 1 else NOTHING
    return Value(uniform=True, target=ClassTarget(next(iter(types)))) if len(types) == 1 else UNKNOWN


def _filter(frame: Frame, arguments: Arguments) -> Value:
    value = arguments.positional[1] if len(arguments.positional) > 1 else UNKNOWN
    length, deps = filters.of_all(frame, value, arguments.expr.pos)
    if arguments.positional:
        length = worse(length, filtered.dealt(frame, arguments.positional[0], value, arguments.expr))
        length = worse(length, filtered.by_content(frame, arguments.positional[0], value, arguments.expr))
    return value._replace(items=None, const=None, uniform=False, length=value.length or length, length_deps=deps)


def serialised(frame: Frame, arguments: Arguments) -> Value:
    """`pickle.dumps(x)`: as long as what this rank has to say, unless it says what all do."""
    if arguments.positional and arguments.positional[0].uniform:
        return UNIFORM
    note = f"`{shown(arguments.expr)}` is as long as what this rank puts in"
    given = arguments.positional[0] if arguments.positional else UNKNOWN
    if given.length is not None:  # `"" if rank else name`: nobody need agree on it to know that
        step = frame.step("flow", arguments.expr.pos, note)
        return Value(length=given.length.then(step), length_deps=given.length_deps, there=True)
    length = frame.source(WORLD, "data", arguments.expr.pos, note, Confidence.MEDIUM)
    return Value(length=length._replace(assumed=True), length_deps=length_deps(given), there=True)


def _isinstance(frame: Frame, arguments: Arguments) -> Value:
    """`isinstance(x, C)`: None is an instance of nothing else than its own class and `object`."""
    asked, expr = arguments.positional[:1], arguments.expr
    if (parted := sorts.asked(frame, arguments)) is not None:
        return Value(divergence=parted)
    if (told := instances.told(frame, arguments)) is not None:
        return Value(uniform=True, const=repr(told))
    nothing = asked and asked[0].const == "None" and not (asked[0].divergence or asked[0].presence or asked[0].deps)
    if not nothing or len(expr.args) != 2:
        return UNIFORM
    return Value(uniform=True, const=repr(sorts.OF_NOTHING.search(render(expr.args[1])) is not None))


def _hasattr(frame: Frame, arguments: Arguments) -> Value:
    if _asks_for_inner(arguments):
        return Value(uniform=True, const="True")
    parted = sorts.asked(frame, arguments) or left_unset.asked(frame, arguments)
    return Value(divergence=parted) if parted is not None else UNIFORM


def _asks_for_inner(arguments: Arguments) -> bool:
    """`hasattr(model, "module")` of what a wrapper has made that keeps its module there."""
    asked, args = arguments.positional[:1], arguments.expr.args
    if len(args) != 2 or type(args[1]) is not f.Const or args[1].text.strip("'\"") != "module":
        return False
    return bool(asked) and (asked[0].external or "").rpartition(".")[2] in _KEEP_THEIR_MODULE


#: wrappers that have the module which they are given as `module`
_KEEP_THEIR_MODULE = frozenset({"DistributedDataParallel", "FullyShardedDataParallel"})


def _heappush(frame: Frame, arguments: Arguments) -> Value:
    from ferrule_lint.semantics.calls import methods  # which asks for what stands here

    return methods.pushed(frame, arguments)


_Handler = Callable[["Frame", "Arguments"], Value]

_FUNCTIONS: dict[str, _Handler] = {
    "argparse.Namespace": _namespace,
    "types.SimpleNamespace": _namespace,
    "collections.namedtuple": record_makers.named_tuple,
    "dataclasses.replace": record_makers.made_of_another,
    "copy.replace": record_makers.made_of_another,
    "len": _len,
    "range": _range,
    "itertools.islice": iterators.islice,
    "itertools.cycle": iterators.cycle,
    "itertools.takewhile": iterators.by_test,
    "itertools.dropwhile": iterators.by_test,
    "itertools.filterfalse": iterators.by_test,
    "itertools.compress": iterators.compress,
    "itertools.groupby": _groups,
    "set": _unordered,
    "frozenset": _unordered,
    "set.union": _of_sets,
    "set.intersection": _of_sets,
    "sorted": _sorted,
    "zip": _zip,
    "next": _next,
    "any": _any_all,
    "all": _any_all,
    "functools.partial": _partial,
    "getattr": _getattr,
    "asyncio.to_thread": run_in_thread,
    "os.getenv": _getenv,
    "os.environ.get": _getenv,
    "map": mapped,
    "filter": _filter,
    "type": _type,
    "isinstance": _isinstance,
    "hasattr": _hasattr,
    "torch.is_tensor": _hasattr,
    "collections.defaultdict": _empty,
    "collections.Counter": _groups,
    "dict.fromkeys": _of_keys,
    "heapq.heappush": _heappush,
    "pickle.dumps": serialised,
    "dill.dumps": serialised,
    "cloudpickle.dumps": serialised,
    "json.dumps": serialised,
    "msgpack.packb": serialised,
}
