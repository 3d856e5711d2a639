"""Same super: a method that was copied from the base class calls what the base class calls there.

`super().prepare(x)` in a method of `Base` is the method of Base's own base; the same line in a copy of that method,
in a subclass, is `Base.prepare`, which does something else. It becomes `super(Base, self).prepare(x)`.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.agreeing import modules_of
from ferrule_lint.fixes.definitions import classes
from ferrule_lint.fixes.names import below, parameters
from ferrule_lint.fixes.site import Site, callee

FORM = "same-super"


def propose(site: Site) -> Fix | None:
    """The `super()` of the finding's call, with the class and the instance that it had in the base class."""
    own = _super(site.call)
    around = site.tree.nearest(site.function, cst.ClassDef)
    base = around.bases[0].value if around is not None and len(around.bases) == 1 else None
    if own is None or not isinstance(base, cst.Name) or site.tree.function(site.function) is not None:
        return None
    if not site.finding.events or not all(event.through for event in site.finding.events):
        return None
    defined = _base(site, base.value)
    if defined is None or "self" not in parameters(site.function):
        return None
    methods = {one.name.value: one for one in defined.body.body if isinstance(one, cst.FunctionDef)}
    copied = methods.get(site.function.name.value)
    called = callee(site.call)
    if copied is None or called not in methods:
        return None
    text = cst.Module([]).code_for_node(site.call)
    same = [one for one in below(copied.body) if isinstance(one, cst.Call) and callee(one) == called]
    if text not in [cst.Module([]).code_for_node(one) for one in same if _super(one) is not None]:
        return None
    message = (
        f"`{called}` is that of the base of `{base.value}`, as in the method of `{base.value}` that this one overrides;"
        " assumes that the line was taken from there"
    )
    return Fix(FORM, message, Safety.UNSAFE, (Edit(site.tree.span(own), f"super({base.value}, self)"),))


def _super(call: cst.Call) -> cst.Call | None:
    """The `super()` whose method a call is of."""
    receiver = call.func.value if isinstance(call.func, cst.Attribute) else None
    if isinstance(receiver, cst.Call) and callee(receiver) == "super" and isinstance(receiver.func, cst.Name):
        return None if receiver.args else receiver
    return None


def _base(site: Site, name: str) -> cst.ClassDef | None:
    """The definition of a class of this file, or one that it imports from the project; None if it cannot be told."""
    found = []
    for path, called in ((site.finding.path, name), *modules_of(site, name)):
        found += [one for one in classes(site.read, path, called)]
    return found[0] if len(found) == 1 else None
