"""What a project shows of what it shards, as one value: it takes a walk through much of the code to find out, so it is
kept, and taken over by an analysis in which nothing has changed that it rests on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.text import shown
from ferrule_lint.semantics.project.entities import ModuleInfo
from ferrule_lint.semantics.project.wrapped import Wrapped, WrapSite

#: where a site stands is looked up, since that alone may have changed
_NOWHERE = (0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class KeptSite:
    """A `WrapSite` without its place."""

    path: str
    text: str
    given: str
    owner: str
    number: int
    block: bool = False


@dataclass(frozen=True, slots=True)
class KeptWrapped:
    """What a `Wrapped` holds, class by class."""

    itself: dict[str, int]
    bases: dict[str, int]
    classes: tuple[str, ...]
    sites: tuple[KeptSite, ...]


@dataclass(frozen=True, slots=True)
class KeptPart:
    """An attribute of a class, and where it is sharded."""

    cls: str
    name: str
    site: KeptSite


@dataclass(frozen=True, slots=True)
class KeptEvidence:
    """`Evidence` as plain values."""

    sharded: KeptWrapped
    reduced: KeptWrapped
    generic: int | None
    flags: tuple[bool, ...]
    sets: tuple[tuple[str, ...], ...]
    sites: tuple[KeptSite, ...]
    generic_sites: tuple[KeptSite, ...]
    own_parts: tuple[KeptPart, ...]
    calls: tuple[tuple[str, ...], ...]


@dataclass(slots=True)
class Evidence:
    """What has been seen so far."""

    #: classes that are sharded, and those that DDP wraps, their submodules included
    sharded: Wrapped = field(default_factory=Wrapped)
    reduced: Wrapped = field(default_factory=Wrapped)
    #: how sure it is that any module may be one that is sharded
    generic: Confidence | None = None
    data_parallel: bool = False
    tolerant: bool = False
    #: whether DDP wraps some whose class cannot be told; whether it is told to leave buffers alone
    reduces_any: bool = False
    keeps_buffers: bool = False
    #: where something of unknown class is sharded, and the files that can have to do with it
    generic_in: set[str] = field(default_factory=set)
    #: files where a configuration decides whether something of unknown class is sharded
    configured_in: set[str] = field(default_factory=set)
    #: all files that wrap something, or tell a library to
    wraps_in: set[str] = field(default_factory=set)
    #: files that give what wraps modules optimizers, and what goes with them, but no module
    beside_in: set[str] = field(default_factory=set)
    #: files that tell a trainer, by a name, to look for unused parameters whatever settings say
    tolerant_in: set[str] = field(default_factory=set)
    #: classes that are sharded as one, so that their parts gather nothing, and those that are also sharded in parts
    as_one: set[str] = field(default_factory=set)
    in_parts: set[str] = field(default_factory=set)
    #: files whose engines shard parameters by a configuration that is written out, and those where it is not told
    engines_in: set[str] = field(default_factory=set)
    other_engines_in: set[str] = field(default_factory=set)
    #: the calls by which gradients are reduced, and those that shard something of unknown class, in the files that
    #: most others import first
    sites: list[WrapSite] = field(default_factory=list)
    generic_sites: list[WrapSite] = field(default_factory=list)
    #: the calls that tell of it, as texts, by file; see `gathering`
    calls: dict[str, tuple[str, ...]] = field(default_factory=dict)
    #: parts of unknown class that a module shards in a method of its own: its id and the attribute -> where
    own_parts: dict[tuple[str, str], WrapSite] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """All of it, as text, but for the places."""
        found = (self.sharded, self.reduced)
        files = (self.generic_in, *self._sets()[2:])
        flags = (self.generic, self.data_parallel, self.tolerant, self.reduces_any, self.keeps_buffers)
        wraps = (*self.sites, *self.generic_sites, *self.own_parts.values())
        sites = [f"{site.path} {site.text} {site.given}" for site in wraps]
        sites += [" ".join(part) for part in self.own_parts]
        lines = [f"{i} {line}" for i, of in enumerate(found) for line in of.lines()]
        return [repr(flags), *lines, *sites, *(f"{i} {path}" for i, of in enumerate(files) for path in sorted(of))]

    def _sets(self) -> tuple[set[str], ...]:
        files = (self.generic_in, self.configured_in, self.wraps_in, self.beside_in, self.tolerant_in)
        return (*files, self.as_one, self.in_parts, self.engines_in, self.other_engines_in)

    def kept(self) -> KeptEvidence:
        """The same to be kept."""
        return KeptEvidence(
            _kept(self.sharded),
            _kept(self.reduced),
            None if self.generic is None else int(self.generic),
            (self.data_parallel, self.tolerant, self.reduces_any, self.keeps_buffers),
            tuple(tuple(sorted(of)) for of in self._sets()),
            tuple(map(_kept_site, self.sites)),
            tuple(map(_kept_site, self.generic_sites)),
            tuple(KeptPart(*part, _kept_site(site)) for part, site in self.own_parts.items()),
            tuple((path, *calls) for path, calls in self.calls.items()),
        )


def taken_over(kept: KeptEvidence) -> Evidence:
    """What was kept."""
    data_parallel, tolerant, reduces_any, keeps_buffers = kept.flags
    generic_in, configured_in, wraps_in, beside_in, tolerant_in, as_one, in_parts, engines, others = map(set, kept.sets)
    return Evidence(
        sharded=_wrapped(kept.sharded),
        reduced=_wrapped(kept.reduced),
        generic=None if kept.generic is None else Confidence(kept.generic),
        data_parallel=data_parallel,
        tolerant=tolerant,
        reduces_any=reduces_any,
        keeps_buffers=keeps_buffers,
        generic_in=generic_in,
        configured_in=configured_in,
        wraps_in=wraps_in,
        beside_in=beside_in,
        tolerant_in=tolerant_in,
        as_one=as_one,
        in_parts=in_parts,
        engines_in=engines,
        other_engines_in=others,
        sites=[*map(_site, kept.sites)],
        generic_sites=[*map(_site, kept.generic_sites)],
        own_parts={(part.cls, part.name): _site(part.site) for part in kept.own_parts},
        calls={path: tuple(calls) for path, *calls in kept.calls},
    )


def place_of(site: WrapSite, modules: Mapping[str, ModuleInfo]) -> tuple[int, int]:
    """The line and column of a site."""
    if site.pos != _NOWHERE:
        return site.pos[:2]
    for owner, calls in modules[site.path].calls():
        if (owner.qualname if owner is not None else "") == site.owner:
            # in a file as a fix would leave it there may be other calls before it
            alike = [number for number, call in enumerate(calls) if shown(call) == site.text]
            return calls[min(alike, key=lambda number: abs(number - site.number))].pos[:2]
    raise LookupError(site)


def _kept(wrapped: Wrapped) -> KeptWrapped:
    itself, bases, sites = wrapped.held()
    numbers = [{cls: int(of[cls]) for cls in of} for of in (itself, bases)]
    return KeptWrapped(numbers[0], numbers[1], tuple(sites), tuple(map(_kept_site, sites.values())))


def _wrapped(kept: KeptWrapped) -> Wrapped:
    itself, bases = ({cls: Confidence(of[cls]) for cls in of} for of in (kept.itself, kept.bases))
    return Wrapped(itself, bases, dict(zip(kept.classes, map(_site, kept.sites), strict=True)))


def _kept_site(site: WrapSite) -> KeptSite:
    return KeptSite(site.path, site.text, site.given, site.owner, site.number, site.block)


def _site(kept: KeptSite) -> WrapSite:
    return WrapSite(kept.path, _NOWHERE, kept.text, kept.given, kept.owner, kept.number, kept.block)
