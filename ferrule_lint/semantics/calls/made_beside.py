"""Modules that a function makes beside the one that it has wrapped, and hands to nobody:

    tower = build(config.tower)
    model = accelerator.prepare(build(config.model))

Of what is wrapped the class may not be told, so that it could be any module: but not this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.assigned import assigning
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def is_made_beside(frame: Frame, called: f.Expr) -> bool:
    """Whether what is called is such a module: it is made by a call, all that is done with it is done by its own
    methods, and something else is given to what wraps."""
    if type(called) is not f.Name or frame.function is None or not frame.version(called.id):
        return False
    body, name = frame.function.body, called.id
    given = {
        node.id
        for call in walk(body)
        if type(call) is f.Call and _imported(frame, last_name(call.func)) in frame.models.wrapping
        for node in call.args
        if type(node) is f.Name
    }
    made = list(assigning(body, name))
    if not given - {name} or not made or _is_handed_over(body, name):
        return False
    return all(type(s.value) is f.Call and _begins_elsewhere(s.value, name, given) for s in made)


def is_kept_in_file(frame: Frame, called: f.Expr) -> bool:
    """Whether what is called is a variable of the file in which a library's model is put on first use, by all that set
    it: `if model is None: model = Net.from_pretrained(path)` below `global model`."""
    if type(called) is not f.Name or not (setting := frame.module.rebinders(called.id)):
        return False
    bodies = (frame.module.body, *(function.body for function in setting))
    made = [s.value for body in bodies for s in assigning(body, called.id)]
    return bool(made) and all(value == f.Const("None") or _is_loaded(frame, value) for value in made)


def _is_loaded(frame: Frame, value: f.Expr | None) -> bool:
    if type(value) is not f.Call or type(value.func) is not f.Attr or value.func.attr != "from_pretrained":
        return False
    dotted, _ = frame.module.bound.get(last_name(value.func.base), ("", False))
    return frame.models.knows_library(dotted)


def _imported(frame: Frame, name: str) -> str:
    """What something is called where it comes from: `FSDP` is short for a longer name."""
    dotted, _ = frame.module.bound.get(name, (name, False))
    return dotted.rpartition(".")[2]


def _begins_elsewhere(call: f.Call, name: str, given: set[str]) -> bool:
    """Whether a call makes something new, and no part of what is wrapped (`getattr(model, "tower")`), or is a method of
    the module itself: `tower = tower.to(device)`."""
    own = type(call.func) is f.Attr and place_name(call.func.base) == name
    mentioned = {node.id for node in walk((call,)) if type(node) is f.Name}
    return own or not mentioned & (given | {name})


def _is_handed_over(body: f.Body, name: str) -> bool:
    """Whether a name stands anywhere but before what is taken of it, in its own calls, and where it is set."""
    mentions = sum(type(node) is f.Name and node.id == name for node in walk(body))
    own = sum(_is_own_use(node, name) for node in walk(body))
    return mentions > own


def _is_own_use(node: object, name: str) -> int:
    if type(node) is f.Attr:
        return int(type(node.base) is f.Name and node.base.id == name)
    if type(node) is f.Call:
        return int(type(node.func) is f.Name and node.func.id == name)
    if type(node) is f.Assign:
        return sum(type(target) is f.Name and target.id == name for target in node.targets)
    return 0
