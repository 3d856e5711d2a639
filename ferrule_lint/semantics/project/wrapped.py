"""Classes whose instances something wraps: they themselves, and those that they inherit from.

A method of a base class is run by instances of all that inherit from it, the wrapped one too. Another class with this
base has nothing to do with what is wrapped: where the base is the layer that a whole library is built on, or the
module that a framework adds its own to, all of it would be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ferrule_lint.facts.types import Pos
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.project.entities import ClassInfo
from ferrule_lint.semantics.project.programs import is_test


class WrapSite(NamedTuple):
    """A call that wraps modules. `text`: as messages show it; `given`: the id of the class of what it is given, or
    "" where that cannot be told; `owner`: the function that it stands in, or "", and the number of the call in it;
    `block`: it gathers for the time of a block what is in parts, and wraps nothing itself."""

    path: str
    pos: Pos
    text: str
    given: str = ""
    owner: str = ""
    number: int = 0
    block: bool = False


def nearest(sites: Sequence[WrapSite], path: str) -> WrapSite | None:
    """The first of those in the file itself, or else in its folder, or else of all; those in tests come last, before
    them those that wrap nothing themselves."""
    folder = path.rpartition("/")[0]
    return min(
        sites,
        key=lambda site: (is_test(site.path), site.block, site.path != path, site.path.rpartition("/")[0] != folder),
        default=None,
    )


class Wrapped:
    """What was seen to be wrapped so far, and how sure that is."""

    def __init__(
        self,
        itself: dict[str, Confidence] | None = None,
        bases: dict[str, Confidence] | None = None,
        sites: dict[str, WrapSite] | None = None,
    ) -> None:
        self._itself = itself or {}
        self._bases = bases or {}
        #: where: the first of the surest
        self._sites = sites or {}

    def held(self) -> tuple[dict[str, Confidence], dict[str, Confidence], dict[str, WrapSite]]:
        """What it can be made of again."""
        return self._itself, self._bases, self._sites

    def __bool__(self) -> bool:
        return bool(self._itself)

    def add(self, mro: Sequence[ClassInfo], confidence: Confidence, site: WrapSite) -> bool:
        """Note a class, given with its bases in order; False: it was known to be as sure."""
        first = mro[0].id
        if first in self._itself and self._itself[first] >= confidence:
            return False
        self._itself[first] = confidence
        self._sites[first] = site
        for base in mro[1:]:
            if base.id not in self._bases or self._bases[base.id] < confidence:
                self._bases[base.id] = confidence
                self._sites.setdefault(base.id, site)
        return True

    def site(self, mro: Sequence[ClassInfo]) -> WrapSite | None:
        """Where an instance of a class is wrapped, as far as `of` knows that it is."""
        return next(
            (self._sites[c.id] for c in mro if c.id in self._itself), self._sites.get(mro[0].id) if mro else None
        )

    def of(self, mro: Sequence[ClassInfo]) -> Confidence | None:
        """How sure it is that an instance of a class is wrapped: it is one of the class itself or of one that inherits
        from it, or the class inherits from one that is wrapped."""
        found = [self._itself[c.id] for c in mro if c.id in self._itself][:1]
        if mro and mro[0].id in self._bases:
            found.append(self._bases[mro[0].id])
        return max(found, default=None)

    def confidences(self) -> Iterator[Confidence]:
        """How sure each class makes it that another module is wrapped as well; what a test wraps is mostly its own."""
        for cls, confidence in self._itself.items():
            yield min(confidence, Confidence.LOW) if is_test(self._sites[cls].path) else confidence

    def lines(self) -> list[str]:
        """All of it, as text."""
        return [f"{i} {cls} {int(of[cls])}" for i, of in enumerate((self._itself, self._bases)) for cls in sorted(of)]
