"""What a function returns, of all places where it does.

`return False, None` under a test and `return True, loss` behind it tell callers in each part which way was taken, as
much as `return False` and `return True` do; so do the entries of a dict and the fields of a record.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls.agreement import cleanse
from ferrule_lint.semantics.data import iteration, number_types, picked, sorts
from ferrule_lint.semantics.domain.axes import NO_AXES
from ferrule_lint.semantics.domain.conditions import Formula, atoms, deps_of, divergence_of, implied, negate
from ferrule_lint.semantics.domain.dependences import NO_DEPS, NOTHING, entered_by, read, root_of
from ferrule_lint.semantics.domain.joins import join, settled
from ferrule_lint.semantics.domain.lattice import NUMBERED, UNKNOWN, Divergence, Value, of_entries, worse
from ferrule_lint.semantics.domain.trace import Event, every_event, every_term
from ferrule_lint.semantics.project.sent_round import returns_what_it_sends, sends_its_result, stores_its_result

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.entities import FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame

Returned: TypeAlias = Sequence[tuple[Value, tuple[Formula, ...]]]


def result_of(frame: Frame) -> Value:
    """The join of what is returned; under divergent conditions, different constants diverge."""
    function = frame.function
    if not frame.returns:
        return Value(uniform=True, const="None")
    returned = _of_several(frame.returns)
    values = [v for v, _ in returned]
    result = join(values)
    if all(divergence_of(c) is None for _, conditions in returned for c in conditions):
        result = _settled(values) or result
    elif (below := _settled_below(returned)) is not None:
        result = below
    if result.filled:
        result = result._replace(filled=_is_filled(frame))
    if function is not None and function.is_generator and not function.is_context_manager:
        endless = frame.analysis.bodies.once(iteration.never_ends, function.body)
        return Value(
            element_types=result.types, holds=result.external, data=result.data, unordered=frame.yielded_order,
            length_deps=NO_DEPS if endless else frame.yielded_deps, length=None if endless else frame.yielded_length,
            deps=frozenset(
                (p, "contained") for p, _ in result.deps) or NO_DEPS, module=result.module, counts=counts(values),
            shape=result.shape, uneven_last=result.shape is not None,  # each item has a size of its own
        )  # fmt: skip
    if function is not None and function.is_context_manager:
        result = result._replace(length=None, length_deps=NO_DEPS)  # shares that it hands out are mostly filled up
    result = _handed_out(frame, apart(returned, result))
    if function is not None and function.traits.returns_numbers:
        result = result._replace(counts=NUMBERED)
    if function is None or function.is_context_manager or not _comes_to_its_end(function.body):
        return result
    left = tuple(c for value, conditions in returned if value.const != "None" for c in conditions)
    if not left:
        return result
    returned = [*_without_equal_arms(returned), (Value(uniform=True, const="None"), left)]
    return _constants(returned, result)._replace(there=False)


def _of_several(returned: Returned) -> Returned:
    """What is returned, but for what is only where there is no accelerator, and hence one process."""
    several = [
        (value, conditions)
        for value, conditions in returned
        if value.const is not None
        or not any(_NO_ACCELERATOR.search(key) for c in conditions for key, yes in implied(c, True).items() if yes)
    ]
    return several or returned


_NO_ACCELERATOR = re.compile(r"(^|[._])accelerator(#\d+)? is None$")


def _is_filled(frame: Frame) -> bool:
    """Whether a list is filled up to a length wherever ranks need it: who fills it up under a setting of its own
    (`if not self.experts: return rows`) has no use for that without it."""
    own = f"{frame.self_name}."
    return all(
        value.filled
        or not any(
            divergence_of(c) is not None or any(not name.startswith((".", own)) for name, _ in deps_of(c))
            for c in conditions
        )
        for value, conditions in frame.returns
    )


def counts(yielded: Sequence[Value]) -> tuple[bool, ...]:
    """Of a generator that always yields as many things side by side, which of them hold nothing of the local data that
    others hold: `yield step, batch`."""
    together = [v.items for v in yielded if v.items]
    left = sum(v.const == "None" for v in yielded)  # a bare `return`
    if len(together) + left != len(yielded) or len({len(items) for items in together}) != 1:
        return ()
    own = tuple(all(_holds_nothing(part) for part in parts) for parts in zip(*together, strict=True))
    return own if any(own) and not all(own) else ()


def _holds_nothing(value: Value) -> bool:
    facets = (value.divergence, value.data, value.shape, value.length, value.emptiness, value.presence)
    return not value.deps and not value.types and all(facet is None for facet in facets)


def _handed_out(frame: Frame, result: Value) -> Value:
    """What a function broadcasts, as its name and its trace say, all ranks of the group get: the source hands back what
    it has sent (`return data`), the others what they have received (`return pickle.loads(received)`)."""
    if frame.function is None:
        return result
    if "broadcast" not in frame.function.name:
        return _sent_by_one(frame, result)
    told = (divergence_of(c) for _, conditions in frame.returns for c in conditions)
    if not any(d is not None and d.kind == "rank" for d in told):
        return result
    events = [term for term in every_term(tuple(frame.terms)) if type(term) is Event]
    if not events or not all(event.op.startswith("broadcast") for event in events):
        return result
    return cleanse(result, NO_AXES.union(*(event.axes for event in events)))


def _sent_by_one(frame: Frame, result: Value) -> Value:
    """The same of what one arm of a test hands back and gives to a call, which brings it to the other arm."""
    function = frame.function
    if function is None or len(frame.returns) < 2:
        return result
    if frame.analysis.bodies.once(stores_its_result, function.body):
        return UNKNOWN
    if not any(frame.analysis.bodies.once(sends, function.body) for sends in (sends_its_result, returns_what_it_sends)):
        return result
    sent = [e for e in every_event(tuple(frame.terms)) if e.op.startswith("broadcast")]
    return cleanse(result, NO_AXES.union(*(e.axes for e in sent))) if sent else result


def _comes_to_its_end(body: f.Body) -> bool:
    """Whether a function surely may hand back None by having no `return` there: `if found: return x` at its end."""
    last = body[-1] if body else None
    if type(last) is f.If:
        return _comes_to_its_end(last.body) or not last.orelse or _comes_to_its_end(last.orelse)
    return type(last) is f.For and not last.orelse


def handed_back(frame: Frame, passed: Sequence[tuple[str, Value | None]]) -> str:
    """The parameter that a function hands back as it was passed, on every way; "" if there is none."""
    function, values = frame.function, [value for value, _ in frame.returns]
    if not values or function is None or function.is_generator or function.is_async or function.traits.returns_numbers:
        return ""
    for name, value in passed:
        if value is None or name == frame.self_name or any(root_of(place) == name for place in frame.left_in):
            continue
        if all(v is value or v._replace(reach=value.reach) == value for v in values) and name not in frame.made_uniform:
            return name if frame.version(name) == 0 else ""
    return ""


def named_parameter(function: FunctionInfo) -> str:
    """The same as far as its text tells: what it returns is never assigned."""
    return "" if function.is_async or function.is_generator else function.traits.returned_name


def apart(returned: Returned, result: Value) -> Value:
    """The join of what is returned: different constants under divergent conditions diverge, in each part by itself."""
    returned = _without_equal_arms(returned)
    if len(returned) < 2 or not any(conditions for _, conditions in returned):
        return result
    if (parted := sorts.of_returns(returned)) is not None:
        result = result._replace(apart=parted)
    result = number_types.of_returns(returned, picked.of_returns(returned, result))
    if len({v.slots for v, _ in returned}) > 1 and all(v.slots is not None for v, _ in returned):
        result = _of_other_entries(returned, result)
    if len({v.const for v, _ in returned}) > 1:
        result = _constants(returned, result)
    elif result.items is not None:
        items = tuple([_part(returned, i, joined) for i, joined in enumerate(result.items)])
        result = result if items == result.items else result._replace(items=items)
    elif result.entries:
        entries = tuple([(key, _entry(returned, key, joined)) for key, joined in result.entries])
        result = result if entries == result.entries else result._replace(entries=entries)
    if result.uniform and any(v != returned[0][0] for v, _ in returned):
        result = result._replace(
            uniform=all(a.key.startswith("=") for _, conditions in returned for c in conditions for a in atoms(c))
        )
    return result


def _of_other_entries(returned: Returned, result: Value) -> Value:
    """Lists and dicts with other entries (`return {}` under a test, and `return {"loss": loss}` behind it)."""
    for condition in [c for _, conditions in returned for c in conditions]:
        found = divergence_of(condition)
        if found is not None:
            result = result._replace(uniform=False, length=worse(result.length, of_entries(found)))
        else:
            by = entered_by(deps_of(condition))
            result = result._replace(uniform=False, length_deps=result.length_deps | by)
    some = NOTHING.union(*(value.slots or NOTHING for value, _ in returned))
    entries = dict(result.entries)
    for key in sorted(some):
        why = _why_some_have(returned, key) if key[:1] in "'\"" else None
        if why is not None:
            known = entries.get(key, UNKNOWN)
            entries[key] = known._replace(presence=worse(known.presence, why))
    return result._replace(entries=tuple(entries.items()))


def _why_some_have(returned: Returned, key: str) -> Divergence | None:
    """Why ranks part at the places that return a dict with a key and those that return one without it."""
    for has_it in (False, True):
        conditions = [c for v, conditions in returned if (key in (v.slots or NOTHING)) is has_it for c in conditions]
        if conditions:
            return next((why for c in conditions if (why := divergence_of(c)) is not None), None)
    return None


def _without_equal_arms(returned: Returned) -> Returned:
    """What is returned, with one place for two that return the same constant under a test and under its opposite."""
    kept: list[tuple[Value, tuple[Formula, ...]]] = []
    for value, conditions in returned:
        last = kept[-1] if kept else None
        if last is not None and conditions and value.const is not None and value.const == last[0].const:
            before = last[1]
            if before[:-1] == conditions[:-1] and before[-1:] == (negate(conditions[-1]),):
                kept[-1] = (last[0], before[:-1])
                continue
        kept.append((value, conditions))
    return kept


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
                if value.const == "None":
                    result = result._replace(presence_deps=result.presence_deps | read(atom.deps))
    return result


def _settled_below(returned: Returned) -> Value | None:
    """The same below a test that differs, for whose outcome a function hands back a constant before it: `if loader is
    None: return None`."""
    constant = [v for v, _ in returned if v.const is not None]
    others = [(v, conditions) for v, conditions in returned if v.const is None]
    if not constant or len(others) < 2:
        return None
    above = _above([conditions for _, conditions in others])
    if any(divergence_of(c) is not None for _, conditions in others for c in conditions[above:]):
        return None
    found = _settled([v for v, _ in others])
    return join([found, *constant]) if found is not None else None


def _above(ways: Sequence[tuple[Formula, ...]]) -> int:
    """How many conditions several places have in common, from the outermost on."""
    for depth, row in enumerate(zip(*ways, strict=False)):
        if any(condition != row[0] for condition in row):
            return depth
    return min(map(len, ways))


def _settled(values: list[Value]) -> Value | None:
    """The returned values joined, where the ranks agree on some and the others are a single process's."""
    agreed = [v for v in values if v.agreed]
    alone = [v for v in values if not v.agreed]
    return settled(join(agreed), join(alone)) if agreed and alone else None
