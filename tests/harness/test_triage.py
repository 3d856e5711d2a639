"""Flight Recorder dumps: read without trust, compared group by group."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ferrule_lint.cli.main import cli
from ferrule_lint.harness.errors import HarnessError
from ferrule_lint.harness.triage.compare import Triage, triage
from ferrule_lint.harness.triage.dumps import read_dumps


def entry(op: str, number: int, size: tuple[int, ...] = (4,), line: int = 10, group: str = "0", **more: Any) -> dict:
    return {
        "process_group": (group, "default_pg"),
        "collective_seq_id": number,
        "p2p_seq_id": 0,
        "profiling_name": f"nccl:{op}",
        "input_sizes": [list(size)],
        "input_dtypes": ["Float"],
        "output_sizes": [list(size)],
        "output_dtypes": ["Float"],
        "state": "completed",
        "retired": False,
        "is_p2p": False,
        "frames": [
            {"name": "all_reduce", "filename": "/opt/lib/python3.11/site-packages/torch/d.py", "line": 1},
            {"name": "main", "filename": "/job/train.py", "line": line},
        ],
        **more,
    }


def write(folder: Path, ranks: list[list[dict]], members: str = "", **files: str) -> Path:
    for rank, entries in enumerate(ranks):
        config = {"0": {"name": "0", "desc": "default_pg", "ranks": members or json.dumps(list(range(len(ranks))))}}
        dump = {"version": "2.10", "pg_config": config, "entries": entries}
        (folder / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(dump))
    return folder


def compare(folder: Path) -> Triage:
    return triage(read_dumps([folder]))


def test_another_operation(tmp_path: Path) -> None:
    common = [entry("all_reduce", 1), entry("_all_gather_base", 2)]
    found = compare(
        write(tmp_path, [[*common, entry("all_reduce", 3, line=20)], [*common, entry("broadcast", 3, line=30)]])
    ).divergence
    assert found is not None and found.kind == "op"
    assert found.text == "rank 0 issues all_reduce, rank 1 broadcast"
    assert [one.site.place for one in found.behaviours if one.site] == ["/job/train.py:20", "/job/train.py:30"]
    assert [row.label for row in found.rows] == ["#1", "#2", "#3"]


def test_one_that_never_came(tmp_path: Path) -> None:
    waiting = entry("all_reduce", 2, state="started")
    found = compare(write(tmp_path, [[entry("all_reduce", 1), waiting]] * 2 + [[entry("all_reduce", 1, line=7)]]))
    assert found.divergence is not None and found.divergence.kind == "stall"
    assert found.divergence.text == "rank 2 never issued all_reduce #2 of group '0', in which the others wait"
    assert "train.py:7" in found.divergence.behaviours[1].last


def test_what_the_ring_buffer_has_lost_is_not_missed(tmp_path: Path) -> None:
    long = [entry("all_reduce", number) for number in range(1, 9)]
    found = compare(write(tmp_path, [long, long[4:]]))
    assert found.divergence is None
    assert found.remarks == ()


def test_sizes(tmp_path: Path) -> None:
    found = compare(write(tmp_path, [[entry("all_reduce", 1, (3,))], [entry("all_reduce", 1, (5,))]])).divergence
    assert found is not None and found.text == "all_reduce: rank 0 float32[3], rank 1 float32[5]"


def test_parts_of_a_coalesced_operation_count_once(tmp_path: Path) -> None:
    both = [entry("all_reduce", 1), entry("all_reduce", 1, (7,)), entry("all_reduce", 2)]
    assert compare(write(tmp_path, [both, both])).divergence is None


def test_send_without_receive(tmp_path: Path) -> None:
    send = entry("send 0->1", 0, is_p2p=True, state="started")
    found = compare(write(tmp_path, [[send], [entry("all_reduce", 1)]])).divergence
    assert found is not None
    assert found.kind in ("unpaired", "stall")


def test_all_alike_points_elsewhere(tmp_path: Path) -> None:
    stuck = entry("all_reduce", 1, state="started")
    found = compare(write(tmp_path, [[stuck], [stuck]], members="[0, 1, 2]"))
    assert found.divergence is None
    assert found.remarks[0].startswith("no dump of rank 2")
    assert "suspect network, hardware" in found.remarks[1]


class Evil:
    def __reduce__(self) -> Any:
        return os.system, ("true",)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("rank_0", pickle.dumps({"entries": [Evil()]}), "the pickle is refused: it asks for posix.system"),
        ("rank_0", b"\x80nonsense", "neither pickle nor JSON"),
        ("rank_0.json", b'{"entries": ', "neither pickle nor JSON"),
        ("rank_0.json", b'{"version": "2"}', "it has no entries"),
        ("rank_0.json", b'{"entries": [{}]}', "not a Flight Recorder dump (KeyError: 'process_group')"),
        ("rank_0.json", b'{"entries": [3]}', "not a Flight Recorder dump (TypeError"),
        ("dump", b"{}", "does not end with the rank"),
    ],
)
def test_bad_dump_is_refused_with_its_name(name: str, data: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(HarnessError) as caught:
        read_dumps([tmp_path])
    assert str(caught.value).startswith(f"{tmp_path / name}: ") and message in str(caught.value)


def test_same_rank_twice(tmp_path: Path) -> None:
    for name in ("a_rank_0.json", "b_rank_0.json"):
        (tmp_path / name).write_text('{"entries": []}')
    with pytest.raises(HarnessError, match="rank 0 was read from"):
        read_dumps([tmp_path])


SOURCE = """import torch
import torch.distributed as dist


def main(loss: torch.Tensor) -> None:
    if dist.get_rank() == 0:
        dist.all_reduce(loss)
    dist.barrier()
"""


def test_command_links_the_linters_findings(tmp_path: Path) -> None:
    dumps = tmp_path / "dumps"
    dumps.mkdir()
    write(dumps, [[entry("all_reduce", 1, line=7)], [entry("all_reduce_barrier", 1, line=8)]])
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "train.py").write_text(SOURCE)
    (tmp_path / "source" / "pyproject.toml").write_text("")
    done = CliRunner().invoke(cli, ["triage", str(dumps), "--source", str(tmp_path / "source")])
    assert done.exit_code == 86, done.output
    assert "DIVERGENCE (op): rank 0 issues all_reduce, rank 1 barrier" in done.output
    assert "lint: FER102 collective-in-divergent-branch at train.py:7" in done.output
    as_json = CliRunner().invoke(cli, ["triage", str(dumps), "--output-format", "json"])
    assert json.loads(as_json.output)["divergence"]["kind"] == "op"


def test_command_says_when_nothing_differs(tmp_path: Path) -> None:
    write(tmp_path, [[entry("all_reduce", 1)]] * 2)
    done = CliRunner().invoke(cli, ["triage", str(tmp_path)])
    assert (done.exit_code, done.output) == (0, "no difference between 2 ranks in 2 recorded operations\n")


def test_real_dumps_of_torch(tmp_path: Path) -> None:
    """What this torch itself writes, pickle and JSON; then with a rank that stopped before the last operation."""
    torch = pytest.importorskip("torch")
    import torch.distributed as dist

    try:
        from torch._C._distributed_c10d import _dump_fr_trace, _dump_fr_trace_json
    except ImportError:
        pytest.skip(f"torch {torch.__version__} has no Flight Recorder on the CPU")

    from ferrule_lint.harness import run

    for folder in ("pickles", "json"):
        (tmp_path / folder).mkdir()

    def body() -> None:
        x = torch.ones(4)
        group = dist.new_group([0, 1])
        dist.all_reduce(x)
        dist.broadcast(x, 0, group=group)
        dist.all_gather_into_tensor(torch.empty(8), x)
        name = f"rank_{dist.get_rank()}"
        (tmp_path / "pickles" / name).write_bytes(_dump_fr_trace())
        (tmp_path / "json" / f"{name}.json").write_bytes(_dump_fr_trace_json())

    assert run(body, timeout=60).ok
    for folder in ("pickles", "json"):
        found = compare(tmp_path / folder)
        # gloo marks operations as done with a delay, so there may be a remark on the last one
        assert (found.divergence, found.entries) == (None, 6)
    broken = tmp_path / "json" / "rank_1.json"
    values = json.loads(broken.read_text())
    values["entries"].pop()
    broken.write_text(json.dumps(values))
    late = compare(tmp_path / "json").divergence
    assert late is not None
    assert late.text == "rank 1 never issued all_gather #2 of group '0', in which the others wait"
    pickled = compare(tmp_path / "pickles")
    assert pickled.divergence is None
