"""Counters that a nested function steps: `def add(): nonlocal added; added += 1`, called in a loop around it.

At the call the variable is stepped as if that stood there, under whatever tests lead to the call. Only a step by a
number that is written out counts, and only one that each call takes.
"""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.project.entities import FunctionInfo
from ferrule_lint.semantics.project.signals import shared_names
from ferrule_lint.semantics.walk.frame import Frame


def after_call(frame: Frame, function: FunctionInfo) -> None:
    """At a call of a function that may be nested in the one that is walked."""
    if frame.function is None or function.parent is None or function.parent != frame.function.qualname:
        return
    if frame.module is not function.module or not (shared := shared_names(function)):
        return
    for s in function.body:
        if type(s) is f.AugAssign and type(s.target) is f.Name and s.target.id in shared and type(s.value) is f.Const:
            frame.executors[f.AugAssign](frame, s)
