"""What is passed besides is not known."""

import torch.distributed as dist


def twin(tp_group: dist.ProcessGroup, **options) -> object:
    ranks = dist.get_process_group_ranks(tp_group)
    return dist.new_group(ranks, **options)
