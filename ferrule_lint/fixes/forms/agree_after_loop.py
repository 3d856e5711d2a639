"""Agree after the loop: a rank that would return from a loop without collectives notes it, and all ask behind the loop.

`for p in parameters: if not isfinite(p.grad).all(): return` in front of the collectives: one reduction for the whole
loop, where one in the test would be one for each parameter. The rank that has seen enough leaves the loop at once.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.agreeing import agreeing
from ferrule_lint.fixes.blocks import indented, lines_of, long_string, whole_lines
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.flags import resolved
from ferrule_lint.fixes.movable import is_output
from ferrule_lint.fixes.names import below, binds, fresh, reads
from ferrule_lint.fixes.site import Site, all_terms, conjuncts
from ferrule_lint.fixes.terms import asks
from ferrule_lint.fixes.tests import says_bad
from ferrule_lint.fixes.tree import Tree

FORM = "agree-after-loop"
_Loop = cst.For | cst.While
_EXITS = cst.Return | cst.Break | cst.Continue | cst.Raise | cst.Yield | cst.Await
#: what may stand between a loop and the test in it, so that `break` there is all that `return` was, but for the rest
_BETWEEN = cst.IndentedBlock | cst.If | cst.Else


def propose(site: Site) -> Fix | None:
    """A flag in place of the `return`, and the `return` under the flag of all ranks, behind the loop."""
    tree, owner = site.tree, site.owner
    if not isinstance(owner, cst.If) or owner.orelse is not None or isinstance(tree.parent(owner), cst.If):
        return None
    loop = loop_before_events(site, owner)
    named = _named(site, owner)
    if loop is None or not named or not _is_left_alone(tree, loop, owner):
        return None
    rest = _leaving(tree, owner)
    group = site.group(loop)
    if not rest or group is None or any(long_string(tree, one) for one in rest):
        return None
    names = set().union(*map(reads, rest))
    if names & binds(loop) or not site.sure(loop, names):
        # of the round in which this rank leaves: the others are not in it
        return None
    helper = agreeing(site, "MAX", group)
    if helper is None:
        return None
    name, edits = helper
    flag = fresh(named, site.module.taken)
    indent, inner = tree.indent(loop), tree.indent(rest[0])
    step = tree.indent(owner.body.body[0]).removeprefix(tree.indent(owner))
    place = Span(whole_lines(tree, rest[0]).line, 1, tree.span(rest[-1]).end_line + 1, 1)
    moved = "".join(indented(line, indent + step) for one in rest for line in lines_of(tree, one))
    behind = f"{indent}if {name}({flag}{group.text}):\n{moved}"
    own = [
        insertion(tree.first_line(loop), f"{indent}{flag} = False\n"),
        Edit(place, f"{inner}{flag} = True\n{inner}break\n"),
        insertion(tree.span(loop).end_line + 1, behind),
    ]
    assumed = [] if group.certain else ["all ranks of the job come here"]
    if site.function.asynchronous is not None:
        assumed.append("no other coroutine issues collectives in between")
    message = "all ranks return behind the loop as soon as one of them would in it"
    message += f"; assumes that {' and that '.join(assumed)}" if assumed else ""
    return Fix(FORM, message, Safety.UNSAFE if assumed else Safety.SAFE, in_order((*edits, *own)))


def loop_before_events(site: Site, owner: cst.CSTNode) -> _Loop | None:
    """The loop whose rounds run up to `owner`, none of which issues anything of what the finding is about."""
    tree = site.tree
    loops = [one for one in tree.around(owner) if isinstance(one, _Loop) and tree.function(one) is site.function]
    lines = {event.line for event in site.finding.events if event.path == site.finding.path}
    if not loops or not lines or any(tree.span(loops[0]).line <= one <= tree.span(loops[0]).end_line for one in lines):
        return None
    return loops[0]


def _named(site: Site, owner: cst.If) -> str:
    """A name for what a test tells, where one rank's word is enough to leave: values that are not numbers, perhaps of
    what is there, and a clock; "" for anything else."""
    tree, test = site.tree, resolved(site.tree, owner.test)
    if site.finding.kind not in ("data", "host") or any(isinstance(one, cst.NamedExpr) for one in tree.walk(test)):
        return ""
    answers = {asks(tree, term) for term in all_terms(test)}
    if "clock" in answers and answers <= {"clock", "truth", "other"}:
        return "time_is_up"
    bad = [
        all(asks(tree, one) == "bad value" and says_bad(tree.text(one)) for one in all_terms(term))
        for term in conjuncts(test)
    ]
    guards = [term for term, is_bad in zip(conjuncts(test), bad, strict=True) if not is_bad]
    return "found_bad" if any(bad) and all(asks(tree, one) in ("presence", "truth") for one in guards) else ""


def _is_left_alone(tree: Tree, loop: _Loop, owner: cst.If) -> bool:
    """Whether a loop has no other way out than its end and a `break`, and whether `break` leaves it from `owner`."""
    if loop.orelse is not None or (isinstance(loop, cst.For) and loop.asynchronous is not None):
        return False
    for one in tree.around(owner):
        if one is loop:
            break
        if not isinstance(one, _BETWEEN):
            return False
    ways = [one for one in below(loop.body) if isinstance(one, cst.Return | cst.Raise)]
    return len(ways) == 1 and not any(isinstance(one, cst.Yield | cst.Await) for one in below(loop))


def _leaving(tree: Tree, owner: cst.If) -> list[cst.BaseStatement]:
    """What an arm that ends with `return` does, from where it does more than print and log; [] for another arm."""
    arm = list(owner.body.body) if isinstance(owner.body, cst.IndentedBlock) else []
    last = arm[-1] if arm else None
    if not isinstance(last, cst.SimpleStatementLine) or len(last.body) != 1 or not isinstance(last.body[0], cst.Return):
        return []
    value = last.body[0].value
    if value is not None and any(isinstance(one, cst.Call) for one in below(value)):
        return []
    if any(isinstance(one, _EXITS) for statement in arm[:-1] for one in below(statement)):
        return []
    at = next(number for number, one in enumerate(arm) if not is_output(one))
    return arm[at:]
