"""A number drawn from torch's own generator: `torch.rand(1)`, `torch.randint(0, n, (1,))`.

It differs where the project seeds that generator by rank, and is what layer drop, stochastic depth, self-conditioning
decide by; so does an order (`torch.randperm(n)`). Of several numbers side by side each rank has as many: what differs
is what somebody reads out of them (`(torch.rand(n) < p).any()`). Of draws with more dimensions (noise, masks) nothing
is said, as nobody decides by them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, shown
from ferrule_lint.semantics.sources import own_generators

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

#: https://docs.pytorch.org/docs/stable/torch.html#random-sampling; the place of the first size among the arguments
_SIZES = {"torch.rand": 0, "torch.randn": 0, "torch.randint": -1}
#: an order, by which the rank's own items are picked
ORDER = "torch.randperm"


def drawn(frame: Frame, dotted: str, arguments: Arguments, value: Value) -> Value:
    """The value of a call of a torch function, a number of this rank's own if it draws one."""
    place, call = _SIZES.get(dotted), arguments.expr
    if frame.light or (place is None and dotted != ORDER):
        return value
    by_name = [v for k, v in call.keywords if k == "size"]
    sizes = by_name or (call.args[-1:] if place else call.args)
    several = place is not None and not all(map(_is_one, sizes))
    if several and not _is_row(sizes):
        return value
    if (generator := arguments.keywords.get("generator")) is not None:
        seed = own_generators.own_seed(generator)
        own = own_generators.drawn_by(frame, call, seed) if seed is not None else None
        return value if own is None else value._replace(uniform=False, data=own._replace(sized=several))
    axes = frame.analysis.seeding.axes("torch", frame.self_class)
    if not axes or seeded_alike(frame, call.pos):
        return value
    note = f"`{shown(call)}` is random, and `torch` is seeded differently on each rank"
    own = frame.source(axes, "host", call.pos, note, Confidence.MEDIUM)
    return value._replace(uniform=False, data=own._replace(sized=several))


def _is_row(sizes: Sequence[f.Expr]) -> bool:
    """Whether sizes are those of numbers side by side, by which somebody may decide, and not of noise or a mask that
    has the dimensions of something else (`x.shape`)."""
    if len(sizes) == 1 and type(sizes[0]) is f.Sequence:
        sizes = sizes[0].elements
    if len(sizes) != 1 or type(sizes[0]) is f.Starred:
        return False
    name = last_name(sizes[0].func if type(sizes[0]) is f.Call else sizes[0])
    return "shape" not in name and name not in ("size", "Size", "sizes")


#: functions that seed generators, by their names
_SEEDS = re.compile(r"(^|_)((manual_)?seed(_(all|everything))?|init_seeds|(set|fix|setup)_(\w+_)?seeds?)$")


def seeded_alike(frame: Frame, pos: f.Pos) -> bool:
    """Whether what this function has seeded last, in front of a draw, is seeded by something that is not known to
    differ: what is seeded by rank comes after it (`set_seed(cfg.seed)`, a draw, `set_seed(cfg.seed + rank)`)."""
    calls = frame.function.calls if frame.function is not None else ()
    seeding = [c for c in calls if c.pos < pos and c.args and _SEEDS.search(last_name(c.func))]
    if not seeding:
        return False
    last = max(seeding, key=lambda call: call.pos)
    return all((v := frame.ask(a)).divergence is None and v.data is None for a in last.args)


def _is_one(size: f.Expr) -> bool:
    """Whether a size is that of a single number: `1`, `()`, `(1,)`."""
    if type(size) is f.Sequence:
        return all(e == f.Const("1") for e in size.elements)
    return size == f.Const("1")
