"""Parts of a module that are sharded by their place in it: `fully_shard(self.tower)`, `fully_shard(model.tower)`, and a
layer of them.

Whatever class such a part is of, it belongs to this module, and says nothing of the parts of others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.semantics.domain.text import variables
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo

#: attributes that hold all there is to train, by their names: what is in it may be any of the project's modules
_WHOLE_MODEL = re.compile(r"_?(\w+_)?(model|net|network|module|policy|actor|student|engine)s?")
#: names between what is wrapped and the attribute that it was taken out of
_ROUNDS = 3


def attribute(method: FunctionInfo, expr: f.Expr) -> str:
    """The attribute of the instance that an expression in a method takes something from, over local names too; "" if it
    takes from none, or from one that holds the whole model."""
    name = source(method, expr)
    return "" if _WHOLE_MODEL.fullmatch(name) else name


def source(method: FunctionInfo, expr: f.Expr) -> str:
    """The same, also of one that holds the whole model."""
    if method.is_static or not method.parameters:
        return ""
    own = method.parameters[0].name
    return next((name for base, name in _attributes(expr, method.body, _ROUNDS) if base.id == own), "")


def attributes(body: f.Body, expr: f.Expr) -> list[tuple[f.Name, str]]:
    """The objects and the attributes of these that an expression takes something from, over local names too; but for
    attributes that hold the whole model."""
    return [(base, name) for base, name in _attributes(expr, body, _ROUNDS) if not _WHOLE_MODEL.fullmatch(name)]


def last_names(body: f.Body, expr: f.Expr) -> Iterator[str]:
    """The last attributes on the way to an expression, over local names too: `experts` of `block.moe.experts[0]`, or of
    `expert` in `for expert in block.moe.experts`."""
    for source in (expr, *(_bound(body, expr.id) if type(expr) is f.Name else ())):
        while True:
            if type(source) is f.Subscript:
                source = source.base
            elif type(source) is f.Call and type(source.func) is f.Attr:
                source = source.func.base
            else:
                break
        if type(source) is f.Attr and not _WHOLE_MODEL.fullmatch(source.attr):
            yield source.attr


def _attributes(expr: f.Expr, body: f.Body, rounds: int) -> Iterator[tuple[f.Name, str]]:
    name = ""
    while type(expr) is not f.Name:
        if type(expr) is f.Attr:
            name, expr = expr.attr, expr.base
        elif type(expr) is f.Subscript:
            name, expr = "", expr.base
        elif type(expr) is f.Call and type(expr.func) is f.Attr:
            name, expr = "", expr.func
        else:
            return
    if name:
        yield expr, name
    if rounds:
        for source in _bound(body, expr.id):
            yield from _attributes(source, body, rounds - 1)


def is_set_in(info: ClassInfo, name: str) -> bool:
    """Whether the constructor of a class sets an attribute."""
    method = info.methods.get("__init__")
    own = method.parameters[0].name if method is not None and method.parameters else ""
    return method is not None and any(
        type(target) is f.Attr and target.attr == name and type(target.base) is f.Name and target.base.id == own
        for s in statements(method.body)
        if type(s) is f.Assign
        for target in s.targets
    )


def _bound(body: f.Body, name: str) -> Iterator[f.Expr]:
    """What a local name is set to, or taken out of."""
    for s in statements(body):
        if type(s) is f.Assign and s.value is not None and any(type(t) is f.Name and t.id == name for t in s.targets):
            yield s.value
        elif type(s) is f.For and name in variables(s.target):
            yield _walked(s.iterable)
    for generator in nodes(body, f.Generator):
        if name in variables(generator.target):
            yield _walked(generator.iterable)


def _walked(iterable: f.Expr) -> f.Expr:
    while type(iterable) is f.Call and type(iterable.func) is f.Name and iterable.args:
        iterable = iterable.args[0]  # `enumerate(self.layers)`
    return iterable
