"""Fields and sizes of a local batch: what may be absent, what is padded, and how much of it there is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import collators, iteration, number_types
from ferrule_lint.semantics.domain.axes import DP
from ferrule_lint.semantics.domain.dependences import COUNTED, EMPTY, FLOWS, LATER, NO_DEPS, Deps, without
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, place_name, position, shown
from ferrule_lint.semantics.sources import absent_inputs

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

#: where in a sequence a batch stands, by the name of what says so: ranks go through sequences that are cut alike
_PLACE_IN_SEQUENCE = re.compile(
    r"(\w+_)?step|stop(_\w+)?|is_(first|last|final)|(is_)?(first|last|final)_(step|frame|chunk|segment|window)|"
    r"(is_)?(start|end)_of_(sequence|rollout|video|clip)"
)
#: what `x.shape` is an instance of
SIZE = "torch.Size"


def field_of_batch(frame: Frame, value: Value, name: str, pos: f.Pos) -> Value:
    """A field of a local batch: optional, or padded to a length that the batch decides, by its name."""
    data = value.data
    if data is None:
        return value
    if _PLACE_IN_SEQUENCE.fullmatch(name):
        return value._replace(data=data.at_most(Confidence.LOW))
    if frame.models.convention("optional", name) is not None:
        note = f"`{name}` may be absent from the local batch"
        presence = data.then(frame.step("flow", pos, note))._replace(kind="structure")
        value = value._replace(presence=presence.at_most(absent_inputs.of_field(frame, name)))
    ragged = not data.sized and frame.models.convention("ragged", name) is not None
    if ragged and not collators.one_size(frame, name):
        note = f"`{name}` is padded to a length that the local batch decides"
        shape = data.then(frame.step("flow", pos, note)).at_most(Confidence.MEDIUM)
        value = value._replace(shape=shape, uneven_last=True)
    return value


def local_size(frame: Frame, e: f.Attr, base: Value) -> Value | None:
    """An attribute of a batch that by its name is the number of what is really in it."""
    if base.data is None or frame.models.convention("local_size", e.attr) is None:
        return None
    note = f"`{shown(e)}` is the size of the local batch"
    return Value(divergence=base.data.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM))


def dimension(
    frame: Frame, size: Value, index: str, pos: f.Pos | None, text: str, tensor: f.Expr | None = None
) -> Value:
    """The number at `index` of a `torch.Size`, that of `tensor`: of an uneven one the first differs, or the last."""
    divergence = size.shape if (index == "0") is not size.uneven_last else None
    if divergence is not None:
        divergence = divergence.then(frame.step("flow", pos, f"`{text}` differs"))
    # what a caller passes has no items at most in the first dimension: the others are the model's
    deps = size.deps if index == "0" else without(size.deps, EMPTY)
    deps = deps | sized_by(size, index) if size.shape_deps else deps
    deps |= later(frame, tensor, index)
    return Value(
        divergence=divergence,
        emptiness=emptiness_of(size.emptiness, index),
        deps=deps,
        there=True,
        number=number_types.of_size(),
    )


def later(frame: Frame, tensor: f.Expr | None, index: str) -> Deps:
    """The parameter whose second or last dimension is asked for: `ids.size(1)`, `batch["ids"].shape[-1]`."""
    if index not in ("1", "-1") or frame.light:
        return NO_DEPS
    if type(tensor) is f.Subscript and type(tensor.index) is f.Const:
        root, place = place_name(tensor.base), f"{place_name(tensor.base)}[{tensor.index.text}]"
    else:
        root = place = tensor.id if type(tensor) is f.Name else ""
    if tensor is None or not root or root not in frame.given or frame.version(root):
        return NO_DEPS
    return frozenset([(p, LATER) for p, how in frame.ask(tensor).deps if p == place and how == FLOWS]) or NO_DEPS


def beside_another_size(a: Value, b: Value) -> tuple[Value, Value]:
    """Two values that are compared: that tensors of one batch are equally long does not depend on how long they are."""
    if all(any(how == LATER for _, how in value.deps) for value in (a, b)):
        return a._replace(deps=without(a.deps, LATER)), b._replace(deps=without(b.deps, LATER))
    return a, b


def never_zero(number: Value) -> Value:
    """A number that is asked whether it is zero, which a later dimension never is."""
    return number._replace(deps=without(number.deps, LATER)) if number.deps else number


def as_key(frame: Frame, expr: f.Expr, value: Value) -> Value:
    """What is looked up under a key: that of a tensor's sizes, `tuple(x.shape)` too, differs as one of them does."""
    made = iteration.definition(frame, expr)
    if type(made) is f.Call and last_name(made.func) in ("tuple", "list", "str") and len(made.args) == 1:
        made = made.args[0]
        value = frame.eval(made)
    if value.external != SIZE or value.shape is None:
        return value
    return dimension(frame, value, "1" if value.uneven_last else "0", position(expr), shown(expr))


def is_uneven_later(tensor: Value) -> bool:
    """Whether what differs is another dimension than the first, which has a size that is written: `zeros(4, n)`."""
    sizes = tensor.layout.sizes if tensor.layout is not None else None
    return tensor.uneven_last or bool(sizes and sizes[0])


def sized_by(tensor: Value, index: str) -> Deps:
    """The parameters whose number of items is the size of a dimension."""
    if (index == "0") is is_uneven_later(tensor):
        return NO_DEPS
    return frozenset([d for d in tensor.shape_deps if d[1] == COUNTED]) or NO_DEPS


def emptiness_of(emptiness: Divergence | None, index: str) -> Divergence | None:
    """Why a dimension may be zero: the first, which counts items, more likely than one of the others."""
    if emptiness is None or index == "0":
        return emptiness
    return emptiness.at_most(Confidence.LOW)


def optional_input(frame: Frame, e: f.Attr, base: Value, value: Value) -> Value:
    """`context.pixel_values` where the parameter of a module's method carries the inputs of the batch."""
    if not frame.in_module or value.presence is not None or value.uniform or value.divergence is not None:
        return value
    if type(e.base) is not f.Name or e.base.id == frame.self_name or (e.base.id, FLOWS) not in base.deps:
        return value
    if frame.models.convention("optional", e.attr) is None or frame.models.convention("uniform", e.base.id) is not None:
        return value
    note = f"the optional input `{shown(e)}` may be absent from the local batch"
    sure = absent_inputs.of_key(frame.analysis, e.attr)
    presence = frame.source(DP, "structure", e.pos, note, sure)._replace(assumed=True)
    data = value.data or frame.source(DP, "data", e.pos, f"`{shown(e)}` holds the rank's own data", Confidence.MEDIUM)
    return value._replace(presence=presence, data=data._replace(assumed=True))


def optional_entry(frame: Frame, given: f.Expr, key: str, pos: f.Pos) -> Divergence | None:
    """Why `given[key]` may not be there: an input of a module, by its name, in a parameter that carries several."""
    function = frame.function
    if not frame.in_module or function is None or type(given) is not f.Name or given.id == frame.self_name:
        return None
    if frame.models.convention("optional", key) is None or frame.models.convention("uniform", given.id) is not None:
        return None
    if frame.version(given.id) or all(p.name != given.id for p in function.parameters):
        return None
    note = f"the optional input '{key}' may be absent from the local batch"
    return frame.source(DP, "structure", pos, note, absent_inputs.of_entry(frame.analysis, given.id, key))


def absent_from_sample(frame: Frame, sample: Value, text: str, pos: f.Pos) -> Divergence | None:
    """Why an entry or field of one item of a local batch may not be there: somebody asks whether it is."""
    length = sample.length
    if sample.data is None or length is None or sample.container or length.why != sample.data.why:
        return None
    note = f"`{text}` may be absent from a sample of the local batch"
    return sample.data.then(frame.step("flow", pos, note))._replace(kind="structure").at_most(Confidence.MEDIUM)
