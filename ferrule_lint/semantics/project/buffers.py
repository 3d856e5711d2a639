"""Which modules have buffers: DDP's forward sends those of the first rank to the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import stands_in, statements
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.project.entities import ClassInfo, External, FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.options import is_left_out
from ferrule_lint.semantics.project.reads import Memo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

_DEEPEST_PART = 4


class Buffers:
    """What is known of the classes of modules that somebody has asked for."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._known: Memo[str, bool] = Memo(analysis.names.reads)

    def has(self, info: ClassInfo, depth: int = 0) -> bool:
        """Whether a module registers buffers, or one of its parts does, or makes a layer of running statistics."""
        if info.id not in self._known and depth > _DEEPEST_PART:
            return False
        return self._known.find(info.id, lambda: self._registers(info, depth), False)

    def _registers(self, info: ClassInfo, depth: int) -> bool:
        for c in self._analysis.names.mro(info):
            for method, call in ((m, call) for m in c.methods.values() for call in m.calls):
                part = self._analysis.names.resolve(call.func, c.module) if last_name(call.func)[:1].isupper() else None
                buffer = _makes_buffer(call) and not self._is_for_older(c, method, call)
                if buffer or (type(part) is ClassInfo and self.has(part, depth + 1)):
                    return True
            if any(self._makes_by_name(m, depth) for m in c.methods.values()):
                return True
            if any(self.has(part, depth + 1) for part in self._parts_given(c)):
                return True
        return False

    def _makes(self, func: f.Expr, module: ModuleInfo, depth: int) -> bool:
        """Whether what is called makes a layer of running statistics, or a module of the project with buffers, itself
        or in a function: `def conv_bn(n): return nn.Sequential(nn.Conv2d(n, n, 3), nn.BatchNorm2d(n))`."""
        if _STATISTICS.fullmatch(last_name(func)) is not None:
            return True
        part = self._analysis.names.resolve(func, module)
        if type(part) is FunctionInfo and depth < _DEEPEST_PART:
            return any(self._makes(call.func, part.module, depth + 2) for call in part.calls)
        return type(part) is ClassInfo and self.has(part, depth + 1)

    def _makes_by_name(self, method: FunctionInfo, depth: int) -> bool:
        """Whether a method makes a part with buffers by a function, or by a name of its own: a lambda (`make = lambda:
        Block()`), a function inside it, a class (`norm = nn.BatchNorm2d`, `norm = partial(nn.BatchNorm2d, eps=1e-3)`).

        What a parameter is given counts where nobody in the project gives anything else (`norm=nn.BatchNorm2d`; `if
        norm is None: norm = nn.BatchNorm2d`)."""
        called = {call.func.id for call in method.calls if type(call.func) is f.Name}
        given = {p.name: p.default for p in method.parameters if p.name in called and p.default is not None}
        meant: list[tuple[str, f.Expr]] = list(given.items())
        for s in statements(method.body) if called else ():
            if type(s) is f.FunctionDef and s.name in called:
                meant += ((s.name, func) for func in _called_in(method, s.qualname))
            elif type(s) is f.Assign and s.value is not None:
                names = [t.id for t in s.targets if type(t) is f.Name and t.id in called]
                meant += ((name, func) for name in names for func in _meant(method, s.value))
        if method.name == "__init__":
            meant += (("", call.func) for call in method.calls if last_name(call.func)[:1].islower())
        return any(
            self._makes(func, method.module, depth)
            and (name not in given or is_left_out(self._analysis, method, name, (given[name],)))
            for name, func in meant
        )

    def _is_for_older(self, info: ClassInfo, method: FunctionInfo, call: f.Call) -> bool:
        """Whether a buffer is registered only where torch lacks a function (`if not self.flash`, after `self.flash =
        hasattr(torch.nn.functional, "scaled_dot_product_attention")`), as every torch that is meant here has it."""
        if last_name(call.func) != "register_buffer":
            return False
        asked = {
            place_name(target)
            for s in statements(method.body)
            if type(s) is f.Assign and s.value is not None and self._asks_torch(s.value, info)
            for target in s.targets
        }
        for s in statements(method.body):
            if type(s) is not f.If:
                continue
            lacks = type(s.test) is f.Not
            test = s.test.operand if type(s.test) is f.Not else s.test
            is_asked = self._asks_torch(test, info) or place_name(test) in asked - {""}
            if is_asked and stands_in(call, s.body if lacks else s.orelse):
                return True
        return False

    def _asks_torch(self, expr: f.Expr, info: ClassInfo) -> bool:
        """`hasattr(torch.nn.functional, name)`"""
        if type(expr) is not f.Call or last_name(expr.func) != "hasattr" or len(expr.args) != 2:
            return False
        asked = self._analysis.names.resolve(expr.args[0], info.module)
        return isinstance(asked, External) and asked.dotted.partition(".")[0] == "torch"

    def _parts_given(self, info: ClassInfo) -> list[ClassInfo]:
        """The classes of modules that an instance is made with and keeps, by their annotations: `self.body = body`."""
        made = info.methods.get("__init__")
        if made is None:
            return []
        stored = [s for s in statements(made.body) if type(s) is f.Assign and _of_self(s.targets)]
        kept = {s.value.id for s in stored if type(s.value) is f.Name}
        class_of = self._analysis.annotations.class_of
        given = (class_of(p.annotation, info.module) for p in made.parameters if p.name in kept)
        return [part for part in given if part is not None and self._analysis.is_module(part)]


#: layers that keep running statistics, and what a layer is given that estimates its norm from call to call
_STATISTICS = re.compile(r"(Lazy)?(Sync)?BatchNorm(\dd)?|spectral_norm")


def _meant(method: FunctionInfo, value: f.Expr) -> Iterator[f.Expr]:
    """What is called where this value is."""
    if type(value) is f.Lambda:
        yield from _called_in(method, value.qualname)
    elif type(value) is f.Call and last_name(value.func) == "partial" and value.args:
        yield value.args[0]
    elif type(value) is f.Name or type(value) is f.Attr:
        yield value


def _called_in(method: FunctionInfo, qualname: str) -> Iterator[f.Expr]:
    inner = method.module.functions.get(qualname)
    yield from () if inner is None else (call.func for call in inner.calls)


def _of_self(targets: tuple[f.Expr, ...]) -> bool:
    return any(type(t) is f.Attr and type(t.base) is f.Name and t.base.id == "self" for t in targets)


def _makes_buffer(call: f.Call) -> bool:
    """`self.register_buffer(name, tensor)`; a buffer of None is none."""
    name = last_name(call.func)
    if name == "register_buffer":
        return len(call.args) < 2 or call.args[1] != f.Const("None")
    return _STATISTICS.fullmatch(name) is not None
