"""Rewrites that move the arm of an `if` into a function of its own."""

from __future__ import annotations

import libcst as cst

from rewrites.base import (
    Inside,
    OfIfs,
    Rewrite,
    block_of,
    by,
    code_of,
    function_of,
    is_entry,
    leaves,
    local_names,
    names_bound,
    names_read,
    statement,
    statements_of,
)  # fmt: skip


class LocalFunction(Inside, OfIfs):
    """`if c: A` becomes `def part(): A` and `if c: part()`, where nothing in `A` is bound or left."""

    def __init__(self) -> None:
        super().__init__()
        self._number = 0

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If | cst.FlattenSentinel[cst.BaseStatement]:
        arm = statements_of(updated_node.body)
        if not self.depth or not self.may_change(original_node) or not _can_move(arm):
            return updated_node
        self._number += 1
        name = f"part_{self._number}"
        call = block_of([statement(f"{name}()\n")])
        return cst.FlattenSentinel([function_of(name, "", arm), updated_node.with_changes(body=call)])


class Helper(cst.CSTTransformer):
    """`if c: A` becomes `if c: part(x, y)`, with a function of the module that is given the names which `A` reads."""

    def __init__(self) -> None:
        self._functions: list[cst.FunctionDef] = []
        self._parts: list[cst.BaseStatement] = []

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._functions.append(node)

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        self._functions.pop()
        return updated_node

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If:
        arm = statements_of(updated_node.body)
        if len(self._functions) != 1 or is_entry(updated_node) or not _can_move(arm) or "super()" in _text(arm):
            return updated_node
        own = local_names(self._functions[0])
        given = ", ".join(name for name in names_read(arm) if name in own)
        name = f"part_{len(self._parts) + 1}"
        self._parts.append(function_of(name, given, arm))
        return updated_node.with_changes(body=block_of([statement(f"{name}({given})\n")]))

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        body = list(updated_node.body)
        last = next((i for i, s in enumerate(body) if isinstance(s, cst.If) and is_entry(s)), len(body))
        return updated_node.with_changes(body=[*body[:last], *self._parts, *body[last:]])


def _can_move(arm: list[cst.BaseStatement]) -> bool:
    """Whether a block does the same in a function of its own, and there is something in it that is worth one."""
    return not names_bound(arm) and not leaves(arm) and "import " not in _text(arm) and _text(arm).strip() != "pass"


def _text(arm: list[cst.BaseStatement]) -> str:
    return "".join(code_of(s) for s in arm)


REWRITES = [
    Rewrite("local-function", "an arm in a function within the function", by(LocalFunction)),
    Rewrite("helper", "an arm in a function of the module, which is given what it reads", by(Helper)),
]
