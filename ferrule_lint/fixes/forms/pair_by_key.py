"""Pair by key: one rank walks the same dict as the others, and looks up in its own what it pairs with it.

`for (name, whole), part in zip(a.items(), b.values())` on the one side of a test, and `for name, part in b.items()` on
the other, issue their collectives in two orders. The first becomes the second, with `whole = a[name]`.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety, Span
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.names import binds, local_names
from ferrule_lint.fixes.site import Site, callee
from ferrule_lint.fixes.tree import Tree

FORM = "pair-by-key"


def propose(site: Site) -> Fix | None:
    """The loop over a `zip` of two dicts, as one over the second."""
    tree = site.tree
    loop = tree.nearest(site.call, cst.For)
    if loop is None or "zip" in local_names(site.function) or not isinstance(loop.body, cst.IndentedBlock):
        return None
    first, second = _zipped(tree, loop.iter)
    pair, other = _targets(loop.target)
    if first is None or second is None or pair is None or other is None or tree.text(first) == tree.text(second):
        return None
    key, value = pair
    if len({key, value, other}) != 3 or binds(loop.body) & {key, first.value} or not _walked(tree, loop, second):
        return None
    head, walked = tree.span(loop.target), tree.span(loop.iter)
    lead = loop.body.body[0]
    edits = [
        Edit(
            Span(head.line, head.column, walked.end_line, walked.end_column),
            f"{key}, {other} in {tree.text(second)}.items()",
        ),
        insertion(tree.first_line(lead), f"{tree.indent(lead)}{value} = {tree.text(first)}[{key}]\n"),
    ]
    message = (
        f"both sides walk `{tree.text(second)}`, so that their collectives come in one order; assumes that"
        f" `{tree.text(first)}` has the same keys"
    )
    return Fix(FORM, message, Safety.UNSAFE, in_order(edits))


def _zipped(tree: Tree, walked: cst.BaseExpression) -> tuple[cst.Name | None, cst.Name | None]:
    """(a, b) of `zip(a.items(), b.values())`."""
    if not (isinstance(walked, cst.Call) and isinstance(walked.func, cst.Name) and walked.func.value == "zip"):
        return None, None
    plain = [arg for arg in walked.args if not arg.star and arg.keyword is None]
    if len(plain) != 2 or any(arg.keyword is not None and arg.keyword.value != "strict" for arg in walked.args):
        return None, None
    return _method(plain[0].value, "items"), _method(plain[1].value, "values")


def _method(call: cst.BaseExpression, name: str) -> cst.Name | None:
    """`x` of `x.name()`."""
    if isinstance(call, cst.Call) and callee(call) == name and not call.args and isinstance(call.func, cst.Attribute):
        return call.func.value if isinstance(call.func.value, cst.Name) else None
    return None


def _targets(target: cst.BaseAssignTargetExpression) -> tuple[tuple[str, str] | None, str | None]:
    """((k, a), b) of the target `(k, a), b`."""
    if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
        return None, None
    left, right = (one.value for one in target.elements)
    if not isinstance(left, cst.Tuple) or not isinstance(right, cst.Name):
        return None, None
    names = [one.value.value for one in left.elements if isinstance(one.value, cst.Name)]
    return ((names[0], names[1]) if len(names) == len(left.elements) == 2 else None), right.value


def _walked(tree: Tree, loop: cst.For, items: cst.Name) -> bool:
    """Whether the other arm of the test around `loop` walks `items`."""
    guard = tree.nearest(loop, cst.If)
    if guard is None or guard.orelse is None:
        return False
    loops = [one for one in tree.walk(guard) if isinstance(one, cst.For) and one is not loop]
    return any(tree.text(one.iter) == f"{items.value}.items()" for one in loops)
