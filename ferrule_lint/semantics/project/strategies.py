"""What a trainer of Lightning is told of how the modules that it runs are wrapped: `Trainer(strategy="ddp")`.

Which module that is, nobody sees before it runs. DDP looks for parameters without a gradient only if it is told to,
since version 2; before, by default, it did. https://lightning.ai/docs/pytorch/stable/extensions/strategy.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.models.types import CallModel
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import External, FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.programs import is_test

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

_DDP = re.compile(r"['\"]ddp(_(spawn|fork|notebook))?(_find_unused_parameters_(true|false))?['\"]")
_SHARDS = re.compile(r"['\"](fsdp(_native)?(_full_shard_offload)?|deepspeed_stage_3\w*)['\"]")
_TOLERANT = re.compile(r"find_unused_parameters_true")
_STRICT = re.compile(r"find_unused_parameters_false")
#: what a trainer could be given up to version 1.9, and not since
#: https://lightning.ai/docs/pytorch/stable/upgrade/from_1_9.html
_OF_FIRST_VERSION = frozenset(
    "gpus tpu_cores ipus num_processes auto_select_gpus auto_scale_batch_size auto_lr_find replace_sampler_ddp "
    "resume_from_checkpoint track_grad_norm amp_backend amp_level multiple_trainloader_mode move_metrics_to_cpu "
    "progress_bar_refresh_rate weights_summary checkpoint_callback terminate_on_nan stochastic_weight_avg "
    "distributed_backend flush_logs_every_n_steps".split()
)
#: what made a trainer of parsed arguments
_OF_ARGUMENTS = "from_argparse_args"
_TRAINER = "lightning.pytorch.Trainer"
#: how a text or name speaks of what saves in parts, on all ranks
_IN_PARTS = re.compile(r"shard|fsdp|deepspeed", re.IGNORECASE)
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


def strategy_of(model: CallModel, call: f.Call, dotted: str, owner: FunctionInfo | None = None) -> Strategy | None:
    """What a call in a function says; `dotted`: what is called, under the name that the file gives it. None if it says
    nothing."""
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
        return _chosen(options(owner, call), names)
    tolerant = any(map(_TOLERANT.search, ddp))
    strict = any(map(_STRICT.search, ddp)) or not dotted.startswith(_OF_ANY_VERSION)
    return Strategy(False, strict and not tolerant, tolerant)


def looks_for_unused(model: CallModel, call: f.Call, owner: FunctionInfo | None) -> bool:
    """Whether the name that a trainer is given for its strategy is DDP only where it looks for such parameters."""
    told = options(owner, call)
    ddp = [text for a in model.wraps_by for text in told.get(a.name, ()) if _DDP.fullmatch(text)]
    return bool(ddp) and all(map(_TOLERANT.search, ddp))


def _chosen(told: dict[str, tuple[str, ...]], names: set[str]) -> Strategy | None:
    """What a variable says that settings have chosen for one of these arguments: only that DDP may be told to look for
    nothing, by a file that also tells it to, as only version 2 can be."""
    for name in names & told.keys():
        ddp = [text for text in told[name] if _DDP.fullmatch(text)]
        tolerant = [text for text in ddp if _TOLERANT.search(text)]
        if tolerant and len(tolerant) < len(ddp):
            return Strategy(False, True, False)
    return None


def options(owner: FunctionInfo | None, call: f.Call) -> dict[str, tuple[str, ...]]:
    """The texts that a function assigns to the local names which a call is given by keywords, by the keyword."""
    if owner is None:
        return {}
    given = {value.id: name for name, value in call.keywords if name and type(value) is f.Name}
    found: dict[str, tuple[str, ...]] = {}
    for s in statements(owner.body) if given else ():
        if type(s) is f.Assign and type(s.value) is f.Const:
            for target in s.targets:
                if type(target) is f.Name and target.id in given:
                    found[given[target.id]] = (*found.get(given[target.id], ()), s.value.text)
    return found


def saves_alone(analysis: Analysis) -> bool:
    """Whether all trainers that a project makes are of version 1, as far as what some are given tells, and none is told
    to keep the model in parts: there the first rank wrote a checkpoint by itself, without a barrier behind it."""
    makers = [m for m in analysis.names.mentioning("Trainer") if not is_test(m.path)]
    made = [(module, call) for module in makers for _, calls in module.calls() for call in calls]
    made = [(module, call) for module, call in made if _makes_trainer(analysis, module, call)]
    old = any(
        last_name(call.func) == _OF_ARGUMENTS
        or not _OF_FIRST_VERSION.isdisjoint(name or "" for name, _ in call.keywords)
        for _, call in made
    )
    return old and not any(_speaks_of_parts(module) for module in {m.path: m for m, _ in made}.values())


def _makes_trainer(analysis: Analysis, module: ModuleInfo, call: f.Call) -> bool:
    of_arguments = type(call.func) is f.Attr and call.func.attr == _OF_ARGUMENTS
    maker = call.func.base if of_arguments and type(call.func) is f.Attr else call.func
    if last_name(maker) != "Trainer":
        return False
    entity = analysis.names.resolve(maker, module)
    return isinstance(entity, External) and analysis.models.canonical(entity.dotted) == _TRAINER


def _speaks_of_parts(module: ModuleInfo) -> bool:
    if module.mentions_like(_IN_PARTS):
        return True
    nodes = (node for _, body in module.bodies() for node in walk(body))
    return any(type(node) is f.Const and _IN_PARTS.search(node.text) for node in nodes)


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
