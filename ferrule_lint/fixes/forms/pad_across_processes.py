"""Pad before a gather, in code that uses accelerate: `pad_across_processes` around what is gathered.

For `accelerator.gather` and `gather_for_metrics`. Sequences are uneven in their second dimension, what a mask has
selected in its first. Labels are filled up with the index that losses and metrics ignore, what `nanmean` is asked of
with NaN, anything else with zeros. Where the zeros would count, as in a mean, nothing is offered.
"""

from __future__ import annotations

import re

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.blocks import WIDE, indent_of
from ferrule_lint.fixes.flags import flags_of
from ferrule_lint.fixes.names import below, binds
from ferrule_lint.fixes.site import Site, callee
from ferrule_lint.fixes.tree import Tree

FORM = "pad-across-processes"
_GATHERS = frozenset({"gather", "gather_for_metrics"})
_ACCELERATOR = re.compile(r"(^|[._])accelerator$|^acc(el)?$")
_SEQUENCE = re.compile(
    r"shifted by a token|(padded to|stops at) a length that the local batch|the rank's own longest item|"
    r"the longest of the rank's own texts"
)
#: what zeros would count in
_COUNTING = frozenset("amax amin average len max mean median min numel prod quantile size std unique var".split())
#: what leaves NaN out
_LEAVING_OUT = frozenset({"nanmean", "nansum", "nanmedian"})
#: of what transformers' losses and metrics leave out
IGNORED = -100


def propose(site: Site) -> Fix | None:
    """The first argument of the gather, filled up to the longest of all processes."""
    tree, call = site.tree, site.call
    if callee(call) not in _GATHERS or not isinstance(call.func, cst.Attribute) or not call.args:
        return None
    receiver, first = tree.text(call.func.value), call.args[0]
    if not is_of_accelerate(tree, call) or first.star or first.keyword is not None:
        return None
    value = first.value
    if isinstance(value, cst.Tuple | cst.List | cst.Dict):
        return None
    made = _made_of_it(site, call)
    if made & _COUNTING:
        return None
    dim = int(not uneven_in_rows(site))
    labels = "label" in _meaning(site, value).lower()
    fill = f", pad_index={IGNORED}" if labels and dim else ""
    if made & _LEAVING_OUT:
        fill = ', pad_index=float("nan")'
    new = f"{receiver}.pad_across_processes({tree.text(value)}, dim={dim}{fill})"
    line = tree.source.line(tree.span(call).line)
    if len(line) + len(new) - len(tree.text(value)) > WIDE and len(call.args) == 1:
        indent = indent_of(line)
        new = f"\n{indent}    {new}\n{indent}"
    filled = f"`{IGNORED}`, which is ignored" if fill else "zeros, which count for nothing"
    if made & _LEAVING_OUT:
        filled = "NaN, which is left out"
    message = (
        "the tensor is padded to the longest of all processes before it is gathered; assumes that it is filled up with"
        f" {filled}"
    )
    return Fix(FORM, message, Safety.UNSAFE, (Edit(tree.span(value), new),))


def is_of_accelerate(tree: Tree, call: cst.Call) -> bool:
    """Whether what a method is called on is called like an `Accelerator`."""
    return isinstance(call.func, cst.Attribute) and _ACCELERATOR.search(tree.text(call.func.value)) is not None


def counts_all(site: Site, call: cst.Call) -> bool:
    """Whether something is made of what was gathered in which zeros would count."""
    return bool(_made_of_it(site, call) & _COUNTING)


def uneven_in_rows(site: Site) -> bool:
    """Whether it is the first dimension that is uneven, and not the length of sequences."""
    return not any(_SEQUENCE.search(step.note) for step in site.finding.witness if step.role == "flow")


def _made_of_it(site: Site, call: cst.Call) -> set[str]:
    """The methods and functions that what was gathered goes through, in this statement or later by its name."""
    tree, found = site.tree, set[str]()
    for one in tree.around(call):
        if isinstance(one, cst.Attribute):
            found.add(one.attr.value)
        elif isinstance(one, cst.Call):
            found.add(callee(one))
        elif isinstance(one, cst.BaseStatement):
            break
    statement = tree.statement(call)
    names = set() if statement is None else binds(statement)
    for node in below(site.function.body):
        if (
            isinstance(node, cst.Call)
            and statement is not None
            and tree.span(node).line > tree.span(statement).end_line
        ):
            direct = [arg.value for arg in node.args[:1]]
            direct += [node.func.value] if isinstance(node.func, cst.Attribute) else []
            if any(isinstance(one, cst.Name) and one.value in names for one in direct):
                found.add(callee(node))
    return found


def _meaning(site: Site, value: cst.BaseExpression) -> str:
    """The text of an expression, and of what a name in it was assigned."""
    text = site.tree.text(value)
    if isinstance(value, cst.Name):
        flag = flags_of(site.tree, site.function).get(value.value)
        text += "" if flag is None else site.tree.text(flag.value)
    return text
