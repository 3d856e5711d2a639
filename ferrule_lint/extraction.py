"""Facts of many files: from the cache, else extracted here, or by several processes where there is much to do.

Facts depend on nothing but a file's bytes, so the order and the process do not matter.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ferrule_lint.project.cache import FactsCache

if TYPE_CHECKING:
    from ferrule_lint.facts.outline import Facts
    from ferrule_lint.facts.types import FileFacts

#: bytes of source that a further process has to save before it is worth starting
WORTHWHILE = 2_000_000
#: files that a process is given at once
_BATCH = 16
_PACKAGE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Unreadable:
    """The file system did not give the file."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unparsable:
    """The file is not Python."""

    line: int
    message: str
    column: int = 0


@dataclass(frozen=True, slots=True)
class Crashed:
    """The frontend failed: a bug of ours."""

    message: str


def read_facts(
    root: Path, paths: Sequence[str], cache: FactsCache | None, jobs: int, contents: Mapping[str, bytes] | None = None
) -> Iterator[tuple[str, Facts | Unreadable | Unparsable | Crashed]]:
    """What came of each of `paths` (relative to `root`), in no order; `contents` stand in for files."""
    contents = contents or {}
    missed: list[tuple[str, bytes]] = []
    for path in paths:
        try:
            source = contents[path] if path in contents else (root / path).read_bytes()
        except OSError as error:
            yield path, Unreadable(error.strerror or str(error))
            continue
        facts = cache.load(source, partial(_anew, source, cache)) if cache is not None else None
        if facts is None:
            missed.append((path, source))
        else:
            yield path, facts
    workers = min(jobs, sum(len(source) for _, source in missed) // WORTHWHILE)
    if workers > 1:
        done: set[str] = set()
        try:
            for path, outcome in _in_parallel(missed, cache, workers):
                done.add(path)
                yield path, outcome
            return
        except (OSError, RuntimeError, ImportError):
            # no processes to be had here (a sandbox, an interpreter without a main module): the rest alone
            missed = [item for item in missed if item[0] not in done]
    for path, source in missed:
        yield path, _extract(source, cache)


def _in_parallel(
    missed: Sequence[tuple[str, bytes]], cache: FactsCache | None, workers: int
) -> Iterator[tuple[str, FileFacts | Unreadable | Unparsable | Crashed]]:
    from concurrent.futures import ProcessPoolExecutor, as_completed
    from multiprocessing import get_context

    folder = None if cache is None else cache.folder
    # the largest first, so that none is begun last; spawned, because threads (a progress bar) do not survive a fork
    ordered = sorted(missed, key=lambda item: -len(item[1]))
    batches = [ordered[start::stride] for stride in [max(1, len(ordered) // _BATCH)] for start in range(stride)]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(_extract_all, [source for _, source in batch], folder): batch for batch in batches}
        try:
            for future in as_completed(running):
                batch = running.pop(future)
                for (path, _), outcome in zip(batch, future.result(), strict=True):
                    yield path, outcome
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _extract_all(sources: Sequence[bytes], folder: Path | None) -> list[FileFacts | Unreadable | Unparsable | Crashed]:
    """Runs in another process."""
    import gc

    # facts have no cycles; going through them takes longer than making them
    gc.disable()
    cache = None if folder is None else FactsCache(folder)
    return [_extract(source, cache) for source in sources]


def _anew(source: bytes, cache: FactsCache) -> FileFacts:
    """Facts of a file that has had some before, whose entry is damaged."""
    from ferrule_lint.frontend import lower

    facts = lower.extract(source)
    cache.store(source, facts)
    return facts


def _extract(source: bytes, cache: FactsCache | None) -> FileFacts | Unparsable | Crashed:
    from ferrule_lint.frontend import lower
    from ferrule_lint.frontend.errors import SourceError

    try:
        facts = lower.extract(source)
    except SourceError as error:
        return Unparsable(error.line, error.message, error.column)
    except Exception as error:
        return Crashed(describe_crash(error))
    if cache is not None:
        cache.store(source, facts)
    return facts


def describe_crash(error: Exception) -> str:
    """An error of the tool itself, with the place in the tool for the bug report."""
    place = ""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if Path(frame.filename).is_relative_to(_PACKAGE):
            place = f" in {Path(frame.filename).relative_to(_PACKAGE.parent).as_posix()}:{frame.lineno}"
            break
    detail = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return f"internal error ({detail}{place}); this is a bug in ferrule-lint, please report it"
