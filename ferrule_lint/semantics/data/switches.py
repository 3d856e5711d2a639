"""Names that hold no tensor of several items, by what is asked of them: `if training:`, `not training`,
`training and task == "classes"`.

Such a tensor has no truth, so what is asked for its own is a switch, or something that may not be there; and what is
compared with a text is one. Neither is a mask that selects.
"""

from __future__ import annotations

from collections.abc import Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk


def of_body(body: f.Body) -> frozenset[str]:
    """The names in a body that are asked for their truth, or compared with a text."""
    return frozenset(name for node in walk(body) for name in _names(node))


def _names(node: object) -> Iterator[str]:
    if type(node) is f.If or type(node) is f.While or type(node) is f.IfExp or type(node) is f.Assert:
        yield from _asked(node.test)
    elif type(node) is f.Not:
        yield from _asked(node)
    elif type(node) is f.BoolOp and node.op == "and":
        # what `or` hands on may be anything: `mask = mask or default`
        yield from _asked(node)
    elif type(node) is f.Compare and any(type(e) is f.Const and e.text[:1] in "'\"" for e in node.rights):
        yield from (e.id for e in (node.left, *node.rights) if type(e) is f.Name)


def _asked(test: f.Expr) -> Iterator[str]:
    """The names whose truth decides a test."""
    if type(test) is f.Name:
        yield test.id
    elif type(test) is f.Not:
        yield from _asked(test.operand)
    elif type(test) is f.BoolOp:
        for value in test.values:
            yield from _asked(value)
