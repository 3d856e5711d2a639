"""Process groups of the processes that are left: some ranks leave first, and the group counts the others only.

A launcher starts a process for each device, and a test admits one of each node, or the first few. They make a group
with a size and ranks of their own (`world_size=nodes`, `world_size // tp`, a written number), so that nobody waits for
those who have left. A test of a rank in that very group is another matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ferrule_lint.checks.places import body_at, tests_at
from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Finding
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.assigned import assignments
from ferrule_lint.semantics.domain.text import last_name, render

_CODES = frozenset({"FER102", "FER103", "FER401"})
_INIT = "init_process_group"
_NODES = re.compile(r"(^|_)(n|num)_?(nodes|machines|hosts)$|^(node|machine|host)_(rank|id|count)$")
_LOCAL = re.compile(r"(^|_)local_?(rank|id)($|_)", re.IGNORECASE)
_ENVIRONMENT = ("RANK", "WORLD_SIZE")


class _Guard(NamedTuple):
    """What a test of the rank admits: one of several ranks, or so many (as text)."""

    one_of_several: bool
    how_many: str


def without_those_who_left(analysis: Analysis, findings: Iterable[Finding]) -> list[Finding]:
    """Findings without those about ranks that are not in the group which the others make."""
    return [finding for finding in findings if not _is_of_survivors(analysis, finding)]


def _is_of_survivors(analysis: Analysis, finding: Finding) -> bool:
    if finding.code not in _CODES or finding.kind != "rank":
        return False
    asked = [s for s in finding.witness if s.role == "condition"]
    guards = [_guard(test) for s in asked for test in tests_at(analysis, s.path, s.line, s.column)]
    if not any(guard is not None for guard in guards):
        return False
    way = [s for s in finding.witness if s.role in ("call", "event")]
    return any(
        guard is not None and _makes_its_own(init, body, guard)
        for s in way
        for init, body in _groups_before(analysis, s.path, s.line, s.column)
        for guard in guards
    )


def _groups_before(analysis: Analysis, path: str, line: int, column: int) -> Iterator[tuple[f.Call, f.Body]]:
    """The calls that make the process group in a function, up to a call of it; with the body of the function."""
    body = body_at(analysis, path, line, column)
    for node in walk(body):
        if type(node) is f.Call and last_name(node.func) == _INIT and node.pos[:2] <= (line, column):
            yield node, body


def _guard(test: f.Expr) -> _Guard | None:
    while type(test) is f.Not:
        test = test.operand
    if type(test) is not f.Compare or len(test.ops) != 1:
        return None
    op, right = test.ops[0], test.rights[0]
    if op in ("==", "!="):
        shared = type(test.left) is f.Op and test.left.kind == "Mod" and right == f.Const("0")
        local = any(_LOCAL.search(name) for name in (last_name(test.left), *_variables(test.left)))
        return _Guard(shared or local, "" if shared or local else "1")
    if op in ("<", ">="):
        return _Guard(False, render(right))
    if op in ("<=", ">") and type(right) is f.Const and right.text.isdigit():
        return _Guard(False, str(int(right.text) + 1))
    if op in ("in", "not in") and type(right) is f.Sequence:
        return _Guard(False, str(len(right.elements)))
    return None


def _makes_its_own(init: f.Call, body: f.Body, guard: _Guard) -> bool:
    """Whether a process group is as large as what a test admits."""
    given = dict(init.keywords)
    size = given.get("world_size")
    if not guard.one_of_several:
        return size is not None and render(size) == guard.how_many
    sizes = [e for e in (size, given.get("rank")) if e is not None]
    if any(_NODES.search(last_name(e)) for e in sizes):
        return True
    made = [value for e in sizes if type(e) is f.Name for value, _ in assignments(body, e.id)]
    return any(_is_share(e) or _counts_nodes(e) for e in (*sizes, *made, *_environment(body, init)))


def _counts_nodes(expr: f.Expr) -> bool:
    """`int(os.getenv("NUM_NODES"))`, `os.environ["NODE_RANK"]`"""
    return any(_NODES.search(name.lower()) for name in _variables(expr))


def _variables(expr: f.Expr) -> list[str]:
    """The environment variables that an expression names."""
    texts = (node.text.strip("'\"") for node in walk((expr,)) if type(node) is f.Const)
    return [text for text in texts if text.isupper()]


def _is_share(expr: f.Expr) -> bool:
    return any(type(node) is f.Op and node.kind in ("FloorDiv", "Div") for node in walk((expr,)))


def _environment(body: f.Body, init: f.Call) -> Iterator[f.Expr]:
    """What the environment variables of the launcher are set to before the group is made."""
    for node in walk(body):
        if type(node) is not f.Assign or node.value is None or node.line >= init.pos[0]:
            continue
        for target in node.targets:
            named = type(target) is f.Subscript and last_name(target.base) == "environ"
            if named and type(target) is f.Subscript and render(target.index).strip("'\"") in _ENVIRONMENT:
                yield node.value
