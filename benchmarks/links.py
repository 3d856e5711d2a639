#!/usr/bin/env python3
"""Which link of the chain is missing in the cases that are not found: the collective, or that its condition differs?

    python benchmarks/links.py --mirror DIR --half unseen [--trees DIR] [--jobs N]

Of the unseen half it tells numbers only, and nothing of any case, so that it stays unseen. At the buggy commit of each
case it looks at what the analysis knows beside the recorded lines: whether something communicates there, and whether
the test or loop that decides is known to differ between ranks. Both are needed for a finding.
"""

from __future__ import annotations

import argparse
import collections
import concurrent.futures
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import cases as records

#: what a case's place is like, from the best that is known near its lines
EVENTS = ("nothing communicates there", "a guess communicates", "a collective is known")
TESTS = ("no test or loop there", "a test that is not known to differ", "a guess that it differs", "known to differ")


def look(path: str) -> Iterator[tuple[str, int, int]]:
    """What one run of the linter over a file knows: ("event" or "test", line, how much)."""
    import ferrule_lint.checks.run as run
    from ferrule_lint.__main__ import main
    from ferrule_lint.semantics.domain.conditions import atoms
    from ferrule_lint.semantics.domain.trace import CallTerm, Choice, Event, Loop, every_term

    found: list[tuple[str, int, int]] = []
    checked = run._trace

    def noted(frame, trace, name, body):  # type: ignore[no-untyped-def]
        for term in every_term(trace):
            if not records.same_file(getattr(term, "path", ""), path):
                continue
            if isinstance(term, Event):
                found.append(("event", term.pos[0], 1 + (term.confidence > 0)))
            elif isinstance(term, CallTerm) and term.summary.events:
                sure = min(term.confidence, max(e.confidence for e in term.summary.events)) > 0
                found.append(("event", term.pos[0], 1 + sure))
            elif isinstance(term, Choice | Loop):
                own = [a.divergence for a in atoms(term.formula)] if isinstance(term, Choice) else [term.trip]
                found.extend(("test", term.pos[0], 1 if d is None else 2 + (d.confidence > 0)) for d in own)
        yield from checked(frame, trace, name, body)

    run._trace = noted
    sys.argv = ["ferrule-lint", "--no-cache", "--isolated", "--exit-zero", "--quiet", path]
    with contextlib.suppress(SystemExit):
        main()
    yield from found


def known_of(case: records.Case, mirror: pathlib.Path, trees: pathlib.Path) -> tuple[int, int] | None:
    """How much is known of a case's collective and of its condition; None if it could not be run."""
    try:
        root = records.tree_at(mirror, trees, case, case.buggy_commit)
        command = [sys.executable, __file__, "--look", case.path]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=records.TIMEOUT_S)
        found = json.loads(done.stdout.splitlines()[-1])
    except (records.CannotRun, OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        return None
    at = case.condition_line and not case.condition_path
    asked = {"event": set(case.buggy_lines), "test": {case.condition_line} if at else set(case.buggy_lines)}

    def best(what: str) -> int:
        return max(
            (how for kind, line, how in found if kind == what and records.touches([line], asked[what])), default=0
        )

    return best("event"), best("test")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--look", metavar="PATH", help=argparse.SUPPRESS)
    parser.add_argument("--mirror", type=pathlib.Path, help="folder with clones as owner+name/repo")
    parser.add_argument("--half", choices=records.SETS, default="unseen")
    parser.add_argument("--trees", type=pathlib.Path, help="keep the extracted trees here")
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    if arguments.look:
        print("\n" + json.dumps(list(look(arguments.look))))
        return 0
    if arguments.mirror is None:
        parser.error("--mirror is needed")
    chosen = records.read_records(records.RECORDS)[0][arguments.half]
    with tempfile.TemporaryDirectory() as kept, concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        trees = arguments.trees or pathlib.Path(kept)
        known = list(pool.map(lambda case: known_of(case, arguments.mirror.resolve(), trees.resolve()), chosen))
    counts = collections.Counter(pair for pair in known if pair is not None)
    print(f"{sum(counts.values())} cases of {len(chosen)} ({arguments.half})")
    for (event, test), number in counts.most_common():
        print(f"{number:5}  {EVENTS[event]}; {TESTS[test]}")
    return 0 if sum(counts.values()) == len(chosen) else 2


if __name__ == "__main__":
    raise SystemExit(main())
