"""Which module classes are sharded: the evidence is in another file than the module's.

A class is sharded when an instance of it is passed to something that shards (`fully_shard`, FSDP, `prepare`, ...), or
when it inherits from, or is a submodule of, such a class. If some wrapped object's class cannot be told (a factory,
a parameter annotated `nn.Module`), any module of the project may be the one: medium confidence. Where even that
anything is sharded is decided by a launcher or a file (`accelerator.prepare(model)`), this holds for a project of few
modules; which of the models of a library somebody trains so is anybody's guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.text import called_name, last_name, shown
from ferrule_lint.semantics.project import nearness, own_parts, parameters, training
from ferrule_lint.semantics.project.buffers import Buffers
from ferrule_lint.semantics.project.entities import ClassInfo, External, FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.evidence import Evidence
from ferrule_lint.semantics.project.programs import can_be_started, is_test
from ferrule_lint.semantics.project.reads import Memo
from ferrule_lint.semantics.project.wrapped import Wrapped, WrapSite, nearest

if TYPE_CHECKING:
    from ferrule_lint.models.types import CallModel
    from ferrule_lint.semantics.analysis import Analysis

Setting = bool | str | tuple[str, ...]

_HINT = re.compile(
    r"fsdp|fully_?shard|deepspeed|accelerat|lightning\.fabric|DistributedDataParallel|ddp|nn\.parallel|^torch$|"
    r"transformers|^trl",
    re.I,
)
_DEEPEST_SUBMODULE = 4
#: classes of modules among which one of unknown class is looked for, where a configuration decides that it is sharded
MOST_CANDIDATES = 100
#: the same where the code itself shards something of unknown class, or of a class with as many below it
MOST_MEANT = 1000


class Sharding:
    """Evidence over the whole project, gathered on first use. `setting`: "auto", True, False or class patterns."""

    def __init__(self, analysis: Analysis, setting: Setting) -> None:
        self._analysis = analysis
        self._setting = setting
        self._seen: Evidence | None = None
        self._gathering = False
        #: the files that can have to do with either, by the question
        self._near: Memo[str, nearness.Nearness] = Memo(analysis.names.reads)
        #: which modules have buffers
        self._buffers = Buffers(analysis)
        #: whether classes have no parameters, once they have been asked for
        self._bare: Memo[str, bool] = Memo(analysis.names.reads)

    @property
    def reduces_gradients(self) -> bool:
        """Whether some module is wrapped so that its backward reduces gradients over data-parallel ranks."""
        return self.gather().data_parallel

    def needs_every_output(self, info: ClassInfo | None) -> bool:
        """Whether a part of this module, or of any, that has no backward on some ranks keeps the others waiting: its
        gradients are reduced, and nobody asks DDP to look for unused parameters."""
        if self._gathering:
            return False  # asked for while the evidence is being gathered
        seen = self.gather()
        if not seen.data_parallel or seen.tolerant:
            return False
        if seen.reduces_any or (info is None and seen.reduced):
            return True
        # a loss without parameters of its own decides on those of others
        sharded = self.unknown if info is None else self.of_class(info, bare=True)
        if sharded is not None and sharded > Confidence.LOW:
            return True
        return info is not None and seen.reduced.of(self._mro(info)) is not None

    def is_surely_wrapped(self, info: ClassInfo) -> bool:
        """Whether instances of this very class are seen to be sharded or passed to DDP, and not just some module."""
        seen, mro = self.gather(), self._mro(info)
        return seen.sharded.of(mro) is not None or seen.reduced.of(mro) is not None

    def is_part(self, info: ClassInfo) -> bool:
        """Whether instances of a class are seen to be sharded as parts of another module, and not themselves."""
        mro = self._mro(info)
        site = self.gather().sharded.site(mro)
        given = None if site is None else self._analysis.names.class_of_id(site.given)
        return given is not None and given not in mro and info not in self._mro(given)

    def is_replicated(self, info: ClassInfo) -> bool:
        """Whether instances of a class are seen to be passed to DDP, or are parts of what is, and never to be sharded:
        their own parts are whole then, even where another model shards such a part."""
        seen, mro = self.gather(), self._mro(info)
        return self._setting == "auto" and seen.reduced.of(mro) is not None and seen.sharded.of(mro) is None

    def shares_buffers(self, classes: Iterable[ClassInfo]) -> bool:
        """Whether DDP's forward of an instance broadcasts buffers, in evaluation too: some class has them, and nobody
        passes `broadcast_buffers=False`.

        https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
        """
        seen = self.gather()
        return not seen.keeps_buffers and any(self._buffers.has(info) for info in classes)

    @property
    def unknown(self) -> Confidence | None:
        """How sure it is that a module of unknown class is sharded."""
        if self._setting is True:
            return Confidence.HIGH
        if self._setting != "auto":
            return None
        seen = self.gather()
        found = {min(c, Confidence.MEDIUM) for c in seen.sharded.confidences()}
        return max(found if seen.generic is None else {*found, seen.generic}, default=None)

    def of_class(self, info: ClassInfo, bare: bool = False) -> Confidence | None:
        """How sure it is that instances of this class are sharded; None without evidence, or without parameters unless
        `bare` asks for the modules around."""
        if isinstance(self._setting, tuple):
            matched = any(re.fullmatch(p, info.name) for p in self._setting)
            return Confidence.HIGH if matched else None
        if self._setting is True:
            return Confidence.HIGH
        if self._setting is False or not self._analysis.is_module(info):
            return None
        seen = self.gather()
        if self._bare.find(info.id, lambda: parameters.has_none(self._analysis, info)) and not bare:
            return None
        wrapped = seen.sharded.of(self._mro(info))
        if wrapped is not None:
            return wrapped
        if seen.generic is not None and seen.reduced.of(self._mro(info)) is not None:
            return Confidence.LOW  # what is seen to be passed to DDP is hardly sharded as well
        return seen.generic

    def of_part(self, info: ClassInfo, attribute: str) -> Confidence | None:
        """How sure it is that what an attribute of a module holds, of unknown class, is sharded."""
        known = self.of_class(info)
        if self._setting != "auto" or (known is not None and known > Confidence.MEDIUM):
            return known
        parts = self.gather().own_parts
        return Confidence.MEDIUM if any((c.id, attribute) in parts for c in self._mro(info)) else known

    def site(self, info: ClassInfo | None, path: str) -> WrapSite | None:
        """The call that shards or wraps a module which runs in a file, of a class that is known or is not: then the
        nearest that may."""
        seen = self.gather()
        if info is not None:
            mro = self._mro(info)
            ids = {c.id for c in mro}
            own = (seen.own_parts[part] for part in sorted(seen.own_parts) if part[0] in ids)
            found = seen.sharded.site(mro) or next(own, None) or seen.reduced.site(mro)
            if found is not None:
                return found
        return nearest([s for s in seen.generic_sites if s.path in seen.generic_in], path)

    def reducing_site(self, path: str) -> WrapSite | None:
        """The call by which backward passes in a file reduce gradients, as far as that can be told: the nearest."""
        return nearest(self.gather().sites, path)

    def is_near(self, path: str) -> bool:
        """Whether a module of this file may be the one of unknown class that is sharded, or shards parts of its own."""
        own = any(site.path == path for site in self.gather().own_parts.values())
        return own or self._is_near_to(path, "near")

    def is_near_wraps(self, path: str) -> bool:
        """Whether what runs in this file can be a module that any file wraps, of a class that is known or is not: of a
        repository of examples, a program that wraps nothing runs in one process, whatever the others do with the same
        layers."""
        return self._is_near_to(path, "near_wraps")

    def _is_near_to(self, path: str, question: str) -> bool:
        if self._setting != "auto":
            return True
        self.gather()
        if self._gathering:
            return True  # asked for while the evidence is being gathered
        with self._analysis.names.reads.answering(question, path):
            return path in self._near.find(question, lambda: self._nearness(question))

    def _nearness(self, question: str) -> nearness.Nearness:
        seen = self.gather()
        wrapping = seen.generic_in if question == "near" else seen.wraps_in
        # where none but programs wrap, what belongs to none of them is wrapped by nobody
        modules = self._analysis.names.modules
        library = not wrapping or not all(can_be_started(modules, modules[path]) for path in wrapping)
        return nearness.Nearness(self._analysis, wrapping, strangers=library)

    def _mro(self, info: ClassInfo) -> list[ClassInfo]:
        return list(self._analysis.names.mro(info))

    def gather(self) -> Evidence:
        """All evidence there is; what of it has been seen so far, if asked for while it is being gathered."""
        reads = self._analysis.names.reads
        if self._seen is None:
            self._seen = Evidence()
            self._gathering = True
            # what was computed with half of the evidence is computed anew
            with reads.provisional("sharding"), reads.answering("sharding", ""):
                self._look(self._seen)
            self._gathering = False
        reads.ask("sharding", "")
        return self._seen

    def take_over(self, evidence: Evidence) -> None:
        """Go by evidence that another analysis has gathered, from the same as there is to see here."""
        self._seen = evidence

    @property
    def evidence(self) -> Evidence | None:
        """What has been gathered, None if nobody has asked for it."""
        return self._seen

    def _look(self, seen: Evidence) -> None:
        """Go through the files that mention something which wraps modules."""
        reads, modules = self._analysis.names.reads, self._analysis.names.modules
        reads.ask("renamed", "")
        reads.ask("may wrap", "")
        trained = training.trains(self._analysis)
        wrapping, found = self.wrapping(), set(self.may_wrap())
        # tests come last: of several places that wrap a class, the first is shown
        for path in sorted(found, key=lambda path: (is_test(path), path)):
            module = modules[path]
            for owner, calls in module.calls():
                for number, call in enumerate(calls):
                    _settle(seen, call)
                    if last_name(call.func) in wrapping:
                        serves = not trained and training.without_gradients(module, owner)
                        name = owner.qualname if owner is not None else ""
                        site = WrapSite(module.path, call.pos, shown(call), owner=name, number=number)
                        self._consider(module, owner, call, serves, site)
        self._weigh_unknown(seen)
        self._weigh_configured(seen)
        reads.ask("imports", "")
        users = self._analysis.imports.users
        for sites in (seen.sites, seen.generic_sites):
            # what is imported most is what wraps the models of a project, and not one of them
            sites.sort(key=lambda site: -len(users.get(site.path, ())))

    def wrapping(self) -> frozenset[str]:
        """Names of what wraps modules, and those that imports anywhere in the project give it."""
        modules = self._analysis.names.modules.values()
        return _also_renamed(self._analysis.models.wrapping, (pair for m in modules for pair in renamed(m)))

    def may_wrap(self) -> list[str]:
        """The files that speak of something which wraps modules."""
        wrapping, modules = self.wrapping(), self._analysis.names.modules
        with self._analysis.names.reads.apart():
            return [path for path, module in modules.items() if may_wrap(module, wrapping)]

    def _consider(
        self, module: ModuleInfo, owner: FunctionInfo | None, call: f.Call, serves: bool, site: WrapSite
    ) -> None:
        assert self._seen is not None
        seen = self._seen
        entity = self._analysis.names.resolve(call.func, module)
        dotted = entity.dotted if isinstance(entity, External) else ""
        model = self._analysis.models.call(dotted) if dotted else None
        if model is None and type(call.func) is f.Attr:
            model = self._analysis.models.method(call.func.attr, last_name(call.func.base))
        if model is not None and not serves and _tells_sharding(model, call):
            seen.sites.append(site)
            self._any_module(site, serves, model.configured)
            seen.data_parallel = True
            seen.wraps_in.add(module.path)
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
        modules = [expr for expr in exprs if not _is_no_module(expr)]
        if exprs and not modules:
            return
        seen.data_parallel = seen.data_parallel or not serves
        seen.wraps_in.add(module.path)
        if not serves:
            seen.sites.append(site)
        for wrapped in modules:
            self._wrapped(module, owner, wrapped, model, serves, site)
        if not exprs and model.wraps == "shards":
            self._any_module(site, serves, model.configured)
        elif not exprs:
            seen.reduces_any = True

    def _any_module(self, site: WrapSite, serves: bool, configured: bool) -> None:
        assert self._seen is not None
        seen = self._seen
        serves = serves or is_test(site.path)  # what a test shards is mostly its own
        confidence = Confidence.LOW if serves or configured else Confidence.MEDIUM
        seen.generic = max(seen.generic or Confidence.LOW, confidence)
        if not configured:
            seen.generic_in.add(site.path)
        elif not serves:
            seen.configured_in.add(site.path)
        seen.generic_sites.append(site)

    def _weigh_configured(self, seen: Evidence) -> None:
        """Take what a configuration decides for decided where few modules can be meant."""
        modules = self._modules_of_project() if seen.configured_in else []
        for path in sorted(seen.configured_in):
            if self._number_near(modules, [path]) <= MOST_CANDIDATES:
                seen.generic_in.add(path)
                seen.generic = Confidence.MEDIUM

    def _weigh_unknown(self, seen: Evidence) -> None:
        """Take what the code shards or hands to DDP for a guess where any of a whole library's models can be meant."""
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
    ) -> None:
        assert self._seen is not None
        seen = self._seen
        shards = model.wraps == "shards"
        told = self._analysis.classes_of(module, owner, expr)
        # `model: PreTrainedModel`, from which all models of a library inherit, tells no class
        most = MOST_CANDIDATES if model.configured else MOST_MEANT
        classes = [info for info in told if len(self._analysis.hierarchy.below(info)) <= most]
        if not classes and shards:
            part = None if serves else self._own_part(module, owner, expr)
            if part is not None:
                seen.own_parts.setdefault(part, site)
                seen.generic = seen.generic or Confidence.LOW  # of others it is a guess
            elif not self._is_of_library(module, expr):
                self._any_module(site, serves, model.configured)
        elif not classes:
            seen.reduces_any = True
        for info in classes:
            confidence = Confidence.LOW if serves else Confidence.HIGH
            of_class = site._replace(given=info.id)
            self._add(seen.sharded if shards else seen.reduced, info, confidence, of_class, 0)

    def _own_part(self, module: ModuleInfo, owner: FunctionInfo | None, expr: f.Expr) -> tuple[str, str] | None:
        """The class and the attribute of which a method of a module shards something."""
        info = module.classes.get(owner.owner or "") if owner is not None else None
        if owner is None or info is None or not self._analysis.is_module(info):
            return None
        name = own_parts.attribute(owner, expr)
        return (info.id, name) if name else None

    def _is_of_library(self, module: ModuleInfo, expr: f.Expr) -> bool:
        """`fully_shard(nn.Linear(8, 8).cuda())`: a layer of a library, which says nothing of the project's modules."""
        while type(expr) is f.Call and type(expr.func) is f.Attr and type(expr.func.base) is f.Call:
            expr = expr.func.base
        made = self._analysis.names.resolve(expr.func, module) if type(expr) is f.Call else None
        return type(made) is External and made.dotted.startswith("torch.nn.")

    def _add(self, found: Wrapped, info: ClassInfo, confidence: Confidence, site: WrapSite, depth: int) -> None:
        if depth > _DEEPEST_SUBMODULE or not self._analysis.is_module(info):
            return
        mro = [c for c in self._mro(info) if self._analysis.is_module(c)]
        if found.add(mro, confidence, site):
            for submodule in self._analysis.holders.classes(info):
                self._add(found, submodule, confidence, site, depth + 1)


def _settle(seen: Evidence, call: f.Call) -> None:
    """What DDP is told by settings, which may be passed on as such."""
    seen.tolerant = seen.tolerant or ("find_unused_parameters", f.Const("True")) in call.keywords
    seen.keeps_buffers = seen.keeps_buffers or ("broadcast_buffers", f.Const("False")) in call.keywords


#: classes and makers of what is prepared beside modules, and variables that hold it
_BESIDE = re.compile(
    r"\w*(loader|dataset|sampler|optimizer|scheduler)s?|\w*LR|(\w*_)?(dl|opts?|optims?|sched|lr)|"
    r"(data_?loader|optimizer|(lr_)?scheduler)_\w+",
    re.I,
)


def _is_no_module(expr: f.Expr) -> bool:
    """`prepare(DataLoader(...))`, `prepare(loader)`, `prepare(model, optimizer)`"""
    return _BESIDE.fullmatch(called_name(expr)) is not None


#: a configuration of DeepSpeed that, by its name, leaves parameters whole
_WHOLE = re.compile(r"(zero|z|stage)[-_]?[012](?!\d)", re.I)
_NOTHING = ("None", "False", "''", '""')


def _tells_sharding(model: CallModel, call: f.Call) -> bool:
    """Whether a call is given what makes its library shard modules (`TrainingArguments(fsdp="full_shard")`)."""
    for argument in model.shards_by:
        given = next((v for k, v in call.keywords if k == argument.name), None)
        if given is None and argument.position is not None and argument.position < len(call.args):
            given = call.args[argument.position]
        text = given.text if type(given) is f.Const else ""
        if given is not None and text not in _NOTHING and not _WHOLE.search(text):
            return True
    return False


def renamed(module: ModuleInfo) -> list[tuple[str, str]]:
    """Names, and those that imports of a file give them (`import fully_shard as shard`)."""
    last = ((dotted.rpartition(".")[2], bound) for bound, (dotted, _) in module.bound.items())
    return [(name, bound) for name, bound in last if name != bound]


def _also_renamed(names: frozenset[str], renamed: Iterable[tuple[str, str]]) -> frozenset[str]:
    pairs = list(renamed)
    while True:
        more = names.union(bound for name, bound in pairs if name in names)
        if more == names:
            return names
        names = more


def number_of_classes(analysis: Analysis) -> int:
    """All classes of the project, by the outlines of its files."""
    return sum(len(module.outline.classes) for module in analysis.names.modules.values())


def may_wrap(module: ModuleInfo, wrapping: frozenset[str]) -> bool:
    """Whether a file speaks of something which wraps modules, and of a library that does."""
    return not module.outline.names.isdisjoint(wrapping) and _mentions_sharding(module)


def _mentions_sharding(module: ModuleInfo) -> bool:
    if any(_HINT.search(dotted) for dotted, _ in module.imports.values()):
        return True
    return any(_HINT.search(name) for name in module.functions)
