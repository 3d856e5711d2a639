"""Texts among a rank's own data: what is asked of one, and into how many pieces it is cut.

https://docs.python.org/3/library/stdtypes.html#string-methods
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data.fields import read_from
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import shown
from ferrule_lint.semantics.walk.truth import observe

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

_ASKS = frozenset("startswith endswith isdigit isnumeric isdecimal isalpha isalnum isspace".split())
_CUTS = frozenset("split rsplit splitlines".split())


def method(frame: Frame, name: str, arguments: Arguments, receiver: Value) -> Value | None:
    """`batch["text"][0].startswith("a")`, `text.split()`; None if it is no method of a text that is local."""
    if frame.light or (name not in _ASKS and name not in _CUTS):
        return None
    call = arguments.expr
    text = call.func.base if type(call.func) is f.Attr else None
    if name in _ASKS and (own := receiver.divergence) is not None and own.kind != "data":
        # of a role, a host's name: what attributes and entries hold may have been set again
        held = type(text) is f.Name or (type(text) is f.Call and own.kind == "host")
        return Value(divergence=own) if held else None
    if receiver.data is None or text is None or read_from(frame, text) is None:
        return None
    if name in _ASKS:
        return observe(frame, receiver, call.pos, shown(call))
    if call.args and not _is_text(call.args[0]):
        return None  # a tensor is cut into pieces of a size
    note = f"`{shown(call)}` has as many items as the rank's own text"
    pieces = receiver.data.then(frame.step("flow", call.pos, note)).at_most(Confidence.MEDIUM)
    return Value(data=receiver.data, length=pieces, there=True)


def _is_text(expr: f.Expr) -> bool:
    return type(expr) is f.Const and expr.text[:1] in "'\""
