"""Exceptions by which a signal ends a job: `signal.signal(SIGTERM, stop)`, and `stop` raises `TimeoutError`.

Who ends a job ends all its processes, so that a handler of such an exception is gone through by all of them. What an
alarm raises is each process's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

_ENDING = frozenset({"SIGTERM", "SIGINT", "SIGHUP"})


def by_signal(frame: Frame, exception: str) -> bool:
    """Whether an exception of this name is what a file raises where it gets a signal to end, and for no other one."""
    module = frame.module
    if not module.mentions_any(_ENDING):
        return False
    handled = [call.args for _, call in module.calls_named("signal") if len(call.args) == 2]
    raising = [signal for signal, handler in handled if exception in _raised_by(module, last_name(handler))]
    return bool(raising) and all(last_name(signal) in _ENDING for signal in raising)


def _raised_by(module: ModuleInfo, name: str) -> set[str]:
    """What the functions of a name in a file raise."""
    raised = (
        s.value for function in module.functions.values() if function.name == name for s in statements(function.body)
        if type(s) is f.Raise
    )  # fmt: skip
    return {last_name(e.func if type(e) is f.Call else e) for e in raised if e is not None}
