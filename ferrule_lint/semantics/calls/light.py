"""Calls for the layers of attributes: what a function returns, without events and only to a small depth."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls.instantiate import wrapped_classes
from ferrule_lint.semantics.domain.dependences import DEALT, FLOWS, NO_DEPS, OBSERVED
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value, worse
from ferrule_lint.semantics.project.entities import SPELLED, ClassInfo, FunctionInfo
from ferrule_lint.semantics.project.reads import Input, Memo
from ferrule_lint.semantics.walk import returned
from ferrule_lint.semantics.walk.body import execute
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.holders import enter

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

DEEPEST_LIGHT_CALL = 3
#: how far down calls have gone where that cannot be told
_WITHOUT_END = 1_000

#: a call for an attribute layer: the function, the class of its receiver, the layer, the depth, what it is nested in
LightKey: TypeAlias = tuple[str, str, int, int, Frame | None]


class LightResult(NamedTuple):
    """What a call returns, for an attribute layer."""

    value: Value
    #: how much further down calls have gone for it
    span: int
    #: whether any attribute was asked for, of which another layer says something else
    reads_layer: bool


class LightCalls:
    """Results of calls for attribute layers."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._known: Memo[LightKey, LightResult] = Memo(analysis.names.reads, _question)
        self._open: set[LightKey] = set()
        #: how far down calls have gone, and whether they have read a layer, in what is being done
        self._reach = 0
        self.reads_layer = False

    def call(
        self, frame: Frame, function: FunctionInfo, info: ClassInfo | None, bound: dict[str, Value],
        closure: Frame | None,
    ) -> Value:  # fmt: skip
        """A call's result for an attribute layer: no events, and only to a small depth."""
        if function.name == "__init__" or (_is_kept_for_its_length(function) and frame.depth):
            return UNKNOWN
        annotated = self._analysis.annotations.class_of(function.returns, function.module)
        if annotated is not None and not self._tells_ranks_apart(function.returns, annotated):
            return Value(types=frozenset({annotated}))
        if frame.depth > self._reach:
            self._reach = frame.depth
        if frame.depth >= DEEPEST_LIGHT_CALL:
            return UNKNOWN
        key: LightKey = (function.spelling, info.id if info else "", frame.light, frame.depth, closure)
        known = self._look_up(key)
        if known is not None:
            self._reach = max(self._reach, frame.depth + known.span)
            self.reads_layer = self.reads_layer or known.reads_layer
            return _in_terms_of(known.value, bound)
        reads = self._analysis.names.reads
        if key in self._open:
            reads.lean(key)
            return UNKNOWN
        before, leans = reads.begin(), reads.leans
        reach, layer = self._reach, self.reads_layer
        self._reach, self.reads_layer = frame.depth, False
        self._open.add(key)
        try:
            inner = Frame(
                self._analysis, function.module, function, depth=frame.depth + 1, light=frame.light, closure=closure
            )
            enter(inner, function, info, {}, None)
            execute(inner, function.body)
            if reads.leans != leans:
                self._reach = _WITHOUT_END  # anew, it may have the answer that was not there
            return _in_terms_of(self._result(frame, inner, key, annotated, bound), bound)
        finally:
            self._open.discard(key)
            reads.settle(key)
            reads.end(before)
            self._reach = max(reach, self._reach)
            self.reads_layer = layer or self.reads_layer

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Do something else in between."""
        before, self._reach, self.reads_layer = (self._reach, self.reads_layer), 0, False
        try:
            yield
        finally:
            self._reach, self.reads_layer = before

    def answer(self, question: str) -> LightResult | None:
        """What a call returns, by the question of that; None if nothing can be said."""
        numbers, cls = question.split("\n")
        layer, depth, name = numbers.split(" ", 2)
        names = self._analysis.names
        function, info = names.function_of_id(name), names.class_of_id(cls) if cls else None
        if function is None or (cls and info is None):
            return None
        key: LightKey = (name, cls, int(layer), int(depth), None)
        if self._look_up(key) is None:
            caller = Frame(self._analysis, function.module, depth=int(depth), light=int(layer))
            self.call(caller, function, info, {}, None)
        return self._look_up(key)

    def _look_up(self, key: LightKey) -> LightResult | None:
        """The result of a call that was made before: in the same layer as deep down, or where neither is seen in it."""
        if self._known.recalls(key):
            return self._known[key]
        function, info, light, depth, closure = key
        for layer in (light, 3 - light):
            for other in range(DEEPEST_LIGHT_CALL):
                same: LightKey = (function, info, layer, other, closure)
                if (other == depth and layer == light) or not self._known.recalls(same):
                    continue
                known = self._known.look(same)
                if (layer != light and known.reads_layer) or max(other, depth) + known.span >= DEEPEST_LIGHT_CALL:
                    continue
                return self._known[same]
        return None

    def _result(
        self, frame: Frame, inner: Frame, key: LightKey, annotated: ClassInfo | None, bound: dict[str, Value]
    ) -> Value:
        """What is returned, by the summary alone; it is kept if that does not depend on who calls."""
        result = returned.result_of(inner)
        given = [bound[name] for name, how in sorted(result.deps) if how == FLOWS and name in bound]
        result = result._replace(deps=NO_DEPS)
        if inner.function is not None and _is_kept_for_its_length(inner.function):
            result = Value(length=result.length, length_deps=result.length_deps)
        if annotated is not None and not result.types:
            result = result._replace(types=frozenset({annotated}))
        wrapped: frozenset[ClassInfo] = frozenset().union(*(wrapped_classes(frame, result, v) for v in given))
        if wrapped:
            return result._replace(types=result.types | wrapped)  # what is wrapped elsewhere is of another class
        span = min(self._reach - frame.depth, DEEPEST_LIGHT_CALL)  # more says no more: see `_look_up`
        self._known[key] = LightResult(result, span, self.reads_layer)
        return result

    def _tells_ranks_apart(self, annotation: f.Expr | None, info: ClassInfo) -> bool:
        """Whether a result of this class may be another on each rank: one that may be None, or an `Enum`'s member."""
        quoted = type(annotation) is f.Const and not re.search(r"Optional|\|", annotation.text)
        if type(annotation) not in (f.Name, f.Attr) and not quoted:
            return True
        return any(base.startswith("enum.") for base in self._analysis.names.external_bases(info))


def _is_kept_for_its_length(function: FunctionInfo) -> bool:
    """Whether it makes a generator: of one in an attribute (`self.packs = packs(loader)`) the number of its items
    counts, and generators within others are not looked at."""
    return function.is_generator and function.name != "__iter__"


def _in_terms_of(result: Value, bound: Mapping[str, Value]) -> Value:
    """What a call returns, where the caller passes its rank, or local data, for what decides how many items there are:
    a share, a selection. What the caller was passed itself decides it for those who call that."""
    if not result.length_deps:
        return result
    length = result.length
    deps: set[tuple[str, str]] = set()
    evened = any(v.multiple for v in bound.values())
    for name, how in sorted(result.length_deps):
        if how == DEALT and evened:
            continue
        passed = bound.get(name, UNKNOWN)
        by_rank = passed.divergence is not None and passed.divergence.kind == "rank"
        differs = passed.divergence if by_rank else None if passed.data is None or passed.data.assumed else passed.data
        if differs is not None and (how == OBSERVED or (how == DEALT and by_rank)):
            length = worse(length, differs.at_most(Confidence.MEDIUM))
        deps.update((parameter, how) for parameter, known in passed.deps if known == FLOWS)
    changed = result._replace(length_deps=frozenset(deps) or NO_DEPS)
    return changed if length is result.length else changed._replace(length=length, uniform=False)


def _question(key: LightKey) -> Input | None:
    function, info, layer, depth, closure = key
    return None if closure is not None or SPELLED in function else ("light", f"{layer} {depth} {function}\n{info}")
