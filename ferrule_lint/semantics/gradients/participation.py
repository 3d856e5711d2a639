"""Participation in the backward pass: which outputs of modules a value's gradient flows back to, and on which ranks.

A module whose output does not reach the loss has no backward. Under DDP and FSDP its gradients are reduced all the
same, so if that happens on some ranks only, the others wait. A stand-in for an input that is not there therefore has
to be part of the result (`+ 0 * output.sum()`); a constant, None, or an output that was detached has no gradient.

Outputs go by the name of their module: `visual` for the output itself, `visual#1` and `visual#logits` for a part of it,
`visual~` if it ran on a stand-in, `=x` for the parameter `x` of the function, `*` for all parameters of the module
itself (`super().forward(x)`), `*~` where they stand in for its outputs (`self.parameters()`). What is combined by an
operation or call, known or unknown, keeps the outputs of all its operands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.dependences import FLOWS, ITEM, NOTHING
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.reach import DETACHED, EVERY, OWN, Partly, Reach, reach_of, reaching
from ferrule_lint.semantics.domain.text import last_name, place_name, shown
from ferrule_lint.semantics.gradients import frozen

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.project.entities import ClassInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: what no gradient comes through: an output that is detached, a number that is read out, a size
_CUTS = frozenset(
    "detach detach_ item tolist numpy argmax argmin argsort size numel dim shape dtype device nonzero any all isnan "
    "isinf isfinite ne eq gt lt ge le bool long int zeros_like ones_like empty_like full_like rand_like randn_like "
    "new_zeros new_ones new_full new_empty new_tensor len range isinstance zeros ones empty full arange".split()
)
#: builtins whose result is a plain number
_READS_OUT = frozenset("int float bool round len isinstance".split())
_CUT_ATTRIBUTES = frozenset("shape dtype device ndim is_cuda requires_grad data".split())
#: parameters of a loss that, by their names, nothing is trained through
NOT_TRAINED = re.compile(
    r"(^=(\w*_)?|^\w+_)(ref|reference|old|teacher|gt|tgt|targets?|labels?|masks?|advantages?|rewards?|returns|weights?|"
    r"num|indices|strides?|anchors?|grids?|priors?|shifts?)(_|#|$)|"
    r"#(\w+_)?(ref|reference|old|teacher|gt|tgt|targets?|labels?)(_|$)"
)
#: entries and parameters that hold places or numbers of items, which have no gradient
PLACES = re.compile(r"(^|_)(idx|idxs|index|indexes|indices|num_[a-z]+|ids)$")
#: what makes a loss of what a model has put out, by the names of a function and its class
_IS_LOSS = re.compile(r"loss|criterion", re.IGNORECASE)
#: by its name, no module: what it returns is made of what its model put out, whose name is another one
_IS_TRAINER = re.compile(r"Trainer\b")
#: modules that, by their names, have no parameters
_STATELESS = re.compile(
    r"loss|crit|metric|dropout|pool|activation|(^|_)act(_|$|\d)|relu|gelu|silu|softmax|sigmoid|flatten|identity|sampler|"
    r"matcher|assigner|rope|rotary|quant|transform|augment|normaliz|resize|accuracy|drop_path|upsample|interpolat",
    re.IGNORECASE,
)
#: what a constructor complains with
_RAISED = re.compile(r"(Error|Exception|Warning)$")
#: kinds of differences between ranks that reduce their gradients together
KINDS = ("data", "structure", "host")
#: what a library's layers call their parameters
_PARAMETERS = ("weight", "bias")


def of_forward(
    frame: Frame, name: str, arguments: Arguments, result: Value, classes: Sequence[ClassInfo] = ()
) -> Value:
    """The result of a module's forward: its own output, and what its inputs reach; `classes`: one of which it is."""
    pos = arguments.expr.pos
    if not frame.gradients:
        return result
    real = any(is_input(v) for v in arguments.values)
    if _STATELESS.search(name) or (classes and not any(_has_parameters(frame, info) for info in classes)):
        return result
    if _is_frozen(frame, arguments.expr.func):
        return result._replace(reach=combined(arguments.values))
    frame.forwards.append((name, pos, real))
    name = name if real else f"{name}~"
    if frame.no_gradient:
        return result._replace(reach=DETACHED)
    inputs = combined(arguments.values)
    items = result.items
    if items is not None:
        items = tuple(
            [
                v
                if v.boolean or v.reach == DETACHED
                else v._replace(reach=reaching(inputs, Reach(_made_of(items, i, name))))
                for i, v in enumerate(items)
            ]
        )
    reach = _of_chosen(frame, arguments.expr.func, name) or reach_of(name)
    return result._replace(reach=reaching(inputs, reach), items=items)


def _made_of(items: Sequence[Value], index: int, name: str) -> frozenset[str]:
    """The outputs that one of several is made of: itself, and those on whose way it lies (`return self.head(h), h`)."""
    own = _of_modules(items[index])
    before = (i for i, v in enumerate(items) if i == index or (_of_modules(v) and _of_modules(v) < own))
    return frozenset(f"{name}#{i}" for i in before)


def _of_modules(value: Value) -> frozenset[str]:
    outputs = value.reach.outputs if value.reach is not None else NOTHING
    return frozenset(output for output in outputs if not output.startswith("="))


def _of_chosen(frame: Frame, called: f.Expr, name: str) -> Reach | None:
    """One of several parts that local data chooses, or what the module is given (`self.heads[task](x)`): on each rank
    another one goes into the loss. None if all ranks choose alike."""
    if type(called) is not f.Subscript or not frame.in_module or not frame.own_attribute(place_name(called.base)):
        return None
    with frame.recording():
        index = frame.eval(called.index)
    divergence = index.divergence or index.data
    if divergence is not None and divergence.kind in KINDS:
        note = f"`{shown(called)}` is another one on each rank"
        divergence = divergence.then(frame.step("flow", called.pos, note)).at_most(Confidence.MEDIUM)
    elif divergence is not None or not index.deps:
        return None
    return Reach(partly=frozenset({Partly(name, divergence, index.deps, None)}))


def _is_frozen(frame: Frame, called: f.Expr) -> bool:
    """Whether a part of the module is called (`self.vision(x)`) that its constructor has frozen."""
    own = frame.self_class if frame.in_module and type(called) is f.Attr else None
    if own is None or type(called) is not f.Attr or place_name(called.base) != frame.self_name:
        return False
    return frozen.is_frozen(frame.analysis, own, called.attr)


def of_super(frame: Frame, arguments: Arguments, result: Value) -> Value:
    """The result of a library's forward that a subclass calls: an output of all parameters of the module."""
    info, func = frame.self_class, arguments.expr.func
    if info is None or not frame.in_module or type(func) is not f.Attr or func.attr != "forward":
        return result
    bases = [b.rpartition(".")[2] for b in frame.analysis.names.external_bases(info)]
    if not bases or bases[0] == "Module" or _STATELESS.search(bases[0]):
        return result
    return of_forward(frame, OWN, arguments, result)


def of_own_parameter(frame: Frame, e: f.Attr, value: Value) -> Value:
    """`self.weight`: a term in it keeps the module in the loss."""
    if e.attr not in _PARAMETERS or place_name(e.base) != frame.self_name or _weighs_only(frame):
        return value
    return value._replace(reach=reach_of(OWN))


def _weighs_only(frame: Frame) -> bool:
    """Whether the module extends a library's without parameters: the `weight` of a loss is one for each class."""
    info = frame.self_class
    return info is not None and any(
        _STATELESS.search(b.rpartition(".")[2]) for b in frame.analysis.names.external_bases(info)
    )


def of_operation(frame: Frame, kind: str, values: Iterable[Value]) -> Reach | None:
    """What the result of an operator reaches: nothing without gradients, and nothing if it is a mask turned round."""
    return DETACHED if frame.no_gradient or kind == "Invert" else combined(values)


def is_input(value: Value) -> bool:
    """Whether a module is given something from outside: local data, or what the function was given."""
    if value.data is not None or value.presence is not None:
        return True
    return not value.types and any(how in (FLOWS, ITEM) for _, how in value.deps)


def _has_parameters(frame: Frame, info: ClassInfo) -> bool:
    """Whether instances of a project class hold something trainable; a class that inherits from a library's does,
    unless that is one of its losses or the like (`nn.CrossEntropyLoss`)."""
    analysis = frame.analysis
    if any(_holds_parameters(base) for base in analysis.names.external_bases(info)):
        return True
    return any(
        "Parameter" in module_names or "nn" in module_names
        for module_names in (_names_in_constructor(c) for c in analysis.names.mro(info))
    )


def _holds_parameters(base: str) -> bool:
    """Whether a library's class may hold parameters, by its name."""
    if base.endswith((".Module", "object", "ABC", "Generic")):
        return False
    return not base.startswith("torch.nn.") or _STATELESS.search(base.rpartition(".")[2]) is None


def _names_in_constructor(info: ClassInfo) -> set[str]:
    method = info.methods.get("__init__")
    if method is None:
        return set()
    found: set[str] = set()
    for call in method.calls:
        name = last_name(call.func)
        if name in ("Parameter",) or (name[:1].isupper() and not _STATELESS.search(name) and not _RAISED.search(name)):
            found.add("nn")
    return found


def after_call(frame: Frame, e: f.Call, result: Value, values: Iterable[Value]) -> Value:
    """What a call returns that is not itself a forward keeps what its arguments reach."""
    if last_name(e.func) in ("parameters", "named_parameters") and type(e.func) is f.Attr:
        base = e.func.base
        name = last_name(base.base if type(base) is f.Subscript else base)
        if name:
            own = place_name(base) == frame.self_name
            return result._replace(reach=reach_of(EVERY if own else name))
    cuts = _CUTS if type(e.func) is f.Attr else _READS_OUT
    if frame.no_gradient or last_name(e.func) in cuts or _makes_leaf(e):
        return result._replace(reach=DETACHED)
    if result.reach is not None:
        return result
    reach = combined(values)
    return result._replace(reach=reach) if reach is not None and (reach.outputs or reach.partly) else result


def _makes_leaf(e: f.Call) -> bool:
    """`Variable(loss, requires_grad=True)`: a new leaf with the number of another, from which no gradient flows back.

    https://github.com/pytorch/pytorch/blob/main/torch/csrc/autograd/python_legacy_variable.cpp
    """
    return last_name(e.func) == "Variable" and ("requires_grad", f.Const("True")) in e.keywords


def is_loss(qualname: str) -> bool:
    """Whether a function or its class, by their names, makes a loss of what a model has put out."""
    return _IS_LOSS.search(qualname) is not None and _IS_TRAINER.search(qualname) is None


def part(value: Value, key: str) -> Reach | None:
    """What an item or attribute of a value reaches."""
    reach = value.reach
    if reach is None:
        return None if key not in _CUT_ATTRIBUTES else DETACHED
    if key in _CUT_ATTRIBUTES or PLACES.search(key):
        return DETACHED
    if all("#" in o for o in reach.outputs):
        return reach
    return reach._replace(outputs=frozenset(o if "#" in o else f"{o}#{key}" for o in reach.outputs))


def combined(values: Iterable[Value]) -> Reach | None:
    """What the result of an operation on values reaches: all that any of them does."""
    result: Reach | None = None
    for value in values:
        result = reaching(result, value.reach)
        for item in value.items or ():
            result = reaching(result, item.reach)
    return result


def of_items(items: list[Value], walked: list[Value]) -> Reach | None:
    """What a comprehension reaches: nothing if all that is kept of what it walks are sizes."""
    return DETACHED if all(v.reach == DETACHED for v in items) else combined([*items, *walked])


def assigned(value: Value, pos: f.Pos) -> Value:
    """A constant remembers where it is assigned: that is the place to repair."""
    if value.container and value.const is None:
        return value  # what it is filled with counts
    if value.const is not None or value.reach == DETACHED or (value.reach is None and value.uniform):
        return value._replace(reach=Reach(at=pos))
    return value


def _is_bare(value: Value) -> bool:
    return value.reach is None and (value.const is not None or (value.uniform and not value.container))


def given_back(value: Value, pos: f.Pos) -> Value:
    """A returned value remembers the `return`, and so do the constants in a tuple: `return None, None`, or
    fresh tensors."""
    value = assigned(value, pos)
    if value.items is not None and any(_is_bare(item) for item in value.items):
        value = value._replace(items=tuple([assigned(i, pos) if i.reach is None else i for i in value.items]))
    return value if value.reach is None else value._replace(reach=value.reach._replace(at=pos))
