"""Two arms of a test -> one value: what they share, and what differs as the test does."""

from __future__ import annotations

from collections.abc import Mapping

from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.data import layout, number_types, picked, sorts
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import Formula, atoms, divergence_of, implied, lets_others_in, negate
from ferrule_lint.semantics.domain.dependences import FLOWS, ITEM, NO_DEPS, entered_by, read, recast, still_part
from ferrule_lint.semantics.domain.joins import join2, settled
from ferrule_lint.semantics.domain.lattice import Divergence, Value, entry_of_one, worse
from ferrule_lint.semantics.domain.targets import (
    ExternalTarget,
    FunctionTarget,
    PartialTarget,
    SeveralTarget,
    is_collective,
)
from ferrule_lint.semantics.gradients import meeting, stage_values, surgery
from ferrule_lint.semantics.sources import first_rank, rank_names

#: what is run when it is called
_FUNCTIONS = {FunctionTarget, PartialTarget}


def merge_arms(formula: Formula, a: Value, b: Value, before: Value | None = None) -> Value:
    """What a place holds where two arms meet (sync dependence): divergent arms that set different constants diverge.
    `before`: what it held in front of the test."""
    if a is b:
        return a
    a, b = rank_names.of_one_group(a, b)
    merged, divergence = number_types.of_arms(formula, a, b, _merged(formula, a, b, before)), divergence_of(formula)
    if divergence is not None and (parted := sorts.apart(a, b, divergence)) is not None:
        return merged._replace(apart=parted)
    return first_rank.of_single(a, b, merged) if divergence is None else merged


def _merged(formula: Formula, a: Value, b: Value, before: Value | None) -> Value:
    a, b = with_outcome(a, implied(formula, True)), with_outcome(b, implied(formula, False))
    joined = join2(a, b)
    if a.reach is not None or b.reach is not None:
        joined = joined._replace(reach=meeting.met(formula, a, b))
    if a.filled is not b.filled:
        # filled up to a length in one arm: in the other it has that length already
        if a.shape is None and b.shape is None:  # a list; of a tensor another dimension may have been filled up
            joined = joined._replace(length=None, emptiness=None)
        joined = joined._replace(shape=None, shape_deps=NO_DEPS, deps=recast(joined.deps, ITEM, FLOWS))
    divergence = divergence_of(formula)
    if divergence is not None and joined.items is not None and a.items is not None and b.items is not None:
        items = [merge_arms(formula, x, y) for x, y in zip(a.items, b.items, strict=True)]
        joined = joined._replace(items=tuple(items))  # `[plan()]` here, and there `[None]`
    if divergence is not None and a.slots is not None and b.slots is not None and a.slots != b.slots:
        filled = divergence
        entered = formula if a.slots > b.slots else negate(formula)
        others = lets_others_in(entered)
        if divergence.kind == "rank" and (any(s[:1] in "'\"" for s in a.slots ^ b.slots) or others):
            # entries of its own, which loops over the others pass over
            there = before.slots if before is not None and before.slots is not None else frozenset[str]()
            filled = entry_of_one(divergence)
            if others or not there.isdisjoint(a.slots ^ b.slots):
                filled = filled._replace(own_entry=False)
        joined = joined._replace(length=worse(joined.length, filled), uniform=False)
    if divergence is not None:
        joined = picked.of_arms(_made_apart(joined, a, b, formula, divergence), a, b, divergence)
        if a.target != b.target and _is_run(a) and _is_run(b) and not (_is_outside(a) and _is_outside(b)):
            apart = worse(joined.divergence, divergence)
            return joined._replace(uniform=False, divergence=apart, target=SeveralTarget((a, b)))
    # that the switch for agreeing may be another one somewhere is no more than a guess
    guessed = divergence is not None and divergence.confidence == Confidence.LOW
    if (divergence is None or guessed) and (one := settled(a, b)) is not None:
        one = one if divergence is None else one._replace(divergence=worse(one.divergence, divergence))
        return one if a.filled is b.filled else one._replace(shape=joined.shape)
    deps = NO_DEPS
    for atom in atoms(formula):
        deps |= atom.deps
    if divergence is None and deps and a.slots is not None and b.slots is not None and a.slots != b.slots:
        joined = joined._replace(length_deps=joined.length_deps | entered_by(deps), uniform=False)
    if joined.world_size and not (a.world_size and b.world_size) and (deps or divergence is not None):
        joined = joined._replace(world_size=False)  # `n = get_world_size() if rank == 0 else 1`
    differ = a.const != b.const and (a.const is not None or b.const is not None)
    if divergence is not None and divergence.kind == "rank" and (told := _told(formula, a, b, before)) is not None:
        return told
    if divergence is not None and divergence.kind == "rank" and joined.agreed and not (a.agreed and b.agreed):
        joined = joined._replace(agreed=False)  # what the others keep of the last round, and the first rank has anew
    if divergence is not None and differ and "None" in (a.const, b.const):
        # present on some ranks only; what it holds there is not known to differ otherwise
        return joined._replace(
            uniform=False, presence=worse(joined.presence, divergence),
            divergence=worse(joined.divergence, divergence), const=None, absent=_absent(formula, a, b),
            of_some=joined.types if divergence.kind == "rank" else joined.of_some,
        )  # fmt: skip
    if divergence is not None:
        if differ:
            return joined._replace(uniform=False, divergence=worse(joined.divergence, divergence), const=None)
        of_world = divergence.kind == "rank" and divergence.axes == WORLD
        if of_world and (a.uniform or b.uniform) and _is_plain(a) and _is_plain(b) and a.const is None:
            # the others keep what was the same everywhere (the best loss so far)
            kept = divergence.at_most(Confidence.MEDIUM)
            return joined._replace(uniform=False, divergence=worse(joined.divergence, kept))
        if a != b:
            return stage_values.merged(joined._replace(uniform=False), a, b, divergence)
    if joined.divergence is not None and (a.uniform or b.uniform):
        joined = joined._replace(divergence=joined.divergence._replace(partial=True))
    if deps and a != b:
        if differ and "None" in (a.const, b.const):
            joined = joined._replace(presence_deps=joined.presence_deps | read(deps))
        return joined._replace(uniform=False, deps=joined.deps | deps, part=joined.part and still_part(deps))
    if not (a.uniform and b.uniform) or not is_uniform(formula):
        joined = joined._replace(uniform=False) if a != b else joined
    return joined


def _is_run(value: Value) -> bool:
    return type(value.target) in _FUNCTIONS or type(value.target) is ExternalTarget


def _is_outside(value: Value) -> bool:
    """Whether a value is something of a library, a type or a constant perhaps, and no collective."""
    return type(value.target) is ExternalTarget and not is_collective(value.target)


def _absent(formula: Formula, a: Value, b: Value) -> tuple[str, bool] | None:
    """With which outcome of a test for the first rank there is nothing; None if it is no such test."""
    tested = implied(formula, a.const == "None")
    key, outcome = next(iter(tested.items()), ("", False))
    known = len(tested) == 1 and len(atoms(formula)) == 1 and first_rank.is_test(key)
    return (key, outcome) if known and not (a.presence or b.presence or a.divergence or b.divergence) else None


def with_outcome(value: Value, outcomes: Mapping[str, bool]) -> Value:
    """A value where tests have come out so: what only some ranks have is there on those that have it. `store = None`,
    `if rank == 0: store = Store()`, and after a broadcast `if rank != 0: store = Store()`: all have one."""
    if value.absent is None or outcomes.get(value.absent[0], value.absent[1]) is value.absent[1]:
        return value
    return value._replace(presence=None, divergence=None, absent=None)


def _told(formula: Formula, a: Value, b: Value, before: Value | None) -> Value | None:
    """Of what two arms of a test of the rank hold, one value that was read out of something received: it is what the
    other arm, the sender's, has told. None if it is not so: the first rank sends, and is told nothing."""
    if a.agreed and b.agreed and not any(v.divergence or v.data or v.presence or v.length for v in (a, b)):
        # told in either arm: the sender hands back what it has sent, by the same function
        return join2(a, b)._replace(uniform=False, const=None, items=None)
    for received, own, surely in ((a, b, implied(formula, True)), (b, a, implied(formula, False))):
        if first_rank.is_first(surely):
            continue
        if own.rank or received is before:
            continue  # a rank is nothing that anybody tells, nor is what the sender had been told before, like all
        if received.agreed and not own.agreed and not (received.divergence or received.data or received.length):
            return received._replace(const=None, items=None, deps=NO_DEPS)
    return None


def _made_apart(joined: Value, a: Value, b: Value, formula: Formula, divergence: Divergence) -> Value:
    """What two arms of a divergent test make, each for its own ranks: of one size, or not."""
    if a.layout is not None and b.layout is not None:
        sizes, types = layout.sizes_conflict(a.layout, b.layout), layout.types_conflict(a.layout, b.layout)
        if types:
            apart = number_types.made_apart(divergence, types)
            joined = joined._replace(layout=layout.Layout(None if sizes else a.layout.sizes, "", apart=apart))
        if sizes:
            joined = joined._replace(shape=number_types.made_apart(divergence, sizes), uneven_last=False)
        if sizes or types:
            return joined
    if a.shape is not None and b.shape is not None and surgery.both(a.shape, b.shape, divergence):
        return joined._replace(shape=None)
    for one, other, filled in ((a, b, negate(formula)), (b, a, formula)):
        if divergence.kind in ("rank", "structure") and _is_empty(one) and not _is_empty(other) and other.const is None:
            at_most = Confidence.LOW if divergence.kind == "rank" and lets_others_in(filled) else Confidence.MEDIUM
            joined = joined._replace(length=worse(joined.length, divergence.at_most(at_most)))
        told = other.shape is None and (other.uniform or other.agreed)
        if divergence.kind == "rank" and one.shape is not None and told:
            joined = joined._replace(shape=None)  # the receivers' buffer, of a size that they were told
    return joined


def _is_empty(value: Value) -> bool:
    return value.const in ("''", '""', "b''", 'b""') or (value.slots is not None and not value.slots)


def _is_plain(value: Value) -> bool:
    """Whether a value may be a number, as far as is known."""
    holds = value.types or value.element_types or value.module or value.container or value.slots is not None
    known = (value.items, value.target, value.external, value.group, value.data, value.shape, value.presence)
    return not holds and all(k is None for k in known)


def is_uniform(formula: Formula) -> bool:
    return all(a.key.startswith("=") for a in atoms(formula))
