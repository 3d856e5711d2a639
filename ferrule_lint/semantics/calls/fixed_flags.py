"""Flags that a constructor call fixes for good: `loader = Loader(config)`, where `__init__(self, config, shared=False)`
keeps `self.shared = shared`, and methods of the class ask for it.

What a method issues under such a flag is not issued by that object: `if rank == 0: Loader(config).load()` meets nobody
if the loader only reduces where it is shared. A flag counts as long as the constructor, or that of a base which it
calls, sets it in any case and nothing else in the class does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import is_open, last_name, place_name
from ferrule_lint.semantics.project.options import passed
from ferrule_lint.semantics.walk import own_names

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

_FLAGS = ("None", "True", "False")
#: constructors of bases that hand a flag on to one another
_DEEPEST = 3


def of_call(analysis: Analysis, info: ClassInfo, bound: Mapping[str, Value]) -> tuple[tuple[str, Value], ...]:
    """The flags of the instance that a call makes: (attribute, constant); `bound`: what the constructor is passed."""
    kept = analysis.kept_flags.find(info.id, lambda: _kept(analysis, info), {})
    found: list[tuple[str, Value]] = []
    for name, source in kept.items():
        value = bound.get(source)
        const = source if source in _FLAGS else value.const if value is not None and _is_fixed(value) else None
        if const in _FLAGS:
            found.append((name, Value(uniform=True, const=const)))
    return tuple(found)


def of_receiver(frame: Frame, receiver: Value, call: f.Call) -> Value:
    """An object whose method is called, without the flags that this function has set to something else."""
    place = place_name(call.func.base) if type(call.func) is f.Attr else ""
    if not place or not receiver.fields:
        return receiver
    stays: list[tuple[str, Value]] = []
    for name, value in receiver.fields:
        known = frame.read(f"{place}.{name}")
        if known is None or known.const == value.const:
            stays.append((name, value))
    return receiver if len(stays) == len(receiver.fields) else receiver._replace(fields=tuple(stays))


def _is_fixed(value: Value) -> bool:
    return value.divergence is None and not value.deps


def _kept(analysis: Analysis, info: ClassInfo) -> dict[str, str]:
    """The flags that methods of a class ask for: attribute -> the parameter of its constructor that it holds, or the
    constant that this hands on."""
    names = analysis.names
    constructor = names.method(info, "__init__")
    if constructor is None:
        return {}
    found = _set_in(analysis, info, constructor, _DEEPEST)
    others = [m for c in names.mro(info) for m in c.methods.values() if m.name != "__init__"] if found else []
    asked: set[str] = set()
    for method in others:
        for name in own_names.stored(method):
            found.pop(name, None)
        asked |= _asked_in(method)
    return {name: source for name, source in sorted(found.items()) if name in asked}


def _set_in(analysis: Analysis, info: ClassInfo, constructor: FunctionInfo, depth: int) -> dict[str, str]:
    """What a constructor sets in any case, itself or by that of a base."""
    own = constructor.parameters[0].name if constructor.parameters else ""
    body, names = constructor.body, analysis.names
    given = {p.name for p in constructor.parameters[1:] if p.kind in ("normal", "keyword")}
    given -= {t.id for s in statements(body) if type(s) is f.Assign for t in s.targets if type(t) is f.Name}
    found: dict[str, str] = {}
    for s in body:
        call = s.value if type(s) is f.ExprStmt else None
        if type(call) is f.Call and _of_super(call) and depth:
            owner = constructor.module.classes.get(constructor.owner or "")
            base = names.method_after(info, owner, "__init__") if owner is not None else None
            below = _set_in(analysis, info, base, depth - 1) if base is not None else {}
            for name, source in below.items():
                handed = _handed_on(base, call, source, given) if base is not None else None
                if handed is not None:
                    found[name] = handed
        elif type(s) is f.Assign and s.value is not None:
            value = s.value
            for target in s.targets:
                if type(target) is not f.Attr or place_name(target.base) != own:
                    continue
                if type(value) is f.Name and value.id in given:
                    found[target.attr] = value.id
    return {name: source for name, source in found.items() if _times(constructor, own, name) <= 1}


def _handed_on(base: FunctionInfo, call: f.Call, source: str, given: set[str]) -> str | None:
    """What a constructor hands on for a parameter of its base's: a parameter of its own, or a constant."""
    if source in _FLAGS:
        return source
    if is_open(call):
        return None
    value = passed(call, base, True, source)
    if value is None:
        value = next((p.default for p in base.parameters if p.name == source), None)
    if type(value) is f.Name and value.id in given:
        return value.id
    return value.text if type(value) is f.Const and value.text in _FLAGS else None


def _of_super(call: f.Call) -> bool:
    """`super().__init__(...)`"""
    func = call.func
    if type(func) is not f.Attr or func.attr != "__init__" or type(func.base) is not f.Call:
        return False
    return last_name(func.base.func) == "super"


def _times(constructor: FunctionInfo, own: str, name: str) -> int:
    """How often a constructor sets an attribute."""
    place = f"{own}.{name}"
    assigned = [t for s in statements(constructor.body) if type(s) is f.Assign for t in s.targets]
    steps = [s.target for s in statements(constructor.body) if type(s) is f.AugAssign]
    return sum(place_name(n) == place for t in (*assigned, *steps) for n in walk(t) if type(n) is f.Attr)


def _asked_in(method: FunctionInfo) -> set[str]:
    """The attributes of its instance that the tests of a method ask for."""
    own = method.parameters[0].name if method.parameters and not method.is_static else ""
    tests = [n.test for n in walk(method.body) if type(n) is f.If or type(n) is f.IfExp] if own else []
    return {n.attr for test in tests for n in walk(test) if type(n) is f.Attr and place_name(n.base) == own}
