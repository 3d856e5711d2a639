"""Samplers that a library makes even: `DistributedSampler(dataset)`, and a `BatchSampler` of one.

They deal out as many items to each rank, or batches, so whoever walks one takes as many rounds on all of them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.where_given import Scope, given, scope_of
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.project.entities import External

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

_EVEN = re.compile(r"Distributed(Batch)?Sampler$")
_BATCHES = "BatchSampler"
_DEEPEST = 3


def is_walked(frame: Frame, walked: f.Expr) -> bool:
    """Whether a loop walks such a sampler, whatever it may be made of otherwise."""
    while type(walked) is f.Call and walked.args and last_name(walked.func) in ("enumerate", "tqdm", "iter"):
        walked = walked.args[0]
    return _is_even(frame, scope_of(frame), walked, _DEEPEST)


def is_given(frame: Frame, scope: Scope, expr: f.Expr) -> bool:
    """Whether an expression of the body that is walked is such a sampler."""
    return _is_even(frame, scope, expr, _DEEPEST)


def is_made(frame: Frame, call: f.Call, module: ModuleInfo) -> bool:
    """Whether a call in some module makes such a sampler."""
    return _EVEN.search(last_name(call.func)) is not None and _is_library(frame, call, module)


def _is_library(frame: Frame, call: f.Call, module: ModuleInfo) -> bool:
    return isinstance(frame.analysis.names.resolve(call.func, module), External)


def _is_even(frame: Frame, scope: Scope, expr: f.Expr, depth: int) -> bool:
    if type(expr) is f.Call:
        if not _is_library(frame, expr, frame.module):
            return False
        name, keywords = last_name(expr.func), dict(expr.keywords)
        inner = expr.args[0] if expr.args else keywords.get("sampler")
        of_one = name == _BATCHES and inner is not None and _is_even(frame, scope, inner, depth)
        return of_one or _EVEN.search(name) is not None
    place = place_name(expr)
    made = list(given(frame, scope, place)) if place and depth else []
    return bool(made) and all(m.item is None and _is_even(frame, m.scope, m.value, depth - 1) for m in made)
