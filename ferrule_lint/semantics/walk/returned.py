"""What a function hands back at several places: parts in which its returns differ as the tests around them do.

`return False, None` under a test and `return True, loss` behind it tell callers in each part which way was taken, as
much as `return False` and `return True` do; so do the entries of a dict and the fields of a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.conditions import Formula, atoms
from ferrule_lint.semantics.domain.lattice import Value, worse

Returned: TypeAlias = Sequence[tuple[Value, tuple[Formula, ...]]]


def apart(returned: Returned, result: Value) -> Value:
    """The join of what is returned: different constants under divergent conditions diverge, in each part by itself."""
    if len({v.const for v, _ in returned}) > 1:
        return _constants(returned, result)
    if len(returned) < 2 or not any(conditions for _, conditions in returned):
        return result
    if result.items is not None:
        items = tuple([_part(returned, i, joined) for i, joined in enumerate(result.items)])
        return result if items == result.items else result._replace(items=items)
    if result.entries:
        entries = tuple([(key, _entry(returned, key, joined)) for key, joined in result.entries])
        return result if entries == result.entries else result._replace(entries=entries)
    return result


def _part(returned: Returned, index: int, joined: Value) -> Value:
    return _of_part([((v.items or ())[index], conditions) for v, conditions in returned], joined)


def _entry(returned: Returned, key: str, joined: Value) -> Value:
    """An entry that all returns have; of one that some lack nothing is known."""
    found = [(e, conditions) for v, conditions in returned for known, e in v.entries if known == key]
    return _of_part(found, joined) if len(found) == len(returned) else joined


def _of_part(returned: Returned, joined: Value) -> Value:
    """One part; which inputs a function has been given is for its caller to choose, if it is told by a word."""
    differ = apart(returned, joined)
    told = differ.divergence
    if told is None or told is joined.divergence or told.kind != "structure":
        return differ
    words = any(v.const is not None and not v.is_flag for v, _ in returned)
    return differ._replace(divergence=told.at_most(Confidence.LOW)) if words else differ


def _constants(returned: Returned, result: Value) -> Value:
    values = [v for v, _ in returned]
    absent = {a.key for v, conditions in returned if v.const == "None" for c in conditions for a in atoms(c)}
    for value, conditions in returned:
        for atom in (a for formula in conditions for a in atoms(formula)):
            if atom.divergence is not None and not all(v.uniform and v.const is None for v in values):
                if value.const is not None:
                    presence = worse(result.presence, atom.divergence) if atom.key in absent else result.presence
                    differ = worse(result.divergence, atom.divergence)
                    result = result._replace(uniform=False, divergence=differ, presence=presence)
            elif atom.deps and value.const is not None:
                result = result._replace(uniform=False, deps=result.deps | atom.deps)
    return result
