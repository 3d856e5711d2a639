"""The stages between wait for what only the last one is sent."""

import torch


class Model:
    def tie(self, weight: torch.Tensor) -> torch.Tensor:
        if self.pp_group.is_first_rank:
            self.pp_group.send(weight, dst=self.pp_group.last_rank)
        elif self.pp_group.is_last_rank:
            weight = self.pp_group.recv(weight.shape, weight.dtype, src=self.pp_group.first_rank)
        return weight
