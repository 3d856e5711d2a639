"""A test over several lines, of which one asks for the rank."""

import torch.distributed as dist


class Saver:
    def __init__(self, world_size: int, every: int) -> None:
        self.world_size = world_size
        self.every = every

    def save(self, folder: str, step: int, last: bool, enough_is_enough: bool) -> None:
        if (
            (last or (step > 0 and step % self.every == 0) or (enough_is_enough and step % 7 == 0))
            and dist.get_rank() == 0
            and folder != "no folder at all"
        ):
            if self.world_size > 1:
                dist.barrier()
            with open(
                folder + "/step", "a"
            ) as file:
                print(step, file=file)
