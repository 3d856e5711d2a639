"""The parts of a node of the concrete syntax tree.

libcst finds the children of a node by sending a visitor through it, which costs as much as copying it. Here they are
read off its fields; white space and comments, of which a tree has twice as many as of all other nodes, are left out.
"""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any, Literal

import libcst as cst

_SPACE = (
    cst.BaseParenthesizableWhitespace, cst.TrailingWhitespace, cst.EmptyLine, cst.Newline, cst.Comment,
)  # fmt: skip


def parts(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The nodes right below `node` but for white space, in the order of its fields, which need not be the source's."""
    found: list[cst.CSTNode] = []
    for name in _fields(type(node)):
        value = getattr(node, name)
        sort = _sort(value.__class__)
        if sort == "node":
            found.append(value)
        elif sort == "several":
            found += [one for one in value if _sort(one.__class__) == "node"]
    return found


@cache
def _fields(kind: type[Any]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind) if not field.name.startswith("whitespace"))


@cache
def _sort(kind: type[object]) -> Literal["node", "several", ""]:
    if issubclass(kind, list | tuple):
        return "several"
    return "node" if issubclass(kind, cst.CSTNode) and not issubclass(kind, _SPACE) else ""
