"""What a test says of the places in it: where `x is not None` holds, `x` is there on every rank that runs it."""

from __future__ import annotations

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.walk.frame import Frame

#: place -> (value before, value in the arm)
Narrowed = dict[str, tuple[Value, Value]]


def narrow(frame: Frame, test: f.Expr, outcome: bool) -> Narrowed:
    """Let the environment know what `test` being `outcome` says; the result is for `widen`."""
    changed: Narrowed = {}
    for place in _there(test, outcome):
        value = frame.env.get(place)
        if value is not None and not value.there and value.const != "None" and place not in changed:
            changed[place] = (value, value._replace(there=True, presence=None))
            frame.env[place] = changed[place][1]
    return changed


def widen(
    env: dict[str, Value], narrowed: Narrowed, other: dict[str, Value] | None = None, there: Narrowed | None = None
) -> None:
    """Take back in an environment what was narrowed and not assigned since; `other` is that of the other arm.

    Where the other arm assigned the place, what is known of it in this one lives on: `if x is None: x = default`.
    """
    for place, (before, inside) in narrowed.items():
        same = other is None or any(other.get(place) is v for v in (before, *(there or {}).get(place, ())))
        if same and env.get(place) is inside:
            env[place] = before


def _there(test: f.Expr, outcome: bool) -> list[str]:
    """The places that are not None if `test` is `outcome`."""
    if type(test) is f.Not:
        return _there(test.operand, not outcome)
    if type(test) is f.BoolOp:
        if (test.op == "and") is outcome:
            return [p for value in test.values for p in _there(value, outcome)]
        return []
    if type(test) is f.Compare and len(test.ops) == 1:
        is_none = test.rights[0] == f.Const("None")
        if is_none and test.ops[0] in (("is not", "!=") if outcome else ("is", "==")):
            return _places(test.left)
        return []
    if type(test) is f.Call:
        return _places(test.args[0]) if outcome and last_name(test.func) == "isinstance" and test.args else []
    return _places(test) if outcome else []


def _places(expr: f.Expr) -> list[str]:
    place = place_name(expr)
    return [place] if place else []
