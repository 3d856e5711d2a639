"""An attribute that only some ranks set, asked for by `hasattr(self, "writer")`: the others have none of that name.

Where the class or one of its bases sets it once, under a test in which ranks differ, and nowhere else. One that gets
None on the other ranks is there on all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.assigned import targets
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.walk.state import SET_THERE

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.domain.lattice import Divergence
    from ferrule_lint.semantics.walk.frame import Frame


def asked(frame: Frame, arguments: Arguments) -> Divergence | None:
    """Why `hasattr(self, "x")` says another thing on some ranks; None if nothing tells."""
    args, info = arguments.expr.args, frame.self_class
    if info is None or len(args) != 2 or place_name(args[0]) != frame.self_name or type(args[1]) is not f.Const:
        return None
    name = args[1].text.strip("'\"")
    if frame.was_set(name) or f"{frame.self_name}.{name}" in frame.env or not name.isidentifier():
        return None
    classes = frame.analysis.names.mro(info)
    if any(name in c.attributes for c in classes):
        return None
    times = sum(_times(m.body, m.parameters[:1], name) for c in classes for m in c.methods.values())
    held = frame.analysis.holders.attribute(info, name, frame.light) if times == 1 else None
    if held is None or held.presence is None or not held.presence.why[-1].note.endswith(SET_THERE):
        return None
    return held.presence.then(frame.step("flow", arguments.expr.pos, f"only those ranks have `{name}`"))


def _times(body: f.Body, own: tuple[f.Parameter, ...], name: str) -> int:
    """How many statements of a method set an attribute of its instance."""
    places = {f"{p.name}.{name}" for p in own}
    return sum(not places.isdisjoint(map(place_name, targets(s))) for s in statements(body))
