"""How far a long run is, on the standard error of a terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

#: runs shorter than this (seconds) show nothing, and do not pay for importing rich
PATIENCE = 0.7


@contextmanager
def progress_bar(*, enabled: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """A function to report progress with: (what is done, how much is done, how much there is)."""
    if not enabled:
        yield None
        return
    start = time.monotonic()
    show: Callable[[str, int, int], None] | None = None
    with ExitStack() as stack:

        def report(stage: str, done: int, total: int) -> None:
            nonlocal show
            if show is None:
                if time.monotonic() - start < PATIENCE:
                    return
                show = _open(stack)
            show(stage, done, total)

        yield report


def _open(stack: ExitStack) -> Callable[[str, int, int], None]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    progress = stack.enter_context(Progress(*columns, console=Console(stderr=True), transient=True))
    task = progress.add_task("")

    def show(stage: str, done: int, total: int) -> None:
        progress.update(task, description=stage, completed=done, total=total)

    return show
