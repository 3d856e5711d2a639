"""Work that some ranks do themselves, and the others in threads that they start and wait for:

    if rank % 2 == 0:
        body(args)
    else:
        threads = [Worker(args)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()

where `Worker` is a thread whose `run` calls `body`. That the others do not call it here is no finding.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ferrule_lint.checks.places import calls_at
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk, way_to
from ferrule_lint.findings import Confidence, Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import ClassInfo, ModuleInfo

_CODES = frozenset({"FER102", "FER103"})
_THREAD = "threading.Thread"


def without_those_in_threads(analysis: Analysis, findings: Iterable[Finding]) -> list[Finding]:
    """Findings, of which those about calls that other ranks make in threads are guesses."""
    out: list[Finding] = []
    for finding in findings:
        if finding.code in _CODES and finding.confidence > Confidence.LOW and _is_done_in_threads(analysis, finding):
            finding = replace(finding, confidence=Confidence.LOW)
        out.append(finding)
    return out


def _is_done_in_threads(analysis: Analysis, finding: Finding) -> bool:
    for function, call in calls_at(analysis, finding.path, finding.span.line, finding.span.column):
        module = analysis.names.modules[finding.path]
        if not module.mentions_any(_WAITS):
            continue
        body = module.body if function is None else function.body
        for block, i in way_to(body, call.pos):
            s = block[i]
            if type(s) is not f.If:
                continue
            is_here = any(node is call for node in walk(s.body))
            other = s.orelse if is_here else s.body
            called = {last_name(node.func) for node in walk(other) if type(node) is f.Call}
            if called >= _WAITS and any(
                _runs(analysis, module, node, last_name(call.func)) for node in walk(other) if type(node) is f.Call
            ):
                return True
    return False


_WAITS = frozenset({"start", "join"})


def _runs(analysis: Analysis, module: ModuleInfo, made: f.Call, name: str) -> bool:
    """Whether a call makes a thread of a class whose `run` calls a function of a name."""
    info = analysis.names.resolve(made.func, module)
    if not isinstance(info, ClassInfo) or _THREAD not in analysis.names.external_bases(info):
        return False
    run = analysis.names.method(info, "run")
    return run is not None and any(last_name(call.func) == name for call in run.calls)
