"""Average a number: what each rank has measured on its own data is averaged over the ranks before it decides.

The loss of a validation that decides when to stop, or which checkpoint is the best, is meant to be that of all data.
Once ranks have the same number they decide alike, in all that follows from it: counters, flags, the state of what it is
handed to. Looked for are the number that a test compares, what counters and flags in the test are set by, and what the
object is called with of which the test asks an attribute. It has to be called like something that is measured; the
check of all fixes sees whether it was the one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.helpers import AVERAGE
from ferrule_lint.fixes.names import below, binds
from ferrule_lint.fixes.site import Site, all_terms, callee
from ferrule_lint.fixes.tree import Tree

FORM = "average-number"
_ORDERS = cst.LessThan | cst.LessThanEqual | cst.GreaterThan | cst.GreaterThanEqual
#: what is measured, and what measures
_MEASURED = re.compile(
    r"(?i)(^|_)(loss(es)?|acc(uracy)?\d*|scores?|metrics?|err(or)?|ppl|perplexity|bleu|rouge|f1|auc|m?ap|m?iou|psnr|ssim|"
    r"fid|wer|cer|kl|rewards?|avg|mean|average|dice|mse|mae|rmse)(?=_|$)"
)
_MEASURES = re.compile(r"(?i)(^|_)(vali(d|date|dation)?|eval(uate|uation)?|dev)(?=_|$)")
#: a tensor, and what makes a number of it
_TENSOR = re.compile(r"\btorch\.|\.(sum|mean)\(")
_NUMBER = re.compile(r"\.item\(\)|(?<![.\w])float\(")
_COUNTED = re.compile(
    r"(?i)(^|_)(n|num|number|count(er)?|len(gth)?|size|steps?|epochs?|times?|tokens|samples|patience|masks?)(_|$)"
)
#: what may be a tensor that something is still to be learnt from, unless its name or value says that it is a mean
_LEARNT = re.compile(r"(?i)loss|kl|err|reward|mse|mae")
_MEAN_NAME = re.compile(r"(?i)(^|_)(val\w*|eval\w*|dev|test|avg|average|mean|epoch|best|cur(rent)?)(_|$)")
_MEAN_VALUE = re.compile(r"\.item\(\)|\bnp\.mean\(|(?<![.\w])(mean|float)\(|\b_?(val|eval|test)\w*\(")
#: tests behind each other, from the one that decides to the one that the number is in
_DEEPEST = 3


@dataclass(frozen=True, slots=True)
class _Number:
    """`shown` is what is averaged; `place` the statement in which it is, or gets, its value; `edit` the change there,
    with the helper's name and group left open."""

    shown: str
    place: cst.BaseStatement
    edit: Edit


def propose(site: Site) -> Fix | None:
    """The number behind a decision, averaged where it is made or handed over."""
    if site.finding.kind != "data":
        return None
    if site.finding.code == "FER304":
        found = _asked_for(site)
    else:
        found = _tested(site, site.owner.test, site.owner) if isinstance(site.owner, cst.If) else _passed(site)
    group = None if found is None else site.group(found.place)
    if found is None or group is None:
        return None
    helper = site.module.helper("_average", AVERAGE)
    if helper is None:
        return None
    name, edits = helper
    text = found.edit.text.replace(_NAME, name).replace(_GROUP, group.text)
    assumptions = ["it is one number", *([] if group.certain else ["all ranks of the job come here"])]
    message = f"`{found.shown}` is averaged over the ranks; assumes that {' and that '.join(assumptions)}"
    return Fix(FORM, message, Safety.UNSAFE, in_order((*edits, Edit(found.edit.span, text))))


#: placeholders in an edit until it is known how the helper is called
_NAME, _GROUP = "\0name", "\0group"


def _wrapped(text: str) -> str:
    return f"{_NAME}({text}{_GROUP})"


def _passed(site: Site) -> _Number | None:
    """The one argument of the finding's call that is called like something measured, where the callee decides by it."""
    if not any(step.note == "passed on here" for step in site.finding.witness):
        return None
    return _argument(site.tree, site.call)


def _asked_for(site: Site) -> _Number | None:
    """The one argument of that kind of a call whose result decides: `weight = schedule.weight(step, score)`."""
    for step in site.finding.witness:
        if step.role != "call" or step.path != site.finding.path or not step.note.startswith("returned by "):
            continue
        for call in site.tree.calls_at(step.line, step.column)[:1]:
            if site.tree.function(call) is site.function and (found := _argument(site.tree, call)) is not None:
                return found
    return None


def _argument(tree: Tree, call: cst.Call) -> _Number | None:
    statement = tree.statement(call)
    measured = [arg for arg in call.args if not arg.star and _is_measured(arg.value)]
    if statement is None or len(measured) != 1:
        return None
    value = measured[0].value
    return _Number(_short(tree, value), statement, Edit(tree.span(value), _wrapped(tree.text(value))))


def _tested(site: Site, test: cst.BaseExpression, owner: cst.If, depth: int = 0) -> _Number | None:
    """The number that a test compares, or what it asks was set by."""
    tree = site.tree
    for term in all_terms(test) if depth < _DEEPEST else ():
        if isinstance(term, cst.Comparison) and len(term.comparisons) == 1:
            only = term.comparisons[0]
            sides = (term.left, only.comparator) if isinstance(only.operator, _ORDERS) else ()
            for side in sides:
                if (found := _compared(site, side, owner, depth)) is not None:
                    return found
        elif isinstance(term, cst.Name):
            if (found := _set_by(site, term.value, depth)) is not None:
                return found
        elif isinstance(term, cst.Attribute) and isinstance(term.value, cst.Name):
            found = _handed(tree, term.value.value, owner)
            if found is not None:
                return found
    return None


def _compared(site: Site, side: cst.BaseExpression, owner: cst.If, depth: int) -> _Number | None:
    """A side of a comparison: measured here, or counted under tests of what is."""
    tree = site.tree
    for node in below(side):
        if isinstance(node, cst.Subscript) and _is_entry(node) and _is_measured(node):
            text = tree.text(node)
            line = f"{tree.indent(owner)}{text} = {_wrapped(text)}\n"
            in_block = owner in list(tree.block(owner))
            return _Number(text, owner, insertion(tree.first_line(owner), line)) if in_block else None
    for name in sorted({one.value for one in below(side) if isinstance(one, cst.Name)}):
        made = _last_made(site, name, owner)
        if made is not None and _is_number(site, name, made[1]):
            return _made(tree, name, *made)
        if (found := _set_by(site, name, depth)) is not None:
            return found
    return None


def _made(tree: Tree, name: str, statement: cst.BaseStatement, value: cst.BaseExpression) -> _Number | None:
    """What a name is bound to, averaged there; one of several that are bound at once, in a line below."""
    line = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) else None
    if isinstance(line, cst.Assign) and all(isinstance(one.target, cst.Name) for one in line.targets):
        return _Number(name, statement, Edit(tree.span(value), _wrapped(tree.text(value))))
    if statement not in list(tree.block(statement)):
        return None
    text = f"{tree.indent(statement)}{name} = {_wrapped(name)}\n"
    return _Number(name, statement, insertion(tree.span(statement).end_line + 1, text))


def _set_by(site: Site, name: str, depth: int) -> _Number | None:
    """What decides over the constants that a flag is set to, and how far a counter has come."""
    tree = site.tree
    made = list(_assignments(site, name))
    if len(made) < 2 or not all(value is None or _is_constant(value) for _, value in made):
        return None
    for statement, _ in made:
        guard = tree.nearest(statement, cst.If)
        if guard is not None and (found := _tested(site, guard.test, guard, depth + 1)) is not None:
            return found
    return None


def _handed(tree: Tree, name: str, owner: cst.If) -> _Number | None:
    """What an object was handed by the last call of it, or of a method of it, in front of a test of an attribute."""
    for statement in reversed(tree.before(owner)):
        line = statement.body[0] if isinstance(statement, cst.SimpleStatementLine) and statement.body else None
        call = line.value if isinstance(line, cst.Expr | cst.Assign) else None
        if not isinstance(call, cst.Call):
            continue
        func = call.func.value if isinstance(call.func, cst.Attribute) else call.func
        if isinstance(func, cst.Name) and func.value == name:
            return _argument(tree, call)
    return None


def _last_made(site: Site, name: str, place: cst.CSTNode) -> tuple[cst.BaseStatement, cst.BaseExpression] | None:
    """The plain assignment that a name has its value from at a place, with the value: the last one above it, in its
    block or in those around it."""
    bound = {statement: value for statement, value in _assignments(site, name)}
    for node in (place, *site.tree.around(place)):
        if node is site.function:
            return None
        for statement in reversed(site.tree.before(node)):
            if statement in bound:
                value = bound[statement]
                return None if value is None else (statement, value)
            if name in binds(statement):
                return None
    return None


def _assignments(site: Site, name: str) -> Iterator[tuple[cst.BaseStatement, cst.BaseExpression | None]]:
    """The statements of the function that bind a name, with what they bind it to; None: what it was and more."""
    for node in below(site.function.body):
        if not isinstance(node, cst.SimpleStatementLine) or len(node.body) != 1:
            continue
        small = node.body[0]
        if isinstance(small, cst.Assign):
            for target in small.targets:
                yield from ((node, value) for bound, value in _pairs(target.target, small.value) if bound == name)
        elif isinstance(small, cst.AugAssign) and isinstance(small.target, cst.Name) and small.target.value == name:
            yield node, None


def _pairs(target: cst.BaseExpression, value: cst.BaseExpression) -> Iterator[tuple[str, cst.BaseExpression]]:
    """The names of a target, each with what it gets: `a, b = 0, 1`."""
    if isinstance(target, cst.Name):
        yield target.value, value
    elif isinstance(target, cst.Tuple) and isinstance(value, cst.Tuple):
        for one, part in zip(target.elements, value.elements, strict=False):
            yield from _pairs(one.value, part.value)
    elif isinstance(target, cst.Tuple):
        yield from ((one.value.value, value) for one in target.elements if isinstance(one.value, cst.Name))


def _is_constant(value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Integer | cst.Float) or (
        isinstance(value, cst.Name) and value.value in ("True", "False")
    )


def _is_number(site: Site, name: str, value: cst.BaseExpression) -> bool:
    """Whether a name holds a number that has been measured, and nothing that a gradient flows through."""
    if not _names_measured(name) or isinstance(value, cst.Name):
        return False
    for node in below(site.function.body):
        used = node.value if isinstance(node, cst.Attribute) else None
        if isinstance(node, cst.Call) and callee(node) == "backward":
            used = node.args[0].value if node.args else None
        if isinstance(used, cst.Name) and used.value == name:
            return False  # `val.item()` below wants the tensor
    text = site.tree.text(value)
    if _TENSOR.search(text) and not _NUMBER.search(text):
        return False
    return not _LEARNT.search(name) or bool(_MEAN_NAME.search(name) or _MEAN_VALUE.search(text))


def _is_entry(node: cst.Subscript) -> bool:
    """`results["loss"]`: an entry of a local dict under a key that is written out."""
    index = node.slice[0].slice if len(node.slice) == 1 else None
    return (
        isinstance(node.value, cst.Name) and isinstance(index, cst.Index) and isinstance(index.value, cst.SimpleString)
    )


def _is_measured(value: cst.BaseExpression) -> bool:
    """Whether an expression is called like what is measured: by its name, its key, or what is called for it."""
    if isinstance(value, cst.Name):
        return _names_measured(value.value)
    if isinstance(value, cst.Attribute):
        return _names_measured(value.attr.value)
    if isinstance(value, cst.Subscript) and _is_entry(value):
        return any(_names_measured(one.value.strip("'\"")) for one in below(value) if isinstance(one, cst.SimpleString))
    if isinstance(value, cst.UnaryOperation):
        return _is_measured(value.expression)
    if not isinstance(value, cst.Call):
        return False
    name = callee(value)
    return _names_measured(name) or _MEASURES.search(name) is not None


def _names_measured(name: str) -> bool:
    return _MEASURED.search(name) is not None and _COUNTED.search(name) is None


def _short(tree: Tree, value: cst.BaseExpression) -> str:
    text = " ".join(tree.text(value).split())
    return text if len(text) <= 40 else f"{text[:37]}..."
