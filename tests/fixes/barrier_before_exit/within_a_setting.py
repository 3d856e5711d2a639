"""The exit and the barrier stand under the same setting."""

import torch.distributed as dist


def refresh(names: list[str], known: dict[str, int], on_demand: bool) -> None:
    if not on_demand:
        if dist.get_rank() == 0:
            try:
                known["first"] = len(names[0])
            except IndexError:
                print("nothing to scan")
                return
        dist.barrier()
    known["read"] = len(names)


def example() -> dict[str, int]:
    known: dict[str, int] = {}
    refresh(["a"], known, False)
    refresh([], known, False)
    return known
