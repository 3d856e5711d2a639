"""Is anybody working? CPU time of the ranks from /proc, where there is one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

#: clock ticks (mostly 10 ms) that count as standing still: the ranks' helper threads cost a little
NOISE = 1


def cpu_ticks(pids: Iterable[int]) -> int | None:
    """User and system time of these processes, in clock ticks; None if the system does not tell."""
    total = 0
    for pid in pids:
        try:
            text = Path(f"/proc/{pid}/stat").read_text()
        except FileNotFoundError:
            if not Path("/proc/self/stat").exists():
                return None
            continue
        except (OSError, UnicodeDecodeError):
            return None
        fields = text.rsplit(")", 1)[1].split()
        with contextlib.suppress(ValueError, IndexError):
            total += int(fields[11]) + int(fields[12])
    return total


class Activity:
    """Compares the CPU time at two looks."""

    def __init__(self) -> None:
        self._last: int | None = None

    def is_flat(self, pids: Iterable[int]) -> bool:
        """Has nobody worked since the last look? True where the system cannot tell."""
        now = cpu_ticks(pids)
        before, self._last = self._last, now
        if now is None:
            return True
        return before is not None and now - before <= NOISE
