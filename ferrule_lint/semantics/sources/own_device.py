"""Numbers by which a process chooses its own device, or starts: `torch.cuda.set_device(gpu)`, `device_ids=[gpu]`,
`init_process_group(rank=index)`.

Whatever it is called, such a number is the place of the process on its node, or the rank. What it is when nobody passes
it, and what a constant is, that is the same for all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name, shown
from ferrule_lint.semantics.sources import first_rank, rank_names

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: how a number counts: in the job, or on the node
_RANK, _LOCAL = "rank", "local_rank"
#: what is called so, and handed to one of these, is an object, or a name of a kind of devices
_NO_NUMBER = frozenset({"device", "dev", "torch_device"})


def of_parameter(frame: Frame, parameter: f.Parameter, value: Value) -> Value:
    """A parameter that this function chooses its device by, and of which nothing else is known."""
    function = frame.function
    if function is None or parameter.default is not None or parameter.kind not in ("normal", "keyword"):
        return value
    if parameter.name in function.traits.set_again or not _is_open(value):
        return value
    how = frame.analysis.bodies.once(_handed, function.body).get(parameter.name)
    if how is None:
        return value
    if parameter.name in _NO_NUMBER and parameter.name not in frame.analysis.bodies.once(_counted, function.body):
        return value
    pos = (function.line, 1, function.line, 1)
    divergence = frame.source(WORLD, "rank", pos, rank_names.of_parameter(parameter.name), Confidence.MEDIUM)
    return first_rank.named(value._replace(divergence=divergence), how)


def of_attribute(frame: Frame, e: f.Attr) -> Value | None:
    """`args.gpu`, which something in this file chooses its device by; an attribute of the instance is its class's."""
    place = place_name(e)
    if place.count(".") != 1 or e.attr in _NO_NUMBER or not frame.module.mentions_any(_WORDS):
        return None
    for own_class, how in chosen_by(frame.analysis, frame.module).get(place, ()):
        if place.startswith("self.") and (frame.function is None or own_class != frame.function.owner):
            continue
        divergence = frame.source(WORLD, "rank", e.pos, f"`{shown(e)}` differs by rank", Confidence.MEDIUM)
        return first_rank.named(Value(divergence=divergence), how)
    return None


def chosen_by(analysis: Analysis, module: ModuleInfo) -> dict[str, list[tuple[str | None, str]]]:
    """The places `a.b` by which something in a file chooses its device: the class of whose methods it is one, and how
    it counts."""
    return analysis.own_devices.find(module.path, lambda: _chosen_in(module), {})


def _chosen_in(module: ModuleInfo) -> dict[str, list[tuple[str | None, str]]]:
    found: dict[str, list[tuple[str | None, str]]] = {}
    for function, body in module.bodies():
        for place, how in _handed(body).items():
            if place.count(".") == 1 and (function is not None or not place.startswith("self.")):
                found.setdefault(place, []).append((function.owner if function is not None else None, how))
    return found


_WORDS = frozenset({"set_device", "device_ids", "init_process_group"})


def _is_open(value: Value) -> bool:
    return not (value.divergence or value.data or value.types or value.group or value.module or value.loader)


def _handed(body: f.Body) -> dict[str, str]:
    """The places that hold such numbers, and how they count."""
    found: dict[str, str] = {}
    for expr, how in _numbers(body):
        if place := place_name(expr):
            found.setdefault(place, how)
    return found


def _counted(body: f.Body) -> frozenset[str]:
    """The names that are compared with a number."""
    compared = (node for node in nodes(body, f.Compare) if len(node.rights) == 1)
    return frozenset(
        node.left.id
        for node in compared
        if type(node.left) is f.Name and type(node.rights[0]) is f.Const and node.rights[0].text.isdigit()
    )


def _numbers(body: f.Body) -> Iterator[tuple[f.Expr, str]]:
    for call in nodes(body, f.Call):
        name = last_name(call.func)
        if name == "set_device" and len(call.args) == 1:
            yield call.args[0], _LOCAL
        for keyword, value in call.keywords:
            if keyword == "device_ids" and type(value) is f.Sequence and len(value.elements) == 1:
                yield value.elements[0], _LOCAL
            elif keyword == "rank" and name == "init_process_group":
                yield value, _RANK
