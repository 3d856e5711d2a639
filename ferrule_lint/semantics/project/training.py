"""Does a project train?

What is sharded in a project that never does is sharded for inference, to make a model fit. The ranks that hold the
parts serve the same request, so no batch of a rank's own parts them; and there is no backward that a rank could miss.
A project trains if some file other than a test makes an optimizer or calls `loss.backward()`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements, walk
from ferrule_lint.semantics.domain.text import called_name, last_name
from ferrule_lint.semantics.project.entities import WITHOUT_GRADIENT
from ferrule_lint.semantics.project.import_graph import closed
from ferrule_lint.semantics.project.programs import can_be_started, is_test

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis
    from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo

#: what only training code speaks of
_TRAINING = frozenset(
    "zero_grad optim Optimizer AdamW Adam SGD GradScaler training_step configure_optimizers lr_scheduler Trainer "
    "TrainingArguments LightningModule manual_backward optimizer optimizers".split()
)
#: names of what a training loop has, its evaluation included
_OF_TRAINING = frozenset("train backward compute_loss prediction_step validation_step predict_step".split())
_SWITCHES, _BACKWARD = frozenset({"requires_grad", "requires_grad_"}), frozenset({"backward"})
#: what wraps modules in some library, and is a word for anything elsewhere
_ORDINARY = frozenset({"setup", "prepare"})
_WRAPS = re.compile(r"(?i)(^|_)(trainer|training_args|accelerator|fabric|deepspeed|optim\w*)(_|$)|fsdp|Trainer$")
_SPEAKS = re.compile(rf"{_WRAPS.pattern}|(^|_)loss(es)?(_|$)")


def trains(analysis: Analysis) -> bool:
    """Whether some file makes an optimizer, hands a model to a trainer or runs a backward pass."""
    reads = analysis.names.reads
    reads.ask("trains", "")
    with reads.apart():
        return any(map(file_trains, analysis.names.modules.values()))


def file_trains(module: ModuleInfo) -> bool:
    """Whether one file does; tests do not count."""
    return not is_test(module.path) and (module.mentions_any(_TRAINING) or _runs_backward(module))


def only_infers(module: ModuleInfo, wrapping: frozenset[str]) -> bool:
    """Whether a file runs models without gradients, or in evaluation mode for good (`model.training = False`), and
    speaks of nothing that trains or wraps them: metrics, caches of embeddings, pipelines. A loop that evaluates what is
    being trained puts it back into training mode."""
    if module.mentions_any(_of_training(wrapping)) or module.mentions_like(_SPEAKS):
        return False
    return module.mentions_any(WITHOUT_GRADIENT) or _evaluates(module)


def _evaluates(module: ModuleInfo) -> bool:
    """Whether a function puts something into evaluation mode: `model.eval()`, `model.training = False`."""
    return module.mentions_any(_EVALUATION) and any(map(_leaves_training, module.functions.values()))


def _leaves_training(function: FunctionInfo) -> bool:
    return any(
        type(call.func) is f.Attr and call.func.attr == "eval" and not call.args for call in function.calls
    ) or any(
        s.value == f.Const("False") and any(type(t) is f.Attr and t.attr == "training" for t in s.targets)
        for s in statements(function.body)
        if type(s) is f.Assign
    )


_EVALUATION = frozenset({"eval", "training"})


@lru_cache(maxsize=16)
def _of_training(wrapping: frozenset[str]) -> frozenset[str]:
    return _TRAINING | _OF_TRAINING | (wrapping - _ORDINARY)


def asked_only_to_infer(analysis: Analysis, function: FunctionInfo) -> bool:
    """Whether a module's method turns gradients off, no other file that trains or wraps modules speaks of a method of
    its name, and nothing of its own file calls it with gradients on: what is sharded to be trained is not asked for
    this."""
    owner = function.module.classes.get(function.owner or "")
    if owner is None or not function.turns_gradients_off or not analysis.is_module(owner):
        return False
    if any(path != function.module.path for path in trained_by(analysis, function.name)):
        return False
    return not any(
        last_name(call.func) == function.name and (caller is None or not caller.turns_gradients_off)
        for caller, calls in function.module.calls()
        for call in calls
    )


def trained_by(analysis: Analysis, name: str) -> list[str]:
    """The files, other than tests, that train or wrap modules and speak of something of this name."""
    with analysis.names.reads.answering("trained by", name):
        speaks = _TRAINING | (analysis.models.wrapping - _ORDINARY)
        found = analysis.names.mentioning(name)
        return [m.path for m in found if not is_test(m.path) and m.mentions_any(speaks)]


def asked_by_other_programs(analysis: Analysis, function: FunctionInfo) -> bool:
    """Whether a module's method turns gradients off, and only programs that have nothing to do with training or with
    what wraps modules speak of it: whatever wraps the module elsewhere, it is not asked for this there."""
    owner, name = function.module.classes.get(function.owner or ""), function.name
    if owner is None or not function.turns_gradients_off:
        return False
    if function.module.mentions_any(frozenset({name})):
        return False
    return bool(analysis.names.mentioning(name)) and not used_where_trained(analysis, name)


def used_where_trained(analysis: Analysis, name: str) -> list[str]:
    """Of the files that speak of something of this name, and those that import them: the ones that train or wrap
    modules, or speak of it. A method of the name that hands on to its base class (`super().generate()`) asks nobody."""
    with analysis.names.reads.answering("used where trained", name):
        analysis.names.reads.ask("imports", "")
        start = [m.path for m in analysis.names.mentioning(name) if _asks_others(m, name)]
        speaks = _of_training(analysis.models.wrapping)
        found = (analysis.names.modules[path] for path in closed(start, analysis.imports.users))
        return sorted(m.path for m in found if m.mentions_any(speaks) or m.mentions_like(_WRAPS))


def _asks_others(module: ModuleInfo, name: str) -> bool:
    """Whether a file speaks of something of a name otherwise than its own methods of it do by `super()`."""
    if name not in module.outline.methods:
        return True
    funcs = [call.func for _, call in module.calls_named(name)]
    return not funcs or any(type(func) is not f.Attr or called_name(func.base) != "super" for func in funcs)


def only_run_around(analysis: Analysis, path: str) -> bool:
    """Whether some program holds a file, and nothing is trained in any file that imports it, over others or itself, nor
    in any that these import."""
    with analysis.names.reads.answering("only run around", path):
        analysis.names.reads.ask("imports", "")
        modules, users = analysis.names.modules, closed([path], analysis.imports.users)
        if not any(p in modules and can_be_started(modules, modules[p]) for p in sorted(users)):
            return False  # nobody knows who uses it
        return not any(p in modules and file_trains(modules[p]) for p in closed(users, analysis.imports.imported))


def without_gradients(module: ModuleInfo, owner: FunctionInfo | None) -> bool:
    """Whether a function that wraps runs without gradients, or its file turns them off for parameters for good."""
    if owner is not None and owner.turns_gradients_off:
        return True
    if not module.mentions_any(_SWITCHES):
        return False
    return any(_freezes(node) for function in module.functions.values() for node in walk(function.body))


def _freezes(node: object) -> bool:
    """`parameter.requires_grad = False`, `model.requires_grad_(False)`"""
    if type(node) is f.Assign:
        return node.value == f.Const("False") and any(last_name(t) == "requires_grad" for t in node.targets)
    return type(node) is f.Call and last_name(node.func) == "requires_grad_" and node.args == (f.Const("False"),)


def _runs_backward(module: ModuleInfo) -> bool:
    """`loss.backward()`; a call that is given a gradient is a benchmark's, or a part of a backward pass."""
    if not module.mentions_any(_BACKWARD):
        return False
    return any(
        type(node) is f.Call and not node.args and type(node.func) is f.Attr and last_name(node.func) == "backward"
        for _, body in module.bodies()
        for node in walk(body)
    )
