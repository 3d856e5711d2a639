"""Loaders that a file makes without a sampler beside one that it deals out: `DataLoader(val_data, shuffle=False)`.

Where a file gives its loader for training a sampler with a share for each rank, and another loader none, all ranks walk
all of the latter: what is worked out there is the same on each, as far as their models and devices are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.project.options import passed

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

_EVEN = re.compile(r"^Distributed\w*Sampler$")
#: what deals out the batches of any loader
_DEALS = re.compile(r"(?i)accelerat|lightning|Fabric$|Trainer$|^prepare")
_NOTHING = (f.Const("None"), f.Const("False"))


def is_passed(frame: Frame, function: FunctionInfo, name: str, pos: f.Pos) -> bool:
    """Whether a call at a place passes such a loader for a parameter."""
    module = frame.module
    if not module.mentions_like(_EVEN) or module.mentions_like(_DEALS) or frame.function is None:
        return False
    call = next((c for c in frame.function.calls if c.pos == pos), None)
    if call is None:
        return False
    given = passed(call, function, function.owner is not None and type(call.func) is f.Attr, name)
    place = place_name(given) if given is not None else ""
    return bool(place) and _deals_out_another(module) and _is_made_whole(module, place)


def _deals_out_another(module: ModuleInfo) -> bool:
    """Whether a loader of the file is given a sampler."""
    calls = [call for _, calls in module.calls() for call in calls]
    sampled = any(last_name(c.func) == "DataLoader" and _given(c, "sampler") for c in calls)
    return sampled and any(_EVEN.match(last_name(c.func)) for c in calls)


def _is_made_whole(module: ModuleInfo, place: str) -> bool:
    """Whether all that the file assigns to a place by itself are loaders without a sampler, in the data's order."""
    made = [
        s.value
        for _, body in module.bodies()
        for s in statements(body)
        if type(s) is f.Assign and s.value is not None and any(place_name(t) == place for t in s.targets)
    ]
    return bool(made) and all(
        type(m) is f.Call
        and last_name(m.func) == "DataLoader"
        and not any(_given(m, name) for name in ("sampler", "batch_sampler", "shuffle"))
        for m in made
    )


def _given(call: f.Call, name: str) -> bool:
    value = dict(call.keywords).get(name)
    return value is not None and value not in _NOTHING
