"""Optional inputs that every caller in the project gives: `model(ids, pixel_values=batch["pixel_values"].to(dtype))`.

A module that was written for others asks whether it has been given images. Where whoever runs it here works with them
before he passes them on, and nobody asks whether there are any, the batches of all ranks have them. And where a call
leaves an input out in so many words (`model(None, text)`), beside others that give one in its place (`model(image,
text)`), the calls say what there is, and all ranks make the same.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.plain import plain
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.text import is_key, last_name
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo

#: what makes the batch anew, or moves or cuts it: nothing of it can be done to None
_OF_TENSORS = frozenset("to cuda float half bfloat16 type reshape view flatten squeeze unsqueeze repeat expand".split())
_NONE = f.Const("None")
#: what is called with all that a batch has: `self.model(**batch)`
_MODELS = re.compile(r"(^|_)(model|module|policy|actor|net|network|engine)$")


def is_always_given(analysis: Analysis, name: str) -> bool:
    """Whether all calls that pass an input by its name surely pass something, and no code asks whether it is there but
    that to which it is passed."""
    return analysis.always_given.find(
        name, lambda: _is_always_given(analysis, name) or _is_said_by_calls(analysis, name), False
    )


def _is_always_given(analysis: Analysis, name: str) -> bool:
    sure = False
    for module in analysis.names.mentioning(name):
        if is_test(module.path):
            continue
        if any(_asks(node, name, of_names=False) for node in walk(module.body)):
            return False
        for function in module.functions.values():
            told = _tells(function, name)
            if told is False:
                return False
            sure = sure or told is True
    return sure


def _is_said_by_calls(analysis: Analysis, name: str) -> bool:
    """Whether models are called both with a None that is written in the place of an input, and with something else."""
    modules = [module for module in analysis.names.mentioning(name) if not is_test(module.path)]
    forwards = [fn for module in modules for fn in module.functions.values() if fn.name == "forward"]
    places = {i for fn in forwards for i, p in enumerate(fn.parameters[1:]) if p.name == name}
    if not places:
        return False
    files = [module for module in analysis.names.mentioning("model") if not is_test(module.path)]
    calls = [call for module in files for _, call in module.calls_named("model")]
    passed = [call.args[i] for call in calls for i in places if len(call.args) > i]
    return _NONE in passed and any(type(value) is f.Name and value.id == name for value in passed)


def _tells(function: FunctionInfo, name: str) -> bool | None:
    """Whether a function surely gives the input where it passes it by name; None: that is not to be seen, or it has
    been given it itself. False, too, where it passes what a batch has as a whole."""
    own = any(parameter.name == name for parameter in function.parameters)
    if not own and _asks_anywhere(function, name):
        return False
    told: bool | None = None
    for call in function.calls:
        for key, value in call.keywords:
            if key is None and not own and _MODELS.search(last_name(call.func)):
                return False
            if key == name:
                if own and type(value) is f.Name and value.id == name:
                    continue  # what it has been given itself
                given = _is_there(function, value)
                if given is False:
                    return False
                told = told or given
    return told


def _is_there(function: FunctionInfo, value: f.Expr, depth: int = 0) -> bool | None:
    """Whether an expression is surely something; None for an entry of a batch as it stands, which has to be there."""
    if type(value) is f.Subscript:
        return None if type(value.index) is f.Const and value.index.text[:1] in "'\"" else True
    if type(value) is f.Call and type(value.func) is f.Attr:
        known = value.func.attr in _OF_TENSORS or (type(value.func.base) is f.Name and value.func.base.id == "torch")
        return bool(known)
    if type(value) is not f.Name or depth:
        return False
    sources = [n.value for n in walk(function.body) if type(n) is f.Assign and _binds(n, value.id)]
    if not sources or any(source is None for source in sources):
        return False
    told = [_is_there(function, source, depth + 1) for source in sources if source is not None]
    return False if False in told else (True if True in told else None)


def _binds(statement: f.Assign, name: str) -> bool:
    return any(type(t) is f.Name and t.id == name for t in statement.targets)


def _asks_anywhere(function: FunctionInfo, name: str) -> bool:
    return any(_asks(node, name, of_names=True) for node in walk(plain(function.body)))


def _asks(node: object, name: str, *, of_names: bool) -> bool:
    """Whether code asks if an input is there: `x is None`, `"x" in batch`, `batch.get("x")`, `if x:`."""
    if type(node) is f.Call:
        return last_name(node.func) in ("get", "pop") and bool(node.args) and is_key(node.args[0], name)
    if type(node) is f.If or type(node) is f.IfExp:
        return of_names and type(node.test) is f.Name and node.test.id == name
    if type(node) is not f.Compare or len(node.ops) != 1:
        return False
    if node.ops[0] in ("in", "not in"):
        return is_key(node.left, name)
    absent = node.ops[0] in ("is", "is not") and node.rights == (f.Const("None"),)
    if not absent:
        return False
    if type(node.left) is f.Subscript:
        return is_key(node.left.index, name)
    return of_names and type(node.left) is f.Name and node.left.id == name
