"""Is randomness the same on every rank? Not where the project seeds a generator with something that differs by rank.

Without that evidence random numbers are a `low` source: most programs seed all ranks alike.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.axes import NO_AXES, WORLD, Axes
from ferrule_lint.semantics.domain.text import called_name, last_name
from ferrule_lint.semantics.project.entities import ClassInfo, External, FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: functions that seed -> the generators they seed; by their last name where they are no function of these libraries
_SEEDS = {
    "random.seed": frozenset({"random"}),
    "numpy.random.seed": frozenset({"numpy"}),
    "torch.manual_seed": frozenset({"torch"}),
    "torch.random.manual_seed": frozenset({"torch"}),
}
_ALL = frozenset({"random", "numpy", "torch"})
_SEED_ALL = frozenset(
    {"set_seed", "seed_everything", "seed_all", "set_random_seed", "fix_seed", "setup_seed", "init_seeds"}
)
#: functions that seed the processes of a data loader
_WORKER = re.compile(r"worker", re.IGNORECASE)
_NAMES = _SEED_ALL | {"seed", "manual_seed"}


class Seeding:
    """Along which axes the generators of `random`, `numpy` and `torch` differ; gathered on first use."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        #: generator -> (axes, the class whose method seeds it)
        self._seeds: dict[str, list[tuple[Axes, ClassInfo | None]]] | None = None

    def axes(self, library: str, user: ClassInfo | None) -> Axes:
        """Along which axes a generator differs in a method of `user`; what another class does about it for itself (a
        trainer that samples) is no evidence."""
        names = self._analysis.names
        found = NO_AXES
        for axes, owner in self.seeds().get(library, ()):
            if owner is None or (user is not None and (owner in names.mro(user) or user in names.mro(owner))):
                found |= axes
        return found

    def seeds(self) -> Mapping[str, Sequence[tuple[Axes, ClassInfo | None]]]:
        """What the project seeds by rank: generator -> (axes, the class whose method does so)."""
        names = self._analysis.names
        names.reads.ask("seeding", "")
        if self._seeds is None:
            self._seeds = {}
            with names.reads.answering("seeding", ""):
                names.reads.ask("may seed", "")
                for path in self.may_seed():
                    for function in names.modules[path].functions.values():
                        self._look(names.modules[path], function)
        return self._seeds

    def may_seed(self) -> list[str]:
        """The files that can seed by rank."""
        modules = self._analysis.names.modules
        return [path for path in sorted(modules) if self.can_seed(modules[path])]

    def can_seed(self, module: ModuleInfo) -> bool:
        """Whether a file can seed by rank, by its identifiers."""
        names = module.outline.names
        if not names.isdisjoint(_SEED_ALL):
            return True
        axes_of = self._analysis.models.convention
        by_rank = (axes_of("rank", name) is not None for name in names)
        return not names.isdisjoint(_NAMES) and any(by_rank)

    def evidence(self) -> list[str]:
        """All that was gathered, as text."""
        seeds = self.seeds()
        return [f"{what} {sorted(axes)} {cls.id if cls else ''}" for what in sorted(seeds) for axes, cls in seeds[what]]

    def _look(self, module: ModuleInfo, function: FunctionInfo) -> None:
        assert self._seeds is not None
        if _WORKER.search(function.name):
            return
        owner = module.classes.get(function.owner) if function.owner else None
        for call in function.calls:
            name = last_name(call.func)
            if name not in _NAMES:
                continue
            entity = self._analysis.names.resolve(call.func, module)
            dotted = entity.dotted if isinstance(entity, External) else ""
            libraries = _ALL if name in _SEED_ALL else _SEEDS.get(dotted, frozenset())
            axes = self._of_arguments(function, call) if libraries else NO_AXES
            for library in libraries if axes else ():
                self._seeds.setdefault(library, []).append((axes, owner))

    def _of_arguments(self, function: FunctionInfo, call: f.Call) -> Axes:
        if ("device_specific", f.Const("True")) in call.keywords:
            return WORLD
        found = NO_AXES
        for expr in (*call.args[:1], *(v for k, v in call.keywords if k == "seed")):
            found |= self._of_rank(expr)
            if type(expr) is f.Name:
                for value in _assigned(function.body, expr.id):
                    found |= self._of_rank(value)
        return found

    def _of_rank(self, expr: object) -> Axes:
        """Axes of the ranks that an expression names."""
        found = NO_AXES
        for item in walk(expr):
            if type(item) is f.Name or type(item) is f.Attr or type(item) is f.Call:
                name = called_name(item)
                axes = self._analysis.models.convention("rank", name) if name else None
                if axes is not None:
                    found |= frozenset(axes) or WORLD
        return found


def _assigned(body: f.Body, name: str) -> list[object]:
    """What a name is assigned. Not what it is changed by under a test (`if args.x: seed += 10 * rank`): that is a
    setting, and mostly off, as Megatron's `data_parallel_random_init`."""
    found: list[object] = []
    for item in walk(body):
        if type(item) is f.Assign:
            targets = item.targets
        elif type(item) is f.AugAssign:
            targets = (item.target,)
        else:
            continue
        if item.value is None or not any(type(t) is f.Name and t.id == name for t in targets):
            continue
        changed = type(item) is f.AugAssign or any(type(n) is f.Name and n.id == name for n in walk(item.value))
        if not changed or any(item is s for s in body):
            found.append(item.value)
    return found
