"""What an object holds beside the modules that its class has wrapped: `self.net = accelerator.prepare(self.net, ...)`.

Of a module whose class cannot be told any may be the one that is wrapped. But where methods of the object's class wrap
modules, and nothing else in the project wraps any of unknown class, they say which: the encoders that a trainer of a
diffusion model has beside it, and never hands to what wraps, are whole.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.text import place_name, shown
from ferrule_lint.semantics.project.gathering import is_no_module
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo

#: names between what is wrapped and the attributes that it is made of
_ROUNDS = 3


def is_beside(analysis: Analysis, owner: ClassInfo, name: str) -> bool:
    """Whether an attribute holds none of the modules of unknown class that are wrapped: all of these are other
    attributes of the same object, or made of such."""
    sites = [site for site in analysis.sharding.gather().generic_sites if not is_test(site.path)]
    classes = list(analysis.names.mro(owner))
    methods = {(m.module.path, m.qualname): m for c in classes for m in c.methods.values()}
    wrapped: set[str] = set()
    for site in sites:
        method = methods.get((site.path, site.owner))
        calls = [] if method is None else [call for call in method.calls if shown(call) == site.text]
        for call in calls:
            found = _attributes_given(analysis, method, call)
            if not found:
                return False
            wrapped |= found
        if not calls:
            return False
    if not sites or name in wrapped:
        return False
    # `self.encoder = self.net.encoder` is a part of what is wrapped
    return not any(
        attribute in wrapped
        for method in methods.values()
        if method.parameters
        for value in analysis.bodies.assigned(method.body, f"{method.parameters[0].name}.{name}")
        for attribute in _own(analysis, method, value)
    )


def _attributes_given(analysis: Analysis, method: FunctionInfo | None, call: f.Call) -> set[str]:
    """The attributes that the modules are, or are made of, which a call in a method wraps; none if one of them is of no
    attribute."""
    if method is None or method.is_static or not method.parameters:
        return set()
    given = [expr for expr in (*call.args, *(v for _, v in call.keywords)) if not is_no_module(method, expr)]
    found = [set(_own(analysis, method, expr, call)) for expr in given]
    return set().union(*found) if all(found) else set()


def _own(
    analysis: Analysis, method: FunctionInfo, expr: f.Expr, but: f.Call | None = None, rounds: int = _ROUNDS
) -> Iterator[str]:
    """The attributes of the instance that an expression mentions, also over local names; `but` for what the call that
    is asked about hands back."""
    me = method.parameters[0].name
    for node in walk((expr,)):
        if type(node) is f.Attr and place_name(node.base) == me:
            yield node.attr
        elif type(node) is f.Name and node.id != me and rounds:
            for value in analysis.bodies.assigned(method.body, node.id):
                if value is not but:
                    yield from _own(analysis, method, value, but, rounds - 1)
