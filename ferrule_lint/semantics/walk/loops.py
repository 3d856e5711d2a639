"""`for` and `while`: a body is walked in a state that any round may start from."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.stated import stated
from ferrule_lint.facts.walk import statements, told_parts
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import begun_loaders, special_methods
from ferrule_lint.semantics.calls.dispatch import seen_by_others
from ferrule_lint.semantics.control import more_items, queues, tried_again, who_is_there
from ferrule_lint.semantics.data import filling, iteration, sample_fields, selection, shares
from ferrule_lint.semantics.data.ordering import numbers
from ferrule_lint.semantics.domain.assigned import appended_to
from ferrule_lint.semantics.domain.axes import DP, WORLD
from ferrule_lint.semantics.domain.conditions import FALSE, TRUE, Atom, Formula, deps_of, divergence_of
from ferrule_lint.semantics.domain.dependences import FLOWS, NO_DEPS, NOTHING
from ferrule_lint.semantics.domain.joins import join2
from ferrule_lint.semantics.domain.lattice import Divergence, Value, rounds_of, worse
from ferrule_lint.semantics.domain.text import last_name, place_name, position, shown
from ferrule_lint.semantics.domain.trace import (
    Choice,
    Event,
    Exit,
    Loop,
    Trace,
    choices_and_loops,
    has_exit,
    weakened,
    without_last,
)
from ferrule_lint.semantics.gradients import meeting, some_round
from ferrule_lint.semantics.sources import whole_sets
from ferrule_lint.semantics.walk import (
    adding_up,
    begun_again,
    by_hand,
    counters,
    divisible,
    each_of,
    entered_later,
    first_round,
    given,
    grown,
    joined,
    kept_tests,
    left_early,
    no_rounds,
    out_of_time,
    over_groups,
    same_modules,
    settings,
    sizing,
    used_up,
    yielding,
)
from ferrule_lint.semantics.walk.arms import is_uniform
from ferrule_lint.semantics.walk.binding import bind, element_of, is_numbered, loop_term
from ferrule_lint.semantics.walk.body import execute
from ferrule_lint.semantics.walk.frame import Frame, Round
from ferrule_lint.semantics.walk.predicates import condition
from ferrule_lint.semantics.walk.trial import Trial
from ferrule_lint.semantics.walk.unfolded import items_of

_DEEPEST_SECOND_PASS = 2


def for_loop(frame: Frame, s: f.For) -> None:
    written = s
    word, told_of = stated(s.iterable)
    same_rounds = word == "uniform"
    if same_rounds:
        s = s._replace(iterable=told_of)
    if (walked := items_of(frame, s.iterable)) is not s.iterable:
        s = s._replace(iterable=walked)
    iterable = frame.eval(s.iterable)
    told_apart = iterable.divergence if word == "divergent" else None
    iterable = iteration.of_instance(frame, iterable, position(s.iterable))
    if iterable.unordered is not None and (same_rounds or numbers(s.target)):
        iterable = iterable._replace(unordered=None)
    if iterable.items is not None and not iterable.items and not iterable.container:
        return
    if no_rounds.of_for(frame, s.iterable):
        return
    pos = position(s.iterable) or (s.line, s.column, s.line, s.column)
    again = same_rounds or (frame.function is not None and begun_again.until_counted(frame.function.body, s))
    if again or counters.one_round(s):
        iterable = iterable._replace(length=None, length_deps=NO_DEPS)

    special_methods.begin(frame, iterable, pos)

    def enter() -> None:
        special_methods.each_round(frame, iterable, pos)
        value = sample_fields.walked(frame, s.target, s.iterable, s.body, element_of(frame, iterable, s.iterable))
        if _names_batch(s.target) and whole_sets.is_walked(frame, s.iterable):
            value = Value(uniform=True, types=value.types)
        bind(frame, s.target, _batch_by_name(frame, s.target, value, is_numbered(frame, s.iterable)))
        each_of.recall(frame, s.target, s.iterable)

    if iterable.length is not None and shares.counted_off(frame, s):
        iterable = iterable._replace(length=None)
    if iterable.unwrapped:
        seen_by_others(frame, s.iterable)  # `for layer in model.layers: fully_shard(layer)`
    begun_loaders.begin(frame, s.iterable)
    frame.rounds.append(Round(s, iterable, len(frame.conditions)))
    agreed, filled = over_groups.reduced(s), filling.by_rounds(frame, s)
    made_anew = each_of.made_anew(frame, s, enter)
    body = _rounds(
        frame, s.body, enter, lambda: iterable.uniform and rounds_of(iterable) is None, agreed=agreed,
        each=lambda: each_of.left(frame, s.target, s.iterable), single=counters.is_single(frame, s),
    )  # fmt: skip
    body = first_round.left_out(frame, s, body)
    frame.rounds.pop()
    filling.after_rounds(frame, filled)
    grown.after_loop(frame, s, body, None)
    grown.after_share(frame, s, rounds_of(iterable))
    entered_later.after_loop(frame, s)
    each_of.agreed(frame, s, bool(body))
    each_of.of_new_sizes(frame, made_anew)
    if body:
        term = loop_term(frame, iterable, body, pos, s.iterable)
        if again or (frame.function is not None and begun_again.until_stepped(frame.function.body, s, body)):
            term = term._replace(trip=None, deps=NO_DEPS)
        elif term.trip is None and not iterable.uniform:
            term = term._replace(trip=iteration.drawn(frame, s.body, s.iterable) or joined.rounds(frame, s, iterable))
        if (term.trip is not None or term.deps) and who_is_there.ends(s, body):
            term = term._replace(trip=None, deps=NO_DEPS)
        if term.trip is not None and term.trip.kind == "rank":
            silent = more_items.are_silent(frame, term.trip, iterable) and not any(type(t) is Event for t in body)
            trip = term.trip.at_most(Confidence.LOW) if silent else term.trip
            term = term._replace(trip=trip, sums=adding_up.sums(frame, written))
        if told_apart is not None:
            term = term._replace(trip=told_apart)
        if term.order is not None and same_modules.in_any_order(body, s):
            term = term._replace(order=None)
        frame.emit(term._replace(polls=queues.tries(s), gives_up=tried_again.gives_up(s)))
    _loop_else(frame, s, body, pos)


_BATCH = re.compile(r"(^|_)(micro|mini)?_?batch$")


def _names_batch(target: f.Expr) -> bool:
    return type(target) is f.Name and _BATCH.search(target.id) is not None


def _batch_by_name(frame: Frame, target: f.Expr, value: Value, numbered: bool = False) -> Value:
    """`for batch in stream`: what a loop takes from something unknown and calls a batch is one, but for the number of
    the round (`for batch, (x, y) in enumerate(loader)`)."""
    if type(target) is f.Sequence and value.items is not None and len(value.items) == len(target.elements):
        pairs = enumerate(zip(target.elements, value.items, strict=True))
        return value._replace(
            items=tuple([v if numbered and not i else _batch_by_name(frame, t, v) for i, (t, v) in pairs])
        )
    if type(target) is not f.Name or not _BATCH.search(target.id):
        return value
    if value.length is not None and value.data is not None and value.length.why == value.data.why:
        value = value._replace(length=None)  # as many items as the loader is told, whatever hands it out
    if value.length_deps and value.length_deps == selection.by_content(value):
        value = value._replace(length_deps=NO_DEPS)
    if value.uniform or value.data is not None or value.divergence is not None or value.types:
        return value
    note = f"`{target.id}` is the rank's own batch"
    return value._replace(data=frame.source(DP, "data", target.pos, note, Confidence.MEDIUM))


def _loop_else(frame: Frame, s: f.For | f.While, body: Trace, pos: f.Pos, late: Divergence | None = None) -> None:
    """The else of a loop runs on ranks that did not leave it by `break`; `late`: why some have less time."""
    if not s.orelse:
        return
    # behind `if not found: continue`, a `break` needs no test of its own
    leaves = ("break", "continue") if any(type(t) is Exit and t.kind == "break" for t in body) else ("break",)
    breaks = [
        c
        for c in choices_and_loops(body)
        if type(c) is Choice and (has_exit(c.body) in leaves or has_exit(c.orelse) in leaves)
    ]
    divergence = next((d for c in breaks if (d := divergence_of(c.formula)) is not None), None)
    with frame.recording() as terms:
        execute(frame, s.orelse)
    if not breaks:
        frame.terms.extend(terms)
    elif terms:
        at, text = breaks[0].pos, breaks[0].text
        if divergence is None and late is not None and type(s) is f.While:
            divergence, at, text = late, pos, shown(s.test)
        atom = Atom(f"left the loop at {frame.module.path}:{s.line}", divergence, NO_DEPS)
        frame.emit(Choice(atom, (), tuple(terms), frame.module.path, at, text, "loop else"))


def while_loop(frame: Frame, s: f.While) -> None:
    if (walked := by_hand.as_for(frame, s)) is not None:
        for_loop(frame, walked)
        return
    first, _ = condition(frame, s.test)
    if first == FALSE or no_rounds.of_while(frame, s.test):
        return
    before, versions = dict(frame.env), dict(frame.versions)
    turned = _turned(frame, s, first)
    grown.after_loop(frame, s, turned.body, divergence_of(turned.formula))
    _filled_up(frame, s)
    grown.counted_up(frame, s)
    pos = position(s.test) or (s.line, s.column, s.line, s.column)
    yielding.in_rounds(frame, s, turned.formula)
    yielding.in_slices(frame, s)
    late = out_of_time.why(turned.body, turned.formula)
    if turned.body:
        loop = _while_term(frame, s, turned, pos)
        if not frame.light:
            trip, deps = used_up.of_while(s, before)
            loop = loop._replace(trip=worse(loop.trip, trip), deps=loop.deps | deps)
        apart = None
        if divergence_of(turned.formula) is not None and not frame.light:
            apart = _by_setting(frame, s, before, versions, pos)
        frame.emit(apart or loop)
        late = late if loop.trip is not None else None
        if late is not None and not s.orelse:
            out_of_time.behind(frame, loop, late)
    _loop_else(frame, s, turned.body, pos, late if out_of_time.leaves(turned.body, "break") else None)


class _Turned(NamedTuple):
    """A `while` that has been walked: what a round issues, and what decides whether there is one."""

    body: Trace
    formula: Formula


def _turned(frame: Frame, s: f.While, first: Formula) -> _Turned:
    """`first`: the test before the first round."""
    formulas: list[Formula] = [TRUE]
    waits = len(frame.waits)

    def enter() -> None:
        formulas[0], _ = condition(frame, s.test)
        divergence = divergence_of(formulas[0]) or _as_it_comes(frame, s)
        frame.waits[waits:] = [divergence] if divergence is not None and divergence.kind == "host" else []

    once = first == TRUE and not any(type(node) in (f.Break, f.Continue) for node in statements(s.body))
    body = _rounds(frame, s.body, enter, lambda: is_uniform(formulas[0]), once)
    del frame.waits[waits:]
    return _Turned(body, formulas[0])


def _as_it_comes(frame: Frame, s: f.While) -> Divergence | None:
    """Why another number of items has come to each process of a loop that takes them until there is none left."""
    handler = queues.drained(s)
    if handler is None or handler.type is None:
        return None
    note = f"`except {shown(handler.type)}` ends the rounds where nothing more has come to this process"
    return frame.source(WORLD, "host", (handler.line, 1, handler.line, 1), note, Confidence.MEDIUM)


def _while_term(frame: Frame, s: f.While, turned: _Turned, pos: f.Pos) -> Loop:
    divergence = divergence_of(turned.formula)
    if divergence is not None and divergence.kind == "host" and queues.sets_no_number(frame, s):
        divergence = None
    trip = divergence or iteration.drawn(frame, s.body)
    polls = queues.polls(s) or queues.tries(s)
    text = "while True" if s.test == f.Const("True") else shown(s.test)
    deps, key = deps_of(turned.formula), frame.key(s.test)
    return Loop(
        turned.body, trip, None, deps, frame.module.path, pos, text, key, polls=polls, tested=True,
        gives_up=tried_again.gives_up(s),
    )  # fmt: skip


def _by_setting(
    frame: Frame, s: f.While, before: dict[str, Value], versions: dict[str, int], pos: f.Pos
) -> Choice | None:
    """`while unfinished(flag, synced):` where `synced` says whether the ranks agree on the end, and may say as well
    whether a round has collectives: one loop for each of its outcomes, if they agree under one of them. Where they do
    not agree, that a forward gathers is a guess: who made the setting made it for modules that do."""
    after, last = frame.env, frame.versions
    for name in settings.passed_on(frame, s, before):
        loops: list[Loop] = []
        for outcome in ("True", "False"):
            frame.env = {**before, name.id: Value(uniform=True, const=outcome)}
            frame.versions = dict(versions)
            with frame.recording(), Trial(frame):
                first, _ = condition(frame, s.test)
                loops.append(_while_term(frame, s, _turned(frame, s, first), pos))
        frame.env, frame.versions = before, versions
        setting, _ = condition(frame, name)
        frame.env, frame.versions = after, last
        if any(loop.trip is None for loop in loops):
            on, off = (_arm(loop) for loop in loops)
            return Choice(setting, on, off, frame.module.path, pos, name.id, "if")
    return None


def _arm(loop: Loop) -> Trace:
    """A loop that is run under one outcome of a setting under which, or under the other, ranks agree on its end."""
    arm: Trace = (loop,) if loop.body else ()
    return arm if loop.trip is None else weakened(arm, lambda event: event.assumed)


def _filled_up(frame: Frame, s: f.While) -> None:
    """`while len(items) < most: items.append(...)`: as long as the number says, from here on; and so is a list that
    gets an item in each of the same rounds, as lists do that are kept side by side. `while len(items) % ranks:`: a
    multiple."""
    test = s.test
    if not any(type(node) is f.Break for node in statements(s.body)):
        behind = tuple(told_parts(test, False))
        divisible.hold(frame, divisible.dealt_evenly(frame, behind))
        for longest in sizing.as_long_as_agreed(frame, behind):  # `while x.shape[0] < most: x = torch.cat([x, zeros])`
            if (padded := frame.env.get(longest)) is not None:
                frame.env[longest] = sizing.of_one_size(padded)
    if type(test) is not f.Compare or test.ops not in (("<",), ("!=",)) or type(test.left) is not f.Call:
        return
    place = place_name(test.left.args[0]) if last_name(test.left.func) == "len" and test.left.args else ""
    if not place or frame.eval(test.rights[0]).divergence is not None:
        return
    for item in (place, *(appended_to(statement) for statement in s.body)):
        known = frame.read(item) if item else None
        if known is not None and given.stands_for_passed(frame, item):
            frame.env[item] = filling.filled_up(known)._replace(container=True)
        elif known is not None and (known.length_deps or any(how == FLOWS for _, how in known.deps)):
            frame.env[item] = filling.filled_up(known)
        elif known is not None and known.length is not None:
            frame.env[item] = known._replace(length=None)


def _rounds(
    frame: Frame,
    statements: f.Body,
    enter: Callable[[], None],
    alike: Callable[[], bool],
    once: bool = False,
    agreed: frozenset[str] = frozenset(),
    each: Callable[[], dict[str, Value]] = dict,
    single: bool = False,
) -> Trace:
    """The loop body's trace in a state that any round may start from: a first pass finds what it changes.

    `once`: every rank runs one round at least, and to its end, so that nothing is left of what was before.
    `agreed`: what the ranks agree on in each round, and need not where there is none.
    `each`: what a round leaves in the object that it is about, which is there where there is a round.
    `single`: there is one round, which begins with what was before.
    `alike`: whether all ranks certainly run as many rounds. If not, what the loop changes is uniform within a round but
    not after the loop (temporal divergence, as in LLVM's uniformity analysis).
    """
    before = saved = dict(frame.env)
    used = some_round.used(frame, statements, before) if frame.gradients else NOTHING
    versions = dict(frame.versions)
    told: dict[str, Value] = {}
    frame.loop_depth += 1
    frame.loops.append(left_early.Rounds(len(frame.conditions)))
    if frame.loop_depth <= _DEEPEST_SECOND_PASS and not single:
        # what is found in the first pass is found again in the second, whose trace is the one that is kept
        with Trial(frame):
            frame.skipped.append([])
            with frame.recording():
                enter()
                execute(frame, statements)
            left_early.join(frame, frame.loops[-1].ways, "continue")
            frame.loops[-1].ways.clear()
            meeting.after_round(frame.env, frame.skipped.pop(), used)
        told = {place: frame.env[place] for place in agreed if place in frame.env}
        frame.env = any_rounds(saved, frame.env)
        kept_tests.forget(frame, versions)
        saved = dict(frame.env)
    frame.skipped.append([])
    with frame.recording() as terms:
        enter()
        execute(frame, statements)
    rounds = frame.loops.pop()
    ways = rounds.ways
    left_early.join(frame, ways, "continue")
    meeting.after_round(frame.env, frame.skipped.pop(), used)
    frame.loop_depth -= 1
    of_each = each()
    after = dict(frame.env) if once else any_rounds(saved, frame.env)
    after.update(told)
    if not (alike() and all(_left_together(term) for term in choices_and_loops(tuple(terms)))):
        for place, value in after.items():
            # two values may be told apart by nothing that is known of them
            changed = before.get(place) != value or frame.versions.get(place) != versions.get(place)
            if value.uniform and changed:
                after[place] = value._replace(uniform=False)
    frame.env = after
    kept_tests.forget(frame, versions)
    left_early.join(frame, ways, "break")
    left_early.after_loop(frame, rounds)
    frame.env.update(of_each)
    return without_last(tuple(terms), "continue")


def _left_together(term: Choice | Loop) -> bool:
    """Whether ranks that leave a round early here, or the loop, do so together."""
    if type(term) is not Choice:
        return True
    return is_uniform(term.formula) or not (has_exit(term.body) or has_exit(term.orelse))


def any_rounds(before: dict[str, Value], after: dict[str, Value]) -> dict[str, Value]:
    """What holds after any number of rounds, none included."""
    merged = dict(after)
    for place, value in before.items():
        other = after.get(place)
        if other is None:
            merged[place] = value
        elif other is not value:
            joined = join2(value, other)
            merged[place] = (
                joined._replace(const=None) if joined.const is not None and value.const != other.const else joined
            )
    return merged
