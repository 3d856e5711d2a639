"""Do two ranks that answer a test differently issue the same events?

A product of two abstract ranks (GPUVerify's two-thread reduction): both share every undecided choice, and differ in the
divergent atoms. Cost: linear in the trace for each assignment of at most `MOST_ATOMS` linked atoms, within a budget
that ends in silence.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.divergence import ends, way_there
from ferrule_lint.semantics.divergence.compare import BUDGET, MOST_ATOMS, Comparison, Difference, names_in
from ferrule_lint.semantics.divergence.evidence import explain, meet_again
from ferrule_lint.semantics.divergence.signatures import RAISES, Signature, alike, issues, may_be_alike, mentions
from ferrule_lint.semantics.domain.axes import UNKNOWN_GROUP
from ferrule_lint.semantics.domain.conditions import Atom, atoms, implied_alike
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.text import in_order
from ferrule_lint.semantics.domain.trace import Choice, Trace, choices_and_loops, has_exit, parts
from ferrule_lint.semantics.domain.trace import ends as always_leaves

#: trace terms visited in all comparisons of one function
MOST_EFFORT = 300_000

#: settings that several tests ask for, told apart when a difference is checked once more
MOST_SETTINGS = 3

#: settings that decide over several things which a rank that has left does not come to
MOST_REPEATED = 2


@dataclass(slots=True)
class Effort:
    """What the comparisons of one function may still cost, and who is told where that, or another budget, ends one.
    `by_number`: the function runs models, and is none: see `Comparison`."""

    count: Callable[[str], None] = lambda what: None
    left: int = MOST_EFFORT
    by_number: bool = False


def difference(
    root: Trace,
    choice: Choice,
    own: Mapping[str, Atom],
    divergence: Divergence,
    least: Confidence,
    surely: bool = False,
    effort: Effort | None = None,
) -> Difference | None:
    """How the events of `root` differ between ranks that answer `choice`'s divergent atoms differently, or None.

    `surely`: the ranks differ only under a setting that is not known, so that what calls issue only if an argument
    says so is no evidence: the two settings may exclude each other.
    """
    effort = effort or Effort()
    if effort.left <= 0:
        effort.count("comparisons of long traces")
        return None
    axes = divergence.axes
    lenient = divergence.kind == "host" or (divergence.kind == "rank" and not divergence.member)
    # data that is reduced in a group differs within that very group, whichever it is
    lenient = lenient or (divergence.kind == "data" and divergence.group != "" and axes == UNKNOWN_GROUP)
    # a tower run for images and again for videos, or for each span of a sample, is balanced by one dummy run in
    # practice; that it runs matters
    by_presence = divergence.kind in ("structure", "data")
    # a helper that runs the towers of a model it is given goes by which inputs are there, as the model itself does
    by_number = effort.by_number and divergence.kind == "data"
    only = divergence.kind == "rank"
    question = Comparison(
        axes, least, lenient, by_presence, by_number, only, divergence.member, surely,
        divergence.group if axes == UNKNOWN_GROUP else "", divergence.kind == "host", divergence.kind == "rank",
    )  # fmt: skip
    if ends.meet(root):
        apart = _compared(root, choice, own, replace(question, but_ends=True), effort)
        return apart or _compared(root, choice, own, question, effort, of_ends=True)
    return _compared(root, choice, own, question, effort)


def _compared(
    root: Trace,
    choice: Choice,
    own: Mapping[str, Atom],
    question: Comparison,
    effort: Effort,
    of_ends: bool = False,
) -> Difference | None:
    """`of_ends`: of the first and the last pipeline stage only."""
    by_presence = question.by_presence
    question = replace(question, often=_asked_often(root))
    keys = _linked(root, own)
    if len(keys) > MOST_ATOMS:
        effort.count("tests linked in a comparison")
        keys = keys[:MOST_ATOMS] if len(own) <= MOST_ATOMS else list(own)[:MOST_ATOMS]
    outcomes: list[tuple[dict[str, bool], Signature]] = []
    for values in itertools.product((True, False), repeat=len(keys)):
        assignment = dict(zip(keys, values, strict=True))
        if of_ends:
            of_one = ends.as_one_of_them(root, assignment)
            if of_one is None:
                continue
            assignment = of_one
        comparison = question.fresh()
        signature = comparison.signature(root, (), assignment)
        effort.left -= BUDGET - comparison.budget
        if comparison.exhausted:
            effort.count("comparisons of long traces")
            return None
        if signature is not RAISES:
            outcomes.append((assignment, signature))
    # for two ranks that may issue the same, and for two that do not; worked out where there are such
    asked: dict[bool, list[tuple[dict[str, bool], bool]]] = {}
    said: dict[int, Signature] = {}
    for (a, x), (b, y) in itertools.combinations(outcomes, 2):
        if not (issues(x) or issues(y)) or any(a[k] != b[k] for k in keys if k not in own):
            continue
        same = alike(x, y, by_presence) or _same_by_truth(question, root, (a, x), (b, y), said, effort)
        if not same and _one_fails(question, root, choice, a, b):
            continue
        if same not in asked:
            asked[same] = [*(_asked_again if same else _asked)(root, choice)]
        for settings, surely in asked[same]:
            one, other = {**settings, **a}, {**settings, **b}
            # without settings that is what has been compared just now
            if not settings or _differ(question, root, one, other, by_presence, surely=surely):
                found = explain(root, choice, one, other, question.fresh())
                if found is not None:
                    rejoined = may_be_alike(x, y) and meet_again(found, root, (one, other), question)
                    return found._replace(open=rejoined)
    return None


def _asked(root: Trace, choice: Choice) -> Iterator[tuple[dict[str, bool], bool]]:
    """The settings for which two ranks are compared, and whether what they do must not hang on any other."""
    return ((settings, False) for settings in _settings(root, choice))


def _asked_again(root: Trace, choice: Choice) -> Iterator[tuple[dict[str, bool], bool]]:
    """The same for two ranks that may issue the same by choices which each makes for itself. What both have alike
    counts then: a setting that the choice asks for and that decides elsewhere, too; where one of them leaves, a setting
    that decides over several things that the other goes on with; and that nothing fails, for a rank that leaves and one
    on which something fails may go the same way."""
    terms = [o for o in choices_and_loops(root) if type(o) is Choice and o is not choice]
    asked = _settings_of([choice])
    known = _settings(root, choice) if not asked.isdisjoint(_settings_of(terms)) else []
    failing: dict[str, bool] = {}
    if has_exit(choice.body + choice.orelse):
        handlers = [o for o in terms if o.form == "except" and has_exit(o.body)]
        failing = dict.fromkeys(sorted(_settings_of(handlers), key=in_order), False)
        known = [*known, *_of_repeated([o for o in terms if o.form != "except"])]
    if failing:
        yield failing, False
    if leading := _leading(root, choice):
        yield {**failing, **leading}, False
    for settings in known:
        if settings:
            yield {**failing, **settings}, not _stands_alone(root, settings)


def _of_repeated(choices: Iterable[Choice]) -> list[dict[str, bool]]:
    """The answers to the first tests, alike on all ranks, that decide over more than one thing."""
    often = Counter(key for o in choices for key in _settings_of([o]))
    keys = sorted((key for key, times in often.items() if times > 1), key=in_order)[:MOST_REPEATED]
    return [dict(zip(keys, v, strict=True)) for v in itertools.product((True, False), repeat=len(keys)) if keys]


def _stands_alone(root: Trace, settings: Mapping[str, bool]) -> bool:
    """Whether no other test that ranks answer alike speaks of what these do: whatever it says goes with them."""
    others = _settings_of(o for o in choices_and_loops(root) if type(o) is Choice) - settings.keys()
    spoken = {name for key in settings for name in names_in(key)}
    return all(spoken.isdisjoint(names_in(key)) for key in others)


def _settings(root: Trace, choice: Choice) -> list[dict[str, bool]]:
    """The answers to tests which both ranks answer alike and which decide more than once, the choice being one."""
    # what comes behind an arm that leaves is the other one
    rest = _behind(root, choice) or () if always_leaves(choice.body) or always_leaves(choice.orelse) else ()
    own = [o for o in choices_and_loops((choice, *rest)) if type(o) is Choice]
    asked = _settings_of([choice])
    # an arm of a long chain holds all that come after it: only those are searched whose tests say something
    telling = [o for o in own if o is not choice and _settings_of([o])]
    leaving = _settings_of([o for o in telling if has_exit(o.body + o.orelse)])
    others: set[str] = set()
    outside: set[str] = set()
    if asked or leaving:
        inside = {id(o) for o in own}
        choices = [o for o in choices_and_loops(root) if type(o) is Choice and o is not choice]
        others = _settings_of(choices)
        outside = _settings_of([o for o in choices if id(o) not in inside])
    # an exit in here may be taken under the same setting that decides over what comes elsewhere, and in another round
    # of a loop the settings that led here are what they were
    again = {key for key in asked if key in others or not _ruled_out(key, others).isdisjoint(others)}
    nearest = (again, leaving & outside, _settings_of(_around(root, choice) or ()))
    keys = list(dict.fromkeys(key for some in nearest for key in sorted(some, key=in_order)))[:MOST_SETTINGS]
    found = (dict(zip(keys, values, strict=True)) for values in itertools.product((False, True), repeat=len(keys)))
    return [_with_ruled_out(settings, asked | others) for settings in found]


#: the key of a test whether something is one of several: a text, a number, a member of an Enum
_IS_ONE_OF = re.compile(r"(.+) == (?:'[^']*'|\"[^\"]*\"|-?\d+|[\w.]*\.[A-Z][A-Z0-9_]*)")


def _ruled_out(key: str, others: Iterable[str]) -> set[str]:
    """Of other tests, those that fail where this one holds: `kind == "new"` where `kind == "old"`."""
    one = _IS_ONE_OF.fullmatch(key)
    if one is None:
        return set()
    return {o for o in others if o != key and (m := _IS_ONE_OF.fullmatch(o)) is not None and m[1] == one[1]}


def _with_ruled_out(settings: dict[str, bool], others: Iterable[str]) -> dict[str, bool]:
    """Settings, and what follows from those that hold."""
    gone = {o for key, holds in settings.items() if holds for o in _ruled_out(key, others)}
    return {**dict.fromkeys(sorted(gone), False), **settings}


def _behind(trace: Trace, choice: Choice) -> Trace | None:
    """What comes behind a choice in its block; None: it is not here."""
    for i, term in enumerate(trace):
        if term is choice:
            return trace[i + 1 :]
        if type(term) is Choice:
            found = _behind(term.body, choice)
            found = _behind(term.orelse, choice) if found is None else found
        else:
            found = _behind(parts(term), choice)
        if found is not None:
            return found
    return None


def _around(trace: Trace, choice: Choice) -> list[Choice] | None:
    """The choices that a choice stands in, itself not included; None: it is not here."""
    for term in trace:
        if term is choice:
            return []
        if inner := parts(term):
            found = _around(inner, choice)
            if found is not None:
                return [term, *found] if type(term) is Choice else found
    return None


def _leading(trace: Trace, choice: Choice) -> dict[str, bool] | None:
    """The answers, alike on all ranks and in all rounds, to the tests that a choice stands in: what other arms of these
    issue is for other runs, and makes up for nothing. None: it is not here."""
    for term in trace:
        if term is choice:
            return {}
        arms = [(term.body, True), (term.orelse, False)] if type(term) is Choice else [(parts(term), True)]
        for arm, holds in arms:
            found = _leading(arm, choice)
            if found is not None and type(term) is Choice and term.form not in ("except", "exception"):
                said = implied_alike(term.formula, holds)
                return {**found, **{key: value for key, value in said.items() if "#" not in key}}
            if found is not None:
                return found
    return None


def _settings_of(choices: Iterable[Choice]) -> set[str]:
    return {a.key for o in choices for a in atoms(o.formula) if a.divergence is None}


def _differ(
    question: Comparison,
    root: Trace,
    a: Mapping[str, bool],
    b: Mapping[str, bool],
    by_presence: bool,
    *,
    surely: bool,
) -> bool:
    """Whether two ranks issue different events, or it would take too long to tell. `surely`: whatever other tests say
    that both share, since these may depend on those which have been answered (`kind != OLD`, `kind == NEW`)."""
    first, second = question.fresh(), question.fresh()
    x, y = first.signature(root, (), a), second.signature(root, (), b)
    if first.exhausted or second.exhausted:
        return not surely
    if surely and (mentions(x, "either") or mentions(y, "either")):
        return False
    if x is RAISES or y is RAISES or alike(x, y, by_presence):
        return False
    return not _same_by_truth(question, root, (a, x), (b, y), {})


def _one_fails(question: Comparison, root: Trace, choice: Choice, a: Mapping[str, bool], b: Mapping[str, bool]) -> bool:
    """Whether one of two ranks that come to a choice surely ends in an exception."""
    way = way_there.answers(root, choice)
    return (
        way is not None
        and bool(way)
        and any(question.fresh().signature(root, (), {**way, **answered}) is RAISES for answered in (a, b))
    )


def _same_by_truth(
    question: Comparison,
    root: Trace,
    one: tuple[Mapping[str, bool], Signature],
    other: tuple[Mapping[str, bool], Signature],
    said: dict[int, Signature],
    effort: Effort | None = None,
) -> bool:
    """Whether two ranks issue the same where one asks for what the other asks the opposite of: `if x: pass`,
    `else: reduce()`, and `if not x: reduce()`. `one`, `other`: a rank's answers, and what it issues as written; `said`:
    what is known of ranks, by the identity of their answers."""
    if not all(mentions(signature, "either") for _, signature in (one, other)):
        return False
    for answers, _ in (one, other):
        if id(answers) not in said:
            comparison = replace(question, by_truth=True).fresh()
            signature = comparison.signature(root, (), answers)
            said[id(answers)] = RAISES if comparison.exhausted else signature
            if effort is not None:
                effort.left -= BUDGET - comparison.budget
    first, second = said[id(one[0])], said[id(other[0])]
    return first == second and first is not RAISES


def _asked_often(root: Trace) -> frozenset[str]:
    """The tests that are asked for more than once."""
    times = Counter(a.key for o in choices_and_loops(root) if type(o) is Choice for a in atoms(o.formula))
    return frozenset(key for key, n in times.items() if n > 1)


def _linked(root: Trace, own: Mapping[str, Atom]) -> list[str]:
    """The divergent atoms that appear in one choice with one of `own`: their outcomes have to be told together."""
    keys = dict.fromkeys(own)
    for other in choices_and_loops(root):
        if type(other) is Choice:
            divergent = [a.key for a in atoms(other.formula) if a.divergence is not None]
            if any(k in own for k in divergent):
                keys.update(dict.fromkeys(divergent))
    return list(keys)
