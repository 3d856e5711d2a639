import concurrent.futures

import torch.distributed as dist


class Saver:
    def __init__(self, future: concurrent.futures.Future) -> None:
        self.future = future

    def finished(self, blocking: bool) -> bool:
        # of the last step
        if blocking or self.future.done():
            self.future.result()
            dist.barrier()
            return True
        return False


def example() -> list[bool]:
    done, running = concurrent.futures.Future(), concurrent.futures.Future()
    done.set_result(1)
    return [Saver(done).finished(False), Saver(running).finished(False), Saver(done).finished(True)]
