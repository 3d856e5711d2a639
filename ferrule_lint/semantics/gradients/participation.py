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
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence, Step
from ferrule_lint.semantics.domain.conditions import TRUE, Atom, Formula, Negation, atoms, deps_of, divergence_of
from ferrule_lint.semantics.domain.lattice import (
    DETACHED,
    DP,
    EVERY,
    FLOWS,
    ITEM,
    NO_DEPS,
    NOTHING,
    OWN,
    Divergence,
    Partly,
    Reach,
    Value,
    covered,
    reach_of,
    reaching,
)
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.domain.trace import ITSELF

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.domain.summary import Summary
    from ferrule_lint.semantics.project.entities import ClassInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: kinds of conditions that differ between ranks which reduce their gradients together
_KINDS = ("data", "structure", "host")
#: what no gradient comes through: an output that is detached, a number that is read out, a size
_CUTS = frozenset(
    "detach detach_ item tolist numpy argmax argmin argsort size numel dim shape dtype device nonzero any all isnan "
    "isinf isfinite ne eq gt lt ge le bool long int zeros_like ones_like empty_like full_like rand_like randn_like "
    "new_zeros new_ones new_full new_empty new_tensor len range isinstance zeros ones empty full arange".split()
)
#: builtins whose result is a plain number
_READS_OUT = frozenset("int float bool round len isinstance".split())
_CUT_ATTRIBUTES = frozenset("shape dtype device ndim is_cuda requires_grad data".split())
#: entries that hold places or numbers of items, which have no gradient
_PLACES = re.compile(r"(^|_)(idx|idxs|index|indexes|indices|num_[a-z]+|ids)$")
#: modules that, by their names, have no parameters
_STATELESS = re.compile(
    r"loss|crit|metric|dropout|pool|activation|(^|_)act(_|$|\d)|relu|gelu|silu|softmax|sigmoid|flatten|identity|sampler|"
    r"matcher|assigner|rope|rotary|quant|transform|augment|normaliz|resize|accuracy|drop_path|upsample|interpolat",
    re.IGNORECASE,
)
#: what a library's layers call their parameters
_PARAMETERS = ("weight", "bias")
#: exceptions that a rank's own data can raise
_OF_DATA = frozenset({"Exception", "BaseException", "RuntimeError", "ValueError", "IndexError", "AssertionError"})


class PartlyUsed(NamedTuple):
    """An output that reaches what a function returns, or a loss, on some ranks only."""

    output: str
    divergence: Divergence
    #: where the way without it gets something else, if that is known
    at: f.Pos | None
    #: where it ends up: the function that returns it, or the `backward`
    end: f.Pos
    returned: bool
    #: calls that run the module in this function, those on stand-ins first
    calls: tuple[f.Pos, ...]
    #: whether there are any on stand-ins
    has_stand_in: bool


# ---------------------------------------------------------------------- values
def of_forward(frame: Frame, name: str, arguments: Arguments, result: Value, info: ClassInfo | None = None) -> Value:
    """The result of a module's forward: its own output, and what its inputs reach."""
    pos = arguments.expr.pos
    if not frame.gradients:
        return result
    real = any(_is_input(v) for v in arguments.values)
    if _STATELESS.search(name) or (info is not None and not _has_parameters(frame, info)):
        return result
    frame.forwards.append((name, pos, real))
    name = name if real else f"{name}~"
    if frame.no_gradient:
        return result._replace(reach=DETACHED)
    inputs = combined(arguments.values)
    items = result.items
    if items is not None:
        items = tuple(
            [
                v if v.boolean or v.reach == DETACHED else v._replace(reach=reaching(inputs, reach_of(f"{name}#{i}")))
                for i, v in enumerate(items)
            ]
        )
    return result._replace(reach=reaching(inputs, reach_of(name)), items=items)


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


def _is_input(value: Value) -> bool:
    """Whether a module is given something from outside: local data, or what the function was given."""
    if value.data is not None or value.presence is not None:
        return True
    return not value.types and any(how in (FLOWS, ITEM) for _, how in value.deps)


def _has_parameters(frame: Frame, info: ClassInfo) -> bool:
    """Whether instances of a project class hold something trainable; a class that inherits from a library's does."""
    analysis = frame.analysis
    if any(not b.endswith((".Module", "object", "ABC", "Generic")) for b in analysis.names.external_bases(info)):
        return True
    return any(
        "Parameter" in module_names or "nn" in module_names
        for module_names in (_names_in_constructor(c) for c in analysis.names.mro(info))
    )


def _names_in_constructor(info: ClassInfo) -> set[str]:
    method = info.methods.get("__init__")
    if method is None:
        return set()
    found: set[str] = set()
    for call in method.calls:
        name = last_name(call.func)
        if name in ("Parameter",) or (name[:1].isupper() and not _STATELESS.search(name)):
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
    if frame.no_gradient or last_name(e.func) in cuts:
        return result._replace(reach=DETACHED)
    if result.reach is not None:
        return result
    reach = combined(values)
    return result._replace(reach=reach) if reach is not None and (reach.outputs or reach.partly) else result


def part(value: Value, key: str) -> Reach | None:
    """What an item or attribute of a value reaches."""
    reach = value.reach
    if reach is None:
        return None if key not in _CUT_ATTRIBUTES else DETACHED
    if key in _CUT_ATTRIBUTES or _PLACES.search(key):
        return DETACHED
    if not any(not o.startswith("=") and "#" not in o for o in reach.outputs):
        return reach
    return reach._replace(
        outputs=frozenset(o if o.startswith("=") or "#" in o else f"{o}#{key}" for o in reach.outputs)
    )


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


def given_back(value: Value, pos: f.Pos) -> Value:
    """A returned value remembers the `return`, and so do the constants in a tuple: `return None, None`."""
    value = assigned(value, pos)
    if value.items is not None and any(item.const is not None and item.reach is None for item in value.items):
        value = value._replace(items=tuple([assigned(i, pos) if i.reach is None else i for i in value.items]))
    return value if value.reach is None else value._replace(reach=value.reach._replace(at=pos))


# ---------------------------------------------------------------------- where two ways meet
def met(formula: Formula, a: Value, b: Value) -> Reach | None:
    """What a place reaches where two arms meet: under a divergent condition, some of it on some ranks only. What an arm
    reaches on some ranks only stays so, whatever the other one does: which of them is taken is a setting."""
    one, other = a.reach, b.reach
    union = reaching(one, other)
    if union is None or one is None or other is None or not union.outputs:
        return union
    divergence, deps = divergence_of(formula), deps_of(formula)
    partly = set(one.partly | other.partly)
    if (divergence is None and deps) or (divergence is not None and divergence.kind in _KINDS):
        for mine, value, theirs in ((one, b, other), (other, a, one)):
            nothing = value.const is not None or (not theirs.outputs and not theirs.partly)
            failing = {p.output for p in mine.partly if p.divergence is not None and p.divergence.kind == "host"}
            for output in mine.outputs | failing:
                if output == EVERY and theirs.outputs:
                    continue  # all parameters stand in there for what goes the usual way here
                if output.startswith("=") and not value.uniform and _asks_for_items(formula, output[1:]):
                    continue  # `if q.numel() == 0: return torch.zeros_like(q)`: without items there is no gradient
                if not covered(output, theirs.outputs) and (not output.startswith("=") or nothing):
                    partly.add(Partly(output, divergence, deps, theirs.at))
    gone = {p.output for p in partly}
    return Reach(frozenset(o for o in union.outputs if o not in gone) or NOTHING, frozenset(partly) or NOTHING)


#: the text of a test whether a tensor has items
_FOR_ITEMS = re.compile(r"(\.(numel|nelement|size)|\blen)\(.*\) == 0$|\.shape\[\d+\] == 0$")


def _asks_for_items(formula: Formula, name: str) -> bool:
    """Whether a test asks if a parameter, or what is made of it, has items."""
    asked = (atom for atom in atoms(formula) if _FOR_ITEMS.search(atom.key))
    return any(name in _NAMES.findall(atom.key) or name in {p for p, _ in atom.deps} for atom in asked)


_NAMES = re.compile(r"[A-Za-z_]\w*")


def collected(formula: Formula, a: Mapping[str, Value], b: Mapping[str, Value], merged: dict[str, Value]) -> None:
    """Lists to which one of two arms adds the output of a module that has run before both."""
    divergence, deps = divergence_of(formula), deps_of(formula)
    if not deps if divergence is None else divergence.kind not in _KINDS:
        return
    for place, value in a.items():
        other = b.get(place)
        if other is None or other is value or not (value.container and other.container):
            continue
        mine, theirs = (value.reach or DETACHED).outputs, (other.reach or DETACHED).outputs
        of_one_arm = {o for o in mine ^ theirs if not o.startswith("=") and not covered(o, mine & theirs)}
        if of_one_arm:
            before = _of_both(a, b)
            reach = merged[place].reach or DETACHED
            partly = {Partly(o, divergence, deps, None) for o in of_one_arm if covered(o, before)}
            outputs = reach.outputs - {p.output for p in partly}
            merged[place] = merged[place]._replace(reach=Reach(outputs, reach.partly | partly))


def _of_both(a: Mapping[str, Value], b: Mapping[str, Value]) -> frozenset[str]:
    """What the places reach that neither of two arms has changed."""
    found = (v.reach.outputs for place, v in a.items() if v.reach is not None and b.get(place) is v)
    return NOTHING.union(*found)


def after_round(env: dict[str, Value], skipped: Iterable[tuple[Formula, Mapping[str, Value]]]) -> None:
    """What places reach at the end of a round, some of whose ways have left it early (`continue`)."""
    for formula, left in skipped:
        for place, value in env.items():
            other = left.get(place)
            if other is not None and other is not value and value.reach != other.reach:
                env[place] = value._replace(reach=met(formula, value, other))


def with_handler(
    frame: Frame,
    handler: f.Handler,
    before: Mapping[str, Value],
    tried: Mapping[str, Value],
    entered: Mapping[str, Value],
    joined: dict[str, Value],
) -> None:
    """What places reach after a `try` whose handler goes on, on the ranks that had the exception alone: what the
    handler puts there, else what was there before. Exceptions of local data are: of shapes and indices, and all that
    are not told apart. `entered`: the state in which the handler began; the frame's is the one in which it ended."""
    types = handler.type.elements if type(handler.type) is f.Sequence else (handler.type,)
    if not any(t is None or last_name(t) in _OF_DATA for t in types):
        return
    note = "an exception in this `try` may be one rank's own"
    divergence = frame.source(DP, "host", (handler.line, 1, handler.line, 1), note, Confidence.MEDIUM)
    set_there = [v for place, v in frame.env.items() if v is not entered.get(place)]
    kept = combined(set_there) or DETACHED
    for place, value in tried.items():
        left = frame.env.get(place)
        other = before.get(place) if left is entered.get(place) else left
        if other is None or other is value or value.reach is None or place not in joined:
            continue
        reached = (other.reach or DETACHED).outputs | kept.outputs
        missing = {o for o in value.reach.outputs if not o.startswith("=") and not covered(o, reached)}
        if missing:
            at = other.reach.at if other.reach is not None else None
            partly = value.reach.partly | {Partly(o, divergence, NO_DEPS, at) for o in missing}
            outputs = (joined[place].reach or DETACHED).outputs - missing
            joined[place] = joined[place]._replace(reach=Reach(outputs, partly))


def returned(frame: Frame, result: Value) -> Value:
    """The result of a function with several returns: what some of them reach under a divergent condition only."""
    returns = [r for r in frame.returns if not any(_is_evaluation(c) for c in r[1])]
    if len(returns) < 2:
        return result
    values = [v for v, _ in returns]
    items = result.items
    if items is not None and all(v.items is not None and len(v.items) == len(items) for v in values):
        items = tuple(
            [
                item._replace(reach=_over_returns([(v.items or ())[i] for v in values], returns))
                for i, item in enumerate(items)
            ]
        )
    return result._replace(reach=_over_returns(values, returns), items=items)


def _is_evaluation(formula: Formula) -> bool:
    """`not self.training`: there is no backward."""
    return type(formula) is Negation and type(formula.operand) is Atom and formula.operand.key.endswith(".training")


def _over_returns(values: list[Value], returns: list[tuple[Value, tuple[Formula, ...]]]) -> Reach | None:
    """The first of the returns against each later one, under the condition of the one that comes first."""
    reach: Reach | None = values[-1].reach
    last = values[-1]
    for value, (_, conditions) in zip(reversed(values[:-1]), reversed(returns[:-1]), strict=True):
        formula = next((c for c in reversed(conditions) if divergence_of(c) is not None or deps_of(c)), None)
        reach = met(formula or TRUE, value, last._replace(reach=reach))
        last = value
    return reach


# ---------------------------------------------------------------------- calls
def instantiated(frame: Frame, reach: Reach, summary: Summary, bound: Mapping[str, Value], pos: f.Pos) -> Reach:
    """What a call's result reaches: parameters replaced by what the arguments reach.

    What the callee itself reports is not passed on.
    """
    from ferrule_lint.semantics.calls.instantiate import divergence_through

    step = frame.step("call", pos, f"calls `{summary.display}`")
    real = any(_is_input(v) for v in bound.values())
    outputs: set[str] = set()
    partly: set[Partly] = set()
    for output in reach.outputs:
        passed = _passed(output, bound)
        if not output.startswith("="):
            name, mark, part = output.partition("#")
            frame.forwards.append((name.rstrip("~"), pos, real))
            outputs.add(output if real or "~" in name else f"{name}~{mark}{part}")
            continue
        outputs |= passed.outputs
        partly |= passed.partly
    for entry in reach.partly:
        divergence, deps = entry.divergence, NO_DEPS
        for name, how in entry.deps if divergence is None else ():
            value = bound.get(name)
            if value is not None:
                divergence = divergence or divergence_through(value, how)
                deps |= frozenset((p, how) for p, _ in value.deps)
        if entry.output.startswith("="):
            partly |= _passed(entry.output, bound).partly
        if divergence is None and not deps:
            continue
        if divergence is not None and entry.at is not None and summary.function is not None:
            place = Step("condition", summary.function.module.path, entry.at[0], entry.at[1], "goes on without it here")
            divergence = divergence.then(place)
        divergence = divergence.then(step) if divergence is not None else None
        if not entry.output.startswith("="):
            if entry.divergence is None:
                partly.add(entry._replace(divergence=divergence, deps=deps))
            continue
        for output in _passed(entry.output, bound).outputs:
            partly.add(Partly(output, divergence, deps, None))
    return Reach(frozenset(outputs), frozenset(p for p in partly if not covered(p.output, frozenset(outputs))))


def under_name(frame: Frame, value: Value, name: str) -> Value:
    """What a method of a module has returned, with the outputs of that module (`self(x)`) under its name here."""
    if not name or not frame.gradients:
        return value
    frame.forwards = [(name if known == ITSELF else known, pos, real) for known, pos, real in frame.forwards]
    if value.items is not None:
        value = value._replace(items=tuple([under_name(frame, v, name) for v in value.items]))
    if value.reach is None:
        return value
    outputs = frozenset(_named(o, name) for o in value.reach.outputs) or NOTHING
    partly = frozenset(p._replace(output=_named(p.output, name)) for p in value.reach.partly) or NOTHING
    return value._replace(reach=value.reach._replace(outputs=outputs, partly=partly))


def _named(output: str, name: str) -> str:
    return name + output[len(ITSELF) :] if re.match(rf"{ITSELF}(~|#|$)", output) else output


def _passed(output: str, bound: Mapping[str, Value]) -> Reach:
    """What an output of a callee is to the caller: a module that is passed stands for its own output."""
    if not output.startswith("="):
        return reach_of(output)
    argument = bound.get(output[1:])
    if argument is None:
        return DETACHED
    if argument.reach is None and argument.module:
        return reach_of(output[1:])
    return argument.reach or DETACHED


# ---------------------------------------------------------------------- what is reported
_NO_TRAINING = re.compile(r"eval|valid|test|infer|generat|predict|rollout|sample|log|metric", re.IGNORECASE)
#: parameters of a loss that, by their names, nothing is trained through
_NOT_TRAINED = re.compile(
    r"(^=|_)(ref|reference|old|teacher|gt|tgt|targets?|labels?|masks?|advantages?|rewards?|returns|weights?|num|indices|"
    r"strides?|anchors?|grids?|priors?|shifts?)(_|$)"
)
_IS_LOSS = re.compile(r"loss|criterion", re.IGNORECASE)


def at_return(frame: Frame, result: Value) -> None:
    """Outputs that reach what this function returns on some ranks only."""
    function = frame.function
    if function is None or not frame.returns or frame.no_gradient or _NO_TRAINING.search(function.name):
        return
    of_loss = frame.in_module and _IS_LOSS.search(function.qualname) is not None
    end = (function.line, 1, function.line, 1)
    everything = combined([result])
    if everything is None:
        return
    stand_ins = frozenset(
        o for o in (*everything.outputs, *(p.output for p in everything.partly)) if "~" in o and o != EVERY
    )
    for entry in sorted(everything.partly, key=_order_of):
        if entry.divergence is None or covered(entry.output, everything.outputs):
            continue
        if entry.divergence.kind != "host" and covered(entry.output, stand_ins):
            continue  # a stand-in is for an input that is not there, and not for what went wrong
        if not entry.output.startswith("=") or (of_loss and _may_be_trained(frame, entry.output)):
            frame.partly_used.append(_used(frame, entry, end, True))


def _may_be_trained(frame: Frame, output: str) -> bool:
    """Whether a parameter of a loss may be what a module put out: no target, and no input of the batch, by its name."""
    return not _NOT_TRAINED.search(output) and frame.models.convention("optional", output[1:]) is None


def _order_of(entry: Partly) -> tuple[bool, str, bool, f.Pos]:
    """Which of several reasons for one module is told: what went wrong is the last, a known place comes first, and of
    two of them the one further up."""
    of_host = entry.divergence is not None and entry.divergence.kind == "host"
    return of_host, entry.output, entry.at is None, entry.at or (0, 0, 0, 0)


def at_backward(frame: Frame, loss: Value, pos: f.Pos) -> None:
    """Outputs that reach a loss on some ranks only."""
    reach = combined([loss])
    if reach is None:
        return
    for entry in sorted(reach.partly, key=_order_of):
        part = entry.output.startswith("=") or covered(entry.output, reach.outputs)
        if not part and entry.divergence is not None:
            frame.partly_used.append(_used(frame, entry, pos, False))


def _used(frame: Frame, entry: Partly, end: f.Pos, is_returned: bool) -> PartlyUsed:
    assert entry.divergence is not None
    base = entry.output.partition("#")[0].rstrip("~")
    # a stand-in has nothing to do with what a handler leaves out
    of_handler = entry.divergence.kind == "host"
    found = dict.fromkeys(
        (real, pos) for name, pos, real in frame.forwards if name == base and (real or not of_handler)
    )
    calls = tuple(pos for _, pos in sorted(found, key=lambda c: c[0]))
    has_stand_in = any(not real for real, _ in found)
    return PartlyUsed(entry.output, entry.divergence, entry.at, end, is_returned, calls, has_stand_in)


def steps(used: PartlyUsed, path: str) -> Iterator[Step]:
    """The places of a witness after the source."""
    if used.at is not None:
        yield Step("flow", path, used.at[0], used.at[1], "this has no gradient")
    for pos in used.calls:
        yield Step("call", path, pos[0], pos[1], f"an output of `{used.output.partition('#')[0]}`")
