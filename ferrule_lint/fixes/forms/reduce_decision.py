"""Reduce the decision: a `continue`, `break` or `return` that some ranks would take is taken by all, or by none.

What is asked decides how the ranks agree. Of a loss that is not finite, or of a clock, one rank's word is enough (MAX).
The same holds where a loop over data ends. That something is ready, or there as a file, has to be so on every rank
(MIN); for a file also where that decides about a block. "There is nothing here" is agreed on only if no rank has
anything (MIN): then ranks without data go on with empty tensors, and ranks that are done with nothing to do. "There is
too little" or "too much" for the code below is no such thing: the rank that says so cannot go on (MAX).
"""

from __future__ import annotations

import re

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.agreeing import agreeing
from ferrule_lint.fixes.amounts import Amount, amount, plainly_returned
from ferrule_lint.fixes.blocks import WIDE, on_one_line
from ferrule_lint.fixes.divisors import kept_from_zero
from ferrule_lint.fixes.edits import in_order
from ferrule_lint.fixes.empties import fails_on_nothing, is_empty_list
from ferrule_lint.fixes.flags import Flag, flags_of, resolved
from ferrule_lint.fixes.forms.agree_after_loop import loop_before_events
from ferrule_lint.fixes.names import below
from ferrule_lint.fixes.site import Group, Site, all_terms, conjuncts, in_a_callee
from ferrule_lint.fixes.terms import asks
from ferrule_lint.fixes.tests import Asks, says_bad, says_done
from ferrule_lint.fixes.tree import Tree

FORM = "reduce-decision"
_ONE_IS_ENOUGH = "one rank's word is enough to stop"
_NOTHING_LEFT = "going on with nothing left does no harm"
_ORDERS = cst.LessThan | cst.LessThanEqual | cst.GreaterThan | cst.GreaterThanEqual
_EXITS = {cst.Continue: "continues", cst.Break: "breaks", cst.Return: "returns"}
#: asks for what may be nothing
_EMPTY = frozenset({"size", "value", "other"})
#: what ends the process; with a status that tells of an error the launcher ends the others (no finding)
_ENDS = frozenset({"exit", "quit", "sys.exit", "os._exit"})


def propose(site: Site) -> Fix | None:
    """The test of the exit, asked of all ranks."""
    finding, inner = site.finding, in_a_callee(site) if site.owner is None else None
    if inner is not None and finding.code == "FER103":
        site = inner
    tree, owner = site.tree, site.owner
    if finding.code == "FER102" and (owner is None or tree.function(owner) is not site.function):
        return _what_is_passed(site)
    if not isinstance(owner, cst.If) or not (finding.kind in ("data", "host") or _is_ready(site, owner.test)):
        return None
    if isinstance(tree.parent(owner), cst.If) or any(isinstance(one, cst.NamedExpr) for one in tree.walk(owner.test)):
        return None
    does = _exit(tree, owner.body)
    group = site.group(owner)
    if group is None or (inner is not None and not group.certain):
        # a module may run on one rank alone, as for a sample, where it is not sharded
        return None
    if not does:
        if finding.code != "FER102":
            return None
        if (fix := _file(site, owner, group)) is not None:
            return fix
    if owner.orelse is not None:
        return None
    told = _is_told_to_stop(tree, owner.test)
    if not does and not told:
        return _time_is_up(site, owner)
    test = resolved(tree, owner.test)
    answers = {"size" if is_empty_list(site, term) else asks(tree, term) for term in all_terms(test)}
    if "bad value" in answers and not all(says_bad(tree.text(term)) for term in all_terms(test)):
        return None
    known = _agreement(answers, does, _negated(test))
    if answers == {"size"}:
        known = _of_sizes(site, owner, {amount(tree, term) for term in all_terms(test)}, does)
    done, wrapped = _done_if_asked(tree, test)
    if (answers <= {"value", "size", "other"} and says_done(tree, test)) or (done and does):
        known = True, [_NOTHING_LEFT]
    if does == "breaks" and all(_is_end(tree.text(term)) for term in all_terms(test)):
        known = False, [_ONE_IS_ENOUGH]
    if known is None and does == "breaks" and finding.kind == "data" and _is_limit(tree, test):
        known = False, [_ONE_IS_ENOUGH]
    if known is None and does != "continues" and told:
        known = False, [_ONE_IS_ENOUGH]
    if known is None:
        return _time_is_up(site, owner)
    every, assumed = known
    kept = kept_from_zero(site, owner) if every else []
    if kept is None or (every and (_EMPTY & answers or done) and fails_on_nothing(site, owner)):
        # divided by nothing, or an item of nothing is taken, where the others have something
        return None
    helper = agreeing(site, "MIN" if every else "MAX", group)
    if helper is None:
        return None
    name, edits = helper
    asked = wrapped if every and done and test is owner.test else owner.test
    text = on_one_line(tree, asked)
    if not text or len(tree.indent(owner)) + len(text) > WIDE - 30:
        text = tree.text(asked)
    wrap = Edit(tree.span(asked), f"{name}({text}{group.text})")
    assumptions = [*assumed, *([] if group.certain else ["all ranks of the job come here"])]
    assumptions += ["every call of the function is one of all ranks"] if inner is not None else []
    if does in ("returns", "exits") and loop_before_events(site, owner) is not None:
        assumptions.append("a reduction in each round of the loop costs little")
    if site.function.asynchronous is not None:
        assumptions.append("no other coroutine issues collectives in between")
    what = f"all ranks {does[:-1]}" if does else "all ranks stop"
    message = f"{what} only if each of them would" if every else f"{what} as soon as one of them would"
    if assumptions:
        message += f"; assumes that {' and that '.join(assumptions)}"
    return Fix(FORM, message, Safety.UNSAFE if assumptions else Safety.SAFE, in_order((*edits, wrap, *kept)))


def _is_ready(site: Site, test: cst.BaseExpression) -> bool:
    """Whether a test asks if something of the rank's own is ready, whatever makes it differ, and for nothing else."""
    return {asks(site.tree, term) for term in all_terms(resolved(site.tree, test))} == {"ready"}


def _what_is_passed(site: Site) -> Fix | None:
    """A flag that was assigned whether something is ready, and is passed to what decides by it."""
    tree, flags = site.tree, flags_of(site.tree, site.function)
    passed = {arg.value.value for arg in site.call.args if isinstance(arg.value, cst.Name)}
    lines = {step.line for step in site.finding.witness if step.path == site.finding.path}
    for name in sorted(passed & set(flags)):
        flag = flags[name]
        group = site.group(flag.statement)
        if group is None or asks(tree, flag.value) != "ready" or tree.span(flag.value).line not in lines:
            continue
        helper = agreeing(site, "MIN", group)
        if helper is None:
            return None
        every, edits = helper
        wrap = Edit(tree.span(flag.value), f"{every}({tree.text(flag.value)}{group.text})")
        assumed = "those that are ready can wait" + (
            "" if group.certain else " and that all ranks of the job come here"
        )
        message = f"`{name}` is true only if it is on every rank; assumes that {assumed}"
        return Fix(FORM, message, Safety.UNSAFE, in_order((*edits, wrap)))
    return None


def _done_if_asked(tree: Tree, test: cst.BaseExpression) -> tuple[bool, cst.BaseExpression]:
    """Whether a test asks for a setting, and if nothing is left: `args.skip and torch.all(weights == 0)`; with the
    last term, which is the one that ranks may answer each in its own way."""
    *settings, last = conjuncts(test)
    plain = all(isinstance(term, cst.Attribute) and asks(tree, term) == "truth" for term in settings)
    return bool(settings) and plain and asks(tree, last) == "value" and says_done(tree, last), last


def _file(site: Site, owner: cst.If, group: Group) -> Fix | None:
    """A test for a file that decides about a block: the file counts as there if every rank sees it."""
    tree, test = site.tree, owner.test
    if (flag := _flag(site, test)) is not None:
        test = flag.value
    terms = [term for term in all_terms(test) if asks(tree, term) == "file"]
    rest = [term for term in all_terms(test) if term not in terms]
    negated = {_negated(term) for term in terms}
    joined = all(term in conjuncts(test) for term in terms) or _is_disjunction(test)
    if len(negated) != 1 or not joined or any(asks(tree, term) not in ("truth", "presence") for term in rest):
        return None
    if site.finding.kind != "host":
        return None
    if any(isinstance(one, cst.NamedExpr | cst.Await) for one in tree.walk(test)):
        return None
    lacking = negated.pop()
    helper = agreeing(site, "MAX" if lacking else "MIN", group)
    if helper is None:
        return None
    name, edits = helper
    same = [one.test for one in below(owner.body) if isinstance(one, cst.If) and tree.text(one.test) == tree.text(test)]
    wraps = [Edit(tree.span(one), f"{name}({tree.text(one)}{group.text})") for one in (test, *same)]
    assumptions = ["what only some ranks can see may be done without"]
    assumptions += [] if group.certain else ["all ranks of the job come here"]
    message = f"a file counts as there if every rank sees it; assumes that {' and that '.join(assumptions)}"
    return Fix(FORM, message, Safety.UNSAFE, in_order((*edits, *wraps)))


def _is_disjunction(test: cst.BaseExpression) -> bool:
    """Whether a test is `a or b`, with nothing else in it."""
    if not isinstance(test, cst.BooleanOperation):
        return not isinstance(test, cst.IfExp)
    return isinstance(test.operator, cst.Or) and _is_disjunction(test.left) and _is_disjunction(test.right)


def _flag(site: Site, term: cst.BaseExpression) -> Flag | None:
    """The flag that a term asks for, or asks for the contrary of: a local name that is assigned once."""
    bare = term.expression if isinstance(term, cst.UnaryOperation) and _negated(term) else term
    return flags_of(site.tree, site.function).get(bare.value) if isinstance(bare, cst.Name) else None


def _time_is_up(site: Site, owner: cst.If) -> Fix | None:
    """A flag that was assigned a test of the clock: agreed on there, so that all that depends on it is the same."""
    tree = site.tree
    for term in conjuncts(owner.test):
        flag = _flag(site, term)
        terms = [] if flag is None else conjuncts(flag.value)
        answers = {asks(tree, one) for one in terms}
        if flag is None or "clock" not in answers or not answers <= {"clock", "presence", "truth", "other"}:
            continue
        group = site.group(flag.statement)
        helper = None if group is None else agreeing(site, "MAX", group)
        if group is None or helper is None:
            return None
        name, edits = helper
        wrap = Edit(tree.span(flag.value), f"{name}({tree.text(flag.value)}{group.text})")
        message = f"`{flag.name}` is true on all ranks as soon as it is on one of them"
        if not group.certain:
            message += "; assumes that all ranks of the job come here"
        return Fix(FORM, message, Safety.SAFE if group.certain else Safety.UNSAFE, in_order((*edits, wrap)))
    return None


def _exit(tree: Tree, body: cst.BaseSuite) -> str:
    """What the arm does at its end, if that is an exit of this function, a loop around the test, or the process.

    A return on some way through the arm counts, too, and so does what a test at its end does in one of its arms.
    """
    last = _last(body)
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    found = next((word for kind, word in _EXITS.items() if isinstance(last, kind)), "")
    if not found and any(isinstance(one, cst.Return) for one in below(body)):
        return "returns"
    if isinstance(last, cst.Expr) and isinstance(last.value, cst.Call) and tree.text(last.value.func) in _ENDS:
        return "exits"
    return found


def _last(body: cst.BaseSuite) -> cst.CSTNode | None:
    """The statement at the end of a block, or of the first arm of a test that stands there."""
    last = body.body[-1] if body.body else None
    return _last(last.body) if isinstance(last, cst.If) else last


def _is_end(text: str) -> bool:
    """Whether a term asks for what stands for the end of the data: `batch is None`, `batch is False`."""
    return re.fullmatch(r"[\w.]+ is (None|False)", text) is not None


def _is_limit(tree: Tree, test: cst.BaseExpression) -> bool:
    """Whether a value is compared with a limit, perhaps if a setting asks for it: `early_stopping and kl > target`."""
    limits = [
        term
        for term in conjuncts(test)
        if isinstance(term, cst.Comparison)
        and asks(tree, term) in ("other", "value")
        and all(isinstance(one.operator, _ORDERS) for one in term.comparisons)
    ]
    return len(limits) == 1 and all(asks(tree, term) == "truth" for term in conjuncts(test) if term not in limits)


#: flags by which a rank is told to stop, and not that it has nothing left to do
_STOP = re.compile(
    r"(?i)(^|[._])(early_?)?(stop(ped|ping|_training)?|abort(ed)?|interrupted|preempted|terminated?|cancel(l?ed)?|killed|"
    r"quit|exiting|halt(ed)?|converged|diverged|shut_?down|should_(\w+_)?(stop|exit|quit|terminate|abort))$"
)


def _is_told_to_stop(tree: Tree, test: cst.BaseExpression) -> bool:
    """Whether a test asks for such flags, any of them, and for nothing else: `aborted or control.should_stop`."""
    if isinstance(test, cst.BooleanOperation):
        both = _is_told_to_stop(tree, test.left) and _is_told_to_stop(tree, test.right)
        return both and isinstance(test.operator, cst.Or)
    return isinstance(test, cst.Name | cst.Attribute) and _STOP.search(tree.text(test)) is not None


def _of_sizes(site: Site, owner: cst.If, amounts: set[Amount], does: str) -> tuple[bool, list[str]] | None:
    """The same of a test that asks for sizes only.

    What comes to an end as soon as there is enough can go on where there is more, or cannot: neither is sure.
    """
    if amounts == {"none"}:
        return True, ["the code below can run on empty data"]
    in_a_loop = any(isinstance(one, cst.For | cst.While) for one in site.tree.around(owner))
    if not plainly_returned(site.tree, owner.body):
        return None
    if amounts <= {"less", "unlike"}:
        return False, ["the others can do without what they have" if in_a_loop else "the others can wait for this"]
    if amounts <= {"less", "unlike", "more", "least"} and (does == "continues" or not in_a_loop):
        return False, ["the others can do without what they have"]
    return None


def _negated(test: cst.BaseExpression) -> bool:
    return isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not)


def _agreement(answers: set[Asks], does: str, negated: bool) -> tuple[bool, list[str]] | None:
    """(whether all ranks have to want it, what that assumes), or None if no agreement is surely the meant one."""
    if answers <= {"bad value"} or (answers <= {"clock", "truth", "other"} and "clock" in answers):
        return False, []
    if answers <= {"ready", "truth", "other"} and "ready" in answers:
        # whoever is not ready would have to wait in what follows
        return not negated, []
    if answers <= {"file"}:
        # what follows a file that is there needs it everywhere; what follows one that is not can do without
        return not negated, ["what only some ranks can see may be done without"]
    if answers <= {"value", "bad value"} and does == "breaks":
        return False, [_ONE_IS_ENOUGH]
    return None
