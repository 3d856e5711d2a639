"""Which module classes are sharded: the evidence is in another file than the module's.

A class is sharded when an instance of it is passed to something that shards (`fully_shard`, FSDP, `prepare`, ...), or
when it inherits from, or is a submodule of, such a class. If some wrapped object's class cannot be told (a factory,
a parameter annotated `nn.Module`), any module of the project may be the one: medium confidence. Where even that
anything is sharded is decided by a launcher or a file (`accelerator.prepare(model)`), this holds for a project of few
modules; which of the models of a library somebody trains so is anybody's guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.text import called_name, last_name, shown, variables
from ferrule_lint.semantics.project import nearness, parameters, training
from ferrule_lint.semantics.project.buffers import Buffers
from ferrule_lint.semantics.project.entities import ClassInfo, External, FunctionInfo, ModuleInfo
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
        self._classes: Wrapped | None = None
        #: how sure it is that any module may be one that is sharded
        self._generic: Confidence | None = None
        self._data_parallel = False
        self._tolerant = False
        #: classes that DDP wraps, their submodules included; whether it wraps some whose class cannot be told
        self._reduced = Wrapped()
        self._reduces_any = False
        self._gathering = False
        #: where something of unknown class is sharded, and the files that can have to do with it
        self._generic_in: set[str] = set()
        #: files where a configuration decides whether something of unknown class is sharded
        self._configured_in: set[str] = set()
        #: all files that wrap something, or tell a library to
        self._wraps_in: set[str] = set()
        #: the calls by which gradients are reduced, and those that shard something of unknown class, in the files that
        #: most others import first
        self._sites: list[WrapSite] = []
        self._generic_sites: list[WrapSite] = []
        #: parts of unknown class that a module shards in a method of its own: its id and the attribute -> where
        self._own_parts: dict[tuple[str, str], WrapSite] = {}
        #: the files that can have to do with either, by the question
        self._near: dict[str, nearness.Nearness] = {}
        #: which modules have buffers; whether DDP is told to leave them alone
        self._buffers = Buffers(analysis)
        self._keeps_buffers = False
        #: whether classes have no parameters, once they have been asked for
        self._bare: Memo[str, bool] = Memo(analysis.names.reads)

    @property
    def reduces_gradients(self) -> bool:
        """Whether some module is wrapped so that its backward reduces gradients over data-parallel ranks."""
        self._gather()
        return self._data_parallel

    def needs_every_output(self, info: ClassInfo | None) -> bool:
        """Whether a part of this module, or of any, that has no backward on some ranks keeps the others waiting: its
        gradients are reduced, and nobody asks DDP to look for unused parameters."""
        if self._gathering:
            return False  # asked for while the evidence is being gathered
        if not self.reduces_gradients or self._tolerant:
            return False
        if self._reduces_any or (info is None and self._reduced):
            return True
        # a loss without parameters of its own decides on those of others
        sharded = self.unknown if info is None else self.of_class(info, bare=True)
        if sharded is not None and sharded > Confidence.LOW:
            return True
        return info is not None and self._reduced.of(self._mro(info)) is not None

    def is_surely_wrapped(self, info: ClassInfo) -> bool:
        """Whether instances of this very class are seen to be sharded or passed to DDP, and not just some module."""
        classes, mro = self._gather(), self._mro(info)
        return classes.of(mro) is not None or self._reduced.of(mro) is not None

    def is_part(self, info: ClassInfo) -> bool:
        """Whether instances of a class are seen to be sharded as parts of another module, and not themselves."""
        mro = self._mro(info)
        site = self._gather().site(mro)
        given = None if site is None else self._analysis.names.class_of_id(site.given)
        return given is not None and given not in mro and info not in self._mro(given)

    def is_replicated(self, info: ClassInfo) -> bool:
        """Whether instances of a class are seen to be passed to DDP, or are parts of what is, and never to be sharded:
        their own parts are whole then, even where another model shards such a part."""
        classes, mro = self._gather(), self._mro(info)
        return self._setting == "auto" and self._reduced.of(mro) is not None and classes.of(mro) is None

    def shares_buffers(self, classes: Iterable[ClassInfo]) -> bool:
        """Whether DDP's forward of an instance broadcasts buffers, in evaluation too: some class has them, and nobody
        passes `broadcast_buffers=False`.

        https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
        """
        self._gather()
        return not self._keeps_buffers and any(self._buffers.has(info) for info in classes)

    @property
    def unknown(self) -> Confidence | None:
        """How sure it is that a module of unknown class is sharded."""
        if self._setting is True:
            return Confidence.HIGH
        if self._setting != "auto":
            return None
        found = {min(c, Confidence.MEDIUM) for c in self._gather().confidences()}
        return max(found if self._generic is None else {*found, self._generic}, default=None)

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
        classes = self._gather()
        if self._bare.find(info.id, lambda: parameters.has_none(self._analysis, info)) and not bare:
            return None
        wrapped = classes.of(self._mro(info))
        if wrapped is not None:
            return wrapped
        if self._generic is not None and self._reduced.of(self._mro(info)) is not None:
            return Confidence.LOW  # what is seen to be passed to DDP is hardly sharded as well
        return self._generic

    def of_part(self, info: ClassInfo, attribute: str) -> Confidence | None:
        """How sure it is that what an attribute of a module holds, of unknown class, is sharded."""
        known = self.of_class(info)
        if self._setting != "auto" or (known is not None and known > Confidence.MEDIUM):
            return known
        own = any((c.id, attribute) in self._own_parts for c in self._mro(info))
        return Confidence.MEDIUM if own else known

    def site(self, info: ClassInfo | None, path: str) -> WrapSite | None:
        """The call that shards or wraps a module which runs in a file, of a class that is known or is not: then the
        nearest that may."""
        classes = self._gather()
        if info is not None:
            mro = self._mro(info)
            own = (self._own_parts[part] for part in sorted(self._own_parts) if part[0] in {c.id for c in mro})
            found = classes.site(mro) or next(own, None) or self._reduced.site(mro)
            if found is not None:
                return found
        return nearest([s for s in self._generic_sites if s.path in self._generic_in], path)

    def reducing_site(self, path: str) -> WrapSite | None:
        """The call by which backward passes in a file reduce gradients, as far as that can be told: the nearest."""
        self._gather()
        return nearest(self._sites, path)

    def is_near(self, path: str) -> bool:
        """Whether a module of this file may be the one of unknown class that is sharded, or shards parts of its own."""
        self._gather()
        own = any(site.path == path for site in self._own_parts.values())
        return own or self._is_near_to(path, "near", self._generic_in)

    def is_near_wraps(self, path: str) -> bool:
        """Whether what runs in this file can be a module that any file wraps, of a class that is known or is not: of a
        repository of examples, a program that wraps nothing runs in one process, whatever the others do with the same
        layers."""
        return self._is_near_to(path, "near_wraps", self._wraps_in)

    def _is_near_to(self, path: str, question: str, wrapping: set[str]) -> bool:
        """`wrapping`: the files, once all evidence has been gathered."""
        if self._setting != "auto":
            return True
        self._gather()
        if self._gathering:
            return True  # asked for while the evidence is being gathered
        reads = self._analysis.names.reads
        reads.ask(question, path)
        with reads.apart():
            if question not in self._near:
                # where none but programs wrap, what belongs to none of them is wrapped by nobody
                modules = self._analysis.names.modules
                library = not all(can_be_started(modules, modules[p]) for p in wrapping)
                self._near[question] = nearness.Nearness(self._analysis, wrapping, strangers=library)
            return path in self._near[question]

    def _mro(self, info: ClassInfo) -> list[ClassInfo]:
        return list(self._analysis.names.mro(info))

    def _gather(self) -> Wrapped:
        if self._classes is None:
            self._classes = Wrapped()
            self._gathering = True
            with self._analysis.names.reads.apart():
                self._look()
            self._gathering = False
        return self._classes

    def _look(self) -> None:
        """Go through the files that mention something which wraps modules."""
        modules = self._analysis.names.modules
        wrapping = _also_renamed(self._analysis.models.wrapping, modules.values())
        trained = training.trains(modules.values())
        # tests come last: of several places that wrap a class, the first is shown
        for path in sorted(modules, key=lambda path: (is_test(path), path)):
            module = modules[path]
            if not module.mentions.isdisjoint(wrapping) and _mentions_sharding(module):
                for owner, calls in module.calls():
                    for call in calls:
                        self._settle(call)
                        if last_name(call.func) in wrapping:
                            serves = not trained and training.without_gradients(module, owner)
                            self._consider(module, owner, call, serves)
        self._weigh_unknown()
        self._weigh_configured()
        users = self._analysis.imports.users
        for sites in (self._sites, self._generic_sites):
            # what is imported most is what wraps the models of a project, and not one of them
            sites.sort(key=lambda site: -len(users.get(site.path, ())))

    def evidence(self) -> list[str]:
        """All that was gathered, as text."""
        found = (self._gather(), self._reduced)
        flags = (self._generic, self._data_parallel, self._tolerant, self._reduces_any, self._keeps_buffers)
        sites = [f"{site.path} {site.text}" for site in (*self._sites, *self._generic_sites)]
        sites += [" ".join(part) for part in sorted(self._own_parts)]
        return [repr(flags), *(f"{i} {line}" for i, of in enumerate(found) for line in of.lines()), *sites]

    def _settle(self, call: f.Call) -> None:
        """What DDP is told by settings, which may be passed on as such."""
        self._tolerant = self._tolerant or ("find_unused_parameters", f.Const("True")) in call.keywords
        self._keeps_buffers = self._keeps_buffers or ("broadcast_buffers", f.Const("False")) in call.keywords

    def _consider(self, module: ModuleInfo, owner: FunctionInfo | None, call: f.Call, serves: bool) -> None:
        entity = self._analysis.names.resolve(call.func, module)
        dotted = entity.dotted if isinstance(entity, External) else ""
        model = self._analysis.models.call(dotted) if dotted else None
        if model is None and type(call.func) is f.Attr:
            model = self._analysis.models.method(call.func.attr, last_name(call.func.base))
        site = WrapSite(module.path, call.pos, shown(call))
        if model is not None and not serves and _tells_sharding(model, call):
            self._sites.append(site)
            self._any_module(site, serves, model.configured)
            self._data_parallel = True
            self._wraps_in.add(module.path)
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
        self._data_parallel = self._data_parallel or not serves
        self._wraps_in.add(module.path)
        if not serves:
            self._sites.append(site)
        for wrapped in modules:
            self._wrapped(module, owner, wrapped, model, serves, site)
        if not exprs and model.wraps == "shards":
            self._any_module(site, serves, model.configured)
        elif not exprs:
            self._reduces_any = True

    def _any_module(self, site: WrapSite, serves: bool, configured: bool) -> None:
        serves = serves or is_test(site.path)  # what a test shards is mostly its own
        confidence = Confidence.LOW if serves or configured else Confidence.MEDIUM
        self._generic = max(self._generic or Confidence.LOW, confidence)
        if not configured:
            self._generic_in.add(site.path)
        elif not serves:
            self._configured_in.add(site.path)
        self._generic_sites.append(site)

    def _weigh_configured(self) -> None:
        """Take what a configuration decides for decided where few modules can be meant."""
        modules = self._modules_of_project() if self._configured_in else []
        for path in sorted(self._configured_in):
            if self._number_near(modules, [path]) <= MOST_CANDIDATES:
                self._generic_in.add(path)
                self._generic = Confidence.MEDIUM

    def _weigh_unknown(self) -> None:
        """Take what the code shards or hands to DDP for a guess where any of a whole library's models can be meant."""
        shards_any = self._generic is not None and self._generic > Confidence.LOW
        # which classes are modules is asked of every file; that there are few of any kind, the outlines tell
        classes = sum(len(module.outline.classes) for module in self._analysis.names.modules.values())
        if classes <= MOST_MEANT or not (shards_any or self._reduces_any):
            return
        modules = self._modules_of_project()
        if shards_any and self._number_near(modules, self._generic_in) > MOST_MEANT:
            self._generic = Confidence.LOW
        if self._reduces_any and self._number_near(modules, self._wraps_in) > MOST_MEANT:
            self._reduces_any = False

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
        assert self._classes is not None
        shards = model.wraps == "shards"
        told = self._analysis.classes_of(module, owner, expr)
        # `model: PreTrainedModel`, from which all models of a library inherit, tells no class
        most = MOST_CANDIDATES if model.configured else MOST_MEANT
        classes = [info for info in told if len(self._analysis.hierarchy.below(info)) <= most]
        if not classes and shards:
            part = None if serves else self._own_part(module, owner, expr)
            if part is not None:
                self._own_parts.setdefault(part, site)
                self._generic = max(self._generic or Confidence.LOW, Confidence.LOW)  # of others it is a guess
            elif not self._is_of_library(module, expr):
                self._any_module(site, serves, model.configured)
        elif not classes:
            self._reduces_any = True
        for info in classes:
            confidence = Confidence.LOW if serves else Confidence.HIGH
            of_class = site._replace(given=info.id)
            self._add(self._classes if shards else self._reduced, info, confidence, of_class, 0)

    def _own_part(self, module: ModuleInfo, owner: FunctionInfo | None, expr: f.Expr) -> tuple[str, str] | None:
        """`fully_shard(self.tower)` in a method of a module, and the same for a layer of it: whatever its class, it is
        a part of this module, and says nothing of others."""
        info = module.classes.get(owner.owner or "") if owner is not None else None
        if (
            owner is None
            or info is None
            or owner.is_static
            or not owner.parameters
            or not self._analysis.is_module(info)
        ):
            return None
        name = next(_attributes(expr, owner, owner.parameters[0].name), "")
        return (info.id, name) if name and not _WHOLE_MODEL.fullmatch(name) else None

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


#: attributes that hold all there is to train, by their names: what is in it may be any of the project's
_WHOLE_MODEL = re.compile(r"_?(\w+_)?(model|net|network|module|policy|actor|student|engine)s?")


def _attributes(expr: f.Expr, function: FunctionInfo, own: str, rounds: int = 3) -> Iterator[str]:
    """The attributes of `own` that an expression takes something from, over local names too."""
    attribute = ""
    while type(expr) is f.Attr or type(expr) is f.Subscript or (type(expr) is f.Call and type(expr.func) is f.Attr):
        attribute = expr.attr if type(expr) is f.Attr else ""
        expr = expr.func if type(expr) is f.Call else expr.base
    if type(expr) is not f.Name:
        return
    if expr.id == own and attribute:
        yield attribute
    elif expr.id != own and rounds:
        for source in _bound(function.body, expr.id):
            yield from _attributes(source, function, own, rounds - 1)


def _bound(body: f.Body, name: str) -> Iterator[f.Expr]:
    """What a local name is set to, or taken out of."""
    for s in statements(body):
        if type(s) is f.Assign and s.value is not None and any(type(t) is f.Name and t.id == name for t in s.targets):
            yield s.value
        elif type(s) is f.For and name in variables(s.target):
            walked = s.iterable
            while type(walked) is f.Call and type(walked.func) is f.Name and walked.args:
                walked = walked.args[0]  # `enumerate(self.layers)`
            yield walked


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


def _also_renamed(names: frozenset[str], modules: Iterable[ModuleInfo]) -> frozenset[str]:
    """Names, and those that imports anywhere in the project give them (`import fully_shard as shard`)."""
    renamed = [
        (dotted.rpartition(".")[2], bound)
        for module in modules
        for bound, (dotted, _) in module.imports.items()
        if bound != dotted.rpartition(".")[2]
    ]
    while True:
        more = names.union(bound for name, bound in renamed if name in names)
        if more == names:
            return names
        names = more


def _mentions_sharding(module: ModuleInfo) -> bool:
    if any(_HINT.search(dotted) for dotted, _ in module.imports.values()):
        return True
    return any(_HINT.search(name) for name in module.functions)
