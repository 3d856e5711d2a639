"""What a trainer of Lightning is told of how the modules that it runs are wrapped: `Trainer(strategy="ddp")`.

Which module that is, nobody sees before it runs. DDP looks for parameters without a gradient only if it is told to,
since version 2; before, by default, it did. https://lightning.ai/docs/pytorch/stable/extensions/strategy.html
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.models.types import CallModel

_DDP = re.compile(r"['\"]ddp(_(spawn|fork|notebook))?(_find_unused_parameters_(true|false))?['\"]")
_SHARDS = re.compile(r"['\"](fsdp(_native)?(_full_shard_offload)?|deepspeed_stage_3\w*)['\"]")
_TOLERANT = re.compile(r"find_unused_parameters_true")
_STRICT = re.compile(r"find_unused_parameters_false")
#: the package that both versions have been
_OF_ANY_VERSION = "pytorch_lightning."


class Strategy(NamedTuple):
    """How all modules are wrapped that a program runs."""

    #: in parts, as FSDP does
    shards: bool
    #: whether a parameter without a gradient on some ranks keeps the others waiting
    strict: bool
    #: whether DDP is told to look for such parameters
    tolerant: bool


def strategy_of(model: CallModel, call: f.Call, dotted: str) -> Strategy | None:
    """What a call says; `dotted`: what is called, under the name that the file gives it. None if it says nothing."""
    if model.wraps_all:
        strict = ("find_unused_parameters", f.Const("False")) in call.keywords
        newer = not dotted.startswith(_OF_ANY_VERSION)
        return Strategy(model.wraps_all == "shards", strict or newer, False)
    names = {argument.name for argument in model.wraps_by}
    given = tuple(value for name, value in call.keywords if name in names)
    texts = [node.text for node in walk(given) if type(node) is f.Const]
    if any(map(_SHARDS.fullmatch, texts)):
        return Strategy(True, True, False)
    ddp = [text for text in texts if _DDP.fullmatch(text)]
    if not ddp:
        return None
    tolerant = any(map(_TOLERANT.search, ddp))
    strict = any(map(_STRICT.search, ddp)) or not dotted.startswith(_OF_ANY_VERSION)
    return Strategy(False, strict and not tolerant, tolerant)
