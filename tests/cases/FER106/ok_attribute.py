"""What one method keeps as a set, another one walks."""

import torch
from torch.distributed.tensor import DTensor


class Syncer:
    def prepare(self, names: list[str]) -> None:
        self.names = list(dict.fromkeys(names))

    def tensors(self, state: dict[str, DTensor]):
        for name in self.names:
            yield name, state[name]

    def sync(self, state: dict[str, DTensor]) -> dict[str, torch.Tensor]:
        result = {}
        for name, tensor in self.tensors(state):
            result[name] = tensor.full_tensor()
        return result
