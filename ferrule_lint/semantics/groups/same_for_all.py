"""What all ranks of a collective have to say alike: who its root is, how it reduces, and how much passes between two.

A broadcast whose root each rank takes to be itself, or finds in its own data, is as many broadcasts as there are roots.
Asked is what a call says outright, over all ranks of the job: in a group of its own each may have another root.
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.broadcast
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.text import last_name, position, render, shown
from ferrule_lint.semantics.domain.trace import Event
from ferrule_lint.semantics.walk.frame import CallIssue

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

#: function of torch.distributed -> the argument that is its root, and where that and the group stand
_ROOTS = {
    "broadcast": ("src", 1, 2),
    "broadcast_object_list": ("src", 1, 2),
    "reduce": ("dst", 1, 3),
    "gather": ("dst", 2, 3),
    "gather_object": ("dst", 2, 3),
    "scatter": ("src", 2, 3),
    "scatter_object_list": ("src", 2, 3),
}
#: function of torch.distributed -> where its reduction and its group stand
_REDUCTIONS = {"all_reduce": (1, 2), "reduce": (2, 3), "reduce_scatter": (2, 3), "reduce_scatter_tensor": (2, 3)}
_EXCHANGE = "all_to_all_single"
_NONE = f.Const("None")


def check(frame: Frame, dotted: str, arguments: Arguments) -> None:
    """An issue at a call of torch.distributed that ranks give other roots, reductions or sizes."""
    library, _, name = dotted.rpartition(".")
    if library != "torch.distributed" or frame.light or arguments.is_open:
        return
    root = reduction = None
    if name in _ROOTS:
        argument, place, of_group = _ROOTS[name]
        root = arguments.expression(argument, place)
        _differs(frame, name, arguments, of_group, root, f"the root of `{name}` differs between ranks")
    if name in _REDUCTIONS:
        place, of_group = _REDUCTIONS[name]
        reduction = arguments.expression("op", place)
        _differs(frame, name, arguments, of_group, reduction, f"ranks reduce in different ways in `{name}`")
    if name == _EXCHANGE:
        _exchange(frame, arguments)
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
    if expr is None or arguments.expression("group", of_group) not in (None, _NONE):
        return
    value = arguments.value_of(expr)
    divergence = value.divergence if value is not None else None
    if divergence is None or divergence.kind not in ("rank", "data") or not _is_sure(divergence):
        return
    here = frame.path_divergence()
    if here is not None and here.kind == "rank":
        return  # who comes here is the root, or one whose root it tells
    _issue(frame, name, arguments, divergence.then(frame.step("flow", position(expr), f"`{shown(expr)}`")), message)


def _is_sure(divergence: Divergence) -> bool:
    """Whether it differs among the ranks of the job: the data that groups of ranks share, or a rank that was asked for
    (a parameter called `rank` may be that of the root)."""
    if divergence.kind == "rank" and (divergence.confidence < Confidence.HIGH or "world" not in divergence.axes):
        return False
    return not (divergence.partial or divergence.unnamed)


def _exchange(frame: Frame, arguments: Arguments) -> None:
    """As much from each rank as goes there, by numbers of the rank's own data: the others have other numbers."""
    received = arguments.expression("output_split_sizes", 2)
    sent = arguments.expression("input_split_sizes", 3)
    value = arguments.value_of(sent) if sent is not None else None
    if value is None or received is None or sent is None or render(received) != render(sent):
        return
    divergence = value.divergence or value.data
    if divergence is None or divergence.kind != "data" or not _is_sure(divergence):
        return
    message = f"`{_EXCHANGE}` takes as much from each rank as it gives there, and `{shown(sent)}` is each rank's own"
    _issue(frame, _EXCHANGE, arguments, divergence, message)


def _issue(frame: Frame, name: str, arguments: Arguments, divergence: Divergence, message: str) -> None:
    pos = arguments.expr.pos
    note = f"`{render(arguments.expr.func)}` issues {name}"
    event = Event(name, WORLD, "", frame.module.path, pos, Confidence.MEDIUM, False, note)
    frame.issues.append(CallIssue("FER404", pos, divergence.at_most(Confidence.MEDIUM), event, message))
