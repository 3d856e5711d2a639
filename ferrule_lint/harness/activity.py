"""Is anybody working? CPU time and thread states of the ranks from /proc, where there is one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

#: clock ticks (mostly 10 ms) that count as standing still: the ranks' helper threads cost a little
NOISE = 1
#: looks in a row at which nobody worked before that is believed
LOOKS = 2


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


def wants_to_run(pid: int) -> bool:
    """Has the process a thread that runs, or would if it got a processor? CPU time misses the latter."""
    with contextlib.suppress(OSError, UnicodeDecodeError, IndexError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError):
                if (thread / "stat").read_text().rsplit(")", 1)[1].split()[0] in ("R", "D"):
                    return True
    return False


class Activity:
    """Compares the CPU time at two looks."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._flat = 0

    def is_flat(self, pids: Iterable[int]) -> bool:
        """Has nobody worked, nor wanted to, at the last looks? True where the system cannot tell."""
        processes = list(pids)
        now = cpu_ticks(processes)
        before, self._last = self._last, now
        if now is None:
            return True
        still = before is not None and now - before <= NOISE and not any(map(wants_to_run, processes))
        self._flat = self._flat + 1 if still else 0
        return self._flat >= LOOKS
