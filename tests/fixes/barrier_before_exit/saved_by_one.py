import torch.distributed as dist


def save(values: list[float], path: str, said: list[str]) -> int:
    if dist.get_rank() != 0:
        said.append("not here")
        # the first rank writes
        return 0
    said.append(f"{path}: {values}")
    dist.barrier()
    return len(values)


def example() -> list[object]:
    said: list[str] = []
    return [save([1.0, 2.0], "values", said), said]
