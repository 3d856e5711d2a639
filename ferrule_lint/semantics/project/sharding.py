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

from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.project import nearness, parameters, siblings
from ferrule_lint.semantics.project.buffers import Buffers
from ferrule_lint.semantics.project.entities import ClassInfo
from ferrule_lint.semantics.project.evidence import Evidence
from ferrule_lint.semantics.project.gathering import Gathering
from ferrule_lint.semantics.project.import_graph import closed
from ferrule_lint.semantics.project.programs import can_be_started
from ferrule_lint.semantics.project.reads import Asked, Memo
from ferrule_lint.semantics.project.together import Together
from ferrule_lint.semantics.project.wrapped import WrapSite, nearest

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

Setting = bool | str | tuple[str, ...]


class Sharding:
    """Evidence over the whole project, gathered on first use. `setting`: "auto", True, False or class patterns."""

    def __init__(self, analysis: Analysis, setting: Setting) -> None:
        self._analysis = analysis
        self._setting = setting
        self._seen: Evidence | None = None
        self._gathering = False
        #: the files that can have to do with either, by the question
        self._near: Memo[str, nearness.Nearness] = Memo(analysis.names.reads)
        self._together = Together(analysis)
        #: what works together with these, once it has been asked for
        self._with: Asked[bool] = Asked(analysis.names.reads, "with_wraps")
        #: the files that wrap something, but for the siblings of a file
        self._not_beside: Memo[str, frozenset[str]] = Memo(analysis.names.reads)
        #: which modules have buffers
        self._buffers = Buffers(analysis)
        #: the files of programs that look for unused parameters, by what was seen
        self._tolerated: tuple[Evidence, frozenset[str]] | None = None
        #: whether classes have no parameters, once they have been asked for
        self._bare: Asked[bool] = Asked(analysis.names.reads, "bare")

    @property
    def reduces_gradients(self) -> bool:
        """Whether some module is wrapped so that its backward reduces gradients over data-parallel ranks."""
        return self.gather().data_parallel

    def needs_every_output(self, info: ClassInfo | None, path: str) -> bool:
        """Whether a part of this module, or of any in a file, that has no backward on some ranks keeps the others
        waiting: its gradients are reduced, and nobody asks DDP to look for unused parameters."""
        if self._gathering:
            return False  # asked for while the evidence is being gathered
        seen = self.gather()
        if not seen.data_parallel or seen.tolerant or self._is_run_tolerantly(path):
            return False
        if seen.reduces_any or (info is None and seen.reduced):
            return True
        # a loss without parameters of its own decides on those of others
        sharded = self.unknown if info is None else self.of_class(info, bare=True)
        if info is not None and self.is_one_unit(info):
            sharded = None  # its gradients are one tensor, whichever of its parts have been used
        if sharded is not None and sharded > Confidence.LOW:
            return True
        return info is not None and seen.reduced.of(self._mro(info)) is not None

    def _is_run_tolerantly(self, path: str) -> bool:
        """Whether a file belongs to programs that tell their trainers to look for unused parameters, and to none that
        wraps anything otherwise."""
        seen = self.gather()
        if not seen.tolerant_in:
            return False
        self._analysis.names.reads.ask("imports", "")
        if self._tolerated is None or self._tolerated[0] is not seen:
            imported, users = self._analysis.imports.imported, self._analysis.imports.users
            strict = seen.wraps_in - seen.tolerant_in
            programs = (closed([path], imported) for path in sorted(closed(seen.tolerant_in, users)))
            tolerant = {path for program in programs if strict.isdisjoint(program) for path in program}
            self._tolerated = (seen, frozenset(tolerant - closed(strict, imported)))
        return path in self._tolerated[1]

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

    def shares_buffers(self, classes: Iterable[ClassInfo], certain: bool = False) -> bool:
        """Whether DDP's forward of an instance broadcasts buffers, in evaluation too: some class has them, or it is
        `certain` that there are some, and nobody passes `broadcast_buffers=False`.

        https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
        """
        seen = self.gather()
        return not seen.keeps_buffers and (certain or any(self._buffers.has(info) for info in classes))

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

    @property
    def by_engines(self) -> bool:
        """Whether all engines of the project (DeepSpeed's) shard parameters, by configurations that are written out."""
        if self._setting != "auto":
            return False
        seen = self.gather()
        return bool(seen.engines_in) and not seen.other_engines_in

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
        if not bare and self.is_bare(info):
            return None
        wrapped = seen.sharded.of(self._mro(info))
        if wrapped is not None:
            return wrapped
        if seen.generic is not None and seen.reduced.of(self._mro(info)) is not None:
            return Confidence.LOW  # what is seen to be passed to DDP is hardly sharded as well
        return None if self._is_no_model(info) else seen.generic

    def _is_no_model(self, info: ClassInfo) -> bool:
        """Whether a class inherits from a library's module without parameters, as metrics do: nobody shards what it has
        for itself."""
        names, models = self._analysis.names, self._analysis.models
        roles = (models.class_(base) for base in names.external_bases(info))
        return any(model is not None and model.role == "leaf" for model in roles)

    def is_bare(self, info: ClassInfo) -> bool:
        """Whether a class of modules has no parameters."""
        return self._bare.find(info.id, lambda: parameters.has_none(self._analysis, info), False)

    def of_part(self, info: ClassInfo, attribute: str) -> Confidence | None:
        """How sure it is that what an attribute of a module holds, of unknown class, is sharded."""
        if self.is_in_one(info, attribute):
            return None
        known = self.of_class(info)
        if self._setting != "auto" or (known is not None and known > Confidence.MEDIUM):
            return known
        return Confidence.MEDIUM if self.is_own_part(info, attribute) else known

    def is_one_unit(self, info: ClassInfo) -> bool:
        """Whether instances of a class are only seen to be sharded as one: their parts gather nothing by themselves.

        https://docs.pytorch.org/docs/stable/fsdp.html
        """
        if self._setting != "auto" or self._gathering:
            return False
        seen, ids = self.gather(), {c.id for c in self._mro(info)}
        return not seen.as_one.isdisjoint(ids) and seen.in_parts.isdisjoint(ids)

    def is_in_parts(self, info: ClassInfo) -> bool:
        """Whether instances of this very class are seen to be sharded, and not as one."""
        if self._setting != "auto" or self._gathering:
            return False
        found = self.gather().sharded.of(self._mro(info))
        return found is not None and found > Confidence.MEDIUM and not self.is_one_unit(info)

    def is_in_one(self, info: ClassInfo, attribute: str) -> bool:
        """Whether what an attribute of such a module holds is gathered with the whole of it."""
        return self.is_one_unit(info) and not self.is_own_part(info, attribute)

    def is_own_part(self, info: ClassInfo, attribute: str) -> bool:
        """Whether what an attribute of a module holds, whatever that is, is seen to be sharded as a part of it."""
        if self._setting != "auto" or self._gathering:
            return False
        parts = self.gather().own_parts
        return any((c.id, attribute) in parts for c in self._mro(info))

    def has_own_parts(self, info: ClassInfo) -> bool:
        """Whether a module is seen to have parts that are sharded as such."""
        if self._setting != "auto" or self._gathering:
            return False
        ids = {c.id for c in self._mro(info)}
        return any(cls in ids for cls, _ in self.gather().own_parts)

    def is_left_open(self, site: WrapSite) -> bool:
        """Whether a launcher or a file of settings decides if this call shards what it is given."""
        return site.path in self.gather().configured_in

    def shards_in(self, site: WrapSite) -> bool:
        """Whether this is a call by which a module shards a part of its own."""
        return site in self.gather().own_parts.values()

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
        seen = self.gather()
        if any(site.path == path for site in seen.own_parts.values()):
            return True
        # what a file itself hands to DDP is in parts only where some code says so, and not where a launcher may
        copies = path in seen.wraps_in and path not in seen.generic_in
        return self._is_near_to(path, "near", "by code" if copies else "")

    def is_with_wraps(self, path: str, base: str = "") -> bool:
        """Whether what is made in this file is wrapped there, in a file that it takes something from, or by one that
        takes something from both; `base`: the file of a base of its classes, where that is asked of it."""
        if self._setting != "auto":
            return True
        self.gather()
        if self._gathering:
            return True  # asked for while the evidence is being gathered
        asked = f"{path}\n{base}" if base else path
        return self._with.find(asked, lambda: self._is_with(path, base), True)

    def _is_with(self, path: str, base: str) -> bool:
        some = self._not_beside.find(path, lambda: frozenset(self._wraps_of_others(path)), frozenset())
        return self._together.is_with(base or path, some)

    def _wraps_of_others(self, path: str) -> Iterator[str]:
        """The files that wrap something, but for those that stand beside this one and keep it."""
        modules = self._analysis.names.modules
        for wrapping in sorted(self.gather().wraps_in):
            beside = wrapping != path and path in modules and self._together.are_apart(path, wrapping)
            if not beside or not siblings.are(self._analysis, modules[path], modules[wrapping]):
                yield wrapping

    def is_beside_wraps(self, path: str) -> bool:
        """Whether a file works together with one that has a library prepare optimizers and the like, and with none that
        gives it a module: its ranks reduce gradients by hand, or not at all."""
        if self._setting != "auto" or self.is_with_wraps(path):
            return False
        with self._analysis.names.reads.answering("beside_wraps", path):
            seen = self.gather()
            return not self._gathering and bool(seen.beside_in) and self._together.is_with(path, seen.beside_in)

    def is_near_wraps(self, path: str) -> bool:
        """Whether what runs in this file can be a module that any file wraps, of a class that is known or is not: of a
        repository of examples, a program that wraps nothing runs in one process, whatever the others do with the same
        layers."""
        return self._is_near_to(path, "near_wraps")

    def _is_near_to(self, path: str, question: str, evidence: str = "") -> bool:
        if self._setting != "auto":
            return True
        self.gather()
        if self._gathering:
            return True  # asked for while the evidence is being gathered
        with self._analysis.names.reads.answering(question, path):
            kind = evidence or question
            return path in self._near.find(kind, lambda: self._nearness(kind))

    def _nearness(self, kind: str) -> nearness.Nearness:
        seen = self.gather()
        kinds = {"near": seen.generic_in, "by code": seen.generic_in - seen.configured_in}
        wrapping = kinds.get(kind, seen.wraps_in)
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
                Gathering(self._analysis, self._seen).look()
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
