"""A process that outlives the one that started the ranks, if only to end what that has left behind.

Ranks die with their parent by themselves, but not what they have started: loader workers, subprocesses. The guard holds
one end of a pipe whose other end only the parent has. The parent writes the ranks' process groups into it. When the
pipe is closed without a good-bye, the parent is gone, and the guard kills those groups.
"""

from __future__ import annotations

import contextlib
import os
import signal
import warnings
from collections.abc import Iterable

#: what the parent writes when it has ended the ranks itself
_BYE = b"bye\n"


class Guard:
    """To be made before the ranks, which must not keep the pipe open: `leave` closes it in a rank."""

    def __init__(self) -> None:
        reading, self._writing = os.pipe()
        with warnings.catch_warnings():
            # Python 3.12 warns of threads in the parent: torch's own, of which the guard needs nothing
            warnings.simplefilter("ignore", DeprecationWarning)
            self._pid = os.fork()
        if self._pid == 0:
            with contextlib.suppress(BaseException):
                os.close(self._writing)
                _watch(reading)
            os._exit(0)
        os.close(reading)

    def watch(self, groups: Iterable[int]) -> None:
        """These process groups are not to survive this process."""
        with contextlib.suppress(OSError):
            os.write(self._writing, "".join(f"{group}\n" for group in groups).encode())

    def leave(self) -> None:
        """In a rank: the pipe is the parent's."""
        with contextlib.suppress(OSError):
            os.close(self._writing)

    def dismiss(self) -> None:
        """In the parent, when no rank is left."""
        with contextlib.suppress(OSError):
            os.write(self._writing, _BYE)
        self.leave()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)


def _watch(reading: int) -> None:
    # not in the terminal's process group: an interrupt is for the parent, which then ends the ranks
    os.setsid()
    # what the parent has open must not seem to be in use still
    for descriptor in (0, 1, 2):
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    os.closerange(3, reading)
    os.closerange(reading + 1, 65536)
    told = b""
    while data := os.read(reading, 1 << 16):
        told += data
    if not told.endswith(_BYE):
        for group in told.split():
            with contextlib.suppress(OSError, ValueError):
                os.killpg(int(group), signal.SIGKILL)
