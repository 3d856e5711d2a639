"""What is no loss, and has no gradient that ranks would share: where a search begins, what a mask becomes that has
nothing in it, what is to be learned, and what a function gives back that has made its step."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.conditions import atoms
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.reach import DETACHED
from ferrule_lint.semantics.domain.text import dotted_name, last_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_INFINITE = frozenset({"math.inf", "np.inf", "numpy.inf", "torch.inf"})
_INFINITE_TEXT = re.compile(r"""['"][+-]?inf(inity)?['"]""", re.IGNORECASE)
_OPTIMIZER = re.compile(r"optim|(^|_)opt(_|$)", re.IGNORECASE)
_STEP = frozenset({"step"})


def begins_a_search(value: f.Expr) -> bool:
    """`best = -float("inf")`: the best of what was seen, which no step is made for."""
    if type(value) is f.Op and value.kind in ("USub", "UAdd") and len(value.operands) == 1:
        return begins_a_search(value.operands[0])
    if type(value) is f.Attr:
        return dotted_name(value) in _INFINITE
    if type(value) is not f.Call or type(value.func) is not f.Name or value.func.id != "float" or len(value.args) != 1:
        return False
    text = value.args[0]
    return type(text) is f.Const and _INFINITE_TEXT.fullmatch(text.text) is not None


def empties_a_mask(frame: Frame, target: f.Expr, value: f.Expr) -> bool:
    """`if not mask.any(): mask = None`: what is asked whether anything in it is set has no gradient to lose."""
    if type(target) is not f.Name or value != _NONE or not frame.conditions:
        return False
    asked = re.compile(rf"{re.escape(frame.key(target))}\.(any|all|sum)\(\)")
    return any(asked.match(atom.key) is not None for atom in atoms(frame.conditions[-1]))


_NONE = f.Const("None")


def makes_targets(name: str) -> bool:
    """Whether a function, by its name, makes what a model has to learn: out of proposals, say (`get_targets`)."""
    return _TARGETS.search(name) is not None


_TARGETS = re.compile(r"^(?!.*loss)_*(\w+_)?targets?(_|$)", re.IGNORECASE)


def without_gradient(result: Value) -> Value:
    """A result through whose parts nothing is trained."""
    items = result.items
    if items is not None:
        items = tuple([without_gradient(item) for item in items])
    return result._replace(reach=DETACHED, items=items)


def steps_an_optimizer(frame: Frame) -> bool:
    """Whether a function makes the optimizer's step itself: its backward passes are over, and what it gives back is
    there to be looked at."""
    function = frame.function
    if function is None or not frame.module.mentions_any(_STEP):
        return False
    return any(
        type(call.func) is f.Attr
        and call.func.attr == "step"
        and _OPTIMIZER.search(last_name(call.func.base)) is not None
        for call in function.calls
    )


def steps_a_simulator(frame: Frame) -> bool:
    """Whether a function plays the rounds of an environment (`envs.step(actions)`): what its policy puts out there are
    actions, and it hands back what has come of them."""
    function = frame.function
    if function is None or not frame.module.mentions_any(_STEP):
        return False
    steps = (call.func.base for call in function.calls if type(call.func) is f.Attr and call.func.attr == "step")
    models = (frame.models.method("step", last_name(base)) for base in steps)
    return any(model is not None and model.event is None for model in models)
