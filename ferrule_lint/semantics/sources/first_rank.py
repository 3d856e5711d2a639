"""The first rank under its many names: `get_rank() == 0`, `is_main_process()`, a flag or attribute that holds either.

Tests for it are the same test wherever they stand, because a rank never changes: so "the others wait, the first works,
the first waits" is balanced however the two halves ask. A value says in `Value.rank` what it is: "#world" is the rank
itself, "first:world" the test for the first, "!first:world" its opposite.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ferrule_lint.semantics.domain.conditions import Atom, Formula, Negation, negate
from ferrule_lint.semantics.domain.lattice import Divergence, Value

_KEY = "@first:"
#: the test for the first rank of the job
OF_JOB = _KEY + "world"
_FIRST = re.compile(r"main|master|chief|zero|rank_?0|(^|_)first|primary|leader|coordinator", re.IGNORECASE)
_OTHER = re.compile(r"(^|_)(not|last|stage|non)(_|$)", re.IGNORECASE)
_NUMBER = re.compile(r"(rank|rank_id|process_index|process_idx|proc_rank|proc_id|procid|localid)$", re.IGNORECASE)
_SCOPE = re.compile(r"local|node|group|intra|inter", re.IGNORECASE)


def named(value: Value, name: str, group: str = "") -> Value:
    """A value that differs by rank, with what its name says that it is; `group` tells one of unknown axes."""
    divergence = value.divergence
    if divergence is None or divergence.kind != "rank" or ("?" in divergence.axes and not group):
        return value
    axes = [group] if "?" in divergence.axes else sorted(divergence.axes)
    scope = ",".join([*axes, *sorted({w.lower() for w in _SCOPE.findall(name)})])
    if _OTHER.search(name):
        return value
    if _FIRST.search(name):
        return value._replace(rank=f"first:{scope}")
    return value._replace(rank=f"#{scope}") if _NUMBER.search(name) else value


def of_single(a: Value, b: Value, joined: Value) -> Value:
    """What settings have chosen: the number of this rank, or 0, since there is one process (`rank, world = 0, 1`)."""
    for one, other in ((a, b), (b, a)):
        if one.rank.startswith("#") and other.const == "0" and not other.rank and joined.divergence is not None:
            return joined._replace(rank=one.rank)
    return joined


def equals_zero(value: Value) -> Formula | None:
    """`rank == 0`."""
    return _atom(value, value.rank[1:]) if value.rank.startswith("#") and value.divergence is not None else None


def truth(value: Value) -> Formula | None:
    """The test that a flag holds, or that the number of a rank is when it stands for one."""
    if value.divergence is None or not value.rank:
        return None
    head, _, scope = value.rank.rpartition(":")
    if head:
        atom = _atom(value, scope)
        return negate(atom) if head.startswith("!") else atom
    return negate(_atom(value, value.rank[1:]))


def _atom(value: Value, scope: str) -> Formula:
    divergence: Divergence | None = value.divergence
    return Atom(_KEY + scope, divergence, value.deps)


def of(formula: Formula) -> str:
    """What a value is that holds the outcome of a test."""
    if type(formula) is Negation and type(formula.operand) is Atom and formula.operand.key.startswith(_KEY):
        return "!first:" + formula.operand.key.removeprefix(_KEY)
    if type(formula) is Atom and formula.key.startswith(_KEY):
        return "first:" + formula.key.removeprefix(_KEY)
    return ""


def has_alone(value: Value) -> bool:
    """Whether the first rank of the job alone has something: no other is in what it is in with another program."""
    return value.absent == (OF_JOB, False)


def is_of_one(formula: Formula) -> bool:
    """Whether a test holds for one rank alone, of the job or of a group that cannot be told: the first, `rank == src`.
    On the first stage there may be more."""
    divergence = formula.divergence if type(formula) is Atom else None
    if divergence is None or divergence.kind != "rank" or divergence.axes.isdisjoint(("world", "?")):
        return False
    assert type(formula) is Atom
    return is_test(formula.key) or " == " in formula.key


def asks_for_one(key: str) -> bool:
    """Whether a test, by its key, is one for a single rank: for the first, or `rank == src`, also of a parameter that
    is called so."""
    asked, _, other = key.partition(" == ")
    return is_test(key) or (bool(other) and any(_NUMBER.search(side) for side in (asked, other)))


def is_first(outcomes: Mapping[str, bool]) -> bool:
    """Whether it is the first rank, of whatever, for which tests come out so."""
    return any(outcome and key.startswith(_KEY) for key, outcome in outcomes.items())


def is_test(key: str) -> bool:
    """Whether a test, by its key, is one for the first rank: it means the same wherever it stands."""
    return key.startswith(_KEY)
