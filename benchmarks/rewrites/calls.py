"""Rewrites of calls: the same functions, imported, named, wrapped, placed and called otherwise."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence

import libcst as cst
import libcst.matchers as m

from rewrites.base import Rewrite, block_of, by, code_of, names_read, statement, statements_of
from rewrites.carriers import below_imports, own_names

_DIST = m.SimpleStatementLine(
    body=[
        m.Import(
            names=[
                m.ImportAlias(name=m.Attribute(m.Name("torch"), m.Name("distributed")), asname=m.AsName(m.Name("dist")))
            ]
        )
    ]
)
_COLLECTIVES = frozenset(
    "all_reduce all_gather all_gather_object all_gather_into_tensor barrier broadcast broadcast_object_list gather"
    " reduce reduce_scatter reduce_scatter_tensor scatter send recv isend irecv all_to_all all_to_all_single"
    " monitored_barrier gather_object".split()
)


def _imported_otherwise(added: str, name: str) -> Callable[[cst.Module], cst.Module]:
    """`import torch.distributed as dist` replaced, and `dist` where it is read."""

    def change(module: cst.Module) -> cst.Module:
        if not any(m.matches(s, _DIST) for s in module.body) or _binds(module, "dist"):
            return module
        body = [statement(added) if m.matches(s, _DIST) else s for s in module.body]
        module = module.with_changes(body=body)
        if name == "dist":
            return module
        changed = m.replace(module, m.Attribute(value=m.Name("dist")), lambda node, _: _of(node, name))
        assert isinstance(changed, cst.Module)
        return module if m.findall(changed, m.Name("dist")) else changed

    return change


def _of(node: cst.CSTNode, name: str) -> cst.CSTNode:
    assert isinstance(node, cst.Attribute)
    return node.with_changes(value=cst.parse_expression(name))


def _binds(module: cst.Module, name: str) -> bool:
    """Whether a name is a parameter or variable anywhere."""
    tree = ast.parse(module.code)
    stored = any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in ast.walk(tree))
    return stored or any(isinstance(n, ast.arg) and n.arg == name for n in ast.walk(tree))


def _taken(module: cst.Module) -> set[str]:
    """All names that mean something in a module."""
    return {n.value for n in m.findall(module, m.Name()) if isinstance(n, cst.Name)}


def import_names(module: cst.Module) -> cst.Module:
    """`from torch.distributed import all_reduce, get_rank`, and these names without `dist.`."""
    if not any(m.matches(s, _DIST) for s in module.body) or _binds(module, "dist"):
        return module
    used = sorted(
        {n.attr.value for n in m.findall(module, m.Attribute(value=m.Name("dist"))) if isinstance(n, cst.Attribute)}
    )
    plain = m.replace(module, m.Attribute(value=m.Name("dist")), cst.Name("dist_"))
    assert isinstance(plain, cst.Module)
    taken = _taken(plain)
    if "dist" in taken - {"dist_"} and any(
        isinstance(n, cst.Name) and n.value == "dist" for n in _outside_imports(plain)
    ):
        return module
    local = {name: name if name not in taken else f"dist_{name}" for name in used}
    changed = m.replace(
        module,
        m.Attribute(value=m.Name("dist")),
        lambda node, _: cst.Name(local[node.attr.value]),  # type: ignore[union-attr]
    )
    assert isinstance(changed, cst.Module)
    names = ", ".join(name if name == own else f"{name} as {own}" for name, own in local.items())
    added = statement(f"from torch.distributed import {names}\n") if names else statement("import torch.distributed\n")
    return changed.with_changes(body=[added if m.matches(s, _DIST) else s for s in changed.body])


def _outside_imports(module: cst.Module) -> Sequence[cst.CSTNode]:
    rest = module.with_changes(body=[s for s in module.body if not m.matches(s, _DIST)])
    return list(m.findall(rest, m.Name("dist")))


class LocalImport(cst.CSTTransformer):
    """`import torch.distributed as dist` in each function that uses it."""

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        if not m.findall(updated_node.body, m.Name("dist")):
            return updated_node
        return _with_head(updated_node, [statement("import torch.distributed as dist\n")])


def import_inside(module: cst.Module) -> cst.Module:
    """The import where it is needed, and nowhere else."""
    if not any(m.matches(s, _DIST) for s in module.body) or _binds(module, "dist"):
        return module
    rest = module.with_changes(body=[s for s in module.body if not m.matches(s, _DIST)])
    bare = m.replace(rest, m.FunctionDef(), lambda node, _: node.with_changes(body=block_of([])))  # type: ignore[union-attr]
    assert isinstance(bare, cst.Module)
    return module if m.findall(bare, m.Name("dist")) else rest.visit(LocalImport())


def _with_head(function: cst.FunctionDef, head: Sequence[cst.BaseStatement]) -> cst.FunctionDef:
    """A function with statements before its own, after its docstring."""
    body = statements_of(function.body)
    text = 1 if m.matches(body[0], m.SimpleStatementLine(body=[m.Expr(value=m.SimpleString())])) else 0
    return function.with_changes(body=block_of([*body[:text], *head, *body[text:]]))


class Collective(cst.CSTTransformer):
    """`dist.all_reduce(x)` becomes a call of something else that does it; `text` with the name for `{}`."""

    def __init__(self, called: str, added: str, arguments: bool = True) -> None:
        self._called, self._added, self._arguments = called, added, arguments
        self._ops: dict[str, None] = {}

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        func = updated_node.func
        if not m.matches(func, m.Attribute(value=m.Name("dist"))) or func.attr.value not in _COLLECTIVES:  # type: ignore[attr-defined]
            return updated_node
        name = func.attr.value  # type: ignore[attr-defined]
        self._ops[name] = None
        if self._arguments:
            return updated_node.with_changes(func=cst.parse_expression(self._called.format(name)))
        first = [cst.Arg(func), *updated_node.args]
        return cst.Call(cst.Call(cst.Name("partial"), first))

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        if not self._ops or _binds(original_node, "dist"):
            return original_node
        added = [self._added.format(name) for name in self._ops] if "{" in self._added else [self._added]
        return below_imports(updated_node, added)


class LocalAlias(cst.CSTTransformer):
    """`dist.all_reduce(x)` becomes `all_reduce_(x)`, with `all_reduce_ = dist.all_reduce` before it."""

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        call = m.Call(func=m.Attribute(value=m.Name("dist"), attr=m.OneOf(*map(m.Name, sorted(_COLLECTIVES)))))
        if m.findall(updated_node.body, m.FunctionDef() | m.Lambda()):
            return updated_node
        found = sorted({n.func.attr.value for n in m.findall(updated_node.body, call)})  # type: ignore[attr-defined]
        if not found:
            return updated_node
        body = m.replace(
            updated_node.body,
            call,
            lambda node, _: node.with_changes(func=cst.Name(f"{node.func.attr.value}_")),  # type: ignore[union-attr, attr-defined]
        )
        return _with_head(
            updated_node.with_changes(body=body), [statement(f"{name}_ = dist.{name}\n") for name in found]
        )


def _own_functions(module: cst.Module) -> dict[str, cst.FunctionDef]:
    """The functions of a module that are called by a plain name, and are nothing else anywhere."""
    functions = {s.name.value: s for s in module.body if isinstance(s, cst.FunctionDef)}
    tree = ast.parse(module.code)
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    stored |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    inner = [n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    return {
        name: function
        for name, function in functions.items()
        if name not in stored and inner.count(name) == 1 and not function.decorators
    }


class Keywords(cst.CSTTransformer):
    """`f(a, b)` becomes `f(x=a, y=b)` where `f` is a function of the module."""

    def __init__(self, functions: dict[str, cst.FunctionDef]) -> None:
        self._functions = functions

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        function = self._functions.get(code_of(updated_node.func))
        if function is None or function.params.posonly_params or any(a.star for a in updated_node.args):
            return updated_node
        names = [p.name.value for p in function.params.params]
        positional = [a for a in updated_node.args if a.keyword is None]
        if len(positional) > len(names):
            return updated_node
        equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        given = [a.with_changes(keyword=cst.Name(n), equal=equal) for a, n in zip(positional, names, strict=False)]
        return updated_node.with_changes(args=[*given, *updated_node.args[len(positional) :]])


class Positions(cst.CSTTransformer):
    """`f(x=a)` becomes `f(a)` where `f` is a function of the module and the keywords come in order."""

    def __init__(self, functions: dict[str, cst.FunctionDef]) -> None:
        self._functions = functions

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        function = self._functions.get(code_of(updated_node.func))
        if function is None or any(a.star for a in updated_node.args):
            return updated_node
        names = [p.name.value for p in function.params.params]
        args = list(updated_node.args)
        for i, (arg, name) in enumerate(zip(args, names, strict=False)):
            if arg.keyword is not None:
                if arg.keyword.value != name:
                    break
                args[i] = cst.Arg(arg.value, comma=arg.comma)
        return updated_node.with_changes(args=args)


class Spread(cst.CSTTransformer):
    """`f(a, b)` becomes `f(*(a, b))` where `f` is a function of the module."""

    def __init__(self, functions: dict[str, cst.FunctionDef]) -> None:
        self._functions = functions

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        args = updated_node.args
        if code_of(updated_node.func) not in self._functions or not args or any(a.star or a.keyword for a in args):
            return updated_node
        inside = ", ".join(code_of(a.value) for a in args)
        return updated_node.with_changes(args=[cst.Arg(cst.parse_expression(f"({inside},)"), star="*")])


class StaticMethods(cst.CSTTransformer):
    """Functions become static methods of a class at their place; `f(x)` becomes `FTools.f(x)`."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self._depth = 0

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._depth += 1

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._depth += 1

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        self._depth -= 1
        return updated_node

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        return updated_node

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        name = code_of(updated_node.func)
        return (
            updated_node.with_changes(func=cst.parse_expression(f"{_tools(name)}.{name}"))
            if name in self._names
            else updated_node
        )

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.BaseStatement:
        self._depth -= 1
        if self._depth or updated_node.name.value not in self._names:
            return updated_node
        static = updated_node.with_changes(
            decorators=[cst.Decorator(cst.Name("staticmethod"))], leading_lines=[], lines_after_decorators=[]
        )
        return cst.ClassDef(cst.Name(_tools(updated_node.name.value)), block_of([static]))


def _tools(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_")) + "Tools"


def static_methods(module: cst.Module) -> cst.Module:
    """Functions of a module as static methods, those that are only ever called."""
    functions = _own_functions(module)
    called = {
        n.func.value
        for n in m.findall(module, m.Call(func=m.Name()))
        if isinstance(n, cst.Call) and isinstance(n.func, cst.Name)
    }
    calls = [n.func.value for n in m.findall(module, m.Call(func=m.Name()))]  # type: ignore[attr-defined]
    names = [n.value for n in m.findall(module, m.Name())]  # type: ignore[attr-defined]
    moved = frozenset(f for f in functions if f in called and names.count(f) == calls.count(f) + 1)
    return module.visit(StaticMethods(moved)) if moved else module


class BaseClass(cst.CSTTransformer):
    """All that a class does moves to a base of its own: `class _ABase(B): ...` and `class A(_ABase): pass`."""

    def leave_ClassDef(
        self, original_node: cst.ClassDef, updated_node: cst.ClassDef
    ) -> cst.ClassDef | cst.FlattenSentinel[cst.BaseStatement]:
        name = updated_node.name.value
        plain = not updated_node.decorators and not updated_node.keywords
        if (
            not plain
            or not any(isinstance(s, cst.FunctionDef) for s in updated_node.body.body)
            or name in code_of(updated_node.body)
        ):
            return updated_node
        if any("Enum" in code_of(a) or "Tuple" in code_of(a) for a in updated_node.bases):
            return updated_node
        base = updated_node.with_changes(name=cst.Name(f"_{name}Base"))
        return cst.FlattenSentinel([base, statement(f"class {name}(_{name}Base):\n    pass\n")])


class Mixin(cst.CSTTransformer):
    """The methods of a class but the special ones move to a mixin: `class A(_AMixin, B)`."""

    def leave_ClassDef(
        self, original_node: cst.ClassDef, updated_node: cst.ClassDef
    ) -> cst.ClassDef | cst.FlattenSentinel[cst.BaseStatement]:
        name = updated_node.name.value
        if updated_node.decorators or updated_node.keywords or name in code_of(updated_node.body):
            return updated_node
        body = list(updated_node.body.body)
        moved = [s for s in body if isinstance(s, cst.FunctionDef) and _is_movable(s)]
        if not moved:
            return updated_node
        mixin = cst.ClassDef(cst.Name(f"_{name}Mixin"), block_of(moved))
        rest = block_of([s for s in body if not any(s is one for one in moved)])
        bases = [cst.Arg(cst.Name(f"_{name}Mixin")), *updated_node.bases]
        return cst.FlattenSentinel(
            [mixin, updated_node.with_changes(body=rest, bases=bases, lpar=cst.LeftParen(), rpar=cst.RightParen())]
        )


def _is_movable(method: cst.FunctionDef) -> bool:
    text = code_of(method)
    return (
        not method.name.value.startswith("__") and not method.decorators and "super(" not in text and "__" not in text
    )


class PassingOn(cst.CSTTransformer):
    """Every function gets a decorator that only passes on."""

    def __init__(self) -> None:
        self._changed = False

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        if updated_node.name.value.startswith("__") or updated_node.asynchronous:
            return updated_node
        self._changed = True
        decorator = cst.Decorator(cst.Name("_noted"))
        return updated_node.with_changes(decorators=[*updated_node.decorators, decorator])

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        return below_imports(updated_node, ["import functools\n", _NOTED]) if self._changed else updated_node


class CalledAtOnce(cst.CSTTransformer):
    """The body of a function in a function of its own, called at once."""

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        body = statements_of(updated_node.body)
        text = code_of(updated_node.body)
        awkward = ("super(", "yield", "await", "nonlocal", "global ", "__class__", "locals(", "import ")
        if updated_node.asynchronous or any(word in text for word in awkward) or updated_node.name.value == "__init__":
            return updated_node
        parameters = {n.arg for n in ast.walk(ast.parse(code_of(updated_node).strip())) if isinstance(n, ast.arg)}
        tree = ast.parse(code_of(updated_node).strip())
        if parameters & {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}:
            return updated_node
        head = 1 if m.matches(body[0], m.SimpleStatementLine(body=[m.Expr(value=m.SimpleString())])) else 0
        if not body[head:]:
            return updated_node
        inner = cst.FunctionDef(cst.Name("run"), cst.Parameters(), block_of(body[head:]))
        return updated_node.with_changes(body=block_of([*body[:head], inner, statement("return run()\n")]))


class Iterated(cst.CSTTransformer):
    """`for x in xs:` becomes a loop over a generator."""

    def __init__(self, text: str, preamble: Sequence[str] = ()) -> None:
        self._text, self._preamble = text, preamble
        self._changed = False

    def leave_For(self, original_node: cst.For, updated_node: cst.For) -> cst.For:
        if updated_node.asynchronous or m.findall(updated_node.iter, m.Await() | m.NamedExpr()):
            return updated_node
        self._changed = True
        walked = self._text.format(code_of(updated_node.iter))
        return updated_node.with_changes(iter=cst.parse_expression(walked))

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        return below_imports(updated_node, self._preamble) if self._changed else updated_node


class InContext(cst.CSTTransformer):
    """The body of each function in a block of a context manager of the module."""

    def __init__(self, manager: str) -> None:
        self._manager = manager
        self._changed = False

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        body = statements_of(updated_node.body)
        if updated_node.asynchronous or "yield" in code_of(updated_node.body) or updated_node.name.value == "__init__":
            return updated_node
        head = 1 if m.matches(body[0], m.SimpleStatementLine(body=[m.Expr(value=m.SimpleString())])) else 0
        if not body[head:]:
            return updated_node
        self._changed = True
        block = cst.With([cst.WithItem(cst.parse_expression("_section()"))], block_of(body[head:]))
        return updated_node.with_changes(body=block_of([*body[:head], block]))

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        if not self._changed:
            return updated_node
        return below_imports(updated_node, ["from contextlib import contextmanager\n", self._manager])


def moved_functions(module: cst.Module) -> dict[str, cst.Module]:
    """Functions that are called, and classes, moved to a file of their own: the files by name, none if none moves."""
    statements = list(module.body)
    heads = [s for s in statements if _is_import(s)]
    imported = {
        (alias.asname or alias.name).partition(".")[0]
        for head in heads
        for node in ast.walk(ast.parse(code_of(head).strip()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    defined = {s.name.value: s for s in statements if isinstance(s, cst.FunctionDef | cst.ClassDef)}
    called = {
        name
        for s in statements
        for name in names_read([s])
        if not (isinstance(s, cst.FunctionDef) and s.name.value == name)
    }
    movable = {
        name for name in defined if name in called and _all_words(defined[name]).isdisjoint({"global", "__file__"})
    }
    while True:
        known = imported | movable
        stay = {n for n in movable if not _globals_of(defined[n]) <= known}
        if not stay:
            break
        movable -= stay
    if not movable or any(code_of(s).startswith(("from .", "from __main__")) for s in heads):
        return {}
    body = [s for s in statements if not any(s is defined[n] for n in movable)]
    place = max((i for i, s in enumerate(body) if any(s is h for h in heads)), default=-1) + 1
    other = [*heads, *(s for s in statements if any(s is defined[n] for n in movable))]
    taken = statement(f"from moved_parts import {', '.join(sorted(movable))}\n")
    return {
        "": module.with_changes(body=[*body[:place], taken, *body[place:]]),
        "moved_parts.py": module.with_changes(header=[], body=other),
    }


def _is_import(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleStatementLine) and isinstance(node.body[0], cst.Import | cst.ImportFrom)


def _all_words(node: cst.CSTNode) -> set[str]:
    return set(code_of(node).replace("(", " ").replace(":", " ").split())


def _globals_of(node: cst.FunctionDef | cst.ClassDef) -> set[str]:
    """The names that a definition may take from its module."""
    tree = ast.parse(code_of(node).strip())
    read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    own: set[str] = set()
    for function in [n for n in m.findall(node, m.FunctionDef()) if isinstance(n, cst.FunctionDef)]:
        own |= own_names(function)
    own |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return {n for n in read if n not in own and not hasattr(builtins, n)} - {node.name.value, "reveal_uniformity"}


_NOTED = (
    "def _noted(function):\n    @functools.wraps(function)\n    def inner(*args, **kwargs):\n"
    "        return function(*args, **kwargs)\n\n    return inner\n"
)
_EACH = "def _each(items):\n    for item in items:\n        yield item\n"
_SECTION = "@contextmanager\ndef _section():\n    print('starts')\n    yield\n"
_SURELY = "@contextmanager\ndef _section():\n    try:\n        yield\n    finally:\n        print('done')\n"
_PASSED = "def _{0}(*args, **kwargs):\n    return dist.{0}(*args, **kwargs)\n"

REWRITES = [
    Rewrite(
        "import-from",
        "`from torch import distributed as dist`",
        _imported_otherwise("from torch import distributed as dist\n", "dist"),
    ),
    Rewrite(
        "import-alias",
        "`import torch.distributed as c10d`",
        _imported_otherwise("import torch.distributed as c10d\n", "c10d"),
    ),
    Rewrite(
        "import-dotted",
        "`import torch.distributed`",
        _imported_otherwise("import torch.distributed\n", "torch.distributed"),
    ),
    Rewrite("import-names", "`from torch.distributed import all_reduce`", import_names),
    Rewrite("import-inside", "the import in the functions that need it", import_inside),
    Rewrite(
        "collective-helper",
        "collectives through a function of `*args, **kwargs`",
        by(lambda: Collective("_{}", _PASSED)),
    ),
    Rewrite(
        "collective-alias", "collectives by a name of the module", by(lambda: Collective("_{}", "_{0} = dist.{0}\n"))
    ),
    Rewrite("collective-local", "collectives by a local name", by(LocalAlias)),
    Rewrite(
        "collective-partial",
        "`partial(dist.all_reduce, x)()`",
        by(lambda: Collective("", "from functools import partial\n", False)),
    ),
    Rewrite(
        "keywords", "positional arguments as keywords", lambda module: module.visit(Keywords(_own_functions(module)))
    ),
    Rewrite(
        "positions", "keywords as positional arguments", lambda module: module.visit(Positions(_own_functions(module)))
    ),
    Rewrite("spread", "`f(*(a, b))`", lambda module: module.visit(Spread(_own_functions(module)))),
    Rewrite("static-methods", "functions as static methods", static_methods),
    Rewrite("base-class", "all that a class does in a base of its own", by(BaseClass)),
    Rewrite("mixin", "the methods of a class in a mixin", by(Mixin)),
    Rewrite("decorator", "a decorator that only passes on", by(PassingOn)),
    Rewrite("called-at-once", "the body in an inner function that is called at once", by(CalledAtOnce)),
    Rewrite("generator-expression", "loops over a generator expression", by(lambda: Iterated("(item for item in {})"))),
    Rewrite("generator", "loops over a generator", by(lambda: Iterated("_each({})", [_EACH]))),
    Rewrite("context-manager", "the body in a context manager", by(lambda: InContext(_SECTION))),
    Rewrite("context-manager-finally", "the body in a context manager with `finally`", by(lambda: InContext(_SURELY))),
    Rewrite("moved-functions", "functions and classes in a file of their own", by(cst.CSTTransformer), moved_functions),
]
