"""The evidence of what is sharded: what the calls that wrap modules are given, in all files of the project."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.parts import said
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.text import argument_of, called_name, last_name, shown
from ferrule_lint.semantics.project import (
    handed_over,
    nearness,
    own_parts,
    own_wrapping,
    picked,
    policies,
    sharded_items,
    spread,
    strategies,
    training,
    wrapping_calls,
    wrapping_names,
)
from ferrule_lint.semantics.project.entities import ClassInfo, External, FunctionInfo, ModuleInfo, by_id
from ferrule_lint.semantics.project.evidence import Evidence
from ferrule_lint.semantics.project.programs import is_test
from ferrule_lint.semantics.project.unused import is_called_by_nobody, is_given_by_nobody
from ferrule_lint.semantics.project.wrapped import Wrapped, WrapSite
from ferrule_lint.semantics.project.zero_stages import keeps_parameters_whole, shards_parameters

if TYPE_CHECKING:
    from ferrule_lint.models.types import Argument, CallModel
    from ferrule_lint.semantics.analysis import Analysis

_DEEPEST_SUBMODULE = 4
#: https://github.com/pytorch/pytorch/blob/main/torch/distributed/tensor/parallel/style.py
_STYLE = re.compile(r"torch\.distributed\._?tensor\.parallel\.")
#: classes of modules among which one of unknown class is looked for, where a configuration decides that it is sharded
MOST_CANDIDATES = 100
#: the same where the code itself shards something of unknown class, or of a class with as many below it
MOST_MEANT = 1000


class Gathering:
    """One walk over the calls that wrap modules; what they tell goes into `seen`, which is empty to begin with."""

    def __init__(self, analysis: Analysis, seen: Evidence) -> None:
        self._analysis = analysis
        self._seen = seen
        #: whether the file that is looked at makes a strategy which shards what is set up with it
        self._in_parts = False

    def look(self) -> None:
        """Go through the files that mention something which wraps modules."""
        seen = self._seen
        reads, modules = self._analysis.names.reads, self._analysis.names.modules
        reads.ask("renamed", "")
        reads.ask("may wrap", "")
        trained = training.trains(self._analysis)
        wrapping, found = wrapping_names.names(self._analysis), set(wrapping_names.files(self._analysis))
        # tests come last: of several places that wrap a class, the first is shown
        for path in sorted(found, key=lambda path: (is_test(path), path)):
            module = modules[path]
            with reads.answering("calls that wrap", path):
                reads.ask("renamed", "")
                calls = list(wrapping_calls.in_file(module, wrapping))
            if calls:
                seen.calls[path] = tuple(_told(calls))
            self._in_parts = any(strategies.makes_parts(self._analysis, module, c.meant) for c in calls)
            # a function that prepares a model to evaluate it, in one way or the other, trains none, unless an optimizer
            # is prepared with it
            evaluating = {c.owner for c in calls if ("evaluation_mode", f.Const("True")) in c.meant.keywords}
            evaluating -= {c.owner for c in calls if len(c.meant.args) > 1}
            for owner, number, call, meant in calls:
                _settle(seen, meant)
                if last_name(meant.func) in wrapping:
                    serves = owner in evaluating or (not trained and training.without_gradients(module, owner))
                    name = owner.qualname if owner is not None else ""
                    site = WrapSite(module.path, call.pos, shown(call), owner=name, number=number)
                    self._consider(module, owner, meant, serves, site)
        self._weigh_unknown()
        self._weigh_configured()
        reads.ask("imports", "")
        users = self._analysis.imports.users
        for sites in (seen.sites, seen.generic_sites):
            # what is imported most is what wraps the models of a project, and not one of them
            sites.sort(key=lambda site: -len(users.get(site.path, ())))

    def _consider(
        self, module: ModuleInfo, owner: FunctionInfo | None, call: f.Call, serves: bool, site: WrapSite
    ) -> None:
        seen = self._seen
        if owner is not None and self._is_step_of_plan(module, owner):
            return
        entity = self._analysis.names.resolve(call.func, module)
        dotted = entity.dotted if isinstance(entity, External) else ""
        model = self._analysis.models.call(dotted) if dotted else None
        if isinstance(entity, ClassInfo):
            model = self._of_heir(entity)
        if model is None and type(call.func) is f.Attr:
            model = self._analysis.models.method(call.func.attr, last_name(call.func.base))
            shards = model is not None and model.wraps == "shards"
            if model is not None and model.by_strategy and self._in_parts:
                model = replace(model, wraps="shards")
            if model is not None and shards and own_wrapping.is_for_ddp(self._analysis, module, owner, call):
                model = replace(model, wraps="ddp", configured=False)
        if model is not None and model.unless is not None and (model.unless.name, f.Const("True")) in call.keywords:
            return
        told_to = model is not None and not serves and _tells_sharding(self._analysis, model, (module, owner), call)
        if model is not None and told_to and not (model.context and is_called_by_nobody(self._analysis, owner)):
            site = site._replace(block=bool(model.context))
            seen.sites.append(site)
            self._any_module(site, serves, model.configured)
            seen.data_parallel = True
            seen.wraps_in.add(module.path)
        if model is not None and model.units_by and not serves:
            for info in policies.units_of_program(self._analysis, module, owner, call, model):
                self._add(seen.sharded, info, Confidence.HIGH, site._replace(given=info.id), 0, as_one=True)
        told = None if model is None or serves else strategies.strategy_of(model, call, dotted, owner)
        if told is not None:
            self._all_modules(site, told)
        elif model is not None and strategies.looks_for_unused(model, call, owner):
            seen.tolerant_in.add(module.path)
        if model is None or not model.wraps:
            return
        argument = model.wrapped
        name, position = (argument.name, argument.position) if argument else ("module", 0)
        expr = next((v for k, v in call.keywords if k == name), None)
        exprs = (
            [expr]
            if expr is not None
            else list(call.args if position == 0 and model.receiver is not None else call.args[:1])
        )
        modules = [expr for expr in exprs if not (is_no_module(owner, expr) or _is_walked_by_key(owner, expr))]
        if exprs and not modules:
            if any(map(_is_optimizer, (item for expr in exprs for item in spread.items(owner, expr) or [expr]))):
                seen.beside_in.add(module.path)
            return
        seen.data_parallel = seen.data_parallel or not serves
        seen.wraps_in.add(module.path)
        if not serves:
            seen.sites.append(site)
        if self._is_for_ddp(model, site) or (
            model.configured and keeps_parameters_whole(self._analysis, module, owner, call)
        ):
            model = replace(model, wraps="ddp", configured=False)
        if model.configured and model.makes in self._analysis.models.engines and not serves:
            if shards_parameters(self._analysis, module, owner, call):
                model = replace(model, configured=False)
                seen.engines_in.add(module.path)
            else:
                seen.other_engines_in.add(module.path)
        as_one = model.parts_by is not None and not _is_given(call, model.parts_by)
        for wrapped in modules:
            self._wrapped(module, owner, wrapped, model, serves, site, as_one and model.wraps == "shards")
        if model.parts_by is not None and model.wraps == "shards" and not serves:
            for info in policies.units(self._analysis, module, owner, call, model.parts_by):
                self._add(seen.sharded, info, Confidence.HIGH, site._replace(given=info.id), 0, as_one=True)
        if modules and model.wraps == "shards" and not (serves or model.configured):
            self._among_items(module, owner, call, site)
        if not exprs and model.wraps == "shards":
            self._any_module(site, serves, model.configured)
        elif not exprs:
            seen.reduces_any = True

    def _is_step_of_plan(self, module: ModuleInfo, owner: FunctionInfo) -> bool:
        """Whether a method is how a style of `parallelize_module` takes a module apart: over tensor-parallel ranks."""
        info = module.classes.get(owner.owner or "")
        return info is not None and any(map(_STYLE.match, self._analysis.names.external_bases(info)))

    def _of_heir(self, info: ClassInfo) -> CallModel | None:
        """What wraps modules and a class of the project inherits from."""
        bases = (self._analysis.models.call(dotted) for dotted in self._analysis.names.external_bases(info))
        return next((model for model in bases if model is not None and model.wraps), None)

    def _is_for_ddp(self, model: CallModel, site: WrapSite) -> bool:
        """Whether a launcher chooses the back end, and the program speaks of none that shards modules."""
        back_ends = self._analysis.back_ends
        return model.launched and not (back_ends.are_spoken_of() and back_ends.may_shard(site.path))

    def _any_module(self, site: WrapSite, serves: bool, configured: bool) -> None:
        seen = self._seen
        serves = serves or is_test(site.path)  # what a test shards is mostly its own
        confidence = Confidence.LOW if serves or configured else Confidence.MEDIUM
        seen.generic = max(seen.generic or Confidence.LOW, confidence)
        if not configured:
            seen.generic_in.add(site.path)
        elif not serves:
            seen.configured_in.add(site.path)
        seen.generic_sites.append(site)

    def _all_modules(self, site: WrapSite, told: strategies.Strategy) -> None:
        """What a program runs is wrapped, whichever modules these are."""
        seen = self._seen
        seen.sites.append(site)
        seen.data_parallel = True
        seen.wraps_in.add(site.path)
        if told.shards:
            self._any_module(site, False, False)
        seen.reduces_any = seen.reduces_any or told.strict
        seen.tolerant = seen.tolerant or told.tolerant

    def _weigh_configured(self) -> None:
        """Take what a configuration decides for decided where few modules can be meant."""
        seen = self._seen
        modules = self._modules_of_project() if seen.configured_in else []
        for path in sorted(seen.configured_in):
            if self._number_near(modules, [path]) <= MOST_CANDIDATES:
                seen.generic_in.add(path)
                seen.generic = Confidence.MEDIUM

    def _weigh_unknown(self) -> None:
        """Take what the code shards or hands to DDP for a guess where any of a whole library's models can be meant."""
        seen = self._seen
        shards_any = seen.generic is not None and seen.generic > Confidence.LOW
        # which classes are modules is asked of every file; that there are few of any kind, the outlines tell
        self._analysis.names.reads.ask("many classes", "")
        classes = number_of_classes(self._analysis)
        if classes <= MOST_MEANT or not (shards_any or seen.reduces_any):
            return
        modules = self._modules_of_project()
        if shards_any and self._number_near(modules, seen.generic_in) > MOST_MEANT:
            seen.generic = Confidence.LOW
        if seen.reduces_any and self._number_near(modules, seen.wraps_in) > MOST_MEANT:
            seen.reduces_any = False

    def _number_near(self, modules: list[ClassInfo], wrapping: Iterable[str]) -> int:
        near = nearness.Nearness(self._analysis, wrapping)
        return sum(info.module.path in near for info in modules)

    def _modules_of_project(self) -> list[ClassInfo]:
        files = self._analysis.names.modules
        classes = (info for path in sorted(files) if not is_test(path) for info in files[path].classes.values())
        return [info for info in classes if self._analysis.is_module(info)]

    def _wrapped(
        self,
        module: ModuleInfo,
        owner: FunctionInfo | None,
        expr: f.Expr,
        model: CallModel,
        serves: bool,
        site: WrapSite,
        as_one: bool,
    ) -> None:
        seen = self._seen
        shards = model.wraps == "shards"
        told = self._analysis.classes_of(module, owner, expr)
        # `model: PreTrainedModel`, from which all models of a library inherit, tells no class
        most = MOST_CANDIDATES if model.configured else MOST_MEANT
        classes = [info for info in told if len(self._analysis.hierarchy.below(info)) <= most]
        handed = [] if classes or serves else handed_over.classes(self._analysis, owner, expr)
        for info in handed:  # callers that nobody sees may hand over another one
            self._add(
                seen.sharded if shards else seen.reduced, info, Confidence.HIGH, site._replace(given=info.id), 0, as_one
            )
        if not classes and shards:
            # `fully_shard([self.norm, self.head])` makes one shard of several
            several = spread.several(owner, expr)
            parts = () if serves else [self._own_part(module, owner, e) for e in several]
            own = [part for part in parts if part is not None]
            if own and len(own) == len(several):
                for part in own:
                    seen.own_parts.setdefault(part, site)
                seen.generic = seen.generic or Confidence.LOW  # of others it is a guess
            elif not self._is_of_library(module, expr):
                others = [] if serves else list(self._parts_of_others(module, owner, expr))
                for other in others:
                    seen.own_parts.setdefault(other, site)
                chosen = picked.classes(self._analysis, module, owner, site.pos, expr)
                for info in [] if serves or others else chosen or self._parts_by_name(module, owner, expr):
                    self._add(seen.sharded, info, Confidence.HIGH, site._replace(given=info.id), 0, as_one)
                unused = is_given_by_nobody(self._analysis, module, owner, expr)
                self._any_module(site, serves or unused, model.configured)
        elif not classes:
            seen.reduces_any = True
        for info in classes:
            confidence = Confidence.LOW if serves else Confidence.HIGH
            of_class = site._replace(given=info.id)
            self._add(seen.sharded if shards else seen.reduced, info, confidence, of_class, 0, as_one)

    def _among_items(self, module: ModuleInfo, owner: FunctionInfo | None, call: f.Call, site: WrapSite) -> None:
        """What a method of a module puts among the items of an attribute once it is sharded."""
        info = self._module_of(module, owner)
        name = sharded_items.held_in(owner, call.pos) if owner is not None and info is not None else ""
        if info is not None and name:
            self._seen.own_parts.setdefault((info.id, name), site)
            self._seen.generic = self._seen.generic or Confidence.LOW  # of others it is a guess

    def _own_part(self, module: ModuleInfo, owner: FunctionInfo | None, expr: f.Expr) -> tuple[str, str] | None:
        """The class and the attribute of which a method of a module shards something."""
        info = self._module_of(module, owner)
        name = own_parts.attribute(owner, expr) if owner is not None and info is not None else ""
        return (info.id, name) if info is not None and name else None

    def _module_of(self, module: ModuleInfo, owner: FunctionInfo | None) -> ClassInfo | None:
        """The class of a method, if its instances are modules."""
        info = module.classes.get(owner.owner or "") if owner is not None else None
        return info if info is not None and self._analysis.is_module(info) else None

    def _parts_of_others(
        self, module: ModuleInfo, owner: FunctionInfo | None, expr: f.Expr
    ) -> Iterator[tuple[str, str]]:
        """The classes of modules of which something is sharded from outside, and the attributes."""
        for base, name in own_parts.attributes(module.body if owner is None else owner.body, expr):
            told = self._analysis.classes_of(module, owner, base)
            for info in told or handed_over.classes(self._analysis, owner, base):
                if self._analysis.is_module(info):
                    yield info.id, name

    def _parts_by_name(self, module: ModuleInfo, owner: FunctionInfo | None, expr: f.Expr) -> list[ClassInfo]:
        """What objects of unknown class hold in an attribute that one class of the project's modules alone has:
        `fully_shard(expert)` for `expert` in `block.moe.experts`."""
        found: set[ClassInfo] = set()
        for name in own_parts.last_names(module.body if owner is None else owner.body, expr):
            holding = [
                info
                for other in self._analysis.names.mentioning(name)
                if not is_test(other.path)
                for info in other.classes.values()
                if own_parts.is_set_in(info, name) and self._analysis.is_module(info)
            ]
            held = self._analysis.holders.attribute(holding[0], name, 2) if len(holding) == 1 else None
            found |= (held.types | held.element_types) if held is not None else set()
        return by_id(found)

    def _is_of_library(self, module: ModuleInfo, expr: f.Expr) -> bool:
        """`fully_shard(nn.Linear(8, 8).cuda())`: a layer of a library, which says nothing of the project's modules."""
        while type(expr) is f.Call and type(expr.func) is f.Attr and type(expr.func.base) is f.Call:
            expr = expr.func.base
        made = self._analysis.names.resolve(expr.func, module) if type(expr) is f.Call else None
        return type(made) is External and made.dotted.startswith("torch.nn.")

    def _add(
        self, found: Wrapped, info: ClassInfo, confidence: Confidence, site: WrapSite, depth: int, as_one: bool = False
    ) -> None:
        if depth > _DEEPEST_SUBMODULE or not self._analysis.is_module(info):
            return
        mro = [c for c in self._analysis.names.mro(info) if self._analysis.is_module(c)]
        surer = found.add(mro, confidence, site)
        if found is self._seen.sharded:
            of_kind = self._seen.as_one if as_one else self._seen.in_parts
            surer = surer or info.id not in of_kind
            of_kind.update(c.id for c in mro)
        if surer and not as_one:
            for submodule in self._analysis.holders.classes(info):
                self._add(found, submodule, confidence, site, depth + 1)


def _is_given(call: f.Call, argument: Argument) -> bool:
    """Whether a call gives an argument, or may, in `*args` or `**kwargs`; None is nothing."""
    position = argument.position if argument.position is not None else len(call.args)
    if position < len(call.args) or any(type(a) is f.Starred for a in call.args):
        return True
    return any(name is None or (name == argument.name and value != f.Const("None")) for name, value in call.keywords)


def _settle(seen: Evidence, call: f.Call) -> None:
    seen.tolerant = seen.tolerant or wrapping_calls.TOLERANT in call.keywords
    seen.keeps_buffers = seen.keeps_buffers or wrapping_calls.KEEPS_BUFFERS in call.keywords


def tells_the_same(analysis: Analysis, evidence: Evidence, paths: Iterable[str]) -> bool:
    """Whether the calls in some files that tell of what is wrapped are those by which `evidence` was gathered, wherever
    they stand. What they are given may be made elsewhere: that is not looked at."""
    wrapping, modules = wrapping_names.names(analysis), analysis.names.modules
    now = {path: tuple(_told(wrapping_calls.in_file(modules[path], wrapping))) for path in paths if path in modules}
    return all(evidence.calls.get(path, ()) == calls for path, calls in now.items())


def _told(calls: Iterable[wrapping_calls.WrappingCall]) -> list[str]:
    return [f"{owner and owner.qualname} {said([meant])}" for owner, _, _, meant in calls]


def calls_that_wrap(analysis: Analysis, path: str) -> list[str]:
    """The calls in a file that tell of what it wraps, as texts, wherever they stand."""
    module = analysis.names.modules.get(path)
    if module is None:
        return []
    return [
        f"{owner and owner.qualname} {number} {said([meant])} {_kept_whole(analysis, module, owner, meant)}"
        f"{_said_of_spread(owner, meant)} {strategies.options(owner, meant)}"
        f" {owner and sharded_items.held_in(owner, call.pos)}{_said_of_policy(analysis, module, owner, meant)}"
        f"{_said_of_picked(analysis, module, owner, meant)}"
        for owner, number, call, meant in wrapping_calls.in_file(module, wrapping_names.names(analysis))
    ]


def _said_of_policy(analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, call: f.Call) -> str:
    entity = analysis.names.resolve(call.func, module)
    model = analysis.models.call(entity.dotted) if isinstance(entity, External) else None
    if model is None:
        return ""
    told = policies.units_of_program(analysis, module, owner, call, model)
    if model.parts_by is not None:
        told += policies.units(analysis, module, owner, call, model.parts_by)
    return f" {[info.id for info in told]}" if told else ""


def _said_of_picked(analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, call: f.Call) -> str:
    told = [info.id for expr in call.args[:1] for info in picked.classes(analysis, module, owner, call.pos, expr)]
    return f" {told}" if told else ""


def _said_of_spread(owner: FunctionInfo | None, call: f.Call) -> str:
    listed = [
        item
        for argument in call.args
        for item in (spread.items(owner, argument) or spread.several(owner, argument))
        if item is not argument
    ]
    return f" {said(list(listed))}" if listed else ""


def _kept_whole(analysis: Analysis, module: ModuleInfo, owner: FunctionInfo | None, call: f.Call) -> list[str]:
    """The arguments of a call that are a configuration which keeps parameters whole."""
    named = [name for name, _ in call.keywords if name]
    return [name for name in named if keeps_parameters_whole(analysis, module, owner, call, (name,))]


#: classes and makers of what is prepared beside modules, and variables that hold it
_BESIDE = re.compile(
    r"\w*(loader|dataset|sampler|optimizer|scheduler)s?|\w*LR|(\w*_)?(dl|opts?|optims?|sched|lr)|"
    r"(data_?loader|optimizer|(lr_)?scheduler)_\w+",
    re.I,
)


_OPTIMIZER = re.compile(r"(^|_)opt(im\w*|s)?(_|$)", re.I)


def _is_optimizer(expr: f.Expr) -> bool:
    while type(expr) is f.Subscript:
        expr = expr.base
    return _OPTIMIZER.search(called_name(expr)) is not None


def is_no_module(owner: FunctionInfo | None, expr: f.Expr) -> bool:
    """`prepare(DataLoader(...))`, `prepare(loader)`, `prepare(model, optimizer)`, `prepare(loaders["train"])`, and
    `prepare(*beside)` of a list that holds such things alone."""
    if listed := spread.items(owner, expr):
        return all(is_no_module(None, item) for item in listed)
    while type(expr) is f.Subscript:
        expr = expr.base
    return _BESIDE.fullmatch(called_name(expr)) is not None


def _is_walked_by_key(owner: FunctionInfo | None, expr: f.Expr) -> bool:
    """Whether the function goes through the keys of what is prepared (`for key in nets: nets[key].train()`): a dict of
    modules, which is handed back as it is, or one that never runs as a whole."""
    if type(expr) is not f.Name or owner is None:
        return False
    keys = {
        node.target.id
        for node in walk(owner.body)
        if (type(node) is f.For or type(node) is f.Generator)
        and _is_name(node.iterable, expr.id)
        and type(node.target) is f.Name
    }
    return bool(keys) and any(
        type(node) is f.Subscript
        and _is_name(node.base, expr.id)
        and type(node.index) is f.Name
        and node.index.id in keys
        for node in walk(owner.body)
    )


def _is_name(expr: f.Expr, name: str) -> bool:
    return type(expr) is f.Name and expr.id == name


#: a configuration of DeepSpeed that, by its name, leaves parameters whole
_WHOLE = re.compile(r"(zero|z|stage)[-_]?[012](?!\d)", re.I)
_NOTHING = ("None", "False", "''", '""')


def _tells_sharding(
    analysis: Analysis, model: CallModel, where: tuple[ModuleInfo, FunctionInfo | None], call: f.Call
) -> bool:
    """Whether a call is given what makes its library shard modules (`TrainingArguments(fsdp="full_shard")`)."""
    for argument in model.shards_by:
        given = argument_of(call, argument.name, argument.position)
        text = given.text if type(given) is f.Const else ""
        if (
            given is not None
            and text not in _NOTHING
            and not _WHOLE.search(text)
            and not keeps_parameters_whole(analysis, *where, call, (argument.name,))
        ):
            return True
    return False


def number_of_classes(analysis: Analysis) -> int:
    """All classes of the project, by the outlines of its files."""
    return sum(len(module.outline.classes) for module in analysis.names.modules.values())
