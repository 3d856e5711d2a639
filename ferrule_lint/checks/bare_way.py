"""Backward passes of a module that one function trains as it is, and another one in DDP, by the same helper.

```python
def fit(self, model, loader):
    self.one_epoch(model, loader)

def fit_with_ddp(self, model, loader, local_rank):
    model = DDP(model, device_ids=[local_rank])
    self.one_epoch(model, loader)
```

Who wraps what it was given does so because nobody has: the function beside it is for one process.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ferrule_lint.checks.places import calls_at
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.findings import Confidence, Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.project import wrapping_calls, wrapping_names
from ferrule_lint.semantics.project.entities import FunctionInfo
from ferrule_lint.semantics.project.options import calls_outside_tests
from ferrule_lint.semantics.sources.reducing import called_in


def of_one_process(analysis: Analysis, finding: Finding) -> Finding:
    """The finding, as a guess where it is of the function that leaves its module as it is."""
    if finding.confidence == Confidence.LOW or not finding.events:
        return finding
    if not all(event.op == "backward" and event.hidden for event in finding.events):
        return finding
    for owner, call in calls_at(analysis, finding.path, finding.span.line, finding.span.column):
        if owner is not None and _leaves_it(analysis, owner, call):
            return replace(finding, confidence=Confidence.LOW)
    return finding


def _leaves_it(analysis: Analysis, owner: FunctionInfo, call: f.Call) -> bool:
    """Whether a function hands a helper a parameter of its own that it does not wrap, as another one does there."""
    helper = called_in(analysis, owner, call)
    if helper is None:
        return False
    bare = {p.name for p in owner.parameters} - _wrapped_in(analysis, owner)
    sites = [(other, c) for _, other, c in calls_outside_tests(analysis, helper) if other is not None]
    for number, given in enumerate(call.args):
        if type(given) is not f.Name or given.id not in bare:
            continue
        for other, c in sites:
            beside = c.args[number] if number < len(c.args) else None
            if other is owner or type(beside) is not f.Name or called_in(analysis, other, c) is not helper:
                continue
            if beside.id in _wrapped_in(analysis, other) and any(p.name == beside.id for p in other.parameters):
                return True
    return False


def _wrapped_in(analysis: Analysis, owner: FunctionInfo) -> set[str]:
    """The names that a function gives to what it wraps, of what they stood for."""
    return set(_wraps(analysis, owner))


def _wraps(analysis: Analysis, owner: FunctionInfo) -> Iterator[str]:
    analysis.names.reads.ask("renamed", "")
    with analysis.names.reads.apart():
        names = wrapping_names.names(analysis)
    calls = [w.call for w in wrapping_calls.in_file(owner.module, names) if w.owner is owner]
    for s in statements(owner.body) if calls else ():
        if type(s) is f.Assign and s.value is not None and any(c in calls for c in nodes(s.value, f.Call)):
            yield from (place_name(target) for target in s.targets)
