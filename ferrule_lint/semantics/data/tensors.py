"""What torch's own functions do to the facets of tensors: content, shape, padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk, way_to
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import cutting, fillers, filling, flat, layout, rejoined
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.arithmetic import remainder
from ferrule_lint.semantics.domain.dependences import (
    CONTAINED,
    COUNTED,
    EMPTY,
    FLOWS,
    ITEM,
    ITERATED,
    NO_DEPS,
    OBSERVED,
    SIZED,
    Deps,
    only,
    recast,
    without,
)
from ferrule_lint.semantics.domain.joins import computed, join
from ferrule_lint.semantics.domain.lattice import UNIFORM, Divergence, Value, taken_with_all, worse
from ferrule_lint.semantics.domain.text import last_name, place_name, render, root_name, shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

_OF_SIZE = frozenset(
    [
        "zeros",
        "ones",
        "empty",
        "full",
        "arange",
        "randn",
        "rand",
        "randint",
        "eye",
        "linspace",
        "new_zeros",
        "new_ones",
        "new_empty",
        "new_full",
    ]
)
#: of these not all positional arguments are sizes
_SIZE_ARGUMENTS = {"full": slice(0, 1), "new_full": slice(0, 1), "randint": slice(-1, None), "linspace": slice(2, 3)}
#: of the size of their argument, whatever is in it
_LIKE = frozenset({"zeros_like", "ones_like", "empty_like", "full_like"})
_OF_CONTENT = frozenset(
    [
        "tensor",
        "as_tensor",
        "asarray",
        "FloatTensor",
        "LongTensor",
        "IntTensor",
        "BoolTensor",
        "from_numpy",
        "frombuffer",
        "from_buffer",
        "_from_buffer",
        "ByteTensor",
        "CharTensor",
        "scalar_tensor",
    ]
)
_JOINED = frozenset(["cat", "concat", "concatenate", "stack", "hstack", "vstack", "row_stack"])
_REDUCING = frozenset(
    [
        "sum",
        "mean",
        "max",
        "min",
        "any",
        "all",
        "prod",
        "norm",
        "amax",
        "amin",
        "std",
        "var",
        "logsumexp",
        "nanmean",
        "nansum",
        "median",
        "count_nonzero",
        "argmax",
        "argmin",
    ]
)
#: kinds of conditions under which a tensor may be made longer on some ranks only
_LOCAL = ("data", "structure", "rank")


#: functions of numpy that make arrays as torch's of the same name make tensors, or of another
_OF_NUMPY = {"array": "tensor", "asarray": "tensor"} | {
    n: n for n in "concatenate stack vstack hstack zeros ones empty full arange".split()
}


def of_numpy(frame: Frame, name: str, arguments: Arguments) -> Value | None:
    """The value of a function of numpy that makes an array; its element types are not those of torch."""
    known = _call(frame, _OF_NUMPY[name], arguments, None) if name in _OF_NUMPY else None
    return known._replace(there=True) if known is not None else None


def call(frame: Frame, name: str, arguments: Arguments, receiver: Value | None) -> Value | None:
    """The value of a torch function or tensor method called `name`, or None when it is none of those known here."""
    value = _call(frame, name, arguments, receiver)
    if value is None:
        return None
    told = layout.of_call(name, arguments.expr, arguments.positional, receiver is not None)
    if name in _OF_CONTENT and layout.is_number(told):  # `torch.tensor(int(found))`, however much there is of that
        value = value._replace(shape=None, padded=None, shape_deps=NO_DEPS)
    return value._replace(there=True, layout=told)


def _call(frame: Frame, name: str, arguments: Arguments, receiver: Value | None) -> Value | None:
    by_size = receiver is None and "size" in arguments.keywords and (name == "Tensor" or name in _OF_CONTENT)
    if name in _OF_SIZE or by_size:
        made = _of_size(frame, name, arguments)
        return _filled_with(arguments, made) if name in ("full", "new_full") else made
    if name in _LIKE and receiver is None and arguments.positional:
        like = arguments.positional[0]._replace(
            data=None, divergence=None, presence=None, const=None, target=None, items=None, rank="", boolean=False
        )
        return _filled_with(arguments, like) if name == "full_like" else like
    if name in _OF_CONTENT and receiver is None:
        return _of_content(frame, arguments)
    if name in _JOINED and receiver is None:
        return _joined(frame, name, arguments)
    if name == "pad":
        return _padded(frame, arguments, receiver)
    if name == "pad_sequence":
        return _to_longest(frame, arguments)
    if name in _REDUCING:
        return _reduced(frame, arguments, receiver)
    if (cut := cutting.by_method(frame, name, arguments, receiver)) is not None:
        return cut
    if name == "split":
        return _in_chunks(frame, arguments, receiver)
    return None


def _flat(value: Value) -> Value:
    """A value with what its items hold brought up."""
    if not value.items:
        return value
    joined = computed(_flat(v) for v in value.items)
    return value._replace(
        divergence=worse(value.divergence, joined.divergence),
        data=worse(value.data, joined.data),
        deps=value.deps | joined.deps if joined.deps else value.deps,
    )


def _of_size(frame: Frame, name: str, arguments: Arguments) -> Value:
    given = [*arguments.positional, *(v for k, v in arguments.keywords.items() if k in ("size", "steps"))]
    sizes = [_flat(v) for v in given[_SIZE_ARGUMENTS.get(name, slice(None))]]
    if name == "arange" and len(arguments.positional) == 2:
        left = remainder(arguments.expr.args[1], arguments.expr.args[0])
        sizes = sizes if left is None else [_flat(frame.eval(e)) for e in left]
    divergence = next((v.divergence for v in sizes if v.divergence is not None), None)
    uniform = all(v.uniform for v in sizes) and not name.startswith("rand")
    by_name = [v for k, v in arguments.expr.keywords if k == "size"]
    filled = any(_is_rest(frame, a) for a in (*arguments.expr.args, *by_name))
    agreed = any(v.agreed or any(i.agreed for i in v.items or ()) for v in sizes)
    if divergence is None:
        told = frozenset([d for v in sizes for d in v.deps if d[1] in (COUNTED, OBSERVED)]) or NO_DEPS
        return Value(uniform=uniform, filled=filled, agreed=agreed, shape_deps=told)
    uneven = _ragged(frame, arguments, divergence)
    return Value(shape=uneven, uneven_last=_differs_later(name, sizes), filled=filled, agreed=agreed)


def _differs_later(name: str, sizes: list[Value]) -> bool:
    """Whether a tensor is made with a first size that is not known to differ, and another that does: `b` and `n`
    of `b, n = mask.shape`, where the mask is as long as the longest text of this rank."""
    if name in _OF_ONE_DIMENSION:
        return False
    dims = list(sizes[0].items or ()) if len(sizes) == 1 else sizes
    return len(dims) > 1 and dims[0].divergence is None and any(d.divergence is not None for d in dims[1:])


#: what takes ends and steps, and makes a tensor of one dimension
_OF_ONE_DIMENSION = frozenset({"arange", "linspace", "range"})


def _filled_with(arguments: Arguments, made: Value) -> Value:
    """`full(size, x)`: in each place there is `x`."""
    by_name = arguments.keywords.get("fill_value")
    put = by_name if by_name is not None else arguments.positional[1] if len(arguments.positional) > 1 else UNIFORM
    return made._replace(
        uniform=made.uniform and put.uniform, divergence=put.divergence, data=put.data,
        deps=made.deps | recast(put.deps, ITEM, FLOWS),
    )  # fmt: skip


def _is_rest(frame: Frame, size: f.Expr) -> bool:
    """Whether a size is what is missing to a length: `most - n`, a variable set to that, or named `pad_len`."""
    if type(size) is f.Sequence:
        return any(_is_rest(frame, s) for s in size.elements)
    size = size if "pad" in last_name(size) else definition(frame, size)
    if (found := fillers.lacked(frame, size)) is not None:  # `max(n - len(x), 0)`
        size = f.Op("Sub", found)
    return ((type(size) is f.Op and size.kind == "Sub") or "pad" in last_name(size)) and not _rounds_up(size)


def _rounds_up(expr: object) -> bool:
    """Whether an amount is what is missing to a multiple, which leaves uneven lengths uneven."""
    if type(expr) is f.Op and expr.kind == "Mod":
        return True
    return isinstance(expr, tuple) and any(map(_rounds_up, expr))


def _up_to_length(frame: Frame, arguments: Arguments) -> bool:
    """Whether what is added is what the tensor itself lacks to a length: one that the ranks agreed on, or any, if its
    own size is what the amount is reckoned from. A test around that only asks if something is missing."""
    if frame.path_divergence() is None:
        return True
    amounts = arguments.expr.args if arguments.expr.args else ()
    if any(v.agreed for value in arguments.positional for v in value.items or (value,)) or any(
        _agreed(frame, a) for a in amounts
    ):
        return True
    tensor = root_name(
        amounts[0].elements[0] if amounts and type(amounts[0]) is f.Sequence else next(iter(amounts), None)
    )
    return any(_lacks(a, tensor) for a in amounts)


def _adds_what_is_missing(frame: Frame, call: f.Call) -> bool:
    """Whether a tensor is put together with one that is made as long as the ranks have agreed on, less its own length:
    `missing = sizes.max() - n`, `cat([x, x.new_zeros(int(missing), 4)])`."""
    parts = call.args[0].elements if call.args and type(call.args[0]) is f.Sequence else ()
    made = [definition(frame, part) for part in parts]
    filled = (m for m in made if type(m) is f.Call and last_name(m.func) in _BLANK)
    return any(_agreed(frame, part) and _is_difference(frame, part) for m in filled for part in m.args)


#: what makes tensors of a given size with nothing in them
_BLANK = frozenset("zeros ones empty full new_zeros new_ones new_empty new_full".split())


def _is_difference(frame: Frame, expr: f.Expr) -> bool:
    """Whether a size is worked out by taking one away from another, also under a name, and as a number."""
    found = definition(frame, expr)
    while type(found) is f.Call:
        inner = found.func.base if type(found.func) is f.Attr and not found.args else next(iter(found.args), None)
        if inner is None:
            return False
        found = definition(frame, inner)
    return type(found) is f.Op and found.kind == "Sub"


def _agreed(frame: Frame, expr: object) -> bool:
    if type(expr) is f.Name:
        return frame.eval(expr).agreed
    if type(expr) is f.Attr:  # also `missing.item()`
        return frame.eval(expr).agreed or _agreed(frame, expr.base)
    return isinstance(expr, tuple) and any(_agreed(frame, part) for part in expr)


def _lacks(expr: object, tensor: str) -> bool:
    """`length - tensor.size(0)` anywhere in an expression."""
    if type(expr) is f.Op and expr.kind == "Sub" and root_name(expr.operands[1]) == tensor:
        return True
    return isinstance(expr, tuple) and any(_lacks(part, tensor) for part in expr)


def _ragged(frame: Frame, arguments: Arguments, divergence: Divergence) -> Divergence:
    note = f"the size of `{shown(arguments.expr)}` differs between ranks"
    return divergence.then(frame.step("flow", arguments.expr.pos, note)).at_most(Confidence.MEDIUM)


def _of_content(frame: Frame, arguments: Arguments) -> Value:
    if not arguments.positional:
        return Value()
    value = _flat(arguments.positional[0])
    display = arguments.expr.args[0] if arguments.expr.args else None
    written = display is not None and _is_written_out(frame, display)
    return Value(
        uniform=value.uniform and not value.divergence,
        divergence=value.divergence,
        data=value.data,
        shape=None if written else worse(value.shape, _of_all(value.length)),
        deps=_of_known_length(value.deps) if written else _of_what_it_holds(value),
        shape_deps=NO_DEPS if written else value.shape_deps | counted(value) | _as_passed(display, value),
        unordered=value.unordered,
    )


def _of_what_it_holds(value: Value) -> Deps:
    """What a tensor that is made of all items of a list depends on: also on what the list merely holds, unless a test
    has left items out (then the tensor is no part of what it is made of)."""
    if value.items is not None or any(how == OBSERVED for _, how in value.length_deps):
        return value.deps
    return recast(value.deps, ITEM, CONTAINED)


def _as_passed(display: f.Expr | None, value: Value) -> Deps:
    """A parameter, or a part of one, that a tensor is made of as it is: if it is a list, its caller knows how long."""
    place = place_name(display)
    if type(display) is f.Subscript and type(display.index) is f.Const and (base := place_name(display.base)):
        place = f"{base}[{render(display.index)}]"
    return frozenset([(place, COUNTED)]) if place and (place, FLOWS) in value.deps else NO_DEPS


def _is_written_out(frame: Frame, display: f.Expr) -> bool:
    """Whether the text tells how many items there are: `[a, b]`, and `x.size()`, which has one for each dimension."""
    if type(display) is f.Sequence:
        return all(type(e) is not f.Starred for e in display.elements)
    display = definition(frame, display)
    if type(display) is f.Call and last_name(display.func) in ("list", "tuple") and len(display.args) == 1:
        display = definition(frame, display.args[0])
    if type(display) is f.Call:
        return type(display.func) is f.Attr and display.func.attr == "size" and not display.args
    return type(display) is f.Attr and display.attr == "shape"


def _of_all(length: Divergence | None) -> Divergence | None:
    """Why as many items as there are differ in number, where a tensor is made of all: also of an entry of a dict that
    only some ranks have."""
    return taken_with_all(length) if length is not None else None


def counted(value: Value) -> Deps:
    """The parameters that decide how many items a list has that a tensor is made of."""
    return recast(value.length_deps, COUNTED, ITERATED, FLOWS)


def _at_all(deps: Deps) -> Deps:
    """Of the parameters that decide how many parts are put together those that say more than whether there are any:
    without parts it is an error. As many chunks as a batch has make a tensor of as many rows as the batch."""
    return without(deps, EMPTY)


def _joined(frame: Frame, name: str, arguments: Arguments) -> Value | None:
    if not arguments.positional:
        return None
    value = _flat(rejoined.as_wholes(frame, arguments.expression("tensors", 0), arguments.positional[0]))
    parts = join(value.items) if value.items else value
    padded = worse(value.padded, parts.padded)
    local = frame.path_divergence()
    several = name != "stack" and value.items is not None and len(value.items) > 1
    # what is put together is a list, whatever else is known of a parameter: its caller knows how many there are
    given = only(value.deps, ITERATED, FLOWS) if value.items is None else NO_DEPS
    by_number = value.length is not None or bool(given)  # how many are stacked is the first dimension, not theirs
    sized_by = value.shape_deps | _at_all(counted(value)) | parts.shape_deps | given
    missing = several and local is not None and filling.reckons_what_is_missing(frame, arguments.expr)
    missing = missing or (several and local is None and _adds_what_is_missing(frame, arguments.expr))
    missing = missing or (several and local is not None and any(map(cutting.is_short_share, value.items or ())))
    filled = several and (parts.filled or missing)
    even = missing or not several or (local is not None and _into_buffer(frame, arguments.expr))
    if not even and local is not None and local.kind in _LOCAL and not (filled and _up_to_length(frame, arguments)):
        note = f"`{last_name(arguments.expr.func)}` makes it longer on some ranks only"
        padded = worse(padded, local.then(frame.step("flow", arguments.expr.pos, note)))
    return Value(
        uniform=value.uniform, data=worse(value.data, parts.data), padded=padded, filled=filled,
        deps=_of_known_length(value.deps) if filled else _of_what_it_holds(value) | parts.deps,
        shape=None if padded or filled else worse(worse(value.shape, _of_all(value.length)), parts.shape),
        shape_deps=NO_DEPS if padded or filled else sized_by,
        agreed=value.agreed or parts.agreed, uneven_last=parts.uneven_last or (name == "stack" and not by_number),
        unordered=value.unordered, multiple=filling.joined_to_multiple(frame, arguments.expression("tensors", 0)),
    )  # fmt: skip


def _into_buffer(frame: Frame, call: f.Call) -> bool:
    """Whether what is put together takes the place of a buffer that the others have made for it (`x = zeros(n)`; then,
    on one rank, `x = make(n - 1)` and `x = cat([first, x])`): nothing of theirs is made longer."""
    if frame.function is None:
        return False
    way = way_to(frame.function.body, call.pos)
    if len(way) < 2:
        return False
    block, i = way[-1]
    made = block[i]
    if type(made) is not f.Assign or len(made.targets) != 1 or made.value is not call:
        return False
    name = place_name(made.targets[0])
    if not name:
        return False
    here = _assigning(block[:i], name)
    others = [s for around, j in way[:-1] for s in _assigning(around[:j], name)]
    own = here[-1].value if here else call
    if not others or own is None or _reads(own, name):
        return False
    buffer = others[-1].value
    return type(buffer) is f.Call and last_name(buffer.func) in _OF_SIZE


def _assigning(block: f.Body, name: str) -> list[f.Assign]:
    return [s for s in block if type(s) is f.Assign and name in map(place_name, s.targets)]


def _reads(expr: f.Expr, name: str) -> bool:
    return any(type(n) in (f.Name, f.Attr) and place_name(n) == name for n in walk(expr))  # type: ignore[arg-type]


def _padded(frame: Frame, arguments: Arguments, receiver: Value | None) -> Value:
    source = arguments.positional[0] if arguments.positional else receiver or Value()
    padded = source.padded
    local = frame.path_divergence()
    if local is not None and cutting.is_short_share(source):
        return source._replace(shape=None, uneven_last=False, filled=True)
    uneven = local is not None and local.kind in _LOCAL and not filling.reckons_what_is_missing(frame, arguments.expr)
    if local is not None and uneven and not _up_to_length(frame, arguments):
        padded = worse(padded, local.then(frame.step("flow", arguments.expr.pos, "padded on some ranks only")))
    if _rounds_up(arguments.expr.args):
        return source._replace(padded=padded, const=None, items=None, presence=None)
    target = _local_target(frame, arguments)
    if target is not None:
        note = "padded to a length that only this rank knows"
        padded = worse(padded, target.then(frame.step("flow", arguments.expr.pos, note)).at_most(Confidence.MEDIUM))
    if local is None and target is None and _agreed_target(frame, arguments):
        deps = recast(source.deps, SIZED, FLOWS)
        return source._replace(
            shape=None,
            padded=None,
            length=None,
            length_deps=NO_DEPS,
            shape_deps=NO_DEPS,
            deps=deps,
            const=None,
            items=None,
            presence=None,
            filled=True,
        )
    by = NO_DEPS if padded is not None else _told_target(frame, arguments)
    return source._replace(
        shape=None,
        shape_deps=by,
        padded=padded,
        const=None,
        items=None,
        presence=None,
        filled=True,
        deps=_of_known_length(source.deps),
    )


def _to_longest(frame: Frame, arguments: Arguments) -> Value | None:
    """`pad_sequence(items)`: as long as the longest of the rank's own items."""
    if not arguments.positional:
        return None
    value = _flat(arguments.positional[0])
    shape = value.shape
    if shape is None and value.data is not None:
        note = f"`{shown(arguments.expr)}` is as long as the rank's own longest item"
        shape = value.data.then(frame.step("flow", arguments.expr.pos, note)).at_most(Confidence.MEDIUM)
    by = only(_of_what_it_holds(value), OBSERVED, FLOWS, ITEM) if shape is None else NO_DEPS
    return Value(data=value.data, shape=shape, uneven_last=True, shape_deps=by, deps=_of_known_length(value.deps))


def _of_known_length(deps: Deps) -> Deps:
    """What is filled up to a length has the shape of its parameter no longer."""
    return recast(deps, ITEM, FLOWS)


def _local_target(frame: Frame, arguments: Arguments) -> Divergence | None:
    """`pad(x, (0, target - x.size(0)))`: the divergence of the target, not that of the difference."""
    for expr in _targets(arguments):
        target = frame.eval(expr)
        if target.divergence is not None and target.divergence.kind in ("data", "structure"):
            return target.divergence
    return None


def _told_target(frame: Frame, arguments: Arguments) -> Deps:
    """The parameters that say to which length something is filled up: it is as long as its caller says."""
    names = [expr.id for expr in _targets(arguments) if type(expr) is f.Name]
    told = [name for name in names if (name, FLOWS) in (frame.env.get(name) or Value()).deps]
    longest = (_of_longest(frame, expr) for expr in _targets(arguments))
    return frozenset([(name, OBSERVED) for name in told]).union(*longest) or NO_DEPS


def _of_longest(frame: Frame, target: f.Expr) -> Deps:
    """The parameters whose longest item says so, `n = max(len(s) for s in seqs)`: as `pad_sequence` of them does."""
    made = definition(frame, target)
    if type(made) is not f.Call or last_name(made.func) != "max" or len(made.args) != 1:
        return NO_DEPS
    sizes = definition(frame, made.args[0])
    if type(sizes) is not f.Comprehension or len(sizes.elements) != 1 or len(sizes.generators) != 1:
        return NO_DEPS
    asked, walked = sizes.elements[0], sizes.generators[0]
    sized: f.Expr | None
    if type(asked) is f.Call and last_name(asked.func) in ("len", "size"):
        sized = asked.args[0] if last_name(asked.func) == "len" and asked.args else asked.func
    else:
        sized = asked.base if type(asked) is f.Subscript else None
    of = sized.base if type(sized) is f.Attr and sized.attr in ("shape", "size") else sized
    if type(of) is not f.Name or type(walked.target) is not f.Name or walked.target.id != of.id:
        return NO_DEPS
    return only(frame.ask(walked.iterable).deps, OBSERVED, FLOWS, ITEM)


def _agreed_target(frame: Frame, arguments: Arguments) -> bool:
    """Whether what is padded is brought to sizes that nothing local decides, nor a caller.

    A size that was reduced over a group of which nothing is known is one of those.
    """
    targets = [frame.eval(expr) for expr in _targets(arguments)]
    return bool(targets) and all(one.uniform or not (one.observed or one.shape or one.deps) for one in targets)


def _targets(arguments: Arguments) -> list[f.Expr]:
    """What sizes are subtracted from, in the amounts of a padding."""
    stack: list[f.Expr] = list(arguments.expr.args[1:])
    found: list[f.Expr] = []
    while stack:
        expr = stack.pop()
        if type(expr) is f.Sequence:
            stack += expr.elements
        elif type(expr) is f.Op and expr.kind == "Sub":
            found.append(expr.operands[0])
        elif type(expr) is f.Op and expr.kind == "Add":
            stack += expr.operands
        elif type(expr) is f.Op and expr.kind == "Mult":
            # `[0, 0] * n + [0, target - size]`; how often is no size
            stack += [operand for operand in expr.operands if type(operand) is f.Sequence]
    return found


def _in_chunks(frame: Frame, arguments: Arguments, receiver: Value | None) -> Value | None:
    """`x.split(size, dim=1)`: as many chunks as fit in the dimension, more where it is longer."""
    given = arguments.positional if receiver is not None else arguments.positional[1:]
    whole = receiver if receiver is not None else next(iter(arguments.positional), None)
    if whole is None or not given or given[0].items is not None or given[0].data is not None:
        return None
    dim = arguments.keywords.get("dim", given[1] if len(given) > 1 else Value(const="0"))
    if dim.const is None or (dim.const == "0") is whole.uneven_last:
        return None
    if whole.shape is None:
        return _of_callers_length(whole, given[0]) if dim.const == "0" else None
    note = f"`{shown(arguments.expr)}` makes as many chunks as this rank's tensor is long"
    length = whole.shape.then(frame.step("flow", arguments.expr.pos, note)).at_most(Confidence.MEDIUM)
    return whole._replace(length=length, shape=None, uneven_last=False, const=None, uniform=False)


def _of_callers_length(whole: Value, size: Value) -> Value | None:
    """As many chunks as a caller's tensor, or what is selected from it, is long; a text is split by another one."""
    deps = only(whole.deps, COUNTED, FLOWS) | whole.shape_deps
    if not deps or whole.items is not None or whole.container or (size.const or "")[:1] in ("'", '"'):
        return None
    return whole._replace(length_deps=deps, deps=only(whole.deps, ITEM, FLOWS), shape_deps=NO_DEPS, const=None)


def _reduced(frame: Frame, arguments: Arguments, receiver: Value | None) -> Value | None:
    """A reduction: of everything, or of one dimension; the uneven one is taken to be the first, and to be left where
    another one is named, unless there is only one."""
    operands = [receiver] if receiver is not None else list(arguments.positional[:1])
    if not operands:
        return None
    value = join(operands)
    dims = arguments.positional if receiver is not None else arguments.positional[1:]
    dim = next((arguments.keywords[k] for k in ("dim", "axis") if k in arguments.keywords), dims[0] if dims else None)
    keeps = dim is not None and dim.const is not None and (dim.const == "0") == value.uneven_last
    if keeps and (value.shape is not None or value.shape_deps):
        keeps = not _has_one_dimension(frame, arguments, receiver)
    # of a parameter one does not know which of its dimensions is the uneven one
    deps = value.deps if keeps and value.shape is not None else _of_known_length(value.deps)
    return Value(
        uniform=value.uniform, divergence=value.divergence, data=value.data, deps=deps,
        shape=value.shape if keeps else None, shape_deps=value.shape_deps if keeps else NO_DEPS,
        uneven_last=value.uneven_last, agreed=value.agreed,
    )  # fmt: skip


def _has_one_dimension(frame: Frame, arguments: Arguments, receiver: Value | None) -> bool:
    func, first = arguments.expr.func, next(iter(arguments.expr.args), None)
    reduced = first if receiver is None else func.base if type(func) is f.Attr else None
    return frame.function is not None and flat.is_flat(frame.function.body, reduced)
