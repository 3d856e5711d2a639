"""What a process measures or draws for itself: another number on each rank, and a number on all of them.

`if self.start is None: self.start = time.time()` asks whether this has been done before, and ranks do so in step: they
differ in the time, not in having one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Step
from ferrule_lint.semantics.data import iteration
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.text import called_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

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


_CLOCKS = frozenset("time perf_counter monotonic process_time thread_time default_timer".split())
_ZERO = frozenset({"0", "0.0"})


def asks_whether_time_passed(frame: Frame, left: f.Expr, right: f.Expr) -> bool:
    """`took > 0` behind `took = time() - start` and `start = time()`: a guard for a division. Time passes on every
    rank; a moment that somebody has set (`time() - deadline > 0`) comes on each at its own time."""
    return any(
        type(number) is f.Const and number.text in _ZERO and _is_duration(frame, iteration.definition(frame, asked))
        for asked, number in ((left, right), (right, left))
    )


def _is_duration(frame: Frame, expr: f.Expr) -> bool:
    if type(expr) is not f.Op or expr.kind != "Sub":
        return False
    return all(_is_clock(iteration.definition(frame, part)) for part in expr.operands)


def _is_clock(expr: f.Expr) -> bool:
    return type(expr) is f.Call and not expr.args and called_name(expr).removesuffix("_ns") in _CLOCKS
