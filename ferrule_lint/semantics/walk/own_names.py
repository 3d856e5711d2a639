"""What the text of a method says of its own instance: the attributes that it sets, the methods that it calls."""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, under_tests, walk
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.project.entities import FunctionInfo


def called(method: FunctionInfo) -> frozenset[str]:
    """The own methods that a method calls under a test, or behind one that leaves, by statements of their own, and the
    methods of its attributes: `update` of `self.update()`, `meter.update` of `self.meter.update()`. With a dot in front
    those of attributes that it gives something, whether under a test or not: `.meter.update` of `self.meter.update(x)`.
    """
    own = method.parameters[0].name if method.parameters and not method.is_static else ""
    body = method.body  # whatever it says, there is something that the answer rests on
    found: set[str] = set()
    for s, tests in under_tests(body) if own else ():
        call = s.value if type(s) is f.ExprStmt else None
        place = place_name(call.func) if type(call) is f.Call else ""
        if place.startswith(f"{own}.") and place.count(".") <= 2:
            name = place.partition(".")[2]
            if tests:
                found.add(name)
            if "." in name and type(call) is f.Call and call.args:
                found.add(f".{name}")
    return frozenset(found)


def stored(method: FunctionInfo) -> frozenset[str]:
    """Names of attributes that a method assigns on its first parameter, or fills in place."""
    out: set[str] = set()
    self_name = method.parameters[0].name if method.parameters else ""
    body = method.body  # as above
    for s in statements(body) if self_name else ():
        for target in s.targets if type(s) is f.Assign else (s.target,) if type(s) is f.AugAssign else ():
            for t in target.elements if type(target) is f.Sequence else (target,):
                if type(t) is f.Subscript:
                    t = t.base
                if type(t) is f.Attr and type(t.base) is f.Name and t.base.id == self_name:
                    out.add(t.attr)
                elif (place := place_name(t)).startswith(f"{self_name}.") and place.count(".") == 2:
                    out.add(place.partition(".")[2])
    for call in method.calls if self_name else ():
        if type(call.func) is f.Attr:
            base = call.func.base
            if type(base) is f.Subscript:  # `self.sums[name].append(x)`
                base = base.base
            if type(base) is f.Attr and type(base.base) is f.Name and base.base.id == self_name:
                out.add(base.attr)
    return frozenset(out)


def sets_anew(constructor: FunctionInfo, name: str) -> bool:
    """Whether a constructor, once it has called that of its base, gives an attribute another value in any case: what
    the base has put there is gone. `self.model = wrap(self.model)` keeps it."""
    own = constructor.parameters[0].name if constructor.parameters else ""
    place, behind = f"{own}.{name}", False
    for s in constructor.body:
        if type(s) is f.ExprStmt and type(s.value) is f.Call and last_name(s.value.func) == "__init__":
            behind = True
        elif behind and type(s) is f.Assign and s.value is not None and place in map(place_name, s.targets):
            return not any(type(node) is f.Attr and place_name(node) == place for node in walk(s.value))
    return False
