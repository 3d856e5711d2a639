"""Files are read by threads, and the first that is read is broadcast first."""

from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist


def load_all(paths: list[str]) -> None:
    with ThreadPoolExecutor() as pool:
        futures = [pool.submit(torch.load, path) for path in paths]
        for future in futures:
            dist.broadcast(future.result(), src=0)
