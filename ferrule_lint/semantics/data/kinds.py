"""Tests that ask of a tensor what kind of tensor it is: its element type, how many dimensions it has, whether it is
trained. That is decided by who makes it, and not by what is in it: `[t for t in ts if torch.is_floating_point(t)]`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.domain.text import shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_QUESTION = re.compile(
    r"(torch\.)?is_(floating_point|complex|tensor)\([\w.]+\)"
    r"|[\w.]+\.(is_floating_point|is_complex)\(\)"
    r"|[\w.]+\.(dim|ndimension)\(\) [=!<>]=? \d+"
    r"|[\w.]+\.ndim [=!<>]=? \d+"
    r"|[\w.]+\.(dtype( [=!]= [\w.]+|\.is_floating_point|\.is_complex)|requires_grad|is_cuda|is_sparse|is_meta)"
)
#: the version of a place, as the keys of tests have it
_VERSION = re.compile(r"#\d+")


def is_question(key: str) -> bool:
    """Whether the key of a test is such a question."""
    return _QUESTION.fullmatch(_VERSION.sub("", key)) is not None


def asks(frame: Frame, test: f.Expr) -> bool:
    """Whether a test is made of such questions alone, also where a function of the project asks them: all that it does
    is to hand back the answer."""
    if type(test) is f.BoolOp:
        return all(asks(frame, value) for value in test.values)
    if type(test) is f.Not:
        return asks(frame, test.operand)
    if type(test) is f.Call and len(test.args) == 1 and type(target := frame.ask(test.func).target) is FunctionTarget:
        body = list(statements(target.function.body))
        asked = body[0] if len(body) == 1 else None
        return type(asked) is f.Return and asked.value is not None and _asks_itself(asked.value)
    return is_question(shown(test))


def _asks_itself(value: f.Expr) -> bool:
    if type(value) is f.BoolOp:
        return all(map(_asks_itself, value.values))
    return is_question(shown(value))
