"""How many processes a run may use."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

#: more than these do not pay
_MOST = 8
#: what a container may use of the processors that it sees: microseconds of each period, or "max"
#: (https://docs.kernel.org/admin-guide/cgroup-v2.html#cpu-interface-files)
QUOTA = Path("/sys/fs/cgroup/cpu.max")


def processors() -> int:
    """How many processors this process may use, rounded up; no more than pay."""
    try:
        seen = len(os.sched_getaffinity(0))
    except AttributeError:
        # not on this system
        seen = os.cpu_count() or 1
    return min(seen, _MOST, *_allowed())


def _allowed() -> list[int]:
    """What the container is given, if that is limited."""
    with suppress(OSError, ValueError):
        quota, period = QUOTA.read_text().split()
        if quota != "max":
            return [max(1, -(-int(quota) // int(period)))]
    return []
