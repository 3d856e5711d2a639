"""Rows of a table collected for the tracker."""

from accelerate import Accelerator
from accelerate.utils import gather_object


class Reporter:
    def __init__(self, accelerator: Accelerator) -> None:
        self.accelerator = accelerator

    def log(self, rows: list[dict[str, str]]) -> None:
        self.accelerator.wait_for_everyone()
        if self.accelerator.is_main_process:
            every = gather_object(rows)  # error: FER102
            for row in every:
                print(row)
