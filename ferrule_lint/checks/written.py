"""What a summary or a value says, as JSON: to see whether it says what it said, and to have it again without analysing.

A function whose summary still says what it said concerns none of its callers, whatever was edited in it (early cut-off:
Hammer et al. 2014, "Adapton"; Mokhov, Mitchell, Peyton Jones 2018, "Build Systems à la Carte"). Of places only the
order counts for that, as in `facts.parts`; they stand apart, and a summary that is called is named, with a digest of
what it says.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from ferrule_lint.facts.parts import WHOLE_LINE
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.reach import Partly
from ferrule_lint.semantics.domain.summary import Summary
from ferrule_lint.semantics.domain.trace import Attempt
from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.reads import Input
from ferrule_lint.semantics.walk.frame import Frame

#: nodes of one text: what calls itself in many ways may have no end
MOST_NODES = 20_000
DEFAULTS = tuple(Value())
#: what is not part of what a summary says
_ASIDE = frozenset({"busy", "signatures", "question", "recalled"})
SAID_OF_SUMMARY = tuple(field.name for field in fields(Summary) if field.name not in _ASIDE)
#: a line in a text, such as the key of a test for an exception
_AT = re.compile(r"(?<= at )(\S+\.py):(\d+)(?::(\d+))?")


#: a path, a line and a column
Place: TypeAlias = tuple[str, int, int]


class Unsaid(Exception):
    """There is no text for something."""


@dataclass(frozen=True, slots=True)
class Written:
    """Something as JSON, its places as numbers, and these places: each a path, a line and a column."""

    said: str
    places: tuple[Place, ...]

    def digest(self) -> str:
        """Of what it says, wherever it stands."""
        order = sorted(range(len(self.places)), key=self.places.__getitem__)
        text = f"[{self.said},{_json([[path for path, *_ in self.places], order])}]"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:24]

    def text(self) -> str:
        """All of it, in one line."""
        return f"[{self.said},{_json(self.places)}]"


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def written(value: object, answer: Callable[[Input], str]) -> Written | None:
    """A value or summary, None if there is no text for it. `answer`: the digest of an answer, "" likewise."""
    writer = _Writer(answer)
    try:
        return Written(_json(writer.write(value)), tuple(writer.places))
    except (Unsaid, RecursionError):
        return None


class _Writer:
    def __init__(self, answer: Callable[[Input], str]) -> None:
        self._answer = answer
        self._path = ""
        self._left = MOST_NODES
        #: the summaries that are being written
        self._around: list[Summary] = []
        #: the places that are met, in this order
        self.places: dict[Place, int] = {}

    def write(self, value: Any) -> Any:
        kind = type(value)
        if kind is str:
            return self._text(value) if " at " in value else value
        if kind is bool or value is None or kind is int:
            return value
        self._left -= 1
        if self._left < 0:
            raise Unsaid
        if kind is Value:
            held = zip(value, DEFAULTS, strict=True)
            return ["v", *(
                [place, self.write(one)]
                for place, (one, default) in enumerate(held)
                if one is not default and one != default
            )]  # fmt: skip
        if kind is tuple:
            return ["t", *map(self.write, value)]
        if kind is frozenset:
            return ["s", *map(self.write, sorted(value, key=_place_among))]
        if kind is dict:
            return ["d", *([self.write(key), self.write(one)] for key, one in value.items())]
        if kind is Confidence:
            return ["c", int(value)]
        if kind is ClassInfo or kind is FunctionInfo:
            return [kind.__name__, value.id]
        if kind is ModuleInfo:
            return ["m", value.path]
        if kind is Summary:
            return self._summary(value)
        if kind is Frame:
            raise Unsaid
        return self._record(value)

    def _text(self, value: str) -> Any:
        found = _AT.search(value)
        if found is None:
            return value
        path, line, column = found.groups()
        point = int(line), WHOLE_LINE if column is None else int(column)
        number = self.places.setdefault((path, *point), len(self.places))
        return ["a", value[: found.start(2)], number, value[found.end() :]]

    def _summary(self, summary: Summary) -> Any:
        for outwards, around in enumerate(reversed(self._around)):
            if around is summary:
                return ["^", outwards]
        if self._around and summary.question is not None:
            digest = self._answer(summary.question)
            if not digest:
                raise Unsaid
            return ["q", summary.question[1], digest]
        self._around.append(summary)
        path, self._path = self._path, summary.function.module.path if summary.function is not None else ""
        said = [self.write(getattr(summary, name)) for name in SAID_OF_SUMMARY]
        self._path = path
        self._around.pop()
        return ["f", *said]

    def _record(self, value: Any) -> Any:
        """A named tuple or dataclass, its places apart."""
        kind = type(value)
        names = fields_of(kind)
        if not names:
            raise Unsaid
        path = self._path
        self._path = getattr(value, "path", path)
        said: list[Any] = [kind.__name__]
        for name in names:
            held = getattr(value, name)
            if name == "line":
                said.append(self._place(held, getattr(value, "column", WHOLE_LINE)))
            elif name == "column":
                said.append(None)  # with the line
            elif name in ("pos", "at") and held is not None:
                said.append([self._place(*held[:2]), self._place(*held[2:])])
            elif kind is Attempt and name == "handlers":
                said.append([[self._place(line, WHOLE_LINE), self.write(trace)] for line, trace in held])
            else:
                said.append(self.write(held))
        self._path = path
        return said

    def _place(self, line: int, column: int) -> int:
        return self.places.setdefault((self._path, line, column), len(self.places))


def fields_of(kind: type) -> tuple[str, ...]:
    """The fields of a named tuple or dataclass; none of anything else."""
    return getattr(kind, "_fields", None) or tuple(getattr(kind, "__dataclass_fields__", ()))


def _place_among(item: Any) -> Any:
    """Where an item of a set comes: sets have another order each time."""
    if isinstance(item, ClassInfo):
        return item.id
    if type(item) is Partly:
        return item.output, item.at or (), sorted(item.deps)
    return item
