"""Writing a changed file: whole or not at all, with its mode, through links, and never over somebody else's change."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path


class NotWritten(Exception):
    """The file was left as it is; the message says why."""


def write(path: Path, old: bytes, new: bytes) -> None:
    """Put `new` where `old` was. A symbolic link stays one: what it points to is written.

    The new content is complete on the disk before it takes the file's place. Raises `NotWritten` if the file does not
    hold `old` any more, is not an ordinary file, or cannot be written.
    """
    try:
        target = path.resolve(strict=True)
        status = target.stat()
        if not stat.S_ISREG(status.st_mode):
            raise NotWritten("is not an ordinary file")
        if not os.access(target, os.W_OK):
            raise NotWritten("is write-protected")
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".ferrule", dir=target.parent)
    except OSError as error:
        raise NotWritten(error.strerror or str(error)) from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(new)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, stat.S_IMODE(status.st_mode))
        with contextlib.suppress(OSError):
            # only root may give files away
            os.chown(name, status.st_uid, status.st_gid)
        if target.read_bytes() != old:
            raise NotWritten("was changed since it was read")
        os.replace(name, target)
    except OSError as error:
        raise NotWritten(error.strerror or str(error)) from None
    finally:
        with contextlib.suppress(OSError):
            os.unlink(name)
