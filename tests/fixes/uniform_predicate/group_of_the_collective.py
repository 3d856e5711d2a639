import torch
import torch.distributed as dist


def count(batch: dict[str, torch.Tensor], data_parallel_group: dist.ProcessGroup) -> torch.Tensor:
    answers = batch["labels"][batch["labels"] != -100]
    number = torch.tensor([answers.numel()])
    if answers.numel() > 0:
        dist.all_reduce(number, group=data_parallel_group)
        number = number * 2
    return number


def example() -> list[list[int]]:
    full = {"labels": torch.tensor([1, -100, 3])}
    empty = {"labels": torch.tensor([-100])}
    return [count(full, None).tolist(), count(empty, None).tolist()]
