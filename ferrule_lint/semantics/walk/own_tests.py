"""Tests that an attribute of the instance holds: `self.takes_part = self.is_main or everywhere`.

Where the constructor has kept beside it what else is in the test (`self.everywhere = everywhere`), asking the one is
asking the other, too: under `if self.takes_part: if self.everywhere: all_reduce(x)` all ranks come to the collective.
So it is with a property that returns such a test. Only a test by which more ranks than the first are let in is taken
for what it says: of any other the attribute itself says as much.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import replaced, walk
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo
from ferrule_lint.semantics.walk import own_names
from ferrule_lint.semantics.walk.frame import Frame

#: what a test may be made of to be asked again somewhere else
_PARTS = frozenset({f.BoolOp, f.Not, f.Name, f.Attr, f.Compare, f.Call, f.Const, tuple, str, int})


def held(frame: Frame, test: f.Attr) -> f.Expr | None:
    """The test that an attribute of the own instance holds, in terms of other attributes; None if that is not known."""
    if type(test.base) is not f.Name or test.base.id != frame.self_name or frame.self_class is None or frame.light:
        return None
    if any(frame.models.convention(kind, test.attr) is not None for kind in ("rank", "initialized")):
        return None  # its name says which test it is
    if frame.read(place_name(test)) is not None:
        return None  # set further up in this method
    divergence = frame.eval(test).divergence
    if divergence is None or divergence.kind != "rank":
        return None
    asked = _returned(frame, test.attr) or _assigned(frame, test.attr)
    return None if asked is None else replaced(asked, {}, test.pos)


def _returned(frame: Frame, name: str) -> f.Expr | None:
    """What a property returns that does nothing else."""
    assert frame.self_class is not None
    method = frame.analysis.names.method(frame.self_class, name)
    if method is None or not method.is_property or len(method.body) != 1 or not _same_self(frame, method):
        return None
    only = method.body[0]
    if type(only) is not f.Return or only.value is None or frame.analysis.hierarchy.below(frame.self_class):
        return None
    return only.value if _lets_more_in(only.value) and _is_own(frame, only.value, set()) else None


def _assigned(frame: Frame, name: str) -> f.Expr | None:
    """What the constructor sets an attribute to, and no other method does."""
    method = _only_writer(frame, name)
    if method is None or not _same_self(frame, method):
        return None
    source = _only_source(method, name)
    if source is None or not _lets_more_in(source):
        return None
    given = {n.id for n in walk(source) if type(n) is f.Name} - {frame.self_name}
    kept: dict[str, f.Expr] = {}
    for s in method.body:
        if type(s) is f.Assign and len(s.targets) == 1 and type(s.value) is f.Name and s.value.id in given:
            target = s.targets[0]
            own = type(target) is f.Attr and place_name(target.base) == frame.self_name
            if own and type(target) is f.Attr and _only_writer(frame, target.attr) is method:
                kept.setdefault(s.value.id, target)
    local = {p.name for p in method.parameters} | {n.id for n in _bound(method)}
    asked = replaced(source, kept, (0, 0, 0, 0))
    return asked if _is_own(frame, asked, local - {frame.self_name}) else None


def _bound(method: FunctionInfo) -> list[f.Name]:
    """The names that a function binds itself."""
    targets = [t for n in walk(method.body) if type(n) is f.Assign for t in n.targets]
    return [n for n in walk(tuple(targets)) if type(n) is f.Name]


def _lets_more_in(test: f.Expr) -> bool:
    return type(test) is f.BoolOp and test.op == "or" and all(type(n) in _PARTS for n in walk(test))


def _is_own(frame: Frame, test: f.Expr, local: set[str]) -> bool:
    """Whether a test says in this method what it says where it is written."""
    for node in walk(test):
        if type(node) is f.Name and (node.id in local or (node.id != frame.self_name and frame.read(node.id))):
            return False
        if type(node) is f.Attr and place_name(node.base) == frame.self_name and not _stays(frame, node.attr):
            return False
    return True


def _stays(frame: Frame, name: str) -> bool:
    """Whether an attribute is what it was in the constructor, or is worked out anew."""
    assert frame.self_class is not None
    method = frame.analysis.names.method(frame.self_class, name)
    return method is not None or _only_writer(frame, name) is not None


def _only_writer(frame: Frame, name: str) -> FunctionInfo | None:
    """The constructor that sets an attribute, where nothing else in its class, above and below it does."""
    info = frame.self_class
    assert info is not None
    analysis = frame.analysis
    classes: tuple[ClassInfo, ...] = (*analysis.names.mro(info), *analysis.hierarchy.below(info))
    found = [m for c in classes for m in c.methods.values() if name in own_names.stored(m)]
    only = found[0] if len(found) == 1 and found[0].name == "__init__" else None
    return only if only is not None and only.module is frame.module else None


def _only_source(method: FunctionInfo, name: str) -> f.Expr | None:
    """What a function assigns to an attribute once, and whatever happens."""

    def sets(node: object) -> bool:
        return type(node) is f.Attr and node.attr == name

    assigned = [s for s in walk(method.body) if type(s) in (f.Assign, f.AugAssign) and any(map(sets, walk(s)))]
    sources = [s.value for s in method.body if type(s) is f.Assign and len(s.targets) == 1 and sets(s.targets[0])]
    writes = [s for s in assigned if type(s) is f.AugAssign or any(map(sets, getattr(s, "targets", ())))]
    return sources[0] if len(sources) == 1 and len(writes) == 1 else None


def _same_self(frame: Frame, method: FunctionInfo) -> bool:
    same = bool(method.parameters) and method.parameters[0].name == frame.self_name
    return same and method.module is frame.module and not method.is_static
