"""Uniform predicate: the conditions of a function are OR-reduced, so that every rank goes the same way.

For conditions on the local batch or on a clock. All conditions of a function that are still the same at its first one
are asked in one small MAX all-reduce. Terms that guard None stay in the test, and are asked locally before the
reduction, which stands outside of any short circuit: it cannot raise, and every rank takes part in it.

What asks whether there is enough for the code below, or not too much (`len(data) >= 32`), is AND-reduced: who has less
would fail there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from ferrule_lint.findings import Edit, Finding, Fix, Safety
from ferrule_lint.fixes.agreeing import agreeing
from ferrule_lint.fixes.amounts import amount, limit_of
from ferrule_lint.fixes.blocks import call_of, on_one_line
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.empties import fails_within
from ferrule_lint.fixes.flags import Flag, Flags, flags_of, is_pure, leaves_early, unchanged
from ferrule_lint.fixes.helpers import ANY_RANK
from ferrule_lint.fixes.names import fresh, reads
from ferrule_lint.fixes.site import Group, Site, conjuncts, owner_of
from ferrule_lint.fixes.terms import asks
from ferrule_lint.fixes.tests import Asks, says_done
from ferrule_lint.fixes.tree import Tree

FORM = "uniform-predicate"
#: answers that can be OR-reduced: the code below them runs on any rank, if perhaps for nothing
_DECISIVE: frozenset[Asks] = frozenset({"value", "bad value", "size", "clock"})
_GUARD: frozenset[Asks] = frozenset({"presence", "truth", "other"})
#: terms to which all ranks of a job have one answer: they need no guarding, and may stand in front of a collective
_OF_JOB = re.compile(r"([\w.]+\.)?(is_available|is_initialized|get_world_size)\(\)( (>|!=) 1| >= 2)?")


def propose(site: Site) -> Fix | None:
    """One reduction for the finding's condition and those of the same function that can be asked at the same place."""
    own = _condition(site, site.finding, site.owner)
    group = None if own is None else site.group(own.statement)
    if own is None or group is None:
        return None
    flags = flags_of(site.tree, site.function)
    if isinstance(own.owner, cst.If) and not _is_elif(site.tree, own.owner) and not own.enough:
        joint = _joint(site, own, group, flags)
        if joint is not None:
            return joint
    if own.guards or ("size" in own.asked and not group.certain and not own.enough):
        return None
    helper = agreeing(site, "MIN" if own.enough else "MAX", group)
    if helper is None:
        return None
    name, edits = helper
    test = _term_alone(site.tree, own.test)
    wrap = Edit(site.tree.span(test), f"{name}({site.tree.text(test)}{group.text})")
    return _fix((own,), group, (*edits, wrap))


@dataclass(frozen=True, slots=True)
class _Condition:
    """A test that decides about events: `guards` stay local, the rest is asked of all ranks."""

    finding: Finding
    owner: cst.If | cst.IfExp | cst.BooleanOperation
    test: cst.BaseExpression
    statement: cst.BaseStatement
    guards: tuple[cst.BaseExpression, ...]
    asked: tuple[Asks, ...]
    #: whether there is enough for the code that it decides about: none may go there who has less
    enough: bool = False


def _condition(site: Site, finding: Finding, owner: object) -> _Condition | None:
    """The condition of a finding, if it may be OR-reduced."""
    tree = site.tree
    if finding.code not in ("FER101", "FER102", "FER107") or finding.kind not in ("data", "host", "structure"):
        return None
    if isinstance(owner, cst.If | cst.IfExp):
        test = owner.test
    elif isinstance(owner, cst.BooleanOperation):
        test = owner.left
        if not isinstance(test, cst.Comparison):
            # its value may be the result
            return None
    else:
        return None
    if isinstance(owner, cst.If) and says_done(tree, test) and (owner.orelse is not None or leaves_early(owner.body)):
        # "nothing to do" of one rank is no reason for the others to leave out what they have
        return None
    statement = tree.statement(owner)
    if statement is None or any(isinstance(one, cst.Lambda | cst.CompFor) for one in _until(tree, owner, statement)):
        return None
    if isinstance(owner, cst.If) and owner.orelse is not None and _is_elif(tree, owner):
        return None
    flag = flags_of(tree, site.function).get(test.value) if isinstance(test, cst.Name) else None
    if isinstance(owner, cst.If) and flag is not None and _is_guarded(tree, flag):
        # what it asks besides is asked where it is set
        test, statement = flag.value, flag.statement
    terms = conjuncts(test)
    answers = [asks(tree, term) for term in terms]
    decisive = tuple(answer for answer in answers if answer in _DECISIVE)
    if not decisive or not all(answer in _DECISIVE | _GUARD for answer in answers):
        return None
    guards = tuple(
        term
        for term, answer in zip(terms, answers, strict=True)
        if answer in _GUARD and not _OF_JOB.fullmatch(tree.text(term))
    )
    if any(isinstance(one, cst.NamedExpr | cst.Await | cst.Yield) for one in tree.walk(test)):
        return None
    enough = _asks_for_enough(site, owner, [term for term in terms if asks(tree, term) == "size"])
    if enough is None or (enough and (len(decisive) > 1 or guards)):
        return None
    may_be_nothing = not enough and bool({"size", "value"} & set(decisive))
    if may_be_nothing and isinstance(owner, cst.If | cst.IfExp) and fails_within(site, owner):
        return None
    return _Condition(finding, owner, test, statement, guards, decisive, enough)


def _asks_for_enough(site: Site, owner: cst.CSTNode, terms: list[cst.BaseExpression]) -> bool | None:
    """Whether terms ask for so much as the code below needs, or can take; None if they may ask for a way to take:
    with another arm, or where more than a number that the arm does not use may be what needs another treatment."""
    asked = [(amount(site.tree, term), limit_of(term)) for term in terms]
    if all(kind in ("some", "none") for kind, _ in asked):
        return False
    if not isinstance(owner, cst.If) or owner.orelse is not None or leaves_early(owner.body):
        return None
    used = reads(owner.body)
    for kind, limit in asked:
        more = kind == "more" and limit is not None and (isinstance(limit, cst.Integer) or bool(reads(limit) & used))
        if kind not in ("some", "less", "least", "exact") and not more:
            return None
    return True


def _is_guarded(tree: Tree, flag: Flag) -> bool:
    """Whether a flag asks for a value where it is there: `x is not None and bool(x.any())`."""
    answers = [asks(tree, term) for term in conjuncts(flag.value)]
    return "presence" in answers and any(answer in _DECISIVE for answer in answers)


def _until(tree: Tree, node: cst.CSTNode, last: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for one in tree.around(node):
        if one is last:
            return
        yield one


def _is_elif(tree: Tree, owner: cst.CSTNode) -> bool:
    return isinstance(owner, cst.If) and isinstance(tree.parent(owner), cst.If)


def _joint(site: Site, own: _Condition, group: Group, flags: Flags) -> Fix | None:
    """The fix for all conditions that can be asked where the first of them is, or where their flags are set."""
    tree = site.tree
    conditions = [own]
    for finding in site.others:
        other = _condition(site, finding, owner_of(tree, finding))
        if other is None or not isinstance(other.owner, cst.If) or _is_elif(tree, other.owner) or other.enough:
            continue
        if all(one.owner is not other.owner for one in conditions):
            conditions.append(other)
    if not group.certain:
        # empty data in a module that may not even run on all ranks: one assumption too many
        conditions = [one for one in conditions if "size" not in one.asked]
    if own not in conditions:
        return None
    conditions.sort(key=lambda one: tree.span(one.owner).line)
    known = {id(one): flags.asking(tree, one.test, one.statement) for one in conditions}
    leaves = flags.ordered(tree, (leaf for found in known.values() for leaf in found))
    if leaves and not flags.set_together(tree, leaves):
        # each condition for itself
        conditions = [own]
        leaves = flags.ordered(tree, known[id(own)])
        if leaves and not flags.set_together(tree, leaves):
            leaves = []
    if not leaves:
        known = {}
        if isinstance(own.test, cst.Name):
            return None
    start = _after(tree, flags[leaves[-1]].statement) if leaves else conditions[0].statement
    if start is None:
        return None
    asked = [
        one
        for one in conditions
        if known.get(id(one))
        or (
            not isinstance(one.test, cst.Name)
            and start in tree.block(one.statement)
            and (start is one.statement or is_pure(one.test))
            and unchanged(tree, start, one.statement, reads(one.test))
        )
    ]
    if own not in asked:
        return None
    return _edits(site, asked, known, [flags[leaf] for leaf in leaves], start, group)


def _after(tree: Tree, statement: cst.BaseStatement) -> cst.BaseStatement | None:
    """The statement below, in the same block."""
    block = list(tree.block(statement))
    at = block.index(statement) + 1
    return block[at] if at < len(block) else None


def _edits(
    site: Site,
    conditions: list[_Condition],
    known: dict[int, tuple[str, ...]],
    leaves: list[Flag],
    start: cst.BaseStatement,
    group: Group,
) -> Fix | None:
    """The reduction in front of `start`, and the tests by its results; one alone goes into its test."""
    tree = site.tree
    names = [leaf.name for leaf in leaves]
    values = list(names)
    tests: list[Edit] = []
    taken = set(site.module.taken)
    alone: cst.BaseExpression | None = None
    if len(conditions) == 1 and not leaves and not conditions[0].guards:
        alone = _term_alone(tree, conditions[0].test)
    for one in conditions if alone is None else ():
        found = known.get(id(one), ())
        if found and isinstance(one.test, cst.Name):
            continue  # the flag is computed from what is agreed on
        flag = found[0] if found else fresh(_name(tree, one), taken)
        if not found:
            taken.add(flag)
            names.append(flag)
            values.append(on_one_line(tree, one.test) or tree.text(one.test))
        tests.append(Edit(tree.span(one.test), " and ".join([*map(tree.text, one.guards), flag])))
    if alone is None and leaves and len(values) == 1:
        alone = leaves[0].value
    single = alone is not None or len(values) == 1
    helper = agreeing(site, "MAX", group) if single else site.module.helper("_any_rank", ANY_RANK)
    if helper is None:
        return None
    name, edits = helper
    if alone is not None:
        tests.append(Edit(tree.span(alone), f"{name}({tree.text(alone)}{group.text})"))
    else:
        line = call_of(tree.indent(start), ", ".join(names), name, values, group.text)
        edits = (*edits, insertion(tree.first_line(start), line))
    return _fix(tuple(conditions), group, (*edits, *tests))


def _term_alone(tree: Tree, test: cst.BaseExpression) -> cst.BaseExpression:
    """What a test asks besides what all ranks of a job answer alike, if that is one term; else the test."""
    own = [term for term in conjuncts(test) if not _OF_JOB.fullmatch(tree.text(term))]
    return own[0] if len(own) == 1 else test


def _name(tree: Tree, condition: _Condition) -> str:
    """A name for the answer: `any_image_mask` for `image_mask.any()`."""
    terms = [term for term in conjuncts(condition.test) if term not in condition.guards]
    if all(asks(tree, term) == "clock" for term in terms):
        return "is_time"
    for term in terms:
        for one in tree.walk(term):
            if isinstance(one, cst.Name) and one.value not in ("self", "any", "all", "len", "bool", "torch", "not"):
                return f"any_{one.value.strip('_')}"
    return "any_rank_wants"


def _assumptions(conditions: tuple[_Condition, ...], group: Group) -> list[str]:
    """What has to hold for the program to mean what it meant; a clock may be anybody's."""
    asked = {answer for one in conditions for answer in one.asked}
    found = []
    if any(one.enough for one in conditions):
        found.append("those that have enough can wait, or do without")
    elif "size" in asked:
        found.append("the branch can run on empty data")
    elif asked - {"clock"}:
        found.append("the branch does no harm where the rank's own answer is no")
    if not group.certain:
        found.append("all ranks of the job run this function")
    return found


def _fix(conditions: tuple[_Condition, ...], group: Group, edits: Iterable[Edit]) -> Fix:
    what = "the condition is" if len(conditions) == 1 else f"{len(conditions)} conditions are"
    assumptions = _assumptions(conditions, group)
    how = "AND" if any(one.enough for one in conditions) else "OR"
    message = f"{what} {how}-reduced over the ranks" + (
        f"; assumes that {' and that '.join(assumptions)}" if assumptions else ""
    )
    return Fix(FORM, message, Safety.UNSAFE if assumptions else Safety.SAFE, in_order(edits))
