import os
import tempfile

import torch
import torch.distributed as dist


class Trainer:
    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.average: torch.Tensor | None = None
        self.slow: torch.Tensor | None = None

    def resume(self, weight: torch.Tensor) -> None:
        rank = dist.get_rank()
        # each rank has saved its own
        if self.average is None and os.path.exists(os.path.join(self.folder, f"average_{rank}.pt")):
            self.average = weight
        if self.slow is None and os.path.exists(f"{self.folder}/slow_{rank}.pt"):
            self.slow = weight

    def save(self, saved: list[torch.Tensor]) -> None:
        if self.average is not None:
            total = self.average + 0
            dist.all_reduce(total)
            saved.append(total)
        if self.slow is None:
            return
        total = self.slow + 0
        dist.all_reduce(total)
        saved.append(total)


def run(folder: str, saved: list[torch.Tensor]) -> None:
    trainer = Trainer(folder)
    trainer.resume(torch.tensor([1.0, 1.0]))
    trainer.save(saved)


def example() -> list[list[float]]:
    saved: list[torch.Tensor] = []
    with tempfile.TemporaryDirectory() as folder:
        open(f"{folder}/slow_0.pt", "w").close()
        run(folder, saved)
    return [one.tolist() for one in saved]
