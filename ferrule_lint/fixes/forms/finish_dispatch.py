"""Complete the stage dispatch: the arm for the stages between, on the sending and the receiving side alike.

Those stages get what is read below the dispatch without a test of the stage. Where an arm makes the buffer that it
receives into, so does the new one. Both halves (the rank that has the data,
and those that receive it) get their arm in one fix: one alone would hang.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.names import below, binds, reads, surely_bound
from ferrule_lint.fixes.site import Site, callee
from ferrule_lint.fixes.tree import Tree

FORM = "finish-dispatch"
_BUFFERS = frozenset({"empty", "zeros", "ones", "full", "empty_like", "zeros_like", "new_empty", "new_zeros"})
_STAGE = re.compile(r"stage|pp|pipeline", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Step:
    """A statement of an arm that shares a value: `key` says what, alike in both halves."""

    statement: cst.SimpleStatementLine
    call: cst.Call
    key: str
    #: makes the buffer, if the arm does
    buffer: cst.SimpleStatementLine | None = None

    @property
    def needs(self) -> set[str]:
        """What it reads, the buffer that it makes left out."""
        if self.buffer is None:
            return reads(self.call)
        return (reads(self.call) - {self.key}) | (reads(self.buffer) - binds(self.buffer))


def propose(site: Site) -> Fix | None:
    """An `else` for each dispatch on the stage in the function, all with the same steps."""
    tree = site.tree
    chains = [
        chain
        for node in tree.walk(site.function.body)
        if isinstance(node, cst.If) and not isinstance(tree.parent(node), cst.If)
        for chain in [_chain(node)]
        if chain is not None and _is_dispatch(tree, chain)
    ]
    if not chains or len(chains) > 2 or not _are_told_of(site, chains):
        return None
    if len(chains) == 2 and not _two_halves(tree, chains[0][0], chains[1][0]):
        return None
    wanted = set().union(*(_read_below(site, chain[0]) for chain in chains))
    halves = [_missing(site, chain, wanted) for chain in chains]
    if any(half is None for half in halves):
        return None
    steps = [half for half in halves if half is not None]
    if len({tuple(step.key for step in half) for half in steps}) != 1:
        return None
    edits = [_arm(tree, chain, half) for chain, half in zip(chains, steps, strict=True)]
    shared = ", ".join(f"`{step.key}`" for step in steps[0])
    message = f"the stages between get their arm, which shares {shared}; assumes that these exist on every stage"
    return Fix(FORM, message, Safety.UNSAFE, in_order(edits))


def _are_told_of(site: Site, chains: Sequence[Sequence[cst.If]]) -> bool:
    """Whether the findings speak of all of these dispatches, and of no other."""
    findings = [site.finding, *(one for one in site.others if one.code == "FER301")]
    told = {step.line for one in findings for step in one.witness if step.role == "condition"}
    arms = [{site.tree.span(arm.test).line for arm in chain} for chain in chains]
    return all(told & lines for lines in arms) and told <= set().union(*arms)


def _chain(node: cst.CSTNode) -> list[cst.If] | None:
    """The arms of an if/elif chain without an else."""
    arms: list[cst.If] = []
    current = node
    while isinstance(current, cst.If):
        arms.append(current)
        if current.orelse is None:
            return arms if len(arms) > 1 else None
        current = current.orelse
    return None


def _is_dispatch(tree: Tree, arms: Sequence[cst.If]) -> bool:
    """Whether each arm tests the stage, and shares something."""
    return all(_STAGE.search(tree.text(arm.test)) for arm in arms) and all(_steps(tree, arm) for arm in arms)


def _steps(tree: Tree, arm: cst.If) -> list[_Step]:
    """The steps of an arm; none if it does anything besides that is not giving up a value."""
    found: list[_Step] = []
    buffers: dict[str, cst.SimpleStatementLine] = {}
    if not isinstance(arm.body, cst.IndentedBlock):
        return []
    for statement in arm.body.body:
        if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
            return []
        small = statement.body[0]
        if isinstance(small, cst.Assign) and tree.text(small.value) == "None":
            continue
        call = small.value if isinstance(small, cst.Expr | cst.Assign) else None
        if not isinstance(call, cst.Call):
            return []
        key = _key(small, call)
        if key is None:
            return []
        if isinstance(small, cst.Assign) and callee(call) in _BUFFERS:
            buffers[key] = statement
            continue
        found.append(_Step(statement, call, key, buffers.pop(key, None)))
    return [] if buffers else found


def _key(small: cst.BaseSmallStatement, call: cst.Call) -> str | None:
    """What a step shares: the name it assigns, or of its first argument `x`, `batch["x"]` or `batch.x`."""
    if isinstance(small, cst.Assign):
        target = small.targets[0].target
        return target.value if len(small.targets) == 1 and isinstance(target, cst.Name) else None
    if not call.args or call.args[0].star:
        return None
    value = call.args[0].value
    if isinstance(value, cst.Name):
        return value.value
    if isinstance(value, cst.Attribute):
        return value.attr.value
    if isinstance(value, cst.Subscript) and len(value.slice) == 1:
        index = value.slice[0].slice
        if isinstance(index, cst.Index) and isinstance(index.value, cst.SimpleString):
            text = index.value.evaluated_value
            return text if isinstance(text, str) and text.isidentifier() else None
    return None


def _two_halves(tree: Tree, one: cst.If, other: cst.If) -> bool:
    """Whether two dispatches stand in the two arms of one `if`."""
    outer = tree.nearest(one, cst.If)
    if outer is None or outer.orelse is None:
        return False
    return tree.nearest(other, cst.Else) is outer.orelse and tree.block(one) is outer.body.body


def _missing(site: Site, arms: Sequence[cst.If], wanted: set[str]) -> list[_Step] | None:
    """The steps of the missing arm: of all that some arm shares, what is `wanted` whatever the stage."""
    tree = site.tree
    merged = _merged([_steps(tree, arm) for arm in arms])
    if merged is None:
        return None
    steps = [step for step in merged if step.key in wanted]
    if not steps:
        return None
    for step in steps:
        names = step.needs
        made = {step.key for arm in arms for step in _steps(tree, arm) if binds(step.statement)} - {step.key}
        if names & made or not surely_bound(tree, site.function, arms[0], names, arms=True):
            return None
    return steps


def _merged(arms: Sequence[list[_Step]]) -> list[_Step] | None:
    """All steps in an order that every arm keeps; None if two arms disagree."""
    merged: list[_Step] = []
    for steps in sorted(arms, key=len, reverse=True):
        at, new = 0, list[_Step]()
        for step in steps:
            place = next((index for index, one in enumerate(merged) if one.key == step.key), None)
            if place is None:
                new.append(step)
            elif place < at:
                return None
            else:
                merged[place:place] = new
                at, new = place + len(new) + 1, []
        merged[at:at] = new
    return merged


def _read_below(site: Site, first: cst.If) -> set[str]:
    """Names that are read behind the dispatch, not under a test of the stage."""
    tree = site.tree
    end = tree.span(first).end_line
    outer = [one for one in tree.around(first) if isinstance(one, cst.If) and tree.function(one) is site.function]
    arm = tree.parent(first)
    arm_end = tree.span(arm).end_line if outer and arm is not None else end
    beyond = max(end, tree.span(outer[-1]).end_line) if outer else end
    found: set[str] = set()
    for node in below(site.function.body):
        if isinstance(node, cst.Name) and not _under_stage_test(site, node):
            line = tree.span(node).line
            if end < line <= arm_end or line > beyond:
                found.add(node.value)
    return found


def _under_stage_test(site: Site, node: cst.CSTNode) -> bool:
    for one in site.tree.around(node):
        if one is site.function:
            return False
        if isinstance(one, cst.If | cst.IfExp) and _STAGE.search(site.tree.text(one.test)):
            return True
    return False


def _arm(tree: Tree, arms: Sequence[cst.If], steps: Sequence[_Step]) -> Edit:
    """The `else` behind the last arm."""
    last = arms[-1]
    indent = tree.indent(arms[0])
    assert isinstance(last.body, cst.IndentedBlock)
    inner = tree.indent(last.body.body[0])
    parts = [part for step in steps for part in (step.buffer, step.statement) if part is not None]
    lines = "".join(f"{inner}{tree.text(part)}\n" for part in parts)
    end = tree.span(last.body.body[-1]).end_line
    # as far apart as the arms are
    apart = "" if tree.source.line(tree.span(last).line - 1).strip() else "\n"
    return insertion(end + 1, f"{apart}{indent}else:\n{lines}")
