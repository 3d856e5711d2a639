"""Rewrites of the ways out of a block, and of loops: the same rounds and the same exits, written otherwise."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from rewrites.base import OfIfs, Rewrite, block_of, by, code_of, negated, statement, statements_of

_EXITS = m.SimpleStatementLine(body=[m.ZeroOrMore(), m.Return() | m.Continue() | m.Break() | m.Raise()])


class DroppedElse(OfIfs):
    """`if c: return a` with `else: B` becomes `if c: return a` and `B`."""

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If | cst.FlattenSentinel[cst.BaseStatement]:
        if not self.may_change(original_node):
            return updated_node
        if not isinstance(updated_node.orelse, cst.Else) or not m.matches(_last(updated_node.body), _EXITS):
            return updated_node
        rest = statements_of(updated_node.orelse.body)
        return cst.FlattenSentinel([updated_node.with_changes(orelse=None), *rest])


class AddedElse(cst.CSTTransformer):
    """`if c: return a` and `B` becomes `if c: return a` with `else: B`."""

    def leave_IndentedBlock(
        self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock
    ) -> cst.IndentedBlock:
        body = list(updated_node.body)
        for i in range(len(body) - 2, -1, -1):
            guard = body[i]
            if isinstance(guard, cst.If) and guard.orelse is None and m.matches(_last(guard.body), _EXITS):
                body[i:] = [guard.with_changes(orelse=cst.Else(block_of(body[i + 1 :])))]
        return updated_node.with_changes(body=body)


class WhileTrue(cst.CSTTransformer):
    """`while c: B` becomes `while True: if not c: break` and `B`."""

    def leave_While(self, original_node: cst.While, updated_node: cst.While) -> cst.While:
        if updated_node.orelse is not None or code_of(updated_node.test) == "True":
            return updated_node
        test = code_of(negated(updated_node.test))
        body = [statement(f"if {test}:\n    break\n"), *statements_of(updated_node.body)]
        return updated_node.with_changes(test=cst.Name("True"), body=block_of(body))


class Iterator(cst.CSTTransformer):
    """`for x in xs: B` becomes `rest = iter(xs)`, and a loop that ends with `next(rest)`."""

    def __init__(self) -> None:
        self._number = 0

    def leave_For(
        self, original_node: cst.For, updated_node: cst.For
    ) -> cst.For | cst.FlattenSentinel[cst.BaseStatement]:
        if updated_node.orelse is not None or updated_node.asynchronous is not None:
            return updated_node
        self._number += 1
        name = f"rest_{self._number}"
        target = code_of(updated_node.target)
        taken = f"try:\n    {target} = next({name})\nexcept StopIteration:\n    break\n"
        body = block_of([statement(taken), *statements_of(updated_node.body)])
        first = statement(f"{name} = iter({code_of(updated_node.iter)})\n")
        return cst.FlattenSentinel([first, cst.While(cst.Name("True"), body)])


class WholeBody(cst.CSTTransformer):
    """The body of each function in a block; its doc string stays in front."""

    def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> cst.FunctionDef:
        body = statements_of(updated_node.body)
        words = m.SimpleStatementLine(body=[m.Expr(m.SimpleString() | m.ConcatenatedString())])
        first = 1 if m.matches(body[0], words) else 0
        if len(body[first:]) < 2 or updated_node.name.value == "__init__":
            return updated_node  # nobody does so for a stub
        return updated_node.with_changes(body=block_of([*body[:first], self.around(block_of(body[first:]))]))

    def around(self, body: cst.IndentedBlock) -> cst.BaseStatement:
        raise NotImplementedError


class TryFinally(WholeBody):
    """`A` becomes `try: A` with `finally: pass`."""

    def around(self, body: cst.IndentedBlock) -> cst.BaseStatement:
        return cst.Try(body=body, finalbody=cst.Finally(block_of([])))


class NullContext(WholeBody):
    """`A` becomes `with contextlib.nullcontext(): A`."""

    def around(self, body: cst.IndentedBlock) -> cst.BaseStatement:
        block = statement("with contextlib.nullcontext():\n    pass\n")
        assert isinstance(block, cst.With)
        return block.with_changes(body=body)

    def leave_Module(self, original_node: cst.Module, updated_node: cst.Module) -> cst.Module:
        body = list(updated_node.body)
        if not any(m.findall(s, m.With()) for s in body):
            return updated_node
        first = next((i for i, s in enumerate(body) if not _is_first(s)), len(body))
        return updated_node.with_changes(body=[*body[:first], statement("import contextlib\n"), *body[first:]])


class OneRound(OfIfs):
    """`if c: A` becomes a loop of one round around it, where nothing in it leaves a loop."""

    def leave_If(self, original_node: cst.If, updated_node: cst.If) -> cst.If | cst.For:
        if m.findall(updated_node, m.Break() | m.Continue() | m.Yield()) or not self.may_change(original_node):
            return updated_node
        loop = statement("for _ in range(1):\n    pass\n")
        assert isinstance(loop, cst.For)
        return loop.with_changes(body=block_of([updated_node]))


def _last(body: cst.BaseSuite) -> cst.BaseStatement:
    return statements_of(body)[-1]


def _is_first(s: cst.CSTNode) -> bool:
    """Whether something has to stand at the beginning of a file."""
    words = m.SimpleStatementLine(body=[m.Expr(m.SimpleString() | m.ConcatenatedString())])
    future = m.SimpleStatementLine(body=[m.ImportFrom(module=m.Name("__future__"))])
    return m.matches(s, words) or m.matches(s, future)


REWRITES = [
    Rewrite("dropped-else", "no `else` behind an arm that leaves", by(DroppedElse)),
    Rewrite("added-else", "an `else` behind an arm that leaves", by(AddedElse)),
    Rewrite("while-true", "`while True` that is left by a test at its beginning", by(WhileTrue)),
    Rewrite("iterator", "an iterator that is asked for its next item until it has none", by(Iterator)),
    Rewrite("try-finally", "the body of a function in a `try` with an idle `finally`", by(TryFinally)),
    Rewrite("null-context", "the body of a function in a context that does nothing", by(NullContext)),
    Rewrite("one-round", "a loop of one round around an `if`", by(OneRound)),
]
