"""Narrow the receive: only the rank that is sent to receives, where all but the sender did.

`if first: send(x, dst=last) else: recv(...)` becomes `elif rank == last: recv(...)`.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.names import reads
from ferrule_lint.fixes.site import Site, callee
from ferrule_lint.fixes.tree import Tree

FORM = "narrow-receive"
#: objects that stand for a group have both
_TESTS = {"last_rank": "is_last_rank", "first_rank": "is_first_rank"}


def propose(site: Site) -> Fix | None:
    """The `else` with the receive, under a test for the one that is sent to."""
    tree, finding = site.tree, site.finding
    if len(finding.events) != 2 or callee(site.call) not in ("recv", "irecv"):
        return None
    sends = [call for call in site.event_calls() if callee(call) in ("send", "isend")]
    arm = tree.nearest(site.call, cst.Else)
    guard = None if arm is None else tree.parent(arm)
    if len(sends) != 1 or arm is None or not isinstance(guard, cst.If):
        return None
    if tree.nearest(sends[0], cst.If) is not guard or not _in_block(tree, sends[0], guard.body):
        return None
    to = _destination(sends[0])
    test = None if to is None else _receiver(site, sends[0], to)
    if to is None or test is None or not site.sure(guard, reads(to)):
        return None
    start = tree.span(arm)
    edit = Edit(Span(start.line, start.column, start.line, start.column + len("else")), f"elif {test}")
    message = (
        f"only the rank that is sent to, `{tree.text(to)}`, receives; assumes that the ranks between need nothing of"
        " what they received"
    )
    return Fix(FORM, message, Safety.UNSAFE, (edit,))


def _in_block(tree: Tree, call: cst.Call, body: cst.BaseSuite) -> bool:
    statement = tree.statement(call)
    return statement is not None and tree.parent(statement) is body


def _destination(call: cst.Call) -> cst.BaseExpression | None:
    named = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == "dst"]
    if any(arg.star for arg in call.args):
        return None
    listed = [arg.value for arg in call.args[1:2] if arg.keyword is None]
    return next(iter([*named, *listed]), None)


def _receiver(site: Site, send: cst.Call, to: cst.BaseExpression) -> str | None:
    """A test that holds on the rank that is sent to."""
    tree = site.tree
    spelled = site.library(send)
    if isinstance(to, cst.Attribute) and to.attr.value in _TESTS:
        return f"{tree.text(to.value)}.{_TESTS[to.attr.value]}"
    plain = isinstance(to, cst.Name | cst.Integer) or (isinstance(to, cst.Attribute) and "rank" in to.attr.value)
    if spelled is not None and plain and callee(send) in ("send", "isend"):
        # torch.distributed counts its peers in the job
        return f"{spelled}.get_rank() == {tree.text(to)}"
    return None
