import torch.distributed as dist


def train(losses: list[float], patience: float) -> None:
    for loss in losses:
        if dist.get_rank() == 0:
            if loss > patience:
                break
            print(loss)
        dist.barrier()
