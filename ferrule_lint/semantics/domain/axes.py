"""Axes: along which ranks differ, and which a group spans."""

from __future__ import annotations

Axes = frozenset[str]
NO_AXES: Axes = frozenset()
WORLD: Axes = frozenset({"world"})
DP: Axes = frozenset({"dp"})
#: a group that cannot be told
UNKNOWN_GROUP: Axes = frozenset({"?"})
#: a communicator in which only some processes of the program take part by design
PRIVATE: Axes = frozenset({"private"})
#: which copy of a sharded model this is
REPLICATE: Axes = frozenset({"replicate"})
#: axes along which ranks of data parallelism differ that hold the same part of the model: of the experts, of all of it
COPIES: Axes = frozenset({"edp", "replicate"})


def overlap(condition: Axes, event: Axes) -> bool:
    """Whether ranks that differ along `condition` can meet in a group that spans `event`.

    An unknown group overlaps only the world and data; expert parallelism spans data parallelism in practice, but not
    the copies of one expert.
    """
    if not condition or not event or "private" in condition or "private" in event:
        return False
    if condition & COPIES or event & COPIES:
        copies, other = (condition, event) if condition & COPIES else (event, condition)
        whole = (copies - COPIES) | {"dp"}
        return bool(other & COPIES) or overlap(copies - COPIES, other) or (other != {"ep"} and overlap(whole, other))
    if "world" in condition or "world" in event or condition & event:
        return True
    union = condition | event
    if "?" in union:
        return union <= {"dp", "ep", "?"}
    return ("dp" in condition and "ep" in event) or ("ep" in condition and "dp" in event)
