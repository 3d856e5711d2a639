"""Outputs that reach a loss, or what a function returns, on some ranks only: what is reported."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.findings import Step
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.reach import EVERY, Partly, covered
from ferrule_lint.semantics.domain.text import words
from ferrule_lint.semantics.gradients import loss_entries, no_loss
from ferrule_lint.semantics.gradients.beside_loss import is_added_beside
from ferrule_lint.semantics.gradients.given_without import is_given_without
from ferrule_lint.semantics.gradients.made_of_both import is_said_to_forward
from ferrule_lint.semantics.gradients.participation import NOT_TRAINED, combined, is_loss

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

_NO_TRAINING = re.compile(r"eval|valid|test|infer|generat|predict|rollout|sample|log|metric", re.IGNORECASE)
#: what a loss is returned with: `get_batch_loss_metrics`
_WITH_LOSS = re.compile(r"(?<=loss)(es)?_(and_)?(log|metric)s?", re.IGNORECASE)
#: what returns an answer, and nothing that a module put out
_ASKS = re.compile(r"_*(check(?!point)|verify|is|has|can|should)(_|$)", re.IGNORECASE)


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


def at_return(frame: Frame, result: Value) -> None:
    """Outputs that reach what this function returns on some ranks only."""
    function = frame.function
    if function is None or not frame.returns or frame.no_gradient:
        return
    if _NO_TRAINING.search(_WITH_LOSS.sub("", function.name)) or _ASKS.match(function.name):
        return
    if no_loss.steps_an_optimizer(frame) or no_loss.steps_a_simulator(frame):
        return
    of_loss = frame.in_module and is_loss(function.qualname)
    end = (function.line, 1, function.line, 1)
    _in_loss(frame, end)
    everything = combined([result])
    if everything is None:
        return
    stand_ins = frozenset(
        o for o in (*everything.outputs, *(p.output for p in everything.partly)) if "~" in o and o != EVERY
    )
    looked_at = {entry.output for entry in everything.partly if _is_looked_at(function, entry.at)}
    for entry in sorted(everything.partly, key=_order_of):
        if entry.divergence is None or entry.left_out or covered(entry.output, everything.outputs):
            continue
        if entry.divergence.kind != "host" and covered(entry.output, stand_ins):
            continue  # a stand-in is for an input that is not there, and not for what went wrong
        if (of_loss and _is_in_the_loss(frame, function, entry.output)) or entry.output in looked_at:
            continue
        if not entry.output.startswith("=") or (of_loss and _may_be_trained(frame, entry.output)):
            frame.partly_used.append(_used(frame, entry, end, True))


#: what a layer hands on for whoever wants to see what it has looked at, by the names that all models give it
_ATTENTIONS = re.compile(r"(^|_)(attentions|attn_(weights|probs|maps)|attention_(weights|probs|maps))$")


def _is_looked_at(function: FunctionInfo, at: f.Pos | None) -> bool:
    """Whether it is attentions that are collected on some ranks: `global_attentions = () if output_attentions and
    is_global else None`. No loss is made of them."""
    for s in statements(function.body) if at is not None else ():
        if type(s) is f.Assign and s.value is not None and any(getattr(n, "pos", None) == at for n in walk(s.value)):
            return all(type(t) is f.Name and _ATTENTIONS.search(t.id) is not None for t in s.targets)
    return False


def _in_loss(frame: Frame, end: f.Pos) -> None:
    """Outputs that reach the loss among other things that are returned on some ranks only: by their own data, since a
    loss for which there are no labels is none anywhere."""
    reach = loss_entries.reach(frame)
    for entry in sorted(reach.partly if reach is not None else (), key=_order_of):
        of_module = not entry.output.startswith("=") and "~" not in entry.output
        of_data = entry.divergence is not None and entry.divergence.kind == "data"
        if of_module and of_data and reach is not None and not covered(entry.output, reach.outputs):
            frame.partly_used.append(_used(frame, entry, end, True))


def _may_be_trained(frame: Frame, output: str) -> bool:
    """Whether a parameter of a loss may be what a module put out: no target, and no input of the batch, by its name;
    nothing that its callers have made without a gradient, and nothing that they go on with beside the result."""
    name = output[1:].partition("#")[0]
    if NOT_TRAINED.search(output) or frame.models.convention("optional", name) is not None:
        return False
    if is_said_to_forward(frame, NOT_TRAINED):
        return False
    return frame.function is None or not is_given_without(frame.analysis, frame.function, name)


def _is_in_the_loss(frame: Frame, function: FunctionInfo, output: str) -> bool:
    """Whether what callers add a term to has the gradient of an output as well: a parameter's, or a part's."""
    base = output.partition("#")[0]
    name = base[1:] if output.startswith("=") else "." + base.rstrip("~")
    return is_added_beside(frame.analysis, function, name)


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


def is_kept_by_hand(module: ModuleInfo, name: str) -> bool:
    """Whether a file multiplies parameters of a module by zero: `y += 0.0 * self.embed.weight.sum()` gives them a
    backward on every rank, whatever becomes of its output."""
    said = (frozenset(words(zeroed)) for _, body in module.bodies() for zeroed in _zeroed(body))
    return any(name in names and not names.isdisjoint(_PARAMETERS) for names in said)


def _zeroed(body: f.Body) -> Iterator[f.Expr]:
    for node in walk(body):
        if type(node) is f.Op and node.kind == "Mult" and any(part in _ZEROS for part in node.operands):
            yield from node.operands


_PARAMETERS = frozenset({"weight", "bias", "parameters", "named_parameters"})
_ZEROS = (f.Const("0"), f.Const("0.0"))


def steps(used: PartlyUsed, path: str) -> Iterator[Step]:
    """The places of a witness after the source."""
    if used.at is not None:
        yield Step("flow", path, used.at[0], used.at[1], "this has no gradient")
    for pos in used.calls:
        yield Step("call", path, pos[0], pos[1], f"an output of `{used.output.partition('#')[0]}`")
