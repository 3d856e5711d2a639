"""What an assertion fixes: `assert length == config.length` leaves on no rank another length than the setting's.

A rank on which it does not hold fails at once, whatever the others do, so what follows is run with the one value. The
same where a test ends in a `raise`, and where ranks compare what they have sent to each other: `assert all(own == other
for other in gathered)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name, position
from ferrule_lint.semantics.walk.frame import Frame

#: calls that hand on a number as it is
_AS_IT_IS = frozenset("item int float cpu tolist".split())


def hold(frame: Frame, test: f.Expr, outcome: bool = True) -> None:
    """Let places have the values that they have wherever a test comes out so."""
    if type(test) is f.Not:
        hold(frame, test.operand, not outcome)
    elif type(test) is f.BoolOp:
        for part in test.values if test.op == ("and" if outcome else "or") else ():
            hold(frame, part, outcome)
    elif type(test) is f.Compare and test.ops in ((("==",),) if outcome else (("!=",), (">",))):
        own, other = test.left, test.rights[0]
        if other == f.Const("1") and (several := _kinds_of(own)) is not None:
            _all_alike(frame, several)
        elif test.ops != (">",):
            _equal(frame, own, other)
    elif type(test) is f.Call and last_name(test.func) == ("all" if outcome else "any"):
        _each(frame, test, "==" if outcome else "!=")


def _equal(frame: Frame, left: f.Expr, right: f.Expr) -> None:
    for own, other in ((left, right), (right, left)):
        place = place_name(_plain(own))
        if _is_own(frame, place) and (fixed := _same_everywhere(frame, _plain(other))) is not None:
            frame.env[place] = fixed
            return


def _each(frame: Frame, call: f.Call, operator: str) -> None:
    """`all(own == other for other in gathered)`, `torch.all(own == gathered)`, `(own == gathered).all()`."""
    given = call.args[0] if call.args else call.func.base if type(call.func) is f.Attr else None
    compared, gathered, target = given, None, ""
    if type(given) is f.Comprehension and len(given.generators) == 1 and len(given.elements) == 1:
        (generator,), (compared,) = given.generators, given.elements
        if generator.conditions or type(generator.target) is not f.Name:
            return
        gathered, target = generator.iterable, generator.target.id
    if type(compared) is not f.Compare or compared.ops != (operator,):
        return
    sides = (_plain(compared.left), _plain(compared.rights[0]))
    for own, other in (sides, sides[::-1]):
        if gathered is not None:
            if place_name(other) != target:
                continue
            other = gathered
        if type(own) is f.Subscript and place_name(own.base) == place_name(_plain(other)) != "":
            _all_alike(frame, other)  # `all(n == sizes[0] for n in sizes)`
        elif (fixed := _agreed(frame, other)) is not None and _is_own(frame, place_name(own)):
            frame.env[place_name(own)] = fixed


def _kinds_of(expr: f.Expr) -> f.Expr | None:
    """`gathered` of `len(set(gathered))`."""
    for name in ("len", "set"):
        if type(expr) is not f.Call or last_name(expr.func) != name or len(expr.args) != 1:
            return None
        expr = expr.args[0]
    return expr


def _all_alike(frame: Frame, gathered: f.Expr) -> None:
    """Let what the ranks have sent to each other be the same: they have looked whether it is."""
    fixed = _agreed(frame, gathered)
    if fixed is None or frame.function is None:
        return
    for own in _sent(frame, place_name(_plain(gathered)), position(gathered)):
        if _is_own(frame, own):
            frame.env[own] = fixed


def _sent(frame: Frame, gathered: str, until: f.Pos | None) -> Iterator[str]:
    """What has been sent to fill a list: `n` of `all_gather_object(gathered, n)` and `gathered = gather(n)`."""
    for s in statements(frame.function.body) if frame.function is not None and gathered else ():
        if type(s) is not f.ExprStmt and type(s) is not f.Assign:
            continue
        if s.value is None or (until is not None and s.line > until[0]):
            continue
        filled = type(s) is f.Assign and any(place_name(t) == gathered for t in s.targets)
        for call in walk(s.value):
            if type(call) is not f.Call:
                continue
            into = len(call.args) > 1 and place_name(call.args[0]) == gathered and "gather" in last_name(call.func)
            if into or (filled and call.args):
                yield place_name(_plain(call.args[1 if into else 0]))


def _is_own(frame: Frame, place: str) -> bool:
    """Whether a variable holds what differs between ranks; the rank itself is no such thing, and stays."""
    value = frame.env.get(place) if place else None
    return value is not None and _differs(value) and (value.divergence is None or value.divergence.kind != "rank")


def _plain(expr: f.Expr) -> f.Expr:
    """`n` of `n.item()` and `int(n)`."""
    while type(expr) is f.Call and last_name(expr.func) in _AS_IT_IS:
        if len(expr.args) + (type(expr.func) is f.Attr) != 1:
            break
        expr = expr.args[0] if expr.args else expr.func.base  # type: ignore[union-attr]
    return expr


def _differs(value: Value) -> bool:
    return value.divergence is not None or value.data is not None


def _same_everywhere(frame: Frame, expr: f.Expr) -> Value | None:
    """The value of a number of which nothing says that it differs; a call is left alone, which has been evaluated."""
    if any(type(node) is f.Call for node in walk(expr)):
        return None
    with frame.recording():
        value = frame.eval(expr)
    return None if _differs(value) or value.length is not None or value.emptiness is not None else value


def _agreed(frame: Frame, expr: f.Expr) -> Value | None:
    """What each item of something is that all ranks have, since they have sent it to each other."""
    value = _same_everywhere(frame, _plain(expr))
    return Value(uniform=value.uniform, agreed=True) if value is not None and value.agreed else None
