"""Work that is done where its result is not there yet, with a barrier at its end."""

import os
from tempfile import TemporaryDirectory

import torch.distributed as dist


def prepare(folder: str, resume: bool, done: list[str]) -> None:
    marker = os.path.join(folder, "ready")
    ready = resume and os.path.exists(marker)
    if not ready:
        done.append("work")
        if dist.get_rank() == 0:
            os.makedirs(folder, exist_ok=True)
            with open(marker, "w") as file:
                file.write("yes")
        dist.barrier()
    done.append("used")


def download(path: str, done: list[str]) -> str:
    if not os.path.exists(path):
        if not os.path.exists(path):
            if dist.get_rank() == 0:
                with open(path, "w") as file:
                    file.write("here")
            # until it is there
            dist.barrier()
    return path


def example() -> list[str]:
    done: list[str] = []
    with TemporaryDirectory() as folder:
        for _ in range(2):
            prepare(os.path.join(folder, "a"), True, done)
            download(os.path.join(folder, "b"), done)
        done += sorted(os.listdir(folder))
    return done
