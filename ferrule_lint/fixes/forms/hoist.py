"""Hoist: the forwards and collectives of a divergent branch run above it, on every rank; the bookkeeping stays in it.

What guards None on the inputs of a call goes with the call. A loop of calls becomes a list of their results, which the
loop in the branch takes one by one. Nothing needs to be agreed on, but every rank pays for the forward.

A forward that records gradients is hoisted only where its module surely has a backward on every rank: where the
function calls the same module above, in any case. Else ranks that leave its result unused would have no backward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.blocks import indented, lines_of, spans_lines, whole_lines
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.flags import is_pure, resolved
from ferrule_lint.fixes.movable import no_backward
from ferrule_lint.fixes.names import below, binds, fresh, local_names, mentioned_later, reads
from ferrule_lint.fixes.site import Site, callee, conjuncts
from ferrule_lint.fixes.terms import asks
from ferrule_lint.fixes.tests import Asks
from ferrule_lint.fixes.tree import Tree

FORM = "hoist"
#: what makes the input of a call, and does nothing else
_MAKES = frozenset(
    """tensor as_tensor zeros ones full empty arange zeros_like ones_like full_like empty_like stack cat to type float
    long int bool len list tuple range encode unsqueeze squeeze view reshape expand flatten contiguous detach""".split()
)
_DECISIVE: frozenset[Asks] = frozenset({"value", "bad value", "clock"})
_AGAIN = frozenset({"zip", "enumerate", "range", "reversed"})


@dataclass(slots=True)
class _Plan:
    """What goes above the branch, and what changes in it."""

    lines: list[str] = field(default_factory=list)
    defaults: list[str] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    bound: set[str] = field(default_factory=set)
    taken: set[str] = field(default_factory=set)


def propose(site: Site) -> Fix | None:
    """All calls with events of the branch, above it."""
    tree, owner = site.tree, site.owner
    if site.finding.kind not in ("data", "host", "structure") or not isinstance(owner, cst.If):
        return None
    if (
        owner.orelse is not None
        or isinstance(tree.parent(owner), cst.If)
        or not isinstance(owner.body, cst.IndentedBlock)
    ):
        return None
    calls = _calls(site, owner)
    if not calls or spans_lines(tree, owner) or any(event.op == "backward" for event in site.finding.events):
        return None
    terms = conjuncts(owner.test)
    guards = [term for term in terms if asks(tree, term) == "presence" or _is_list(tree, term)]
    asked = [{asks(tree, part) for part in conjuncts(resolved(tree, term))} for term in terms if term not in guards]
    if not asked or not all(one & _DECISIVE and "size" not in one for one in asked):
        return None
    if not all(is_pure(term) for term in guards):
        return None
    if not all(_balanced(site, owner, call) for call in calls):
        return None
    plan = _plan(site, owner, calls)
    return None if plan is None else _fix(site, owner, [tree.text(term) for term in guards], plan)


def _is_list(tree: Tree, term: cst.BaseExpression) -> bool:
    """Whether a term asks whether a list has items: a plain name, that is no flag."""
    return isinstance(term, cst.Name) and resolved(tree, term) is term


def _calls(site: Site, owner: cst.If) -> list[cst.Call]:
    """The calls with events of the branch, and those of submodules: a module that runs on both ways, if not as often,
    is not among the events.
    """
    tree, found = site.tree, site.event_calls()
    if not found:
        return []
    places = {(one.line, one.column) for other in site.others for one in other.events if one.path == other.path}
    known = {tree.text(call.func) for call in found}
    known |= {tree.text(call.func) for place in places for call in tree.calls_at(*place)[:1]}
    more = [
        one
        for one in below(owner.body)
        if isinstance(one, cst.Call) and one not in found and (tree.text(one.func) in known or _is_submodule(site, one))
    ]
    return [*found, *more]


def _is_submodule(site: Site, call: cst.Call) -> bool:
    """Whether what is called is what the class around makes of a class: `self.words = nn.Embedding(...)`."""
    func, around = call.func, site.tree.nearest(site.function, cst.ClassDef)
    if around is None or not isinstance(func, cst.Attribute) or site.tree.text(func.value) != "self":
        return False
    return any(
        isinstance(node, cst.Assign)
        and isinstance(node.value, cst.Call)
        and callee(node.value)[:1].isupper()
        and any(site.tree.text(one.target) == site.tree.text(func) for one in node.targets)
        for node in below(around, functions=True)
    )


def _balanced(site: Site, owner: cst.If, call: cst.Call) -> bool:
    """Whether every rank has the backward of a call, or none needs one."""
    event = next((one for one in site.finding.events if call in site.tree.calls_at(one.line, one.column)), None)
    if (event is not None and event.op != "forward") or no_backward(site, call):
        return True
    wanted = site.tree.text(call.func)
    current: cst.CSTNode = owner
    while current is not site.function:
        for above in site.tree.before(current):
            if isinstance(above, cst.SimpleStatementLine) and any(
                isinstance(one, cst.Call) and site.tree.text(one.func) == wanted for one in below(above)
            ):
                return True
        parent = site.tree.parent(current)
        if parent is None:
            return False
        current = parent
    return False


def _plan(site: Site, owner: cst.If, calls: Sequence[cst.Call]) -> _Plan | None:
    """Walks the branch down to the last call, deciding about each statement."""
    tree, plan = site.tree, _Plan(taken=set(site.module.taken))
    left = list(calls)
    kept: set[str] = set()
    for statement in tree.block(owner.body.body[0]):
        if not left:
            break
        own = [call for call in left if call in list(tree.walk(statement))]
        if own:
            done = (
                _loop(site, owner, statement, own, plan, kept)
                if isinstance(statement, cst.For)
                else _line(site, owner, statement, own, plan, kept)
            )
            if not done:
                return None
            left = [call for call in left if call not in own]
        elif isinstance(statement, cst.SimpleStatementLine) and _makes(site, owner, statement, plan, kept):
            plan.lines += lines_of(tree, statement)
            plan.edits.append(Edit(_cut(tree, owner, statement, plan), ""))
            plan.bound |= binds(statement)
        else:
            kept |= binds(statement)
    return plan if not left else None


def _cut(tree: Tree, owner: cst.If, statement: cst.BaseStatement, plan: _Plan) -> Span:
    """The lines of a statement that goes; with the blank ones behind it if nothing is left above them in the branch."""
    lines = whole_lines(tree, statement)
    gone = sum(1 for edit in plan.edits if edit.text == "")
    end = lines.end_line
    if owner.body.body[gone] is statement:
        while end < tree.source.lines and not tree.source.line(end).strip():
            end += 1
    return Span(lines.line, 1, end, 1)


def _makes(site: Site, owner: cst.If, statement: cst.SimpleStatementLine, plan: _Plan, kept: set[str]) -> bool:
    """Whether a statement makes the input of a later call out of what every rank has, and has to go with that call."""
    small = statement.body[0] if len(statement.body) == 1 else None
    if not isinstance(small, cst.Assign) or any(not isinstance(one.target, cst.Name) for one in small.targets):
        return False
    if any(isinstance(one, cst.Call) and callee(one) not in _MAKES for one in below(small.value)):
        return False
    names = binds(statement)
    if _seen_elsewhere(site, owner, names) or not _there(site, owner, small.value, plan, kept):
        return False
    return _needed(site, owner, names)


def _needed(site: Site, owner: cst.If, names: set[str]) -> bool:
    """Whether a call with an event reads one of `names`, by way of others that the branch makes."""
    wanted: set[str] = set().union(*(reads(call) for call in _calls(site, owner)))
    for statement in reversed(owner.body.body):
        if isinstance(statement, cst.SimpleStatementLine) and binds(statement) & wanted:
            wanted |= reads(statement)
    return bool(names & wanted)


def _there(site: Site, owner: cst.If, value: cst.CSTNode, plan: _Plan, kept: set[str]) -> bool:
    """Whether all that is read has a value above the branch."""
    names = reads(value) - plan.bound
    return not names & kept and site.sure(owner, names, same=False)


def _seen_elsewhere(site: Site, owner: cst.If, names: set[str]) -> bool:
    """Whether code outside the branch knows of `names`."""
    if mentioned_later(site.tree, site.function, owner, names):
        return True
    first = site.tree.span(owner).line
    return any(
        isinstance(one, cst.Name) and one.value in names and site.tree.span(one).line < first
        for one in below(site.function, functions=True)
    )


def _line(
    site: Site, owner: cst.If, statement: cst.BaseStatement, calls: Sequence[cst.Call], plan: _Plan, kept: set[str]
) -> bool:
    """`x = model(y)` goes above; of anything around the call only the call does."""
    tree = site.tree
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1 or len(calls) != 1:
        return False
    call, small = calls[0], statement.body[0]
    if not _there(site, owner, call, plan, kept) or _is_conditional(tree, call, statement):
        return False
    target = small.targets[0].target if isinstance(small, cst.Assign) and len(small.targets) == 1 else None
    if isinstance(small, cst.Assign) and small.value is call and isinstance(target, cst.Name):
        name = target.value
        if not _seen_elsewhere(site, owner, {name}):
            plan.lines += lines_of(tree, statement)
            plan.edits.append(Edit(_cut(tree, owner, statement, plan), ""))
            plan.defaults.append(f"{name} = None")
            plan.bound.add(name)
            return True
    name = _fresh(plan, f"hoisted_{callee(call).strip('_')}")
    plan.lines.append(f"{name} = {_flat(tree, call)}")
    plan.defaults.append(f"{name} = None")
    plan.edits.append(Edit(tree.span(call), name))
    return True


def _loop(site: Site, owner: cst.If, loop: cst.For, calls: Sequence[cst.Call], plan: _Plan, kept: set[str]) -> bool:
    """The calls of a loop, made in one go above the branch; the loop takes their results in turn."""
    tree = site.tree
    line = tree.statement(calls[0])
    if len(calls) != 1 or line is None or line not in loop.body.body or not isinstance(line, cst.SimpleStatementLine):
        return False
    call = calls[0]
    targets = {one.value for one in below(loop.target) if isinstance(one, cst.Name)}
    bound_before = set().union(*(binds(one) for one in loop.body.body[: loop.body.body.index(line)]))
    if bound_before & reads(call) or _is_conditional(tree, call, line) or loop.asynchronous is not None:
        return False
    if any(isinstance(one, cst.Break | cst.Continue | cst.Return) for one in below(loop.body)):
        return False
    if not _walked_again(site, loop.iter) or not _there(site, owner, loop.iter, plan, kept):
        return False
    names = reads(call) - targets - plan.bound
    if names & kept or not site.sure(owner, names, same=False):
        return False
    name = _fresh(plan, f"hoisted_{callee(call).strip('_')}")
    made = f"[{_flat(tree, call)} for {_target(tree, loop.target)} in {_flat(tree, loop.iter)}]"
    plan.lines.append(f"{name} = iter({made})")
    plan.defaults.append(f"{name} = iter(())")
    plan.edits.append(Edit(tree.span(call), f"next({name})"))
    return True


def _walked_again(site: Site, walked: cst.BaseExpression) -> bool:
    """Whether walking it twice gives the same items: names that are not known to be used up, or `zip` of such."""
    if isinstance(walked, cst.Call):
        plain = isinstance(walked.func, cst.Name) and walked.func.value in _AGAIN - local_names(site.function)
        return plain and all(
            arg.keyword is not None or (not arg.star and _walked_again(site, arg.value)) for arg in walked.args
        )
    if isinstance(walked, cst.Integer):
        return True
    if not isinstance(walked, cst.Name):
        return False
    for param in (*site.function.params.params, *site.function.params.kwonly_params):
        if param.name.value == walked.value and param.annotation is not None:
            return any(
                word in site.tree.text(param.annotation.annotation)
                for word in ("list", "List", "tuple", "Tuple", "Tensor")
            )
    return False


def _is_conditional(tree: Tree, call: cst.Call, statement: cst.BaseStatement) -> bool:
    """Whether a call in a line need not be made once when the line is run, or waits for something."""
    for one in tree.around(call):
        if one is statement:
            break
        if isinstance(one, cst.Lambda | cst.IfExp | cst.BooleanOperation | cst.BaseComp | cst.CompFor | cst.Await):
            return True
    return any(isinstance(one, cst.NamedExpr | cst.Await | cst.Yield) for one in tree.walk(call))


def _fresh(plan: _Plan, base: str) -> str:
    name = fresh(base, plan.taken)
    plan.taken.add(name)
    return name


def _flat(tree: Tree, node: cst.CSTNode) -> str:
    """The text of a node on one line."""
    return " ".join(line.strip() for line in tree.text(node).splitlines()).replace("( ", "(").replace(", )", ")")


def _target(tree: Tree, target: cst.BaseAssignTargetExpression) -> str:
    if isinstance(target, cst.Tuple):
        return ", ".join(_flat(tree, one.value) for one in target.elements)
    return _flat(tree, target)


def _fix(site: Site, owner: cst.If, guards: list[str], plan: _Plan) -> Fix | None:
    tree = site.tree
    body = owner.body
    assert isinstance(body, cst.IndentedBlock)
    indent = tree.indent(owner)
    step = tree.indent(body.body[0]).removeprefix(indent)
    removed = sum(1 for edit in plan.edits if edit.text == "")
    if removed == len(body.body) or not step or any("#" in line for text in plan.lines for line in _code(text)):
        return None
    if guards:
        above = "".join(f"{indent}{line}\n" for line in plan.defaults)
        above += f"{indent}if {' and '.join(guards)}:\n"
        above += "".join(indented(text, indent + step) for text in plan.lines)
    else:
        above = "".join(indented(text, indent) for text in plan.lines)
    edits = in_order([insertion(tree.first_line(owner), above), *plan.edits])
    what = "the forward runs" if len(site.finding.events) == 1 else "the forwards run"
    if any(event.op != "forward" for event in site.finding.events):
        what = "the collectives run"
    message = f"{what} on every rank, above the branch; what is done with the results stays in it"
    return Fix(FORM, f"{message}; assumes that nothing is harmed where they are not used", Safety.UNSAFE, edits)


def _code(text: str) -> list[str]:
    """The lines of moved code that are no comments of their own."""
    return [line for line in text.split("\n") if not line.lstrip().startswith("#")]
