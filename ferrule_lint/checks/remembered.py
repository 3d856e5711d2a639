"""What an earlier run found out about files, and whether it would find the same now.

The findings of a file depend on its inputs (see `semantics.project.reads`): parts of files, questions that the outlines
of all files answer, and questions that are worked out from other inputs (what the project shards, how it seeds). Where
each says what it said, the file need not be looked at again; and an answer whose own inputs say what they said need not
be worked out again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence

from ferrule_lint.checks.edits import OF_DEFINITIONS, Digests, Earlier, Edits
from ferrule_lint.checks.known import (
    UNUSED,
    FileResult,
    KnownFile,
    KnownInput,
    Remembered,
    as_kept,
    by_function,
    compact,
)
from ferrule_lint.checks.moved import in_its_place
from ferrule_lint.checks.packed import packed, unpacked
from ferrule_lint.checks.questions import ASKED, OF_ALL, OF_FILES, QUESTIONS, SAID, WORKED_OUT
from ferrule_lint.checks.reread import reread
from ferrule_lint.checks.settling import Settling
from ferrule_lint.checks.written import written
from ferrule_lint.facts import parts
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.summary import Summary
from ferrule_lint.semantics.project.evidence import taken_over
from ferrule_lint.semantics.project.reads import UNKNOWN_ANSWER, Input


class Answers:
    """What an analysis says of inputs now, and which of those that an earlier run knew still say what they said."""

    def __init__(self, analysis: Analysis, known: Remembered, digests: Digests, earlier: Earlier) -> None:
        self.digests = digests
        self.known = known
        self._inputs = known.inputs()
        self._files = {file.path: file for file in known.files}
        self._analysis = analysis
        self.reads = analysis.names.reads
        self._said: dict[Input, str] = {}
        #: what functions and attributes say now, and those that are being read
        self._texts: dict[Input, str] = {}
        self._being_read: dict[Input, Summary] = {}
        #: what was found, once that is known, and what of it others are told
        self.results: tuple[FileResult, ...] = ()
        self._lent: Remembered | None = None
        edits = self._edits = Edits(analysis, (known.digests, digests), earlier, map(parts.read, known.asked))
        #: which of the known inputs say what they said
        self._settling = Settling(self._inputs, self._says_the_same)
        if known.columns and edits.paths:
            self._compare(edits)
        else:
            self._settling.questions = {n for n, given in enumerate(self._inputs) if given.kind in ASKED}
            self._settling.settled = self._settling.questions
        if known.columns:
            self.reads.earlier = self.recall

    def of(self, question: Input) -> str:
        """A digest of what the answer to a question is."""
        if question not in self._said:
            kind, name = question
            number = self.reads.known(question)
            if number is not None and kind in SAID and self._stands(number, kind) and self._inputs[number].answer:
                return self._inputs[number].answer
            self._said[question] = ""  # what says something of itself says nothing for certain
            with self.reads.apart(), self._analysis.light.apart():
                if kind in SAID:
                    self._write(question)
                else:
                    self._said[question] = _digest((OF_ALL.get(kind) or WORKED_OUT[kind])(self._analysis, name))
        return self._said[question]

    def _write(self, question: Input) -> None:
        """Note what a function or attribute says."""
        kind, name = question
        try:
            said = written(SAID[kind](self._analysis, name), self.of)
        except Exception:
            return  # the file that it is in is checked again, and there the error is reported
        if said is not None:
            self._said[question], self._texts[question] = said.digest(), said.text()

    def recall(self, question: Input) -> object:
        """What a function or attribute says, if it says what it said; else `UNKNOWN_ANSWER`."""
        number = self.reads.known(question)
        known = self._inputs[number] if number is not None and number < len(self._inputs) else None
        if number is None or known is None or not known.text:
            return UNKNOWN_ANSWER
        if number in self._settling.asked or self._settling.is_open(number):
            return UNKNOWN_ANSWER
        if question in self._being_read:
            return self._being_read[question]
        if not self._settling.hold([number]) or number in self._settling.asked:
            return UNKNOWN_ANSWER
        root = self._being_read[question] = Summary(None)
        try:
            with self.reads.apart(), self._analysis.light.apart():
                found = reread(known.text, self._analysis, self._edits.moved, root)
        except Exception:
            # what it names may be gone, and a foreign entry can fail in any way
            return UNKNOWN_ANSWER
        finally:
            del self._being_read[question]
        self.reads.rests[question] = tuple(unpacked(known.rests))
        return found

    def still_true(self, paths: Iterable[str]) -> dict[str, FileResult]:
        """The results for those of `paths` that would come out as they did."""
        found = (self._still_true(self._files[path]) for path in paths if path in self._files)
        return {result.path: result for result in found if result is not None}

    def nothing_in(self, path: str) -> dict[str, str]:
        """The functions of a file in which nothing was found, and nothing would be now; what each rests on."""
        known = self._files.get(path)
        found = by_function(known.nothing_in) if known is not None else {}
        return {name: read for name, read in found.items() if self._settling.hold(unpacked(read))}

    def _still_true(self, file: KnownFile) -> FileResult | None:
        """A result that would come out as it did, but for the places that it shows; else None."""
        read = unpacked(file.inputs)
        lines = {number for number in self._settling.changed.intersection(read) if self._inputs[number].kind == "file"}
        if not self._settling.hold([number for number in read if number not in lines]):
            return None
        if not lines:
            return FileResult(
                file.path, file.findings, frozenset(read), self.reads, file.statistics, file.shown, file.nothing_in
            )
        findings = [in_its_place(finding, self._edits.moved) for finding in file.findings]
        if None in findings:
            return None
        still = tuple(finding for finding in findings if finding is not None)
        return FileResult(file.path, still, frozenset(read), self.reads, file.statistics, nothing_in=file.nothing_in)

    def remembered(self, results: Sequence[FileResult]) -> Remembered:
        """Results as they are kept, and beside them what was known of files that were not asked for this time."""
        self._lent = None  # no more fixes are tried, and it is as large as what is kept
        done = {result.path for result in results}
        others = (file for file in self.known.files if file.path in self.digests and file.path not in done)
        still = [file for file in others if self._settling.hold(unpacked(file.inputs), ask=False)]
        return self._kept([*map(as_kept, results), *still])

    def _kept(self, files: list[KnownFile]) -> Remembered:
        """Files with all that their results rest on."""
        asked = {tuple(parts.written(words)) for words in self.reads.asked}.union(self.known.asked)
        # whether anything still rests on an input is seen when there are a tenth more: it takes longer than all else
        counted = self.known.counted
        tidy = not counted or 10 * (len(self.reads.inputs) - counted) > counted
        inputs, evidence = list(self._all_inputs(files, tidy)), self._analysis.sharding.evidence
        kept = self.known.evidence if evidence is None else evidence.kept()
        if tidy:
            inputs, files = compact(inputs, files)
            counted = len(inputs)
        columns = Remembered.in_columns(inputs)
        return Remembered(dict(self.digests), tuple(sorted(asked)), columns, tuple(files), kept, counted)

    def take_over_evidence(self) -> None:
        """Go by what the earlier run knew of what the project shards, if this one would gather the same."""
        kept, sharding = self.known.evidence, self._analysis.sharding
        number = self.reads.number(_SHARDING)
        known = number < len(self._inputs) and self._inputs[number].kind == _SHARDING[0]
        # it may have to be gathered to see that it is the same
        if kept is not None and known and self._settling.hold([number]) and sharding.evidence is None:
            sharding.take_over(taken_over(kept))

    def lend(self) -> Remembered:
        """What this analysis has found, for one of the same project in which some files are others: a fix that is tried
        changes next to nothing."""
        if self._lent is None:
            self._lent = self._kept([*map(as_kept, self.results)])
        return self._lent

    def close(self) -> None:
        """Nothing more is asked of it; see `Analysis.close`."""
        self.__dict__.clear()

    def lent_to(self, other: Analysis) -> Answers:
        """What such an analysis knows then."""
        modules = self._analysis.names.modules
        facts = {self.digests[path]: modules[path].facts for path in modules}
        now = {
            path: self.digests[path] if path in modules and modules[path].facts is module.facts else ""
            for path, module in other.names.modules.items()
        }
        return Answers(other, self.lend(), now, facts.get)

    def files_of(self, result: FileResult) -> set[str]:
        """The files of which something was read for a result, also for what functions and attributes say."""
        seen, left, found = set[int](), list(result.read), set[str]()
        while left:
            number = left.pop()
            kind, name = given = self.reads.inputs[number]
            if kind not in SAID:
                found.add(name.rpartition(":")[0] if kind in OF_DEFINITIONS else name)
            elif number not in seen:
                seen.add(number)
                known = self._inputs[number].rests if number < len(self._inputs) else ""
                left += self.reads.rests.get(given) or unpacked(known)
        return found

    # ------------------------------------------------------------------ which inputs say what they said
    def _compare(self, edits: Edits) -> None:
        settling = self._settling
        for number, given in enumerate(self._inputs):
            question = (given.kind, given.name)
            if given.kind in ASKED:
                settling.questions.add(number)
            elif given.kind not in OF_FILES:
                if not edits.leave(question):
                    settling.changed.add(number)
            elif not edits.leave_answer(question) and given.answer != self.of(question):
                settling.changed.add(number)
        # what has read nothing can be seen by asking alone
        for number in sorted(number for number in settling.questions if not self._inputs[number].rests):
            settling.hold([number])
        settling.settled |= settling.questions - self._concerned(settling.changed)

    def _concerned(self, changed: set[int]) -> set[int]:
        """What rests on something that has changed, directly or not. All other questions say what they said."""
        concerned, words = set(changed), set(map(str, changed))
        again = True
        while again:
            backward: list[int] = []
            # most rest on what has a smaller number, and many on the same: what does not is settled for all of those
            left_alone: set[str] = set()
            for number in sorted(self._settling.questions - concerned):
                text = self._inputs[number].rests
                if text in left_alone:
                    continue
                rests = text.split()
                if not words.isdisjoint(rests):
                    concerned.add(number)
                    words.add(str(number))
                elif rests and int(rests[-1]) > number:
                    backward.append(number)
                else:
                    left_alone.add(text)
            late = [n for n in backward if not words.isdisjoint(self._inputs[n].rests.split())]
            concerned.update(late)
            words.update(map(str, late))
            again = bool(late)
        return concerned

    def _says_the_same(self, number: int) -> bool:
        """Work out the answer to a question: whether it is the one that it was."""
        given = self._inputs[number]
        return given.answer != "" and given.answer == self.of((given.kind, given.name))

    # ------------------------------------------------------------------ what is kept of inputs
    def _all_inputs(self, files: Iterable[KnownFile], tidy: bool) -> Iterator[KnownInput]:
        """All inputs, each at the place of its number: with their answers, if a file rests on them, directly or not.
        Unless it is to be `tidy`, what says what it said is kept without asking who rests on it."""
        left, kept = set[int]().union(*(unpacked(file.inputs) for file in files)), set[int]()
        if not tidy:
            kept = {n for n, known in enumerate(self._inputs) if self._stands(n, known.kind)}
            left = (left | (self._settling.asked & self._settling.settled)) - kept
        found: dict[int, KnownInput] = {}
        while left:
            number = left.pop()
            found[number] = self._input(number)
            left.update(n for n in unpacked(found[number].rests) if n not in found and n not in kept)
        for number, (_, name) in enumerate(self.reads.inputs):
            if number in kept:
                yield self._as_it_was(self._inputs[number])
            else:
                yield found.get(number) or KnownInput(UNUSED, name)

    def _as_it_was(self, known: KnownInput) -> KnownInput:
        return known._replace(text=self._edits.relined(known.text)) if known.text else known

    def _input(self, number: int) -> KnownInput:
        question = kind, name = self.reads.inputs[number]
        if kind not in QUESTIONS:
            return KnownInput(kind, name)
        known = self._inputs[number] if number < len(self._inputs) else None
        if known is not None and known.kind == kind and self._stands(number, kind):
            return self._as_it_was(known)
        answer = self.of(question)
        rests = packed(self.reads.rests.get(question, ())) if kind in ASKED else ""
        return KnownInput(kind, name, answer, rests, self._texts.get(question, ""))

    def _stands(self, number: int, kind: str) -> bool:
        """Whether all that is known of an input is right as it is."""
        if kind in ASKED:
            return number in self._settling.settled and number not in self._settling.asked
        return number not in self._settling.changed


_SHARDING = ("sharding", "")


def _digest(said: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(said).encode("utf-8", "surrogatepass")).hexdigest()[:24]
