"""Every rank deals out what it has."""

import torch
import torch.distributed as dist


class Dealer:
    def __init__(self) -> None:
        self.rank = dist.get_rank()
        self.size = dist.get_world_size()

    def deal(self, cards: torch.Tensor) -> torch.Tensor:
        hand = torch.empty(len(cards) // self.size)
        dist.scatter(hand, list(cards.chunk(self.size)), src=self.rank)  # error: FER404
        return hand
