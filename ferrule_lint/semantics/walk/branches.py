"""`if`: two arms are walked, and what they leave is joined."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, walk
from ferrule_lint.semantics.data import by_lot, exchanged, lengths, remainders, shares
from ferrule_lint.semantics.domain.conditions import TRUE, Formula, deps_of, divergence_of, evaluate, implied, negate
from ferrule_lint.semantics.domain.lattice import Value, worse
from ferrule_lint.semantics.domain.text import called_name, last_name, place_name, position, shown, variables
from ferrule_lint.semantics.domain.trace import Choice, Trace, ends, every_event, weakened
from ferrule_lint.semantics.gradients import counted_terms, meeting, stage_values
from ferrule_lint.semantics.project import options
from ferrule_lint.semantics.walk import (
    asserted,
    boxes,
    counters,
    entered_later,
    filled_by_others,
    first_use,
    given_rank,
    halves,
    in_place,
    left_early,
    made_under,
    peers,
    sizing,
    told_by_hand,
    wrapped_under,
)
from ferrule_lint.semantics.walk.arms import merge_arms
from ferrule_lint.semantics.walk.body import execute
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.kept_tests import set_under, spelled_out
from ferrule_lint.semantics.walk.narrowing import after_test, narrow, read_by_name, widen
from ferrule_lint.semantics.walk.predicates import answered_alike, condition, doubted, trusted_to_agree
from ferrule_lint.semantics.walk.unfolded import unfolded

Env = dict[str, Value]

#: words of a test that compares sizes
_ABOUT_SIZES = re.compile(r"size|shape|len|equal|same|even", re.IGNORECASE)


def if_statement(frame: Frame, s: f.If) -> None:
    s = given_rank.in_one_test(frame, s)
    written = s.test
    if (test := unfolded(frame, written)) is not written:
        s = s._replace(test=test)
    formula, tested = condition(frame, s.test)
    if (test := spelled_out(frame, s.test)) is not s.test:
        s = s._replace(test=test)
    if _is_given_instead(frame, s):
        formula = doubted(formula)
    if shares.takes_turns(frame, s):
        formula = answered_alike(formula)
    if _refuses(s.body):
        formula = trusted_to_agree(formula)
    known = evaluate(formula, {})
    if known is not None:
        execute(frame, s.body if known else s.orelse)
        return
    about_sizes = _is_of_one_size(frame, written, s.test, tested) or _is_number_test(s.test)
    saved, versions, begun = dict(frame.env), dict(frame.versions), frame.clock
    guarded = {p: frame.version(p) for p in _tested_for_presence(s.test)}
    yielded = frame.yielded_length
    own_round = peers.leaves_out(frame, s, formula)
    made = made_under.in_arms(frame, s)
    frame.conditions.append(TRUE if own_round is False else formula)
    in_body = after_test(frame, implied(formula, True), narrow(frame, s.test, True))
    _let_hold(frame, s.test, True, s.orelse)
    frame.of_one_size += about_sizes
    with frame.recording() as body_terms:
        execute(frame, s.body)
    frame.of_one_size -= about_sizes
    if ends(tuple(body_terms)):
        left_early.by_arm(frame, formula, tuple(body_terms), frame.env, begun)
    body_env, frame.env = frame.env, dict(saved)
    read_by_name(s.test, body_env)
    in_body_versions, frame.versions = frame.versions, dict(versions)
    frame.conditions[-1] = TRUE if own_round is True else negate(formula)
    middle = frame.clock
    in_else = after_test(frame, implied(formula, False), narrow(frame, s.test, False))
    _let_hold(frame, s.test, False, s.body)
    with frame.recording() as else_terms:
        execute(frame, s.orelse)
    if ends(tuple(else_terms)):
        left_early.by_arm(frame, negate(formula), tuple(else_terms), frame.env, middle)
    frame.conditions.pop()
    body, orelse = tuple(body_terms), tuple(else_terms)
    if not ends(body) and not ends(orelse):
        widen(body_env, in_body, frame.env, in_else)
        widen(frame.env, in_else, body_env, in_body)
    pos = position(written) or (s.line, s.column, s.line, s.column)
    if stage_values.is_stage_test(formula):
        frame.stage_tests.add(pos[:2])
    body, orelse = first_use.as_guesses(frame, s, body), first_use.as_guesses(frame, first_use.turned(s), orelse)
    if body and _is_way_by_name(frame, s.test):
        body = weakened(body, lambda event: True)
    if body and _is_default(frame, s):
        body = weakened(body, lambda e: e.op == "forward")
    if body and orelse:
        halves.check(frame, s, formula, body, orelse)
        if all(_tells(trace) and _yields(arm) for arm, trace in ((s.body, body), (s.orelse, orelse))):
            frame.yielded_length = yielded  # as many as the sender has: the others are told of each
    if s.orelse and frame.function is not None and frame.function.is_generator and _hand_on_the_same(s.body, s.orelse):
        frame.yielded_length = yielded  # with a progress bar around it, or without
    if body or orelse:
        frame.emit(Choice(formula, body, orelse, frame.module.path, pos, shown(written), "if"))
    if "P2POp" in frame.module.outline.names and any(called_name(call) == "P2POp" for call in nodes(s, f.Call)):
        frame.for_batches.append(formula)
    for place, version in guarded.items():
        # `x = f(x)` under `x is not None` leaves the answer to "is x there" as it was
        if (value := body_env.get(place)) is not None and value.const is None:
            in_body_versions[place] = version
    if divergence_of(formula) is None:
        _without_options(frame, s.test, body_env, in_body_versions)
    if not ends(body) and not ends(orelse):
        _padded_in_both(formula, saved, body_env, frame.env)
        counters.keep_together(s, body_env, frame.env)
        counters.stepped_alone(frame, s, formula, body_env, saved)
        counters.cut_alone(frame, s, formula, body_env, saved)
        remainders.made_up_for(frame, s, body_env)
        _of_one_length(frame, s, body_env)
        _renew(frame, formula, s.test, begun, body_env, in_body_versions)
        made_under.note(frame, made)
    elif not ends(body):
        frame.versions = in_body_versions
    frame.env = _merge(frame, formula, s.line, body_env, frame.env, saved, ends(body), ends(orelse), frozenset(guarded))
    told_by_hand.settle(frame, s)
    by_lot.loaders_of_branch(frame, formula, s)
    if tested.agreed and s.body and type(s.body[-1]) is f.Raise:
        exchanged.settled(frame)


def _of_one_length(frame: Frame, s: f.If, body_env: Env) -> None:
    """`if len(x) < n: x = cat([x, zeros(n - len(x))])` of what has been cut to `n`, or is cut in the other arm."""
    envs = (body_env, frame.env)
    differing = {
        p for env in envs for p, v in env.items() if v.padded or v.shape or v.length or v.shape_deps or v.length_deps
    }
    for place in lengths.after_test(frame, s, differing) if differing else ():
        for env in envs:
            if (known := env.get(place)) is not None and not known.uneven_last:
                env[place] = sizing.of_one_size(known)


def _is_of_one_size(frame: Frame, written: f.Expr, test: f.Expr, tested: Value) -> bool:
    """Whether a test asks what ranks have agreed on for sizes, `len(set(sizes)) == 1`, or whether two numbers are equal
    that they have agreed on: the least and the most of them."""
    if tested.agreed and _names_sizes(written, test):
        return True
    if type(test) is not f.Compare or test.ops != ("==",) or not (tested.agreed or tested.uniform):
        return False
    told = any((v := frame.env.get(name)) is not None and v.agreed for name in variables(test))
    counted = test.rights == (f.Const("1"),) and _names_sizes(written, test)
    return told and (counted or type(test.rights[0]) is not f.Const)


def _names_sizes(*tests: f.Expr) -> bool:
    return any(_ABOUT_SIZES.search(shown(test)) for test in tests)


def _let_hold(frame: Frame, test: f.Expr, outcome: bool, other: f.Body) -> None:
    """In an arm: what holds there for all who go on, since the other arm fails."""
    if other and type(other[-1]) is f.Raise and not frame.attempts:
        asserted.hold(frame, test, outcome)
        counted_terms.let_hold(frame, test, outcome)


def _without_options(frame: Frame, test: f.Expr, body_env: Env, versions: Mapping[str, int]) -> None:
    """`if self.dropout is not None: dropped = random() < self.dropout`, where nobody gives the option: nothing differs
    for it."""
    other = frame.env
    apart = [p for p, v in body_env.items() if v.divergence is not None and (o := other.get(p)) and not o.divergence]
    if not apart or frame.light or not _asks_for_an_option(frame, test):
        return
    for place in apart:
        body_env[place] = body_env[place]._replace(divergence=None)
        frame.tests.pop(versions.get(place, 0), None)


def _asks_for_an_option(frame: Frame, test: f.Expr) -> bool:
    """Whether a test holds only where an attribute has something that nobody in the project gives."""
    if type(test) is f.BoolOp and test.op == "and":
        return any(_asks_for_an_option(frame, value) for value in test.values)
    if type(test) is f.Compare and test.ops == ("is not",) and test.rights == (f.Const("None"),):
        test = test.left
    if type(test) is not f.Attr or type(test.base) is not f.Name or test.base.id != frame.self_name:
        return False
    return frame.self_class is not None and options.is_off(frame.analysis, frame.self_class, test.attr)


def _yields(arm: f.Body) -> bool:
    return any(type(node) is f.Yield for node in walk(arm))


def _hand_on_the_same(body: f.Body, orelse: f.Body) -> bool:
    """Whether either arm yields from the same: `yield from items`, `yield from track(items)`."""
    handed_on: list[set[str]] = []
    for arm in (body, orelse):
        yields = [node.value for node in walk(arm) if type(node) is f.Yield]
        if len(yields) != 1 or type(yields[0]) is not f.Starred:
            return False
        handed_on.append(variables(yields[0].value))
    return not handed_on[0].isdisjoint(handed_on[1])


def _tells(trace: Trace) -> bool:
    """Whether an arm broadcasts something."""
    return any(e.op.startswith("broadcast") for e in every_event(trace))


def _is_way_by_name(frame: Frame, test: f.Expr) -> bool:
    """`if kwargs.get("cache") == "paged"`: another way to do it for those who ask for it by name. Who calls the
    function mostly does not, and what passes its own `**kwargs` on cannot be told to."""
    if type(test) is not f.Compare or test.ops != ("==",) or type(test.left) is not f.Call:
        return False
    of, asked = test.left.func, test.rights[0]
    if type(of) is not f.Attr or of.attr != "get" or type(asked) is not f.Const or asked.text[:1] not in ("'", '"'):
        return False
    given = frame.function.parameters if frame.function is not None else ()
    return any(p.kind == "**" and p.name == place_name(of.base) for p in given)


def _refuses(body: f.Body) -> bool:
    """Whether an arm only complains and leaves: `logging.error(f"{path} is no folder")`, `return`."""
    if len(body) != 2 or type(body[0]) is not f.ExprStmt or type(body[1]) is not f.Return:
        return False
    call = body[0].value
    return type(call) is f.Call and last_name(call.func) in ("error", "critical", "exception") and not body[1].value


def _is_given_instead(frame: Frame, s: f.If) -> bool:
    """`if image_embeds is not None: return image_embeds`: as with a default, and all callers pass it or none does."""
    if type(s.test) is not f.Compare or s.test.ops != ("is not",) or not s.body or frame.function is None:
        return False
    place, last = place_name(s.test.left), s.body[-1]
    if place not in {p.name for p in frame.function.parameters} or type(last) is not f.Return:
        return False
    return place in variables(last) and _MADE_BEFORE.search(place) is not None


#: names of what a module has made
_MADE_BEFORE = re.compile(r"(embeds|embeddings?|features|hidden_states|outputs?|states?)$")


def _is_default(frame: Frame, s: f.If) -> bool:
    """`if embeds is None: embeds = self.embed(ids)` of a parameter: who passes it has run the same module already."""
    parameters = {p.name for p in frame.function.parameters} if frame.function is not None else set()
    place = place_name(s.test.left) if type(s.test) is f.Compare else ""
    if place not in parameters or type(s.test) is not f.Compare or s.test.rights != (f.Const("None"),):
        return False
    return s.test.ops == ("is",) and any(type(x) is f.Assign and place in map(place_name, x.targets) for x in s.body)


def _padded_in_both(formula: Formula, before: Env, a: Env, b: Env) -> None:
    """A place that both arms set, or that only one knows, is not padded by one of them: each ranks builds its own."""
    divergence = divergence_of(formula)
    if divergence is None:
        return
    for env, other in ((a, b), (b, a)):
        for place, value in env.items():
            padded = value.padded
            if padded is None or padded.why[: len(divergence.why)] != divergence.why:
                continue
            if other.get(place) is None or other[place] is not before.get(place):
                env[place] = value._replace(padded=None)


def _is_number_test(test: f.Expr) -> bool:
    """`x.ndim == 0`: a single number has no uneven dimension."""
    if type(test) is not f.Compare or test.ops != ("==",) or test.rights != (f.Const("0"),):
        return False
    return called_name(test.left) in ("ndim", "dim", "ndimension")


def _tested_for_presence(test: f.Expr) -> list[str]:
    """The places that a test, or each term of its conjunction, asks to be there."""
    if type(test) is f.BoolOp and test.op == "and":
        return [p for value in test.values for p in _tested_for_presence(value)]
    if type(test) is f.Compare and test.ops == ("is not",) and test.rights == (f.Const("None"),):
        return [p for p in [place_name(test.left)] if p]
    return []


def _renew(frame: Frame, formula: Formula, test: f.Expr, begun: int, a: Env, versions: dict[str, int]) -> None:
    """What an arm has assigned holds something else after both; `begun`: the last number before them, `versions`: those
    at the end of the body. What tests alone have told of a place leaves its tests as they were."""
    for place in {**versions, **frame.versions}:
        numbers = versions.get(place, 0), frame.versions.get(place, 0)
        if numbers[0] == numbers[1]:
            continue
        one, other = a.get(place), frame.env.get(place)
        kept = None
        if one is not None and other is not None:
            kept = set_under(frame, formula, test, begun, (one, numbers[0]), (other, numbers[1]))
        number = frame.renew(place)
        if kept is not None:
            frame.tests[number] = kept


def _merge(
    frame: Frame,
    formula: Formula,
    line: int,
    a: dict[str, Value],
    b: dict[str, Value],
    before: Mapping[str, Value],
    a_left: bool,
    b_left: bool,
    guarded: frozenset[str],
) -> dict[str, Value]:
    """The environment after two arms; an arm that left contributes nothing."""
    if a_left:
        return b
    if b_left:
        return a
    merged = dict(b)
    for place, value in a.items():
        other = b.get(place)
        if other is value:
            continue
        if other is None:
            # bound in one arm only: that it exists is what the other code relies on, or it was read before as unknown
            merged[place] = _set_in_one_arm(frame, formula, place, value, b, True)
            continue
        value, other = entered_later.in_both(frame, place, value, other, line)
        merged[place] = wrapped_under.met(
            frame, formula, value, other, merge_arms(formula, value, other, before.get(place))
        )
        if place in frame.filled_alike and filled_by_others.tells_alike(formula):
            merged[place] = filled_by_others.met(merged[place], value, other)
        if value.layout is not None and other.layout is not None:
            merged[place] = in_place.of_arms(formula, value, other, before.get(place), merged[place])
        if place in guarded and value.const is None:
            merged[place] = merged[place]._replace(presence=other.presence)
    for place, value in b.items():
        if place not in a:
            merged[place] = _set_in_one_arm(frame, formula, place, value, a, False)
    if frame.gradients:
        meeting.collected(formula, a, b, merged)
    return merged


def _set_in_one_arm(
    frame: Frame, formula: Formula, place: str, value: Value, other: Mapping[str, Value], arm: bool
) -> Value:
    """What only one arm binds: an attribute held something before, so that a constant differs as the test does, and so
    did a place of a list (`box[0]`). `other`: what is known in the other arm; `arm`: with which outcome it is bound."""
    divergence = divergence_of(formula)
    if divergence is not None and not frame.light and (held := boxes.before(frame, other, place)) is not None:
        return merge_arms(formula, value, held) if arm else merge_arms(formula, held, value)
    if value.const is None and divergence is not None and (held := _as_others_have_it(frame, place)) is not None:
        return value._replace(
            uniform=False, presence=worse(value.presence, held.presence), length=worse(value.length, held.length)
        )
    if value.const is not None and divergence is None and frame.own_attribute(place) and value.const != "None":
        return value._replace(uniform=False, const=None, deps=value.deps | deps_of(formula))  # callers tell who sets it
    if value.const is None or divergence is None or "." not in place:
        return value._replace(uniform=False, const=None)
    return value._replace(uniform=False, const=None, divergence=worse(value.divergence, divergence))


def _as_others_have_it(frame: Frame, place: str) -> Value | None:
    """What an attribute of the instance holds where this test has not set it, which is what methods leave in it: on
    ranks that never come to set it, what it was begun with."""
    name = frame.own_attribute(place)
    if not name or frame.self_class is None or frame.light:
        return None
    return frame.analysis.holders.attribute(frame.self_class, name, frame.light)
