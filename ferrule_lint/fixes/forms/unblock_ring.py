"""Unblock a ring: the send and the receive are issued as one batch, and waited for behind it.

Where every rank is in a blocking `send` at once, none comes to its `recv`. `isend` is not enough: NCCL waits in the
first one to a rank for its `irecv`, unless the calls are one batch (PyTorch, `batch_isend_irecv`). Where handles were
waited for further below, the batch is.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.blocks import deepened, indent_of, long_string, whole_lines
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.names import below, fresh, is_label, reads
from ferrule_lint.fixes.site import Site, callee
from ferrule_lint.fixes.tree import Tree

FORM = "unblock-ring"
#: arguments of `send` and `recv` by place, and what `P2POp` calls them
_PLACES = ("tensor", "peer", "group", "tag", "group_peer")
_NAMES = {"dst": "peer", "src": "peer", "group_dst": "group_peer", "group_src": "group_peer"}


class _Transfer(NamedTuple):
    """`send(...)` alone in its line, or `work = isend(...)` and the line with `work.wait()`."""

    call: cst.Call
    #: what the call says for torch.distributed
    library: str
    #: "send" or "recv"
    kind: str
    arguments: dict[str, cst.Arg]
    line: cst.BaseStatement
    wait: cst.BaseStatement | None


def propose(site: Site) -> Fix | None:
    """`send(x); recv(y)` as one batch of both operations."""
    tree = site.tree
    calls = site.event_calls()
    # of a ring with the wrong neighbour the finding names the later call first
    if len(calls) != 2 or tree.span(calls[0]).line > tree.span(calls[1]).line:
        return None
    first, second = (_transfer(site, call) for call in calls)
    if first is None or second is None or {first.kind, second.kind} != {"send", "recv"}:
        return None
    block = list(tree.block(first.line))
    if second.line not in block or block.index(second.line) != block.index(first.line) + 1:
        return None
    if reads(first.arguments["tensor"].value) & reads(second.arguments["tensor"].value):
        # what is sent must not be overwritten before it is gone
        return None
    groups = [one.arguments.get("group") for one in (first, second)]
    if len({"None" if group is None else tree.text(group.value) for group in groups}) > 1:
        return None
    indent = tree.indent(first.line)
    operations, works, work = (fresh(name, site.module.taken) for name in ("operations", "works", "work"))
    above, last = tree.span(first.call).line, tree.span(second.call).end_line
    edits = [insertion(above, f"{indent}{operations} = [\n"), *deepened(tree, above, last, "    ")]
    for one in (first, second):
        edits += _as_operation(tree, one)
    waits = sorted((one.wait for one in (first, second) if one.wait is not None), key=lambda wait: tree.span(wait).line)
    batch, later = f"{first.library}.batch_isend_irecv({operations})", len(waits) == 2
    loop = f"{indent}for {work} in {works if later else batch}:\n{indent}    {work}.wait()\n"
    edits.append(insertion(last + 1, f"{indent}]\n" + (f"{indent}{works} = {batch}\n" if later else loop)))
    for wait in waits:
        edits.append(Edit(whole_lines(tree, wait), loop if later and wait is waits[0] else ""))
    message = "the send and the receive are issued as one batch; assumes that the two tensors share no memory"
    return Fix(FORM, message, Safety.UNSAFE, in_order(edits))


def _transfer(site: Site, call: cst.Call) -> _Transfer | None:
    """What a call transfers, if it can be put into a batch."""
    tree = site.tree
    name, line = callee(call), tree.statement(call)
    small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
    arguments = _arguments(call)
    library = site.library(call)
    if line is None or arguments is None or library is None or long_string(tree, line):
        return None
    if isinstance(small, cst.Expr) and small.value is call and name in ("send", "recv"):
        return _Transfer(call, library, name, arguments, line, None)
    if isinstance(small, cst.Assign) and small.value is call and name in ("isend", "irecv") and len(small.targets) == 1:
        wait = _wait(tree, line, small.targets[0].target)
        return _Transfer(call, library, name[1:], arguments, line, wait) if wait is not None else None
    return None


def _wait(tree: Tree, line: cst.BaseStatement, handle: cst.BaseExpression) -> cst.BaseStatement | None:
    """`handle.wait()`, a line below in the same block and without a comment, if nothing else reads the handle."""
    function = tree.function(line)
    if not isinstance(handle, cst.Name) or function is None:
        return None
    names = [
        one for one in below(function.body, functions=True) if isinstance(one, cst.Name) and one.value == handle.value
    ]
    used = [one for one in names if one is not handle and not is_label(tree, one)]
    found = tree.statement(used[0]) if len(used) == 1 else None
    after = list(tree.block(line))
    if found is None or found not in after[after.index(line) + 1 :]:
        return None
    span = tree.span(found)
    alone = tree.text(found).strip() == f"{handle.value}.wait()" == tree.source.line(span.line).strip()
    return found if alone and whole_lines(tree, found).line == span.line else None


def _as_operation(tree: Tree, one: _Transfer) -> list[Edit]:
    """The edits that make an operation of a batch out of a call."""
    call = one.call
    line, function, span, first = tree.span(one.line), tree.span(call.func), tree.span(call), tree.span(call.args[0])
    apart = f"\n{indent_of(tree.source.line(first.line))}    " if first.line > span.line else " "
    edits = [
        Edit(Span(line.line, line.column, function.end_line, function.end_column), f"{one.library}.P2POp"),
        insertion(first.line, f"{one.library}.i{one.kind},{apart}", first.column),
        insertion(span.end_line, ",", span.end_column),
    ]
    return edits + [
        Edit(tree.span(argument.keyword), name)
        for name, argument in one.arguments.items()
        if argument.keyword is not None and argument.keyword.value != name
    ]


def _arguments(call: cst.Call) -> dict[str, cst.Arg] | None:
    """By the names of `P2POp`; None if some are not known."""
    found: dict[str, cst.Arg] = {}
    for place, argument in enumerate(call.args):
        if argument.star or place >= len(_PLACES):
            return None
        name = _PLACES[place] if argument.keyword is None else argument.keyword.value
        found[_NAMES.get(name, name)] = argument
    known = found.keys() <= set(_PLACES) and "tensor" in found
    # a receive from anybody has no place in a batch
    return found if known and found.keys() & {"peer", "group_peer"} else None
