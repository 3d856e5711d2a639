"""Rewrites of how a value travels: the same test, rank or argument, brought to where it is used by another carrier."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence

import libcst as cst
import libcst.matchers as m

from rewrites.base import Inside, Rewrite, block_of, by, code_of, local_names, statement, statements_of

Statements = Sequence[cst.BaseStatement]

#: from a number and the text of a test: the statements that keep it, and what is tested then
Carry = Callable[[int, str], tuple[Sequence[str], str]]


def below_imports(module: cst.Module, added: Sequence[str]) -> cst.Module:
    """A module with statements added after the imports at its head."""
    body = list(module.body)
    place = next((i for i, s in enumerate(body) if not _is_import(s) and not (i == 0 and _is_text(s))), len(body))
    return module.with_changes(body=[*body[:place], *map(statement, added), *body[place:]])


def _is_import(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleStatementLine) and isinstance(node.body[0], cst.Import | cst.ImportFrom)


def _is_text(node: cst.CSTNode) -> bool:
    return m.matches(node, m.SimpleStatementLine(body=[m.Expr(value=m.SimpleString())]))


class Carried(cst.CSTTransformer):
    """`if c:` becomes `carrier = c` and `if carrier:`, for some carrier."""

    def __init__(self, carry: Carry, preamble: Sequence[str] = ()) -> None:
        self._carry = carry
        self._preamble = preamble
        self._number = 0
        self._elifs: set[cst.If] = set()

    def visit_If(self, node: cst.If) -> None:
        if isinstance(node.orelse, cst.If):
            self._elifs.add(node.orelse)

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If | cst.FlattenSentinel[cst.BaseStatement]:
        if original_node in self._elifs or not self.fits(original_node.test):
            return updated_node
        self._number += 1
        before, test = self._carry(self._number, code_of(updated_node.test))
        changed = updated_node.with_changes(
            test=cst.parse_expression(test), leading_lines=[] if before else updated_node.leading_lines
        )
        return cst.FlattenSentinel([*map(statement, before), changed])

    def fits(self, test: cst.BaseExpression) -> bool:
        """Whether a test can be written so."""
        return not m.findall(test, m.Await() | m.NamedExpr())

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        return below_imports(updated_node, self._preamble) if self._number else updated_node


class CarriedInside(Inside, Carried):
    """The same for tests in functions, for carriers that are functions themselves."""

    def fits(self, test: cst.BaseExpression) -> bool:
        return super().fits(test) and self.depth > 0 and "super(" not in code_of(test)


def carried(carry: Carry, *preamble: str, inside: bool = False) -> Callable[[cst.Module], cst.Module]:
    """The change that keeps each test in a carrier."""
    return by(lambda: (CarriedInside if inside else Carried)(carry, preamble))


def free_names(code: str) -> list[str]:
    """The names that an expression reads and does not bind itself, in the order in which they come."""
    nodes = list(ast.walk(ast.parse(f"({code})", mode="eval")))
    bound = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    bound |= {n.arg for n in nodes if isinstance(n, ast.arg)}
    read = dict.fromkeys(n.id for n in nodes if isinstance(n, ast.Name))
    return [name for name in read if name not in bound and not hasattr(builtins, name)]


def own_names(function: cst.FunctionDef) -> set[str]:
    """All names that are a function's own: also those that it imports or defines."""
    own = local_names(function)
    for node in ast.walk(ast.parse(cst.Module([]).code_for_node(function).strip())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            own.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            own.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    own.discard(function.name.value)
    return own


class InHelper(CarriedInside):
    """`if c:` becomes `if _test(a, b):` with a function, method or property of its own for the test.

    A test in a method becomes a method, one in a function a function; parameters are the local names that it reads,
    with the annotations that they have in the function it stood in.
    """

    def __init__(self, returned: str = "{}", asked: str = "{}", methods: bool = True, only_self: bool = False) -> None:
        super().__init__(lambda number, test: ((), test))
        self._returned, self._asked = returned, asked
        self._methods, self._only_self = methods, only_self
        self._functions: list[cst.FunctionDef] = []
        self._in_class: list[bool] = [False]
        #: what goes in front of the method, and in front of the class or function that it is in
        self._added: list[str] = []
        self._outside: list[str] = []

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._in_class.append(True)

    def leave_ClassDef(  # type: ignore[override]
        self, original_node: cst.ClassDef, updated_node: cst.ClassDef
    ) -> cst.ClassDef | cst.FlattenSentinel[cst.BaseStatement]:
        self._in_class.pop()
        if len(self._in_class) > 1:
            return updated_node
        added, self._outside = self._outside, []
        return cst.FlattenSentinel([*map(statement, added), updated_node])

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        super().visit_FunctionDef(node)
        self._functions.append(node)
        self._in_class.append(False)

    def leave_FunctionDef(  # type: ignore[override]
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef | cst.FlattenSentinel[cst.BaseStatement]:
        super().leave_FunctionDef(original_node, updated_node)
        self._functions.pop()
        self._in_class.pop()
        if self._functions:
            return updated_node
        added, self._added = self._added, []
        if len(self._in_class) == 1:
            added, self._outside = [*added, *self._outside], []
        return cst.FlattenSentinel([*map(statement, added), updated_node])

    def fits(self, test: cst.BaseExpression) -> bool:
        return super().fits(test) and self._places(code_of(test)) is not None

    def _places(self, code: str) -> tuple[list[str], bool] | None:
        """The local names that a test reads, and whether it is in a method; None where it does not fit."""
        outer = self._functions[0]
        local = set().union(*map(own_names, self._functions))
        used = [name for name in free_names(code) if name in local]
        first = outer.params.params[0].name.value if outer.params.params else ""
        in_class = self._in_class[1]
        if "__" in code or (in_class and any(self._in_class[2:])) or (not in_class and any(self._in_class[1:])):
            return None
        method = in_class and first == "self" and "self" in used
        if self._only_self:
            return (used, True) if method and used == ["self"] else None
        return used, method and self._methods

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If | cst.FlattenSentinel[cst.BaseStatement]:
        if original_node in self._elifs or not self.fits(original_node.test):
            return updated_node
        self._number += 1
        code = code_of(updated_node.test)
        places = self._places(code_of(original_node.test))
        assert places is not None
        used, method = places
        annotations = {
            p.name.value: code_of(p.annotation.annotation)
            for function in self._functions
            for p in (*function.params.params, *function.params.kwonly_params)
            if p.annotation is not None
        }
        given = [f"{name}: {annotations[name]}" if name in annotations else name for name in used if name != "self"]
        name = f"_test_{self._number}"
        parameters = ", ".join(["self"] * ("self" in used) + given)
        head = "@property\n" if self._only_self else ""
        body = self._returned.format(f"({code})")
        place = self._added if method else self._outside
        place.append(f"{head}def {name}({parameters}):\n    return {body}\n")
        arguments = ", ".join(n for n in used if not (method and n == "self"))
        if not method and "self" in used:
            arguments = ", ".join(["self", *(n for n in used if n != "self")])
        call = f"self.{name}" if method else name
        test = cst.parse_expression(self._asked.format(call if self._only_self else f"{call}({arguments})"))
        return updated_node.with_changes(test=test)


class InAttribute(CarriedInside):
    """In methods, `if c:` becomes `self._flag = c` and `if self._flag:`."""

    def __init__(self) -> None:
        super().__init__(lambda number, test: ([f"self._flag_{number} = ({test})\n"], f"self._flag_{number}"))
        self._methods: list[bool] = []

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        super().visit_FunctionDef(node)
        self._methods.append(bool(node.params.params) and node.params.params[0].name.value == "self")

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self._methods.pop()
        return super().leave_FunctionDef(original_node, updated_node)

    def fits(self, test: cst.BaseExpression) -> bool:
        return super().fits(test) and bool(self._methods) and self._methods[-1]


class ArgumentLocals(cst.CSTTransformer):
    """`f(a + 1, b.c)` becomes `arg_1 = a + 1`, `arg_2 = b.c` and `f(arg_1, arg_2)`."""

    def __init__(self, names_too: bool) -> None:
        self._number = 0
        self._names_too = names_too

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.BaseStatement]:
        [last, *rest] = updated_node.body
        if rest or not isinstance(last, cst.Expr | cst.Assign | cst.Return) or not isinstance(last.value, cst.Call):
            return updated_node
        call = last.value
        dotted = call.func
        while isinstance(dotted, cst.Attribute):
            dotted = dotted.value
        if not isinstance(dotted, cst.Name) or dotted.value in ("super", "reveal_uniformity", "TypeVar"):
            return updated_node
        kept: list[cst.BaseStatement] = []
        args: list[cst.Arg] = []
        for arg in call.args:
            if arg.star or not self._is_kept(arg.value):
                args.append(arg)
                continue
            self._number += 1
            kept.append(statement(f"arg_{self._number} = {_in_brackets(code_of(arg.value))}\n"))
            args.append(arg.with_changes(value=cst.Name(f"arg_{self._number}")))
        if not kept:
            return updated_node
        changed = updated_node.with_changes(
            body=[last.with_changes(value=call.with_changes(args=args))], leading_lines=[]
        )
        return cst.FlattenSentinel([*kept, changed])

    def _is_kept(self, value: cst.BaseExpression) -> bool:
        if m.findall(value, m.Await() | m.NamedExpr()) or isinstance(value, cst.GeneratorExp | cst.Lambda):
            return False
        return self._names_too or not isinstance(value, cst.Name | cst.BaseNumber | cst.BaseString)


def _in_brackets(code: str) -> str:
    return f"({code})" if "\n" in code else code


class Assigned(Inside):
    """`x = value` becomes `x = _same(value)`: values go through a function that hands them back."""

    def __init__(self) -> None:
        self._changed = False

    def leave_Assign(self, original_node: cst.Assign, updated_node: cst.Assign) -> cst.Assign:
        if not self.depth or isinstance(updated_node.value, cst.Await | cst.Yield | cst.Lambda):
            return updated_node
        self._changed = True
        return updated_node.with_changes(value=cst.Call(cst.Name("_same"), [cst.Arg(updated_node.value)]))

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        return below_imports(updated_node, [_SAME]) if self._changed else updated_node


class Unannotated(cst.CSTTransformer):
    """Parameters and results without annotations."""

    def leave_Param(self, original_node: cst.Param, updated_node: cst.Param) -> cst.Param:
        return updated_node.with_changes(annotation=None)

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        return updated_node.with_changes(returns=None)


class RankOtherwise(cst.CSTTransformer):
    """`dist.get_rank()` becomes another way to ask for the rank."""

    def __init__(self, asked: str, preamble: Sequence[str]) -> None:
        self._asked, self._preamble = asked, preamble
        self._changed = False

    def visit_FormattedString(self, node: cst.FormattedString) -> bool:
        return False  # where quotes would meet quotes

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        if updated_node.args or code_of(updated_node.func) != "dist.get_rank":
            return updated_node
        self._changed = True
        return cst.parse_expression(self._asked)

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        return below_imports(updated_node, self._preamble) if self._changed else updated_node


class AttributeCopies(cst.CSTTransformer):
    """`self.x`, set by the constructor only, becomes `own_x` in other methods, with `own_x = self.x` at their head."""

    def __init__(self) -> None:
        self._settled: list[set[str]] = []

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._settled.append(_set_by_constructor_only(node))

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        settled = self._settled.pop()
        body = [_with_copies(s, settled) if isinstance(s, cst.FunctionDef) else s for s in updated_node.body.body]
        return updated_node.with_changes(body=updated_node.body.with_changes(body=body))


def _set_by_constructor_only(node: cst.ClassDef) -> set[str]:
    own: set[str] = set()
    elsewhere: set[str] = set()
    methods: set[str] = set()
    for function in node.body.body:
        if isinstance(function, cst.FunctionDef):
            methods.add(function.name.value)
            for part in ast.walk(ast.parse(code_of(function).strip())):
                if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store | ast.Del):
                    (own if function.name.value == "__init__" else elsewhere).add(part.attr)
    return own - elsewhere - methods


def _with_copies(function: cst.FunctionDef, settled: set[str]) -> cst.FunctionDef:
    attribute = m.Attribute(value=m.Name("self"))
    found = dict.fromkeys(
        node.attr.value
        for node in m.findall(function.body, attribute)
        if isinstance(node, cst.Attribute) and node.attr.value in settled
    )
    if function.name.value == "__init__" or not found or isinstance(function.body, cst.SimpleStatementSuite):
        return function
    body = m.replace(
        function.body,
        attribute,
        lambda node, _: cst.Name(f"own_{node.attr.value}") if node.attr.value in settled else node,  # type: ignore[union-attr]
    )
    assert isinstance(body, cst.IndentedBlock)
    copies = [statement(f"own_{name} = self.{name}\n") for name in found]
    statements = statements_of(body)
    head = 1 if _is_text(statements[0]) else 0
    return function.with_changes(body=block_of([*statements[:head], *copies, *statements[head:]]))


_SAME = "def _same(value):\n    return value\n"
_CHOICE = "class _Way(Enum):\n    RUN = 1\n    SKIP = 2\n"
_DECISION = "@dataclass\nclass _Decision:\n    ok: bool\n"
_OUTCOME = "class _Outcome(NamedTuple):\n    ok: bool\n    why: str\n"
_OPTIONS = "def _asked(**options):\n    return options['flag']\n"
_HELPER = "def _rank():\n    if not dist.is_initialized():\n        return 0\n    return dist.get_rank()\n"

REWRITES = [
    Rewrite("test-function", "the test as a function of its own", by(lambda: InHelper(methods=False))),
    Rewrite("test-method", "the test as a method or function of its own", by(InHelper)),
    Rewrite("test-property", "the test as a property", by(lambda: InHelper(only_self=True))),
    Rewrite("test-first", "the test as one of two results", by(lambda: InHelper(returned="{}, None", asked="{}[0]"))),
    Rewrite("test-attribute", "the test kept in an attribute of the instance", by(InAttribute)),
    Rewrite(
        "test-tuple", "the test kept in a tuple", carried(lambda n, c: ([f"ok_{n}, _ = ({c}), None\n"], f"ok_{n}"))
    ),
    Rewrite(
        "test-dict",
        "the test kept in a dict",
        carried(lambda n, c: ([f"state_{n} = {{'ok': ({c})}}\n"], f"state_{n}['ok']")),
    ),
    Rewrite(
        "test-list", "the test kept in a list", carried(lambda n, c: ([f"found_{n} = [({c})]\n"], f"found_{n}[0]"))
    ),
    Rewrite(
        "test-namespace",
        "the test kept in a namespace",
        carried(
            lambda n, c: ([f"state_{n} = SimpleNamespace(ok=({c}))\n"], f"state_{n}.ok"),
            "from types import SimpleNamespace\n",
        ),
    ),
    Rewrite(
        "test-dataclass",
        "the test kept in a dataclass",
        carried(
            lambda n, c: ([f"state_{n} = _Decision(({c}))\n"], f"state_{n}.ok"),
            "from dataclasses import dataclass\n",
            _DECISION,
        ),
    ),
    Rewrite(
        "test-namedtuple",
        "the test kept in a named tuple",
        carried(
            lambda n, c: ([f"state_{n} = _Outcome(({c}), 'asked')\n"], f"state_{n}.ok"),
            "from typing import NamedTuple\n",
            _OUTCOME,
        ),
    ),
    Rewrite("test-bool", "`bool(c)`", carried(lambda n, c: ([], f"bool({c})"))),
    Rewrite("test-int", "`int(bool(c)) == 1`", carried(lambda n, c: ([], f"int(bool({c})) == 1"))),
    Rewrite("test-any", "`any([c])`", carried(lambda n, c: ([], f"any([{c}])"))),
    Rewrite("test-lambda", "`(lambda: c)()`", carried(lambda n, c: ([], f"(lambda: ({c}))()"), inside=True)),
    Rewrite("test-walrus", "`if flag := c`", carried(lambda n, c: ([], f"(flag_{n} := ({c}))"))),
    Rewrite("test-is-true", "`bool(c) is True`", carried(lambda n, c: ([], f"bool({c}) is True"))),
    Rewrite("test-not-not", "`not not c`", carried(lambda n, c: ([], f"not not ({c})"))),
    Rewrite(
        "test-word",
        "the outcome of the test as a word",
        carried(lambda n, c: ([f"mode_{n} = 'run' if ({c}) else 'skip'\n"], f"mode_{n} == 'run'")),
    ),
    Rewrite(
        "test-enum",
        "the outcome of the test as a member of an enum",
        carried(
            lambda n, c: ([f"way_{n} = _Way.RUN if ({c}) else _Way.SKIP\n"], f"way_{n} is _Way.RUN"),
            "from enum import Enum\n",
            _CHOICE,
        ),
    ),
    Rewrite("test-identity", "the test through a function", carried(lambda n, c: ([], f"_same({c})"), _SAME)),
    Rewrite(
        "test-default",
        "the test through a default",
        carried(lambda n, c: ([f"def ask_{n}(flag=({c})):\n    return flag\n"], f"ask_{n}()"), inside=True),
    ),
    Rewrite("test-kwargs", "the test through `**options`", carried(lambda n, c: ([], f"_asked(flag=({c}))"), _OPTIONS)),
    Rewrite(
        "test-closure",
        "the test in a function in the function",
        carried(lambda n, c: ([f"def ask_{n}():\n    return ({c})\n"], f"ask_{n}()"), inside=True),
    ),
    Rewrite("argument-locals", "a variable in place of each computed argument", by(lambda: ArgumentLocals(False))),
    Rewrite("argument-names", "a variable in place of every argument", by(lambda: ArgumentLocals(True))),
    Rewrite("value-identity", "what is assigned, through a function", by(Assigned)),
    Rewrite("no-annotations", "functions without annotations", by(Unannotated)),
    Rewrite(
        "rank-environment",
        "the rank from the environment",
        by(lambda: RankOtherwise('int(os.environ["RANK"])', ["import os\n"])),
    ),
    Rewrite("rank-helper", "the rank from a function", by(lambda: RankOtherwise("_rank()", [_HELPER]))),
    Rewrite("attribute-copies", "attributes of the constructor copied into variables", by(AttributeCopies)),
]
