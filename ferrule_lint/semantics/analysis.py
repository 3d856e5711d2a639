"""The whole project: the parts of the analysis, each answering one kind of question, and what they share."""

from __future__ import annotations

import collections
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ferrule_lint.facts import types as f
from ferrule_lint.facts.outline import Facts
from ferrule_lint.facts.walk import walk
from ferrule_lint.models.lookup import ModelSet
from ferrule_lint.models.types import CallModel
from ferrule_lint.semantics.calls import decorators, functions
from ferrule_lint.semantics.calls.instantiate import bind_arguments, contexts_of
from ferrule_lint.semantics.calls.light import LightCalls
from ferrule_lint.semantics.calls.receivers import Receivers
from ferrule_lint.semantics.calls.summaries import Summaries
from ferrule_lint.semantics.control import exceptions
from ferrule_lint.semantics.data.accumulators import Accumulators
from ferrule_lint.semantics.domain.assigned import Bodies
from ferrule_lint.semantics.domain.axes import Axes
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.summary import Summary
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.groups import model_parallel
from ferrule_lint.semantics.groups.axes import axes_in
from ferrule_lint.semantics.project.annotations import Annotations
from ferrule_lint.semantics.project.back_ends import BackEnds
from ferrule_lint.semantics.project.begun import Begun
from ferrule_lint.semantics.project.entities import ClassInfo, External, FunctionInfo, ModuleInfo, by_id
from ferrule_lint.semantics.project.hierarchy import Hierarchy
from ferrule_lint.semantics.project.import_graph import ImportGraph
from ferrule_lint.semantics.project.kept_arguments import Given
from ferrule_lint.semantics.project.mixins import Mixins
from ferrule_lint.semantics.project.names import Names
from ferrule_lint.semantics.project.reads import Asked, Input, Memo, Reads
from ferrule_lint.semantics.project.seeding import Seeding
from ferrule_lint.semantics.project.sharding import Setting, Sharding
from ferrule_lint.semantics.project.signals import Signals
from ferrule_lint.semantics.project.threads import Threads
from ferrule_lint.semantics.sources.admissions import Admission
from ferrule_lint.semantics.sources.parts import Part
from ferrule_lint.semantics.walk import state
from ferrule_lint.semantics.walk.at_place import WatchingFrame
from ferrule_lint.semantics.walk.body import execute
from ferrule_lint.semantics.walk.expressions import EVALUATORS
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.holders import Holders, enter
from ferrule_lint.semantics.walk.statements import EXECUTORS

#: libraries whose modules are none of torch's, and so nothing that torch shards
_OTHER_FRAMEWORKS = frozenset("mlx flax haiku equinox sonnet tensorflow keras paddle mindspore".split())


class Analysis:
    """Values, traces and summaries of all functions of a project."""

    def __init__(
        self, files: Mapping[str, Facts], models: ModelSet, sharded: Setting = "auto", inputs: Iterable[Input] = ()
    ) -> None:
        """`inputs`: those of an earlier run."""
        self.names = Names(files, Reads(inputs), models.names_library)
        reads = self.names.reads
        self.models = models
        #: for frames and what they call, which cannot import them
        self.evaluators = EVALUATORS
        self.executors = EXECUTORS
        self.as_state = state.under_tests
        self.call_function = functions.call_function
        self.annotations = Annotations(self.names, models)
        self.summaries = Summaries(self)
        self.light = LightCalls(self)
        self.holders = Holders(self)
        self.imports = ImportGraph(self.names)
        self.sharding = Sharding(self, sharded)
        self.back_ends = BackEnds(self)
        self.exceptions = exceptions.Exceptions(self)
        self.receivers = Receivers(self)
        self.seeding = Seeding(self)
        self.signals = Signals(self)
        self.threads = Threads(self)
        self.accumulators = Accumulators(reads)
        self.hierarchy = Hierarchy(self)
        self.mixins = Mixins(self)
        self.guards = decorators.Guards(self)
        #: the functions of which it is being asked what their decorators make of them
        self.decorating: list[FunctionInfo] = []
        self.counters: collections.Counter[str] = collections.Counter()
        self._modules: Memo[str, bool] = Memo(reads)
        self._axes: dict[str, Axes | None] = {}
        self.bodies = Bodies()
        #: what parameters hold as far as their functions tell, by its id, their names and whether it is a module's
        self.parameters: Memo[tuple[str, str, bool], Value] = Memo(reads)
        #: functions, gone through for what they pass to others, by file, id and layer; see `caller`
        self.callers: Memo[tuple[str, str, int], WatchingFrame | None] = Memo(reads)
        #: what functions reduce or gather, by their id; see `admissions`
        self.admissions: Memo[str, dict[str, Admission]] = Memo(reads)
        #: which of their parameters functions reduce or gather, by their id
        self.handed_on: Asked[dict[str, tuple[str, str]]] = Asked(reads, "handed on")
        #: whether functions take their ways by a parameter, by their id, its name and the calls in between
        self.told_apart: Memo[tuple[str, str, int], bool] = Memo(reads)
        #: whether functions are handed what has been gathered, by their id, a parameter and how many steps are left
        self.handed_gathered: Memo[tuple[str, str, int], bool] = Memo(reads)
        #: whether a function is handed, or a class keeps, batches of data sets that are told to be rank 0 of 1, by the
        #: id of the one and a parameter, or of the other
        self.whole_sets: Memo[tuple[str, str], bool] = Memo(reads)
        #: flags that constructors keep, by the id of their class; see `fixed_flags`
        self.kept_flags: Memo[str, dict[str, str]] = Memo(reads)
        #: the one constant that the project puts into attributes of a name; see `never_given`
        self.only_constants: Memo[str, f.Const | None] = Memo(reads)
        #: losses that functions train on and let decide something, by their id; see `trained_losses`
        self.trained_losses: Memo[str, frozenset[str]] = Memo(reads)
        #: of which lists a function sums up the items and reduces the sum, by its id; see `parts`
        self.parts: Memo[str, dict[str, Part]] = Memo(reads)
        #: files that are programs of one process; see `programs`
        self.alone: Memo[str, bool] = Memo(reads)
        #: whether the programs of a file keep parameters whole; see `zero_stages`
        self.kept_whole: Memo[str, bool] = Memo(reads)
        #: whether some object keeps something under the name of a method; see `plain_methods`
        self.kept_under: Asked[bool] = Asked(reads, "kept under")
        #: whether something fills an entry of batches where it is missing, by its name
        self.filled: Asked[bool] = Asked(reads, "filled")
        #: the entries that a batch has only where some sample brings something for them; see `collected`
        self.collected: Asked[tuple[str, ...]] = Asked(reads, "collected")
        #: whether every caller gives an optional input, by its name; see `always_given`
        self.always_given: Asked[bool] = Asked(reads, "always given")
        #: whether all ranks take their batches from the same data set in turn; see `absent_inputs`
        self.in_turn: Asked[bool] = Asked(reads, "in turn")
        #: attributes that hold nothing, since nobody gives what they are for, by class and name; see `options`
        self.options: Asked[bool] = Asked(reads, "option")
        #: the calls of functions, by their ids; see `options`
        self.calls_of: Asked[list[tuple[ModuleInfo, FunctionInfo | None, f.Call]]] = Asked(reads, "calls of")
        #: parameters of constructors for which somebody passes a module; see `built_around`
        self.built_around: Asked[bool] = Asked(reads, "built around")
        #: what callers give that is kept in an instance; see `kept_arguments`
        self.kept_arguments: Asked[Given] = Asked(reads, "kept")
        #: classes of the modules that callers hand over for a parameter, by their ids; see `handed_over`
        self.handed_over: Asked[tuple[str, ...]] = Asked(reads, "handed over")
        #: what all callers have just begun that hand it to a parameter; see `begun`
        self.begun: Asked[tuple[Begun, ...]] = Asked(reads, "begun")
        #: what all callers have put the module in that they hand to a parameter; see `handed_wrapped`
        self.handed_wrapped: Asked[str] = Asked(reads, "handed wrapped")
        #: what the modules are wrapped in that callers pass to a constructor; see `built_around`
        self.given_wrapper: Asked[str] = Asked(reads, "given wrapper")
        #: whether a file deals data out by the rank, or evenly, once somebody has asked; see `end_of_data`
        self.uneven: Asked[bool] = Asked(reads, "uneven")
        self.even: Asked[bool] = Asked(reads, "even")
        #: the places by which a file chooses its device; see `own_device`
        self.own_devices: Asked[dict[str, list[tuple[str | None, str]]]] = Asked(reads, "own devices")
        #: whether a file takes its loaders from one that fills up all texts, by its path; see `collators`
        self.filled_texts: Memo[str, bool] = Memo(reads)
        #: whether all collators that a file names stack a field of the samples, by its path and the field
        self.stacked_fields: Memo[tuple[str, str], bool] = Memo(reads)
        #: whether a file makes batches by stacking alone; see `collators`
        self.stacking: Asked[bool] = Asked(reads, "stacking")
        #: the methods that a file takes for collators; see `collators`
        self.collating: Asked[tuple[str, ...]] = Asked(reads, "collating")

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
        return model_parallel.axes(self.names, text, self._axes[text])

    def model_of(self, module: ModuleInfo, call: f.Call) -> CallModel | None:
        """What is known of a library's function that a call names in a file, or of a method by the name of what it is
        called on."""
        entity = self.names.resolve(call.func, module)
        model = self.models.call(entity.dotted) if isinstance(entity, External) else None
        if model is None and type(call.func) is f.Attr:
            model = self.models.method(call.func.attr, last_name(call.func.base))
        return model

    def is_module(self, info: ClassInfo) -> bool:
        """Whether instances are `nn.Module`s, by their library base classes."""
        return self._modules.find(
            info.id, lambda: any(self.is_module_class(b) for b in self.names.external_bases(info))
        )

    def is_of_another_framework(self, info: ClassInfo) -> bool:
        """Whether a class is a module that torch knows nothing of."""
        return any(b.partition(".")[0] in _OTHER_FRAMEWORKS for b in self.names.external_bases(info))

    def is_file_of_another_framework(self, module: ModuleInfo) -> bool:
        """Whether a file imports another framework, and torch not: what it calls are no modules of torch."""
        roots = {name.partition(".")[0] for name, relative in module.imports.values() if not relative}
        return "torch" not in roots and not roots.isdisjoint(_OTHER_FRAMEWORKS | {"jax"})

    def is_module_class(self, dotted: str) -> bool:
        """Whether a library class is an `nn.Module`: by its model, else by the habits of model libraries."""
        role = self.models.class_(dotted)
        if role is not None:
            return role.role in ("module", "sharded", "ddp", "leaf")
        last = dotted.rpartition(".")[2]
        if dotted.partition(".")[0] in _OTHER_FRAMEWORKS:
            return False
        if last in ("Module", "PreTrainedModel", "LightningModule") or last.endswith("PreTrainedModel"):
            return True
        return dotted.startswith(("transformers.", "torchvision.models", "timm.")) and bool(
            re.search(r"(ForConditionalGeneration|ForCausalLM|Model|Decoder|Encoder|Attention|MLP|Layer)$", last)
        )

    def fixed_fields(self, frame: Frame, expr: f.Expr, info: ClassInfo) -> tuple[tuple[str, Value], ...]:
        """Attributes that a constructor call `expr` fixes for good (`TemporaryFolder(path, sync=False)`)."""
        method = self.names.method(info, "__init__")
        if type(expr) is not f.Call or method is None:
            return ()
        with frame.recording():
            positional = tuple(frame.eval(a) for a in expr.args)
            keywords = {name: frame.eval(value) for name, value in expr.keywords if name}
        bound = bind_arguments(method, Value(types=frozenset({info})), positional, keywords, expr)
        known = self.summaries.with_frame(method, contexts_of(self, method, bound, expr), info, None, frame.depth + 1)
        if known is None or known[0].busy or known[1] is None:
            return ()
        return self.holders.fixed(info, known[1].self_writes)

    def classes_of(self, module: ModuleInfo, function: FunctionInfo | None, expr: f.Expr) -> list[ClassInfo]:
        """The project classes that an expression may be an instance of, by a quick look at one function."""
        place = place_name(expr)
        frame = self.watched(
            module, function, (expr,), 2, walks=function is not None and bool(place) and "." not in place
        )
        if not frame.came_by(expr):
            with frame.recording():
                frame.eval(expr)
        return by_id(frame.seen(expr).types)

    def watched(
        self,
        module: ModuleInfo,
        function: FunctionInfo | None,
        exprs: Sequence[f.Expr],
        light: int,
        walks: bool = True,
    ) -> WatchingFrame:
        """A quick look at one function, which notes what some expressions in it hold."""
        frame = WatchingFrame(self, module, function, light=light)
        frame.watch(exprs)
        if function is not None:
            owner = module.classes.get(function.owner) if function.owner else None
            enter(frame, function, owner, {}, None)
        if walks:
            try:
                with frame.recording():
                    execute(frame, module.body if function is None else function.body)
            except RecursionError:
                self.count("too deep for Python's stack")
        return frame

    def caller(self, module: ModuleInfo, function: FunctionInfo | None, layer: int) -> WatchingFrame:
        """A function, or the top level of a file, gone through once for all that its calls pass to others."""

        def walked() -> WatchingFrame:
            body = module.body if function is None else function.body
            calls = [node for node in walk(body) if type(node) is f.Call]
            watched = [expr for call in calls for expr in (call, *call.args, *(value for _, value in call.keywords))]
            watched += [call.func.base for call in calls if type(call.func) is f.Attr]
            return self.watched(module, function, watched, layer)

        place = (module.path, "" if function is None else function.id, layer)
        return self.callers.find(place, walked) or walked()

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
        if info is not None and not function.is_static and (wholes := self.mixins.wholes(info)):
            info = wholes[0]
        return _with_frame(self.summaries.with_frame(function, (), info, closure, 0))

    def frames_of_subclasses(self, function: FunctionInfo) -> Iterator[tuple[Summary, Frame]]:
        """An inherited method for the subclasses that override what it calls, and a mixin's for what it is mixed into,
        other than the first."""
        owner = function.module.classes.get(function.owner) if function.owner else None
        more = self.mixins.wholes(owner)[1:] if owner is not None and not function.is_static else ()
        for info in (*self.hierarchy.contexts(function), *more):
            known = _with_frame(self.summaries.with_frame(function, (), info, None, 0))
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


def _with_frame(known: tuple[Summary, Frame | None] | None) -> tuple[Summary, Frame] | None:
    return None if known is None or known[1] is None else (known[0], known[1])
