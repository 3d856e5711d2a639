"""The first rank leaves in a handler, past a barrier for jobs of more than one process."""

import torch.distributed as dist


class Cache:
    def _is_multi_process(self) -> bool:
        return dist.is_initialized() and dist.get_world_size() > 1

    def refresh(self, names: list[str], known: dict[str, int]) -> None:
        if dist.get_rank() == 0:
            try:
                self.scan(names, known)
            except FileNotFoundError:
                print("nothing to scan")
                return

        if self._is_multi_process():
            # the others read what it has written

            dist.barrier()
        known["read"] = len(names)

    def scan(self, names: list[str], known: dict[str, int]) -> None:
        if not names:
            raise FileNotFoundError
        known["scanned"] = len(names)


def example() -> dict[str, int]:
    known: dict[str, int] = {}
    Cache().refresh(["a"], known)
    Cache().refresh([], known)
    return known
