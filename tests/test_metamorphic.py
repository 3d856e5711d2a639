"""Of the same program in other words the linter says the same: a sample of what `benchmarks/metamorphic.py` tries."""

from __future__ import annotations

import functools

import pytest
from support import benchmark

metamorphic = benchmark("metamorphic")

#: documents whose programs are all tried, as far as they stand at the beginning; of all others one in so many
WHOLE = ("forms.md", "kept_tests.md", "branches.md", "p2p.md")
ONE_IN = 25
#: programs for each rewrite
MOST = 24
#: rewrites of which so much is still open that the benchmark alone measures them
OPEN = frozenset({"one-round", "local-function", "helper", "iterator"})
#: of the values and calls, those that agree
CARRIED = frozenset({"test-method", "test-lambda", "test-any", "test-identity", "decorator"})
FAMILIES = (metamorphic.rewrites.control, metamorphic.rewrites.exits, metamorphic.rewrites.extracted)
NAMES = sorted({rewrite.name for family in FAMILIES for rewrite in family.REWRITES} - OPEN | CARRIED)
#: where the other form is known to be another matter, or where the analysis still falls short, and why
KNOWN = {
    ("iterator", "tests/dataflow/loops.md:677"): "of the end of data that is caught by hand the text tells more",
    ("iterator", "tests/dataflow/order.md:420"): "that a set of one key has no order is told of `for` loops only",
    (
        "added-else",
        "tests/dataflow/guesses.md:276",
    ): "that ranks which raise hand nothing back is told of no `else`",
    ("two-assignments", "tests/dataflow/loops.md:428"): "which context is entered is told of `a if b else c` only",
    ("joined-and", "tests/dataflow/guesses.md:1048"): "that a file is a program is told of `__main__` alone in a test",
    ("one-assignment", "tests/dataflow/in_place.md:5"): "what is filled in place is told of statements only",
    ("while-true", "tests/dataflow/shapes.md:600"): "how many items a share takes is told of `for` loops only",
    ("iterator", "tests/dataflow/loops.md:1760"): "that a loop takes one round is told of `for` loops only",
}


@functools.cache
def sample() -> tuple[object, ...]:
    """Programs that stay the same from run to run as long as nobody adds one."""
    chosen = []
    for i, program in enumerate(p for p in metamorphic.all_programs() if not metamorphic.is_about_form(p)):
        wanted = i % ONE_IN == 0 or any(document in program.name for document in WHOLE)
        if wanted and metamorphic.is_readable(program):
            chosen.append(program)
    return tuple(chosen)


@functools.cache
def said_before(name: str) -> object:
    return metamorphic.findings(next(p for p in sample() if p.name == name).files)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_in_other_words(name: str) -> None:
    rewrite = metamorphic.rewrites.ALL[name]
    tried = 0
    for program in sample():
        if tried == MOST:
            break
        difference = metamorphic.differences(program, said_before(program.name), rewrite)
        if difference is None:
            continue
        tried += 1
        if (name, program.name) in KNOWN:
            continue
        text = "\n".join(f"--- {path}\n{source}" for path, source in difference.rewritten.items())
        told = f"{program.name}: lost {dict(difference.lost)}, new {dict(difference.gained)}\n{text}"
        assert not difference.silenced and not difference.blamed, told
    assert tried


def test_a_rewrite_changes_the_form() -> None:
    source = "def f(a, x):\n    if a and x:\n        return 1\n    else:\n        return 2\n"
    other = "def f(a, x):\n    if not (a and x):\n        return 2\n    else:\n        return 1\n"
    swap = metamorphic.rewrites.ALL["swap-arms"]
    assert metamorphic.rewritten({"main.py": source}, swap) == {"main.py": other}
    assert metamorphic.rewritten({"main.py": "x = 1\n"}, swap) is None
