"""Expressions as text: keys for "the same test again", and what messages show."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.stated import stated
from ferrule_lint.facts.walk import nodes, walk

_DEEPEST = 10
_SHOWN = 60


def last_name(expr: f.Expr | None) -> str:
    """`c` of `a.b.c` and of `c`; "" for anything else."""
    if type(expr) is f.Attr:
        return expr.attr
    if type(expr) is f.Name:
        return expr.id
    return ""


def is_open(call: f.Call) -> bool:
    """Whether `*args` or `**kwargs` of a call may pass more than is seen."""
    return any(type(a) is f.Starred for a in call.args) or any(name is None for name, _ in call.keywords)


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


def is_key(expr: f.Expr | None, name: str) -> bool:
    """Whether an expression is a name that is written out: `"images"`."""
    return type(expr) is f.Const and expr.text[:1] in "'\"" and expr.text.strip("'\"") == name


def argument_of(call: f.Call, name: str, position: int | None) -> f.Expr | None:
    """What a call passes as an argument, by its name or else its place, where it is written out."""
    given = next((value for keyword, value in call.keywords if keyword == name), None)
    if given is not None or position is None:
        return given
    return call.args[position] if position < len(call.args) else None


def length_of(expr: f.Expr | None) -> f.Expr | None:
    """`x` of `len(x)`; None for anything else."""
    if type(expr) is not f.Call or last_name(expr.func) != "len" or len(expr.args) != 1:
        return None
    return expr.args[0]


def turned_rows(expr: f.Expr) -> f.Expr | None:
    """`rows` of `zip(*rows)`, which yields columns."""
    if type(expr) is not f.Call or last_name(expr.func) != "zip" or len(expr.args) != 1:
        return None
    return expr.args[0].value if type(expr.args[0]) is f.Starred else None


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
    return {part.id for part in nodes(node, f.Name)}


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
        return (version is _as_written and expr.written) or expr.text
    if type(expr) is f.Call:
        word, inner = stated(expr)
        if word:
            return render(inner, version, depth)
        arguments = [render(a, version, depth + 1) for a in expr.args]
        arguments += [f"{f'{k}=' if k else '**'}{render(a, version, depth + 1)}" for k, a in expr.keywords]
        return f"{_part(expr.func, _PLACE, version, depth)}({', '.join(arguments)})"
    if type(expr) is f.Subscript:
        index = render(expr.index, version, depth + 1)
        if version is _as_written and type(expr.index) is f.Sequence and expr.index.kind == "tuple":
            index = _items(expr.index, depth)
        return f"{_part(expr.base, _PLACE, version, depth)}[{index}]"
    if type(expr) is f.Not:
        return f"not {_part(expr.operand, _NOT, version, depth)}"
    if type(expr) is f.BoolOp:
        return f" {expr.op} ".join(_part(v, _binds(expr), version, depth) for v in expr.values)
    if type(expr) is f.Compare:
        text = _part(expr.left, _COMPARE + 1, version, depth)
        for op, right in zip(expr.ops, expr.rights, strict=True):
            text += f" {op} {_part(right, _COMPARE + 1, version, depth)}"
        return text
    if type(expr) is f.Op:
        return _render_op(expr, version, depth)
    if type(expr) is f.Sequence and expr.kind == "tuple" and version is _as_written:
        return f"({_items(expr, depth)})"
    if type(expr) is f.Sequence:
        return f"[{', '.join(render(e, version, depth + 1) for e in expr.elements)}]"
    if type(expr) is f.Starred:
        return "*" + render(expr.value, version, depth + 1)
    if type(expr) is f.Walrus:
        value = render(expr.value, version, depth + 1)
        return f"{expr.name} := {value}" if version is _as_written else value
    if version is _as_written:
        return _written(expr, depth)
    pos = position(expr)
    return f"<{kind.__name__.lower()}{':'.join(map(str, pos[:2])) if pos else ''}>"


def _as_written(place: str) -> int:
    """In place of numbers of places: for who reads the text, all of which is told."""
    return 0


def _items(expr: f.Sequence, depth: int) -> str:
    """The items of a tuple as they are written in it; a single one has a comma behind it."""
    return ", ".join(render(e, _as_written, depth + 1) for e in expr.elements) + "," * (len(expr.elements) == 1)


def _written(expr: f.Expr, depth: int) -> str:
    """What is a place of its own elsewhere, as somebody would write it."""

    def text(part: f.Expr | None) -> str:
        return render(part, _as_written, depth + 1)

    if type(expr) is f.IfExp:
        return f"{text(expr.body)} if {text(expr.test)} else {text(expr.orelse)}"
    if type(expr) is f.Comprehension:
        inner = ": ".join(map(text, expr.elements))
        for part in expr.generators:
            target = _items(part.target, depth) if type(part.target) is f.Sequence else text(part.target)
            inner += f" for {target} in {text(part.iterable)}"
            inner += "".join(f" if {text(test)}" for test in part.conditions)
        first, last = {"list": "[]", "generator": ("", "")}.get(expr.kind, "{}")
        return f"{first}{inner}{last}"
    if type(expr) is f.SetDisplay:
        return f"{{{', '.join(map(text, expr.elements))}}}"
    if type(expr) is f.DictDisplay:
        pairs = zip(expr.keys, expr.values, strict=True)
        return f"{{{', '.join(f'**{text(v)}' if k is None else f'{text(k)}: {text(v)}' for k, v in pairs)}}}"
    return "lambda: ..." if type(expr) is f.Lambda else "(yield)" if type(expr) is f.Yield else "_"


def _render_place(expr: f.Expr, version: Callable[[str], int] | None, depth: int) -> str:
    if type(expr) is f.Name:
        text = expr.id
    else:
        assert type(expr) is f.Attr
        text = f"{_part(expr.base, _PLACE, version, depth)}.{expr.attr}"
    number = version(text) if version else 0
    return f"{text}#{number}" if number else text


_SIGNS = {"Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "MatMult": "@", "Pow": "**",
          "BitAnd": "&", "BitOr": "|", "BitXor": "^", "Slice": ":"}  # fmt: skip


_PREFIXES = {"USub": "-", "UAdd": "+", "Invert": "~", "Await": "await "}

#: how closely the parts of an expression are bound together, from `or` to what stands in front of `.name`
_OR, _AND, _NOT, _COMPARE, _PLACE = 1, 2, 3, 4, 20
_OPERATORS = {"BitOr": 5, "BitXor": 6, "BitAnd": 7, "Add": 9, "Sub": 9, "Mult": 10, "Div": 10, "FloorDiv": 10,
              "Mod": 10, "MatMult": 10, "Pow": 12}  # fmt: skip
#: what comes to the same in whatever order it is worked out
_ALIKE = frozenset({"BitOr", "BitXor", "BitAnd", "Add", "Mult"})


def _binds(expr: f.Expr | None) -> int:
    if type(expr) is f.BoolOp:
        return _OR if expr.op == "or" else _AND
    if type(expr) is f.Not:
        return _NOT
    if type(expr) is f.Compare:
        return _COMPARE
    if type(expr) is f.IfExp or type(expr) is f.Lambda:
        return 0
    return _OPERATORS.get(expr.kind, _PLACE) if type(expr) is f.Op else _PLACE


def _part(expr: f.Expr | None, least: int, version: Callable[[str], int] | None, depth: int) -> str:
    """Text of a part of an expression, in parentheses where it is bound less closely."""
    text = render(expr, version, depth + 1)
    loose = _binds(expr) < least or (type(expr) is f.Walrus and version is _as_written)
    return f"({text})" if loose and text != "_" else text


def _may_follow(expr: f.Op, part: f.Expr, later: bool) -> bool:
    """Whether a part that is bound as closely as the whole needs no parentheses."""
    if not later:
        return expr.kind != "Pow"
    return type(part) is f.Op and part.kind == expr.kind and expr.kind in _ALIKE


def _render_op(expr: f.Op, version: Callable[[str], int] | None, depth: int) -> str:
    sign = _SIGNS.get(expr.kind)
    if sign and expr.kind != "Slice":
        own = _binds(expr)
        return f" {sign} ".join(
            _part(o, own if _may_follow(expr, o, bool(i)) else own + 1, version, depth)
            for i, o in enumerate(expr.operands)
        )
    parts = [render(o, version, depth + 1) for o in expr.operands]
    if version is _as_written and expr.kind in _PREFIXES and len(parts) == 1:
        return f"{_PREFIXES[expr.kind]}{_part(expr.operands[0], _PLACE, version, depth)}"
    if version is _as_written and expr.kind == "FString":
        return "f" + '"...' + "".join(f"{{{p}}}..." for p in parts) + '"'
    if expr.kind == "Slice":
        parts = ["" if p == "None" else p for p in parts]
        if version is _as_written and not parts[-1]:
            parts.pop()
        return ":".join(parts)
    return f"{expr.kind}({', '.join(parts)})"


_NUMBER = re.compile(r"([0-9]+)")


def in_order(text: str) -> tuple[str | int, ...]:
    """A text to sort by, numbers in it by their size: keys that name lines keep their order when all move."""
    return tuple([int(part) if place % 2 else part for place, part in enumerate(_NUMBER.split(text))])


def shown(expr: f.Expr) -> str:
    """Text of an expression as messages show it, cut where it is long."""
    text = render(expr, _as_written)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
