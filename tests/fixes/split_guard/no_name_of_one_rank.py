import os

from accelerate import Accelerator


def save(accelerator: Accelerator) -> None:
    folder = None
    if accelerator.is_main_process:
        folder = os.environ["HERE"]
    if accelerator.is_main_process:
        print("saving")
        os.makedirs(folder)
        accelerator.save_state(folder)
