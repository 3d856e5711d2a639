"""Facts of files that were read before, by the content of the file.

One JSON file an entry (it carries its own checksum), in a folder of the project. A cache must never be the reason
that a run fails or says something else: whatever is wrong with it, the file is read anew. Entries are data, never
code (no pickle).
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import ferrule_lint
from ferrule_lint.project.files import in_place_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from ferrule_lint.facts.outline import LazyFacts
    from ferrule_lint.facts.types import FileFacts

FOLDER = ".ferrule_cache"
#: folders in it: facts by version, results of runs
_FACTS = re.compile(r"[0-9a-f]{16}")
_ENTRIES = re.compile(r"[0-9a-f]{16}|results")
#: what all entries of a folder may take up; 500,000 lines of Python take 30 MB
MOST_BYTES = 512_000_000
_PACKAGE = Path(ferrule_lint.__file__).parent


@cache
def facts_version() -> str:
    """What facts depend on besides the file: the code that makes them, and the Python whose parser it uses."""
    digest = hashlib.sha256(f"{ferrule_lint.__version__} {sys.version_info[:2]}".encode())
    for part in ("frontend", "facts"):
        for path in sorted((_PACKAGE / part).glob("*.py")):
            with contextlib.suppress(OSError):
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class FactsCache:
    """The cache in `folder`, which is made on the first write."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._entries = folder / facts_version()
        self._writable: bool | None = None
        self.hits = 0

    @staticmethod
    def key(source: bytes) -> str:
        """The name of the entry for a file with this content."""
        return _key(hashlib.sha256(source).hexdigest())

    def _path(self, key: str) -> Path:
        return self._entries / key[:2] / f"{key[2:]}.json"

    def load(self, source: bytes, otherwise: Callable[[], FileFacts]) -> LazyFacts | None:
        """The facts of a file with this content, if there is an entry for it; `otherwise` makes them anew, should the
        rest of the entry turn out to be damaged when it is read."""
        from ferrule_lint.facts import outline

        try:
            facts = outline.load(self._path(self.key(source)).read_bytes().decode("ascii"), otherwise)
        except Exception:
            # a damaged or foreign entry can fail in any way
            return None
        self.hits += 1
        return facts

    def of_digest(self, digest: str) -> LazyFacts | None:
        """The facts of a file that had a content with this digest (SHA-256), if they are still there."""
        from ferrule_lint.facts import outline

        try:
            facts = outline.load(self._path(_key(digest)).read_bytes().decode("ascii"), _gone)
            _ = facts.whole
        except Exception:
            return None
        return facts

    def store(self, source: bytes, facts: FileFacts) -> None:
        """Keep `facts`; silently not, if the folder cannot be written or the disk is full."""
        from ferrule_lint.facts import codec, outline

        if self._writable is False:
            return
        path = self._path(self.key(source))
        try:
            if self._writable is None:
                self._prepare()
            path.parent.mkdir(exist_ok=True)
            write_entry(path, outline.dump(facts).encode("ascii"))
        except OSError:
            self._writable = False
        except (codec.CodecError, RecursionError, ValueError):
            # facts that have no text (nested too deeply, lone surrogates) are made anew each time
            return

    def forget(self) -> None:
        """Drop the oldest entries while there are more than `MOST_BYTES` of them, those of other versions included."""
        entries: list[tuple[float, int, str]] = []
        with contextlib.suppress(OSError):
            for part in self.folder.iterdir():
                if _FACTS.fullmatch(part.name) and not part.is_symlink():
                    for folder, _, names in os.walk(part):
                        for name in names:
                            status = os.lstat(os.path.join(folder, name))
                            entries.append((status.st_mtime, status.st_size, os.path.join(folder, name)))
        left = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries):
            if left <= MOST_BYTES:
                break
            with contextlib.suppress(OSError):
                os.unlink(path)
            left -= size

    def _prepare(self) -> None:
        prepare(self.folder)
        self._entries.mkdir(exist_ok=True)
        self._writable = True


def _key(digest: str) -> str:
    return hashlib.sha256(f"{facts_version()} {digest}".encode()).hexdigest()


def _gone() -> FileFacts:
    raise LookupError("damaged, and its source is not at hand")


def prepare(folder: Path) -> None:
    """Make the folder of a cache, which version control is to ignore."""
    folder.mkdir(parents=True, exist_ok=True)
    ignore = folder / ".gitignore"
    if not ignore.exists():
        write_entry(ignore, b"*\n")


def clean(folder: Path) -> int:
    """Delete what a cache has in `folder`, and the folder if nothing else is in it; how many entries there were.

    Raises OSError.
    """
    count = 0
    for part in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not _ENTRIES.fullmatch(part.name) or part.is_symlink() or not part.is_dir():
            continue
        for entry in sorted(part.rglob("*"), reverse=True):
            if entry.is_dir() and not entry.is_symlink():
                entry.rmdir()
            else:
                entry.unlink()
                count += 1
        part.rmdir()
    if folder.is_dir() and [path.name for path in folder.iterdir()] == [".gitignore"]:
        (folder / ".gitignore").unlink()
        folder.rmdir()
    return count


def write_entry(path: Path, *parts: bytes) -> None:
    """Write `path` as a whole or not at all, also when two runs write it at once."""
    with in_place_of(path, prefix=".tmp-") as (file, _):
        file.writelines(parts)
