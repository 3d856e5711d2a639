"""Stand-in: ranks without an optional input run what needs it on zeros of the size that another rank has.

`if pixel_values is not None: total = merge(total, self.visual(pixel_values, grid))` runs the tower on every rank as
soon as one rank has an input; where there was none the result is added with the weight zero, so that the parameters
are gathered, and have a backward, everywhere. For branches that first compute something from the input, and then merge
it into one tensor that was there before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.blocks import call_of, comment_of, spans_lines
from ferrule_lint.fixes.edits import in_order
from ferrule_lint.fixes.flags import flags_of
from ferrule_lint.fixes.helpers import INPUTS_OF_ANY_RANK, SUM_OF
from ferrule_lint.fixes.names import below, binds, fresh, local_names, mentioned_later, parameters, reads
from ferrule_lint.fixes.site import Group, Site, conjuncts
from ferrule_lint.fixes.terms import asks

FORM = "stand-in"
#: which of several merged names is the tensor: the others are masks, labels and positions
_TENSOR = re.compile(r"embed|hidden|feature|states")
_MAY_BE_NONE = re.compile(r"\.(get|pop)\(|\bgetattr\(|\bNone\b")
_NAMED = re.compile(r"`(self\.[\w.]+)`")
_MAY_LACK = re.compile(r"\b(None|Optional)\b")


@dataclass(frozen=True, slots=True)
class _Branch:
    """`inputs` go in, `ahead` makes `results` of them (names, or a call of `behind`), `behind` merges into `merged`."""

    inputs: list[str]
    ahead: Sequence[cst.BaseStatement]
    behind: Sequence[cst.BaseStatement]
    results: list[str]
    merged: str


def propose(site: Site) -> Fix | None:
    """The calls above a test of the rank's own input, under one of any rank's; zeros where there is none."""
    tree, owner = site.tree, site.owner
    if site.finding.kind != "structure" or not isinstance(owner, cst.If) or owner.orelse is not None:
        return None
    group = site.group(owner)
    if group is None or owner not in list(tree.block(owner)) or site.module.spelled("torch") is None:
        return None
    if _asks_for_module(site, owner):
        return None  # ranks without it are another stage: they wait for one another at another place
    branch = None if spans_lines(tree, owner) or comment_of(tree, owner) else _branch(site, owner)
    return None if branch is None else _fix(site, owner, branch, group)


def _branch(site: Site, owner: cst.If) -> _Branch | None:
    """The parts of the branch, if it can run on zeros up to its last event."""
    tree, tested = site.tree, _tested(site, owner)
    body = list(owner.body.body) if isinstance(owner.body, cst.IndentedBlock) else []
    events = site.event_calls()
    calls = [(at, call) for call in events for at, one in enumerate(body) if call in list(tree.walk(one))]
    last = max((at for at, _ in calls), default=-1)
    if not tested or len(calls) != len(events) or not isinstance(body[last], cst.SimpleStatementLine):
        return None
    lasting = mentioned_later(tree, site.function, owner, _bound_before(site, owner) & _changed(body))
    # merged where it is computed: the call is repeated for ranks that have nothing to merge
    repeated = [call for at, call in calls if at == last] if binds(body[last]) & lasting else []
    ahead, behind = (body[:last], body[last:]) if repeated else (body[: last + 1], body[last + 1 :])
    merged = _merged(behind, lasting)
    if merged is None or len(repeated) > 1 or any(merged in reads(call) for call in repeated):
        return None
    companions = _companions(site, owner) - {merged, *tested}
    known = {*tested, *companions, *_parts_of_self(site)}
    while not repeated and len(behind) > 1 and _goes_on(site, behind[0], {*known, *_bound(ahead)}):
        ahead, behind = [*ahead, behind[0]], behind[1:]
    runs: list[cst.CSTNode] = [*ahead, *repeated]
    read = set().union(*map(reads, runs))
    needed = set().union(*(reads(body[at]) for at, _ in calls))
    # what was taken out of the batch is None where the input is; a parameter that is used below as well need not be
    taken_out = _taken_out(site, owner)
    companions &= read - (mentioned_later(tree, site.function, owner, companions) - needed - taken_out)
    inputs = [*tested, *(name for name in _in_order(runs) if name in companions)]
    if any(reads(test) & (_companions(site, owner) - set(inputs)) for test in _checks(ahead)):
        return None  # what may be missing as well would not pass
    made = _changed(ahead) - set(inputs)
    if not set(tested) <= read or _leaves(ahead) or mentioned_later(tree, site.function, owner, made | set(inputs)):
        return None
    if not site.sure(owner, {merged, *(read - made - set(inputs))}, same=False):
        return None
    used = set().union(*map(reads, behind))
    results = [*map(tree.text, repeated)] or [name for name in _in_order(ahead) if name in made & used]
    return _Branch(inputs, ahead, behind, results, merged) if results else None


def _asks_for_module(site: Site, owner: cst.If) -> bool:
    """Whether the test asks, besides, if this rank has the module that runs, here or in the method that is called."""
    called = {site.tree.text(call.func) for call in site.event_calls()}
    called |= {name for step in site.finding.witness if step.role == "event" for name in _NAMED.findall(step.note)}
    asked = [one.left if isinstance(one, cst.Comparison) else one for one in conjuncts(owner.test)]
    return any(site.tree.text(one) in called for one in asked)


def _other_terms(site: Site, owner: cst.If) -> list[str]:
    """What is asked of attributes besides, such as whether this rank has the tower at all."""
    terms = [one for one in conjuncts(owner.test) if not isinstance(one, cst.Name)]
    left = [one.left if isinstance(one, cst.Comparison) else one for one in terms]
    return [site.tree.text(term) for term, one in zip(terms, left, strict=True) if isinstance(one, cst.Attribute)]


def _tested(site: Site, owner: cst.If) -> list[str]:
    """The names whose presence is asked; none if anything else about the rank's own input is."""
    names: list[str] = []
    for term in conjuncts(owner.test):
        asked = asks(site.tree, term)
        if asked == "presence" and isinstance(term, cst.Comparison) and len(term.comparisons) == 1:
            only = term.comparisons[0]
            if not isinstance(only.operator, cst.IsNot) or site.tree.text(only.comparator) != "None":
                return []
            names += [term.left.value] if isinstance(term.left, cst.Name) else []
        elif asked != "truth":
            return []
    return names


def _companions(site: Site, owner: cst.If) -> set[str]:
    """What comes and goes with the input: parameters that may be None or are used nowhere else; what was taken out."""
    found = site.function.params
    elsewhere = {
        node.value
        for node in below(site.function.body, functions=True)
        if isinstance(node, cst.Name) and owner not in site.tree.around(node)
    }
    names = set()
    for one in (*found.posonly_params, *found.params, *found.kwonly_params):
        default = None if one.default is None else site.tree.text(one.default)
        annotation = "" if one.annotation is None else site.tree.text(one.annotation)
        if default == "None" or _MAY_LACK.search(annotation) or (default is None and one.name.value not in elsewhere):
            names.add(one.name.value)
    return (names | _taken_out(site, owner)) - {"self", "cls"}


def _taken_out(site: Site, owner: cst.If) -> set[str]:
    """Local names above the branch that hold what may not be there: `grid = batch.get("grid")`."""
    names: set[str] = set()
    for around in (owner, *site.tree.around(owner)):
        if around is site.function:
            break
        for node in (node for above in site.tree.before(around) for node in below(above)):
            if isinstance(node, cst.Assign | cst.AnnAssign) and node.value is not None:
                names |= binds(node) if _MAY_BE_NONE.search(site.tree.text(node.value)) else set()
    return names


def _goes_on(site: Site, statement: cst.BaseStatement, known: set[str]) -> bool:
    """Whether a statement only computes on with what is `known`: with the input, and nothing else of the rank's own."""
    if reads(statement) & (local_names(site.function) - known - {"self", "cls"}):
        return False
    if isinstance(statement, cst.SimpleStatementLine):
        return all(isinstance(small, cst.Assign) for small in statement.body) and bool(binds(statement))
    body = statement.body.body if isinstance(statement, cst.If) and statement.orelse is None else ()
    return len(body) == 1 and isinstance(body[0], cst.SimpleStatementLine) and isinstance(body[0].body[0], cst.Raise)


def _merged(behind: Sequence[cst.BaseStatement], lasting: set[str]) -> str | None:
    """The one tensor, of those that were there before and are used below, that the rest of the branch changes."""
    changed = sorted(_changed(behind) & lasting)
    if len(changed) > 1:
        changed = [name for name in changed if _TENSOR.search(name)]
    return changed[0] if len(changed) == 1 else None


def _bound(statements: Sequence[cst.BaseStatement]) -> set[str]:
    return set().union(*map(binds, statements))


def _changed(statements: Sequence[cst.BaseStatement]) -> set[str]:
    """What statements bind, or give items: `embeds[places] = features`."""
    targets = [node.target for one in statements for node in below(one) if isinstance(node, cst.AssignTarget)]
    given = [one.value for one in targets if isinstance(one, cst.Subscript)]
    return _bound(statements) | {one.value for one in given if isinstance(one, cst.Name)}


def _parts_of_self(site: Site) -> set[str]:
    """Local names for parts of the module: `model = self.model`."""
    flags = flags_of(site.tree, site.function)
    return {name for name, one in flags.items() if re.fullmatch(r"self(\.\w+)+", site.tree.text(one.value))}


def _bound_before(site: Site, owner: cst.If) -> set[str]:
    """Names that may have a value above the branch."""
    found = parameters(site.function)
    for around in (owner, *site.tree.around(owner)):
        if around is site.function:
            break
        found |= _bound(site.tree.before(around))
    return found


def _in_order(nodes: Sequence[cst.CSTNode]) -> list[str]:
    """Names in the order in which they are first mentioned."""
    return list(
        dict.fromkeys(node.value for one in nodes for node in below(one, functions=True) if isinstance(node, cst.Name))
    )


def _checks(statements: Sequence[cst.BaseStatement]) -> Iterator[cst.BaseExpression]:
    """The tests by which statements raise an exception."""
    for node in (node for one in statements for node in below(one)):
        raises = isinstance(node, cst.If) and any(isinstance(one, cst.Raise) for one in below(node.body))
        if isinstance(node, cst.Assert | cst.If) and (raises or isinstance(node, cst.Assert)):
            yield node.test


def _leaves(statements: Sequence[cst.BaseStatement]) -> bool:
    """Whether statements leave the branch other than by an exception, or wait for something."""
    exits = cst.Return | cst.Continue | cst.Break | cst.Await | cst.Yield | cst.Del
    return any(isinstance(node, exits) for one in statements for node in below(one, functions=True))


def _fix(site: Site, owner: cst.If, branch: _Branch, group: Group) -> Fix | None:
    tree, module = site.tree, site.module
    inputs_helper = module.helper("_inputs_of_any_rank", INPUTS_OF_ANY_RANK)
    sum_helper = module.helper("_sum_of", SUM_OF)
    if inputs_helper is None or sum_helper is None:
        return None
    (find, find_edits), (total, total_edits) = inputs_helper, sum_helper
    here = fresh(f"has_{branch.inputs[0]}", module.taken)
    given = fresh("stand_in", module.taken)
    indent, inner = tree.indent(owner), tree.indent(branch.behind[0])
    start, end = tree.first_line(branch.behind[0]), tree.span(branch.behind[-1]).end_line
    lines = [tree.source.line(number) for number in range(start, end + 1)]
    if any(line.strip() and not line.startswith(inner) for line in lines):
        return None
    step = inner.removeprefix(indent)
    names = ", ".join(branch.inputs) if len(branch.inputs) > 1 else f"({branch.inputs[0]},)"
    head = (
        f"{indent}{here} = {tree.text(owner.test)}\n"
        f"{call_of(indent, given, find, [here, *branch.inputs], group.text)}"
        f"{indent}if {' and '.join([f'{given} is not None', *_other_terms(site, owner)])}:\n"
        f"{inner}{names} = {given}\n"
    )
    rest = "".join(f"{step}{line}\n" if line.strip() else "\n" for line in lines)
    results = branch.results[0] if len(branch.results) == 1 else f"[{', '.join(branch.results)}]"
    tail = (
        f"{inner}if {here}:\n{rest}{inner}else:\n"
        f"{inner}{step}{branch.merged} = {branch.merged} + 0.0 * {total}({results})\n"
    )
    edits = [
        Edit(Span(tree.span(owner).line, 1, tree.span(owner.test).end_line + 1, 1), head),
        Edit(Span(start, 1, end + 1, 1), tail),
    ]
    message = (
        f"ranks without `{branch.inputs[0]}` run the same on zeros of another rank's shape, and add the result with the"
        " weight zero; assumes that every rank comes here"
    )
    return Fix(FORM, message, Safety.UNSAFE, in_order([*find_edits, *total_edits, *edits]))
