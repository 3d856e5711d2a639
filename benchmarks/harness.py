#!/usr/bin/env python3
"""What the harness costs, as ratios to plain gloo in the same run, and how soon it knows.

    python benchmarks/harness.py                      everything, at 2, 4 and 8 ranks
    python benchmarks/harness.py --ranks 2 --quick    a look

Printed as Markdown tables: microseconds per small all_reduce and milliseconds per FSDP2 training step, plain, recorded
(`trace`), held (`lockstep`, also without the control-flow trace), and under TORCH_DISTRIBUTED_DEBUG=DETAIL; the seconds
from the last arriving event to the verdict; and the time to simulate many ranks. Ways take turns, and the median of the
rounds counts, so that a machine that is busy with other things disturbs all of them alike. Needs torch; no GPU.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import torch.distributed as dist
import torch.multiprocessing
from torch import nn
from torch.distributed.fsdp import fully_shard

from ferrule_lint.harness import run

WAYS: dict[str, dict[str, object] | None] = {
    "plain gloo": None,
    "trace": {"mode": "trace"},
    "lockstep, no flow": {"flow": False},
    "lockstep": {},
    "DETAIL": None,
}


def reductions(count: int) -> float:
    """Seconds per small all_reduce."""
    x = torch.ones(4)
    for _ in range(10):
        dist.all_reduce(x)
    start = time.perf_counter()
    for _ in range(count):
        dist.all_reduce(x)
    return (time.perf_counter() - start) / count


def steps(count: int) -> float:
    """Seconds per training step of 12 sharded layers."""
    torch.manual_seed(0)
    model = nn.Sequential(*(nn.Linear(256, 256) for _ in range(12)))
    for layer in model:
        fully_shard(layer)
    fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    x = torch.randn(8, 256)
    start = 0.0
    for step in range(count + 2):
        if step == 2:
            start = time.perf_counter()
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return (time.perf_counter() - start) / count


def plain(body: Callable[[int], float], count: int, ranks: int, detail: bool) -> float:
    """The slowest rank's time without the harness."""
    with tempfile.TemporaryDirectory() as folder:
        store = dist.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
        arguments = (ranks, store.port, folder, body, count, detail)
        torch.multiprocessing.start_processes(_plain_rank, args=arguments, nprocs=ranks, start_method="fork")
        return max(json.loads(file.read_text()) for file in Path(folder).iterdir())


def _plain_rank(
    rank: int, ranks: int, port: int, folder: str, body: Callable[[int], float], count: int, detail: bool
) -> None:
    torch.set_num_threads(1)
    if detail:
        os.environ["TORCH_DISTRIBUTED_DEBUG"] = "DETAIL"
        dist.set_debug_level_from_env()
    store = dist.TCPStore("127.0.0.1", port, is_master=False)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks)
    seconds = body(count)
    (Path(folder) / str(rank)).write_text(json.dumps(seconds))
    dist.barrier()
    os._exit(0)


def measure(way: str, body: Callable[[int], float], count: int, ranks: int) -> float:
    options = WAYS[way]
    if options is None:
        return plain(body, count, ranks, way == "DETAIL")
    result = run(body, ranks=ranks, args=(count,), **options)  # type: ignore[arg-type]
    result.raise_for_divergence()
    return max(result.values.values())


def table(title: str, body: Callable[[int], float], count: int, sizes: list[int], rounds: int, unit: float) -> None:
    print(f"\n| {title} | " + " | ".join(f"{ranks} ranks | ratio" for ranks in sizes) + " |")
    print("| --- |" + " --- | --- |" * len(sizes))
    figures: dict[str, list[float]] = {way: [] for way in WAYS}
    for ranks in sizes:
        taken: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(rounds):
            for way in WAYS:
                taken[way].append(measure(way, body, count, ranks))
        for way in WAYS:
            figures[way].append(statistics.median(taken[way]))
    for way, values in figures.items():
        cells = [
            f"{value * unit:,.0f} | {value / base:.2f}"
            for value, base in zip(values, figures["plain gloo"], strict=True)
        ]
        print(f"| {way} | " + " | ".join(cells) + " |", flush=True)


def mismatch() -> None:
    for _ in range(5):
        dist.all_reduce(torch.ones(2))
    dist.all_reduce(torch.ones(2 + dist.get_rank()))  # ferrule: ignore[FER201] the divergence that is measured


def ends_early() -> None:
    dist.all_reduce(torch.ones(2))
    if dist.get_rank():
        dist.all_reduce(torch.ones(2))  # ferrule: ignore[FER102] what the benchmark is to find


def opposite_order() -> None:
    everybody = list(range(dist.get_world_size()))
    groups = [dist.new_group(everybody), dist.new_group(everybody)]
    if dist.get_rank() == 0:
        groups.reverse()
    for group in groups:
        dist.all_reduce(torch.ones(2), group=group)


def latencies(sizes: list[int], rounds: int) -> None:
    print("\n| from the last event to the verdict, ms | " + " | ".join(f"{ranks} ranks" for ranks in sizes) + " |")
    print("| --- |" + " --- |" * len(sizes))
    for name, body in (("mismatch", mismatch), ("a rank has ended", ends_early), ("deadlock", opposite_order)):
        cells = []
        for ranks in sizes:
            found = [run(body, ranks=ranks).divergence for _ in range(rounds)]
            assert all(found), name
            cells.append(f"{1000 * statistics.median(one.latency for one in found if one):.2f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def stages() -> None:
    x = torch.ones(4)
    if dist.get_rank() in (0, dist.get_world_size() - 1):
        dist.broadcast(x, src=0)  # ferrule: ignore[FER102] what the benchmark is to find
    dist.all_reduce(x)


def simulation(ranks: int) -> None:
    result = run(stages, ranks=ranks, mode="simulate")
    assert result.divergence is not None
    shown = ", ".join(f"{len(one.ranks)} ranks {one.doing.split()[0]}" for one in result.divergence.behaviours)
    each = 1000 * result.seconds / ranks
    print(f"\n{ranks} ranks simulated in {result.seconds:.1f} s ({each:.1f} ms a rank): {shown}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--simulate", type=int, default=1024)
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    options = parser.parse_args()
    count, rounds = (50, 1) if options.quick else (200, options.rounds)
    cores, load = os.cpu_count(), os.getloadavg()[0]
    print(f"torch {torch.__version__}, {cores} cores, load {load:.1f} at the start")
    table("µs per small all_reduce", reductions, count, options.ranks, rounds, 1e6)
    table("ms per FSDP2 step", steps, 4 if options.quick else 10, options.ranks, rounds, 1e3)
    latencies(options.ranks, rounds)
    if options.simulate:
        simulation(options.simulate)


if __name__ == "__main__":
    main()
