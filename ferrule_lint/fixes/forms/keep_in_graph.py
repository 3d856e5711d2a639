"""Keep in the graph: an output that the loss lacks on some ranks is added there with the weight zero.

Its backward then runs on every rank, and changes nothing. For outputs that one arm of an `if` uses and the other
replaces by a constant or leaves out, and for stand-ins that run and are thrown away. Where a function that was given
the output returns a constant, the sum of none of its elements is added: that is zero whatever they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.helpers import SUM_OF
from ferrule_lint.fixes.names import below, binds, mentioned_later, reads
from ferrule_lint.fixes.site import Site, callee

FORM = "keep-in-graph"
#: what is asked of a tensor and of no container
_OF_TENSORS = re.compile(
    r"\.(sum|mean|view|reshape|float|squeeze|flatten|size|shape|dtype|to|abs|norm|max|min)\b| [-*/@] |\[[a-z]"
)
_CONSTANTS = frozenset({"tensor", "zeros", "zeros_like", "new_zeros", "new_tensor"})


def propose(site: Site) -> Fix | None:
    """The output of the finding's call, kept on the ranks whose loss lacks it."""
    if (given := _given(site)) is not None:
        return given
    calls = site.event_calls()
    if site.finding.kind not in ("data", "structure", "host") or not calls:
        return None
    statement = site.tree.statement(calls[0])
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1 else None
    if isinstance(small, cst.Expr) and small.value is calls[0]:
        return _unused(site, calls[0])
    if isinstance(small, cst.Assign) and len(small.targets) == 1 and small.value is calls[0] and statement is not None:
        target = small.targets[0].target
        return _replaced(site, statement, target.value) if isinstance(target, cst.Name) else None
    return None


def _given(site: Site) -> Fix | None:
    """`return torch.tensor(0.0)` in a function that was given the output, and computes a loss of it elsewhere."""
    tree, constant = site.tree, site.call
    told = re.match(r"an output of `(\w+)` reaches the loss on some ranks only", site.finding.message)
    if told is None or not isinstance(tree.parent(constant), cst.Return) or not _is_constant(constant):
        return None
    output = told.group(1)
    listed = site.function.params
    params = [*listed.posonly_params, *listed.params, *listed.kwonly_params]
    kinds = [tree.text(one.annotation.annotation) for one in params if one.name.value == output and one.annotation]
    if len(kinds) != 1:
        return None
    if re.fullmatch(r"(torch\.)?Tensor", kinds[0]):
        zero = f"{output}.flatten()[:0].sum()"
    elif re.fullmatch(r"([Ll]ist|Sequence|tuple|Tuple)\[(torch\.)?Tensor(, \.\.\.)?\]", kinds[0]):
        zero = f"sum(one.flatten()[:0].sum() for one in {output})"
    else:
        return None
    message = f"`{output}` is part of what is returned on every rank, with none of its elements"
    return Fix(FORM, message, Safety.UNSAFE, (Edit(tree.span(constant), f"{tree.text(constant)} + {zero}"),))


def _unused(site: Site, call: cst.Call) -> Fix | None:
    """`self.tower(zeros)` in one arm, `hidden = hidden + self.tower(pixels)` in the other."""
    tree = site.tree
    guard = tree.nearest(call, cst.If)
    statement = tree.statement(call)
    if guard is None or not isinstance(guard.orelse, cst.Else) or isinstance(tree.parent(guard), cst.If):
        return None
    other = guard.orelse.body if statement in guard.body.body else guard.body
    used = [one for one in below(other) if isinstance(one, cst.Call) and tree.text(one.func) == tree.text(call.func)]
    lasting = mentioned_later(tree, site.function, guard, binds(other))
    if len(used) != 1 or len(lasting) != 1 or statement not in (*guard.body.body, *guard.orelse.body.body):
        return None
    (total,) = lasting
    if not site.sure(guard, {total}, same=False):
        return None
    text = f"{total} = {total} + 0.0 * {tree.text(call)}.sum()"
    return _fix(tree.text(call), [Edit(tree.span(call), text)])


def _replaced(site: Site, statement: cst.BaseStatement, output: str) -> Fix | None:
    """An `if` below, one of whose ways uses the output; the only one of its kind."""
    found = [fix for guard in _below(site, statement) for fix in _ways(site, guard, output)]
    return found[0] if len(found) == 1 else None


def _below(site: Site, statement: cst.BaseStatement) -> Iterator[cst.If]:
    """The choices, in the same block, after `statement`."""
    block = list(site.tree.block(statement))
    for one in block[block.index(statement) + 1 :] if statement in block else ():
        if isinstance(one, cst.If) and (one.orelse is None or isinstance(one.orelse, cst.Else)):
            yield one


def _ways(site: Site, guard: cst.If, output: str) -> Iterator[Fix]:
    tree = site.tree
    uses = output in reads(guard.body)
    if output in reads(guard.test):
        return
    if isinstance(guard.orelse, cst.Else):
        if uses == (output in reads(guard.orelse.body)):
            return
        using, lacking = (guard.body, guard.orelse.body) if uses else (guard.orelse.body, guard.body)
        value = _constant(lacking, binds(using))
        if value is not None:
            yield from _kept(site, output, tree.text(using), value)
    elif uses:
        lasting = mentioned_later(tree, site.function, guard, binds(guard.body))
        if len(lasting) == 1 and site.sure(guard, lasting, same=False):
            (total,) = lasting
            indent, inner = tree.indent(guard), tree.indent(guard.body.body[0])
            for zero, edits in _zero(site, output, tree.text(guard.body)):
                text = f"{indent}else:\n{inner}{total} = {total} + {zero}\n"
                yield _fix(output, [*edits, insertion(tree.span(guard.body.body[-1]).end_line + 1, text)])
    else:
        last = guard.body.body[-1]
        small = last.body[-1] if isinstance(last, cst.SimpleStatementLine) else None
        block = list(tree.block(guard))
        rest = block[block.index(guard) + 1 :]
        value = small.value if isinstance(small, cst.Return) else None
        plain = value is not None and (isinstance(value, cst.Name) or _is_constant(value))
        if value is not None and plain and any(output in reads(one) for one in rest):
            yield from _kept(site, output, "".join(map(tree.text, rest)), value)


def _constant(lacking: cst.BaseSuite, wanted: set[str]) -> cst.BaseExpression | None:
    """The constant that an arm assigns to what the other arm computes."""
    found = []
    for one in lacking.body:
        small = one.body[0] if isinstance(one, cst.SimpleStatementLine) and len(one.body) == 1 else None
        if isinstance(small, cst.Assign) and len(small.targets) == 1:
            target = small.targets[0].target
            if isinstance(target, cst.Name) and target.value in wanted and _is_constant(small.value):
                found.append(small.value)
    return found[0] if len(found) == 1 else None


def _is_constant(value: cst.BaseExpression) -> bool:
    if isinstance(value, cst.Call):
        return callee(value) in _CONSTANTS
    return isinstance(value, cst.Integer | cst.Float)


def _kept(site: Site, output: str, used: str, value: cst.BaseExpression) -> Iterator[Fix]:
    for zero, edits in _zero(site, output, used):
        yield _fix(output, [*edits, Edit(site.tree.span(value), f"{site.tree.text(value)} + {zero}")])


def _zero(site: Site, output: str, used: str) -> Iterator[tuple[str, tuple[Edit, ...]]]:
    """Zero with the output in its graph, and the edits that it takes: by a helper where `used` does not say that the
    output is a tensor. Nothing if there is no place for the helper."""
    if any(_OF_TENSORS.match(used, one.end()) for one in re.finditer(rf"\b{output}\b", used)):
        yield f"0.0 * {output}.sum()", ()
    elif (helper := site.module.helper("_sum_of", SUM_OF)) is not None:
        yield f"0.0 * {helper[0]}({output})", helper[1]


def _fix(what: str, edits: list[Edit]) -> Fix:
    message = (
        f"`{what}` is part of the loss on every rank, with the weight zero where it was not; assumes that it is finite"
    )
    return Fix(FORM, message, Safety.UNSAFE, in_order(edits))
