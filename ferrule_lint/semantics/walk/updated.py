"""`found.update(a=x)`, `found.update({"a": x})`: entries under keys that are written out are put in one by one, as by
`found["a"] = x`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.ordering import is_dict
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.walk import given
from ferrule_lint.semantics.walk.stored import store_item

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame


def with_entries(frame: Frame, base: f.Expr, known: Value, arguments: Arguments) -> bool:
    """Whether that is what a call of `update` on `base` does, which has been done then."""
    pairs = _written(arguments)
    # what is given by name is a measurement where `base` is a meter, and an entry only of a dict
    if arguments.keywords and not (known.container or known.slots is not None or is_dict(frame, base)):
        _may_leave(frame, place_name(base), pairs)
        return False
    for key, value in pairs:
        store_item(frame, f.Subscript(base, key, arguments.expr.pos), frame.ask(value))
    return bool(pairs)


def _may_leave(frame: Frame, place: str, pairs: list[tuple[f.Const, f.Expr]]) -> None:
    """What a function leaves in a parameter, for callers that know it for a dict."""
    if not frame.light and given.stands_for_passed(frame, place):
        for key, value in pairs:
            frame.leave(f"{place}[{key.text}]", frame.ask(value))


def _written(arguments: Arguments) -> list[tuple[f.Const, f.Expr]]:
    """The keys that a call gives, each with its value, if all of them are written out."""
    call = arguments.expr
    if arguments.is_open or len(call.args) > 1:
        return []
    pairs = [(f.Const(repr(name)), value) for name, value in call.keywords]
    for display in call.args:
        if type(display) is not f.DictDisplay:
            return []
        for key, value in zip(display.keys, display.values, strict=True):
            if type(key) is not f.Const:
                return []
            pairs.append((key, value))
    return pairs
