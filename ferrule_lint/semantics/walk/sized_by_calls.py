"""Of what size is what a method of another object puts aside: `self.meter.update(scores[mask])` in one method, and
`self.meter.compute()`, which gathers it, in another.

Attribute layers ask for it: what `self.meter.values` gets in the methods of the class that holds the meter.
"""

from __future__ import annotations

from collections.abc import Mapping

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value, worse
from ferrule_lint.semantics.domain.text import place_name, root_name
from ferrule_lint.semantics.project.entities import FunctionInfo
from ferrule_lint.semantics.walk.frame import Frame

_FILLS = frozenset({"append", "extend", "appendleft"})


def after_call(frame: Frame, function: FunctionInfo, bound: Mapping[str, Value], call: f.Call | None) -> None:
    """At a call of a method of an attribute, in an attribute layer: the items of that object's lists."""
    func = call.func if call is not None else None
    if not frame.light or type(func) is not f.Attr or func.attr != function.name or not function.parameters:
        return
    owner = place_name(func.base)
    if not frame.own_attribute(owner):
        return
    for name, parameter in frame.analysis.bodies.once(_kept, function.body, function.parameters[0].name):
        given = bound.get(parameter)
        if given is not None and given.shape is not None:
            place = f"{owner}.{name}"
            known = frame.read(place) or UNKNOWN
            shape = worse(known.shape, given.shape)
            frame.leave_changed(place, known._replace(shape=shape, uneven_last=True, container=True))


def _kept(body: f.Body, own: str) -> list[tuple[str, str]]:
    """The lists of its instance to which a method appends what it is given, and the parameters (or variables) that
    these are made of: `self.values.append(x.detach().cpu())`."""
    found = []
    for s in statements(body):
        call = s.value if type(s) is f.ExprStmt else None
        if type(call) is f.Call and type(call.func) is f.Attr and call.func.attr in _FILLS and len(call.args) == 1:
            place = place_name(call.func.base)
            if place.startswith(f"{own}.") and place.count(".") == 1 and (parameter := root_name(call.args[0])):
                found.append((place.partition(".")[2], parameter))
    return found
