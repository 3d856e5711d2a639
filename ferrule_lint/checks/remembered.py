"""What an earlier run found out about files, and whether it would find the same now.

The findings of a file depend on its inputs (see `semantics.project.reads`): files, questions that the outlines of all
files answer, and what the project as a whole shows (what it shards, how it seeds, which functions handle signals).
Where each gives the answer that it gave, the file need not be looked at again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from ferrule_lint.findings import Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.project import training
from ferrule_lint.semantics.project.reads import Input


@dataclass(frozen=True, slots=True)
class KnownInput:
    """An input, and a digest of what it said."""

    kind: str
    name: str
    answer: str


@dataclass(frozen=True, slots=True)
class Shown:
    """What was shown of the findings in a file: anchored in its text, each with its fix."""

    #: a digest of the findings before that
    of: str
    findings: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]
    #: how many fixes did not hold
    dropped: int


@dataclass(frozen=True, slots=True)
class FileResult:
    """What was found in checking one file, before findings are compared with those of other files; what it rests on."""

    path: str
    findings: tuple[Finding, ...]
    inputs: tuple[Input, ...]
    #: budgets that ended in silence
    statistics: dict[str, int] = field(default_factory=dict)
    #: what an earlier run has shown of the findings in it
    shown: Shown | None = None


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A `FileResult` with the numbers of its inputs among those of all files, and what was shown of the findings."""

    path: str
    inputs: tuple[int, ...]
    findings: tuple[Finding, ...]
    statistics: dict[str, int]
    shown: Shown | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is kept of a run."""

    evidence: str = ""
    inputs: tuple[KnownInput, ...] = ()
    files: tuple[KnownFile, ...] = ()


#: digest of a file's content, by its path
Digests = Mapping[str, str]


class Answers:
    """What inputs say now; each is asked once."""

    def __init__(self, analysis: Analysis, digests: Digests) -> None:
        self.digests = digests
        self._analysis = analysis
        self._said: dict[Input, str] = {}

    def of(self, given: Input) -> str:
        """A digest of what an input says."""
        if given not in self._said:
            kind, name = given
            self._said[given] = (
                self.digests.get(name, "") if kind == "file" else _digest(_QUESTIONS[kind](self._analysis, name))
            )
        return self._said[given]

    @cached_property
    def evidence(self) -> str:
        """A digest of what the project as a whole shows."""
        seeds = self._analysis.seeding.seeds()
        return _digest(
            [
                *self._analysis.sharding.evidence(),
                *(
                    f"{what} {sorted(axes)} {cls.id if cls else ''}"
                    for what in sorted(seeds)
                    for axes, cls in seeds[what]
                ),
                *sorted(self._analysis.signals.handlers()),
            ]
        )


def still_true(known: Remembered, answers: Answers, paths: Iterable[str]) -> dict[str, FileResult]:
    """The results for those of `paths` that would come out as they did."""
    if known.evidence != answers.evidence:
        return {}
    asked = set(paths)
    same: dict[int, bool] = {}

    def holds(number: int) -> bool:
        if number not in same:
            given = known.inputs[number]
            same[number] = given.answer == answers.of((given.kind, given.name))
        return same[number]

    return {
        file.path: FileResult(
            file.path,
            file.findings,
            tuple([(known.inputs[number].kind, known.inputs[number].name) for number in file.inputs]),
            file.statistics,
            file.shown,
        )
        for file in known.files
        if file.path in asked and all(map(holds, file.inputs))
    }


def remembered(results: Iterable[FileResult], answers: Answers, known: Remembered) -> Remembered:
    """Results as they are kept, and beside them what was `known` of files that were not asked for this time."""
    numbers: dict[KnownInput, int] = {}
    now: dict[Input, int] = {}

    def number(given: Input) -> int:
        if given not in now:
            now[given] = numbers.setdefault(KnownInput(*given, answers.of(given)), len(numbers))
        return now[given]

    files = [
        KnownFile(result.path, tuple(map(number, result.inputs)), result.findings, result.statistics, result.shown)
        for result in results
    ]
    if known.evidence == answers.evidence:
        done = {file.path for file in files}
        files += [
            replace(file, inputs=tuple([numbers.setdefault(known.inputs[n], len(numbers)) for n in file.inputs]))
            for file in known.files
            if file.path in answers.digests and file.path not in done
        ]
    return Remembered(answers.evidence, tuple(numbers), tuple(files))


_QUESTIONS: dict[str, Callable[[Analysis, str], list[str]]] = {
    "shape": lambda analysis, name: [m.outline.shape for m in (analysis.names.modules.get(name),) if m is not None],
    "module": lambda analysis, name: analysis.names.candidates(name),
    "method": lambda analysis, name: analysis.names.with_method(name),
    "mention": lambda analysis, name: [module.path for module in analysis.names.mentioning(name)],
    "base": lambda analysis, name: sorted(analysis.hierarchy.may_inherit(name)),
    "heirs": lambda analysis, cls: [str(analysis.hierarchy.has_many_heirs(cls))],
    "feed": lambda analysis, name: [str(analysis.threads.feed(name))],
    "handled": lambda analysis, name: [str(analysis.exceptions.handled(name))],
    "back end": lambda analysis, path: [str(analysis.back_ends.may_shard(path))],
    "trained by": training.trained_by,
    "back end beside": lambda analysis, path: [str(analysis.back_ends.may_shard(path, beside_deepspeed=True))],
    "near": lambda analysis, path: [str(analysis.sharding.is_near(path))],
    "near_wraps": lambda analysis, path: [str(analysis.sharding.is_near_wraps(path))],
    "called": lambda analysis, name: [f"{m.path}:{cls}" for m, cls in analysis.receivers.called(name)],
}


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]
