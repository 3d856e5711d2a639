"""Take turns: of two ranks that both send first, one receives first.

`send(x, 0); recv(y, 0)` of the second of them becomes `recv(y, 0); send(x, 0)`, each with the comments above it.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.blocks import long_string, whole_lines
from ferrule_lint.fixes.names import reads
from ferrule_lint.fixes.site import Site, callee

FORM = "take-turns"
_OTHER = {"send": "recv", "recv": "send"}


def propose(site: Site) -> Fix | None:
    """The second rank's two calls, the other way round."""
    calls = site.event_calls()
    if len(calls) != 2 or callee(calls[0]) != callee(calls[1]) or callee(calls[0]) not in _OTHER:
        return None
    tree = site.tree
    guard, line = tree.nearest(calls[0], cst.If), tree.statement(calls[1])
    if guard is None or line is None or _call(line) is not calls[1]:
        return None
    block = list(tree.block(line))
    after = block[block.index(line) + 1 :]
    answer = _call(after[0]) if after else None
    if answer is None or callee(answer) != _OTHER[str(callee(calls[1]))] or site.library(answer) is None:
        return None
    # what is sent must not be overwritten before it is gone, nor be what is received
    if _tensor(calls[1]) & _tensor(answer) or any(long_string(tree, one) for one in (line, after[0])):
        return None
    first, second = whole_lines(tree, line), whole_lines(tree, after[0])
    if tree.span(line).end_line + 1 != second.line:
        return None
    texts = ["".join(f"{tree.source.line(n)}\n" for n in range(s.line, s.end_line)) for s in (first, second)]
    message = f"one of the two ranks is in `{callee(answer)}` first; assumes that the two tensors share no memory"
    return Fix(FORM, message, Safety.UNSAFE, (Edit(first, texts[1]), Edit(second, texts[0])))


def _call(statement: cst.BaseStatement) -> cst.Call | None:
    small = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1 else None
    return small.value if isinstance(small, cst.Expr) and isinstance(small.value, cst.Call) else None


def _tensor(call: cst.Call) -> frozenset[str]:
    named = [a.value for a in call.args if a.keyword is not None and a.keyword.value == "tensor"]
    listed = [a.value for a in call.args[:1] if a.keyword is None]
    return frozenset(name for value in (*named, *listed) for name in reads(value))
