"""Join: ranks that run out of batches before the others answer what these still issue, in `with model.join():`.

DistributedDataParallel's own way to train on uneven inputs. It answers forward and backward of that module and nothing
else, so that it is offered only where a loop is reported for its backward passes. Which module it is, is told by where
it is wrapped, in the same function, or for an attribute in the same class.

Source: <https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html>, `join`.
"""

from __future__ import annotations

import libcst as cst

from ferrule_lint.findings import Fix, Safety
from ferrule_lint.fixes.blocks import deepened, long_string
from ferrule_lint.fixes.edits import in_order, insertion
from ferrule_lint.fixes.names import below, binds
from ferrule_lint.fixes.site import Site, callee, counted_loop

FORM = "join-ranks"
_WRAPS = frozenset({"DDP", "DistributedDataParallel"})


def propose(site: Site) -> Fix | None:
    """The loop in a block that joins the module whose gradients it reduces."""
    tree, loop = site.tree, counted_loop(site)
    if loop is None or loop.asynchronous or {event.op for event in site.finding.events} != {"backward"}:
        return None
    name = _wrapped(site, loop)
    if name is None or not isinstance(loop.body, cst.IndentedBlock) or long_string(tree, loop):
        return None
    indent = tree.indent(loop)
    step = tree.indent(loop.body.body[0]).removeprefix(indent)
    first, last = tree.first_line(loop), tree.span(loop).end_line
    if not step or loop not in list(tree.block(loop)):
        return None
    head = insertion(first, f"{indent}with {name}.join():\n{step}")
    message = (
        f"ranks without batches answer for `{name}` what the others issue; assumes that nothing else in the loop is for"
        " all ranks, and that the module has no layers that are synchronized in its forward"
    )
    return Fix(FORM, message, Safety.UNSAFE, in_order([head, *deepened(tree, first + 1, last, step)]))


def _wrapped(site: Site, loop: cst.For) -> str | None:
    """What the loop calls the module that the function wraps, above it, or a method of the class in an attribute."""
    tree, made = site.tree, set[str]()
    for node in tree.walk(tree.module):
        value = node.value if isinstance(node, cst.Assign) else None
        if isinstance(node, cst.Assign) and isinstance(value, cst.Call) and callee(value) in _WRAPS:
            if tree.nearest(node, cst.If) is not None:
                return None  # one process alone has a module that cannot be joined
            target = node.targets[0].target
            own = isinstance(target, cst.Attribute) and tree.text(target.value) == "self"
            if own or (isinstance(target, cst.Name) and tree.function(node) is site.function):
                made.add(tree.text(target))
    called = {tree.text(node.func) for node in below(loop.body) if isinstance(node, cst.Call)} & made
    if len(made) != 1 or called != made:
        return None
    name = made.pop()
    local = name.isidentifier()
    return name if not local or (site.sure(loop, {name}, same=False) and name not in binds(loop)) else None
