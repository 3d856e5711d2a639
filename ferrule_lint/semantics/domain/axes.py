"""Axes: along which ranks differ, and which a group spans."""

from __future__ import annotations

from functools import lru_cache

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
#: which part of it
SHARD: Axes = frozenset({"shard"})
#: what data parallelism spans: all of it, and the two directions of a sharded model with copies
WITHIN_DP: Axes = DP | REPLICATE | SHARD
#: axes along which ranks of data parallelism differ that hold the same part of the model: of the experts, of all of it
COPIES: Axes = frozenset({"edp", "replicate"})


#: what a dimension of a mesh begins with that is an axis of its own
_DIMENSION = "mesh:"


def of_dimension(name: str) -> Axes:
    """The axes of a dimension of a mesh whose name says nothing of what it is for."""
    return frozenset({_DIMENSION + name})


@lru_cache(maxsize=1024)
def is_dimension(axes: Axes) -> bool:
    """Whether axes are such dimensions."""
    return bool(axes) and all(axis.startswith(_DIMENSION) for axis in axes)


@lru_cache(maxsize=4096)
def overlap(condition: Axes, event: Axes) -> bool:
    """Whether ranks that differ along `condition` can meet in a group that spans `event`.

    An unknown group overlaps only the world and data; expert parallelism spans data parallelism in practice, but not
    the copies of one expert.
    """
    if not condition or not event or "private" in condition or "private" in event:
        return False
    if is_dimension(condition) and is_dimension(event):
        return bool(condition & event)
    if is_dimension(condition) or is_dimension(event):
        # what two names of dimensions say of each other is not known where one of them says what it is for
        known = condition if is_dimension(event) else event
        return bool(known & (WORLD | UNKNOWN_GROUP | DP))
    if (condition | event) & SHARD:
        # a place among the copies is one for all parts of each, and the reverse
        if condition & REPLICATE and event & SHARD:
            return overlap(condition - REPLICATE, _whole(event)) or overlap(REPLICATE, event - SHARD)
        if condition & SHARD and event & REPLICATE:
            return overlap(_whole(condition), event - REPLICATE) or overlap(condition - SHARD, REPLICATE)
        return overlap(_whole(condition), _whole(event))
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


def _whole(axes: Axes) -> Axes:
    return (axes - SHARD) | DP if axes & SHARD else axes


def share(a: Axes, b: Axes) -> bool:
    """Whether axes name one in common; the two directions within data parallelism are a part of it."""
    return bool(_of_parallelism(a) & _of_parallelism(b))


def _of_parallelism(axes: Axes) -> Axes:
    return axes | DP if axes & WITHIN_DP else axes


def is_untold(axes: Axes) -> bool:
    """Whether nothing says along which axes the ranks of a group differ."""
    return bool(axes & UNKNOWN_GROUP) or is_dimension(axes)
