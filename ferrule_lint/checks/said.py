"""What a summary or a value says, as text that is the same wherever it stands.

A function whose summary still says what it said concerns none of its callers, whatever was edited in it (early cut-off:
Hammer et al. 2014, "Adapton"; Mokhov, Mitchell, Peyton Jones 2018, "Build Systems à la Carte"). Of lines only the order
counts, as in `facts.parts`; a summary that is called stands by the digest of what it says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

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
_DEFAULTS = tuple(Value())
#: what is not part of what a summary says
_ASIDE = frozenset({"busy", "signatures", "question"})
_SAID_OF_SUMMARY = tuple(field.name for field in fields(Summary) if field.name not in _ASIDE)


class Unsaid(Exception):
    """There is no text for something."""


def text_of(value: object, answer: Callable[[Input], str]) -> str:
    """The text for a value or summary, "" if there is none. `answer`: the digest of an answer, "" likewise."""
    writer = _Writer(answer)
    try:
        said = writer.write(value)
    except (Unsaid, RecursionError):
        return ""
    lines = [*writer.lines]
    order = sorted(range(len(lines)), key=lines.__getitem__)
    return json.dumps([said, [path for path, _ in lines], order], separators=(",", ":"))


class _Writer:
    def __init__(self, answer: Callable[[Input], str]) -> None:
        self._answer = answer
        self._path = ""
        self._left = MOST_NODES
        #: the summaries that are being written
        self._around: list[Summary] = []
        #: the lines that are met, in this order
        self.lines: dict[tuple[str, int], int] = {}

    def write(self, value: Any) -> Any:
        """A value as JSON has it."""
        kind = type(value)
        if kind is str or kind is bool or value is None or kind is int:
            return value
        self._left -= 1
        if self._left < 0:
            raise Unsaid
        if kind is Value:
            return ["v", *(
                [place, self.write(held)]
                for place, (held, default) in enumerate(zip(value, _DEFAULTS, strict=True))
                if held is not default and held != default
            )]  # fmt: skip
        if kind is tuple:
            return ["t", *map(self.write, value)]
        if kind is frozenset:
            return ["s", *map(self.write, sorted(value, key=_place_among))]
        if kind is dict:
            return ["d", *([self.write(key), self.write(held)] for key, held in value.items())]
        if kind is Confidence:
            return int(value)
        if kind is ClassInfo or kind is FunctionInfo:
            return [kind.__name__, value.id]
        if kind is ModuleInfo:
            return ["m", value.path]
        if kind is Summary:
            return self._summary(value)
        if kind is Frame:
            raise Unsaid
        return self._record(value)

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
        said = [self.write(getattr(summary, name)) for name in _SAID_OF_SUMMARY]
        self._path = path
        self._around.pop()
        return ["f", *said]

    def _record(self, value: Any) -> Any:
        """A named tuple or dataclass, its places apart."""
        kind = type(value)
        names = getattr(kind, "_fields", None) or tuple(getattr(kind, "__dataclass_fields__", ()))
        if not names:
            raise Unsaid
        path = self._path
        self._path = getattr(value, "path", path)
        said: list[Any] = [kind.__name__]
        for name in names:
            held = getattr(value, name)
            if name == "line":
                said.append(self._line(held))
            elif name in ("pos", "at") and held is not None:
                said.append([self._line(held[0]), held[1], self._line(held[2]), held[3]])
            elif kind is Attempt and name == "handlers":
                said.append([[self._line(line), self.write(trace)] for line, trace in held])
            else:
                said.append(self.write(held))
        self._path = path
        return said

    def _line(self, line: int) -> int:
        return self.lines.setdefault((self._path, line), len(self.lines))


def _place_among(item: Any) -> Any:
    """Where an item of a set comes: sets have another order each time."""
    if isinstance(item, ClassInfo):
        return item.id
    if type(item) is Partly:
        return item.output, item.at or (), sorted(item.deps)
    return item
