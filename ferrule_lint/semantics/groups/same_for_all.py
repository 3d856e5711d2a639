"""What all ranks of a collective have to say alike: who its root is, how it reduces, and how much passes between two.

A broadcast whose root each rank takes to be itself, or finds in its own data, is as many broadcasts as there are roots.
Asked is what a call says outright, over all ranks of the job: in a group of its own each may have another root.
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.broadcast
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import iteration
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.dependences import FLOWS, only
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value
from ferrule_lint.semantics.domain.summary import Latent, Summary
from ferrule_lint.semantics.domain.text import last_name, place_name, position, render, shown
from ferrule_lint.semantics.domain.trace import Event
from ferrule_lint.semantics.groups.roots import ROOTS
from ferrule_lint.semantics.walk.frame import CallIssue

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.groups.roots import ROOTS
from ferrule_lint.semantics.walk.frame import Frame

#: function of torch.distributed -> where its reduction and its group stand
_REDUCTIONS = {"all_reduce": (1, 2), "reduce": (2, 3), "reduce_scatter": (2, 3), "reduce_scatter_tensor": (2, 3)}
_EXCHANGE = "all_to_all_single"
#: functions of torch.distributed that are given a list with a place for each object that is shared
_LISTS = ("broadcast_object_list",)
_NONE = f.Const("None")
#: calls through which a root is handed on
_DEEPEST = 4


def check(frame: Frame, dotted: str, arguments: Arguments) -> None:
    """An issue at a call of torch.distributed that ranks give other roots, reductions or sizes."""
    library, _, name = dotted.rpartition(".")
    if library != "torch.distributed" or frame.light or arguments.is_open:
        return
    root = reduction = None
    if name in ROOTS:
        argument, place, of_group = ROOTS[name]
        root = arguments.expression(argument, place)
        _differs(frame, name, arguments, of_group, root, f"the root of `{name}` differs between ranks")
    if name in _REDUCTIONS:
        place, of_group = _REDUCTIONS[name]
        reduction = arguments.expression("op", place)
        _differs(frame, name, arguments, of_group, reduction, f"ranks reduce in different ways in `{name}`")
    if name == _EXCHANGE:
        _exchange(frame, arguments)
    if name in _LISTS:
        _list(frame, name, arguments)
    frame.told_alike[arguments.expr.pos] = _written(root), last_name(reduction) or "SUM"


def conflict(frame: Frame, one: Event, other: Event) -> str:
    """What two halves of a collective, in the arms of a test, say of it that does not fit, in words."""
    a, b = frame.told_alike.get(one.pos), frame.told_alike.get(other.pos)
    if a is None or b is None:
        return ""
    if a[0] and b[0] and a[0] != b[0]:
        return f"root {a[0]} against {b[0]}"
    known = a[1].isupper() and b[1].isupper()
    return f"{a[1]} against {b[1]}" if known and a[1] != b[1] else ""


def _written(root: f.Expr | None) -> str:
    return root.text if type(root) is f.Const and root.text.isdigit() else ""


def _differs(frame: Frame, name: str, arguments: Arguments, of_group: int, expr: f.Expr | None, message: str) -> None:
    if expr is None or arguments.expression("group", of_group) not in (None, _NONE) or _is_told_apart(frame):
        return
    value = arguments.value_of(expr) or UNKNOWN
    divergence = value.divergence
    if divergence is not None and _is_sure(divergence):
        if name in ROOTS and divergence.kind == "rank" and _has_another_half(frame, name, arguments.expr):
            return
        divergence = divergence.then(frame.step("flow", position(expr), f"`{shown(expr)}`"))
        _issue(frame, name, arguments, divergence, message)
    elif divergence is None and (deps := only(value.deps, FLOWS, FLOWS)):
        pos = arguments.expr.pos
        latent = Latent("FER404", "argument", deps, frame.module.path, pos, message, _event(frame, name, arguments))
        frame.latents.append(latent)


def _is_told_apart(frame: Frame) -> bool:
    """Whether who comes here has been told by its rank: it is the root, or its other half tells the root of it."""
    here = frame.path_divergence()
    return here is not None and here.kind == "rank"


def _has_another_half(frame: Frame, name: str, call: f.Call) -> bool:
    """Whether the function has another call of the collective: who holds a thing sends it, and the others go there, by
    whatever tells them apart."""
    calls = frame.function.calls if frame.function is not None else ()
    return any(last_name(other.func) == name and other.pos != call.pos for other in calls)


def at_call(frame: Frame, summary: Summary, latent: Latent, value: Value, pos: f.Pos) -> None:
    """What a call hands on to a function that names a root or a reduction by it."""
    if value.divergence is not None and _is_sure(value.divergence) and not _is_told_apart(frame):
        divergence = value.divergence.at_most(Confidence.MEDIUM)
        message = f"{latent.text}, by what `{summary.display}` is given"
        frame.issues.append(CallIssue("FER404", pos, divergence, latent.event, message, latent))
    elif value.divergence is None and latent.depth < _DEEPEST and (deps := only(value.deps, FLOWS, FLOWS)):
        frame.latents.append(replace(latent, deps=deps, depth=latent.depth + 1))


def _is_sure(divergence: Divergence) -> bool:
    """Whether it differs among the ranks of the job: data that is seen to be local, or a rank that was asked for (a
    parameter called `rank` may be that of the root)."""
    if divergence.kind == "rank" and (divergence.confidence < Confidence.HIGH or "world" not in divergence.axes):
        return False
    return divergence.kind in ("rank", "data") and not (divergence.partial or divergence.assumed)


def _exchange(frame: Frame, arguments: Arguments) -> None:
    """As much from each rank as goes there, by numbers of the rank's own data: the others have other numbers. Where all
    have the same data it is wrong as well, for what goes to one rank is not what goes to another; that something is
    local by its name alone says enough, then, if it is its content that is counted."""
    received = arguments.expression("output_split_sizes", 2)
    sent = arguments.expression("input_split_sizes", 3)
    value = arguments.value_of(sent) if sent is not None else None
    if value is None or received is None or sent is None or render(received) != render(sent):
        return
    counted = value.divergence
    if counted is not None and counted.assumed and not counted.sized and _is_another_for_each(frame, sent):
        counted = counted._replace(assumed=False)
    divergence = counted or value.data
    if divergence is None or divergence.kind != "data" or not _is_sure(divergence):
        return
    message = f"`{_EXCHANGE}` takes as much from each rank as it gives there, and `{shown(sent)}` is each rank's own"
    _issue(frame, _EXCHANGE, arguments, divergence, message)


def _is_another_for_each(frame: Frame, sizes: f.Expr) -> bool:
    """Whether a list of sizes has a number of its own for each rank: `counts.tolist()`, and not `[n] * 4`."""
    made = iteration.definition(frame, sizes)
    return type(made) is f.Call and last_name(made.func) in ("tolist", "list", "tuple")


def _list(frame: Frame, name: str, arguments: Arguments) -> None:
    """A list that a test of the rank makes shorter: those who receive need as many places as the root has objects."""
    expr = arguments.expression("object_list", 0)
    for test, lists in _ways(frame, expr):
        long = {len(one.elements) for one in lists if not any(type(e) is f.Starred for e in one.elements)}
        divergence = frame.ask(test).divergence
        if len(long) > 1 and divergence is not None and divergence.kind == "rank":
            sizes = " and ".join(map(str, sorted(long)))
            _issue(frame, name, arguments, divergence, f"ranks pass lists of different length to `{name}`: {sizes}")


def _ways(frame: Frame, expr: f.Expr | None) -> Iterator[tuple[f.Expr, list[f.Sequence]]]:
    """The lists that an expression may be, with the test that decides: in it, or over two that a name is assigned."""
    place = place_name(expr)
    known = frame.analysis.bodies.assignments(frame.function.body, place) if frame.function and place else []
    values = [value for value, _ in known] if known else [expr]
    if len(values) == 1 and type(values[0]) is f.IfExp:
        ways = (values[0].body, values[0].orelse)
        yield values[0].test, [way for way in ways if type(way) is f.Sequence]
    elif len(known) == 2 and known[0][1] and len(known[0][1]) == len(known[1][1]):
        yield known[0][1][-1], [value for value in values if type(value) is f.Sequence]


def _event(frame: Frame, name: str, arguments: Arguments) -> Event:
    note = f"`{shown(arguments.expr.func)}` issues {name}"
    return Event(name, WORLD, "", frame.module.path, arguments.expr.pos, Confidence.MEDIUM, False, note)


def _issue(frame: Frame, name: str, arguments: Arguments, divergence: Divergence, message: str) -> None:
    apart = divergence.at_most(Confidence.MEDIUM)
    event = _event(frame, name, arguments)
    frame.issues.append(CallIssue("FER404", arguments.expr.pos, apart, event, message))
