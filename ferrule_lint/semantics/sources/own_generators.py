"""Generators of random numbers that a program makes for itself and seeds by the rank.

`rng = np.random.default_rng(seed + rank)`, `torch.Generator().manual_seed(seed + rank)`: what is drawn from one is each
rank's own, and meant to be. Of a generator that is seeded by nothing that differs nothing is said: it is the same on
all ranks, or nobody knows. Who draws several (`permutation`, `sample`, `size=`) has as many as all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Divergence, Value
from ferrule_lint.semantics.domain.text import last_name, place_name, shown

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.walk.frame import Frame

#: what marks the value of a generator
GENERATOR = "random.Random"
_SEED = "<seed>"

#: calls that make one -> the names of the argument that seeds it
_MAKERS = {
    "random.Random": ("x", "seed"),
    "numpy.random.default_rng": ("seed",),
    "numpy.random.RandomState": ("seed",),
    "torch.Generator": (),
}
_SEEDS = frozenset({"manual_seed", "seed"})

#: methods that draw a single number, unless they are given a size; of those of `_SIZED` any argument is one
_NUMBERS = frozenset(
    "random rand randn randint randrange uniform choice gauss integers normal binomial poisson exponential "
    "standard_normal getrandbits betavariate normalvariate expovariate triangular random_sample".split()
)
_SIZED = frozenset({"random", "rand", "randn", "standard_normal", "random_sample"})
_ORDERS = frozenset({"permutation", "permuted", "sample"})
_NONE = f.Const("None")


def made(dotted: str, arguments: Arguments) -> Value | None:
    """A generator that a call makes; None if the call makes none."""
    names = _MAKERS.get(dotted)
    if names is None:
        return None
    seeds = [arguments.keywords[name] for name in names if name in arguments.keywords]
    if names and arguments.positional:
        seeds.append(arguments.positional[0])
    return _seeded(seeds)


def of_method(frame: Frame, name: str, arguments: Arguments, receiver: Value) -> Value | None:
    """A method of a generator that seeds it, or draws from it."""
    if receiver.external != GENERATOR:
        return None
    e = arguments.expr
    base = e.func.base if type(e.func) is f.Attr else None
    if name in _SEEDS:
        now = _seeded(arguments.positional[:1])
        if place := place_name(base):
            frame.env[place] = now
            frame.renew(place)
            if attribute := frame.own_attribute(place):
                frame.self_writes[attribute] = now  # whatever it was seeded with before
        return now
    return _drawn(frame, name, e, own_seed(receiver))


def own_seed(generator: Value) -> Divergence | None:
    """Why what is drawn from a generator differs between ranks."""
    if generator.external != GENERATOR:
        return None
    return next((seed.divergence for name, seed in generator.fields if name == _SEED), None)


def draws_several(e: f.Call) -> bool:
    """Whether a call draws an order, or as many as it is told: what differs is what is in there."""
    return last_name(e.func) in _ORDERS or any(key == "size" and value != _NONE for key, value in e.keywords)


def drawn_by(frame: Frame, e: f.Call, seed: Divergence) -> Divergence:
    """What a call draws from a generator with such a seed."""
    note = f"`{shown(e)}` is drawn from a generator that each rank has seeded for itself"
    own = Divergence(seed.axes, "host", seed.why, seed.confidence)
    return own.then(frame.step("flow", e.pos, note)).at_most(Confidence.MEDIUM)


def _seeded(seeds: list[Value] | tuple[Value, ...]) -> Value:
    parts = [part for seed in seeds for part in (seed, *(seed.items or ()))]  # `default_rng([seed, rank])`
    own = next((p.divergence for p in parts if p.divergence is not None and p.divergence.kind == "rank"), None)
    fields = ((_SEED, Value(divergence=own)),) if own is not None else ()
    return Value(external=GENERATOR, there=True, fields=fields)


def _drawn(frame: Frame, name: str, e: f.Call, seed: Divergence | None) -> Value | None:
    several = draws_several(e) or name == "choices" or (name in _SIZED and bool(e.args))
    if name not in _NUMBERS and not several:
        return None
    if seed is None:
        return UNKNOWN
    own = drawn_by(frame, e, seed)
    return Value(data=own) if several else Value(divergence=own)
