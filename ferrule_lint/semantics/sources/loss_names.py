"""The loss of a step by its name: `loss, metrics = forward_step(data_iterator, model)`.

What a call makes of a model or of data and is called a loss is the rank's own, unless a name says that the ranks have
met over it: the call is given local data, by its name or as far as is known. Asked where nothing is known of the call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.sources.named_results import arguments_of_unknown, own

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_LOSS = re.compile(r"(\w+_)?loss(es)?", re.IGNORECASE)
#: it is no step's, or no rank's own
_SHARED = re.compile(
    r"avg|average|mean|reduce|gather|sync|global|all_|epoch|(^|_)val|eval|test|best|prev|last|running|broadcast|agg",
    re.IGNORECASE,
)
_OF_STEP = re.compile(r"batch|(^|_)data(_|$)|inputs?(_|$)|samples?(_|$)|model|iterator|loader", re.IGNORECASE)


#: what computes a loss of a model's outputs and what they should be, by its name
_LOSS_FUNCTION = re.compile(
    r"(^|_)(criterion|loss_(fn|func|fct|function)|(cross_entropy|nll|mse|l1|bce|ctc|huber|kl_div|dice|focal)(_with_logits)?(_loss)?)$",
    re.IGNORECASE,
)


#: a penalty of the model's parameters, which ranks share, by its name
_OF_PARAMETERS = re.compile(
    r"(^|_)(ewc|l1|l2|reg|regulari[sz]\w*|penalt(y|ies)|(weight_?)?decay|consolidat\w*|orthogonal\w*)(_|$)",
    re.IGNORECASE,
)
_MODEL = re.compile(r"(^|_)(model|module|net(work)?)(_|$)", re.IGNORECASE)


def of_target(frame: Frame, target: f.Expr, source: f.Expr, value: Value) -> Value:
    """What a name is bound to: a local loss, if its name says so and nothing else is known of the value."""
    arguments = arguments_of_unknown(frame, target, source, value, _LOSS, _SHARED)
    computed = type(source) is f.Call and _LOSS_FUNCTION.search(last_name(source.func)) is not None
    if not arguments or not (computed or any(_OF_STEP.search(last_name(a)) or _is_local(frame, a) for a in arguments)):
        return value
    if _names_penalty(target, source) and not any(
        (_OF_STEP.search(last_name(a)) and not _MODEL.search(last_name(a))) or _is_local(frame, a) for a in arguments
    ):
        return value
    return own(frame, target, value, "the loss of the rank's own batch")


def _names_penalty(target: f.Expr, source: f.Expr) -> bool:
    """Whether what is called, or what it is bound to, has the name of a penalty of parameters."""
    made = last_name(source.func) if type(source) is f.Call else ""
    return _OF_PARAMETERS.search(last_name(target)) is not None or _OF_PARAMETERS.search(made) is not None


def _is_local(frame: Frame, argument: f.Expr) -> bool:
    """Whether an argument is known to hold the rank's own data: `loss = self.criterion(decoded, target)`. A loss that
    is made into another may have been reduced by the way."""
    place = place_name(argument)
    if not place or _LOSS.fullmatch(last_name(argument)):
        return False
    known = frame.env.get(place)
    return known is not None and known.data is not None and known.data.kind == "data" and not known.data.assumed
