"""Source bytes -> facts, by one pass over the tree of the standard parser.

Nothing else in the project sees an `ast` node. Columns are converted from the parser's UTF-8 byte offsets to
characters here, and only in lines that are not ASCII.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from typing import Any

from ferrule_lint.facts import types as f
from ferrule_lint.facts.stated import stated
from ferrule_lint.frontend.errors import SourceError
from ferrule_lint.frontend.expressions import Expressions
from ferrule_lint.frontend.parse import parse
from ferrule_lint.frontend.stated import state
from ferrule_lint.frontend.suppressions import suppression_comments


def extract(source: bytes) -> f.FileFacts:
    """The facts of one file. SourceError if it is not Python, or nested deeper than the parser can follow."""
    tree = parse(source)
    misplaced = state(source, tree)
    lowering = _Lowering(source)
    try:
        body = lowering.body(tree.body)
    except RecursionError:
        raise SourceError(0, "nested too deeply to analyse") from None
    return f.FileFacts(
        lines=len(source.splitlines()),
        imports=tuple(lowering.imports),
        classes=tuple(c for c in lowering.classes if c is not None),
        functions=tuple(fn for fn in lowering.functions if fn is not None),
        body=body,
        suppressions=(*suppression_comments(source, tree), *misplaced),
        names=tuple(sorted(lowering.mentioned)),
    )


def _attribute_set(expr: f.Expr, line: int) -> f.Assign | None:
    """`setattr(state, "stop", True)`, in other words."""
    if type(expr) is not f.Call or type(expr.func) is not f.Name or expr.func.id != "setattr" or expr.keywords:
        return None
    if len(expr.args) != 3 or f.Starred in map(type, expr.args):
        return None
    holder, name, value = expr.args
    if type(name) is not f.Const or name.text[:1] not in ("'", '"') or not name.text[1:-1].isidentifier():
        return None
    return f.Assign(line, (f.Attr(holder, name.text[1:-1], expr.pos),), value, None)


class _Lowering(Expressions):
    def __init__(self, source: bytes) -> None:
        super().__init__(source)
        # places are kept in order of appearance, filled when the body is done
        self.classes: list[f.ClassFacts | None] = []
        self.functions: list[f.FunctionFacts | None] = []
        self._qualname = ""
        self._owner: str | None = None
        self._parent: str | None = None
        self._lambdas = 0
        self._names: dict[str, int] = {}

    # ------------------------------------------------------------------ statements
    def body(self, statements: Iterable[ast.stmt]) -> f.Body:
        out: list[f.Stmt] = []
        for s in statements:
            lower = _STMT.get(type(s))
            if lower is None:
                continue
            lowered = lower(self, s)
            if lowered is not None:
                out.append(lowered)
        return tuple(out)

    def _expr_stmt(self, s: ast.Expr) -> f.Stmt | None:
        if type(s.value) is ast.Constant:
            return None
        value = self.expr(s.value)
        return _attribute_set(value, s.lineno) or f.ExprStmt(s.lineno, value)

    def _assign(self, s: ast.Assign) -> f.Stmt:
        return f.Assign(s.lineno, self.exprs(s.targets), self.expr(s.value), None)

    def _ann_assign(self, s: ast.AnnAssign) -> f.Stmt:
        return f.Assign(s.lineno, (self.expr(s.target),), self.optional(s.value), self.expr(s.annotation))

    def _aug_assign(self, s: ast.AugAssign) -> f.Stmt:
        target, value, op = self.expr(s.target), self.expr(s.value), type(s.op).__name__
        word, added = stated(value)
        if word and type(value) is f.Call:
            # a comment speaks of the target as it is afterwards, not of what is added to it
            return f.Assign(s.lineno, (target,), value._replace(args=(f.Op(op, (target, added)),)), None)
        return f.AugAssign(s.lineno, target, op, value)

    def _if(self, s: ast.If) -> f.Stmt:
        # a long if/elif chain is one level of Python per arm in the tree: unroll it from the end
        chain = [s]
        while len(chain[-1].orelse) == 1 and isinstance(chain[-1].orelse[0], ast.If):
            chain.append(chain[-1].orelse[0])
        tests = [(self.expr(c.test), self.body(c.body)) for c in chain]
        orelse = self.body(chain[-1].orelse)
        for c, (test, body) in zip(reversed(chain), reversed(tests), strict=True):
            orelse = (f.If(c.lineno, test, body, orelse, self.column(c.test.lineno, c.test.col_offset)),)
        first = orelse[0]
        assert type(first) is f.If
        return first

    def _for(self, s: ast.For | ast.AsyncFor) -> f.Stmt:
        column = self.column(s.iter.lineno, s.iter.col_offset)
        target, iterable = self.expr(s.target), self.expr(s.iter)
        return f.For(s.lineno, target, iterable, self.body(s.body), self.body(s.orelse), column)

    def _while(self, s: ast.While) -> f.Stmt:
        column = self.column(s.test.lineno, s.test.col_offset)
        return f.While(s.lineno, self.expr(s.test), self.body(s.body), self.body(s.orelse), column)

    def _try(self, s: ast.Try) -> f.Stmt:
        body = self.body(s.body)
        handlers = tuple(f.Handler(h.lineno, self.optional(h.type), h.name, self.body(h.body)) for h in s.handlers)
        return f.Try(s.lineno, body, handlers, self.body(s.orelse), self.body(s.finalbody))

    def _with(self, s: ast.With | ast.AsyncWith) -> f.Stmt:
        items = tuple((self.expr(i.context_expr), self.optional(i.optional_vars)) for i in s.items)
        return f.With(s.lineno, items, self.body(s.body))

    def _return(self, s: ast.Return) -> f.Stmt:
        return f.Return(s.lineno, self.optional(s.value))

    def _raise(self, s: ast.Raise) -> f.Stmt:
        return f.Raise(s.lineno, self.optional(s.exc))

    def _break(self, s: ast.Break) -> f.Stmt:
        return f.Break(s.lineno)

    def _continue(self, s: ast.Continue) -> f.Stmt:
        return f.Continue(s.lineno)

    def _assert(self, s: ast.Assert) -> f.Stmt:
        return f.Assert(s.lineno, self.expr(s.test))

    def _delete(self, s: ast.Delete) -> f.Stmt:
        return f.Delete(s.lineno, self.exprs(s.targets))

    def _scope(self, s: ast.Global | ast.Nonlocal) -> f.Stmt:
        return f.ScopeDecl(s.lineno, "global" if type(s) is ast.Global else "nonlocal", tuple(s.names))

    def _function(self, s: ast.FunctionDef | ast.AsyncFunctionDef) -> f.Stmt:
        is_async = type(s) is ast.AsyncFunctionDef
        qualname = self.function(s.name, s.lineno, s.args, s.body, s.decorator_list, s.returns, is_async)
        return f.FunctionDef(s.lineno, s.name, qualname)

    def _class(self, s: ast.ClassDef) -> f.Stmt:
        saved = self._qualname, self._owner
        bases, decorators = self.exprs(s.bases), self.exprs(s.decorator_list)
        qualname = self._unique(s.name)
        self._qualname, self._owner = qualname, qualname
        place = len(self.classes)
        self.classes.append(None)
        body = self.body(s.body)
        self.classes[place] = f.ClassFacts(qualname, s.lineno, bases, decorators, body)
        self._qualname, self._owner = saved
        return f.ClassDef(s.lineno, s.name, qualname)

    def _import(self, s: ast.Import) -> None:
        self.mentioned.update(a.name.rpartition(".")[2] for a in s.names)
        self.imports += [f.Import(a.name, None, a.asname, 0, s.lineno) for a in s.names]

    def _import_from(self, s: ast.ImportFrom) -> None:
        self.mentioned.update(a.name for a in s.names)
        self.imports += [f.Import(s.module or "", a.name, a.asname, s.level, s.lineno) for a in s.names]

    def _match(self, s: ast.Match) -> f.Stmt | None:
        """A chain of ifs; a pattern's captures become assignments from the subject."""
        subject = self.expr(s.subject)
        subject_column = self.column(s.subject.lineno, s.subject.col_offset)
        arms: list[tuple[ast.match_case, f.Body]] = []
        for case in s.cases:
            captured = [n for p in ast.walk(case.pattern) for n in (getattr(p, "name", None), getattr(p, "rest", None))]
            # alternatives bind the same names
            names = dict.fromkeys(n for n in captured if isinstance(n, str))
            line, place = case.pattern.lineno, (case.pattern.lineno, 1, case.pattern.lineno, 1)
            binds: list[f.Stmt] = [
                f.Assign(line, (f.Name(n, place),), f.Op("Capture", (subject,)), None) for n in names
            ]
            arms.append((case, (*binds, *self.body(case.body))))
        orelse: f.Body = ()
        for case, body in reversed(arms):
            irrefutable = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
            if irrefutable and case.guard is None:
                orelse = body
                continue
            line = case.pattern.lineno
            test: f.Expr
            pattern = case.pattern
            position = (line, subject_column, line, subject_column)
            if isinstance(pattern, (ast.MatchValue, ast.MatchSingleton)):
                is_value = isinstance(pattern, ast.MatchValue)
                right = (
                    self.expr(pattern.value) if isinstance(pattern, ast.MatchValue) else f.Const(repr(pattern.value))
                )
                test = f.Compare(subject, ("==" if is_value else "is",), (right,), position)
            else:
                test = f.Compare(subject, ("match",), (f.Const(repr(ast.unparse(pattern))),), position)
            if case.guard is not None:
                guard = self.expr(case.guard)
                test = guard if irrefutable else f.BoolOp("and", (test, guard), position)
            orelse = (f.If(line, test, body, orelse, subject_column),)
        if len(orelse) == 1:
            return orelse[0]
        return f.If(s.lineno, f.Const("True"), orelse, (), subject_column) if orelse else None

    # ------------------------------------------------------------------ functions
    def _unique(self, name: str) -> str:
        """A qualified name; a second definition of the same name (an overload, the other arm) gets a number."""
        qualname = f"{self._qualname}.{name}" if self._qualname else name
        count = self._names[qualname] = self._names.get(qualname, 0) + 1
        return qualname if count == 1 else f"{qualname}@{count}"

    def lambda_function(self, n: ast.Lambda) -> str:
        self._lambdas += 1
        body: list[ast.stmt] = [ast.copy_location(ast.Return(n.body), n)]
        return self.function(f"<lambda{self._lambdas}>", n.lineno, n.args, body, [], None, False)

    def function(
        self,
        name: str,
        line: int,
        arguments: ast.arguments,
        body: list[ast.stmt],
        decorators: list[ast.expr],
        returns: ast.expr | None,
        is_async: bool,
    ) -> str:
        parameters = self.parameters(arguments)
        lowered_decorators = self.exprs(decorators)
        lowered_returns = self.optional(returns)
        qualname = self._unique(name)
        saved = self._qualname, self._owner, self._parent, self._is_generator
        owner, parent = self._owner, self._parent
        self._qualname, self._owner, self._parent, self._is_generator = qualname, None, qualname, False
        place = len(self.functions)
        self.functions.append(None)
        lowered = self.body(body)
        self.functions[place] = f.FunctionFacts(
            qualname,
            line,
            parameters,
            lowered_decorators,
            lowered,
            lowered_returns,
            self._is_generator,
            is_async,
            owner,
            parent,
        )
        self._qualname, self._owner, self._parent, self._is_generator = saved
        return qualname

    def parameters(self, a: ast.arguments) -> tuple[f.Parameter, ...]:
        positional = a.posonlyargs + a.args
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(a.defaults))
        defaults += a.defaults
        out = [
            f.Parameter(p.arg, self.optional(p.annotation), self.optional(d), "normal")
            for p, d in zip(positional, defaults, strict=True)
        ]
        if a.vararg:
            out.append(f.Parameter(a.vararg.arg, self.optional(a.vararg.annotation), None, "*"))
        out += [
            f.Parameter(p.arg, self.optional(p.annotation), self.optional(d), "keyword")
            for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)
        ]
        if a.kwarg:
            out.append(f.Parameter(a.kwarg.arg, self.optional(a.kwarg.annotation), None, "**"))
        return tuple(out)


_L = _Lowering
_STMT: dict[type, Callable[[_Lowering, Any], f.Stmt | None]] = {
    ast.Expr: _L._expr_stmt,
    ast.Assign: _L._assign,
    ast.AnnAssign: _L._ann_assign,
    ast.AugAssign: _L._aug_assign,
    ast.If: _L._if,
    ast.For: _L._for,
    ast.AsyncFor: _L._for,
    ast.While: _L._while,
    ast.Try: _L._try,
    ast.TryStar: _L._try,
    ast.With: _L._with,
    ast.AsyncWith: _L._with,
    ast.Return: _L._return,
    ast.Raise: _L._raise,
    ast.Break: _L._break,
    ast.Continue: _L._continue,
    ast.Assert: _L._assert,
    ast.Delete: _L._delete,
    ast.Global: _L._scope,
    ast.Nonlocal: _L._scope,
    ast.FunctionDef: _L._function,
    ast.AsyncFunctionDef: _L._function,
    ast.ClassDef: _L._class,
    ast.Import: _L._import,
    ast.ImportFrom: _L._import_from,
    ast.Match: _L._match,
}
