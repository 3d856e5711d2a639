"""Signatures: what a trace issues under given answers, as tuples that can be compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ferrule_lint.semantics.domain.axes import UNKNOWN_GROUP

LONGEST_CALL_SIGNATURE = 60

_MOST_WAYS = 32

#: shared choices within each other whose arms are compared one by one
MOST_NESTED = 6

Signature = tuple[object, ...]

#: the signature of a way that ends in an exception: comparable with anything
RAISES: Signature = ("raises",)

#: what has no order to mix up: any barrier pairs with any other
ALIKE = ("barrier", "monitored_barrier")

#: what marks a loop that nothing ends
ENDLESS = "endless"


def issues(signature: Signature) -> bool:
    """Whether an event is in a signature."""
    return mentions(signature, "event")


def mentions(signature: Signature, kind: str) -> bool:
    """Whether an event, or an exit of this kind, is in a signature."""
    return next(tokens_of(signature, kind), None) is not None


def tokens_of(signature: Signature, kind: str) -> Iterator[tuple[Any, ...]]:
    """The events, or the exits of one kind, in a signature."""
    stack: list[object] = [signature]
    seen: set[int] = set()
    while stack:
        item = stack.pop()
        if isinstance(item, tuple) and item and id(item) not in seen:
            if item[0] == kind:
                yield item
            seen.add(id(item))
            stack.extend(item)


def size_of(signature: Signature) -> int:
    count = 0
    stack: list[object] = [signature]
    while stack and count <= LONGEST_CALL_SIGNATURE * 6:
        item = stack.pop()
        if isinstance(item, tuple):
            stack.extend(item)
        else:
            count += 1
    return count // 3


def alike(x: Signature, y: Signature, by_presence: bool, depth: int = 0) -> bool:
    """Whether two ranks issue the same, whatever way of the choices they share they take."""
    before, x, y = _apart(x, y)
    told = any(str(op).startswith("broadcast") for op, *_ in events_of(before))
    if x == y or _take_turns(x, y) or (by_presence and _same_modules(x, y)) or _in_lockstep(x, y):
        return True
    if _same_rounds(x, y) or _serves(x, y) or _serves(y, x):
        return True
    if depth < MOST_NESTED and (arms := _one_arm_apart(x, y)) is not None:
        return alike(*arms, by_presence, depth + 1)
    if _same_ways(x, y, told):
        return True
    if depth >= MOST_NESTED or not (len(x) == len(y) == 1 and _is_either(x[0]) and _is_either(y[0])):
        return False
    return all(alike(a, b, by_presence, depth + 1) for a, b in zip(_arms(x[0]), _arms(y[0]), strict=True))


def _one_arm_apart(x: Signature, y: Signature) -> tuple[Signature, Signature] | None:
    """Of one choice that both ranks share, the arms that differ, if the others are the same and issue something. In a
    group that cannot be told the ranks that differ may have no part."""
    if not (len(x) == len(y) == 1 and _is_either(x[0]) and _is_either(y[0])):
        return None
    (a, b), (c, d) = _arms(x[0]), _arms(y[0])
    if (a == c) is (b == d):
        return None
    same, apart = (a, (b, d)) if a == c else (b, (a, c))
    if not issues(same) or any(axes >= UNKNOWN_GROUP for arm in apart for _, _, axes, *_ in tokens_of(arm, "event")):
        return None
    return apart


def _is_either(token: object) -> bool:
    return isinstance(token, tuple) and bool(token) and token[0] == "either"


def _arms(token: object) -> tuple[Signature, Signature]:
    assert isinstance(token, tuple)
    return token[1], token[2]


def _same_modules(x: Signature, y: Signature) -> bool:
    """Whether what differs are forwards on either rank, and those of the same modules."""
    left, right = events_of(x), events_of(y)
    if (
        left != right
        or any(op != "forward" for op, *_ in left)
        or any(mentions(s, k) for s in (x, y) for k in ("return", "break"))
    ):
        return False
    return bool(events_of(x, surely=True) and events_of(y, surely=True))


def runs_the_same(x: Signature, y: Signature) -> bool:
    """Whether either way surely runs modules and nothing else, and those of the other way."""
    return _same_modules(x, y) and events_of(x, surely=True) == events_of(y, surely=True)


def _take_turns(x: Signature, y: Signature) -> bool:
    """Whether two ranks issue the same barriers in another order, one before the other's work and one after."""
    if len(x) != len(y) or sorted(map(id, x)) != sorted(map(id, y)):
        return False
    if any(mentions(x, kind) for kind in ("return", "break")):
        return False
    events = events_of(x)
    return len(events) == 1 and all(op in ALIKE for op, *_ in events)


def events_of(signature: Signature, surely: bool = False) -> set[tuple[object, ...]]:
    """The different events of a signature; with `surely` not those that only one arm of a choice issues."""
    found: set[tuple[object, ...]] = set()
    stack: list[object] = [signature]
    seen: set[int] = set()
    while stack:
        item = stack.pop()
        if isinstance(item, tuple) and item and id(item) not in seen:
            seen.add(id(item))
            if item[0] == "event":
                found.add(item[1:])
            elif not (surely and item[0] == "either"):
                stack.extend(item)
    return found


def _same_ways(x: Signature, y: Signature, told: bool) -> bool:
    """Whether two ranks may issue the same sequences, each by choices of its own: a sender tells how much follows.

    Each has to issue something in any case, since the choices that both share are not told apart here. `told`: a
    broadcast came before, so that loops may go over what it told of.
    """
    if not (mentions(x, "either") and mentions(y, "either")):
        return False
    known: dict[int, frozenset[Signature] | None] = {}
    a, b = _ways(x, known, told, 0), _ways(y, known, told, 0)
    return a is not None and a == b and () not in a


def may_be_alike(x: Signature, y: Signature) -> bool:
    """Whether each of two ranks issues by choices of its own the same sequences, or nothing at all."""
    known: dict[int, frozenset[Signature] | None] = {}
    _, x, y = _apart(x, y)
    ways = _ways(x, known, False, 0)
    return ways is not None and () in ways and ways == _ways(y, known, False, 0)


def _apart(x: Signature, y: Signature) -> tuple[Signature, Signature, Signature]:
    """What two signatures begin with, and of both what lies between this and what they end with."""
    shorter, before, after = min(len(x), len(y)), 0, 0
    while before < shorter and x[before] is y[before]:
        before += 1
    while after < shorter - before and x[-1 - after] is y[-1 - after]:
        after += 1
    return x[:before], x[before : len(x) - after], y[before : len(y) - after]


def _serves(x: Signature, y: Signature) -> bool:
    """Whether one rank does in each round of a loop that nothing ends what the other does when it is called, so often
    as it is."""
    return len(x) == 1 and isinstance(x[0], tuple) and x[0][:1] == ("loop",) and x[0][2:] == (ENDLESS,) and x[0][1] == y


def _same_rounds(x: Signature, y: Signature) -> bool:
    """Whether two ranks go through loops whose rounds may issue the same, or nothing: which item is which, each decides
    by what it has at hand (`isinstance(layer, Split)` here, `layer.is_split` there)."""
    if len(x) != len(y) or not x or any(mentions(s, k) for s in (x, y) for k in ("return", "break")):
        return False
    for a, b in zip(x, y, strict=True):
        if a is b:
            continue
        if not all(type(token) is tuple and token[:1] == ("loop",) and mentions(token, "either") for token in (a, b)):
            return False
        assert isinstance(a, tuple) and isinstance(b, tuple)
        ways = _ways(a[1], {}, True, 0)
        if ways is None or ways != _ways(b[1], {}, True, 0):
            return False
    return True


_BREAK: Signature = (("break",),)


def _in_lockstep(x: Signature, y: Signature) -> bool:
    """Whether one rank sends as many items as it has and then a last word, and the others receive until they hear it:
    `for item in items: broadcast(item)`, `broadcast(end)` against `while True: broadcast(box)`, `if box is end: break`.
    """
    if not all(mentions(s, "loop") for s in (x, y)) or mentions(x, "break") is mentions(y, "break"):
        return False
    return _turned(x) == _turned(y)


def _turned(signature: Signature) -> Signature:
    """A signature whose loops begin after the word that tells whether there is another round: what is sent before the
    loop ends, or after it, comes first."""
    out: list[object] = []
    rest = list(signature)
    while rest:
        token = rest.pop(0)
        if not (isinstance(token, tuple) and token and token[0] == "loop"):
            out.append(token)
            continue
        body: Signature = token[1]
        last = body[-1] if body else None
        if isinstance(last, tuple) and last[0] == "either" and _BREAK in last[1:]:
            word, work = body[:-1], last[2] if last[1] == _BREAK else last[1]
        else:
            told = 0
            while told < min(len(body), len(rest)) and body[told] == rest[told]:
                told += 1
            word, work = body[:told], body[told:]
            rest = rest[told:]
        if any(str(op).startswith("broadcast") for op, *_ in events_of(word)):
            out += [*word, ("loop", (*work, *word))]
        else:
            out += [token, *word]
    return tuple(out)


def _ways(
    signature: Signature, known: dict[int, frozenset[Signature] | None], told: bool, depth: int
) -> frozenset[Signature] | None:
    """Every sequence that a signature stands for; None if they are many. `known`: those of parts met before; `told`:
    loops go by the sequences of a round."""
    found: set[Signature] = {()}
    for token in signature:
        if isinstance(token, tuple) and token and token[0] == "either":
            if id(token) not in known:
                left = _ways(token[1], known, told, depth + 1) if depth < _MOST_WAYS else None
                right = _ways(token[2], known, told, depth + 1) if left is not None else None
                known[id(token)] = left | right if left is not None and right is not None else None
            ways = known[id(token)]
            if ways is None:
                return None
            found = {(*before, *way) for before in found for way in ways}
        else:
            if isinstance(token, tuple) and token[0] == "loop":
                # a long one is known by its identity: to hash it takes as long as to go all ways through it
                long = size_of(token) > LONGEST_CALL_SIGNATURE
                rounds = _ways(token[1], known, told, depth + 1) if told and not long else None
                token = id(token) if long else ("loop", rounds or token[1])
            found = {(*before, token) for before in found}
        if len(found) > _MOST_WAYS:
            return None
    return frozenset(found)


def leaves(body: Signature) -> bool:
    """Whether a round may be the last one."""
    return mentions(body, "return") or mentions(body, "break")


def without_empty_rounds(body: Signature, depth: int = 0) -> Signature:
    """The rounds of a loop that issue something: of two ways through it, the other where one issues nothing; the one
    that both are, if nothing but a round without events lies between them."""
    if depth > MOST_NESTED or len(body) != 1 or not _is_either(body[0]):
        return body
    a, b = (without_empty_rounds(arm, depth + 1) for arm in _arms(body[0]))
    if a == b or (not issues(b) and not leaves(b)):
        return a
    if not issues(a) and not leaves(a):
        return b
    return body
