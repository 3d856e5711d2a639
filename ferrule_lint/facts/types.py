"""What is kept of a source file: modules, imports, classes, functions and structured bodies.

Facts are a pure function of a file's bytes. Nodes are named tuples: they are made by the hundred thousand, so they
have to be cheap to build, and they are immutable, picklable and free of any `ast` object. Nodes of different classes
can compare equal as tuples; the analysis therefore always dispatches on `type(node)` and keys on rendered text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias, dataclass_transform

if TYPE_CHECKING:
    # To a type checker nodes are classes and no tuples: a union of tuples that hold it again is compared member by
    # member at each test of `type(node)`, and mypy takes twenty times as long.
    @dataclass_transform(frozen_default=True)
    class Node(tuple[Any, ...]):
        _fields: ClassVar[tuple[str, ...]]

        def _replace(self, **changes: Any) -> Self: ...

else:
    from typing import NamedTuple as Node

#: line, column, end line, end column: from 1, in characters, end exclusive
Pos: TypeAlias = tuple[int, int, int, int]

#: changes whenever the meaning or form of facts changes; part of every cache key
FACTS_VERSION = 8


class Name(Node):
    id: str
    pos: Pos


class Attr(Node):
    base: Expr
    attr: str
    pos: Pos


class Call(Node):
    func: Expr
    args: tuple[Expr, ...]
    #: (name, value); the name of `**kwargs` is None
    keywords: tuple[tuple[str | None, Expr], ...]
    pos: Pos


class Const(Node):
    #: repr of the value, long strings cut
    text: str
    #: how a number is written where that is another text (`1e9`), else ""
    written: str = ""


class Not(Node):
    operand: Expr


class BoolOp(Node):
    #: "and" or "or"
    op: str
    values: tuple[Expr, ...]
    pos: Pos


class Compare(Node):
    left: Expr
    #: "is", "is not", "==", "!=", "in", "not in", "<", "<=", ">", ">=", "match"
    ops: tuple[str, ...]
    rights: tuple[Expr, ...]
    pos: Pos


class Op(Node):
    """Any other operator, by the name of its kind ("Add", "USub", "FString", "Slice", "Await", ...)."""

    kind: str
    operands: tuple[Expr, ...]


class Sequence(Node):
    """A list or tuple display."""

    kind: str
    elements: tuple[Expr, ...]


class SetDisplay(Node):
    elements: tuple[Expr, ...]
    pos: Pos


class DictDisplay(Node):
    """The key of `**other` is None."""

    keys: tuple[Expr | None, ...]
    values: tuple[Expr, ...]


class Subscript(Node):
    base: Expr
    index: Expr  # type: ignore[assignment]  # hides tuple.index, which nothing here calls
    pos: Pos


class IfExp(Node):
    test: Expr
    body: Expr
    orelse: Expr
    pos: Pos


class Generator(Node):
    """One `for target in iterable if ...` of a comprehension."""

    target: Expr
    iterable: Expr
    conditions: tuple[Expr, ...]


class Comprehension(Node):
    #: "list", "set", "dict", "generator"
    kind: str
    generators: tuple[Generator, ...]
    elements: tuple[Expr, ...]
    pos: Pos


class Lambda(Node):
    #: qualified name of the function that holds its body
    qualname: str
    pos: Pos


class Yield(Node):
    #: `yield from xs` yields `*xs`
    value: Expr | None
    pos: Pos


class Starred(Node):
    value: Expr


class Walrus(Node):
    name: str
    value: Expr


Expr: TypeAlias = (
    Name
    | Attr
    | Call
    | Const
    | Not
    | BoolOp
    | Compare
    | Op
    | Sequence
    | SetDisplay
    | DictDisplay
    | Subscript
    | IfExp
    | Comprehension
    | Lambda
    | Yield
    | Starred
    | Walrus
)


class ExprStmt(Node):
    line: int
    value: Expr


class Assign(Node):
    line: int
    targets: tuple[Expr, ...]
    #: None for a bare annotation
    value: Expr | None
    annotation: Expr | None


class AugAssign(Node):
    line: int
    target: Expr
    op: str
    value: Expr


class If(Node):
    line: int
    test: Expr
    body: Body
    orelse: Body
    #: column of the test, from 1
    column: int


class For(Node):
    line: int
    target: Expr
    iterable: Expr
    body: Body
    orelse: Body
    column: int


class While(Node):
    line: int
    test: Expr
    body: Body
    orelse: Body
    column: int


class Handler(Node):
    line: int
    type: Expr | None
    name: str | None
    body: Body


class Try(Node):
    line: int
    body: Body
    handlers: tuple[Handler, ...]
    orelse: Body
    final: Body


class With(Node):
    line: int
    #: (context expression, target or None)
    items: tuple[tuple[Expr, Expr | None], ...]
    body: Body


class Return(Node):
    line: int
    value: Expr | None


class Raise(Node):
    line: int
    value: Expr | None


class Break(Node):
    line: int


class Continue(Node):
    line: int


class FunctionDef(Node):
    line: int
    name: str
    qualname: str


class ClassDef(Node):
    line: int
    name: str
    qualname: str


class Assert(Node):
    line: int
    test: Expr


class Delete(Node):
    line: int
    targets: tuple[Expr, ...]


class ScopeDecl(Node):
    """`global` or `nonlocal`."""

    line: int
    kind: str
    names: tuple[str, ...]


Stmt: TypeAlias = (
    ExprStmt
    | Assign
    | AugAssign
    | If
    | For
    | While
    | Try
    | With
    | Return
    | Raise
    | Break
    | Continue
    | FunctionDef
    | ClassDef
    | Assert
    | Delete
    | ScopeDecl
)
Body: TypeAlias = tuple[Stmt, ...]


class Import(Node):
    """`import module as alias` (name None) or `from module import name as alias`; level counts leading dots. The name
    is empty where a call names the module: `import_module("a.b")`, or `a.` for `import_module(f"a.{kind}")`."""

    module: str
    name: str | None
    alias: str | None
    level: int
    line: int


class Parameter(Node):
    name: str
    annotation: Expr | None
    default: Expr | None
    #: "normal", "*", "keyword", "**"
    kind: str


class FunctionFacts(Node):
    qualname: str
    line: int
    parameters: tuple[Parameter, ...]
    decorators: tuple[Expr, ...]
    body: Body
    returns: Expr | None
    is_generator: bool
    is_async: bool
    #: qualified name of the class whose method this is, or None
    owner: str | None
    #: qualified name of the function this is nested in, or None
    parent: str | None


class ClassFacts(Node):
    qualname: str
    line: int
    bases: tuple[Expr, ...]
    decorators: tuple[Expr, ...]
    #: assignments and nested definitions of the class body
    body: Body


class SuppressionComment(Node):
    """One code of a comment that suppresses findings, and the lines in which it does so."""

    #: "ignore", "noqa", "block" or "file"; "malformed": a comment that suppresses nothing, and `text` says why;
    #: "misplaced": one that states a fact of nothing (see `stated`), likewise
    form: str
    #: empty if it is malformed or misplaced
    code: str
    #: where the code stands; where the comment stands if it is malformed or misplaced
    line: int
    column: int
    end_column: int
    #: where it counts, both ends included
    first: int
    last: int
    #: the reason that the comment gives
    text: str


class FileFacts(Node):
    lines: int
    imports: tuple[Import, ...]
    classes: tuple[ClassFacts, ...]
    functions: tuple[FunctionFacts, ...]
    body: Body
    suppressions: tuple[SuppressionComment, ...] = ()
    #: every identifier that stands in an expression, attributes and imported names included; sorted
    names: tuple[str, ...] = ()


#: every node class, by which the codec tags what it writes
NODES: tuple[type, ...] = (
    Name, Attr, Call, Const, Not, BoolOp, Compare, Op, Sequence, SetDisplay, DictDisplay, Subscript, IfExp, Generator,
    Comprehension, Lambda, Yield, Starred, Walrus, ExprStmt, Assign, AugAssign, If, For, While, Handler, Try, With,
    Return, Raise, Break, Continue, FunctionDef, ClassDef, Assert, Delete, ScopeDecl, Import, Parameter, FunctionFacts,
    ClassFacts, SuppressionComment, FileFacts,
)  # fmt: skip
