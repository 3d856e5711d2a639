"""The whole project: summaries on demand, bottom-up over the call graph.

A function is analysed once for each *context*: what its arguments fix of it (None / True / False, "a group is given",
callables). Recursion is silent: a summary that is still being computed has no events and an unknown result. A summary
that was computed while one further down the stack was open is thrown away with its cycle's root, so that what is kept
does not depend on where the analysis began (the strongly connected components of the call graph, found on the way).
"""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from ferrule_lint.facts import types as f
from ferrule_lint.facts.outline import Facts
from ferrule_lint.findings import Confidence
from ferrule_lint.models.lookup import ModelSet
from ferrule_lint.semantics.calls import constructed, decorators, forwards
from ferrule_lint.semantics.calls.instantiate import bind_arguments, contexts_of, instantiate, passed, wrapped_classes
from ferrule_lint.semantics.calls.receivers import Receivers
from ferrule_lint.semantics.control import exceptions
from ferrule_lint.semantics.data.accumulators import Accumulators
from ferrule_lint.semantics.divergence import inference, latent
from ferrule_lint.semantics.domain.lattice import (
    FLOWS,
    NO_DEPS,
    NOTHING,
    UNKNOWN,
    Axes,
    Value,
    root_of,
)
from ferrule_lint.semantics.domain.summary import Summary
from ferrule_lint.semantics.domain.targets import MethodTarget
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.domain.trace import CallTerm, Event, Trace, parts
from ferrule_lint.semantics.gradients import gradient_order, participation, stage_values
from ferrule_lint.semantics.groups import group_use
from ferrule_lint.semantics.groups.axes import axes_in
from ferrule_lint.semantics.project.back_ends import BackEnds
from ferrule_lint.semantics.project.entities import ClassInfo, External, FunctionInfo, GlobalName, ModuleInfo
from ferrule_lint.semantics.project.hierarchy import Hierarchy
from ferrule_lint.semantics.project.import_graph import ImportGraph
from ferrule_lint.semantics.project.names import Names
from ferrule_lint.semantics.project.reads import Memo
from ferrule_lint.semantics.project.seeding import Seeding
from ferrule_lint.semantics.project.sharding import Setting, Sharding
from ferrule_lint.semantics.project.signals import Signals
from ferrule_lint.semantics.project.threads import Threads
from ferrule_lint.semantics.sources.admissions import Admission
from ferrule_lint.semantics.sources.parts import Part
from ferrule_lint.semantics.walk import given, returned, sizing, state
from ferrule_lint.semantics.walk.body import execute
from ferrule_lint.semantics.walk.expressions import EVALUATORS
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.holders import FULL, Holders, enter
from ferrule_lint.semantics.walk.statements import EXECUTORS

DEEPEST_CALL = 24
#: contexts of one function (of one class, in one closure). Real code stays below: were they to run out, it would depend
#: on the order of the files which of them are told apart
MOST_CONTEXTS = 256
#: how often a summary that leans on unfinished ones is computed anew
MOST_ATTEMPTS = 48
#: summaries of one function, in all contexts, classes and closures
MOST_SUMMARIES = 2048
MOST_EVENTS = 16
MOST_ESCAPES = 4
DEEPEST_LIGHT_CALL = 3

#: annotations of what holds items of one class
_LISTS = frozenset(
    "list List Sequence MutableSequence tuple Tuple Iterable Iterator Collection deque Deque ModuleList".split()
)

Context = tuple[tuple[str, Value], ...]


#: a call for an attribute layer: the function, the class of its receiver, the layer, the depth, what it is nested in
LightKey: TypeAlias = tuple[str, str, int, int, Frame | None]


class LightResult(NamedTuple):
    """What a call returns, for an attribute layer."""

    value: Value
    #: how much further down calls have gone for it
    span: int
    #: whether any attribute was asked for, of which another layer says something else
    reads_layer: bool


#: how far down calls have gone where that cannot be told
_WITHOUT_END = 1_000


class Analysis:
    """Values, traces and summaries of all functions of a project."""

    def __init__(self, files: Mapping[str, Facts], models: ModelSet, sharded: Setting = "auto") -> None:
        self.names = Names(files)
        reads = self.names.reads
        self.models = models
        #: for frames, which cannot import them
        self.evaluators = EVALUATORS
        self.executors = EXECUTORS
        self.as_state = state.under_tests
        self.holders = Holders(self)
        self.imports = ImportGraph(self.names)
        self.sharding = Sharding(self, sharded)
        self.back_ends = BackEnds(self)
        self.exceptions = exceptions.Exceptions(self)
        self.receivers = Receivers(self)
        self.seeding = Seeding(self)
        self.signals = Signals(self)
        self.threads = Threads(self)
        self.accumulators = Accumulators()
        self.hierarchy = Hierarchy(self)
        self.guards = decorators.Guards(self)
        self.counters: collections.Counter[str] = collections.Counter()
        self._summaries: dict[tuple[object, ...], tuple[Summary, Frame | None]] = {}
        self._stack: list[tuple[object, ...]] = []
        self._open: dict[tuple[object, ...], int] = {}
        #: lowest open frame that the frame at each depth has leant on
        self._leans: list[int] = []
        #: open functions that call themselves, as far as one has seen
        self._again: set[tuple[object, ...]] = set()
        #: how many contexts of a function there are, attempts at a summary, and summaries of a function
        self._contexts: collections.Counter[tuple[object, ...]] = collections.Counter()
        self._attempts: collections.Counter[tuple[object, ...]] = collections.Counter()
        self._of_function: collections.Counter[str] = collections.Counter()
        #: what was read for each summary
        self._read: dict[object, int] = {}
        self._modules: Memo[str, bool] = Memo(reads)
        self._axes: dict[str, Axes | None] = {}
        self._light: Memo[LightKey, LightResult] = Memo(reads)
        #: how far down calls for attribute layers have gone, and whether they have read a layer, in what is being done
        self.light_reach = 0
        self.reads_layer = False
        self._light_open: set[LightKey] = set()
        #: what parameters hold as far as their functions tell, by its id, their names and whether it is a module's
        self.parameters: Memo[tuple[str, str, bool], Value] = Memo(reads)
        #: what functions reduce or gather, by their id; see `admissions`
        self.admissions: Memo[str, dict[str, Admission]] = Memo(reads)
        #: of which lists a function sums up the items and reduces the sum, by its id; see `parts`
        self.parts: Memo[str, dict[str, Part]] = Memo(reads)
        #: files that are programs of one process; see `programs`
        self.alone: Memo[str, bool] = Memo(reads)
        #: whether something fills an entry of batches where it is missing, by its name
        self.filled: Memo[str, bool] = Memo(reads)
        #: whether all ranks take their batches from the same data set in turn; see `absent_inputs`
        self.in_turn: Memo[None, bool] = Memo(reads)
        #: whether a file deals data out by the rank, once somebody has asked; see `end_of_data`
        self.uneven: Memo[str, bool] = Memo(reads)
        #: whether a file makes batches by stacking alone; see `collators`
        self.stacking: Memo[str, bool] = Memo(reads)

    def count(self, what: str) -> None:
        """A budget that ended in silence, for `--statistics`."""
        self.counters[what] += 1

    def close(self) -> None:
        """Nothing more is asked of it. All of it refers to itself somewhere, and a run collects no cycles: what each
        analysis of a few files (fixes that are tried) leaves behind would stay to the end."""
        for module in self.names.modules.values():
            module.close()
        self.__dict__.clear()

    # ------------------------------------------------------------------ small questions
    def axes_in(self, text: str) -> Axes | None:
        if text not in self._axes:
            self._axes[text] = axes_in(self.models, text)
        return self._axes[text]

    def is_module(self, info: ClassInfo) -> bool:
        """Whether instances are `nn.Module`s, by their library base classes."""
        return self._modules.find(
            info.id, lambda: any(self.is_module_class(b) for b in self.names.external_bases(info))
        )

    def is_module_class(self, dotted: str) -> bool:
        """Whether a library class is an `nn.Module`: by its model, else by the habits of model libraries."""
        role = self.models.class_(dotted)
        if role is not None:
            return role.role in ("module", "sharded", "ddp", "leaf")
        last = dotted.rpartition(".")[2]
        if last in ("Module", "PreTrainedModel", "LightningModule") or last.endswith("PreTrainedModel"):
            return True
        return dotted.startswith(("transformers.", "torchvision.models", "timm.")) and bool(
            re.search(r"(ForConditionalGeneration|ForCausalLM|Model|Decoder|Encoder|Attention|MLP|Layer)$", last)
        )

    def instance_attribute(self, info: ClassInfo, name: str, layer: int) -> Value | None:
        return self.holders.attribute(info, name, layer)

    def class_attribute(self, info: ClassInfo, name: str, layer: int) -> Value | None:
        return self.holders.class_attribute(info, name)

    def global_variable(self, variable: GlobalName) -> Value:
        return self.holders.global_variable(variable)

    def attribute_classes(self, info: ClassInfo) -> list[ClassInfo]:
        """Classes of the attributes of an instance."""
        found: dict[str, ClassInfo] = {}
        names = {
            n
            for c in self.names.mro(info)
            for m in c.methods.values()
            for n in self.holders._stored_in(m)
            if "." not in n
        }
        for name in sorted(names):
            value = self.holders.attribute(info, name, FULL)
            for c in sorted((value.types | value.element_types) if value else (), key=lambda c: c.id):
                found[c.id] = c
        return list(found.values())

    def fixed_fields(self, frame: Frame, expr: f.Expr, info: ClassInfo) -> tuple[tuple[str, Value], ...]:
        """Attributes that a constructor call `expr` fixes for good (`TemporaryFolder(path, sync=False)`)."""
        method = self.names.method(info, "__init__")
        if type(expr) is not f.Call or method is None:
            return ()
        with frame.recording():
            positional = tuple(frame.eval(a) for a in expr.args)
            keywords = {name: frame.eval(value) for name, value in expr.keywords if name}
        bound = bind_arguments(method, Value(types=frozenset({info})), positional, keywords, expr)
        known = self.summary(method, contexts_of(method, bound, expr, self.models), info, None, frame.depth + 1)
        if known is None or known[0].busy or known[1] is None:
            return ()
        return self.holders.fixed(info, known[1].self_writes)

    def classes_of(self, module: ModuleInfo, function: FunctionInfo | None, expr: f.Expr) -> list[ClassInfo]:
        """The project classes that an expression may be an instance of, by a quick look at one function."""
        frame = Frame(self, module, function, light=2)
        if function is not None:
            owner = module.classes.get(function.owner) if function.owner else None
            enter(frame, function, owner, {}, None)
            place = place_name(expr)
            if place and "." not in place:
                with frame.recording():
                    execute(frame, function.body)
        with frame.recording():
            value = frame.eval(expr)
        return sorted(value.types, key=lambda c: c.id)

    def annotated_class(self, annotation: f.Expr | None, module: ModuleInfo) -> ClassInfo | None:
        """The project class that an annotation names; `Optional[X]`, `X | None` and `"X"` are X."""
        found = self._annotated(annotation, module)
        return found if isinstance(found, ClassInfo) else None

    def annotated_elements(self, annotation: f.Expr | None, module: ModuleInfo) -> frozenset[ClassInfo]:
        """The project class of the items that an annotation names: `list[X]`, `Sequence[X] | None`, `tuple[X, ...]`."""
        stack: list[f.Expr | None] = [annotation]
        while stack:
            expr = stack.pop()
            if type(expr) is f.Op and expr.kind == "BitOr":
                stack += expr.operands
            elif type(expr) is f.Subscript and last_name(expr.base) in ("Optional", "Final"):
                stack.append(expr.index)
            elif type(expr) is f.Subscript and last_name(expr.base) in _LISTS:
                item = expr.index.elements[0] if type(expr.index) is f.Sequence and expr.index.elements else expr.index
                info = self.annotated_class(item, module)
                return frozenset({info}) if info is not None else NOTHING
        return NOTHING

    def annotated_external(self, annotation: f.Expr | None, module: ModuleInfo) -> str | None:
        found = self._annotated(annotation, module)
        return self.models.canonical(found.dotted) if isinstance(found, External) else None

    def _annotated(self, annotation: f.Expr | None, module: ModuleInfo) -> object:
        stack: list[f.Expr | None] = [annotation]
        while stack:
            expr = stack.pop(0)
            if type(expr) in (f.Name, f.Attr):
                return self.names.resolve(expr, module)
            if type(expr) is f.Const and expr.text[:1] in "'\"":
                name = expr.text.strip("'\"").rpartition("[")[2].rstrip("]").partition("|")[0].strip()
                if name.isidentifier():
                    return self.names.lookup(module, name)
                if re.fullmatch(r"[\w.]+", name):
                    base, *rest = name.split(".")
                    entity = self.names.lookup(module, base)
                    for part in rest:
                        entity = self.names.member(entity, part) if entity is not None else None
                    return entity
            elif type(expr) is f.Subscript:
                if last_name(expr.base) in ("Optional", "Union", "Annotated", "Final", "ClassVar"):
                    stack.append(expr.index)
            elif type(expr) is f.Op and expr.kind == "BitOr":
                stack += [o for o in expr.operands if not (type(o) is f.Const and o.text == "None")]
            elif type(expr) is f.Sequence:
                stack += expr.elements
        return None

    # ------------------------------------------------------------------ calls of project functions
    def call_function(
        self,
        frame: Frame,
        function: FunctionInfo,
        receiver: Value | None,
        positional: tuple[Value, ...],
        keywords: Mapping[str, Value],
        pos: f.Pos,
        *,
        call: f.Call | None = None,
        closure: Frame | None = None,
        raw: bool = False,
        confidence: Confidence = Confidence.HIGH,
    ) -> Value:
        """The value of a call of a project function; its events go to the caller's trace as one term."""
        if function.decorators and not raw:
            wrapped = decorators.replaced(frame, function, closure)
            if wrapped is not None:
                return self.call_function(
                    frame, wrapped.function, None,
                    (*((receiver,) if receiver is not None and not function.is_static else ()), *positional),
                    keywords, pos, call=None, closure=wrapped.closure, raw=True, confidence=confidence,
                )  # fmt: skip
        bound = bind_arguments(function, receiver, positional, keywords, call)
        info = self._receiver_class(function, receiver)
        if frame.light:
            return self._light_call(frame, function, info, bound, closure)
        context = (*contexts_of(function, bound, call, self.models), *self._classes_passed(function, bound))
        known = self.summary(function, context, info, closure, frame.depth + 1)
        if known is None:
            return UNKNOWN
        summary, _ = known
        if summary.busy:
            group_use.forwarded(frame, function, bound, call)
            return UNKNOWN
        own = forwards.own_name(call, summary.events)
        if summary.events:
            best = max(e.confidence for e in summary.events)
            if all(e.assumed for e in summary.events) and forwards.in_inference(frame):
                best = confidence = Confidence.LOW
            of_some = any(v.absent is not None for v in bound.values())
            if of_some and all(e.op == "forward" and e.hidden for e in summary.events):
                best = Confidence.LOW  # what only some ranks have is no model that the others have parts of
            dummy = call is not None and (forwards.stands_in(call) or forwards.runs_stand_in(call, summary.events))
            frame.emit(CallTerm(summary, frame.module.path, pos, min(confidence, best), dummy, own))
        group_use.forwarded(frame, function, bound, call)
        bound = constructed.bind(frame, summary, receiver, bound)
        bound = given.bind(frame, summary, call, receiver is not None, bound)
        exceptions.at_call(frame, summary, pos)
        latent.raise_or_pass_on(frame, summary, bound, pos, confidence, call)
        if not function.is_context_manager:  # what one does on leaving comes after the block
            gradient_order.of_callee(frame, summary.gradient_kinds, call, pos)
        self._left_behind(frame, summary, call, receiver)
        _written(frame, summary, call, receiver is not None)
        given.after_call(frame, summary, call, receiver is not None, bound)
        state.after_call(frame, summary, call, bound)
        return participation.under_name(frame, instantiate(frame, summary, bound, pos), own)

    def _classes_passed(self, function: FunctionInfo, bound: Mapping[str, Value]) -> Context:
        """The classes of arguments on which the function calls methods of theirs, where no annotation tells them, and
        of modules whose forward broadcasts buffers."""
        out: list[tuple[str, Value]] = []
        for i, parameter in enumerate(function.parameters):
            value = bound.get(parameter.name)
            if value is None or len(value.types) != 1 or value.const is not None or value.target is not None:
                continue
            if i == 0 and function.owner is not None and not function.is_static:
                continue
            (info,) = value.types
            if forwards.shares_buffers(self, value):
                out.append((parameter.name, Value(types=value.types, module=True, external=value.external)))
                continue
            annotated = self.annotated_class(parameter.annotation, function.module)
            if annotated is info or (annotated is not None and annotated not in self.names.mro(info)):
                continue
            if any(self.names.method(info, name) is not None for name in function.calls_on(parameter.name)):
                out.append((parameter.name, Value(types=value.types)))
        return tuple(out)

    def _receiver_class(self, function: FunctionInfo, receiver: Value | None) -> ClassInfo | None:
        owner = function.module.classes.get(function.owner) if function.owner else None
        if receiver is not None and owner is not None:
            from ferrule_lint.semantics.domain.targets import ClassTarget

            if type(receiver.target) is ClassTarget:
                return receiver.target.info
            for info in sorted(receiver.types, key=lambda c: c.id):
                if owner in self.names.mro(info):
                    return owner if self.hierarchy.has_many_heirs(owner.id) else info
        return owner

    def _left_behind(self, frame: Frame, summary: Summary, call: f.Call | None, receiver: Value | None) -> None:
        """What a call does to the variables that are passed to it."""
        from ferrule_lint.semantics.calls.agreement import make_uniform
        from ferrule_lint.semantics.calls.dispatch import seen_by_others

        function = summary.function
        if call is None or function is None:
            return

        def argument(name: str) -> f.Expr | None:
            return passed(call, function, receiver is not None, name)

        for name in summary.wraps:
            seen_by_others(frame, argument(name))
        for place, axes in summary.made_uniform.items():
            root = root_of(place)
            if (expr := argument(root)) is not None:
                make_uniform(frame, given.part_of(expr, place[len(root) :]), axes)

    def _light_call(
        self, frame: Frame, function: FunctionInfo, info: ClassInfo | None, bound: dict[str, Value],
        closure: Frame | None,
    ) -> Value:  # fmt: skip
        """A call's result for an attribute layer: no events, and only to a small depth."""
        if function.name == "__init__" or function.is_generator:
            return UNKNOWN
        annotated = self.annotated_class(function.returns, function.module)
        if annotated is not None and not self._tells_ranks_apart(function.returns, annotated):
            return Value(types=frozenset({annotated}))
        if frame.depth > self.light_reach:
            self.light_reach = frame.depth
        if frame.depth >= DEEPEST_LIGHT_CALL:
            return UNKNOWN
        key: LightKey = (function.id, info.id if info else "", frame.light, frame.depth, closure)
        known = self._light_known(key)
        if known is not None:
            self.light_reach = max(self.light_reach, frame.depth + known.span)
            self.reads_layer = self.reads_layer or known.reads_layer
            return known.value
        reads = self.names.reads
        if key in self._light_open:
            reads.lean(key)
            return UNKNOWN
        before, leans = reads.begin(), reads.leans
        reach, layer = self.light_reach, self.reads_layer
        self.light_reach, self.reads_layer = frame.depth, False
        self._light_open.add(key)
        try:
            inner = Frame(self, function.module, function, depth=frame.depth + 1, light=frame.light, closure=closure)
            enter(inner, function, info, {}, None)
            execute(inner, function.body)
            if reads.leans != leans:
                self.light_reach = _WITHOUT_END  # anew, it may have the answer that was not there
            return self._light_result(frame, inner, key, annotated, bound)
        finally:
            self._light_open.discard(key)
            reads.settle(key)
            reads.end(before)
            self.light_reach = max(reach, self.light_reach)
            self.reads_layer = layer or self.reads_layer

    def _light_known(self, key: LightKey) -> LightResult | None:
        """The result of a call that was made before: in the same layer as deep down, or where neither is seen in it."""
        if key in self._light:
            return self._light[key]
        function, info, light, depth, closure = key
        for layer in (light, 3 - light):
            for other in range(DEEPEST_LIGHT_CALL):
                same: LightKey = (function, info, layer, other, closure)
                if same not in self._light or (other == depth and layer == light):
                    continue
                known = self._light.look(same)
                if (layer != light and known.reads_layer) or max(other, depth) + known.span >= DEEPEST_LIGHT_CALL:
                    continue
                return self._light[same]
        return None

    def _light_result(
        self, frame: Frame, inner: Frame, key: LightKey, annotated: ClassInfo | None, bound: dict[str, Value]
    ) -> Value:
        """What is returned, by the summary alone; it is kept if that does not depend on who calls."""
        result = returned.result_of(inner)
        given = [bound[name] for name, how in sorted(result.deps) if how == FLOWS and name in bound]
        result = result._replace(deps=NO_DEPS)
        if annotated is not None and not result.types:
            result = result._replace(types=frozenset({annotated}))
        wrapped: frozenset[ClassInfo] = frozenset().union(*(wrapped_classes(frame, result, v) for v in given))
        if wrapped:
            return result._replace(types=result.types | wrapped)  # what is wrapped elsewhere is of another class
        self._light[key] = LightResult(result, self.light_reach - frame.depth, self.reads_layer)
        return result

    def _tells_ranks_apart(self, annotation: f.Expr | None, info: ClassInfo) -> bool:
        """Whether a result of this class may be another on each rank: one that may be None, or an `Enum`'s member."""
        quoted = type(annotation) is f.Const and not re.search(r"Optional|\|", annotation.text)
        if type(annotation) not in (f.Name, f.Attr) and not quoted:
            return True
        return any(base.startswith("enum.") for base in self.names.external_bases(info))

    # ------------------------------------------------------------------ summaries
    def summary(
        self, function: FunctionInfo, context: Context, info: ClassInfo | None, closure: Frame | None, depth: int
    ) -> tuple[Summary, Frame | None] | None:
        """The summary of a function in a context, and the frame it was read off, which is kept for constructors and
        without a context only; None when a budget ended."""
        key = (function.id, context, info.id if info else "", closure)
        known = self._summaries.get(key)
        reads = self.names.reads
        if known is not None:
            if known[0].busy and self._leans:
                self._leans[-1] = min(self._leans[-1], self._open[key])
                self._again.add(key)
                reads.lean(key)
            reads.bits |= self._read.get(key, 0)
            return known
        if depth > DEEPEST_CALL:
            self.count("calls nested too deeply")
            return None
        if not self._attempts[key]:
            variant = (function.id, key[2], closure)
            if context and self._contexts[variant] >= MOST_CONTEXTS:
                self.count("contexts of a function")
                return self.summary(function, (), info, closure, depth)
            self._contexts[variant] += bool(context)
            self._of_function[function.id] += 1
        self._attempts[key] += 1
        if self._attempts[key] > MOST_ATTEMPTS or self._of_function[function.id] > MOST_SUMMARIES:
            self.count("summaries of a function")
            return None
        place = len(self._leans)
        before = reads.begin()
        try:
            known, leans = self._computed(key, (), function, context, info, closure, depth)
            if key in self._again:
                self._again.discard(key)
                if leans == place and known[0].events:
                    # what a call of itself does is what was found without such calls: one level of them is seen
                    known, leans = self._computed(key, known, function, context, info, closure, depth)
            reads.remember(self._read, key)
        finally:
            reads.settle(key)
            reads.end(before)
        if leans < place:
            del self._summaries[key]
            if self._leans:
                self._leans[-1] = min(self._leans[-1], leans)
        return known

    def _computed(
        self,
        key: tuple[object, ...],
        before: tuple[Summary, Frame | None] | tuple[()],
        function: FunctionInfo,
        context: Context,
        info: ClassInfo | None,
        closure: Frame | None,
        depth: int,
    ) -> tuple[tuple[Summary, Frame | None], int]:
        """A function's summary and frame, and the lowest open frame that they lean on; `before` is what calls of itself
        find, nothing if they are to be silent."""
        summary = Summary(function)
        frame = Frame(self, function.module, function, depth=depth, closure=closure)
        known: tuple[Summary, Frame | None] = (summary, frame)
        place = len(self._leans)
        self._open[key] = place
        self._summaries[key] = before or known
        self._leans.append(place)
        try:
            enter(frame, function, info, dict(context), None)
            decorators.run(frame, function)
        except RecursionError:
            self.count("too deep for Python's stack")
            frame.terms.clear()
        finally:
            leans = self._leans.pop()
            del self._open[key]
            summary.busy = False
        self._summaries[key] = known
        self._finish(summary, frame)
        stage_values.finish(frame)
        summary.in_context = latent.of_context(summary.trace, dict(context), self.count) if summary.events else ()
        if function.qualname not in function.module.outer:
            # nobody looks names up in it any more
            for held in (frame.env, frame.versions, frame.terms, frame.returns, frame.definitions):
                held.clear()
            if function.name != "__init__":  # what that has fixed is asked for by `with` blocks
                frame.self_writes.clear()
                frame.left_in.clear()
                if context:
                    self._summaries[key] = (summary, None)
            frame.put_away()
        return known, leans

    def _finish(self, summary: Summary, frame: Frame) -> None:
        assert summary.function is not None
        summary.trace = frame.trace()
        if inference.infers(summary.function):
            summary.trace = inference.in_evaluation(summary.trace, lambda t: tuple(_events(t, self.count)))
        summary.result = sizing.given_back(frame, state.in_its_place(frame, returned.result_of(frame)))
        if frame.gradients:
            summary.result = participation.returned(frame, summary.result)
            participation.at_return(frame, summary.result)
        annotated = self.annotated_class(summary.function.returns, summary.function.module)
        if annotated is not None and not summary.result.types and _tells_nothing(summary.result):
            summary.result = summary.result._replace(types=frozenset({annotated}), target=None)
        if summary.result.presence is None and _says_there(summary.function.returns):
            summary.result = summary.result._replace(there=True)
        parameters = {p.name for p in summary.function.parameters}
        summary.made_uniform = given.agreed(frame)
        summary.left_in, summary.surely = given.left(frame)
        summary.self_writes, summary.self_uniform = state.left(frame)
        summary.gradient_kinds = gradient_order.shown(frame)
        summary.wraps = frozenset(frame.wraps & parameters) or NOTHING
        summary.written = frame.files.told_to_callers(parameters)
        summary.events = tuple(_events(summary.trace, self.count))
        summary.escapes = tuple(list(exceptions.told_to_callers(frame, summary))[:MOST_ESCAPES])
        summary.fallible = frame.fallible
        if len(frame.latents) >= latent.MOST_LATENTS:
            self.count("latent findings of a function")
        own = latent.of_summary(summary.trace, self.count) if summary.events else ()
        summary.latents = (*frame.latents[: latent.MOST_LATENTS], *own)
        summary.fields = given.asked(summary)

    # ------------------------------------------------------------------ for the checks
    def frame_of(self, function: FunctionInfo) -> tuple[Summary, Frame] | None:
        """A function as it stands, in no particular context; a nested one inside the function that defines it."""
        closure = None
        if function.parent is not None:
            parent = function.module.functions.get(function.parent)
            if parent is not None:
                outer = self.frame_of(parent)
                closure = outer[1] if outer is not None else None
        info = function.module.classes.get(function.owner) if function.owner else None
        return _with_frame(self.summary(function, (), info, closure, 0))

    def frames_of_subclasses(self, function: FunctionInfo) -> Iterator[tuple[Summary, Frame]]:
        """An inherited method for the subclasses that override what it calls."""
        for info in self.hierarchy.contexts(function):
            known = _with_frame(self.summary(function, (), info, None, 0))
            if known is not None:
                yield known

    def module_frame(self, module: ModuleInfo) -> Frame:
        """The top level of a file, run as a body."""
        frame = Frame(self, module)
        try:
            execute(frame, module.body)
        except RecursionError:
            self.count("too deep for Python's stack")
        return frame


def _written(frame: Frame, summary: Summary, call: f.Call | None, receiver: bool) -> None:
    """At a call: the files that the callee writes, by its arguments."""
    function = summary.function
    if call is None or function is None or not any(summary.written):
        return
    one, every = (
        [e for name in sorted(names) if (e := passed(call, function, receiver, name)) is not None]
        for names in summary.written
    )
    guard = frame.path_divergence()
    frame.files.after_call(one, every, guard is not None and guard.kind == "rank")


def _with_frame(known: tuple[Summary, Frame | None] | None) -> tuple[Summary, Frame] | None:
    return None if known is None or known[1] is None else (known[0], known[1])


def _tells_nothing(value: Value) -> bool:
    """Whether the text says less of what a value may be called or asked for than an annotation does: it refers to
    nothing, or is an attribute of something unknown (`return self._trainer`)."""
    return value.target is None or type(value.target) is MethodTarget


def _says_there(annotation: f.Expr | None) -> bool:
    """Whether an annotation of a result leaves no room for None: `-> dict[str, Tensor]`."""
    if type(annotation) is f.Subscript:
        return last_name(annotation.base) in _CONTAINERS
    return last_name(annotation) in _CONTAINERS


#: containers: who says that one is returned means it
_CONTAINERS = frozenset("dict Dict list List tuple Tuple set Set OrderedDict defaultdict Mapping Sequence str".split())


def _events(trace: Trace, count: Callable[[str], None]) -> list[Event]:
    """One event of each kind in a trace and in the calls it makes: the surest, of those the first."""
    found: dict[tuple[object, ...], Event] = {}
    stack = list(reversed(trace))
    while stack:
        if len(found) >= MOST_EVENTS:
            count("kinds of events of a function")
            break
        term = stack.pop()
        if type(term) is Event:
            _keep(found, term)
        elif type(term) is CallTerm:
            for event in term.summary.events:
                if event.confidence > term.confidence:
                    event = event._replace(confidence=term.confidence)
                _keep(found, event._replace(dummy=event.dummy or term.dummy))
        else:
            stack.extend(reversed(parts(term)))
    return list(found.values())


def _keep(found: dict[tuple[object, ...], Event], event: Event) -> None:
    kind = (event.op, event.axes, event.hidden, event.channel)
    known = found.get(kind)
    dummy = event.dummy and (known is None or known.dummy)  # one of a real input is enough
    if known is None or event.confidence > known.confidence:
        found[kind] = event._replace(dummy=dummy)
    elif known.dummy and not dummy:
        found[kind] = known._replace(dummy=False)
