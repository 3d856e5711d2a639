"""The number of a thread or process, by which it looks up what it was given: `devices[threading.get_ident()]`.

That number is another one everywhere. What lies under it has been put there under that number, and is nothing that it
tells.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.text import last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_NUMBERS = frozenset({"get_ident", "get_native_id", "getpid"})


def is_of_thread(frame: Frame, expr: f.Expr) -> bool:
    """Whether an expression asks for the number of this thread or process, also by a name that it was given."""
    made = definition(frame, expr)
    return type(made) is f.Call and not made.args and last_name(made.func) in _NUMBERS
