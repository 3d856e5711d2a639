"""Which modules have buffers: DDP's forward sends those of the first rank to the others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import stands_in, statements
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.project.entities import ClassInfo, External, FunctionInfo
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
            if any(self.has(part, depth + 1) for part in self._parts_given(c)):
                return True
        return False

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


#: layers that keep running statistics
_STATISTICS = re.compile(r"(Lazy)?(Sync)?BatchNorm(\dd)?")


def _of_self(targets: tuple[f.Expr, ...]) -> bool:
    return any(type(t) is f.Attr and type(t.base) is f.Name and t.base.id == "self" for t in targets)


def _makes_buffer(call: f.Call) -> bool:
    """`self.register_buffer(name, tensor)`; a buffer of None is none."""
    name = last_name(call.func)
    if name == "register_buffer":
        return len(call.args) < 2 or call.args[1] != f.Const("None")
    return _STATISTICS.fullmatch(name) is not None
