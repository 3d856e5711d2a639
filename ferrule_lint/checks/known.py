"""What is kept of a run, and what is known of it in the next one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ferrule_lint.checks.packed import packed, unpacked
from ferrule_lint.findings import Finding
from ferrule_lint.semantics.project.evidence import KeptEvidence
from ferrule_lint.semantics.project.reads import Input, Reads

#: the kind of an input on which nothing rests any more
UNUSED = "unused"
#: what no path and no name has in it
_BETWEEN = "\0"


class KnownInput(NamedTuple):
    """An input; of a question, a digest of what it said, and the numbers of the inputs that it was worked out from; of
    a function or attribute the answer itself (see `written`)."""

    kind: str
    name: str
    answer: str = ""
    rests: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What was shown of the findings in a file: anchored in its text, each with its fix."""

    #: a digest of the findings before that
    of: str
    findings: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]
    #: how many fixes did not hold
    dropped: int

    def has_fixes(self) -> bool:
        """Whether any fix was tried."""
        return self.dropped > 0 or any(one.fix is not None for one in (*self.findings, *self.suppressed))


@dataclass(frozen=True, slots=True)
class FileResult:
    """What was found in checking one file, before findings are compared with those of other files; what it rests on."""

    path: str
    findings: tuple[Finding, ...]
    #: numbers of what was read for it, whatever these stand for in `reads`
    read: frozenset[int]
    reads: Reads = field(compare=False, repr=False)
    #: budgets that ended in silence
    statistics: dict[str, int] = field(default_factory=dict)
    #: what an earlier run has shown of the findings in it
    shown: Shown | None = None
    #: what each of its functions rests on in which nothing was found, `in_one_text`; "" is the top level
    nothing_in: str = ""

    @property
    def inputs(self) -> tuple[Input, ...]:
        """What was read for it."""
        return tuple(self.reads.named(self.read))


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A `FileResult` with its inputs among those of all files, by number, and what was shown of the findings."""

    path: str
    inputs: str
    findings: tuple[Finding, ...]
    statistics: dict[str, int]
    shown: Shown | None = None
    nothing_in: str = ""


@dataclass(frozen=True, slots=True)
class Remembered:
    """What is kept of a run."""

    #: of the contents of all files
    digests: dict[str, str] = field(default_factory=dict)
    #: what was asked of the words in files
    asked: tuple[tuple[str, ...], ...] = ()
    #: field by field, each as one text, which is quicker to read: there are tens of thousands
    columns: tuple[str, ...] = ()
    files: tuple[KnownFile, ...] = ()
    #: what the project shows of what it shards, if anybody has asked
    evidence: KeptEvidence | None = None
    #: how many inputs there were when those on which nothing rests were last left out
    counted: int = 0

    @staticmethod
    def in_columns(inputs: Iterable[KnownInput]) -> tuple[str, ...]:
        """Inputs as they are kept."""
        return tuple(_BETWEEN.join(column) for column in zip(*inputs, strict=True))

    def named(self) -> Iterable[Input]:
        """The inputs, each at the place of its number."""
        return zip(*(column.split(_BETWEEN) for column in self.columns[:2]), strict=True)

    def inputs(self) -> list[KnownInput]:
        """The inputs with all that is known of them."""
        return [*map(KnownInput._make, zip(*(column.split(_BETWEEN) for column in self.columns), strict=True))]

    def is_whole(self) -> bool:
        """Whether each input has all that belongs to it: an entry may come from anywhere."""
        fields = len(KnownInput._fields) if self.columns else 0
        return len(self.columns) == fields and len({column.count(_BETWEEN) for column in self.columns}) <= 1


def as_kept(result: FileResult) -> KnownFile:
    """A result with its inputs as text."""
    read = packed(result.read)
    return KnownFile(result.path, read, result.findings, result.statistics, result.shown, result.nothing_in)


def together(parts: Sequence[Remembered]) -> Remembered:
    """What is kept of the parts of one run over the same files, each of which has numbers of its own for inputs. At
    least one part."""
    inputs: list[KnownInput] = []
    numbers: dict[Input, int] = {}
    files: dict[str, KnownFile] = {}
    for part in parts:
        own = part.inputs()
        added = [n for n, given in enumerate(own) if given.kind != UNUSED and given[:2] not in numbers]
        for number in added:
            numbers[own[number][:2]] = len(inputs)
            inputs.append(own[number])
        places = {n: numbers[given[:2]] for n, given in enumerate(own) if given.kind != UNUSED}
        for number in added:
            here = places[number]
            inputs[here] = inputs[here]._replace(rests=_moved(inputs[here].rests, places))
        for file in part.files:
            files.setdefault(file.path, _moved_file(file, places))
    asked = sorted({words for part in parts for words in part.asked})
    evidence = next((part.evidence for part in parts if part.evidence is not None), None)
    columns = Remembered.in_columns(inputs) if inputs else ()
    return Remembered(parts[0].digests, tuple(asked), columns, tuple(files.values()), evidence, len(inputs))


def compact(inputs: list[KnownInput], files: list[KnownFile]) -> tuple[list[KnownInput], list[KnownFile]]:
    """The same with new numbers for the inputs, where most of them are not used any more."""
    used = [number for number, given in enumerate(inputs) if given.kind != UNUSED]
    if 2 * len(used) > len(inputs):
        return inputs, files
    places = {number: place for place, number in enumerate(used)}
    kept = [inputs[n]._replace(rests=_moved(inputs[n].rests, places)) for n in used]
    return kept, [_moved_file(file, places) for file in files]


def _moved(numbers: str, places: Mapping[int, int]) -> str:
    """Packed numbers of inputs that have other numbers now; without those that are not there any more."""
    return packed(places[number] for number in unpacked(numbers) if number in places)


def _moved_file(file: KnownFile, places: Mapping[int, int]) -> KnownFile:
    nothing_in = {name: _moved(read, places) for name, read in by_function(file.nothing_in).items()}
    return replace(file, inputs=_moved(file.inputs, places), nothing_in=in_one_text(nothing_in))


def in_one_text(numbers: Mapping[str, str]) -> str:
    """Packed numbers by functions as one text: each run reads it of all files, and few look into it."""
    return _BETWEEN.join(part for item in numbers.items() for part in item)


def by_function(text: str) -> dict[str, str]:
    """What `in_one_text` had put together."""
    cut = text.split(_BETWEEN)
    return dict(zip(cut[::2], cut[1::2], strict=False))
