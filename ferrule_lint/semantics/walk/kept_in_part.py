"""Attributes of an object that another one is built around: `trainer = Trainer(net, state)`, whose methods set
`state.ended` under a test of local data, by way of what it has kept (`self.state`). Who has made both asks the object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.assigned import assigning
from ferrule_lint.semantics.domain.joins import join2
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value
from ferrule_lint.semantics.domain.targets import ClassTarget
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.project.options import passed
from ferrule_lint.semantics.walk import aliases

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import ClassInfo
    from ferrule_lint.semantics.walk.frame import Frame


def leave(frame: Frame, owner: str, name: str, value: Value) -> None:
    """A flag of what a method keeps in its instance, under whatever name it has it here (`state = self.state`)."""
    others = (place_name(expr) for expr in aliases.other_names(frame, owner))
    for attribute in dict.fromkeys(frame.own_attribute(place) for place in (owner, *others)):
        if attribute:
            frame.also_left(f"{attribute}.{name}", value)


def assigned(frame: Frame, place: str, value: Value) -> None:
    """An attribute that is assigned: `state.score = score`, where `state` is what the instance keeps."""
    owner, _, name = place.rpartition(".")
    if not owner or ("." not in owner and owner not in frame.aliases) or frame.light or "[" in place:
        return
    if value.divergence is not None or frame.conditions:
        leave(frame, owner, name, frame.analysis.as_state(frame, place, value))


def by_its_own_name(frame: Frame, owner: str, name: str, value: Value) -> None:
    """What a method has left in an object that its instance was built around: the function has that by a name, too."""
    attribute, _, flag = name.partition(".")
    given = _built_around(frame, owner, attribute) if flag and "." not in owner else ""
    if not given:
        return
    place = f"{given}.{flag}"
    known = frame.read(place) or UNKNOWN
    frame.env[place] = join2(known, value)._replace(const=None, items=None, uniform=False)
    frame.renew(place)


def _built_around(frame: Frame, owner: str, attribute: str) -> str:
    """The variable that the constructor of an object was passed and has kept in an attribute."""
    made = list(assigning(frame.function.body, owner)) if frame.function is not None else []
    call = made[0].value if len(made) == 1 else None
    if type(call) is not f.Call or type(target := frame.ask(call.func).target) is not ClassTarget:
        return ""
    return _passed(frame, target.info, attribute, call)


def _passed(frame: Frame, info: ClassInfo, attribute: str, call: f.Call) -> str:
    init = frame.analysis.names.method(info, "__init__")
    if init is None or not init.parameters:
        return ""
    kept = [
        s.value
        for s in statements(init.body)
        if type(s) is f.Assign and any(place_name(t) == f"{init.parameters[0].name}.{attribute}" for t in s.targets)
    ]
    names = [p.name for p in init.parameters[1:]]
    if len(kept) != 1 or type(kept[0]) is not f.Name or kept[0].id not in names:
        return ""
    given = passed(call, init, True, kept[0].id)
    return given.id if type(given) is f.Name else ""
