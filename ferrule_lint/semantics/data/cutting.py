"""Tensors that are cut or stretched to a number which differs: `x[:n]`, `x.narrow(0, 0, n)`, `x.topk(n)`, `x.tile(n)`.

A cut with both ends is left alone: windows of one length start anywhere. So is a number that differs by the rank, which
deals a tensor out in parts. What is cut to the number of samples in a whole data set has been gathered: ranks that have
one sample more than their share see it twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import shares
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.dependences import NO_DEPS
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, place_name, shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

_NONE = f.Const("None")
#: what a method's arguments say of the size of its result: their places, without the tensor itself
_SIZES = {"narrow": slice(2, 3), "topk": slice(0, 1), "expand": slice(None), "repeat": slice(None), "tile": slice(None)}
#: names of the same arguments
_NAMED = frozenset({"length", "k", "size", "repeats", "dims"})


def of_slice(frame: Frame, e: f.Subscript, base: Value) -> tuple[Divergence, bool] | None:
    """Why `base[:n]` or `base[:, :n]` of a tensor is of another size on each rank, and whether that is not in its first
    dimension; None where nothing local says how long it becomes."""
    if base.data is None and base.layout is None and base.shape is None and not is_asked_as_tensor(frame, e.base, base):
        return None
    parts = e.index.elements if type(e.index) is f.Sequence else (e.index,)
    for dim, part in enumerate(parts):
        end = _one_end(part)
        if end is None:
            continue
        bound = frame.eval(end)
        divergence = _local(bound) or bound.data  # of a tensor that holds one number
        if divergence is not None:
            note = f"`{shown(e)}` is cut to a length that differs between ranks"
            shape = divergence.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM)
            return shape, dim > 0
    return None


def of_rounded_share(frame: Frame, e: f.Subscript, base: Value) -> tuple[Divergence, bool] | None:
    """Why the rank's share `base[rank * n : (rank + 1) * n]` of a tensor, in any dimension, is of another size on each
    rank, and whether that is not the first one: `n` was rounded up, which leaves less for the last. Who asks for a
    remainder in the same function sees to it that there is none."""
    if base.multiple or base.filled or base.divergence is not None or frame.function is None:
        return None
    parts = e.index.elements if type(e.index) is f.Sequence else (e.index,)
    for dim, part in enumerate(parts):
        if type(part) is not f.Op or part.kind != "Slice" or not shares.is_rounded_up(frame, part):
            continue
        if len(parts) == 1 and place_name(e.base) not in _asked_as_tensors(frame, frame.function.body):
            return None  # of a list, whose items are as large as they were
        divergence = frame.eval(part.operands[0]).divergence
        if divergence is None or divergence.kind != "rank" or _asks_for_remainder(frame.function.body):
            return None
        note = f"`{shown(e)}` {_SHORTER}"
        return divergence.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM), dim > 0
    return None


#: how the step ends that says so
_SHORTER = "is shorter on the last rank: the length of the shares was rounded up"


def is_short_share(value: Value) -> bool:
    """Whether a tensor is such a share and nothing else: what some ranks alone add to it is what they lack."""
    return value.shape is not None and value.shape.why[-1].note.endswith(_SHORTER)


#: attributes by which a tensor is told from a list
_OF_TENSORS = frozenset({"shape", "dtype", "device", "size", "ndim", "dim"})


def is_asked_as_tensor(frame: Frame, expr: f.Expr, value: Value) -> bool:
    """Whether the function asks something for what only a tensor has, or indexes it in more than one dimension, and
    has made no list of it."""
    place = place_name(expr)
    if not place or value.container or value.items is not None or frame.function is None:
        return False
    asked = _asked_as_tensors(frame, frame.function.body) | frame.analysis.bodies.once(_indexed, frame.function.body)
    return place in asked


def _asked_as_tensors(frame: Frame, body: f.Body) -> frozenset[str]:
    return frame.analysis.bodies.once(_asked, body)


def _asked(body: f.Body) -> frozenset[str]:
    """What is asked for an attribute that tensors have."""
    return frozenset([place_name(node.base) for node in nodes(body, f.Attr) if node.attr in _OF_TENSORS])


def _indexed(body: f.Body) -> frozenset[str]:
    """What is indexed in several dimensions, a whole one or a part of one among them: `x[:, 0]`."""
    indexed = ((node.base, node.index) for node in nodes(body, f.Subscript))
    return frozenset(
        [place_name(base) for base, at in indexed if type(at) is f.Sequence and any(map(_is_slice, at.elements))]
    )


def _is_slice(part: f.Expr) -> bool:
    return type(part) is f.Op and part.kind == "Slice"


def _asks_for_remainder(body: f.Body) -> bool:
    return any(type(node) is f.Op and node.kind == "Mod" for node in walk(body))


def to_whole_set(frame: Frame, e: f.Subscript) -> bool:
    """`scores[: len(loader.dataset)]`, also by another name for the number: the scores of all ranks, some twice."""
    if type(e.index) is not f.Op or e.index.kind != "Slice" or e.index.operands[0] != _NONE:
        return False
    number = definition(frame, e.index.operands[1])
    if type(number) is not f.Call or last_name(number.func) != "len" or len(number.args) != 1:
        return False
    return type(number.args[0]) is f.Attr and number.args[0].attr == "dataset"


def _one_end(part: f.Expr) -> f.Expr | None:
    """The end of a slice that has one only, or begins where all do."""
    if type(part) is not f.Op or part.kind != "Slice" or part.operands[2] != _NONE:
        return None
    lower, upper = part.operands[:2]
    if type(lower) is f.Const:
        return None if type(upper) is f.Const else upper
    return lower if upper == _NONE else None


def by_method(frame: Frame, name: str, arguments: Arguments, receiver: Value | None) -> Value | None:
    """A method of a tensor, or torch's function of the same name, that is told how long its result is to be; None if
    nothing local tells it."""
    if name == "index_select":
        return _selected(arguments, receiver)
    if name == "split":
        return _split(frame, arguments, receiver)
    if name not in _SIZES:
        return None
    given = list(arguments.positional)
    source = receiver if receiver is not None else given.pop(0) if given else None
    if source is None:
        return None
    sizes = [*given[_SIZES[name]], *(v for k, v in arguments.keywords.items() if k in _NAMED)]
    flat = [item for value in sizes for item in (value.items or (value,))]
    divergence = next((d for value in flat if (d := _local(value)) is not None), None)
    return None if divergence is None else _of_length(frame, arguments, source, divergence)


def _split(frame: Frame, arguments: Arguments, receiver: Value | None) -> Value | None:
    """`x.split(lengths.tolist())`: as many parts as lengths, each of a length of its own."""
    given = list(arguments.positional)
    source = receiver if receiver is not None else given.pop(0) if given else None
    sizes = given[0] if given else arguments.keywords.get("split_size_or_sections")
    if source is None or sizes is None:
        return None
    divergence = next((d for size in sizes.items or (sizes,) if (d := _local(size)) is not None), None)
    if divergence is None:
        return None
    return _of_length(frame, arguments, source, divergence)._replace(uneven_last=True)


def _selected(arguments: Arguments, receiver: Value | None) -> Value | None:
    """`x.index_select(0, positions)`: as many as there are positions."""
    given = list(arguments.positional)
    source = receiver if receiver is not None else given.pop(0) if given else None
    index = given[1] if len(given) > 1 else arguments.keywords.get("index")
    if source is None or index is None or index.shape is None:
        return None
    return _plain(source)._replace(shape=index.shape, uneven_last=False)


def _of_length(frame: Frame, arguments: Arguments, source: Value, divergence: Divergence) -> Value:
    e = arguments.expr
    note = f"`{shown(e)}` is of a size that differs between ranks"
    shape = divergence.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM)
    return _plain(source)._replace(shape=shape)


def _plain(source: Value) -> Value:
    return source.plain()._replace(presence=None, layout=None, uniform=False, shape_deps=NO_DEPS)


def _local(value: Value) -> Divergence | None:
    """Why a number of items is this rank's own, by what is in its data."""
    divergence = value.divergence
    return divergence if divergence is not None and divergence.kind == "data" else None
