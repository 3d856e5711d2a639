import torch
import torch.distributed as dist


def run(work, config: list[float]) -> None:
    try:
        # all of it
        work(config)

        dist.all_reduce(torch.tensor(config))
    finally:
        dist.destroy_process_group()


def log(work, config: list[float], said: list[str]) -> None:
    try:
        work(config)
        dist.barrier()
    except KeyError:
        said.append("unknown")
    finally:
        said.append("done")
        # nobody needs it now
        dist.destroy_process_group()


def example() -> list[object]:
    seen: list[object] = []
    run(seen.extend, [1.0, 2.0])
    log(seen.extend, [3.0], seen)
    return seen
