"""Parts that a module shards in a method of its own: `fully_shard(self.tower)`, and a layer of it.

Whatever class such a part is of, it belongs to this module, and says nothing of the parts of others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import variables
from ferrule_lint.semantics.project.entities import FunctionInfo

#: attributes that hold all there is to train, by their names: what is in it may be any of the project's modules
_WHOLE_MODEL = re.compile(r"_?(\w+_)?(model|net|network|module|policy|actor|student|engine)s?")
#: names between what is wrapped and the attribute that it was taken out of
_ROUNDS = 3


def attribute(method: FunctionInfo, expr: f.Expr) -> str:
    """The attribute of the instance that an expression in a method takes something from, over local names too; "" if it
    takes from none, or from one that holds the whole model."""
    if method.is_static or not method.parameters:
        return ""
    name = next(_attributes(expr, method, method.parameters[0].name, _ROUNDS), "")
    return "" if _WHOLE_MODEL.fullmatch(name) else name


def _attributes(expr: f.Expr, method: FunctionInfo, own: str, rounds: int) -> Iterator[str]:
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
    if expr.id == own and name:
        yield name
    elif expr.id != own and rounds:
        for source in _bound(method.body, expr.id):
            yield from _attributes(source, method, own, rounds - 1)


def _bound(body: f.Body, name: str) -> Iterator[f.Expr]:
    """What a local name is set to, or taken out of."""
    for s in statements(body):
        if type(s) is f.Assign and s.value is not None and any(type(t) is f.Name and t.id == name for t in s.targets):
            yield s.value
        elif type(s) is f.For and name in variables(s.target):
            walked = s.iterable
            while type(walked) is f.Call and type(walked.func) is f.Name and walked.args:
                walked = walked.args[0]  # `enumerate(self.layers)`
            yield walked
