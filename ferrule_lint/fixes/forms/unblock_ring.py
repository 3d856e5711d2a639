"""Unblock a ring: the send is started before the receive, and waited for behind it.

Where every rank is in a blocking `send` at once, none comes to its `recv`.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.names import fresh, reads
from ferrule_lint.fixes.site import Site, callee

FORM = "unblock-ring"


def propose(site: Site) -> Fix | None:
    """`send(x); recv(y)` as `sending = isend(x); recv(y); sending.wait()`."""
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
    for call, line in zip(calls, lines, strict=True):
        small = line.body[0] if isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1 else None
        if not isinstance(small, cst.Expr) or small.value is not call:
            return None
        if tree.text(call.func) != f"{spelled}.{callee(call)}" or not call.args:
            return None
    if reads(send.args[0].value) & reads(recv.args[0].value):
        # what is sent must not be overwritten before it is gone
        return None
    name = fresh("sending", site.module.taken)
    function, start = tree.span(send.func), tree.span(send)
    edits = [
        insertion(start.line, f"{name} = ", start.column),
        Edit(
            Span(function.end_line, function.end_column - len("send"), function.end_line, function.end_column), "isend"
        ),
        insertion(tree.span(recv).end_line + 1, f"{tree.indent(lines[0])}{name}.wait()\n"),
    ]
    message = (
        "the send is started before the receive and waited for behind it; assumes that the two tensors share no memory"
    )
    return Fix(FORM, message, Safety.UNSAFE, in_order(edits))
