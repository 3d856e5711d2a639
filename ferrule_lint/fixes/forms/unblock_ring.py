"""Unblock a ring: the send and the receive are issued as one batch, and waited for behind it.

Where every rank is in a blocking `send` at once, none comes to its `recv`. `isend` is not enough: NCCL
connects two ranks when both have come to their first call for each other, unless the calls are one batch (PyTorch,
`batch_isend_irecv`).
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.blocks import indent_of, long_string
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.names import fresh, reads
from ferrule_lint.fixes.site import Site, callee

FORM = "unblock-ring"
#: arguments of `send` and `recv` by place, and what `P2POp` calls them
_PLACES = ("tensor", "peer", "group", "tag", "group_peer")
_NAMES = {"dst": "peer", "src": "peer", "group_dst": "group_peer", "group_src": "group_peer"}


def propose(site: Site) -> Fix | None:
    """`send(x); recv(y)` as one batch of both operations."""
    tree = site.tree
    calls = site.event_calls()
    spelled = site.module.spelled("torch.distributed")
    if [callee(call) for call in calls] != ["send", "recv"] or spelled is None:
        return None
    send, recv = calls
    lines = [line for call in calls if (line := tree.statement(call)) is not None]
    block = list(tree.block(lines[0])) if len(lines) == 2 else []
    if not all(line in block for line in lines) or block.index(lines[1]) != block.index(lines[0]) + 1:
        return None
    given = []
    for call, line in zip(calls, lines, strict=True):
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        if not isinstance(small, cst.Expr) or small.value is not call or long_string(tree, line):
            return None
        arguments = _arguments(call)
        if tree.text(call.func) != f"{spelled}.{callee(call)}" or arguments is None:
            return None
        given.append(arguments)
    sent, received = given
    if reads(sent["tensor"].value) & reads(received["tensor"].value):
        # what is sent must not be overwritten before it is gone
        return None
    if len({tree.text(one["group"].value) if "group" in one else "None" for one in given}) > 1:
        return None
    indent = tree.indent(lines[0])
    operations, work = fresh("operations", site.module.taken), fresh("work", site.module.taken)
    above, below = tree.span(send).line, tree.span(recv).end_line
    edits = [insertion(above, f"{indent}{operations} = [\n")]
    edits += [insertion(line, "    ") for line in range(above, below + 1) if tree.source.line(line).strip()]
    for call, arguments in zip(calls, given, strict=True):
        span, first = tree.span(call), tree.span(call.args[0])
        apart = f"\n{indent_of(tree.source.line(first.line))}    " if first.line > span.line else " "
        edits += [
            Edit(tree.span(call.func), f"{spelled}.P2POp"),
            insertion(first.line, f"{spelled}.i{callee(call)},{apart}", first.column),
            insertion(span.end_line, ",", span.end_column),
        ]
        edits += [
            Edit(tree.span(one.keyword), name)
            for name, one in arguments.items()
            if one.keyword is not None and one.keyword.value != name
        ]
    batch = f"{indent}for {work} in {spelled}.batch_isend_irecv({operations}):\n{indent}    {work}.wait()\n"
    edits.append(insertion(below + 1, f"{indent}]\n{batch}"))
    message = "the send and the receive are issued as one batch; assumes that the two tensors share no memory"
    return Fix(FORM, message, Safety.UNSAFE, in_order(edits))


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
