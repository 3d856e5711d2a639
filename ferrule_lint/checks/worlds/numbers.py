"""What an expression comes to on one rank of a world of known size: numbers, flags, texts, and lists of these.

Anything else is `UNKNOWN`, and so is all that is worked out of it, but for what is decided without it: `False and x`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

from ferrule_lint.facts import types as f


class Unknown:
    """What cannot be told; the only one of its kind is `UNKNOWN`."""

    def __bool__(self) -> bool:
        raise TypeError("what is not known is neither true nor false")

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()

#: numbers beyond this are no ranks, and lists no lists of ranks
_LARGEST = 1 << 16
#: what makes numbers of any length, and the largest exponent or shift
_GROWING = ("Pow", "LShift")
_MOST = 16
LONGEST = 256
_NUMBERS = (int, float)
_NAMED = {"True": True, "False": False, "None": None}

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "FloorDiv": operator.floordiv, "Mod": operator.mod,
    "Div": operator.truediv, "BitXor": operator.xor, "BitAnd": operator.and_, "BitOr": operator.or_,
    "LShift": operator.lshift, "RShift": operator.rshift, "Pow": operator.pow,
}  # fmt: skip
_SIGNS: dict[str, Callable[[Any], Any]] = {"USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "is": operator.is_, "is not": operator.is_not,
}  # fmt: skip
#: builtins whose result is that of Python's own
_BUILTINS: dict[str, Callable[..., Any]] = {
    "int": int, "bool": bool, "abs": abs, "min": min, "max": max, "sum": sum, "len": len, "divmod": divmod,
    "any": any, "all": all,
    "range": lambda *given: _counted(range(*given)),
    "list": lambda given=(): list(given), "tuple": lambda given=(): list(given), "sorted": lambda given: sorted(given),
    "reversed": lambda given: list(given)[::-1], "set": lambda given=(): sorted(set(given)),
    "enumerate": lambda given, start=0: [[i, item] for i, item in enumerate(given, start)],
    "zip": lambda *given: [list(row) for row in zip(*given, strict=False)],
}  # fmt: skip

#: of these that take lists, whatever the items are
_WHATEVER_IS_IN_THEM = frozenset({"len", "enumerate", "zip", "reversed", "list", "tuple"})


def _counted(numbers: range) -> list[int]:
    if len(numbers) > LONGEST:
        raise OverflowError
    return list(numbers)


def known(*values: object) -> bool:
    """Whether nothing in values, nor in the lists among them, is unknown."""
    return all(value is not UNKNOWN and (type(value) is not list or known(*value)) for value in values)


def constant(expr: f.Const) -> object:
    text = expr.text
    if text in _NAMED:
        return _NAMED[text]
    if text[:1] in "'\"":
        return text.strip("'\"")
    for number in _NUMBERS:
        try:
            return number(text)
        except ValueError:
            continue
    return UNKNOWN  # `...`, bytes, or a text that was cut


def combined(kind: str, values: list[Any]) -> object:
    """What an operator makes of values."""
    if not known(*values):
        return UNKNOWN
    try:
        if len(values) == 1 and kind in _SIGNS and isinstance(values[0], _NUMBERS):
            return _SIGNS[kind](values[0])
        if len(values) == 2 and kind in _ARITHMETIC and _small(values) and (kind not in _GROWING or values[1] <= _MOST):
            return _ARITHMETIC[kind](*values)
        if len(values) == 2 and kind == "Add" and all(type(v) is list for v in values):
            return values[0] + values[1]
    except (TypeError, ValueError, ZeroDivisionError, OverflowError):
        return UNKNOWN
    return UNKNOWN


def _small(values: list[Any]) -> bool:
    return all(isinstance(v, _NUMBERS) and abs(v) <= _LARGEST for v in values)


def compared(left: Any, ops: tuple[str, ...], rights: list[Any]) -> object:
    """A chain of comparisons: false with the first that is, whatever the rest."""
    outcome: object = True
    for op, right in zip(ops, rights, strict=True):
        one = _compared(left, op, right)
        if one is False:
            return False
        if one is UNKNOWN:
            outcome = UNKNOWN
        left = right
    return outcome


def _compared(left: Any, op: str, right: Any) -> object:
    if op in ("in", "not in"):
        if type(right) is not list or not known(left, right):
            return UNKNOWN
        return (left in right) is (op == "in")
    if not known(left, right) or op not in _COMPARISONS:
        return UNKNOWN
    try:
        return bool(_COMPARISONS[op](left, right))
    except TypeError:
        return UNKNOWN


def called(name: str, given: list[Any]) -> object:
    """What a builtin hands back."""
    if name in _WHATEVER_IS_IN_THEM:
        if any(type(one) is not list for one in (given if name == "zip" else given[:1])):
            return UNKNOWN
    elif not known(*given):
        return UNKNOWN
    try:
        return _BUILTINS[name](*given)
    except (TypeError, ValueError, OverflowError):
        return UNKNOWN


def is_builtin(name: str) -> bool:
    return name in _BUILTINS


def item(base: Any, index: Any) -> object:
    """`base[index]`, and `base[a:b]` where the index is a slice."""
    if type(base) is not list or index is UNKNOWN:
        return UNKNOWN
    try:
        return base[index]
    except (TypeError, IndexError):
        return UNKNOWN


def truth(value: Any) -> bool | None:
    """Whether something holds; None: cannot be told."""
    if value is None or isinstance(value, bool | int | float | str | list):
        return bool(value)
    return None
