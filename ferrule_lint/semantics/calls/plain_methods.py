"""Methods of a module of unknown class that run no module, as the project's own of that name say: what is called
`rotary.compute_angles` fills a table wherever it is called. What gathers a module's parameters is its call.
"""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.calls.forwards import runs_nothing
from ferrule_lint.semantics.calls.receivers import is_everyday
from ferrule_lint.semantics.domain.text import root_name
from ferrule_lint.semantics.walk.holders import FULL

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.domain.targets import MethodTarget
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: methods of one name that are looked into; with more of them the name says nothing
MOST_METHODS = 6


def runs_no_module(frame: Frame, target: MethodTarget) -> bool:
    """Whether only classes of the project have a method of this name, which is none that a library's have as well, and
    none of these issues anything."""
    analysis, name = frame.analysis, target.name
    if frame.light or target.receiver.types or is_everyday(name):
        return False
    found = analysis.names.methods_named(name)
    if not 0 < len(found) <= MOST_METHODS or is_kept_under(analysis, name):
        return False
    return all(_is_plain(frame, method) for method in found)


def is_kept_under(analysis: Analysis, name: str) -> bool:
    """Whether some object of the project keeps something under that name, a module most often."""
    return analysis.kept_under.find(name, lambda: _is_attribute(analysis, name), False)


def _is_attribute(analysis: Analysis, name: str) -> bool:
    functions = (fn for module in analysis.names.mentioning(name) for fn in module.functions.values())
    kept = (s.targets for fn in functions for s in statements(fn.body) if type(s) is f.Assign)
    return any(type(target) is f.Attr and target.attr == name for targets in kept for target in targets)


def _is_plain(frame: Frame, method: FunctionInfo) -> bool:
    owner = method.module.classes.get(method.owner or "")
    if owner is None or method.is_property or not _asks_nobody(frame.analysis, method, owner, set()):
        return False
    known = frame.analysis.summaries.of(method, (), owner, None, frame.depth + 1)
    return known is not None and not known[0].busy and not known[0].events


def _asks_nobody(analysis: Analysis, method: FunctionInfo, owner: ClassInfo, seen: set[str]) -> bool:
    """Whether a method calls nothing that its instance, or its caller, has handed it of unknown class: a model, say,
    around which the class is written. Of the instance's own methods none does."""
    if method.id in seen:
        return True
    seen.add(method.id)
    given = {p.name for p in method.parameters}
    for s in statements(method.body):
        if type(s) is f.Assign and type(s.value) in (f.Name, f.Attr, f.Subscript) and root_name(s.value) in given:
            given |= {target.id for target in s.targets if type(target) is f.Name}
    itself = method.parameters[0].name if method.parameters else ""
    for call in walk(method.body):
        if type(call) is not f.Call or (type(call.func) is f.Attr and runs_nothing(call.func.attr)):
            continue
        asked = call.func.base if type(call.func) is f.Attr else call.func
        if type(asked) is f.Name and asked.id == itself and type(call.func) is f.Attr:
            own = analysis.names.method(owner, call.func.attr)
            if own is None or not _asks_nobody(analysis, own, owner, seen):
                return False
        elif type(asked) is f.Attr and type(asked.base) is f.Name and asked.base.id == itself:
            held = analysis.holders.attribute(owner, asked.attr, FULL)
            if held is None or not held.types or any(map(analysis.is_module, held.types)):
                return False
        elif root_name(asked) in given or (type(call.func) is f.Name and not _is_known(analysis, method, call.func.id)):
            return False
    return True


def _is_known(analysis: Analysis, method: FunctionInfo, name: str) -> bool:
    """Whether a name is none of the method's own, that may be a layer: `for layer in layers: layer(x)`."""
    return hasattr(builtins, name) or analysis.names.lookup(method.module, name) is not None
