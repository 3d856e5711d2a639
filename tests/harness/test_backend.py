"""Which backend is chosen, and why."""

from __future__ import annotations

import pytest

from ferrule_lint.harness.backend import Hardware, choose, in_the_way
from ferrule_lint.harness.errors import HarnessError


@pytest.mark.parametrize(
    ("found", "backend", "why"),
    [
        (Hardware(), "gloo", "on the CPU: there is no GPU, or torch was built without CUDA"),
        (Hardware(4, (2, 29)), "nccl", "4 GPUs for 4 ranks"),
        (Hardware(1, (2, 30)), "nccl", "4 ranks share 1 GPUs, which NCCL 2.30 allows"),
        (Hardware(1, (2, 29)), "gloo", "on the CPU: 1 GPUs for 4 ranks, and NCCL 2.29 does not share one"),
        (Hardware(8), "gloo", "on the CPU: this torch has no NCCL"),
    ],
)
def test_auto(found: Hardware, backend: str, why: str) -> None:
    choice = choose("auto", 4, found)
    assert (choice.backend, choice.why) == (backend, why)
    assert bool(choice.environment) == ("share" in why and backend == "nccl")


def test_what_was_asked_for_is_not_replaced_silently() -> None:
    assert choose("gloo", 2, Hardware(8, (2, 30))).backend == "gloo"
    with pytest.raises(HarnessError, match="NCCL cannot be used: there is no GPU"):
        choose("nccl", 2, Hardware())
    with pytest.raises(HarnessError, match="unknown backend 'mpi'"):
        choose("mpi", 2, Hardware())


def test_settings_that_get_in_the_way() -> None:
    assert in_the_way({"TORCH_DISTRIBUTED_DEBUG": "DETAIL", "CUDA_LAUNCH_BLOCKING": "0"}) == [
        "TORCH_DISTRIBUTED_DEBUG=DETAIL"
    ]
