"""Tensors that a function optimises itself: `z.requires_grad = True`, `Adam([z])`.

Their gradients belong to nobody else, and the model that they go through is not what is trained there: an inversion of
an image, a prompt, a perturbation. That its backward reduces anything is a guess.
"""

from __future__ import annotations

import re

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.assigned import assignments
from ferrule_lint.semantics.domain.text import last_name

_OPTIMIZERS = re.compile(
    r"(\w*_)?(\w*Adam\w*|\w*SGD|LBFGS|RMSprop|Ada(grad|delta|max|factor)|Lion|AdamW\w*)", re.IGNORECASE
)
_TRUE = f.Const("True")


def only(body: f.Body) -> bool:
    """Whether all optimizers that a function makes are for tensors that it has made leaves of."""
    made = [n for n in walk(body) if type(n) is f.Call and _OPTIMIZERS.fullmatch(last_name(n.func)) and n.args]
    if not made:
        return False
    leaves = of(body)
    return all(_is_of(call.args[0], body, leaves) for call in made)


def _is_of(given: f.Expr, body: f.Body, leaves: frozenset[str]) -> bool:
    """Whether what an optimizer is given is a list of leaves, written out there or before."""
    if type(given) is f.Name:
        values = [value for value, _ in assignments(body, given.id)]
        return bool(values) and all(type(v) is f.Sequence and _is_of(v, body, leaves) for v in values)
    if type(given) is not f.Sequence or not given.elements:
        return False
    return all(type(element) is f.Name and element.id in leaves for element in given.elements)


def of(body: f.Body) -> frozenset[str]:
    """The names of tensors that are told to keep gradients: `z.requires_grad = True`, `z.requires_grad_()`,
    `z = torch.zeros(4, requires_grad=True)`, `z = x.detach().requires_grad_()`."""
    found: set[str] = set()
    for node in walk(body):
        if type(node) is f.Assign and node.value is not None:
            for target in node.targets:
                pairs = [(target, node.value)]
                if type(target) is f.Sequence and type(node.value) is f.Sequence:
                    pairs = list(zip(target.elements, node.value.elements, strict=False))
                for place, value in pairs:
                    if type(place) is f.Name and _keeps_gradients(value):
                        found.add(place.id)
                    elif type(place) is f.Attr and place.attr == "requires_grad" and value == _TRUE:
                        found.add(last_name(place.base) if type(place.base) is f.Name else "")
        elif type(node) is f.Call and _is_switched_on(node) and type(node.func) is f.Attr:
            found.add(node.func.base.id if type(node.func.base) is f.Name else "")
    return frozenset(found) - {""}


def _keeps_gradients(value: f.Expr) -> bool:
    return type(value) is f.Call and (("requires_grad", _TRUE) in value.keywords or _is_switched_on(value))


def _is_switched_on(call: f.Call) -> bool:
    return last_name(call.func) == "requires_grad_" and call.args in ((), (_TRUE,)) and not call.keywords
