"""What a trainer of Lightning is told of how the modules that it runs are wrapped: `Trainer(strategy="ddp")`.

Which module that is, nobody sees before it runs. DDP looks for parameters without a gradient only if it is told to,
since version 2; before, by default, it did. https://lightning.ai/docs/pytorch/stable/extensions/strategy.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import walk
from ferrule_lint.models.types import CallModel
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import External, ModuleInfo

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

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


#: what a module is in that is set up with a strategy which shards it, whatever engine that is
IN_PARTS = "torch.distributed.fsdp.FullyShardedDataParallel"


def sets_up_in_parts(analysis: Analysis, module: ModuleInfo, call: f.Call) -> bool:
    """Whether a call wraps a module as the strategies do that its file makes, and one of these shards it."""
    model = analysis.models.method(call.func.attr, last_name(call.func.base)) if type(call.func) is f.Attr else None
    if model is None or not model.by_strategy or not call.args:
        return False
    return any(makes_parts(analysis, module, made) for _, calls in module.calls() for made in calls)


def makes_parts(analysis: Analysis, module: ModuleInfo, call: f.Call) -> bool:
    """Whether a call makes a strategy, or an object with one, that shards what is set up with it."""
    entity = analysis.names.resolve(call.func, module) if last_name(call.func) in analysis.models.wrapping else None
    model = analysis.models.call(entity.dotted) if isinstance(entity, External) else None
    return model is not None and _shards_what_is_set_up(model, call)


def _shards_what_is_set_up(model: CallModel, call: f.Call) -> bool:
    texts = [node.text for node in walk(call) if type(node) is f.Const]
    if model.strategy == "named":
        return any(map(_SHARDS.fullmatch, texts))
    if model.strategy == "stage":
        return ("stage", f.Const("3")) in call.keywords
    return model.strategy == "shards" and not any("NO_SHARD" in text for text in texts)
