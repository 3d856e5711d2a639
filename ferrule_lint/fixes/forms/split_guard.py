"""Split the guard: what one rank does above and below a collective stays under its test, the collective is for all.

`if rank == 0: clean_up(); save_state(path); print("saved")` becomes a guarded `clean_up()`, the collective, and a
guarded `print`. Nothing changes its place, so that one process does what it did, in the order in which it did. What
else the test asks, the same on all ranks, and a test in the guarded block that holds all of it, go around the whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.blocks import WIDE, below_head, comment_of, long_string, on_one_line
from ferrule_lint.fixes.edits import in_order
from ferrule_lint.fixes.flags import changes
from ferrule_lint.fixes.guards import (
    answered_elsewhere,
    assumptions,
    calls_of,
    for_all,
    gives_away,
    is_barrier,
    same_everywhere,
)
from ferrule_lint.fixes.movable import is_output, is_plain, one_rank
from ferrule_lint.fixes.names import below, binds, local_names, mentioned_later, reads
from ferrule_lint.fixes.site import Site, conjuncts
from ferrule_lint.fixes.terms import asks
from ferrule_lint.fixes.tree import Tree

FORM = "split-guard"
#: with more pieces under the guard than that the code is hard to read
_MOST_PIECES = 4
_HOW_MANY = re.compile(r"[\w.]*(world_size|num_processes|is_initialized)(\(\))?( > 1)?")
_EXITS = cst.Return | cst.Break | cst.Continue | cst.Yield | cst.Await | cst.Raise


@dataclass(frozen=True, slots=True)
class _Guard:
    """`ranks` are the terms that ask for the rank, `rest` those that all ranks can ask; `body` is what they decide."""

    statement: cst.If
    ranks: tuple[str, ...]
    rest: tuple[str, ...]
    body: cst.IndentedBlock
    #: lines between the guard and the test in it
    between: tuple[int, ...]
    comments: tuple[str, ...]


def propose(site: Site) -> Fix | None:
    """The guard in pieces, with the collectives between them."""
    owner, calls = site.owner, site.event_calls()
    if site.finding.kind != "rank" or not isinstance(owner, cst.If):
        return None
    everywhere = all(is_barrier(call) for call in calls) and all("world" in one.axes for one in site.finding.events)
    if "world" not in site.finding.axes and not everywhere:
        # the first rank of each stage, or of each tensor-parallel group, is not one rank of all
        return None
    movable = for_all(site, calls) and not answered_elsewhere(site, owner, calls)
    guard = _guard(site, owner, calls) if movable else None
    everybody = None if guard is None else _everybody(site, guard, calls)
    if guard is None or everybody is None:
        return None
    text = _written(site.tree, guard, everybody)
    if text is None:
        return None
    unsafe = [assumed for call in calls for assumed in assumptions(site, owner, call)]
    unsafe += [f"`{one}` is the same on all ranks" for one in _tests_inside(site.tree, guard, everybody)]
    names = set().union(*(binds(one) for one in everybody))
    if outside := mentioned_later(site.tree, site.function, owner, names):
        unsafe.append(f"{', '.join(f'`{name}`' for name in sorted(outside))} may change on the other ranks, too")
    message = "the collective runs on every rank, what only one has to do stays under the guard"
    if unsafe:
        message += f"; assumes that {' and that '.join(dict.fromkeys(unsafe))}"
    first, last = site.tree.span(owner).line, site.tree.span(guard.body.body[-1]).end_line
    edit = Edit(Span(first, 1, last + 1, 1), text)
    return Fix(FORM, message, Safety.UNSAFE if unsafe else Safety.SAFE, in_order([edit]))


def _guard(site: Site, owner: cst.If, calls: Sequence[cst.Call]) -> _Guard | None:
    """The test of the rank, and what stands around its collectives."""
    tree = site.tree
    if (
        owner.orelse is not None
        or isinstance(tree.parent(owner), cst.If)
        or not isinstance(owner.body, cst.IndentedBlock)
    ):
        return None
    terms = conjuncts(owner.test)
    ranks = [term for term in terms if asks(tree, term) == "rank" or _is_source(site, term)]
    rest = [term for term in terms if term not in ranks]
    barriers = all(is_barrier(call) for call in calls)
    if not ranks or not all(_is_stable(term) for term in ranks):
        return None
    if not barriers and not all(one_rank(tree, term, local=True) for term in ranks):
        return None
    body: cst.IndentedBlock = owner.body
    between: tuple[int, ...] = ()
    comments = [comment_of(tree, owner)]
    inner = body.body[0] if len(body.body) == 1 else None
    if isinstance(inner, cst.If) and inner.orelse is None and isinstance(inner.body, cst.IndentedBlock):
        if any(call in list(tree.walk(inner.test)) for call in calls):
            return None
        between = tuple(range(below_head(tree, owner), tree.span(inner).line))
        rest += conjuncts(inner.test)
        comments.append(comment_of(tree, inner))
        body = inner.body
    if not all(same_everywhere(site, term, owner) for term in rest):
        return None
    texts = [_on_one_line(tree, term) for term in (*ranks, *rest)]
    named = reads(owner.test) | set().union(*map(reads, rest))
    if "" in texts or binds(owner.body) & named:
        return None
    return _Guard(
        owner, tuple(texts[: len(ranks)]), tuple(texts[len(ranks) :]), body, between, tuple(filter(None, comments))
    )


def _tests_inside(tree: Tree, guard: _Guard, everybody: Sequence[cst.BaseStatement]) -> list[str]:
    """What only one rank has asked so far, and that is more than how many ranks there are."""
    around = tree.parent(guard.body)
    tests = [around] if around is not guard.statement else []
    tests += [node for one in everybody for node in below(one) if isinstance(node, cst.If)]
    texts = [tree.text(node.test) for node in tests if isinstance(node, cst.If)]
    return [" ".join(text.split()) for text in texts if not _HOW_MANY.fullmatch(text)]


def _is_source(site: Site, term: cst.BaseExpression) -> bool:
    """Whether the finding's chain begins in a term."""
    span = site.tree.span(term)
    return any(
        step.role == "source" and step.path == site.finding.path
        and (span.line, span.column) <= (step.line, step.column) < (span.end_line, span.end_column)
        for step in site.finding.witness
    )  # fmt: skip


def _is_stable(term: cst.BaseExpression) -> bool:
    """Whether a term can be asked again: a name, an attribute, or a call without arguments, perhaps compared."""
    return all(
        isinstance(
            one,
            cst.Name | cst.Attribute | cst.Comparison | cst.ComparisonTarget | cst.BaseCompOp | cst.Integer
            | cst.SimpleString | cst.UnaryOperation | cst.BaseUnaryOp | cst.BooleanOperation | cst.BaseBooleanOp
            | cst.Subscript | cst.SubscriptElement | cst.Index | cst.LeftSquareBracket
            | cst.RightSquareBracket | cst.Dot | cst.LeftParen | cst.RightParen,
        )
        or (isinstance(one, cst.Call) and not one.args)
        for one in below(term, functions=True)
    )  # fmt: skip


def _on_one_line(tree: Tree, term: cst.BaseExpression) -> str:
    """The text of a term, for a conjunction; "" if it cannot be written on one line."""
    text = on_one_line(tree, term)
    return f"({text})" if text and isinstance(term, cst.BooleanOperation) else text


def _everybody(site: Site, guard: _Guard, calls: Sequence[cst.Call]) -> list[cst.BaseStatement] | None:
    """The statements of the guarded block that all ranks have to run: the collectives, and what they are given."""
    tree, statements = site.tree, list(guard.body.body)
    found = [one for one in statements if any(call in list(tree.walk(one)) for call in calls)]
    if not found or not all(_is_collective(site, guard, one, calls) for one in found):
        return None
    last = statements.index(found[-1])
    needed: set[str] = set().union(*map(reads, found))
    #: local names of what the collectives exchange
    values = {
        name
        for event in site.finding.events
        for call in calls_of(site, event)
        for arg in call.args
        if not event.hidden and not is_barrier(call)
        for name in reads(arg) & local_names(site.function)
    }
    everybody: list[cst.BaseStatement] = []
    for statement in reversed(statements[: last + 1]):
        bound = binds(statement)
        if statement in found or (bound & needed and is_plain(tree, statement)):
            everybody.insert(0, statement)
            needed |= reads(statement)
        elif bound & needed or any(isinstance(one, _EXITS) for one in below(statement)):
            return None
        elif changes(tree, statement, needed) or (reads(statement) & values and not is_output(statement)):
            # what one rank made of it is not what the others have
            return None
    # what stays under the guard may bind what a later piece for all would read
    known: set[str] = set()
    for statement in everybody:
        given = [call for call in calls if call in list(tree.walk(statement))]
        same = not given or not all(gives_away(site, call) for call in given)
        if not site.sure(guard.statement, reads(statement) - known - binds(statement), same=same):
            return None
        known |= binds(statement)
    return everybody


def _is_collective(site: Site, guard: _Guard, statement: cst.BaseStatement, calls: Sequence[cst.Call]) -> bool:
    """Whether a statement is nothing but a collective, or a test that all ranks can ask with collectives in it."""
    if isinstance(statement, cst.If):
        if statement.orelse is not None or not isinstance(statement.body, cst.IndentedBlock):
            return False
        inside = all(_is_collective(site, guard, one, calls) for one in statement.body.body)
        return inside and all(same_everywhere(site, term, guard.statement) for term in conjuncts(statement.test))
    if not isinstance(statement, cst.SimpleStatementLine) or len(statement.body) != 1:
        return False
    small = statement.body[0]
    plain = isinstance(small, cst.Expr) or (
        isinstance(small, cst.Assign) and all(isinstance(one.target, cst.Name) for one in small.targets)
    )
    value = small.value if isinstance(small, cst.Expr | cst.Assign) else None
    return (
        plain
        and any(value is call for call in calls)
        and not any(
            isinstance(one, cst.Await | cst.NamedExpr | cst.Yield | cst.Lambda)
            for one in below(statement, functions=True)
        )
    )


def _written(tree: Tree, guard: _Guard, everybody: Sequence[cst.BaseStatement]) -> str | None:
    """The guard in pieces, as lines; None if its lines cannot be indented anew, or there are too many pieces."""
    owner, statements = guard.statement, list(guard.body.body)
    indent, old = tree.indent(owner), tree.indent(statements[0])
    step = tree.indent(owner.body.body[0]).removeprefix(indent)
    if not step or not old.startswith(indent + step) or long_string(tree, owner):
        return None
    base = indent + step if guard.rest else indent
    comments = list(guard.comments)
    out = [_moved(tree.source.line(number), indent + step, indent) for number in guard.between]
    if guard.rest:
        out += _head(indent, step, guard.rest, comments[0] if comments else "")
    elif comments and statements[0] in everybody:
        out.append(f"{indent}{comments[0]}")
    else:
        comments, waiting = comments[1:], comments[:1]
        return _pieces(tree, guard, everybody, old, base, step, out, waiting)
    out += [f"{base}{comment}" for comment in comments[1:]]
    return _pieces(tree, guard, everybody, old, base, step, out, [])


def _pieces(
    tree: Tree,
    guard: _Guard,
    everybody: Sequence[cst.BaseStatement],
    old: str,
    base: str,
    step: str,
    out: list[str],
    comments: list[str],
) -> str | None:
    """`out` with the statements behind it, the first test of the rank with the comment of the guard."""
    pieces, line, before = 0, below_head(tree, _holder(tree, guard.body)), ""
    for statement in guard.body.body:
        end = tree.span(statement).end_line
        lines = [tree.source.line(number) for number in range(line, end + 1)]
        if any(one.strip() and not one.startswith(old) for one in lines):
            return None
        if statement in everybody:
            before = "all"
            out += [_moved(one, old, base) for one in lines]
        else:
            if before != "one":
                while lines and not lines[0].strip():
                    out.append(lines.pop(0))
                out += _head(base, step, guard.ranks, comments.pop(0) if comments else "")
                pieces += 1
            before = "one"
            out += [_moved(one, old, base + step) for one in lines]
        line = end + 1
    return "".join(f"{one}\n" for one in out) if pieces <= _MOST_PIECES else None


def _holder(tree: Tree, body: cst.IndentedBlock) -> cst.If:
    holder = tree.parent(body)
    assert isinstance(holder, cst.If)
    return holder


def _moved(line: str, old: str, new: str) -> str:
    return new + line.removeprefix(old) if line.strip() else ""


def _head(indent: str, step: str, terms: Sequence[str], comment: str) -> list[str]:
    """The line `if a and b:`, or several if it is too long."""
    behind = f"  {comment}" if comment else ""
    if len(terms) == 1:
        return [f"{indent}if {_bare(terms[0])}:{behind}"]
    plain = f"{indent}if {' and '.join(terms)}:"
    if len(plain) <= WIDE:
        return [plain + behind]
    first, *others = terms
    lines = [f"{indent}{step}{first}", *(f"{indent}{step}and {one}" for one in others)]
    return [f"{indent}if (", *lines, f"{indent}):{behind}"]


def _bare(term: str) -> str:
    """A term without parentheses around all of it."""
    return term[1:-1] if cst.parse_expression(term).lpar else term
