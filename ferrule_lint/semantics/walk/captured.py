"""Captured: what a nested function leaves in the variables of the function around it.

`def step(batch): kept.append(batch.loss)`, `nonlocal stop; stop = True`, or a lambda that is passed on as a callback:
once it has been called, the function around it finds that in its own `kept` and `stop`. A variable that is captured is
as good as one that is passed (`given`), by a name of its own (`<run>kept`), under which functions that know nothing of
it hand it on to their callers, up to the one whose variable it is. Whoever is called by another name than its own
(a callback) may be called or not. What handlers of signals set is told at their definition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.semantics.domain.assigned import targets
from ferrule_lint.semantics.domain.dependences import root_of
from ferrule_lint.semantics.domain.joins import join2
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import place_name, root_name
from ferrule_lint.semantics.project.entities import ClassInfo, GlobalName, ModuleInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: methods by which a container gets more
FILLS = frozenset({"append", "appendleft", "add", "extend", "insert", "update", "setdefault"})


def enter(frame: Frame, function: FunctionInfo) -> None:
    """The variables of the functions around it, and of modules, that a function changes."""
    if frame.analysis.signals.handles(function):
        return
    changed = frame.analysis.bodies.once(_changed, function.body)
    if not changed:
        return
    own = {p.name for p in function.parameters}
    of_module = _declared(function, "global")
    for name in sorted(changed - own):
        around = "" if name in of_module else _owner(frame.closure, name)
        if owner := around or _module(frame, name):
            frame.captured[name] = _mark(owner, name)
    declared = of_module | _declared(function, "nonlocal")
    frame.shared = frozenset(name for name in declared if name in frame.captured)


def _owner(frame: Frame | None, name: str) -> str:
    """The function around whose variable this is; "" if it is none's."""
    while frame is not None and frame.function is not None:
        if name in frame.captured:
            return frame.captured[name].removeprefix("<").partition(">")[0]
        if name in frame.env:
            return _plain(frame.function.qualname)
        frame = frame.closure
    return ""


def _module(frame: Frame, name: str) -> str:
    """The module that defines what a module's variable, class or import stands for; "" if the project has none."""
    entity = frame.analysis.names.lookup(frame.module, name)
    if type(entity) is ModuleInfo:
        return _plain(entity.path)
    return _plain(entity.module.path) if type(entity) is GlobalName or type(entity) is ClassInfo else ""


def _plain(text: str) -> str:
    """A name without what separates the parts of a place."""
    return text.translate(_SEPARATORS)


_SEPARATORS = str.maketrans(".[<>", "/(()")


def _mark(owner: str, name: str) -> str:
    """The name by which a variable of a function is handed on."""
    return f"<{owner}>{name}"


def variable(frame: Frame, root: str, pos: f.Pos) -> f.Name | None:
    """The variable that is meant by a root, where it is one of the function that is walked, or of one around it: which
    changes it by this call, then."""
    owner, _, name = root.removeprefix("<").partition(">")
    within = _around(frame, root)
    if within is None and _module(frame, name) != owner:
        return None
    if within is not frame and name not in frame.captured:
        if name in frame.env:
            return None  # one of its own, by the same name
        frame.captured[name] = root
        frame.shared |= {name}
    return f.Name(name, pos)


def _around(frame: Frame, root: str) -> Frame | None:
    """The function whose variable is meant by a root: the one that is walked, or one around it; None: a module's."""
    owner = root.removeprefix("<").partition(">")[0]
    within: Frame | None = frame
    while within is not None and within.function is not None:
        if _plain(within.function.qualname) == owner:
            return within
        within = within.closure
    return None


def after_call(frame: Frame, place: str, now: Value, surely: bool, call: f.Call) -> None:
    """At a call: what the callee has left in a variable of a function around it: of this one, or of a caller."""
    from ferrule_lint.semantics.walk import given

    root = root_of(place)
    name = variable(frame, root, call.pos)
    if name is not None:
        given.leave(frame, name, place[len(root) :], now, surely, call, own=_around(frame, root) is None)
        return
    if place != root and place[len(root) :] in (given.ITEMS, given.ENTRIES):
        frame.captured.setdefault(root, root)
        given.leave(frame, f.Name(root, call.pos), place[len(root) :], now, surely, call, own=False)
        return
    known = frame.left_in.get(place)
    if surely and not frame.conditions and not frame.loop_depth:
        frame.surely.add(place)
    now = frame.analysis.as_state(frame, place, now)
    frame.left_in[place] = now if known is None else join2(known, now)


def is_mark(root: str) -> bool:
    """Whether a root is a variable of another function, and no parameter."""
    return root[:1] == "<"


def as_written(place: str) -> str:
    """A place as the function writes it whose variable it is."""
    return place.partition(">")[2] if is_mark(place) else place


def _declared(function: FunctionInfo, kind: str) -> set[str]:
    """The names that a function declares `nonlocal` or `global`."""
    return {n for s in statements(function.body) if type(s) is f.ScopeDecl and s.kind == kind for n in s.names}


def _changed(body: f.Body) -> frozenset[str]:
    """The names of what a body changes in place, or sets as another function's variable, and does not make itself."""
    bound: set[str] = set()
    changed: set[str] = set()
    for s in statements(body):
        if type(s) is f.ScopeDecl:
            changed |= set(s.names)
        for target in targets(s):
            for t in target.elements if type(target) is f.Sequence else (target,):
                (bound if type(t) is f.Name else changed).add(root_name(t))
    for call in nodes(body, f.Call):
        if type(call.func) is f.Attr and call.func.attr in FILLS:
            base = call.func.base.base if type(call.func.base) is f.Subscript else call.func.base
            changed.add(place_name(base).partition(".")[0])
    declared_names = {n for s in statements(body) if type(s) is f.ScopeDecl for n in s.names}
    return frozenset(changed - (bound - declared_names) - {""})
