"""Imports by a name that a call is given: `import_module("models.resnet")`, or the beginning of one."""

from __future__ import annotations

import ast
from typing import NamedTuple

#: what imports the file that a string names
_IMPORTS = frozenset({"import_module", "__import__"})


class Named(NamedTuple):
    """Of `f"models.{name}"` the name is `models.`: any file of that package may be meant."""

    module: str
    #: as in an import statement: the dots that lead out of this file
    level: int


def named(call: ast.Call) -> Named | None:
    """What a call imports, or None of any other, or one that writes out no beginning of a name."""
    func = call.func
    name = func.id if type(func) is ast.Name else func.attr if type(func) is ast.Attribute else ""
    if name not in _IMPORTS or not call.args:
        return None
    written, whole = _written(call.args[0])
    if not whole:
        written = written[: written.rfind(".") + 1]
    level = len(written) - len(written.lstrip("."))
    if level:
        package = (
            call.args[1] if len(call.args) > 1 else next((k.value for k in call.keywords if k.arg == "package"), None)
        )
        if type(package) is ast.Constant and type(package.value) is str and level == 1:
            written, level = package.value + written, 0
        elif type(package) is ast.Name and package.id in ("__name__", "__package__"):
            written = written[level:]
        else:
            return None
    parts = written.removesuffix(".").split(".") if written else []
    if not all(part.isidentifier() for part in parts) or not (parts or (level and not whole)):
        return None
    return Named(written, level)


def _written(node: ast.expr) -> tuple[str, bool]:
    """What a string begins with, and whether that is all of it."""
    if type(node) is ast.Constant:
        return (node.value, True) if type(node.value) is str else ("", False)
    if type(node) is ast.JoinedStr:
        first = node.values[0] if node.values else None
        return (_written(first)[0], len(node.values) == 1) if first is not None else ("", False)
    if type(node) is ast.BinOp and type(node.op) is ast.Add:
        left, whole = _written(node.left)
        if not whole:
            return left, False
        right, whole = _written(node.right)
        return left + right, whole
    if type(node) is ast.BinOp and type(node.op) is ast.Mod:
        return _written(node.left)[0].partition("%")[0], False
    func = node.func if type(node) is ast.Call else None
    if type(func) is ast.Attribute and func.attr == "format":
        return _written(func.value)[0].partition("{")[0], False
    return "", False
