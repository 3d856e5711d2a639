"""The first rank keeps count of the epochs without improvement, and stops alone."""

import torch.distributed as dist


def train(losses: list[float], patience: int, log: list[object]) -> None:
    best, waited = float("inf"), 0
    for loss in losses:
        log.append(loss)
        # one rank keeps the books
        if dist.get_rank() == 0:
            if loss >= best:
                waited += 1
                if waited >= patience:
                    log.append("enough")
                    break  # no better any more
                # not yet
                log.append("worse")

                log.append(waited)
            else:
                best, waited = loss, 0
            log.append(best)
        else:
            log.append("following")
        dist.barrier()
    log.append("over")


def example() -> list[object]:
    log: list[object] = []
    train([3.0, 2.0, 2.5, 1.0, 4.0, 4.0, 5.0], 2, log)
    return log
