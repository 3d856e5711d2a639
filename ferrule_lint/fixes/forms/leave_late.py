"""Leave late: a rank that has nothing for a tower returns behind it, where it has run on zeros of another rank's shape.

`if not inputs: return embeds` in front of `features = self.tower(*inputs[0])` becomes a return behind the tower, of the
same with the features at the weight zero, so that parameters are gathered, and have a backward, everywhere. For lists
of inputs that are collected above: `inputs.append((pixels, grid))` where they are there.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.blocks import comment_of
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.helpers import INPUTS_OF_ANY_RANK, SUM_OF
from ferrule_lint.fixes.names import below, binds, fresh, is_label, reads
from ferrule_lint.fixes.site import Site

FORM = "leave-late"
_LEAVES = cst.Return | cst.Continue | cst.Break | cst.Await | cst.Yield | cst.Del


def propose(site: Site) -> Fix | None:
    """The exit, for ranks without an input only if no rank has any; a second one behind the last event."""
    tree, guard = site.tree, site.owner
    if site.finding.kind != "structure" or not isinstance(guard, cst.If) or guard.orelse is not None:
        return None
    group = site.group(guard)
    inputs, kept = _asked(guard), _returned(guard)
    block = list(tree.block(guard))
    if group is None or not inputs or not kept or guard not in block or comment_of(tree, guard):
        return None
    ahead = _until_last_event(site, block[block.index(guard) + 1 :])
    results = [name for one in ahead for name in _result(site, one)]
    changed = set().union(*map(binds, ahead)) if ahead else set()
    if not results or kept in changed or not _collected(site, guard, inputs):
        return None
    read = set().union(*map(reads, ahead))
    if not site.sure(guard, {kept, *(read - changed)}, same=False):
        return None
    find, total = site.module.helper("_inputs_of_any_rank", INPUTS_OF_ANY_RANK), site.module.helper("_sum_of", SUM_OF)
    if find is None or total is None:
        return None
    here, given = fresh(f"has_{inputs}", site.module.taken), fresh("stand_in", site.module.taken)
    indent, inner = tree.indent(guard), tree.indent(guard.body.body[0])
    first, last = tree.span(guard), tree.span(guard.body.body[-1])
    outputs = results[0] if len(results) == 1 else f"[{', '.join(results)}]"
    own = [
        Edit(
            Span(first.line, 1, last.line, 1),
            f"{indent}{here} = bool({inputs})\n"
            f"{indent}{given} = {find[0]}({here}, *({inputs}[0] if {here} else ()){group.text})\n"
            f"{indent}if {given} is None:\n",
        ),
        insertion(last.end_line + 1, f"{indent}if not {here}:\n{inner}{inputs} = [{given}]\n"),
        insertion(
            tree.span(ahead[-1]).end_line + 1,
            f"{indent}if not {here}:\n{inner}return {kept} + 0.0 * {total[0]}({outputs})\n",
        ),
    ]
    for one in block[block.index(ahead[-1]) + 1 :]:
        if not isinstance(one, cst.If) or one.orelse is not None:
            continue
        if kept in binds(one.body) and reads(one.body) & set(results):
            # what else decides whether the output is used decides about its backward, too
            text = f"{indent}else:\n{inner}{kept} = {kept} + 0.0 * {total[0]}({outputs})\n"
            own.append(insertion(tree.span(one.body.body[-1]).end_line + 1, text))
    message = (
        f"ranks without `{inputs}` run the same on zeros of another rank's shape, and leave behind it with the result"
        " at the weight zero; assumes that every rank comes here"
    )
    return Fix(FORM, message, Safety.UNSAFE, in_order([*find[1], *total[1], *own]))


def _asked(guard: cst.If) -> str:
    """The list of which the test asks whether it is empty."""
    test = guard.test
    negated = isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not)
    inner = test.expression if isinstance(test, cst.UnaryOperation) and negated else None
    return inner.value if isinstance(inner, cst.Name) else ""


def _returned(guard: cst.If) -> str:
    """The name that the block does nothing but return."""
    line = guard.body.body[0] if isinstance(guard.body, cst.IndentedBlock) and len(guard.body.body) == 1 else None
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    value = small.value if isinstance(small, cst.Return) else None
    return value.value if isinstance(value, cst.Name) else ""


def _until_last_event(site: Site, rest: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """The statements below the exit down to the last event; none if an event is not in a line of its own there."""
    lines = [site.tree.statement(call) for call in site.event_calls()]
    places = [index for index, one in enumerate(rest) if one in lines]
    if not lines or len(places) != len(set(map(id, lines))):
        return []
    ahead = list(rest[: places[-1] + 1])
    if any(isinstance(node, _LEAVES) for one in ahead for node in below(one, functions=True)):
        return []
    return ahead


def _result(site: Site, statement: cst.BaseStatement) -> list[str]:
    """What a line with an event assigns."""
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1 else None
    holds = any(call in set(site.tree.walk(statement)) for call in site.event_calls())
    return sorted(binds(small)) if holds and isinstance(small, cst.Assign) else []


def _collected(site: Site, guard: cst.If, name: str) -> bool:
    """Whether a list holds tuples of inputs that are there, and only its first item is looked at below."""
    tree, end = site.tree, site.tree.span(guard).line
    made = 0
    for one in below(site.function.body, functions=True):
        if not isinstance(one, cst.Name) or one.value != name or is_label(tree, one) or guard in tree.around(one):
            continue
        parent = tree.parent(one)
        if tree.span(one).line > end:
            if not _is_first(parent) and not any(isinstance(around, cst.Assert) for around in tree.around(one)):
                return False
        elif isinstance(parent, cst.AssignTarget):
            value = getattr(tree.parent(parent), "value", None)
            made += 1
            if not isinstance(value, cst.List) or value.elements:
                return False
        else:
            call = None if parent is None else tree.parent(parent)
            added = call.args[0].value if isinstance(call, cst.Call) and len(call.args) == 1 else None
            appends = isinstance(parent, cst.Attribute) and parent.attr.value == "append"
            if not appends or not isinstance(added, cst.Tuple):
                return False
    return made == 1


def _is_first(parent: cst.CSTNode | None) -> bool:
    """Whether a node is `items[0]`."""
    only = parent.slice[0].slice if isinstance(parent, cst.Subscript) and len(parent.slice) == 1 else None
    return isinstance(only, cst.Index) and isinstance(only.value, cst.Integer) and only.value.evaluated_value == 0
