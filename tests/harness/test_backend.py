"""Which backend is chosen, and why."""

from __future__ import annotations

import pytest

from ferrule_lint.harness.api import rank_environment
from ferrule_lint.harness.backend import Hardware, choose, in_the_way, needs_fresh, ranks_per_host
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
    assert ("NCCL_MULTI_RANK_GPU_ENABLE" in choice.environment) == ("share" in why and backend == "nccl")


def test_what_was_asked_for_is_not_replaced_silently() -> None:
    assert choose("gloo", 2, Hardware(8, (2, 30))).backend == "gloo"
    with pytest.raises(HarnessError, match="NCCL cannot be used: there is no GPU"):
        choose("nccl", 2, Hardware())
    with pytest.raises(HarnessError, match="unknown backend 'mpi'"):
        choose("mpi", 2, Hardware())


def test_where_gpus_are_shared_each_set_of_them_passes_for_a_host() -> None:
    found = Hardware(2, (2, 30))
    assert ranks_per_host(choose("auto", 4, found), 4, found) == 2
    environments = [rank_environment(rank, 4, 1, 2) for rank in range(4)]
    assert [(one["GROUP_RANK"], one["LOCAL_RANK"]) for one in environments] == [
        ("0", "0"),
        ("0", "1"),
        ("1", "0"),
        ("1", "1"),
    ]
    # on the CPU there is one host
    assert ranks_per_host(choose("gloo", 4, found), 4, found) == 4


def test_on_gloo_there_is_no_gpu() -> None:
    """Else `fully_shard` would look for a GPU of each rank's own."""
    assert choose("auto", 2, Hardware(1, (2, 28))).environment["CUDA_VISIBLE_DEVICES"] == ""
    assert not choose("auto", 2, Hardware()).environment


def test_whoever_did_not_ask_for_nccl_can_reduce_on_both_devices() -> None:
    assert choose("auto", 2, Hardware(2, (2, 30))).default_group == "cpu:gloo,cuda:nccl"
    assert choose("nccl", 2, Hardware(2, (2, 30))).default_group == "nccl"
    assert choose("auto", 2, Hardware()).default_group == "gloo"


@pytest.mark.parametrize("spoiled", [False, True])
def test_process_that_asked_cuda_for_its_devices(spoiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its forks cannot start CUDA: where they are to use it, ranks are interpreters of their own."""
    import torch

    monkeypatch.setattr(torch.cuda, "_is_in_bad_fork", lambda: spoiled)
    found = Hardware(2, (2, 30))
    assert needs_fresh(choose("auto", 2, found), found) == spoiled
    assert not needs_fresh(choose("gloo", 2, found), found)


def test_without_gloo_there_is_only_simulation() -> None:
    with pytest.raises(HarnessError, match="no gloo: only `simulate`"):
        choose("auto", 2, Hardware(gloo=False))


def test_settings_that_get_in_the_way() -> None:
    settings = {"TORCH_DISTRIBUTED_DEBUG": "detail", "CUDA_LAUNCH_BLOCKING": "0", "TORCH_NCCL_BLOCKING_WAIT": "1"}
    assert in_the_way(settings, gpus=False) == [
        "TORCH_DISTRIBUTED_DEBUG=detail: torch compares by itself before each collective, and may end ranks"
    ]
    assert [one.partition(":")[0] for one in in_the_way(settings)] == [
        "TORCH_DISTRIBUTED_DEBUG=detail",
        "TORCH_NCCL_BLOCKING_WAIT=1",
    ]
