"""Calls behind the end of the process group: all ranks have destroyed it, and some go on alone.

    if world_size > 1:
        dist.barrier()
        dist.destroy_process_group()
    if rank == 0:
        evaluate(model, test_loader)

What is asked there whether there is a group (`if dist.is_initialized(): dist.all_gather_object(...)`) communicates no
more, and what does not ask fails at once: nobody waits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ferrule_lint.checks.places import body_at
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.text import last_name, render

_CODES = frozenset({"FER102", "FER103"})
_DESTROYS, _INIT = "destroy_process_group", "init_process_group"
#: tests that let some ranks in
_OF_SOME = re.compile(r"rank|main|master|leader|first|coordinator|zero", re.IGNORECASE)


def without_those_behind_the_end(analysis: Analysis, findings: Iterable[Finding]) -> list[Finding]:
    """Findings without those about calls for which there is no process group any more."""
    return [finding for finding in findings if not _is_behind_the_end(analysis, finding)]


def _is_behind_the_end(analysis: Analysis, finding: Finding) -> bool:
    if finding.code not in _CODES or "private" in finding.axes:
        return False
    over, place = False, finding.span
    for s in body_at(analysis, finding.path, place.line, place.column):
        if s.line > place.line:
            break
        if _ends(s):
            over = s.line < place.line
        elif any(type(node) is f.Call and _INIT in last_name(node.func) for node in walk((s,))):
            over = False
    return over


def _ends(s: f.Stmt) -> bool:
    """Whether a statement destroys the process group of all ranks, wherever there is one."""
    if type(s) is f.If and not s.orelse and not _OF_SOME.search(render(s.test)):
        return any(map(_ends, s.body))
    call = s.value if type(s) is f.ExprStmt else None
    return type(call) is f.Call and last_name(call.func) == _DESTROYS and not call.args and not call.keywords
