"""Models that some ranks alone give other layers: `if rank == 0: model.head = nn.Linear(8, 4)`.

Who wraps the model compares or broadcasts its parameters, one by one and in their order, so that ranks with other
parameters bring other shapes.
https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import overlap
from ferrule_lint.semantics.domain.lattice import Divergence, Value, worse
from ferrule_lint.semantics.domain.text import shown
from ferrule_lint.semantics.walk.frame import CallIssue

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.domain.trace import Event
    from ferrule_lint.semantics.walk.frame import Frame

#: methods that change how many or which parameters a model has
METHODS = frozenset({"resize_token_embeddings", "add_module", "register_parameter", "add_adapter", "append"})


def of_assignment(frame: Frame, target: f.Attr, value: Value) -> None:
    """`model.layer = module` where only some ranks come."""
    if value.module and type(target.base) is f.Name and target.base.id != frame.self_name:
        _changed(frame, target.base, target.pos)


def of_method(frame: Frame, name: str, receiver: Value, call: f.Call) -> None:
    """`model.resize_token_embeddings(n)` where only some ranks come."""
    base = call.func.base if type(call.func) is f.Attr else None
    if name in METHODS and type(base) is f.Name and (receiver.module or receiver.unwrapped):
        _changed(frame, base, call.pos)


def _changed(frame: Frame, base: f.Name, pos: f.Pos) -> None:
    divergence = frame.path_divergence()
    if divergence is None or divergence.kind != "rank" or divergence.confidence == Confidence.LOW:
        return
    known = frame.eval(base)
    note = f"`{base.id}` gets other parameters on some ranks only"
    apart = divergence.then(frame.step("condition", pos, note)).at_most(Confidence.MEDIUM)
    frame.env[base.id] = known._replace(shape=worse(known.shape, apart))


def both(a: Divergence, b: Divergence, test: Divergence) -> bool:
    """Whether each arm of a test has given a model other layers: nothing tells that these differ."""
    return all(d.why[: len(test.why)] == test.why and d.why[-1].role == "condition" for d in (a, b))


def check(frame: Frame, arguments: Arguments, event: Event) -> None:
    """What is wrapped: a model that has other parameters on some ranks?"""
    for expr, value in zip(arguments.expr.args, arguments.positional, strict=False):
        apart = value.shape
        if apart is None or apart.kind != "rank" or not overlap(apart.axes, event.axes):
            continue
        if apart.why[-1].role == "condition":
            message = f"`{shown(expr)}` has other parameters on some ranks, but `{event.op}` needs the same on all"
            frame.issues.append(CallIssue("FER201", arguments.expr.pos, apart, event, message))
            return
