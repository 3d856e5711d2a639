"""Every bug is found, with its kind and its line; every healthy program runs through, in lockstep."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from programs import bugs, healthy  # noqa: F401
from programs.lane import LANE, on_lane
from programs.models import mask_line
from programs.table import BUGS, FSDP2, HEALTHY, Program

from ferrule_lint.harness import run
from ferrule_lint.harness.rank.dispatcher import version
from ferrule_lint.harness.result import Result


def params(programs: list[Program]) -> list[object]:
    """Programs, skipped with the reason where this torch cannot run them at all."""
    found = []
    for program in programs:
        reason = f"torch {version()} cannot run it on the CPU, with or without the harness"
        cannot = version() < program.since or version() in program.broken_in
        found.append(pytest.param(program, id=program.name, marks=pytest.mark.skipif(cannot, reason=reason)))
    return found


def perform(program: Program) -> Result:
    options = {"timeout": 60, "backend": LANE, **program.options}
    return run(on_lane, args=(program.function,), ranks=program.ranks, **options)


@pytest.mark.parametrize("program", params(BUGS))
def test_bug_is_found(program: Program) -> None:
    result = perform(program)
    assert result.divergence is not None, result.endings
    assert result.divergence.kind == program.kind, result.report()
    assert result.exit_code == 86
    if cause := program.marked("cause"):
        assert result.divergence.cause == cause, result.report()
    if site := program.marked("site"):
        assert result.divergence.site == site, result.report()


@pytest.mark.parametrize("program", params(HEALTHY))
def test_healthy_program_is_let_through(program: Program) -> None:
    result = perform(program)
    assert result.ok, result.report() + "".join(result.outputs.values())
    assert all(result.events), "nothing was recorded"


def test_asynchronous_saving_issues_from_a_thread_of_its_own() -> None:
    """Were holds not per thread, the main thread's would be let go in its place."""
    (program,) = (one for one in HEALTHY if one.name == "checkpoint_saved_and_loaded")
    result = perform(program)
    assert result.ok, result.report()
    assert len({event.thread for event in result.events[0]}) > 1


needs_fsdp2 = pytest.mark.skipif(version() < FSDP2, reason="FSDP2 runs on the CPU since torch 2.7")


@needs_fsdp2
def test_skipped_turn_is_named_behind_the_loop() -> None:
    """The ranks part visibly at the end of the loop, two steps after the `continue`."""
    for name in ("fsdp2_skips_a_step", "ddp_skips_a_step", "thread_of_autograd_skips_a_step"):
        (program,) = (one for one in BUGS if one.name == name)
        divergence = perform(program).divergence
        assert divergence is not None and divergence.out_of_step is not None and divergence.parting is not None
        lines = Path(bugs.__file__).read_text().splitlines()
        assert "# cause" in lines[divergence.out_of_step.site.line - 1]
        assert "for step in range(4)" in lines[divergence.parting.site.line - 1]


@needs_fsdp2
def test_hidden_module_is_named_with_the_branch_before_it() -> None:
    (program,) = (one for one in BUGS if one.name == "fsdp2_submodule_on_some_ranks")
    divergence = perform(program).divergence
    assert divergence is not None
    assert {one.module for one in divergence.behaviours} == {"base", "vision"}
    assert divergence.cause.endswith(f"models.py:{mask_line()}")
