"""Summaries and values that an earlier run has written (see `written`), read again.

Whatever else the text holds than what is written there, nothing is made but the records below.
"""

from __future__ import annotations

import json
from typing import Any

from ferrule_lint.checks.moved import Moved
from ferrule_lint.checks.written import DEFAULTS, SAID_OF_SUMMARY, fields_of
from ferrule_lint.facts.parts import WHOLE_LINE, Point
from ferrule_lint.findings import Confidence, Step
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.calls.light import LightResult
from ferrule_lint.semantics.control.exceptions import Escape
from ferrule_lint.semantics.data.layout import Layout
from ferrule_lint.semantics.data.number_types import Number
from ferrule_lint.semantics.data.sorts import Apart
from ferrule_lint.semantics.domain.conditions import Atom, Connective, Known, Negation
from ferrule_lint.semantics.domain.dependences import NOTHING
from ferrule_lint.semantics.domain.lattice import Divergence, Value
from ferrule_lint.semantics.domain.reach import Partly, Reach
from ferrule_lint.semantics.domain.summary import Latent, Summary
from ferrule_lint.semantics.domain.targets import (
    ClassTarget,
    ExternalTarget,
    FunctionTarget,
    MethodTarget,
    ModuleTarget,
    PartialTarget,
    RecordTarget,
    SeveralTarget,
)
from ferrule_lint.semantics.domain.trace import Attempt, CallTerm, Choice, Event, Exit, Loop

_RECORDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Apart, Atom, Attempt, CallTerm, Choice, ClassTarget, Connective, Divergence, Escape, Event, Exit,
        ExternalTarget, FunctionTarget, Known, Latent, Layout, LightResult, Loop, MethodTarget, ModuleTarget, Negation,
        Number, PartialTarget, Partly, Reach, RecordTarget, SeveralTarget, Step,
    )
}  # fmt: skip


class Gone(Exception):
    """Something that a text names is not there any more."""


def reread(text: str, analysis: Analysis, moved: Moved, root: Summary) -> object:
    """What was written; raises `Gone`, or anything if the text is none. A summary becomes `root`, which those that it
    calls may call in turn."""
    said, places = json.loads(text)
    now = [moved(path, (line, column)) for path, line, column in places]
    return _Reader(analysis, now, root).read(said)


class _Reader:
    def __init__(self, analysis: Analysis, places: list[Point | None], root: Summary) -> None:
        self._analysis = analysis
        self._places = places
        self._root = root
        self._around: list[Summary] = []

    def read(self, said: Any) -> Any:
        if type(said) is not list:
            return said
        tag, *rest = said
        record = _RECORDS.get(tag)
        if record is not None:
            return self._record(record, rest)
        match tag:
            case "v":
                held = list(DEFAULTS)
                for place, one in rest:
                    held[place] = self.read(one)
                return tuple.__new__(Value, held)
            case "t":
                return tuple([self.read(one) for one in rest])
            case "s":
                return frozenset([self.read(one) for one in rest]) if rest else NOTHING
            case "d":
                return {self.read(key): self.read(one) for key, one in rest}
            case "c":
                return Confidence(rest[0])
            case "a":
                line, column = self._place(rest[1])
                return f"{rest[0]}{line}{'' if column == WHOLE_LINE else f':{column}'}{rest[2]}"
            case "^":
                return self._around[-1 - rest[0]]
            case _:
                return self._entity(tag, rest)

    def _entity(self, tag: str, rest: list[Any]) -> Any:
        found: object
        names = self._analysis.names
        if tag == "f":
            return self._summary(rest)
        if tag == "q":
            found = self._analysis.summaries.answer(rest[0])
        elif tag == "ClassInfo":
            found = names.class_of_id(rest[0])
        elif tag == "FunctionInfo":
            found = names.function_of_id(rest[0])
        else:
            found = names.modules.get(rest[0])
        if found is None:
            raise Gone(rest[0])
        return found

    def _summary(self, rest: list[Any]) -> Summary:
        summary = Summary(None) if self._around else self._root
        summary.busy = False
        self._around.append(summary)
        for name, held in zip(SAID_OF_SUMMARY, rest, strict=True):
            setattr(summary, name, self.read(held))
        self._around.pop()
        return summary

    def _record(self, kind: Any, rest: list[Any]) -> Any:
        held: list[Any] = []
        column = WHOLE_LINE
        for name, one in zip(fields_of(kind), rest, strict=True):
            if name == "line":
                line, column = self._place(one)
                held.append(line)
            elif name == "column":
                held.append(column)
            elif name in ("pos", "at") and one is not None:
                held.append((*self._place(one[0]), *self._place(one[1])))
            elif kind is Attempt and name == "handlers":
                held.append(tuple([(self._place(line)[0], self.read(trace)) for line, trace in one]))
            else:
                held.append(self.read(one))
        return kind(*held)

    def _place(self, number: int) -> Point:
        point = self._places[number]
        if point is None:
            raise Gone(number)
        return point
