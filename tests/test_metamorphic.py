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
    ("while-true", "100dab3f"): "a limit that a handler asks for first is told of `while test` only (exceptions.md)",
    ("while-true", "0b5d6534"): "that a test is handed a setting is told of `while test` only (loops.md)",
}


def digest(program) -> str:
    """What tells a program from the others, wherever it stands: 8 hexadecimal digits of its text."""
    return hashlib.sha256("\0".join(f"{k}\0{v}" for k, v in sorted(program.files.items())).encode()).hexdigest()[:8]


@functools.cache
def programs() -> tuple[object, ...]:
    """In the order of their digests: who adds a program or moves one changes nothing for the others."""
    usable = (p for p in metamorphic.all_programs() if not metamorphic.is_about_form(p) and metamorphic.is_readable(p))
    return tuple(sorted(usable, key=digest))


def is_in_sample(program) -> bool:
    return int(digest(program), 16) % ONE_IN == 0 or any(document in program.name for document in WHOLE)


@functools.cache
def said_before(name: str) -> object:
    return metamorphic.findings(next(p for p in programs() if p.name == name).files)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_in_other_words(name: str) -> None:
    rewrite = metamorphic.rewrites.ALL[name]
    tried = 0
    wrong = []
    sample = filter(is_in_sample, programs())
    # of a form that is rare, the others as well, until one has it
    others = (program for program in programs() if tried == 0 and not is_in_sample(program))
    for program in itertools.chain(sample, others):
        if tried == MOST:
            break
        difference = metamorphic.differences(program, said_before(program.name), rewrite)
        if difference is None or (name, digest(program)) in KNOWN:
            continue
        tried += 1
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
