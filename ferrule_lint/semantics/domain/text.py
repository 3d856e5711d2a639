"""Expressions as text: keys for "the same test again", and what messages show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk

_DEEPEST = 10
_SHOWN = 60


def last_name(expr: f.Expr | None) -> str:
    """`c` of `a.b.c` and of `c`; "" for anything else."""
    if type(expr) is f.Attr:
        return expr.attr
    if type(expr) is f.Name:
        return expr.id
    return ""


def called_name(expr: f.Expr | None) -> str:
    """`c` of `a.b.c(x)`, and of `a.b.c`, which is written like it: a decorator, a context manager."""
    return last_name(expr.func if type(expr) is f.Call else expr)


def dotted_name(expr: f.Expr | None) -> str:
    """`a.b.c` of a chain of names; calls and subscripts in it are skipped ("a().b" is "a.b"); else ""."""
    if type(expr) is f.Name:
        return expr.id
    if type(expr) is f.Attr:
        base = dotted_name(expr.base)
        return f"{base}.{expr.attr}" if base else expr.attr
    if type(expr) is f.Call:
        return dotted_name(expr.func)
    if type(expr) is f.Subscript:
        return dotted_name(expr.base)
    return ""


def place_name(expr: f.Expr | None) -> str:
    """`a.b` of a chain of plain names, which can be assigned to; "" for anything else."""
    if type(expr) is f.Name:
        return expr.id
    if type(expr) is f.Attr:
        base = place_name(expr.base)
        return f"{base}.{expr.attr}" if base else ""
    return ""


def root_name(expr: f.Expr | None) -> str:
    """`a` of `a.b[c].d()`; "" for anything that does not start with a name."""
    while type(expr) in (f.Attr, f.Subscript, f.Call, f.Starred):
        if type(expr) is f.Call:
            expr = expr.func
        elif type(expr) is f.Starred:
            expr = expr.value
        else:
            expr = expr.base  # type: ignore[union-attr]
    return expr.id if type(expr) is f.Name else ""


def items_named(expr: f.Expr | None) -> Iterator[f.Name]:
    """The names that are all of an expression, or items of the containers that it writes out."""
    if type(expr) is f.Name:
        yield expr
    elif type(expr) is f.Starred:
        yield from items_named(expr.value)
    elif type(expr) is f.Sequence:
        for part in expr.elements:
            yield from items_named(part)
    elif type(expr) is f.DictDisplay:
        for part in expr.values:
            yield from items_named(part)


def instance_test(test: f.Expr) -> tuple[f.Expr, tuple[f.Expr, ...]] | None:
    """What `isinstance(x, A)` or `isinstance(x, (A, B))` asks about, and the classes; None for anything else."""
    if type(test) is not f.Call or last_name(test.func) != "isinstance" or len(test.args) != 2:
        return None
    asked, classes = test.args
    return asked, classes.elements if type(classes) is f.Sequence else (classes,)


def words(node: object) -> Iterator[str]:
    """Every name and every attribute in an expression or block: `a`, `b` and `c` of `a.b(c)`."""
    return (last_name(part) for part in walk(node) if type(part) is f.Name or type(part) is f.Attr)


def variables(node: object) -> set[str]:
    """The names in an expression or block, attributes apart: `a` and `c` of `a.b(c)`."""
    return {part.id for part in walk(node) if type(part) is f.Name}


def position(expr: f.Expr | None) -> f.Pos | None:
    """Where an expression stands, as far as its facts tell."""
    if expr is None:
        return None
    pos = getattr(expr, "pos", None)
    if pos is not None:
        found: f.Pos = pos
        return found
    if type(expr) is f.Not:
        return position(expr.operand)
    if type(expr) is f.Op:
        return next((p for p in map(position, expr.operands) if p), None)
    return None


def render(expr: f.Expr | None, version: Callable[[str], int] | None = None, depth: int = 0) -> str:
    """Text of an expression. With `version`, assigned places carry a number that changes with every assignment,
    so that equal texts mean equal values."""
    if expr is None or depth > _DEEPEST:
        return "_"
    kind = type(expr)
    if kind is f.Name or kind is f.Attr:
        return _render_place(expr, version, depth)
    if type(expr) is f.Const:
        return expr.text
    if type(expr) is f.Call:
        arguments = [render(a, version, depth + 1) for a in expr.args]
        arguments += [f"{f'{k}=' if k else '**'}{render(a, version, depth + 1)}" for k, a in expr.keywords]
        return f"{render(expr.func, version, depth + 1)}({', '.join(arguments)})"
    if type(expr) is f.Subscript:
        return f"{render(expr.base, version, depth + 1)}[{render(expr.index, version, depth + 1)}]"
    if type(expr) is f.Not:
        return f"not {render(expr.operand, version, depth + 1)}"
    if type(expr) is f.BoolOp:
        return f" {expr.op} ".join(render(v, version, depth + 1) for v in expr.values)
    if type(expr) is f.Compare:
        text = render(expr.left, version, depth + 1)
        for op, right in zip(expr.ops, expr.rights, strict=True):
            text += f" {op} {render(right, version, depth + 1)}"
        return text
    if type(expr) is f.Op:
        return _render_op(expr, version, depth)
    if type(expr) is f.Sequence:
        return f"[{', '.join(render(e, version, depth + 1) for e in expr.elements)}]"
    if type(expr) is f.Starred:
        return "*" + render(expr.value, version, depth + 1)
    if type(expr) is f.Walrus:
        return render(expr.value, version, depth + 1)
    pos = position(expr)
    return f"<{kind.__name__.lower()}{':'.join(map(str, pos[:2])) if pos else ''}>"


def _render_place(expr: f.Expr, version: Callable[[str], int] | None, depth: int) -> str:
    if type(expr) is f.Name:
        text = expr.id
    else:
        assert type(expr) is f.Attr
        text = f"{render(expr.base, version, depth + 1)}.{expr.attr}"
    number = version(text) if version else 0
    return f"{text}#{number}" if number else text


_SIGNS = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "MatMult": "@", "Pow": "**",
          "BitAnd": "&", "BitOr": "|", "BitXor": "^", "Slice": ":"}  # fmt: skip


def _render_op(expr: f.Op, version: Callable[[str], int] | None, depth: int) -> str:
    parts = [render(o, version, depth + 1) for o in expr.operands]
    if expr.kind == "Slice":
        return ":".join("" if p == "None" else p for p in parts)
    sign = _SIGNS.get(expr.kind)
    return f" {sign} ".join(parts) if sign else f"{expr.kind}({', '.join(parts)})"


_NUMBER = re.compile(r"([0-9]+)")


def in_order(text: str) -> tuple[str | int, ...]:
    """A text to sort by, numbers in it by their size: keys that name lines keep their order when all move."""
    return tuple([int(part) if place % 2 else part for place, part in enumerate(_NUMBER.split(text))])


def shown(expr: f.Expr) -> str:
    """Text of an expression as messages show it, cut where it is long."""
    text = render(expr)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
