"""Expressions of the parser's tree -> facts."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable
from typing import Any

from ferrule_lint.facts import types as f
from ferrule_lint.frontend.by_name import named
from ferrule_lint.frontend.columns import Columns

_COMPARE = {
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_COMPREHENSIONS = {ast.ListComp: "list", ast.SetComp: "set", ast.DictComp: "dict", ast.GeneratorExp: "generator"}
_LONGEST_STRING = 80


class Expressions:
    """Lowers the expressions of one file, and notes which identifiers stand in them, and what they import by name."""

    def __init__(self, source: bytes) -> None:
        self.mentioned: set[str] = set()
        self.imports: list[f.Import] = []
        self.column = Columns(source)
        # one number for all that stand in a line: the parser makes a new one each time
        self._lines = list(range(source.count(b"\n") + source.count(b"\r") + 2))
        self._ascii = source.isascii()
        self._is_generator = False

    def lambda_function(self, n: ast.Lambda) -> str:
        """The qualified name of the function that a lambda becomes; whoever lowers functions has it."""
        raise NotImplementedError

    def pos(self, n: ast.expr) -> f.Pos:
        lines = self._lines
        if self._ascii:
            return (lines[n.lineno], n.col_offset + 1, lines[n.end_lineno or 0], (n.end_col_offset or 0) + 1)
        column = self.column
        end_line = n.end_lineno or n.lineno
        return (
            lines[n.lineno],
            column(n.lineno, n.col_offset),
            lines[end_line],
            column(end_line, n.end_col_offset or 0),
        )

    def exprs(self, nodes: Iterable[ast.expr]) -> tuple[f.Expr, ...]:
        return tuple([self.expr(n) for n in nodes])

    def optional(self, node: ast.expr | None) -> f.Expr | None:
        return None if node is None else self.expr(node)

    def expr(self, node: ast.expr) -> f.Expr:
        lower = _EXPR.get(type(node))
        if lower is not None:
            return lower(self, node)
        children = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
        return f.Op(type(node).__name__, self.exprs(children))

    def _name(self, n: ast.Name) -> f.Expr:
        self.mentioned.add(n.id)
        return f.Name(n.id, self.pos(n))

    def _attribute(self, n: ast.Attribute) -> f.Expr:
        self.mentioned.add(n.attr)
        return f.Attr(self.expr(n.value), n.attr, self.pos(n))

    def _call(self, n: ast.Call) -> f.Expr:
        if (found := named(n)) is not None:
            self.imports.append(f.Import(found.module, "", None, found.level, n.lineno))
        keywords = tuple([(k.arg, self.expr(k.value)) for k in n.keywords])
        return f.Call(self.expr(n.func), self.exprs(n.args), keywords, self.pos(n))

    def _constant(self, n: ast.Constant) -> f.Expr:
        value = n.value
        if isinstance(value, (str, bytes)) and len(value) > _LONGEST_STRING:
            value = value[:_LONGEST_STRING]
        if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**18:
            return f.Const("<int>")  # repr of a huge int may raise
        text = sys.intern(repr(value))
        return f.Const(text, self._written(n, text) if type(value) in (int, float) else "")

    def _written(self, n: ast.Constant, text: str) -> str:
        """How a number is written (`1e9`), if that is not what Python makes of it; "" if it is."""
        start, end = n.col_offset, n.end_col_offset or 0
        if end - start == len(text) or n.end_lineno != n.lineno:
            return ""
        written = self.column.written(n.lineno, start, end)
        try:
            same = (float(written) if type(n.value) is float else int(written, 0)) == n.value
        except ValueError:
            return ""  # before Python 3.12 what stands in an f-string has another place
        return sys.intern(written) if same else ""

    def _boolop(self, n: ast.BoolOp) -> f.Expr:
        return f.BoolOp("and" if type(n.op) is ast.And else "or", self.exprs(n.values), self.pos(n))

    def _unary(self, n: ast.UnaryOp) -> f.Expr:
        operand = self.expr(n.operand)
        if type(n.op) is ast.Not:
            return f.Not(operand)
        if type(n.op) is ast.USub and isinstance(n.operand, ast.Constant) and type(operand) is f.Const:
            return f.Const("-" + operand.text, "-" + operand.written if operand.written else "")
        return f.Op(type(n.op).__name__, (operand,))

    def _compare(self, n: ast.Compare) -> f.Expr:
        ops = tuple([_COMPARE[type(o)] for o in n.ops])
        rights = self.exprs(n.comparators)
        if ops in (("in",), ("not in",)) and type(rights[0]) is f.SetDisplay:
            rights = (f.Sequence("tuple", rights[0].elements),)  # `rank in {-1, 0}` asks what `rank in (-1, 0)` does
        return f.Compare(self.expr(n.left), ops, rights, self.pos(n))

    def _binop(self, n: ast.BinOp) -> f.Expr:
        # left-deep chains ("a" + "b" + ...) of generated files are flattened, not recursed into
        kind = type(n.op)
        operands = [n.right]
        left = n.left
        while isinstance(left, ast.BinOp) and type(left.op) is kind:
            operands.append(left.right)
            left = left.left
        operands.append(left)
        return f.Op(kind.__name__, self.exprs(reversed(operands)))

    def _ifexp(self, n: ast.IfExp) -> f.Expr:
        return f.IfExp(self.expr(n.test), self.expr(n.body), self.expr(n.orelse), self.pos(n))

    def _subscript(self, n: ast.Subscript) -> f.Expr:
        return f.Subscript(self.expr(n.value), self.expr(n.slice), self.pos(n))

    def _sequence(self, n: ast.List | ast.Tuple) -> f.Expr:
        return f.Sequence("list" if type(n) is ast.List else "tuple", self.exprs(n.elts))

    def _set(self, n: ast.Set) -> f.Expr:
        return f.SetDisplay(self.exprs(n.elts), self.pos(n))

    def _dict(self, n: ast.Dict) -> f.Expr:
        return f.DictDisplay(tuple([self.optional(k) for k in n.keys]), self.exprs(n.values))

    def _comprehension(self, n: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> f.Expr:
        generators = tuple(f.Generator(self.expr(g.target), self.expr(g.iter), self.exprs(g.ifs)) for g in n.generators)
        elements = (n.key, n.value) if isinstance(n, ast.DictComp) else (n.elt,)
        return f.Comprehension(_COMPREHENSIONS[type(n)], generators, self.exprs(elements), self.pos(n))

    def _lambda(self, n: ast.Lambda) -> f.Expr:
        return f.Lambda(self.lambda_function(n), self.pos(n))

    def _yield(self, n: ast.Yield | ast.YieldFrom) -> f.Expr:
        self._is_generator = True
        value = self.optional(n.value)
        return f.Yield(f.Starred(value) if isinstance(n, ast.YieldFrom) and value is not None else value, self.pos(n))

    def _await(self, n: ast.Await) -> f.Expr:
        return self.expr(n.value)

    def _starred(self, n: ast.Starred) -> f.Expr:
        return f.Starred(self.expr(n.value))

    def _walrus(self, n: ast.NamedExpr) -> f.Expr:
        return f.Walrus(n.target.id, self.expr(n.value))

    def _slice(self, n: ast.Slice) -> f.Expr:
        parts = [f.Const("None") if p is None else self.expr(p) for p in (n.lower, n.upper, n.step)]
        return f.Op("Slice", tuple(parts))

    def _fstring(self, n: ast.JoinedStr) -> f.Expr:
        return f.Op("FString", self.exprs(self._interpolated(n)))

    def _interpolated(self, n: ast.JoinedStr) -> Iterable[ast.expr]:
        """What stands in the braces of an f-string, its format specifications included."""
        for part in n.values:
            if isinstance(part, ast.FormattedValue):
                yield part.value
                if isinstance(part.format_spec, ast.JoinedStr):
                    yield from self._interpolated(part.format_spec)


_E = Expressions
_EXPR: dict[type, Callable[[Expressions, Any], f.Expr]] = {
    ast.Name: _E._name,
    ast.Attribute: _E._attribute,
    ast.Call: _E._call,
    ast.Constant: _E._constant,
    ast.BoolOp: _E._boolop,
    ast.UnaryOp: _E._unary,
    ast.Compare: _E._compare,
    ast.BinOp: _E._binop,
    ast.IfExp: _E._ifexp,
    ast.Subscript: _E._subscript,
    ast.List: _E._sequence,
    ast.Tuple: _E._sequence,
    ast.Set: _E._set,
    ast.Dict: _E._dict,
    ast.ListComp: _E._comprehension,
    ast.SetComp: _E._comprehension,
    ast.DictComp: _E._comprehension,
    ast.GeneratorExp: _E._comprehension,
    ast.Lambda: _E._lambda,
    ast.Yield: _E._yield,
    ast.YieldFrom: _E._yield,
    ast.Await: _E._await,
    ast.Starred: _E._starred,
    ast.NamedExpr: _E._walrus,
    ast.Slice: _E._slice,
    ast.JoinedStr: _E._fstring,
}
