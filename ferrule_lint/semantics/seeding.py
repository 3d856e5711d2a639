"""Is randomness the same on every rank? Not where the project seeds a generator with something that differs by rank.

Without that evidence random numbers are a `low` source: most programs seed all ranks alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.lattice import NO_AXES, WORLD, Axes
from ferrule_lint.semantics.names import External, FunctionInfo, ModuleInfo
from ferrule_lint.semantics.sharding import walk_calls
from ferrule_lint.semantics.text import last_name

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


class Seeding:
    """Along which axes the generators of `random`, `numpy` and `torch` differ; gathered on first use."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._axes: dict[str, Axes] | None = None

    def axes(self, library: str) -> Axes:
        if self._axes is None:
            self._axes = {}
            for path in sorted(self._analysis.names.modules):
                module = self._analysis.names.modules[path]
                for function in module.functions.values():
                    self._look(module, function)
        return self._axes.get(library, NO_AXES)

    def _look(self, module: ModuleInfo, function: FunctionInfo) -> None:
        assert self._axes is not None
        for call in walk_calls(function.body):
            name = last_name(call.func)
            if name not in _SEED_ALL and name not in ("seed", "manual_seed"):
                continue
            entity = self._analysis.names.resolve(call.func, module)
            dotted = entity.dotted if isinstance(entity, External) else ""
            libraries = _ALL if name in _SEED_ALL else _SEEDS.get(dotted, frozenset())
            axes = self._of_arguments(function, call) if libraries else NO_AXES
            for library in libraries if axes else ():
                self._axes[library] = self._axes.get(library, NO_AXES) | axes

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
        stack = [expr]
        while stack:
            item = stack.pop()
            if type(item) in (f.Name, f.Attr, f.Call):
                name = last_name(item.func if type(item) is f.Call else item)  # type: ignore[arg-type]
                axes = self._analysis.models.convention("rank", name) if name else None
                if axes is not None:
                    found |= frozenset(axes) or WORLD
            if isinstance(item, tuple):
                stack.extend(item)
        return found


def _assigned(body: object, name: str) -> list[object]:
    out: list[object] = []
    stack = [body]
    while stack:
        item = stack.pop()
        if (
            type(item) is f.Assign
            and item.value is not None
            and any(type(t) is f.Name and t.id == name for t in item.targets)
        ) or (type(item) is f.AugAssign and type(item.target) is f.Name and item.target.id == name):
            out.append(item.value)
        if isinstance(item, tuple):
            stack.extend(item)
    return out
