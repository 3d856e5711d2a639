"""Losses that the forward of a module makes of what its own methods say, and of its input once more.

`found = self.compute(x, labels)`, `return self.reduce(found, x)`: a method that finds nothing to learn from may well
say so with a constant. Whether the input has a gradient is up to what is handed both, which has it for that
(`(x * 0).sum()`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.assigned import given
from ferrule_lint.semantics.domain.text import place_name, variables
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame


def is_said_to_forward(frame: Frame, untrained: re.Pattern[str]) -> bool:
    """Whether a method belongs to a module whose forward makes what it returns of what its methods say, and of an input
    beside it; not one that nothing is trained through, by its name."""
    owner, function = frame.self_class, frame.function
    if owner is None or function is None or function.name == "forward":
        return False
    forward = frame.analysis.names.method(owner, "forward")
    if forward is None or not forward.parameters:
        return False
    inputs = {p.name for p in forward.parameters[1:] if not untrained.search(p.name)}
    said, handed = _said_of(frame, forward, owner, inputs)
    made = [s.value for s in statements(forward.body) if type(s) is f.Return]
    return bool(said) and bool(made) and all(_takes_both(value, said, handed) for value in made)


def _said_of(frame: Frame, forward: FunctionInfo, owner: ClassInfo, inputs: set[str]) -> tuple[set[str], set[str]]:
    """The variables that hold what methods of the instance have said of inputs, and these inputs."""
    said: set[str] = set()
    handed: set[str] = set()
    own = forward.parameters[0].name
    for s in statements(forward.body):
        for target, value in given(s):
            if type(value) is not f.Call or type(value.func) is not f.Attr or place_name(value.func.base) != own:
                continue
            if frame.analysis.names.method(owner, value.func.attr) is None:
                continue  # a part of the module
            of = {a.id for a in value.args if type(a) is f.Name} & inputs
            if of and not variables(target) & inputs:
                said |= variables(target)
                handed |= of
    return said, handed


def _takes_both(value: f.Expr | None, said: set[str], handed: set[str]) -> bool:
    """Whether a call in an expression is handed what was said, and an input that this was said of."""
    for call in walk(value) if value is not None else ():
        if type(call) is f.Call:
            names = {a.id for a in (*call.args, *(v for _, v in call.keywords)) if type(a) is f.Name}
            if names & said and names & handed:
                return True
    return False
