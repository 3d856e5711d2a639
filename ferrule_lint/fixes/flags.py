"""Flags: local names that are assigned a test once, and used in conditions further down."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import libcst as cst

from ferrule_lint.fixes.names import below, binds, local_names, parameters, reads
from ferrule_lint.fixes.site import conjuncts
from ferrule_lint.fixes.tests import asks, normal, without_bool
from ferrule_lint.fixes.tree import Tree

_PURE = frozenset(
    """any all bool len int float item sum max min mean norm numel size dim isnan isinf isfinite count_nonzero abs
    isinstance get eq ne gt lt ge le get_rank get_world_size is_initialized""".split()
)


@dataclass(frozen=True, slots=True)
class Flag:
    """`name = value`, in one statement of its own."""

    name: str
    value: cst.BaseExpression
    statement: cst.SimpleStatementLine


class Flags(dict[str, Flag]):
    """The flags of one function by name."""

    def leaves(self, name: str) -> tuple[str, ...]:
        """The flags that `name = bool(a or b)` is made of; `(name,)` if it is made of something else."""
        flag = self.get(name)
        if flag is None:
            return ()
        parts = _operands(without_bool(flag.value))
        names = [part.value for part in parts if isinstance(part, cst.Name)]
        if len(parts) > 1 and len(names) == len(parts) and all(one in self for one in names):
            return tuple(names)
        return (name,)

    def asking(self, tree: Tree, test: cst.BaseExpression, place: cst.CSTNode) -> tuple[str, ...]:
        """The flags to agree on so that `test`, at `place`, is agreed on: those it is made of, or that ask the same."""
        if isinstance(test, cst.Name):
            return self.leaves(test.value)
        if not is_pure(test):
            return ()
        terms = {normal(term) for term in conjuncts(test)}
        for flag in self.values():
            parts = conjuncts(without_bool(flag.value))
            texts = {normal(part): part for part in parts}
            if not terms <= set(texts) or tree.span(flag.statement).line >= tree.span(place).line:
                continue
            # what the flag asks besides has to follow from the rest
            decided = set().union(*(reads(texts[text]) for text in terms))
            rest = [part for text, part in texts.items() if text not in terms]
            implied = all(
                asks(tree, part) in ("presence", "truth") and reads(part) - {"bool"} <= decided for part in rest
            )
            if implied and _stays(tree, flag, place):
                return (flag.name,)
        return ()

    def ordered(self, tree: Tree, names: Iterable[str]) -> list[str]:
        """`names` by where they are assigned."""
        return sorted(dict.fromkeys(names), key=lambda name: tree.span(self[name].statement).line)

    def set_together(self, tree: Tree, names: Sequence[str]) -> bool:
        """Whether `names`, in order, are assigned in one block, and none is read before all of them are."""
        block = list(tree.block(self[names[0]].statement))
        if any(self[name].statement not in block for name in names):
            return False
        between = block[block.index(self[names[0]].statement) : block.index(self[names[-1]].statement) + 1]
        return not any(reads(_value(one)) & set(names) for one in between)


def flags_of(tree: Tree, function: cst.FunctionDef) -> Flags:
    """The local names of `function` that one plain assignment binds, and nothing else."""
    found = Flags()
    counts: dict[str, int] = {}
    for node in below(function.body):
        if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1 and isinstance(node.body[0], cst.Assign):
            assign = node.body[0]
            left = assign.targets[0].target
            if len(assign.targets) == 1 and isinstance(left, cst.Name):
                found[left.value] = Flag(left.value, assign.value, node)
        if isinstance(
            node, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.For | cst.CompFor | cst.NamedExpr | cst.AsName
        ):
            for name in binds(node) if not isinstance(node, cst.For | cst.CompFor) else binds_of_target(node):
                counts[name] = counts.get(name, 0) + 1
    outer = parameters(function)
    for name in list(found):
        if counts.get(name, 0) != 1 or name in outer:
            del found[name]
    return found


def resolved(tree: Tree, term: cst.BaseExpression) -> cst.BaseExpression:
    """What a flag was assigned, for a flag that is assigned once."""
    if not isinstance(term, cst.Name):
        return term
    function = tree.function(term)
    flags = None if function is None else flags_of(tree, function)
    flag = None if flags is None else flags.get(term.value)
    if flag is None:
        return term
    leaves = flags.leaves(term.value) if flags is not None else ()
    return flags[leaves[-1]].value if flags is not None and leaves else flag.value


def binds_of_target(node: cst.For | cst.CompFor) -> set[str]:
    """What the target of a loop binds."""
    return {one.value for one in below(node.target) if isinstance(one, cst.Name)}


def unchanged(tree: Tree, start: cst.BaseStatement, end: cst.BaseStatement, names: set[str]) -> bool:
    """Whether nothing from `start` up to `end`, in one block, can change what `names` hold, or leave before `end`.

    What an object's own methods do to its attributes is not known.
    """
    block = list(tree.block(end))
    if start is end:
        return True
    if start not in block or "self" in names:
        return False
    between = block[block.index(start) : block.index(end)]
    return not any(changes(tree, one, names) or leaves_early(one) for one in between)


def leaves_early(statement: cst.CSTNode) -> bool:
    """Whether what comes after `statement` may rely on its not having left: `if x is None: return`."""
    exits = cst.Return | cst.Raise | cst.Break | cst.Continue | cst.Assert
    return any(isinstance(one, exits) for one in below(statement))


def is_pure(test: cst.BaseExpression) -> bool:
    """Whether asking once more, or earlier, is the same: all calls in a test are known to change nothing."""
    return all(
        (node.func.value if isinstance(node.func, cst.Name) else getattr(getattr(node.func, "attr", None), "value", ""))
        in _PURE
        for node in below(test, functions=True)
        if isinstance(node, cst.Call)
    )


def changes(tree: Tree, statement: cst.CSTNode, names: set[str]) -> bool:
    """Whether `statement` assigns one of `names`, a part of it, or calls a method that works in place."""
    if binds(statement) & names:
        return True
    for node in below(statement):
        if isinstance(node, cst.AssignTarget | cst.AugAssign | cst.AnnAssign):
            target: cst.BaseExpression = node.target
            while isinstance(target, cst.Attribute | cst.Subscript):
                target = target.value
            if isinstance(target, cst.Name) and target.value in names and target is not node.target:
                return True
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
            method = node.func.attr.value
            base = node.func.value
            if isinstance(base, cst.Name) and base.value in names and _in_place(method):
                return True
    return False


def _in_place(method: str) -> bool:
    plain = ("append", "extend", "clear", "pop", "insert", "remove", "update", "add", "discard", "popleft")
    return method in plain or re.fullmatch(r"[a-z]\w*[^_]_", method) is not None


def _stays(tree: Tree, flag: Flag, place: cst.CSTNode) -> bool:
    """Whether what the flag was computed from is the same at `place`."""
    function = tree.function(place)
    if function is None:
        return False
    statement = tree.statement(place)
    block = list(tree.block(flag.statement))
    while statement is not None and statement not in block:
        parent = tree.parent(statement)
        statement = None if parent is None else tree.statement(parent)
    if statement is None:
        return False
    names = reads(flag.value) & local_names(function)
    span = block[block.index(flag.statement) + 1 : block.index(statement)]
    return not any(changes(tree, one, names) for one in span)


def _operands(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(test, cst.BooleanOperation):
        return [*_operands(test.left), *_operands(test.right)]
    return [without_bool(test)]


def _value(statement: cst.BaseStatement) -> cst.CSTNode:
    """What a plain assignment evaluates; the statement itself if it is something else."""
    if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1:
        small = statement.body[0]
        if isinstance(small, cst.Assign | cst.AnnAssign) and small.value is not None:
            return small.value
    return statement
