"""What is done beside the barrier is done by those that stay."""

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

        client.forget()
        dist.barrier()
