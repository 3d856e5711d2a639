"""The rank that a process is started with: `init_process_group(rank=...)` counts over all nodes.

What a launcher calls the local rank counts on one node, and of several nodes each claims the same few ranks: the
rendezvous waits for the others forever. On one node, which is how such code is tried, both numbers are the same, so a
program that says it runs on one (its address is this machine, the size of the world is the number of GPUs) is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.assigned import assignments
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.domain.text import last_name, place_name, position, shown
from ferrule_lint.semantics.domain.trace import Event
from ferrule_lint.semantics.walk.frame import CallIssue

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

_STARTS = "torch.distributed.init_process_group"
_DEEPEST = 4
_THIS_MACHINE = re.compile(r"127\.0\.0\.1|localhost|file://")
#: what is asked with a default, which only counts where nothing else was said
_WITH_DEFAULT = frozenset("get getenv setdefault add_argument field Field".split())
_GLOBAL = re.compile(r"(global|world)_rank$", re.IGNORECASE)
_WHOLE_JOB = "WORLD_SIZE"
#: a back end of torch's own whose ranks meet nobody: a process reckons with it what a job would do
_MEETS_NOBODY = "fake"
_MESSAGE = (
    "`rank` is a rank of the whole job, but this counts on one node: of several nodes each claims the same ranks, and"
    " the others are waited for"
)


def check(frame: Frame, dotted: str, arguments: Arguments) -> None:
    """An issue at a start of torch.distributed that is given the rank on the node, though there may be several."""
    rank = arguments.expression("rank", 4) if dotted == _STARTS and not frame.light else None
    if rank is None or arguments.is_open or _meets_nobody(arguments) or _is_on_this_machine(frame):
        return
    divergence = _on_node(frame, rank, arguments.expression("world_size", 3)) or _beside_global(frame, rank)
    if divergence is None:
        return
    pos = arguments.expr.pos
    divergence = divergence.then(frame.step("flow", position(rank), f"`{shown(rank)}` is passed as a rank"))
    note = f"`{last_name(arguments.expr.func)}` is called"
    event = Event("init_process_group", WORLD, "", frame.module.path, pos, Confidence.MEDIUM, False, note)
    frame.issues.append(CallIssue("FER402", pos, divergence, event, _MESSAGE))


def _on_node(frame: Frame, rank: f.Expr, size: f.Expr | None) -> Divergence | None:
    """A rank that the environment calls local, along with a size that it says is the one of the job."""
    value = frame.eval(rank)
    divergence = value.divergence
    head, _, scope = value.rank.partition("#")
    if divergence is None or head or "local" not in scope.split(",") or divergence.confidence < Confidence.HIGH:
        return None
    if size is not None and all(const.text[1:-1] != _WHOLE_JOB for const in _behind(frame, size)):
        return None
    return divergence


def _beside_global(frame: Frame, rank: f.Expr) -> Divergence | None:
    """A parameter that is the number of the device, in a function that is given the global rank as well."""
    function = frame.function
    if function is None or type(rank) is not f.Name or not _is_device(function.body, rank.id):
        return None
    names = [p.name for p in function.parameters]
    other = next((name for name in names if _GLOBAL.search(name)), None)
    if rank.id not in names or other in (None, rank.id) or next(assignments(function.body, rank.id), None):
        return None
    note = f"`{rank.id}` is the number of the device, `{other}` the rank"
    return frame.source(WORLD, "rank", position(rank), note, Confidence.MEDIUM)


def _is_device(body: f.Body, name: str) -> bool:
    """Whether a number is handed to what chooses a device: `set_device(rank)`, `torch.device("cuda", rank)`."""
    calls = (node for node in walk(body) if type(node) is f.Call and "device" in last_name(node.func).lower())
    return any(type(part) is f.Name and part.id == name for call in calls for part in walk(call.args))


def _meets_nobody(arguments: Arguments) -> bool:
    backend = arguments.expression("backend", 0)
    return type(backend) is f.Const and backend.text[1:-1] == _MEETS_NOBODY


def _is_on_this_machine(frame: Frame) -> bool:
    """Whether the file writes out that the ranks meet on this machine, and not as a default."""
    for _, body in frame.module.bodies():
        asked = [c.args for c in walk(body) if type(c) is f.Call and last_name(c.func) in _WITH_DEFAULT]
        if _addresses(body) > sum(map(_addresses, asked)):
            return True
    return False


def _addresses(part: object) -> int:
    return sum(type(node) is f.Const and _THIS_MACHINE.search(node.text) is not None for node in walk(part))


def _behind(frame: Frame, expr: f.Expr, depth: int = 0) -> Iterator[f.Const]:
    """The constants that an expression is made from: names are followed to what they are set to, here, in the methods
    of the class or in the module, and functions of the project to what they do."""
    for part in walk(expr):
        if type(part) is f.Const:
            yield part
        elif type(part) is f.Call:
            target = frame.eval(part.func).target
            if type(target) is FunctionTarget:
                yield from (node for node in walk(target.function.body) if type(node) is f.Const)
        elif (type(part) is f.Name or type(part) is f.Attr) and depth < _DEEPEST:
            for body in _bodies(frame):
                for value in _set_to(body, place_name(part)):
                    yield from _behind(frame, value, depth + 1)


def _set_to(body: f.Body, place: str) -> Iterator[f.Expr]:
    """What a place is set to, also as one of several that a call returns."""
    yield from (value for value, _ in assignments(body, place))
    for s in statements(body):
        if type(s) is f.Assign and type(s.value) is f.Call:
            targets = [t for target in s.targets if type(target) is f.Sequence for t in target.elements]
            if any(place_name(t) == place for t in targets):
                yield s.value


def _bodies(frame: Frame) -> Iterator[f.Body]:
    if frame.function is not None:
        yield frame.function.body
    if frame.self_class is not None:
        yield from (method.body for method in frame.self_class.methods.values())
    yield frame.module.body
