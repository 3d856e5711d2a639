"""What else the last rank does with the outcome is not for all."""

import torch.distributed as dist
from megatron.core.pipeline_parallel import get_forward_backward_func


def is_last_rank() -> bool:
    return dist.get_rank() == dist.get_world_size() - 1


def evaluate(step, batches, model, show=None):
    run = get_forward_backward_func()
    if show is not None and is_last_rank():
        found = run(forward_step_func=step, data_iterator=batches, model=model, num_microbatches=1, forward_only=True)
        show(found)
