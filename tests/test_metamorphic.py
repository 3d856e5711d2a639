"""Of the same program in other words the linter says the same: a sample of what `benchmarks/metamorphic.py` tries."""

from __future__ import annotations

import functools
import hashlib
import itertools

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
#: (rewrite, digest of a program) -> why the other form is known to be another matter, or where the analysis falls short
KNOWN = {
    ("two-assignments", "f96e285b"): "which context is entered is told of `a if b else c` only (loops.md)",
}


def digest(program) -> str:
    """What tells a program from the others, wherever it stands: 8 hexadecimal digits of its text."""
    return hashlib.sha256("\0".join(f"{k}\0{v}" for k, v in sorted(program.files.items())).encode()).hexdigest()[:8]


@functools.cache
def sample() -> tuple[object, ...]:
    """Programs in the order of their digests: who adds a program or moves one changes nothing for the others."""
    chosen = []
    for program in metamorphic.all_programs():
        wanted = int(digest(program), 16) % ONE_IN == 0 or any(document in program.name for document in WHOLE)
        if wanted and not metamorphic.is_about_form(program) and metamorphic.is_readable(program):
            chosen.append(program)
    return tuple(sorted(chosen, key=digest))


@pytest.mark.parametrize("name", NAMES)
def test_the_same_in_other_words(name: str) -> None:
    rewrite = metamorphic.rewrites.ALL[name]
    tried = 0
    wrong = []
    # of a form that is rare, the others as well, until one has it
    others = (program for program in metamorphic.all_programs() if tried == 0 and metamorphic.is_readable(program))
    for program in itertools.chain(sample(), others):
        if tried == MOST:
            break
        if metamorphic.rewritten(program.files, rewrite) is None:
            continue
        difference = metamorphic.differences(program, metamorphic.findings(program.files), rewrite)
        if difference is None:
            continue
        tried += 1
        if (name, digest(program)) in KNOWN:
            continue
        text = "\n".join(f"--- {path}\n{source}" for path, source in difference.rewritten.items())
        told = (
            f"{program.name} ({digest(program)}): lost {dict(difference.lost)}, new {dict(difference.gained)}\n{text}"
        )
        if difference.silenced or difference.blamed:
            wrong.append(told)
    assert tried
    assert not wrong, wrong


def test_a_rewrite_changes_the_form() -> None:
    source = "def f(a, x):\n    if a and x:\n        return 1\n    else:\n        return 2\n"
    other = "def f(a, x):\n    if not (a and x):\n        return 2\n    else:\n        return 1\n"
    swap = metamorphic.rewrites.ALL["swap-arms"]
    assert metamorphic.rewritten({"main.py": source}, swap) == {"main.py": other}
    assert metamorphic.rewritten({"main.py": "x = 1\n"}, swap) is None
