"""What a project calls its model-parallel group: the ranks of a stage among which tensors are split, or all stages.

Megatron-LM has a group for tensors, one for the pipeline, and one of both, which is the model-parallel group. Older
code, and what is made after it, has a group for the pipeline and one that it calls model-parallel, and no third.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ferrule_lint.semantics.domain.axes import Axes

if TYPE_CHECKING:
    from ferrule_lint.semantics.project.names import Names

_NAME = "model_parallel_group"
#: what holds it, in the file that makes it
_VARIABLE = "_MODEL_PARALLEL_GROUP"
_OF_TENSORS = ("get_tensor_model_parallel_group", "get_tensor_parallel_group")
_OF_PIPELINE = ("get_pipe_parallel_group", "get_pipeline_parallel_group", "get_pipeline_model_parallel_group")
_TENSORS: Axes = frozenset({"tp"})


def axes(names: Names, text: str, named: Axes | None) -> Axes | None:
    """The axes that a text names by the conventions, where it may be about such a group."""
    if named is None or not named > _TENSORS or _NAME not in text.lower():
        return named
    of_one_stage = (
        not any(map(names.mentioning, _OF_TENSORS))
        and any(map(names.mentioning, _OF_PIPELINE))
        and bool(names.mentioning(_VARIABLE))  # its own, and no library's
    )
    return _TENSORS if of_one_stage else named
