"""Shapes and element types of tensors that the text tells: `torch.zeros(1)`, `torch.tensor([n], dtype=torch.long)`.

Sender and receivers of a broadcast make their tensors in different arms of a test of the rank. What is compared is only
what both say: numbers that are written out, and types that are named or that torch gives by default.
https://docs.pytorch.org/docs/stable/tensors.html, https://docs.pytorch.org/docs/stable/generated/torch.tensor.html
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data import number_types
from ferrule_lint.semantics.domain.targets import ExternalTarget, MethodTarget
from ferrule_lint.semantics.domain.text import called_name, dotted_name, last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.lattice import Divergence, Value
    from ferrule_lint.semantics.domain.targets import Target

#: names of element types -> what torch calls them
_TYPES = {
    "long": "int64", "int": "int32", "short": "int16", "float": "float32", "double": "float64", "half": "float16",
    "cfloat": "complex64",
} | {
    t: t
    for t in "int64 int32 int16 int8 uint8 float64 float32 float16 bfloat16 bool float8_e4m3fn float8_e5m2".split()
}  # fmt: skip
_OF_CLASS = {
    "LongTensor": "int64", "IntTensor": "int32", "FloatTensor": "float32", "ByteTensor": "uint8", "BoolTensor": "bool",
    "Tensor": "float32",
}  # fmt: skip
_FLOATS = frozenset("zeros ones empty randn rand eye linspace".split())
#: of these all positional arguments are sizes
_BY_SIZE = frozenset("zeros ones empty randn rand new_zeros new_ones new_empty".split())
_BY_CONTENT = frozenset("tensor as_tensor asarray".split()) | frozenset(_OF_CLASS)
_LIKE = frozenset("zeros_like ones_like empty_like full_like rand_like randn_like".split())
_KEEPING = frozenset("cuda cpu npu contiguous detach clone requires_grad_ zero_ fill_ pin_memory".split())
_CASTING = frozenset("float half double long int short bool bfloat16".split())
_COUNTS = frozenset("len int numel size get_rank get_world_size nelement".split())
_DEVICE = re.compile(r"(?i)device|cuda|cpu|gpu|rank|npu|xpu")


class Layout(NamedTuple):
    """`sizes`: of each dimension, "" where it is not known; None: not even how many there are. `dtype`: "" likewise.
    `empty`: it has no rows, however many dimensions there are. `apart`: why the type is another one on some ranks.
    `of_numbers`: its type is that of the numbers it was made of."""

    sizes: tuple[str, ...] | None
    dtype: str
    empty: bool = False
    apart: Divergence | None = None
    of_numbers: bool = False


def is_number(layout: Layout | None) -> bool:
    """Whether a tensor holds one number, as far as its text tells."""
    return layout is not None and layout.sizes in ((), ("1",))


def of_call(name: str, e: f.Call, values: tuple[Value, ...], method: bool) -> Layout | None:
    """What a call that makes a tensor tells of it."""
    named = next((_named_type(v) for k, v in e.keywords if k == "dtype"), None)
    if name in _BY_SIZE and not (method and not name.startswith("new_")):
        sizes = _written_sizes(e, values)
        default = "float32" if name in _FLOATS else ""
        return Layout(sizes, default if named is None else named, _has_no_rows(e))
    if name in ("full", "arange"):
        return Layout(_written_sizes(e._replace(args=e.args[:1]), values[:1]) if name == "full" else None, named or "")
    if name in _BY_CONTENT and not method and e.args:
        return _of_content(name, e.args[0], values[0] if values else None, named)
    if name in _LIKE and not method and values:
        known = values[0].layout
        return known if named is None else Layout(known.sizes if known is not None else None, named)
    return None


#: functions whose tensors hold places of items, or numbers of them; of arrays, none but these are asked along a `dim`
_PLACES = frozenset("randperm randint argmax argmin argsort multinomial bincount nonzero count_nonzero".split())


def of_places(e: f.Call, target: Target | None, known: Layout | None) -> Layout | None:
    """The layout of what a function of torch, or a method of a tensor, hands back: whole numbers where it is places."""
    name = last_name(e.func)
    if known is not None or name not in _PLACES:
        return known
    keywords = dict(e.keywords)
    if type(target) is ExternalTarget and target.dotted == f"torch.{name}":
        if "as_tuple" in keywords:
            return None
        return Layout(None, _named_type(keywords["dtype"]) if "dtype" in keywords else number_types.WHOLE)
    return Layout(None, number_types.WHOLE) if type(target) is MethodTarget and "dim" in keywords else None


def after(layout: Layout | None, name: str, e: f.Call) -> Layout | None:
    """A tensor's layout after one of its methods."""
    if name in _CASTING and not e.args:
        return Layout(layout.sizes if layout is not None else None, _TYPES.get(name, name))
    if layout is None or name in _KEEPING:
        return layout
    if name == "to":
        given = [*e.args, *(v for k, v in e.keywords if k in ("device", "dtype"))]
        kinds = [_named_type(a) for a in given if type(a) is not f.Const or a.text[:1] in "'\""]
        if any(kinds):
            return Layout(layout.sizes, next(k for k in kinds if k), layout.empty)
        return layout if all(_is_device(a) for a in given) else Layout(layout.sizes, "", layout.empty)
    return None


def conflict(a: Layout | None, b: Layout | None) -> str:
    """What two layouts certainly disagree about, in words; nothing if they may be the same."""
    if a is None or b is None:
        return ""
    return types_conflict(a, b) or sizes_conflict(a, b)


def types_conflict(a: Layout, b: Layout) -> str:
    return number_types.conflict(a.dtype, b.dtype)


def sizes_conflict(a: Layout, b: Layout) -> str:
    if a.sizes is None or b.sizes is None:
        return ""
    if len(a.sizes) != len(b.sizes):
        differ = all((*a.sizes, *b.sizes)) or () in (a.sizes, b.sizes)
    else:
        differ = any(x and y and x != y for x, y in zip(a.sizes, b.sizes, strict=True))
    return f"shape {_shown(a.sizes)} against {_shown(b.sizes)}" if differ else ""


def numbers_conflict(a: Layout, b: Layout) -> str:
    """What two layouts certainly disagree about where nothing but the number of items counts, in words: who sends and
    who receives may have them in other dimensions."""
    many = [_items(layout) for layout in (a, b)]
    return f"{many[0]} items against {many[1]}" if None not in many and many[0] != many[1] else ""


def _items(layout: Layout) -> int | None:
    if layout.sizes is None or not all(size.isdigit() for size in layout.sizes):
        return None
    return math.prod(map(int, layout.sizes))


def _shown(sizes: tuple[str, ...]) -> str:
    return "(" + ", ".join(s or "?" for s in sizes) + ("," if len(sizes) == 1 else "") + ")"


# ---------------------------------------------------------------------- what the text tells
def _named_type(expr: f.Expr) -> str:
    name = last_name(expr)
    return _TYPES.get(name, "") if dotted_name(expr) in (f"torch.{name}", f"th.{name}", "int", "float", "bool") else ""


def _is_device(expr: f.Expr) -> bool:
    return type(expr) is f.Const or bool(_DEVICE.search(called_name(expr)))


def _written_sizes(e: f.Call, values: tuple[Value, ...]) -> tuple[str, ...] | None:
    given = [v for k, v in e.keywords if k == "size"] or list(e.args)
    if len(given) == 1 and type(given[0]) is f.Sequence:
        given = list(given[0].elements)
    elif len(given) == 1 and not (values and values[0].const is not None) and not _is_count(given[0]):
        return None  # a number, or a shape
    if not given or any(type(g) is f.Starred for g in given):
        return None
    known = {id(expr): value.const for expr, value in zip(e.args, values, strict=False)}
    return tuple(_number(g, known.get(id(g))) for g in given)


def _has_no_rows(e: f.Call) -> bool:
    """`empty(0, n)`, `zeros((0, n) if x.dim() > 1 else (0,))`"""
    given = next((v for k, v in e.keywords if k == "size"), e.args[0] if e.args else None)
    arms = (given.body, given.orelse) if type(given) is f.IfExp else (given,)
    firsts = [arm.elements[0] if type(arm) is f.Sequence and arm.elements else arm for arm in arms]
    return all(type(first) is f.Const and first.text == "0" for first in firsts)


def _number(expr: f.Expr, const: str | None) -> str:
    text = expr.text if type(expr) is f.Const else const or ""
    return text if text.isdigit() else ""


def _of_content(name: str, expr: f.Expr, value: Value | None, named: str | None) -> Layout:
    if name in _OF_CLASS:
        named = _OF_CLASS[name]
    number = number_types.of_content(value.items or (value,)) if named is None and value is not None else None
    known = _of_written(expr, value, named)
    if number is None or known.dtype:
        alone = expr.elements if type(expr) is f.Sequence else (expr,)  # a float beside it would make it one
        return known._replace(of_numbers=named is None and not known.dtype and [type(x) for x in alone] == [f.Name])
    return known._replace(dtype=number.dtype, apart=number.apart)


def _of_written(expr: f.Expr, value: Value | None, named: str | None) -> Layout:
    """The same as far as the text tells."""
    if type(expr) is f.Sequence:
        nested = any(type(x) in (f.Sequence, f.Starred, f.Comprehension) or _is_shape(x) for x in expr.elements)
        kinds = {_type_of(x) for x in expr.elements}
        guess = next(iter(kinds)) if len(kinds) == 1 else "float32" if kinds == {"int64", "float32"} else ""
        return Layout(None if nested else (str(len(expr.elements)),), guess if named is None else named)
    if _is_count(expr) or type(expr) is f.Const or (value is not None and (value.world_size or value.rank)):
        return Layout((), _type_of(expr) if named is None else named)
    if named is None and _is_shape(expr):
        return Layout(None, number_types.WHOLE)
    return Layout(None, named or "")


def _is_shape(expr: f.Expr) -> bool:
    """`x.shape`, `x.size()`: as many numbers as there are dimensions."""
    if type(expr) is f.Call:
        return type(expr.func) is f.Attr and expr.func.attr == "size" and not expr.args and not expr.keywords
    return type(expr) is f.Attr and expr.attr == "shape"


def _is_count(expr: f.Expr) -> bool:
    if type(expr) is f.Call:
        return last_name(expr.func) in _COUNTS and (last_name(expr.func) != "size" or bool(expr.args))
    return type(expr) is f.Op and expr.kind in ("Add", "Sub", "Mult", "FloorDiv") and any(map(_is_count, expr.operands))


def _type_of(expr: f.Expr) -> str:
    if type(expr) is f.Const:
        text = expr.text.lstrip("-")
        return "bool" if text in ("True", "False") else "int64" if text.isdigit() else "float32" if "." in text else ""
    return "int64" if _is_count(expr) else ""
