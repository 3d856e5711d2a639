"""What several findings rest on alike: one place to look at, which makes all of them true or false.

A reader who knows better contradicts one step of a witness, not twenty findings (Lee et al., "Sound non-statistical
clustering of static analysis alarms", VMCAI 2012, groups alarms by what they depend on for the same reason). Such
steps are sources of local data, files, clocks and absences, and what is said to be sharded; that ranks have numbers of
their own nobody doubts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from ferrule_lint.findings import Finding, Step
from ferrule_lint.reporters.paths import shown_path
from ferrule_lint.reporters.text import Line, visible

#: findings that have to share a step before it is named, and steps that are named at most
LEAST = 3
MOST_STEPS = 3


def lines(findings: Sequence[Finding], root: Path, cwd: Path) -> Iterator[Line]:
    """A line for each step that several findings rest on, the one with the most of them first."""
    for step, number in shared(findings):
        place = f"{shown_path(step.path, root, cwd)}:{step.line}:{step.column}"
        which = f"All {number} rest" if number == len(findings) else f"{number} of them rest"
        yield [(f"{which} on one step: {visible(step.note)} ", ""), (f"({visible(place)})", "dim")]


def shared(findings: Sequence[Finding]) -> list[tuple[Step, int]]:
    """The steps that three findings or more rest on, and how many do. A step all of whose findings rest on those
    before it as well is left out."""
    resting: dict[tuple[str, int, int], list[int]] = defaultdict(list)
    steps: dict[tuple[str, int, int], Step] = {}
    for number, finding in enumerate(findings):
        for step in finding.witness:
            place = (step.path, step.line, step.column)
            if _is_premise(step, finding) and number not in resting[place][-1:]:
                resting[place].append(number)
                steps.setdefault(place, step)
    named: list[tuple[Step, int]] = []
    covered: set[int] = set()
    for place in sorted(resting, key=lambda place: (-len(resting[place]), place)):
        numbers = resting[place]
        if len(numbers) >= LEAST and len(named) < MOST_STEPS and not covered.issuperset(numbers):
            covered.update(numbers)
            named.append((steps[place], len(numbers)))
    return named


def _is_premise(step: Step, finding: Finding) -> bool:
    return step.role == "wrap" or (step.role == "source" and finding.kind != "rank")
