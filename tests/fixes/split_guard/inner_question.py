"""A checkpoint every few steps, by the main process alone."""

import os
import shutil

from accelerate import Accelerator


def train(accelerator: Accelerator, folder: str, every: int, steps: int) -> None:
    step = 0
    for _ in range(steps):
        step += 1
        if accelerator.is_main_process:
            # now and then
            if step % every == 0:
                old = sorted(os.listdir(folder))
                for name in old[:-2]:
                    shutil.rmtree(os.path.join(folder, name))

                path = os.path.join(folder, f"step-{step}")
                accelerator.save_state(path)
                print(f"saved {path}")
