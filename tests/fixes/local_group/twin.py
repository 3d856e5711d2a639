import torch.distributed as dist


def twin(tp_group: dist.ProcessGroup) -> object:
    ranks = dist.get_process_group_ranks(tp_group)
    return dist.new_group(ranks, backend="gloo")


def wide_twin(tp_group: dist.ProcessGroup) -> object:
    ranks = dist.get_process_group_ranks(tp_group)
    return dist.new_group(
        ranks,
        backend="gloo",  # on the CPU
    )


def example() -> list[object]:
    return [twin(None), wide_twin(None)]
