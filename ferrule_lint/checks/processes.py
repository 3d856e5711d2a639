"""Files are checked by several processes, where there is much to do.

They are forks, so that each has the facts of the project, and what is known of it, from the start; what two of them
come to ask both work out. Who gets which files depends on nothing but their number and the files: where a budget ends
something, it does so in each run.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ferrule_lint.checks.known import FileResult, Remembered
from ferrule_lint.findings import LintError
from ferrule_lint.semantics.project.entities import ModuleInfo
from ferrule_lint.semantics.project.reads import Reads

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

#: lines of files to check from which on a further process pays
WORTHWHILE = 30_000
#: stretches of neighbouring files that each process gets: they ask for the same, and no folder alone is one's burden
_STRETCHES = 8


@dataclass(frozen=True, slots=True)
class Share:
    """What one process has found: as it is, or as what is kept of it, from which whoever fails is left out."""

    results: tuple[FileResult, ...] = ()
    errors: tuple[LintError, ...] = ()
    kept: Remembered | None = None


Check = Callable[[Sequence[ModuleInfo]], Share]


def worth(modules: Sequence[ModuleInfo], jobs: int) -> int:
    """How many of at most `jobs` processes pay for checking some files; 1 where a process cannot be forked safely."""
    if jobs < 2 or sys.platform != "linux":
        return 1
    number = min(jobs, len(modules), sum(module.outline.lines for module in modules) // WORTHWHILE)
    if number < 2:
        return 1
    from multiprocessing import current_process

    # a worker of a pool may have no processes of its own
    return 1 if current_process().daemon else number


def shared_out(modules: Sequence[ModuleInfo], workers: int, check: Check) -> Iterator[Share]:
    """What `workers` processes find that share `modules`, by `check`. One that cannot be started, or fails, gives
    nothing: its files are missing in the result, and are left to who asked."""
    stretches = _stretches(modules, workers * _STRETCHES)
    running: list[tuple[BaseProcess, Connection]] = []
    try:
        for number in range(workers):
            own = [module for stretch in stretches[number::workers] for module in stretch]
            with suppress(OSError):
                running.append(_started(own, check))
        for _, result in running:
            with suppress(EOFError, OSError):
                yield result.recv()
    finally:
        for process, result in running:
            process.kill()
            process.join()
            result.close()


def _stretches(modules: Sequence[ModuleInfo], number: int) -> list[Sequence[ModuleInfo]]:
    """The files in their order, cut into stretches of about as many lines each."""
    most = sum(module.outline.lines for module in modules) / number
    found: list[list[ModuleInfo]] = [[]]
    lines = 0
    for module in modules:
        if lines and lines + module.outline.lines > most:
            found.append([])
            lines = 0
        found[-1].append(module)
        lines += module.outline.lines
    return list(found)


def _started(modules: Sequence[ModuleInfo], check: Check) -> tuple[BaseProcess, Connection]:
    """A process that checks some files, and where its result comes. Raises OSError."""
    from multiprocessing import get_context

    context = get_context("fork")
    result, sent = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(modules, check, sent), daemon=True)
    try:
        with warnings.catch_warnings():
            # there may be a thread that shows the progress, of which the fork needs nothing
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
    except OSError:
        result.close()
        raise
    finally:
        sent.close()
    return process, result


def _run(modules: Sequence[ModuleInfo], check: Check, sent: Connection) -> None:
    """The work of a process: whatever happens in it, it says nothing but its result."""
    with suppress(BaseException):
        share = check(modules)
        # what the numbers of inputs stand for is in what is kept
        plain = tuple(replace(one, read=frozenset(), reads=Reads()) for one in share.results)
        sent.send(replace(share, results=plain))
