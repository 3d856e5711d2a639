"""What the variables of a rank's frames hold, as far as that is safe to say: plain values, and sizes of tensors.

Nothing of the user's runs for it: objects are passed over, their `__repr__` is never called.
"""

from __future__ import annotations

from types import FrameType
from typing import Any

from ferrule_lint.harness.rank.sites import is_user

#: frames of the user's, innermost first, that are read
MOST_FRAMES = 3
#: elements of a container, and characters of a text, that are shown
MOST_ELEMENTS, MOST_TEXT = 32, 200

#: path, line at which the frame is, its function, its variables
Frame = tuple[str, int, str, dict[str, str]]


def frames_of(frame: FrameType | None) -> list[Frame]:
    """The user's innermost frames from `frame` outwards, with what their variables hold."""
    found: list[Frame] = []
    while frame is not None and len(found) < MOST_FRAMES:
        code = frame.f_code
        if is_user(code.co_filename):
            values = {name: text for name, value in list(frame.f_locals.items()) if (text := shown(value))}
            found.append((code.co_filename, frame.f_lineno, code.co_qualname, values))
        frame = frame.f_back
    return found


def shown(value: Any, depth: int = 2) -> str:
    """A value in words; empty if nothing is said about it. A set is shown in the order in which it is gone through."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str, bytes):
        return repr(value)[:MOST_TEXT]
    if kind.__module__.partition(".")[0] == "torch":
        return _tensor(value)
    if kind in (list, tuple, set, frozenset, dict) and depth and len(value) <= MOST_ELEMENTS:
        pairs = value.items() if kind is dict else ((None, one) for one in value)
        parts = [(f"{key!r}: " if type(key) is str else "") + shown(one, depth - 1) for key, one in pairs]
        left, right = ("[", "]") if kind is list else ("(", ")") if kind is tuple else ("{", "}")
        return f"{left}{', '.join(parts)}{right}"[:MOST_TEXT] if all(parts) else ""
    return ""


def _tensor(value: Any) -> str:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, tuple) and dtype is not None:
        return f"{str(dtype).removeprefix('torch.')}[{','.join(map(str, shape))}]"
    # a dtype, a reduce operation
    return str(value)[:MOST_TEXT] if type(value).__name__ in ("dtype", "Size", "RedOpType") else ""
