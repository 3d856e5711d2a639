"""What signal handlers set: each process gets its signal when the operating system gets to it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.findings import Confidence, Step
from ferrule_lint.semantics.domain.assigned import assigning
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import ClassInfo, External, FunctionInfo, ModuleInfo

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

    def setter(self, info: ClassInfo, name: str) -> FunctionInfo | None:
        """The method of a class that handles a signal and sets an attribute of this name."""
        handlers = self.handlers()
        for c in self._analysis.names.mro(info) if handlers else ():
            for method in c.methods.values():
                if (
                    method.id in handlers
                    and method.parameters
                    and any(assigning(method.body, f"{method.parameters[0].name}.{name}"))
                ):
                    return method
        return None

    def set_in(self, method: FunctionInfo) -> frozenset[str]:
        """The attributes of its instance that functions in a method set which handle signals."""
        if not method.parameters or not of_signals(method.module):
            return frozenset()
        own, functions = method.parameters[0].name, method.module.functions
        nested = (functions.get(s.qualname) for s in statements(method.body) if type(s) is f.FunctionDef)
        found = (shared_attributes(n, own) for n in nested if n is not None and self.handles(n))
        return frozenset[str]().union(*found)

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
                        for owner, calls in module.calls():
                            self._look(module, owner, calls, {*imported, "signal"})
        return self._handlers

    def _passed_to(self, registers: FunctionInfo, place: int) -> None:
        """The functions that are passed to one that registers what it is given: `install_handler(on_signal)`."""
        names = self._analysis.names
        for module in names.mentioning(registers.name):
            for owner, calls in module.calls():
                for call in calls:
                    named = last_name(call.func) == registers.name and place < len(call.args)
                    if named and names.resolve(call.func, module) is registers:
                        self._add(module, owner, call.args[place])

    def of_signals(self) -> list[str]:
        """The files that import the library of signals, and what they call it."""
        modules = self._analysis.names.modules.values()
        return [f"{module.path} {bound}" for module in modules if (bound := of_signals(module))]

    def _look(
        self, module: ModuleInfo, owner: FunctionInfo | None, calls: Iterable[f.Call], names: Collection[str]
    ) -> None:
        assert self._handlers is not None
        for call in calls:
            if last_name(call.func) not in names:
                continue
            entity = self._analysis.names.resolve(call.func, module)
            if not isinstance(entity, External) or entity.dotted != "signal.signal" or len(call.args) < 2:
                continue
            handler = call.args[1]
            given = [p.name for p in owner.parameters] if owner is not None and owner.owner is None else []
            if owner is not None and type(handler) is f.Name and handler.id in given:
                self._passed_to(owner, given.index(handler.id))
            else:
                self._add(module, owner, handler)

    def _add(self, module: ModuleInfo, owner: FunctionInfo | None, handler: f.Expr) -> None:
        assert self._handlers is not None
        found: FunctionInfo | None = None
        if type(handler) is f.Attr and owner is not None and owner.owner is not None:
            info = module.classes.get(owner.owner)
            found = self._analysis.names.method(info, handler.attr) if info is not None else None
        elif type(handler) is f.Name:
            inner = module.functions.get(f"{owner.qualname}.{handler.id}") if owner is not None else None
            found = inner or module.functions.get(handler.id)
        if found is not None:
            self._handlers.add(found.id)


def shared_names(function: FunctionInfo) -> set[str]:
    """The variables of the function around it that a nested function sets (`nonlocal stop`)."""
    return {name for s in statements(function.body) if type(s) is f.ScopeDecl for name in s.names}


def shared_attributes(function: FunctionInfo, instance: str) -> set[str]:
    """The attributes of the instance around it that a nested function sets (`self.stop = True`)."""
    if instance in (p.name for p in function.parameters):
        return set()
    targets = (t for s in statements(function.body) if type(s) is f.Assign for t in s.targets)
    return {t.attr for t in targets if type(t) is f.Attr and type(t.base) is f.Name and t.base.id == instance}


def shared_entries(function: FunctionInfo) -> Iterator[tuple[str, str]]:
    """The entries of a dict around it that a function sets: names and keys of `state["stop"] = True`."""
    for s in statements(function.body):
        for target in s.targets if type(s) is f.Assign else ():
            if type(target) is f.Subscript and type(target.base) is f.Name and type(target.index) is f.Const:
                yield target.base.id, target.index.text


def set_by(value: Value, handler: FunctionInfo) -> Value:
    """A flag that a signal handler sets: the processes get their signals at different times."""
    note = f"`{handler.display}` sets this when the process gets a signal"
    step = Step("source", handler.module.path, handler.line, 1, note)
    return value._replace(uniform=False, const=None, divergence=Divergence(WORLD, "host", (step,), Confidence.MEDIUM))
