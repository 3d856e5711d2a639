"""A barrier under tests of the job, with an import of its own, that the first rank leaves out when a request fails."""

from __future__ import annotations

from accelerate import Accelerator


def sync(accelerator: Accelerator, client, path: str) -> None:
    if accelerator.is_main_process:
        status = client.load(path)
        if status != 200:
            status = client.load_again(path)
            if status != 200:
                client.warn(status)
                return

    # nobody goes on before it is loaded
    if accelerator.num_processes > 1:
        import torch.distributed as dist

        if dist.is_initialized():
            dist.barrier()
