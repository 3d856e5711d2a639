"""Samplers that a library makes even: `DistributedSampler(dataset)`, and a `BatchSampler` of one.

They deal out as many items to each rank, or batches, so whoever walks one takes as many rounds on all of them. So does
who inherits from one, and goes by what it deals out (`super().__iter__()`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.data.where_given import Scope, given, scope_of
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.project.entities import ClassInfo, External

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

_EVEN = re.compile(r"Distributed(Batch)?Sampler$")
_BATCHES = "BatchSampler"
_OF_BATCHES = re.compile(r"(^|\.)BatchSampler$")
_DEEPEST = 3


def is_walked(frame: Frame, walked: f.Expr) -> bool:
    """Whether a loop walks such a sampler, whatever it may be made of otherwise."""
    while type(walked) is f.Call and walked.args and last_name(walked.func) in ("enumerate", "tqdm", "iter"):
        walked = walked.args[0]
    return _is_inherited(frame, walked) or _is_even(frame, scope_of(frame), walked, _DEEPEST)


def is_given(frame: Frame, scope: Scope, expr: f.Expr) -> bool:
    """Whether an expression of the body that is walked is such a sampler."""
    return _is_even(frame, scope, expr, _DEEPEST)


def is_made(frame: Frame, call: f.Call, module: ModuleInfo) -> bool:
    """Whether a call in some module makes such a sampler."""
    return _EVEN.search(last_name(call.func)) is not None and _is_library(frame, call, module)


def _is_library(frame: Frame, call: f.Call, module: ModuleInfo) -> bool:
    return isinstance(frame.analysis.names.resolve(call.func, module), External)


def _is_inherited(frame: Frame, walked: f.Expr) -> bool:
    """Whether a loop walks what a library's class deals out that this one inherits from: `super().__iter__()` of an
    even sampler, or of batches of one that the constructor hands on."""
    function, info = frame.function, frame.self_class
    owner = function.module.classes.get(function.owner or "") if function is not None else None
    if info is None or owner is None or not _of_super(walked, "__iter__"):
        return False
    names = frame.analysis.names
    if names.method_after(info, owner, "__iter__") is not None:
        return False
    if _inherits(frame, info, _EVEN):
        return True
    if not _inherits(frame, info, _OF_BATCHES):
        return False
    constructor = names.method(info, "__init__")
    if constructor is None or constructor.owner != owner.qualname or not constructor.parameters:
        return False
    scope = Scope(constructor.body, constructor.parameters[0].name)
    made = [call for call in constructor.calls if _of_super(call, "__init__")]
    inner = next((_sampler_in(call) for call in made), None)
    return len(made) == 1 and inner is not None and _is_even(frame, scope, inner, _DEEPEST)


def _of_super(expr: f.Expr, name: str) -> bool:
    """`super().name(...)`"""
    func = expr.func if type(expr) is f.Call else None
    if type(func) is not f.Attr or func.attr != name:
        return False
    return type(func.base) is f.Call and last_name(func.base.func) == "super"


def _inherits(frame: Frame, info: ClassInfo, pattern: re.Pattern[str]) -> bool:
    return any(pattern.search(base) for base in frame.analysis.names.external_bases(info))


def _sampler_in(call: f.Call) -> f.Expr | None:
    """The sampler whose items a `BatchSampler` is made to put together."""
    return call.args[0] if call.args else dict(call.keywords).get("sampler")


def _is_heir(frame: Frame, call: f.Call) -> bool:
    """Whether a call makes a class of the project that deals out what an even sampler does from which it inherits: its
    own `__iter__` goes by that one and does not ask for the rank, nor is its length another one."""
    info = frame.analysis.names.resolve(call.func, frame.module)
    if not isinstance(info, ClassInfo) or not _inherits(frame, info, _EVEN):
        return False
    names = frame.analysis.names
    dealt, length = names.method(info, "__iter__"), names.method(info, "__len__")
    if length is not None:
        return False
    if dealt is None:
        return True
    ranks = any(type(n) is f.Attr and n.attr in ("rank", "num_replicas") for n in walk(dealt.body))
    return not ranks and any(_of_super(c, "__iter__") for c in dealt.calls)


def _is_even(frame: Frame, scope: Scope, expr: f.Expr, depth: int) -> bool:
    if type(expr) is f.Call:
        if not _is_library(frame, expr, frame.module):
            return _is_heir(frame, expr)
        name, inner = last_name(expr.func), _sampler_in(expr)
        of_one = name == _BATCHES and inner is not None and _is_even(frame, scope, inner, depth)
        return of_one or _EVEN.search(name) is not None
    place = place_name(expr)
    made = list(given(frame, scope, place)) if place and depth else []
    return bool(made) and all(m.item is None and _is_even(frame, m.scope, m.value, depth - 1) for m in made)
