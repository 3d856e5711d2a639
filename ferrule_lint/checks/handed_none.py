"""Communicators that a function hands back to some ranks, with a flag that says so, and None to the others.

```python
comm, is_active = part_of(MPI.COMM_WORLD)
if not is_active:
    exit(0)
comm.Barrier()
```

Who leaves has no communicator: what is issued in it is issued by those who have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ferrule_lint.checks.places import body_at, calls_at, tests_at
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.findings import Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.project.entities import FunctionInfo

_CODES = frozenset({"FER102", "FER103"})
_NONE = f.Const("None")
_TRUTH = frozenset({f.Const("True"), f.Const("False")})


def but_of_those_who_have_it(analysis: Analysis, findings: Iterable[Finding]) -> list[Finding]:
    """Findings without those about a communicator that only those have who come to it."""
    return [finding for finding in findings if not _is_of_those(analysis, finding)]


def _is_of_those(analysis: Analysis, finding: Finding) -> bool:
    if finding.code not in _CODES or finding.kind != "rank":
        return False
    last, asked = finding.witness[-1], [s for s in finding.witness if s.role == "condition"]
    if last.role != "event" or not asked:
        return False
    flags = {_flag(test) for s in asked[-1:] for test in tests_at(analysis, s.path, s.line, s.column)} - {""}
    return any(
        type(call.func) is f.Attr and _come_together(analysis, finding, place_name(call.func.base), flags)
        for _, call in calls_at(analysis, last.path, last.line, last.column)
    )


def _flag(test: f.Expr) -> str:
    return place_name(test.operand if type(test) is f.Not else test)


def _come_together(analysis: Analysis, finding: Finding, communicator: str, flags: set[str]) -> bool:
    """Whether a call hands back both the communicator and one of the flags, each time one of them is None with the
    other."""
    last = finding.witness[-1]
    module = analysis.names.modules[last.path]
    for s in statements(body_at(analysis, last.path, last.line, last.column)):
        bound = s.targets[0] if type(s) is f.Assign and len(s.targets) == 1 else None
        names = [place_name(e) for e in bound.elements] if type(bound) is f.Sequence else []
        if type(s) is not f.Assign or type(s.value) is not f.Call or communicator not in names:
            continue
        maker = analysis.names.resolve(s.value.func, module)
        places = [i for i, name in enumerate(names) if name in flags]
        if type(maker) is FunctionInfo and any(_tells(maker, names.index(communicator), i) for i in places):
            return True
    return False


def _tells(maker: FunctionInfo, communicator: int, flag: int) -> bool:
    """Whether all that a function hands back at one place is None where it says so at another, and something else
    where it says the opposite."""
    told = set(_told(maker, communicator, flag))
    return len(told) == 2 and len({is_none for is_none, _ in told}) == 2 and len({said for _, said in told}) == 2


def _told(maker: FunctionInfo, communicator: int, flag: int) -> Iterator[tuple[bool, f.Expr | None]]:
    for s in statements(maker.body):
        if type(s) is f.Return:
            items = s.value.elements if type(s.value) is f.Sequence else ()
            both = len(items) > max(communicator, flag) and items[flag] in _TRUTH
            yield (items[communicator] == _NONE, items[flag]) if both else (False, None)
