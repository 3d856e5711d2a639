"""Files written as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` to `path`; its mode stays, and whoever reads it sees the old or the new content, whole.

    A link is followed: its target is replaced. Raises OSError, and then nothing has changed.
    """
    target = Path(os.path.realpath(path))
    with in_place_of(target, prefix=f".{target.name}.", suffix=".tmp") as (file, temporary):
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        os.chmod(temporary, target.stat().st_mode if target.exists() else 0o666 & ~_umask())


@contextlib.contextmanager
def in_place_of(target: Path, *, prefix: str, suffix: str = "") -> Iterator[tuple[BinaryIO, str]]:
    """A new file beside `target`, and its path: it takes the place of `target` when all is written, or else is gone."""
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=prefix, suffix=suffix)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file, temporary
        os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
