"""Rewrites of control flow: the same branches, loops and exits, written otherwise."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from rewrites.base import OfIfs, Rewrite, block_of, by, code_of, is_entry, negated, statement, statements_of


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


class Flag(OfIfs):
    """`if c:` becomes `flag = c` and `if flag:`."""

    def __init__(self) -> None:
        super().__init__()
        self._number = 0

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If | cst.FlattenSentinel[cst.BaseStatement]:
        if not self.may_change(original_node):
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


class NestedAnd(cst.CSTTransformer):
    """`if a and b: A` becomes `if a:` and in it `if b: A`."""

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If:
        test = updated_node.test
        if updated_node.orelse is not None or not m.matches(test, m.BooleanOperation(operator=m.And())):
            return updated_node
        assert isinstance(test, cst.BooleanOperation)
        left, right = test.left.with_changes(lpar=[], rpar=[]), test.right.with_changes(lpar=[], rpar=[])
        return updated_node.with_changes(test=left, body=block_of([cst.If(right, updated_node.body)]))


class JoinedAnd(cst.CSTTransformer):
    """`if a:` that holds nothing but `if b: A` becomes `if a and b: A`."""

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If:
        inner = statements_of(updated_node.body)
        if updated_node.orelse is not None or len(inner) != 1:
            return updated_node
        only = inner[0]
        if not isinstance(only, cst.If) or only.orelse is not None:
            return updated_node
        both = cst.parse_expression(f"({code_of(updated_node.test)}) and ({code_of(only.test)})")
        return updated_node.with_changes(test=both, body=only.body)


class ElseIf(cst.CSTTransformer):
    """`elif c: A` becomes `else:` and in it `if c: A`."""

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If:
        if not isinstance(updated_node.orelse, cst.If):
            return updated_node
        return updated_node.with_changes(orelse=cst.Else(block_of([updated_node.orelse])))


class TwoAssignments(cst.CSTTransformer):
    """`x = a if c else b` becomes `if c: x = a` with `else: x = b`."""

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.If:
        only = updated_node.body[0]
        if len(updated_node.body) != 1 or not isinstance(only, cst.Assign | cst.Return):
            return updated_node
        if not isinstance(only.value, cst.IfExp):
            return updated_node
        arms = [
            block_of([cst.SimpleStatementLine([only.with_changes(value=value)])])
            for value in (only.value.body, only.value.orelse)
        ]
        return cst.If(only.value.test.with_changes(lpar=[], rpar=[]), arms[0], cst.Else(arms[1]))


class OneAssignment(OfIfs):
    """`if c: x = a` with `else: x = b` becomes `x = a if c else b`."""

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If | cst.BaseStatement:
        if not isinstance(updated_node.orelse, cst.Else) or not self.may_change(original_node):
            return updated_node
        one, other = (_assigned(arm) for arm in (updated_node.body, updated_node.orelse.body))
        if one is None or other is None or one[0] != other[0]:
            return updated_node
        return statement(f"{one[0]} = ({one[1]}) if ({code_of(updated_node.test)}) else ({other[1]})\n")


def _assigned(arm: cst.BaseSuite) -> tuple[str, str] | None:
    """What an arm that only assigns one name assigns to it."""
    match statements_of(arm):
        case [cst.SimpleStatementLine(body=[cst.Assign(targets=[cst.AssignTarget(cst.Name(name))], value=value)])]:
            return name, code_of(value)
    return None


class AndCall(OfIfs):
    """`if c: f()` becomes `c and f()`."""

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If | cst.BaseStatement:
        match statements_of(updated_node.body):
            case [cst.SimpleStatementLine(body=[cst.Expr(cst.Call() as call)])] if updated_node.orelse is None:
                if self.may_change(original_node):
                    return statement(f"({code_of(updated_node.test)}) and {code_of(call)}\n")
        return updated_node


class MatchTrue(OfIfs):
    """`if a == b: A` becomes `match a == b:`, `case True: A`; tests that are no comparison may be neither of two."""

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If | cst.Match:
        simple = m.Comparison(comparisons=[m.ComparisonTarget(operator=m.Is() | m.IsNot() | m.In() | m.NotIn())])
        chained = isinstance(original_node.orelse, cst.If) or not self.may_change(original_node)
        if chained or not m.matches(updated_node.test, simple):
            return updated_node
        cases = [cst.MatchCase(cst.MatchSingleton(cst.Name("True")), updated_node.body)]
        if updated_node.orelse is not None:
            cases.append(cst.MatchCase(cst.MatchAs(), updated_node.orelse.body))
        return cst.Match(updated_node.test.with_changes(lpar=[], rpar=[]), cases)


REWRITES = [
    Rewrite("swap-arms", "the test negated, the arms exchanged", by(SwapArms)),
    Rewrite("flag", "the test kept in a variable first", by(Flag)),
    Rewrite("flag-by-arms", "a variable that is set under the test, and tested", by(FlagByArms)),
    Rewrite("guard-clause", "an exit in place of a last `if`", by(GuardClause)),
    Rewrite("nested-and", "two tests in place of `and`", by(NestedAnd)),
    Rewrite("joined-and", "`and` in place of two tests", by(JoinedAnd)),
    Rewrite("else-if", "`else` with an `if` in it in place of `elif`", by(ElseIf)),
    Rewrite("two-assignments", "an `if` in place of a conditional expression", by(TwoAssignments)),
    Rewrite("one-assignment", "a conditional expression in place of an `if`", by(OneAssignment)),
    Rewrite("and-call", "`c and f()` in place of an `if`", by(AndCall)),
    Rewrite("match-true", "`match` on a test", by(MatchTrue)),
]
