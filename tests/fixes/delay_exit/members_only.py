"""The second group needs every rank, too: who is in neither leaves below it."""

import torch.distributed as dist


def groups_of(ranks: list[int], backend: str, monitored: bool) -> tuple[object, object] | None:
    group = dist.new_group(ranks, backend=backend)

    # nothing to do for the others
    if dist.get_rank() not in ranks:
        return None

    if monitored:
        monitor = dist.new_group(ranks, backend="gloo")
    else:
        monitor = None

    return group, monitor


def example() -> list[object]:
    return [groups_of([0], "gloo", True), groups_of([0], "gloo", False), groups_of([1], "gloo", True)]
