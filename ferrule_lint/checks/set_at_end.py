"""Flags that are set when the work is over: `self.is_distributed = False` of one rank, behind the loop over epochs.

```python
def fit(self):
    for epoch in range(self.epochs):
        self.train(epoch)
    if self.rank == 0:
        self.is_distributed = False
        self.test()
```

What is called above the line alone, here and in the rest of the class, has come and gone: it asks for what all ranks
had.
"""

from __future__ import annotations

from collections.abc import Iterable

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.findings import Finding, Step
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo
from ferrule_lint.semantics.project.options import calls_of
from ferrule_lint.semantics.walk.state import SET_THERE

_CODES = frozenset({"FER102", "FER103", "FER104"})


def without_those_before(analysis: Analysis, findings: Iterable[Finding]) -> list[Finding]:
    """Findings without those about a flag that is set only when what asks for it is over."""
    return [finding for finding in findings if not _is_before(analysis, finding)]


def _is_before(analysis: Analysis, finding: Finding) -> bool:
    places = [i for i, step in enumerate(finding.witness) if step.note.endswith(SET_THERE)]
    if finding.code not in _CODES or not places:
        return False
    asked = next((s for s in finding.witness[places[-1] + 1 :] if s.role == "condition"), None)
    set_at = finding.witness[places[-1]]
    setter, reader = (_method_at(analysis, step) for step in (set_at, asked))
    if setter is None or reader is None or setter is reader or not _is_at_end(setter, set_at.line):
        return False
    family = _family(analysis, setter, reader)
    before = [line for line, name in _own_calls(setter) if name == reader.name]
    if not family or not before or max(before) >= set_at.line:
        return False
    # an inherited method of the setter's name is not the one that runs
    others = [m for info in family for m in info.methods.values() if m.name != setter.name]
    if any(name == reader.name for m in others for _, name in _own_calls(m)):
        return False
    knowing = [module for info in family for module in analysis.names.mentioning(info.name)]
    outside = (site for site in calls_of(analysis, reader) if site[0] in knowing)
    if any(_is_outside(reader, owner, call) for _, owner, call in outside):
        return False
    behind = {name for line, name in _own_calls(setter) if line > set_at.line}
    return reader.name not in behind


def _is_outside(reader: FunctionInfo, owner: FunctionInfo | None, call: f.Call) -> bool:
    """Whether somebody outside of the class calls the method of an object: `task.train(1)`, with arguments, as the
    class's own is called, and not `model.train()`."""
    if type(call.func) is not f.Attr or type(call.func.base) is not f.Name:
        return False
    if owner is not None and owner.owner is not None and call.func.base.id in [p.name for p in owner.parameters[:1]]:
        return False
    return len(call.args) + len(call.keywords) > 0 or len(reader.parameters) < 2


def _method_at(analysis: Analysis, step: Step | None) -> FunctionInfo | None:
    """The method in which a step's line stands."""
    module = analysis.names.modules.get(step.path) if step is not None else None
    if module is None or step is None:
        return None
    found = [
        method
        for info in module.classes.values()
        for method in info.methods.values()
        if any(getattr(s, "line", 0) == step.line for s in statements(method.body))
    ]
    return found[0] if len(found) == 1 else None


def _is_at_end(method: FunctionInfo, line: int) -> bool:
    """Whether a statement stands in no loop of a method."""
    loops = (s.body for s in statements(method.body) if type(s) is f.For or type(s) is f.While)
    return not any(getattr(s, "line", 0) == line for body in loops for s in statements(body))


def _family(analysis: Analysis, setter: FunctionInfo, reader: FunctionInfo) -> list[ClassInfo]:
    """The class of two methods with those that it inherits from; nothing if they have none in common."""
    owners = [m.module.classes.get(m.owner or "") for m in (setter, reader)]
    for info in owners:
        line = list(analysis.names.mro(info)) if info is not None else []
        if all(owner in line for owner in owners):
            return line
    return []


def _own_calls(method: FunctionInfo) -> list[tuple[int, str]]:
    """The methods of its instance that a method calls, each with the line."""
    if not method.parameters or method.is_static:
        return []
    own = f"{method.parameters[0].name}."
    named = ((c.pos[0], place_name(c.func)) for c in method.calls)
    return [(line, name.removeprefix(own)) for line, name in named if name.startswith(own)]
