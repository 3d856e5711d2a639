"""Sizes that ranks tell each other: `all_gather(sizes, torch.tensor(x.shape))`.

Who asks for the sizes that the others have of `x`, or for the longest, takes them to differ, and has to bring `x` to
one of them before it is gathered itself. That is this function's business: what it hands back may well be of one size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.models.types import CallModel
from ferrule_lint.semantics.calls.arguments import Arguments
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.axes import DP
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name, position
from ferrule_lint.semantics.domain.trace import Event
from ferrule_lint.semantics.sources.admissions import SAME, payload

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_GATHERS = frozenset({"all_gather", "all_gather_into_tensor"})
_SIZES = frozenset({"size", "numel", "nelement"})
#: names and calls that are followed from what is sent to a size
_DEEPEST = 6


def of_collective(frame: Frame, model: CallModel, arguments: Arguments, event: Event) -> None:
    """What a collective says of tensors whose sizes are sent."""
    if frame.light or model.hidden or frame.of_one_size:
        return
    if event.op not in _GATHERS and not (event.op == "all_reduce" and _of_the_longest(arguments.expr)):
        return
    received = [arguments.expression(a.name, a.position) for a in model.makes_uniform]
    if not received or not all(e is not None and place_name(e) for e in received):
        return  # what holds the others' sizes cannot be told, nor what asks for them
    for size, name, last in _measured(frame, payload(model, arguments.expr), _DEEPEST):
        known = frame.read(name)
        made = frame.definitions.get(name)
        if known is None or not _is_open(known) or (made is not None and _after(made[0], size)):
            continue
        note = f"the size of `{name}` is sent to all ranks, so it differs between them"
        shape = frame.source(DP, "data", arguments.expr.pos, note, Confidence.MEDIUM)._replace(assumed=True)
        frame.exchanged.add(shape.why[0])
        frame.env[name] = known._replace(shape=shape, uneven_last=last, uniform=False)


def worked_on(frame: Frame, value: Value) -> Value:
    """What is made of a tensor whose size was sent: filled up, or cut, mostly, in ways that are not followed. That it
    is still as long as it was is a guess."""
    if value.shape is None or not _was_sent(frame, value):
        return value
    return value._replace(shape=value.shape.at_most(Confidence.LOW))


def given_back(frame: Frame, value: Value) -> Value:
    """What a function returns, without what only its own exchange says of sizes."""
    if value.items:
        value = value._replace(items=tuple(given_back(frame, item) for item in value.items))
    return value._replace(shape=None, uneven_last=False) if _was_sent(frame, value) else value


def handed_on(frame: Frame, arguments: Arguments) -> Arguments:
    """The arguments of a call: who is given sizes that ranks agreed on may bring a tensor to one of them."""
    if not any(v.agreed or any(i.agreed for i in v.items or ()) for v in arguments.values):
        return arguments
    positional = tuple(given_back(frame, v) for v in arguments.positional)
    keywords = {name: given_back(frame, v) for name, v in arguments.keywords.items()}
    return Arguments(arguments.expr, positional, keywords)


def settled(frame: Frame) -> None:
    """Ranks go on only if what they have told each other is as it should be: `if most != least: raise`."""
    for place, value in list(frame.env.items()) if frame.exchanged else ():
        if _was_sent(frame, value):
            frame.env[place] = value._replace(shape=None, uneven_last=False)


def _was_sent(frame: Frame, value: Value) -> bool:
    """Whether a tensor's size differs because ranks have sent it to each other."""
    return value.shape is not None and value.shape.why[0] in frame.exchanged


def _of_the_longest(call: f.Call) -> bool:
    given = (*call.args[1:], *(value for name, value in call.keywords if name == "op"))
    return any(type(a) is f.Attr and a.attr == "MAX" for a in given)


def _is_open(value: Value) -> bool:
    """Whether nothing is known of a tensor's size."""
    known = (value.shape, value.padded, value.length, value.const, value.items, value.layout)
    other = value.external not in (None, "torch.Tensor")
    holds = other or value.types or value.module or value.loader or value.agreed or value.filled or value.container
    return not holds and not value.uniform and all(v is None for v in known)


def _after(made: f.Expr, size: f.Expr) -> bool:
    """Whether a name got what it holds after its size was taken."""
    then, since = position(size), position(made)
    return then is not None and since is not None and since > then


def _measured(frame: Frame, expr: f.Expr | None, depth: int, last: bool = False) -> Iterator[tuple[f.Expr, str, bool]]:
    """The variables whose sizes an expression holds, each with where it was measured, and whether that is another
    dimension than the first (`x.shape[1]`)."""
    if expr is None or not depth:
        return
    if type(expr) is f.Name:
        made = definition(frame, expr)
        if made is not expr:
            yield from _measured(frame, made, depth - 1, last)
    elif type(expr) is f.Sequence:
        for element in expr.elements:
            yield from _measured(frame, element, depth - 1, last)
    elif type(expr) is f.Subscript:
        yield from _measured(frame, expr.base, depth - 1, expr.index != f.Const("0"))
    elif type(expr) is f.Attr and expr.attr == "shape":
        if type(expr.base) is f.Name:
            yield expr, expr.base.id, last
    elif type(expr) is f.Call:
        name = last_name(expr.func)
        if name in _SIZES and type(expr.func) is f.Attr and type(expr.func.base) is f.Name:
            yield expr, expr.func.base.id, last or (name == "size" and expr.args[:1] not in ((), (f.Const("0"),)))
        elif name == "len" and len(expr.args) == 1 and type(expr.args[0]) is f.Name:
            yield expr, expr.args[0].id, last
        elif name in SAME or name == "contiguous":
            own = expr.args[0] if expr.args and name not in ("to", "cuda", "int") else None
            yield from _measured(frame, own or (expr.func.base if type(expr.func) is f.Attr else None), depth - 1, last)
