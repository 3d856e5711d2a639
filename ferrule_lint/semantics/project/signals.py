"""What signal handlers set: each process gets its signal when the operating system gets to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import External, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis


def of_signals(module: ModuleInfo) -> list[str]:
    """What a file calls the library of signals, and what it takes from there."""
    return sorted(bound for bound, (dotted, _) in module.bound.items() if dotted.partition(".")[0] == "signal")


class Signals:
    """The functions of the project that are passed to `signal.signal`; gathered on first use."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._handlers: set[str] | None = None

    def handles(self, function: FunctionInfo) -> bool:
        return function.id in self.handlers()

    def handlers(self) -> set[str]:
        """The functions that handle a signal."""
        names = self._analysis.names
        names.reads.ask("signals", "")
        if self._handlers is None:
            self._handlers = set()
            with names.reads.answering("signals", ""):
                names.reads.ask("of signals", "")
                for module in names.modules.values():
                    if imported := of_signals(module):
                        for owner in module.functions.values():
                            self._look(module, owner, {*imported, "signal"})
        return self._handlers

    def of_signals(self) -> list[str]:
        """The files that import the library of signals, and what they call it."""
        modules = self._analysis.names.modules.values()
        return [f"{module.path} {bound}" for module in modules if (bound := of_signals(module))]

    def _look(self, module: ModuleInfo, owner: FunctionInfo, names: set[str]) -> None:
        assert self._handlers is not None
        for call in owner.calls:
            if last_name(call.func) not in names:
                continue
            entity = self._analysis.names.resolve(call.func, module)
            if not isinstance(entity, External) or entity.dotted != "signal.signal" or len(call.args) < 2:
                continue
            handler = call.args[1]
            if type(handler) is f.Attr and owner.owner is not None:
                info = module.classes.get(owner.owner)
                found = self._analysis.names.method(info, handler.attr) if info is not None else None
            elif type(handler) is f.Name:
                found = module.functions.get(f"{owner.qualname}.{handler.id}") or module.functions.get(handler.id)
            else:
                found = None
            if found is not None:
                self._handlers.add(found.id)
