"""Groups that a function could be given, and that nobody in the project does: `def gather(data, dst=0, group=None)`.

Then it works on all ranks, where a place in the group and a rank of the job are the same number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.project import options

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_NONE = f.Const("None")


def is_left_out(frame: Frame, group: f.Expr) -> bool:
    """Whether a group is a parameter with None for a default that no call leaves anything else in, and there are
    calls."""
    function = frame.function
    if function is None or function.owner is not None or function.parent is not None or type(group) is not f.Name:
        return False
    return options.is_left_out(frame.analysis, function, group.id, (_NONE,))
