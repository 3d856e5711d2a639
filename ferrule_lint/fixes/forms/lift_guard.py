"""Lift the guard: the collective for all ranks, the printing and writing for one.

`if rank == 0: state = full_state_dict(model); save(state)` becomes the collective above the `if`, with the rest left
in it. The arguments have to be there on every rank, and what stays behind above the collective must be plain output.
A barrier that ends the guarded block goes below it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.blocks import comment_of, indented, lines_of, spans_lines, whole_lines
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.guards import answered_elsewhere, assumptions, for_all, gives_away, is_barrier, same_everywhere
from ferrule_lint.fixes.movable import is_output, is_plain, one_rank, without_gradients
from ferrule_lint.fixes.names import binds, fresh, mentioned_later, reads
from ferrule_lint.fixes.site import Site, callee, conjuncts
from ferrule_lint.fixes.terms import asks
from ferrule_lint.fixes.tree import Tree

FORM = "lift-guard"


@dataclass(slots=True)
class _Plan:
    """What goes above the guard, what goes below it, and what changes in it."""

    above: list[str] = field(default_factory=list)
    below: list[str] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    moved: list[cst.BaseStatement] = field(default_factory=list)
    unsafe: list[str] = field(default_factory=list)


def propose(site: Site) -> Fix | None:
    """The collectives under a test of the rank, moved out of it."""
    tree, guard = site.tree, site.owner
    if site.finding.kind != "rank" or not isinstance(guard, cst.If) or isinstance(tree.parent(guard), cst.If):
        return None
    if "world" not in site.finding.axes:
        # the first rank of each stage, or of each tensor-parallel group, is not one rank of all
        return None
    calls = site.event_calls()
    if not isinstance(guard.body, cst.IndentedBlock) or answered_elsewhere(site, guard, calls):
        return None
    other = guard.orelse
    if (
        isinstance(other, cst.Else)
        and calls
        and all(is_barrier(one) and _inside(tree, one, other.body) for one in calls)
    ):
        return _from_other_arm(site, guard, other, calls)
    if not for_all(site, calls) or not all(_inside(tree, call, guard.body) for call in calls):
        return None
    terms = conjuncts(guard.test)
    ranks = [term for term in terms if asks(tree, term) == "rank"]
    marks = [] if ranks else [term for term in terms if _is_mark(site, term)]
    rest = [term for term in terms if term not in (*ranks, *marks)]
    barriers = all(is_barrier(call) for call in calls)
    if not (ranks or marks) or not (barriers or all(one_rank(tree, term) for term in ranks)):
        return None
    ranks += marks
    if not all(same_everywhere(site, term, guard) for term in rest):
        return None
    plan = _plan(site, guard.body, calls)
    if plan is None:
        return None
    if rest and plan.below:
        return None
    edits = _written(site, guard, plan, [tree.text(term) for term in rest], [tree.text(term) for term in ranks])
    if edits is None:
        return None
    message = "the collective runs on every rank, what only one has to do stays under the guard"
    if plan.unsafe:
        message += f"; assumes that {' and that '.join(plan.unsafe)}"
    return Fix(FORM, message, Safety.UNSAFE if plan.unsafe else Safety.SAFE, in_order(edits))


def _from_other_arm(site: Site, guard: cst.If, other: cst.Else, calls: list[cst.Call]) -> Fix | None:
    """Barriers that end the arm of the ranks that wait, below both arms: the rank that works comes to them, too."""
    tree = site.tree
    body = list(other.body.body) if isinstance(other.body, cst.IndentedBlock) else []
    lines = [tree.statement(call) for call in calls]
    plain = all(isinstance(one, cst.SimpleStatementLine) and len(one.body) == 1 for one in lines)
    if not plain or len(body) <= len(lines) or body[-len(lines) :] != lines:
        return None
    if not all(site.sure(guard, reads(call)) for call in calls):
        return None
    end, indent = tree.span(other).end_line, tree.indent(guard)
    text = "".join(indented(line, indent) for one in body[-len(lines) :] for line in lines_of(tree, one))
    edits = [Edit(whole_lines(tree, one), "") for one in body[-len(lines) :]]
    message = "the barrier comes below both arms, and all ranks to it"
    return Fix(FORM, message, Safety.SAFE, in_order([*edits, insertion(end + 1, text)]))


def _inside(tree: Tree, call: cst.Call, body: cst.BaseSuite) -> bool:
    """Whether a call stands in a line of the guarded block itself, evaluated whenever that line is.

    The block of a `with torch.no_grad():` in it counts as it.
    """
    for one in tree.around(call):
        if isinstance(one, cst.SimpleStatementLine):
            around = without_gradients(tree, one)
            return tree.parent(one if around is None else around) is body
        if isinstance(one, cst.Lambda | cst.CompFor | cst.IfExp | cst.BooleanOperation | cst.BaseComp):
            return False
    return False


def _is_mark(site: Site, term: cst.BaseExpression) -> bool:
    """Whether a term asks for what one rank has set for itself: the witness says that whether it is there differs."""
    notes = [step.note for step in site.finding.witness if step.role == "flow"]
    return any(f"whether `{name}` is there differs" in note for name in reads(term) for note in notes)


def _plan(site: Site, body: cst.IndentedBlock, calls: list[cst.Call]) -> _Plan | None:
    """Walks the guarded block down to the last collective, deciding about each statement."""
    tree, plan = site.tree, _Plan()
    statements = list(body.body)
    holders = [_holder(tree, call) for call in calls]
    last = max(index for index, one in enumerate(statements) if one in holders)
    if all(is_barrier(call) for call in calls):
        return _barriers(tree, body, calls, plan)
    stay: list[cst.BaseStatement] = []
    taken = set(site.module.taken)
    bound_inside: set[str] = set()
    for statement in statements[: last + 1]:
        own = [call for call, holder in zip(calls, holders, strict=True) if holder is statement]
        if own:
            if not _collective(site, statement, own, plan, bound_inside, taken):
                return None
        elif is_output(statement):
            stay.append(statement)
        elif is_plain(tree, statement) and site.sure(
            _owner(tree, body), reads(statement) - bound_inside - binds(statement)
        ):
            plan.above += lines_of(tree, statement)
            plan.moved.append(statement)
            bound_inside |= binds(statement)
        else:
            return None
    moved_names = set().union(*(binds(one) for one in plan.moved)) if plan.moved else set()
    outside = mentioned_later(tree, site.function, _owner(tree, body), moved_names)
    if outside:
        plan.unsafe.append(f"{', '.join(f'`{name}`' for name in sorted(outside))} may change on the other ranks, too")
    return plan


def _holder(tree: Tree, call: cst.Call) -> cst.BaseStatement | None:
    """The statement of the guarded block that a call stands in."""
    line = tree.statement(call)
    return None if line is None else without_gradients(tree, line) or line


def _owner(tree: Tree, body: cst.BaseSuite) -> cst.If:
    parent = tree.parent(body)
    assert isinstance(parent, cst.If)
    return parent


def _barriers(tree: Tree, body: cst.IndentedBlock, calls: list[cst.Call], plan: _Plan) -> _Plan | None:
    """Barriers at the beginning of the block go above it, those at its end below."""
    statements = list(body.body)
    barriers = [tree.statement(call) for call in calls]
    first = 0
    while first < len(statements) and statements[first] in barriers:
        first += 1
    end = len(statements)
    while end > first and statements[end - 1] in barriers:
        end -= 1
    if any(one in barriers for one in statements[first:end]):
        return None
    for index, statement in enumerate(statements):
        if statement not in barriers:
            continue
        if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
            return None
        (plan.above if index < first else plan.below).extend(lines_of(tree, statement))
        plan.moved.append(statement)
    return plan


def _collective(
    site: Site,
    statement: cst.BaseStatement,
    calls: list[cst.Call],
    plan: _Plan,
    bound_inside: set[str],
    taken: set[str],
) -> bool:
    """Move a statement that is a collective, or the collectives out of it; False if that cannot be done."""
    tree, guard = site.tree, site.tree.nearest(statement, cst.If)
    if guard is None:
        return False
    if isinstance(statement, cst.With):
        return _from_with(site, guard, statement, calls, plan, bound_inside, taken)
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return False
    small = statement.body[0]
    value = small.value if isinstance(small, cst.Expr | cst.Assign) else None
    for call in calls:
        if any(isinstance(one, cst.Await | cst.NamedExpr | cst.Yield) for one in tree.walk(call)):
            return False
        if not site.sure(guard, reads(call) - bound_inside, same=not gives_away(site, call)):
            return False
        plan.unsafe += assumptions(site, guard, call)
    whole = len(calls) == 1 and (value is calls[0] or _ends_in(value, calls[0]))
    if (
        whole
        and not isinstance(small, cst.Expr)
        and any(not isinstance(t.target, cst.Name) for t in getattr(small, "targets", ()))
    ):
        return False
    if whole and isinstance(small, cst.Expr | cst.Assign) and not _is_logged(small, calls[0]):
        plan.above += lines_of(tree, statement)
        plan.moved.append(statement)
        bound_inside |= binds(statement)
        return True
    for call in calls:
        if any(call is not other and other in list(tree.walk(call)) for other in calls):
            return False
        name = fresh(_result_name(tree, call), taken)
        taken.add(name)
        plan.above.append(f"{name} = {tree.text(call)}")
        plan.edits.append(Edit(tree.span(call), name))
    return True


def _from_with(
    site: Site,
    guard: cst.If,
    statement: cst.With,
    calls: list[cst.Call],
    plan: _Plan,
    bound_inside: set[str],
    taken: set[str],
) -> bool:
    """The calls under a `with torch.no_grad():`, under one of their own above the guard."""
    tree = site.tree
    lines = list(statement.body.body)
    for call in calls:
        if tree.statement(call) is not lines[0] or not site.sure(guard, reads(call) - bound_inside):
            return False
        name = fresh(_result_name(tree, call), taken)
        taken.add(name)
        plan.above.append(f"with {tree.text(statement.items[0].item)}:\n    {name} = {tree.text(call)}")
        plan.edits.append(Edit(tree.span(call), name))
    return True


def _ends_in(value: cst.BaseExpression | None, call: cst.Call) -> bool:
    """Whether `value` is `call` with methods of the result called on it: `gather(x).mean()`."""
    current = value
    while current is not call:
        if isinstance(current, cst.Call) and isinstance(current.func, cst.Attribute):
            current = current.func.value
        elif isinstance(current, cst.Attribute | cst.Subscript):
            current = current.value
        else:
            return False
    return True


def _is_logged(small: cst.BaseSmallStatement, call: cst.Call) -> bool:
    return isinstance(small, cst.Expr) and small.value is not call


def _result_name(tree: Tree, call: cst.Call) -> str:
    """`gathered_scores` for `gather(scores)`, `model_output` for `model(x)`."""
    name = callee(call)
    op = {"gather": "gathered", "all_gather": "gathered", "gather_for_metrics": "gathered", "reduce": "reduced"}.get(
        name
    )
    if op is None:
        return f"{name.strip('_')}_output"
    first = call.args[0].value if call.args else None
    if isinstance(first, cst.Name | cst.Attribute):
        return f"{op}_{first.value if isinstance(first, cst.Name) else first.attr.value}"
    return op


def _written(site: Site, guard: cst.If, plan: _Plan, rest: list[str], ranks: list[str]) -> list[Edit] | None:
    """The edits: lines above and below, the guard without what was moved, nested in its other terms if any."""
    tree = site.tree
    body = guard.body
    assert isinstance(body, cst.IndentedBlock)
    indent = tree.indent(guard)
    inner = tree.indent(body.body[0])
    step = inner.removeprefix(indent)
    if not inner.startswith(indent) or not step or spans_lines(tree, guard):
        return None
    remaining = [one for one in body.body if one not in plan.moved]
    if not remaining and guard.orelse is not None:
        return None
    span = tree.span(guard)
    first, end = tree.span(guard).line, tree.span(body.body[-1]).end_line
    outer = indent + step if rest else indent
    above = "".join(indented(text, outer) for text in plan.above)
    if rest and guard.orelse is not None:
        return None
    edits = list(plan.edits)
    for statement in plan.moved:
        edits.append(Edit(whole_lines(tree, statement), ""))
    if not remaining:
        # nothing is left for one rank alone
        comment = comment_of(tree, guard)
        if rest:
            head = f"{indent}if {' and '.join(rest)}:{'  ' if comment else ''}{comment}\n"
            return [Edit(Span(first, 1, end + 1, 1), head + above)]
        below = "".join(indented(text, indent) for text in plan.below)
        return [Edit(Span(first, 1, end + 1, 1), (f"{indent}{comment}\n" if comment else "") + above + below)]
    if rest:
        edits.append(Edit(Span(first, 1, first, span.column), f"{indent}if {' and '.join(rest)}:\n{above}{outer}"))
        edits.append(Edit(tree.span(guard.test), " and ".join(ranks)))
        moved = [range(e.span.line, e.span.end_line) for e in edits if e.text == "" and e.span.column == 1]
        for line in range(first + 1, end + 1):
            if tree.source.line(line).strip() and not any(line in lines for lines in moved):
                edits.append(insertion(line, step))
    else:
        edits.append(insertion(first, above))
    if plan.below:
        last = guard if guard.orelse is None else guard.orelse
        edits.append(insertion(tree.span(last).end_line + 1, "".join(indented(text, indent) for text in plan.below)))
    return edits
