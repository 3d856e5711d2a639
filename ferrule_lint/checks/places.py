"""What stands at a place that a finding names: calls, tests of branches, and what the function around issues."""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.plain import held_tests, spelled_out
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Step
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.text import position
from ferrule_lint.semantics.domain.trace import Choice, Trace
from ferrule_lint.semantics.project.entities import FunctionInfo

#: what a test decides, by the form of the choice: what a reader sees there
_DECIDES = {
    "if": "decides this `if`",
    "assertion": "decides this `assert`",
    "conditional expression": "decides which side of this expression runs",
    "short circuit": "decides whether the rest of this expression runs",
    "filter": "decides what this comprehension leaves out",
    "exception": "decides by whether it raises",
}


def decision(choice: Choice) -> Step:
    """The place of a test, as a step of a witness."""
    what = _DECIDES.get(choice.form, f"decides ({choice.form})")
    return Step("condition", choice.path, choice.pos[0], choice.pos[1], f"`{choice.text}` {what}")


def calls_at(analysis: Analysis, path: str, line: int, column: int) -> Iterator[tuple[FunctionInfo | None, f.Call]]:
    """The calls that begin at a place, with the function that they stand in (None: at the top level of the file).

    There may be several: `a().b()` begins where `a()` does.
    """
    module = analysis.names.modules.get(path)
    for function, calls in module.calls() if module is not None else ():
        yield from ((function, call) for call in calls if call.pos[:2] == (line, column))


def trace_of(analysis: Analysis, function: FunctionInfo) -> Trace:
    """What a function issues as it stands, in no particular context."""
    known = analysis.frame_of(function)
    return known[0].trace if known is not None else ()


def body_at(analysis: Analysis, path: str, line: int, column: int) -> f.Body:
    """What runs before and after the call at a place: the body of its function, or the top level of its file."""
    for function, _ in calls_at(analysis, path, line, column):
        return analysis.names.modules[path].body if function is None else function.body
    return ()


def tests_at(analysis: Analysis, path: str, line: int, column: int) -> Iterator[f.Expr]:
    """The test at a place, if an `if` has one there."""
    module = analysis.names.modules.get(path)
    for _, body in module.bodies() if module is not None else ():
        for node in walk(body):
            if type(node) is f.If and (place := position(node.test)) is not None and place[:2] == (line, column):
                yield spelled_out(node.test, held_tests(body))
