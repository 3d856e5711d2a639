"""Calls that are handed a model in evaluation mode: `model.eval()` in front of `validate(model, loader)`.

What such a call runs takes none of the arms that modules take in training only; see `divergence.inference`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk, way_to
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_NAME = frozenset({"eval"})
_MAY_TRAIN = re.compile(r"(?<!pre)train|fit|learn")
#: methods of a module that hand it back as it is, in that respect
_THE_SAME = frozenset({"cuda", "cpu", "to", "half", "float", "bfloat16", "requires_grad_"})


def runs_evaluated(frame: Frame, call: f.Call | None) -> bool:
    """Whether a call is handed a model, or runs one or a method of one, that has been put into evaluation mode on every
    way to it, and that nothing has put back since."""
    if call is None or frame.function is None or not frame.module.mentions_any(_NAME):
        return False
    handed: set[str] | None = None
    for block, index in way_to(frame.function.body, call.pos):
        for i in range(index - 1, -1, -1):
            place = _put_into_evaluation(block[i])
            if not place:
                continue
            if handed is None:
                handed = set(_handed(frame, call))
            # what stands in the rounds of a loop with the call may come before it as well
            if _is_or_has(place, handed) and not _undone(block[i + 1 : index + 1], place):
                return True
    return False


def _put_into_evaluation(s: f.Stmt) -> str:
    """The place of what a statement puts into evaluation mode: `model.eval()`, `model = Model().cuda().eval()`."""
    if type(s) is not f.ExprStmt and type(s) is not f.Assign:
        return ""
    call = s.value
    while type(s) is f.Assign and type(call) is f.Call and last_name(call.func) in _THE_SAME:
        call = call.func.base if type(call.func) is f.Attr else None
    if type(call) is not f.Call or type(call.func) is not f.Attr or call.func.attr != "eval" or call.args:
        return ""
    if type(s) is not f.Assign:
        return place_name(call.func.base)
    return place_name(s.targets[0]) if len(s.targets) == 1 else ""


def _handed(frame: Frame, call: f.Call) -> Iterator[str]:
    func = call.func
    for expr in (func, *call.args, *(value for _, value in call.keywords)):
        for one in (expr, definition(frame, expr)):
            yield place_name(one.base if type(one) is f.Attr and one is func else one)
            yield place_name(one)


def _is_or_has(place: str, handed: set[str]) -> bool:
    return any(one == place or one.startswith(f"{place}.") for one in handed)


def _undone(between: f.Body, place: str) -> bool:
    """Whether something in a block may put it back into training, or puts another one in its place."""
    for node in walk(between):
        if type(node) is f.Call and _MAY_TRAIN.search(last_name(node.func)):
            return True
        if type(node) is f.Assign and any(place_name(t) == place for t in node.targets):
            return True
    return False
