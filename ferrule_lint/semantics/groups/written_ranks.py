"""Groups of ranks that are written out, and tests that let in their members: `rank < 2` beside `new_group([0, 1])`.

```python
workers = new_group(list(range(1, world_size)))
if rank != 0:
    all_reduce(x, group=workers)
```

The ranks of such a group can be counted, and so can those for which a test by numbers holds. A test that holds for all
members of a group, or for none, asks who is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import way_to
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.groups.reckoned import TRIED, Reckoner, Result, Scope, bound_in, jobs

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_MAKES = "new_group"


def asks_for_members(frame: Frame, test: f.Expr) -> bool:
    """Whether a test by the number of the rank holds for all ranks of a group that may be meant, or for none."""
    if frame.light or not frame.module.mentions_any(frozenset({_MAKES})):
        return False
    here = Scope(frame.function)
    return any(_lets_in_members(frame, here, test, made) for made in _made(frame, here))


class _Made(NamedTuple):
    """A call that makes a group, or one in each round of loops."""

    scope: Scope
    ranks: f.Expr
    loops: tuple[f.For, ...]


def _lets_in_members(frame: Frame, here: Scope, test: f.Expr, made: _Made) -> bool:
    """Whether that is so of the ranks of one list, whatever the numbers are that nobody tells."""
    for job in jobs():
        reckoner = Reckoner(frame, job)
        answers = {r: reckoner.on(r, here, test) for r in range(TRIED)}
        let_in = {r for r, answer in answers.items() if answer}
        if None in answers.values() or not let_in or len(let_in) == TRIED:
            return False
        members = _members(reckoner, made, made.loops, {})
        if members is None or len(members) < 2 or not (members <= let_in or _are_the_others(let_in, members)):
            return False
    return True


def _members(reckoner: Reckoner, made: _Made, loops: tuple[f.For, ...], known: Mapping[str, Result]) -> set[int] | None:
    """The ranks of a group, or of all those that loops make; None where they cannot be told."""
    if not loops:
        ranks = reckoner.on(0, made.scope, made.ranks, known)
        return {r for r in ranks if isinstance(r, int) and r < TRIED} if isinstance(ranks, list) else None
    loop, found = loops[0], set[int]()
    rounds = reckoner.on(0, made.scope, loop.iterable, known)
    if type(loop.target) is not f.Name or not isinstance(rounds, list):
        return None
    for item in rounds[:TRIED]:
        of_round = _members(reckoner, made, loops[1:], {**known, loop.target.id: item})
        if of_round is None:
            return None
        found |= of_round
    return found


def _made(frame: Frame, here: Scope) -> list[_Made]:
    """The ranks of the groups that the function makes, itself or by way of another, else of those of other methods of
    its class, else of those of the file."""
    made = [(Scope(function), call) for function, call in frame.module.calls_named(_MAKES)]
    function = frame.function
    own = [one for one in made if one[0].function is function]
    if function is not None:
        own += _by_helpers(frame, here)
    owner = function.owner if function is not None else None
    of_class = [one for one in made if one[0].function is not None and owner and one[0].function.owner == owner]
    found: list[_Made] = []
    for scope, call in own or of_class or made:
        listed = next((value for name, value in call.keywords if name == "ranks"), call.args[0] if call.args else None)
        if listed is not None:
            body = scope.function.body if scope.function is not None else frame.module.body
            around = [block[i] for block, i in way_to(body, call.pos)]
            found.append(_Made(scope, listed, tuple([s for s in around if type(s) is f.For])))
    return found


def _by_helpers(frame: Frame, here: Scope) -> Iterator[tuple[Scope, f.Call]]:
    """The groups that functions make which are called here."""
    asked = Reckoner(frame, next(jobs()))
    for call in frame.function.calls if frame.function is not None else ():
        helper = asked.function_of(here, call) if last_name(call.func) != _MAKES else None
        if helper is not None and helper is not frame.function:
            for inner in helper.calls:
                if last_name(inner.func) == _MAKES:
                    yield bound_in(here, call, helper), inner


def _are_the_others(let_in: set[int], members: set[int]) -> bool:
    """Whether the members are all, up to the last of them, whom a test does not let in."""
    return members.isdisjoint(let_in) and set(range(max(members))) <= members | let_in
