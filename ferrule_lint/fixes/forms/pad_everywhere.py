"""Pad on every rank: where padding happens on some ranks only, or up to a rank-local size, the size is agreed on.

Either the local size that a tensor is padded to is replaced by the largest of all ranks, or each of the gathers
behind a padding that only some ranks do gets its tensor as long as the longest. In both cases every rank takes part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.edits import in_order
from ferrule_lint.fixes.flags import changes, flags_of
from ferrule_lint.fixes.helpers import LARGEST, PAD_TO_LONGEST
from ferrule_lint.fixes.names import binds, reads
from ferrule_lint.fixes.parts import parts
from ferrule_lint.fixes.site import Site, callee

FORM = "pad-everywhere"


def propose(site: Site) -> Fix | None:
    """The size made uniform if there is one name for it, else the tensor of each gather."""
    return _size(site) or _tensor(site)


def _size(site: Site) -> Fix | None:
    """`longest = int(lengths.max())` becomes the largest of all ranks, if paddings are all it is used for."""
    tree = site.tree
    pads = [node for node in tree.walk(site.function.body) if isinstance(node, cst.Call) and callee(node) == "pad"]
    flags = flags_of(tree, site.function)
    used = [flag for flag in flags.values() if any(flag.name in reads(pad) for pad in pads)]
    local = [flag for flag in used if re.search(r"\.max\(|\bmax\(", tree.text(flag.value))]
    if len(local) != 1 or tree.text(local[0].value).startswith(("max(range", "lambda")):
        return None
    flag = local[0]
    if not isinstance(flag.value, cst.Call) or callee(flag.value) not in ("int", "item", "max"):
        return None
    if tree.block(flag.statement) is not site.function.body.body:
        return None
    if _mentions(site.function.body, flag.name, [*pads, flag.statement]):
        return None
    for pad in pads:
        if flag.name in reads(pad) and tree.block(tree.statement(pad) or pad) is not site.function.body.body:
            return None
    group = _group(site)
    helper = site.module.helper("_largest", LARGEST)
    if group is None or helper is None:
        return None
    name, edits = helper
    wrap = Edit(tree.span(flag.value), f"{name}({tree.text(flag.value)}{group})")
    message = f"`{flag.name}`, to which tensors are padded, is the largest of all ranks"
    return Fix(FORM, message, Safety.SAFE, in_order((*edits, wrap)))


def _mentions(root: cst.CSTNode, name: str, beside: Sequence[cst.CSTNode]) -> bool:
    """Whether anything below `root`, beside these nodes, has the name in it."""
    if any(root is one for one in beside):
        return False
    if isinstance(root, cst.Name) and root.value == name:
        return True
    return any(_mentions(child, name, beside) for child in parts(root))


def _tensor(site: Site) -> Fix | None:
    """Each gather by the anchored function gets a tensor as long as the longest rank's."""
    tree, block = site.tree, site.function.body
    gather = tree.text(site.call.func)
    calls = [node for node in tree.walk(block) if isinstance(node, cst.Call) and tree.text(node.func) == gather]
    group = _group(site)
    first = site.call.args[0] if site.call.args else None
    if group is None or first is None or first.keyword is not None or callee(site.call) in ("all_reduce", "pad"):
        return None
    if isinstance(site.function.body, cst.SimpleStatementSuite) or len(calls) > 8:
        return None
    padded = _padded(site)
    wanted = [call for call in calls if _flagged(site, call) or reads(call) & padded]
    tensors = [call.args[0] for call in wanted if call.args and call.args[0].keyword is None and not call.args[0].star]
    if len(tensors) != len(wanted) or any(_into(call) for call in wanted):
        return None
    helper = site.module.helper("_pad_to_longest", PAD_TO_LONGEST)
    if helper is None:
        return None
    name, edits = helper
    wraps = [Edit(tree.span(arg.value), f"{name}({tree.text(arg.value)}{group})") for arg in tensors]
    message = (
        "each tensor is padded to the longest of all ranks before it is gathered; assumes that its rows stand in its"
        " first dimension, and that a rank with more of them than it should have is no error of its own"
    )
    return Fix(FORM, message, Safety.UNSAFE, in_order((*edits, *wraps)))


def _padded(site: Site) -> set[str]:
    """Names that some arm of the function pads, and what is padded there."""
    names: set[str] = set()
    for node in site.tree.walk(site.function.body):
        if isinstance(node, cst.Assign) and isinstance(node.value, cst.Call) and callee(node.value) == "pad":
            names |= binds(node)
            if node.value.args:
                value = node.value.args[0].value
                names |= {value.value} if isinstance(value, cst.Name) else set()
    return names


def _flagged(site: Site, call: cst.Call) -> bool:
    span = site.tree.span(call)
    return any(one.code == "FER202" and one.span == span for one in (site.finding, *site.others))


def _into(call: cst.Call) -> bool:
    """Whether the first argument is what the gather fills, and not what it takes."""
    return callee(call) in ("all_gather", "all_gather_into_tensor", "_all_gather_base", "gather", "reduce_scatter")


def _group(site: Site) -> str | None:
    """The group of the gathers, as helpers are given it: what a call of the project's own is given counts, too."""
    known = site.group(site.call)
    if known is not None and known.text:
        return known.text
    named = [arg for arg in site.call.args[1:] if "group" in site.tree.text(arg.value).lower()]
    if not named:
        return None if known is None else known.text
    value = named[0].value
    if (
        len(named) > 1
        or not isinstance(value, cst.Name | cst.Attribute)
        or changes(site.tree, site.function, reads(value))
    ):
        return None
    return f", group={site.tree.text(value)}"
