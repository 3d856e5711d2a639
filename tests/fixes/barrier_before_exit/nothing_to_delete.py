"""One rank finds nothing to delete, somewhere in its arm, and forgets the others."""

import torch.distributed as dist


def delete(names: list[str], missing_ok: bool) -> None:
    if dist.get_rank() == 0:
        if not names:
            if not missing_ok:
                raise ValueError("nothing to delete")

            # nothing to do
            return

        if names[0] == "keep":
            return
        names.clear()

    dist.barrier()


def example() -> list[list[str]]:
    names = ["keep", "b"]
    delete([], True)
    delete(names, True)
    return [names]
