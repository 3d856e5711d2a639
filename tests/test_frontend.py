"""Source bytes -> facts: every form of expression and statement, positions, codings, depth, purity."""

from __future__ import annotations

import ast
import pickle
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ferrule_lint.facts import types as f
from ferrule_lint.frontend.errors import SourceError
from ferrule_lint.frontend.lower import extract
from ferrule_lint.frontend.newer_syntax import as_older


# ---------------------------------------------------------------------- helpers
def facts(source: str) -> f.FileFacts:
    return extract(source.encode())


def assert_in_the_same_places(source: str) -> None:
    """That an older parser is given something, with as many bytes in each line."""
    older = as_older(source.encode())
    assert older is not None
    assert [len(line) for line in older.splitlines()] == [len(line.encode()) for line in source.splitlines()]


def stmt(source: str) -> Any:
    """The only statement."""
    (only,) = facts(source).body
    return only


def expr(source: str) -> Any:
    statement = stmt(f"x = {source}\n")
    assert type(statement) is f.Assign
    return statement.value


def show(node: Any) -> str:
    """Compact text of a node, without places."""
    if node is None:
        return "None"
    match node:
        case f.Name():
            return str(node.id)
        case f.Attr():
            return f"{show(node.base)}.{node.attr}"
        case f.Const():
            return str(node.text)
        case str() | bool() | int():
            return repr(node)
    if hasattr(node, "_fields"):
        fields = [name for name in node._fields if name not in ("pos", "line", "column")]
        return f"{type(node).__name__}({', '.join(show(getattr(node, name)) for name in fields)})"
    assert type(node) is tuple
    return f"[{', '.join(map(show, node))}]"


def shown(source: str) -> str:
    return show(expr(source))


def function(source: str, qualname: str = "f") -> f.FunctionFacts:
    (found,) = [fn for fn in facts(source).functions if fn.qualname == qualname]
    return found


def objects(root: Any) -> Iterator[Any]:
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if isinstance(node, tuple):
            stack.extend(node)


def names(source: str) -> list[str]:
    return [n.id for n in objects(facts(source)) if type(n) is f.Name]


# ---------------------------------------------------------------------- expressions
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a", "a"),
        ("a.b.c", "a.b.c"),
        ("f()", "Call(f, [], [])"),
        ("f(a, *b, c=d, **e)", "Call(f, [a, Starred(b)], [['c', d], [None, e]])"),
        ("1", "1"),
        ("-1", "-1"),
        ("-1.5", "-1.5"),
        ("- -1", "Op('USub', [-1])"),
        ("-a", "Op('USub', [a])"),
        ("+a", "Op('UAdd', [a])"),
        ("~a", "Op('Invert', [a])"),
        ("not a", "Not(a)"),
        ("True", "True"),
        ("None", "None"),
        ("...", "Ellipsis"),
        ("'s'", "'s'"),
        ("'a' 'b'", "'ab'"),
        ("b's'", "b's'"),
        ("2j", "2j"),
        ("10 ** 3", "Op('Pow', [10, 3])"),
        ("a and b and c", "BoolOp('and', [a, b, c])"),
        ("a or b and c", "BoolOp('or', [a, BoolOp('and', [b, c])])"),
        ("a == b", "Compare(a, ['=='], [b])"),
        ("a < b <= c", "Compare(a, ['<', '<='], [b, c])"),
        ("a + b + c", "Op('Add', [a, b, c])"),
        ("a + (b + c)", "Op('Add', [a, Op('Add', [b, c])])"),
        ("a - b + c", "Op('Add', [Op('Sub', [a, b]), c])"),
        ("a @ b", "Op('MatMult', [a, b])"),
        ("a // b", "Op('FloorDiv', [a, b])"),
        ("a << b", "Op('LShift', [a, b])"),
        ("[a, *b]", "Sequence('list', [a, Starred(b)])"),
        ("(a, b)", "Sequence('tuple', [a, b])"),
        ("()", "Sequence('tuple', [])"),
        ("{a, b}", "SetDisplay([a, b])"),
        ("{a: b, **c}", "DictDisplay([a, None], [b, c])"),
        ("{}", "DictDisplay([], [])"),
        ("a[b]", "Subscript(a, b)"),
        ("a[b, c]", "Subscript(a, Sequence('tuple', [b, c]))"),
        ("a[*b]", "Subscript(a, Sequence('tuple', [Starred(b)]))"),
        ("a[:]", "Subscript(a, Op('Slice', [None, None, None]))"),
        ("a[b:c:d, 0]", "Subscript(a, Sequence('tuple', [Op('Slice', [b, c, d]), 0]))"),
        ("a if b else c", "IfExp(b, a, c)"),
        ("[a for a in b if c if d]", "Comprehension('list', [Generator(a, b, [c, d])], [a])"),
        ("{a for a in b}", "Comprehension('set', [Generator(a, b, [])], [a])"),
        ("{a: b for a, b in c}", "Comprehension('dict', [Generator(Sequence('tuple', [a, b]), c, [])], [a, b])"),
        ("(a for b in c for a in b)", "Comprehension('generator', [Generator(b, c, []), Generator(a, b, [])], [a])"),
        ("(y := a)", "Walrus('y', a)"),
        ("f(y := a)", "Call(f, [Walrus('y', a)], [])"),
        ("f'a'", "Op('FString', [])"),
        ("f'a{b}c{d!r}'", "Op('FString', [b, d])"),
        ("f'{a:>{b}}'", "Op('FString', [a, b])"),
        ("f'{a=}'", "Op('FString', [a])"),
        ("'u' f'{a}'", "Op('FString', [a])"),
        ("a, *b", "Sequence('tuple', [a, Starred(b)])"),
    ],
)
def test_expression(source: str, expected: str) -> None:
    assert shown(source) == expected


@pytest.mark.parametrize("op", ["is", "is not", "==", "!=", "in", "not in", "<", "<=", ">", ">="])
def test_comparison_operators(op: str) -> None:
    assert shown(f"a {op} b") == f"Compare(a, [{op!r}], [b])"


@pytest.mark.parametrize(
    ("op", "kind"),
    [("+", "Add"), ("-", "Sub"), ("*", "Mult"), ("/", "Div"), ("%", "Mod"), ("|", "BitOr"), ("^", "BitXor"),
     ("&", "BitAnd"), (">>", "RShift"), ("**", "Pow")],
)  # fmt: skip
def test_binary_and_augmented_operators(op: str, kind: str) -> None:
    assert shown(f"a {op} b") == f"Op({kind!r}, [a, b])"
    assert show(stmt(f"a {op}= b")) == f"AugAssign(a, {kind!r}, b)"


def test_power_chain_keeps_its_order() -> None:
    assert shown("a ** b ** c") == "Op('Pow', [a, Op('Pow', [b, c])])"


def test_expressions_inside_an_fstring_are_lowered_once() -> None:
    source = "x = f'{g(f\"{a}\"):{w(lambda: b)}}'\n"
    assert shown(source[4:]) == "Op('FString', [Call(g, [Op('FString', [a])], []), Call(w, [Lambda('<lambda1>')], [])])"
    assert [fn.qualname for fn in facts(source).functions] == ["<lambda1>"]


def test_constants_are_bounded() -> None:
    assert len(expr(repr("s" * 100_000)).text) < 100
    assert len(expr(repr(b"s" * 100_000)).text) < 100
    assert expr("0x" + "f" * 10_000).text == "<int>"
    assert expr("-0x" + "f" * 10_000).text == "-<int>"
    assert expr("1e999").text == "inf"
    assert [expr(number).written for number in ("1e9", "0x10", "1_0", "10", "1.0", "-1e9")] == [
        "1e9", "0x10", "1_0", "", "", "-1e9"
    ]  # fmt: skip


def test_a_decimal_integer_too_long_for_the_parser() -> None:
    with pytest.raises(SourceError) as caught:
        facts("x = " + "9" * 5000)
    assert caught.value.line == 1


def test_await_is_transparent_and_yield_marks_the_function() -> None:
    source = "async def f():\n    x = await g()\n    yield x\n"
    fn = function(source)
    assert fn.is_async and fn.is_generator
    assert [show(s) for s in fn.body] == ["Assign([x], Call(g, [], []), None)", "ExprStmt(Yield(x))"]
    assert show(function("def f():\n    y = yield\n").body) == "[Assign([y], Yield(None), None)]"
    assert show(function("def f():\n    yield from g()\n").body) == "[ExprStmt(Yield(Starred(Call(g, [], []))))]"


def test_a_nested_generator_does_not_mark_the_outer_function() -> None:
    source = "def f():\n    def g():\n        yield\n    return lambda: (yield)\n"
    marks = {fn.qualname: fn.is_generator for fn in facts(source).functions}
    assert marks == {"f": False, "f.g": True, "f.<lambda1>": True}


def test_async_comprehension() -> None:
    fn = function("async def f():\n    return [a async for a in b if await c]\n")
    assert show(fn.body) == "[Return(Comprehension('list', [Generator(a, b, [c])], [a]))]"


# ---------------------------------------------------------------------- statements
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("f()", "ExprStmt(Call(f, [], []))"),
        ("a = b = c", "Assign([a, b], c, None)"),
        ("a, (b, *c) = d", "Assign([Sequence('tuple', [a, Sequence('tuple', [b, Starred(c)])])], d, None)"),
        ("a.b[c] = d", "Assign([Subscript(a.b, c)], d, None)"),
        ("a: int", "Assign([a], None, int)"),
        ("a: int = b", "Assign([a], b, int)"),
        ("a @= b", "AugAssign(a, 'MatMult', b)"),
        ("a //= b", "AugAssign(a, 'FloorDiv', b)"),
        ("if a:\n  b()", "If(a, [ExprStmt(Call(b, [], []))], [])"),
        ("if a:\n  b = 1\nelse:\n  c = 2", "If(a, [Assign([b], 1, None)], [Assign([c], 2, None)])"),
        (
            "if a:\n  pass\nelif b:\n  x = 1\nelse:\n  y = 2",
            "If(a, [], [If(b, [Assign([x], 1, None)], [Assign([y], 2, None)])])",
        ),
        (
            "for a in b:\n  break\nelse:\n  c = 1",
            "For(a, b, [Break()], [Assign([c], 1, None)])",
        ),
        ("while a:\n  continue\nelse:\n  c = 1", "While(a, [Continue()], [Assign([c], 1, None)])"),
        (
            "try:\n  a = 1\nexcept E as e:\n  b = 1\nexcept (F, G):\n  pass\nexcept:\n  raise\n"
            "else:\n  c = 1\nfinally:\n  d = 1",
            "Try([Assign([a], 1, None)], [Handler(E, 'e', [Assign([b], 1, None)]), "
            "Handler(Sequence('tuple', [F, G]), None, []), Handler(None, None, [Raise(None)])], "
            "[Assign([c], 1, None)], [Assign([d], 1, None)])",
        ),
        ("try:\n  a = 1\nfinally:\n  b = 1", "Try([Assign([a], 1, None)], [], [], [Assign([b], 1, None)])"),
        ("try:\n  a = 1\nexcept* E as e:\n  pass", "Try([Assign([a], 1, None)], [Handler(E, 'e', [])], [], [])"),
        ("with a, b() as c:\n  pass", "With([[a, None], [Call(b, [], []), c]], [])"),
        ("with (a as b, c as (d, e)):\n  pass", "With([[a, b], [c, Sequence('tuple', [d, e])]], [])"),
        ("raise a", "Raise(a)"),
        ("raise a from b", "Raise(a)"),
        ("assert a, b", "Assert(a)"),
        ("del a, b[c]", "Delete([a, Subscript(b, c)])"),
        ("global a, b", "ScopeDecl('global', ['a', 'b'])"),
    ],
)  # fmt: skip
def test_statement(source: str, expected: str) -> None:
    assert show(stmt(source)) == expected


def test_statements_without_effect_are_dropped() -> None:
    assert facts('"""doc"""\npass\n...\n1\nif a:\n    pass\n').body[0][0] == 5
    assert function('def f():\n    """doc"""\n').body == ()


def test_nonlocal_and_return() -> None:
    source = "def f():\n    a = 1\n    def g():\n        nonlocal a\n        return\n    return g, a\n"
    assert show(function(source, "f.g").body) == "[ScopeDecl('nonlocal', ['a']), Return(None)]"
    assert show(function(source).body[-1]) == "Return(Sequence('tuple', [g, a]))"


def test_async_for_and_with() -> None:
    fn = function("async def f():\n    async for a in b():\n        pass\n    async with c as d:\n        await e\n")
    assert [show(s) for s in fn.body] == ["For(a, Call(b, [], []), [], [])", "With([[c, d]], [ExprStmt(e)])"]


def test_lines_and_columns_of_statements() -> None:
    source = "if a:\n    pass\nelif  b:\n    while not c:\n        for d in  e:\n            f()\n"
    first = stmt(source)
    (second,) = first.orelse
    (loop,) = second.body
    (inner,) = loop.body
    assert [(n.line, n.column) for n in (first, second, loop, inner)] == [(1, 4), (3, 7), (4, 11), (5, 19)]


# ---------------------------------------------------------------------- match
def arms(source: str) -> list[tuple[str, str]]:
    """(test, body) of each arm of the one `match`; the test of a final default is "else"."""
    out: list[tuple[str, str]] = []
    rest: tuple[Any, ...] = (stmt(source),)
    while len(rest) == 1 and type(rest[0]) is f.If:
        out.append((show(rest[0].test), show(rest[0].body)))
        rest = rest[0].orelse
    return out + ([("else", show(rest))] if rest else [])


@pytest.mark.parametrize(
    ("pattern", "test", "captured"),
    [
        ("0", "Compare(s, ['=='], [0])", ""),
        ("-1", "Compare(s, ['=='], [-1])", ""),
        ("'a'", "Compare(s, ['=='], ['a'])", ""),
        ("a.B", "Compare(s, ['=='], [a.B])", ""),
        ("None", "Compare(s, ['is'], [None])", ""),
        ("True", "Compare(s, ['is'], [True])", ""),
        ("1 | 2", "'1 | 2'", ""),
        ("[a, b]", "'[a, b]'", "a b"),
        ("[a, *rest]", "'[a, *rest]'", "a rest"),
        ("[a, *_]", "'[a, *_]'", "a"),
        ("{'k': v, **rest}", "\"{'k': v, **rest}\"", "rest v"),
        ("C(a, k=b)", "'C(a, k=b)'", "a b"),
        ("C() as c", "'C() as c'", "c"),
        ("(1 | 2) as n", "'1 | 2 as n'", "n"),
        ("[a] | (a, _)", "'[a] | [a, _]'", "a"),
        ("[C(x=[a]), {'k': b}]", "\"[C(x=[a]), {'k': b}]\"", "a b"),
    ],
)
def test_pattern(pattern: str, test: str, captured: str) -> None:
    arm = stmt(f"match s:\n    case {pattern}:\n        pass\n")
    if test.startswith("Compare"):
        assert show(arm.test) == test
    else:
        assert (show(arm.test.left), arm.test.ops) == ("s", ("match",))
        assert ast.literal_eval(arm.test.rights[0].text) == ast.literal_eval(test)
    assert sorted(show(s) for s in arm.body) == [f"Assign([{n}], Op('Capture', [s]), None)" for n in captured.split()]


def test_match_arms_in_order_with_default() -> None:
    source = "match s:\n    case 1:\n        a()\n    case 2:\n        b()\n    case _:\n        c()\n"
    assert arms(source) == [
        ("Compare(s, ['=='], [1])", "[ExprStmt(Call(a, [], []))]"),
        ("Compare(s, ['=='], [2])", "[ExprStmt(Call(b, [], []))]"),
        ("else", "[ExprStmt(Call(c, [], []))]"),
    ]
    assert stmt(source).line == 2
    assert stmt(source).orelse[0].line == 4


def test_match_guards() -> None:
    source = "match s:\n    case 1 if g:\n        a()\n    case _ if h:\n        b()\n    case x:\n        c()\n"
    assert arms(source) == [
        ("BoolOp('and', [Compare(s, ['=='], [1]), g])", "[ExprStmt(Call(a, [], []))]"),
        ("h", "[ExprStmt(Call(b, [], []))]"),
        ("else", "[Assign([x], Op('Capture', [s]), None), ExprStmt(Call(c, [], []))]"),
    ]


def test_match_with_only_a_default() -> None:
    assert arms("match s:\n    case x:\n        c()\n") == [
        ("True", "[Assign([x], Op('Capture', [s]), None), ExprStmt(Call(c, [], []))]")
    ]
    assert facts("match s:\n    case _:\n        pass\n").body == ()


# ---------------------------------------------------------------------- functions and classes
def test_parameters() -> None:
    source = "def f(a, /, b: int, c=1, *args: str, d, e: float = 2, **kwargs) -> bool: ...\n"
    fn = function(source)
    assert [show(tuple(p)) for p in fn.parameters] == [
        "['a', None, None, 'normal']",
        "['b', int, None, 'normal']",
        "['c', None, 1, 'normal']",
        "['args', str, None, '*']",
        "['d', None, None, 'keyword']",
        "['e', float, 2, 'keyword']",
        "['kwargs', None, None, '**']",
    ]
    assert show(fn.returns) == "bool"
    assert [p.kind for p in function("def f(*, a): ...\n").parameters] == ["keyword"]


def test_nesting_owner_and_parent() -> None:
    source = (
        "class C(B, metaclass=M):\n"
        "    x: int = 0\n"
        "    def m(self):\n"
        "        def inner(): pass\n"
        "        class Local:\n"
        "            def deep(self): pass\n"
        "    class Nested:\n"
        "        def n(self): pass\n"
        "def after(): pass\n"
    )
    found = facts(source)
    assert [(fn.qualname, fn.owner, fn.parent) for fn in found.functions] == [
        ("C.m", "C", None),
        ("C.m.inner", None, "C.m"),
        ("C.m.Local.deep", "C.m.Local", "C.m"),
        ("C.Nested.n", "C.Nested", None),
        ("after", None, None),
    ]
    assert [c.qualname for c in found.classes] == ["C", "C.m.Local", "C.Nested"]
    assert show(found.classes[0].bases) == "[B]"
    assert [type(s).__name__ for s in found.classes[0].body] == ["Assign", "FunctionDef", "ClassDef"]
    assert [show(s) for s in found.body] == ["ClassDef('C', 'C')", "FunctionDef('after', 'after')"]


def test_decorators_belong_to_the_definition() -> None:
    source = "@a\n@b.c(lambda: 1)\ndef f(): pass\n@d(e=1)\nclass C: pass\n"
    assert show(function(source).decorators) == "[a, Call(b.c, [Lambda('<lambda1>')], [])]"
    assert show(facts(source).classes[0].decorators) == "[Call(d, [], [['e', 1]])]"
    assert function(source).line == 3


def test_redefinitions_are_numbered_in_order_of_appearance() -> None:
    source = "if a:\n    def f(): one()\nelse:\n    def f(): two()\ndef f(): three()\nclass f: pass\n"
    found = facts(source)
    assert [(fn.qualname, fn.line) for fn in found.functions] == [("f", 2), ("f@2", 4), ("f@3", 5)]
    assert found.classes[0].qualname == "f@4"
    assert show(found.body[0]) == "If(a, [FunctionDef('f', 'f')], [FunctionDef('f', 'f@2')])"


def test_redefinition_in_the_arms_of_an_elif_chain() -> None:
    source = "if a:\n    def f(): pass\nelif b:\n    def f(): pass\nelse:\n    def f(): pass\n"
    assert [(fn.qualname, fn.line) for fn in facts(source).functions] == [("f", 2), ("f@2", 4), ("f@3", 6)]


def test_inner_functions_of_a_redefinition() -> None:
    source = "def f():\n    def g(): pass\ndef f():\n    def g(): pass\n"
    assert [fn.qualname for fn in facts(source).functions] == ["f", "f.g", "f@2", "f@2.g"]


def test_lambdas() -> None:
    source = "def f(key=lambda v, *, w=1: v.a):\n    return lambda: (lambda: key)\n"
    found = facts(source)
    assert [(fn.qualname, fn.parent) for fn in found.functions] == [
        ("<lambda1>", None),
        ("f", None),
        ("f.<lambda2>", "f"),
        ("f.<lambda2>.<lambda3>", "f.<lambda2>"),
    ]
    assert show(found.functions[0].body) == "[Return(v.a)]"
    assert [p.name for p in found.functions[0].parameters] == ["v", "w"]
    assert show(function(source).parameters[0].default) == "Lambda('<lambda1>')"


def test_imports() -> None:
    source = (
        "import a, b.c as d\nfrom e import f, g as h\nfrom . import i\nfrom ...j.k import *\ndef fn():\n    import l\n"
    )
    assert [tuple(i) for i in facts(source).imports] == [
        ("a", None, None, 0, 1),
        ("b.c", None, "d", 0, 1),
        ("e", "f", None, 0, 2),
        ("e", "g", "h", 0, 2),
        ("", "i", None, 1, 3),
        ("j.k", "*", None, 3, 4),
        ("l", None, None, 0, 6),
    ]


# ---------------------------------------------------------------------- newer syntax
@pytest.mark.skipif(sys.version_info >= (3, 12), reason="legal from Python 3.12 on")
def test_f_strings_of_a_newer_python_are_read_as_plain_ones() -> None:
    source = 'print(f"{d["a"]}", x)\ny = f"{c}"\nz = f\'{\n  a\n}\' + b\nw = f"""ä\n{d["""k"""]}"""; v = 1\n'
    assert_in_the_same_places(source)
    body = facts(source).body
    assert [show(s) for s in body[1:]] == [
        "Assign([y], Op('FString', [c]), None)",
        "Assign([z], Op('Add', ['xxx', b]), None)",
        "Assign([w], 'xx\\nxxxxxxxxxxxx', None)",
        "Assign([v], 1, None)",
    ]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="legal from Python 3.12 on")
def test_an_f_string_of_a_newer_python_in_a_file_that_is_broken_anyway() -> None:
    with pytest.raises(SourceError, match=r"from 3\.12 on this may be legal"):
        extract(b'print(f"{d["a"]}")\nprint 1\n')


def test_parameters_of_types_and_aliases_are_read_alike_by_every_python() -> None:
    source = (
        "type X = int\ntype Y[T] = (\n    list[T]\n    | None\n)\ndef f[T: int, *Ts, **P](a: T) -> T: return a\n"
        "class C[\n    T,  # ä\n](B[int]):\n    pass; type Z = int; y = 1\n    type = 3\n"
    )
    found = facts(source)
    assert [show(s) for s in found.body] == ["FunctionDef('f', 'f')", "ClassDef('C', 'C')"]
    assert [show(s) for s in found.classes[0].body] == ["Assign([y], 1, None)", "Assign([type], 3, None)"]
    assert show(function(source).parameters[0].annotation) == "T"
    base = f.Subscript(f.Name("B", (9, 3, 9, 4)), f.Name("int", (9, 5, 9, 8)), (9, 3, 9, 9))
    assert found.classes[0].bases == (base,)
    default = facts("class C[T = int]: pass\n")  # of Python 3.13
    assert [c.qualname for c in default.classes] == ["C"]


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="legal from Python 3.12 on")
def test_what_an_older_python_is_given_takes_up_the_same_places() -> None:
    assert_in_the_same_places("class C[\n  ä,\n](B): pass\ntype X[T] = (\n  T\n)\n")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="syntax of Python 3.12")
def test_python_312() -> None:
    assert shown("f'{a['k']} {f'{b}'!r:{c}}'") == "Op('FString', [Subscript(a, 'k'), Op('FString', [b]), c])"
    assert shown("f'{\n  a  # comment }\n}'") == "Op('FString', [a])"


@pytest.mark.skipif(sys.version_info < (3, 13), reason="syntax of Python 3.13")
def test_python_313() -> None:
    found = facts("class C[T = int]: pass\ndef f[T = g()](): pass\ntype X[*Ts = *tuple[int]] = int\n")
    assert [show(s) for s in found.body] == ["ClassDef('C', 'C')", "FunctionDef('f', 'f')"]


@pytest.mark.skipif(sys.version_info < (3, 14), reason="syntax of Python 3.14")
def test_python_314() -> None:
    assert {"a", "b", "c"} <= set(names("x = t'{a} {b!r:>{c}}'\n"))
    assert show(stmt("try:\n  pass\nexcept A, B:\n  pass\n").handlers[0].type) == "Sequence('tuple', [A, B])"


# ---------------------------------------------------------------------- text of the file
def columns(source: bytes) -> dict[str, f.Pos]:
    return {n.id: n.pos for n in objects(extract(source)) if type(n) is f.Name}


def test_positions_are_from_one_with_exclusive_end() -> None:
    assert columns(b"a.b(\n  c)\n")["c"] == (2, 3, 2, 4)
    call = stmt("a.b(\n  c)\n").value
    assert call.pos == (1, 1, 2, 5)
    assert call.func.pos == (1, 1, 1, 4)


def test_columns_are_in_characters() -> None:
    found = columns("x = ('äöü', '\U0001f600', größe, y)\nz = w\n".encode())
    assert found["größe"] == (1, 18, 1, 23)
    assert found["y"] == (1, 25, 1, 26)
    assert found["w"] == (2, 5, 2, 6)
    assert stmt("'é'; \nif 'é' in a: pass\n").column == 4
    assert stmt("for ä in b: pass\n").column == 10
    assert stmt("if 'é' and (a if 'ü' else b): pass\n").test.values[1].test.text == "'ü'"


def test_byte_order_mark() -> None:
    assert columns("\ufeffé = a\n".encode()) == {"é": (1, 1, 1, 2), "a": (1, 5, 1, 6)}
    assert extract(b"\xef\xbb\xbfx = a\n") == extract(b"x = a\n")


def test_latin_1_with_a_coding_line() -> None:
    source = "# -*- coding: latin-1 -*-\nx = 'é', y, é\n".encode("latin-1")
    assert columns(source) == {"x": (2, 1, 2, 2), "y": (2, 10, 2, 11), "é": (2, 13, 2, 14)}


def test_line_ends_and_form_feed() -> None:
    unix = b"x = '\xc3\xa9', y\n\x0cdef f():\n    z\n"
    assert extract(unix.replace(b"\n", b"\r\n")) == extract(unix)
    assert extract(unix.replace(b"\n", b"\r")) == extract(unix)
    assert extract(unix).functions[0].line == 2
    assert columns(unix)["y"] == (1, 10, 1, 11)
    assert columns("x = 'é\u2028', y\n'é'; z\n".encode())["z"] == (2, 6, 2, 7)


def test_continued_lines() -> None:
    assert columns(b"x = \\\n    y\n")["y"] == (2, 5, 2, 6)
    assert columns("x = '''é\né''', y\n".encode())["y"] == (2, 7, 2, 8)


@pytest.mark.parametrize(
    ("source", "lines"),
    [(b"", 0), (b"\n", 1), (b"x", 1), (b"x\n", 1), (b"x\ny", 2), (b"x\r\ny\r\n", 2), (b"x\ry\r", 2), (b"x\ry", 2),
     (b"# only\n\n", 2)],
)  # fmt: skip
def test_line_count(source: bytes, lines: int) -> None:
    assert extract(source).lines == lines


def test_positions_inside_fstrings_are_sane() -> None:
    assert columns("x = f'é{a}' + b\n".encode())["b"] == (1, 15, 1, 16)
    for source in ("f'é{a}{b}'", "f'''é\n{a}\né{b}'''", "'é' f'{a}' \\\n  f'{b}'"):
        for place in columns(f"x = {source}\n".encode()).values():
            assert min(place) >= 1


@pytest.mark.parametrize(
    ("source", "line"),
    [
        (b"x = (\n", 1),
        (b"x = 1\ny = = 2\n", 2),
        (b"if a:\nb\n", 2),
        (b"print 'python 2'\n", 1),
        (b"  x\n", 1),
        (b"x = 'a\n", 1),
        (b"a\nx = '\xff'\n", None),
        (b"# coding: no-such-coding\n", None),
        (b"x = 1\x00\n", None),
        (b"\x00", None),
        (b"\xff\xfex\x00", None),
        (b"\x7fELF\x02\x01", None),
    ],
)
def test_not_python(source: bytes, line: int | None) -> None:
    with pytest.raises(SourceError) as caught:
        extract(source)
    assert caught.value.message
    assert caught.value.line >= 0 if line is None else caught.value.line == line


def test_no_warning_escapes_from_the_linted_code(recwarn: pytest.WarningsRecorder) -> None:
    facts("x = '\\d'\ny = 1 is 1\nassert (a, b)\n")
    assert not list(recwarn)


# ---------------------------------------------------------------------- depth and size
@pytest.mark.parametrize(
    ("opening", "closing"),
    [("[", "]"), ("f(", ")"), ("{1: ", "}"), ("a[", "]"), ("(1, ", ")"), ("[b for b in ", "]")],
)
def test_nested_brackets(opening: str, closing: str) -> None:
    source = "x = " + opening * 150 + "y" + closing * 150 + "\n"
    assert "y" in names(source)


def test_the_deepest_brackets_the_parser_allows() -> None:
    assert sorted(names("x = " + "[" * 199 + "y" + "]" * 199 + "\n")) == ["x", "y"]
    with pytest.raises(SourceError):
        facts("x = " + "[" * 100_000)


def test_nested_blocks() -> None:
    for opening in ("if a{0}:", "for a{0} in b:", "while a{0}:", "with a{0}:", "def a{0}():", "class a{0}:"):
        source = "".join(" " * i + opening.format(i) + "\n" for i in range(95)) + " " * 95 + "last()\n"
        assert "last" in names(source)


def test_long_elif_chain() -> None:
    source = "if a == 0:\n    f()\n" + "".join(f"elif a == {i}:\n    f{i}()\n" for i in range(1, 2000))
    (node,) = facts(source).body
    count = 0
    while type(node) is f.If:
        count += 1
        node = node.orelse[0] if node.orelse else f.Break(0)
    assert count == 2000


def test_long_operator_chain() -> None:
    chain = expr(" + ".join(f"a{i}" for i in range(2000)))
    assert chain.kind == "Add"
    assert [n.id for n in chain.operands] == [f"a{i}" for i in range(2000)]


@pytest.mark.parametrize(
    "source",
    [
        " + ".join(["a"] * 5000),
        " + b - ".join(["a"] * 3000),
        "a" + "".join(f".b{i}()" for i in range(1500)),
        "a" + ".b" * 5000,
        "a" + "[0]" * 5000,
        "not " * 5000 + "a",
        "a if b else " * 3000 + "a",
        "lambda: " * 1000 + "a",
        " and ".join(["(a or b)"] * 5000),
        " < ".join(["a"] * 5000),
        "'a' " * 5000,
        "[" + "a, " * 50_000 + "]",
        "(" * 5000 + "a" + ")" * 5000,
    ],
)
def test_extremes_work_or_are_refused(source: str) -> None:
    try:
        assert facts(f"x = {source}\n").body
    except SourceError as error:
        assert error.message


def test_a_method_chain_of_ordinary_length() -> None:
    found = facts("x = a" + "".join(f".b{i}()" for i in range(150)) + "\n")
    assert [n.attr for n in objects(found) if type(n) is f.Attr] == [f"b{i}" for i in reversed(range(150))]


# ---------------------------------------------------------------------- purity
def own_files() -> list[Path]:
    root = Path(__file__).resolve().parents[1]
    stdlib = Path(sysconfig.get_path("stdlib"))
    return [*sorted((root / "ferrule_lint" / "frontend").glob("*.py")), stdlib / "typing.py", stdlib / "argparse.py"]


@pytest.mark.parametrize("path", own_files(), ids=lambda p: p.name)
def test_pure_picklable_and_free_of_the_tree(path: Path) -> None:
    source = path.read_bytes()
    first, second = extract(source), extract(source)
    assert first == second
    assert repr(first) == repr(second)
    assert pickle.loads(pickle.dumps(first)) == first
    allowed = {*f.NODES, tuple, str, int, bool, type(None)}
    assert {type(o) for o in objects(first)} <= allowed


def test_places_and_qualified_names_are_consistent() -> None:
    for path in own_files():
        found = extract(path.read_bytes())
        functions = {fn.qualname for fn in found.functions}
        classes = {c.qualname for c in found.classes}
        assert len(functions) == len(found.functions)
        assert len(classes) == len(found.classes)
        for node in objects(found):
            if type(node) in (f.FunctionDef, f.Lambda):
                assert node.qualname in functions
            elif type(node) is f.ClassDef:
                assert node.qualname in classes
            elif type(node) in (f.Name, f.Call):
                line, column, end_line, end_column = node.pos
                assert 1 <= line <= end_line <= found.lines
                assert column >= 1
                assert (line, column) < (end_line, end_column)


def test_facts_do_not_depend_on_the_hash_seed() -> None:
    code = (
        "import hashlib, pathlib, sys\n"
        "from ferrule_lint.frontend.lower import extract\n"
        "print(hashlib.sha256(repr(extract(pathlib.Path(sys.argv[1]).read_bytes())).encode()).hexdigest())\n"
    )
    root = Path(__file__).resolve().parents[1]
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, str(root / "ferrule_lint" / "frontend" / "lower.py")],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1
