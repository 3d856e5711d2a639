"""Programs whose trainers have one device each: a service that trains where it is told, `Engine(devices=[index])`.

What such a trainer does in its loops, and who tells it to stop, concerns no other rank. The trainer may be of a class
of the project around a library's, which hands on what it is given; so what counts is what stands in the call, in the
file itself, in one that it imports, or in one that imports it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes
from ferrule_lint.findings import Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.calls import one_device
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import ModuleInfo
from ferrule_lint.semantics.project.programs import is_test

_MAKERS = re.compile(r"(^|[a-z])(Trainer|Engine|Fabric)$")
#: what the loops of a trainer do, and who ends them
_OF_TRAINERS = frozenset({"trainer_loop", "end of training"})


def without_those_of_one(analysis: Analysis, findings: Iterable[Finding]) -> list[Finding]:
    """Findings without those about trainers of one device."""
    return [finding for finding in findings if not _is_of_one(analysis, finding)]


def _is_of_one(analysis: Analysis, finding: Finding) -> bool:
    if not finding.events or any(event.op not in _OF_TRAINERS for event in finding.events):
        return False
    analysis.names.reads.ask("imports", "")
    imports, path = analysis.imports, finding.path
    near = {path, *imports.imported.get(path, ()), *imports.users.get(path, ())}
    made = [one for p in sorted(near) if not is_test(p) for one in _made_in(analysis, analysis.names.modules[p])]
    return bool(made) and all(made)


def _made_in(analysis: Analysis, module: ModuleInfo) -> Iterator[bool]:
    """For each trainer that a file makes whether it has one device."""
    for _, body in module.bodies():
        for call in nodes(body, f.Call):
            if _MAKERS.search(last_name(call.func)):
                yield one_device.is_made_for_one(one_device.Place(analysis, module), body, call)
