"""Functions that stand in for a library's on some ranks, and leave the others to that.

```python
def save_checkpoint(iteration, model, optimizer):
    if mpu.get_data_parallel_rank() == 0:
        from megatron.checkpointing import save_checkpoint as native
        native(iteration, model, optimizer)
        return
    ...
    dist.barrier()
```

What the library's function of the same name issues is not known. Who writes this has seen to it that it is the same.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.semantics.domain.trace import Choice
from ferrule_lint.semantics.project.entities import External

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo

#: what is known of these: they write and read files on the rank that asks
_ISSUE_NOTHING = sys.stdlib_module_names | {"torch", "numpy", "safetensors", "joblib", "yaml"}


def leaves_to_it(analysis: Analysis, function: FunctionInfo, choice: Choice) -> bool:
    """Whether ranks that leave in the arms of a choice hand all to a library's function of this one's name before."""
    if choice.path != function.module.path or choice.form != "if":
        return False
    tests = (s for s in statements(function.body) if type(s) is f.If and s.line == choice.pos[0])
    arms = [arm for s in tests for arm in (s.body, s.orelse) if arm and type(arm[-1]) is f.Return]
    return bool(arms) and all(_calls_it(analysis, function, arm) for arm in arms)


def _calls_it(analysis: Analysis, function: FunctionInfo, arm: f.Body) -> bool:
    return any(
        isinstance(entity := analysis.names.resolve(call.func, function.module), External)
        and entity.dotted.rpartition(".")[2] == function.name
        and entity.dotted.partition(".")[0] not in _ISSUE_NOTHING
        and _hands_all_on(function, call)
        for call in nodes(arm, f.Call)
    )


def _hands_all_on(function: FunctionInfo, call: f.Call) -> bool:
    """Whether a call is given all that a function is given: `def save(x, path)`, `library.save(x, path)`."""
    given = {part.id for part in (*call.args, *(v for _, v in call.keywords)) if type(part) is f.Name}
    return bool(function.parameters) and given >= {p.name for p in function.parameters if p.name != "self"}
