"""Where bugs can be put into real code, told from its text alone (see `seeded.py`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_COLLECTIVES = frozenset(
    "all_reduce all_gather all_gather_into_tensor all_gather_object broadcast broadcast_object_list barrier "
    "reduce_scatter reduce_scatter_tensor all_to_all all_to_all_single gather_object scatter_object_list".split()
)
_AGREEING = frozenset("all_reduce broadcast broadcast_object_list".split())
_GATHERING = frozenset(["all_gather", "all_gather_object"])
_OF_LISTS = frozenset(["all_gather", "all_gather_object", "broadcast_object_list"])
_MODULES = frozenset(["dist", "torch.distributed"])
#: methods of libraries that hand back what all ranks agree on, and of whom
_OF_LIBRARIES = frozenset("reduce_boolean_decision reduce all_reduce broadcast gather all_gather".split())
_LIBRARIES = ("accelerator", "fabric", "strategy", "trainer")
_GATHERS = frozenset("all_gather all_gather_into_tensor gather gather_for_metrics".split())
_RANK = "torch.distributed.get_rank()"
_ASIDE = ("test", "example", "third_party", "docs/", "tools/", "benchmark", "script")
_DEEPEST = 4
#: a helper by which ranks agree is no longer than this; what is longer does something else besides
_LONGEST_HELPER = 30

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Seed:
    """A place for a bug: `node` is replaced by `text`; or, to see whether it matters, by `forced`, which differs."""

    path: str
    function: FunctionNode
    node: ast.expr | ast.stmt
    #: "guard", "agreement", "helper", "padding" or "order"
    kind: str
    text: str
    forced: str = ""

    @property
    def line(self) -> int:
        return self.node.lineno

    def applied(self, source: str, text: str) -> str:
        """The file with the bug. What is below keeps its lines, but for a guard's two."""
        lines = source.encode().split(b"\n")
        first, last = self.node.lineno - 1, (self.node.end_lineno or self.node.lineno) - 1
        before, after = lines[first][: self.node.col_offset], lines[last][self.node.end_col_offset :]
        new, rest = text.encode(), b"\n" * (last - first)
        if self.kind == "guard":
            old = b"\n".join(lines[first : last + 1])[self.node.col_offset :].split(b"\n")
            new = b"import torch.distributed\n" + before + b"if torch.distributed.get_rank() == 0:\n"
            new += b"\n".join(b"    " + line for line in (before + old[0], *old[1:]))
            after = rest = b""
        elif isinstance(self.node, ast.expr):
            new = b"(" + new + rest + b")"
        else:
            new += rest
        return b"\n".join([*lines[:first], before + new + after, *lines[last + 1 :]]).decode()


def own(function: FunctionNode) -> Iterator[ast.AST]:
    """What a function does itself, without the functions and classes in it."""
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, FunctionNode | ast.ClassDef | ast.Lambda):
            stack += ast.iter_child_nodes(node)


def called(node: ast.AST) -> str:
    """The last name of what is called."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def receiver(node: ast.AST) -> str:
    """What a method is called of, as text."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return ast.unparse(node.func.value)
    return ""


def is_collective(node: ast.AST) -> bool:
    return called(node) in _COLLECTIVES and receiver(node) in _MODULES


def mentions(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(n, ast.Name | ast.Attribute) and ast.unparse(n) in names for n in ast.walk(node))


def made_of(nodes: list[ast.AST], names: set[str]) -> set[str]:
    """Variables of a function that are made of others, and these."""
    names = set(names)
    for _ in range(3):
        for node in nodes:
            if isinstance(node, ast.Assign) and mentions(node.value, names):
                names |= {ast.unparse(t) for target in node.targets for t in _targets(target)}
    return names


def _targets(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        for item in target.elts:
            yield from _targets(item)
    elif isinstance(target, ast.Name | ast.Attribute):
        yield target


def is_asked_for(function: FunctionNode, line: int, names: set[str]) -> bool:
    """Whether a condition or loop below a line asks for a variable, or for what is made of it; or it is returned."""
    nodes = [n for n in own(function) if getattr(n, "lineno", 0) > line]
    names = made_of(nodes, names)
    tests = (n.iter if isinstance(n, ast.For) else n.test for n in nodes if isinstance(n, ast.If | ast.While | ast.For))
    returned = (n.value for n in nodes if isinstance(n, ast.Return) and n.value is not None)
    return any(mentions(test, names) for test in (*tests, *returned))


class Functions:
    """The functions of a project by name."""

    def __init__(self, files: dict[str, ast.Module]) -> None:
        self.every = [(p, n) for p, tree in files.items() for n in ast.walk(tree) if isinstance(n, FunctionNode)]
        by_name: dict[str, list[FunctionNode]] = {}
        for _, function in self.every:
            by_name.setdefault(function.name, []).append(function)
        single = {n: f[0] for n, f in by_name.items() if len(f) == 1 and not n.startswith("__")}
        #: those that are defined once and communicate
        self.communicating = {n for n, f in single.items() if n not in _COLLECTIVES and any(map(is_collective, own(f)))}
        for _ in range(_DEEPEST - 1):
            self.communicating |= {n for n, f in single.items() if any(called(x) in self.communicating for x in own(f))}
        #: those of any definition that hand back what they are given, after ranks have agreed on it
        self.agreeing = {n for n, functions in by_name.items() if n not in _AGREEING and all(map(_agrees, functions))}


def _agrees(function: FunctionNode) -> bool:
    """Whether a function is a small one that communicates what its first parameter holds, and returns something."""
    parameters = [a.arg for a in (*function.args.posonlyargs, *function.args.args) if a.arg not in ("self", "cls")]
    nodes = list(own(function))
    if not parameters or (function.end_lineno or 0) - function.lineno > _LONGEST_HELPER:
        return False
    names = made_of(nodes, {parameters[0]})
    sent = [n for n in nodes if is_collective(n) and isinstance(n, ast.Call)]
    returns = any(isinstance(n, ast.Return) and n.value is not None for n in nodes)
    return returns and any(mentions(argument, names) for call in sent for argument in call.args)


def seeds(files: dict[str, ast.Module]) -> Iterator[Seed]:
    functions = Functions(files)
    for path, function in functions.every:
        if not any(word in path.lower() for word in _ASIDE):
            for kind in (_guards, _agreements, _helpers, _paddings, _orders):
                yield from kind(path, function, functions)


def _guards(path: str, function: FunctionNode, functions: Functions) -> Iterator[Seed]:
    for node in own(function):
        if isinstance(node, ast.Expr | ast.Assign) and called(node.value) in functions.communicating:
            yield Seed(path, function, node, "guard", "")


def _agreements(path: str, function: FunctionNode, functions: Functions) -> Iterator[Seed]:
    for node in own(function):
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call) or not is_collective(node.value):
            continue
        name, arguments = called(node.value), [ast.unparse(argument) for argument in node.value.args]
        if not arguments or not arguments[0].replace(".", "").isidentifier():
            continue
        local, rank = "pass", f"{arguments[0]} = {_RANK}"
        if name in _GATHERING and len(arguments) > 1:
            local = f"{arguments[0]} = [{arguments[1]}]"
        elif name not in _AGREEING:
            continue
        if name in _OF_LISTS:
            rank = f"{arguments[0]} = [{_RANK}]"
        if is_asked_for(function, node.lineno, {arguments[0]}):
            yield Seed(path, function, node, "agreement", local, rank)


def _helpers(path: str, function: FunctionNode, functions: Functions) -> Iterator[Seed]:
    def of_library(node: ast.Call) -> bool:
        of = receiver(node).rpartition(".")[2].lstrip("_")
        return called(node) in _OF_LIBRARIES and of in _LIBRARIES

    for node in own(function):
        if isinstance(node, ast.Assign):
            if not is_asked_for(function, node.lineno, {ast.unparse(t) for x in node.targets for t in _targets(x)}):
                continue
        elif not isinstance(node, ast.If | ast.While | ast.Return):
            continue
        for call in ast.walk(node.test if isinstance(node, ast.If | ast.While) else node):
            if not isinstance(call, ast.Call) or not call.args or isinstance(call.args[0], ast.Starred):
                continue
            if called(call) in functions.agreeing or of_library(call):
                yield Seed(path, function, call, "helper", ast.unparse(call.args[0]), _RANK)


def _paddings(path: str, function: FunctionNode, functions: Functions) -> Iterator[Seed]:
    nodes = list(own(function))
    gathers = [n for n in nodes if isinstance(n, ast.Call) and called(n) in _GATHERS]
    for node in nodes:
        if not isinstance(node, ast.Call) or not node.args or isinstance(node.args[0], ast.Starred):
            continue
        if called(node) == "pad_across_processes" or (called(node) == "pad" and receiver(node).endswith("F")):
            below = [g for g in gathers if g.lineno >= node.lineno]
            if below:
                yield Seed(path, function, node, "padding", ast.unparse(node.args[0]))


def _orders(path: str, function: FunctionNode, functions: Functions) -> Iterator[Seed]:
    if not any(is_collective(n) or called(n) in functions.communicating for n in own(function)):
        return
    for node in own(function):
        if isinstance(node, ast.Call) and called(node) == "sorted" and node.args:
            yield Seed(path, function, node, "order", f"list({ast.unparse(node.args[0])})")
