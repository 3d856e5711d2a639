"""What a process measures or draws for itself: another number on each rank, and a number on all of them.

`if self.start is None: self.start = time.time()` asks whether this has been done before, and ranks do so in step: they
differ in the time, not in having one.
"""

from __future__ import annotations

import re

from ferrule_lint.findings import Step
from ferrule_lint.semantics.domain.lattice import Divergence

#: how a step ends that makes a number of the rank's own data: `float(median(samples))`
READ = "reads the rank's own data"

#: calls that hand back a number, a date or a text, as a source names them
_NUMBERS = re.compile(
    r"`[\w.]*\b(time|perf_counter|monotonic|process_time|thread_time|default_timer|now|utcnow|today|random|rand|randn"
    r"|randint|uniform|normal|getpid|getppid|gethostname|node|uuid1|uuid4|token_hex|urandom|memory_allocated"
    r"|memory_reserved|max_memory_allocated|max_memory_reserved|memory_stats|mem_get_info|utilization|temperature"
    r"|power_draw|elapsed_time|cpu_percent|virtual_memory|getmtime|getsize)(_ns)?\(.*`"
)


def is_there(divergence: Divergence) -> bool:
    """Whether what differs is such a number: calls handed it on, or made another number of it."""
    if divergence.kind != "host" or not divergence.why:
        return False
    first, *others = divergence.why
    return _NUMBERS.match(first.note) is not None and all(map(_hands_on, others))


def _hands_on(step: Step) -> bool:
    return step.role == "call" or step.note.endswith(READ)
