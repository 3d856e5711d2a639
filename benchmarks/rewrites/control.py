"""Rewrites of control flow: the same branches, loops and exits, written otherwise."""

from __future__ import annotations

import libcst as cst

from rewrites.base import Rewrite, block_of, by, code_of, is_entry, negated, statement, statements_of


class SwapArms(cst.CSTTransformer):
    """`if c: A else: B` becomes `if not c: B else: A`."""

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If:
        if not isinstance(updated_node.orelse, cst.Else):
            return updated_node  # nobody writes `if not c: pass`
        return updated_node.with_changes(
            test=negated(updated_node.test),
            body=block_of(statements_of(updated_node.orelse.body)),
            orelse=cst.Else(block_of(statements_of(updated_node.body))),
        )


class Flag(cst.CSTTransformer):
    """`if c:` becomes `flag = c` and `if flag:`."""

    def __init__(self) -> None:
        self._number = 0
        self._elifs: set[cst.If] = set()

    def visit_If(self, node: cst.If) -> None:
        if isinstance(node.orelse, cst.If):
            self._elifs.add(node.orelse)

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If | cst.FlattenSentinel[cst.BaseStatement]:
        if original_node in self._elifs or is_entry(updated_node):
            return updated_node
        self._number += 1
        name = f"flag_{self._number}"
        return cst.FlattenSentinel(
            [
                *self.kept(name, updated_node.test),
                updated_node.with_changes(test=cst.Name(name), leading_lines=[]),
            ]
        )

    def kept(self, name: str, test: cst.BaseExpression) -> list[cst.BaseStatement]:
        return [statement(f"{name} = ({code_of(test)})\n")]


class FlagByArms(Flag):
    """`if c:` becomes `flag = False`, `if c: flag = True`, and `if flag:`."""

    def kept(self, name: str, test: cst.BaseExpression) -> list[cst.BaseStatement]:
        return [statement(f"{name} = False\n"), statement(f"if {code_of(test)}:\n    {name} = True\n")]


class GuardClause(cst.CSTTransformer):
    """`if c: A` at the end of a function or loop becomes `if not c: return` (or `continue`) and `A`."""

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        return updated_node.with_changes(body=_guarded(updated_node.body, "return"))

    def leave_For(self, original_node: cst.For, updated_node: cst.For) -> cst.For:
        return updated_node.with_changes(body=_guarded(updated_node.body, "continue"))

    def leave_While(self, original_node: cst.While, updated_node: cst.While) -> cst.While:
        return updated_node.with_changes(body=_guarded(updated_node.body, "continue"))


def _guarded(body: cst.BaseSuite, leave: str) -> cst.BaseSuite:
    statements = statements_of(body)
    last = statements[-1]
    if not isinstance(last, cst.If) or last.orelse is not None or is_entry(last):
        return body
    guard = statement(f"if not ({code_of(last.test)}):\n    {leave}\n")
    return block_of([*statements[:-1], guard, *statements_of(last.body)])


REWRITES = [
    Rewrite("swap-arms", "the test negated, the arms exchanged", by(SwapArms)),
    Rewrite("flag", "the test kept in a variable first", by(Flag)),
    Rewrite("flag-by-arms", "a variable that is set under the test, and tested", by(FlagByArms)),
    Rewrite("guard-clause", "an exit in place of a last `if`", by(GuardClause)),
]
