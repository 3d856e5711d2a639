"""Every form that the linter repairs, on ranks: before, they part; after, they do not; equal inputs, equal results.

The forms are the twins of `tests/fixes` and the bad examples of the rule pages that have a fix.
"""

from __future__ import annotations

import functools
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from proof import (  # noqa: F401
    fixed,
    fixed_groups,
    fixed_haves,
    fixed_loops,
    fixed_names,
    fixed_numbers,
    fixed_rounds,
    fixed_ways,
)
from test_proof import CASES, Case, check_harm, play

from ferrule_lint.engine import fix
from ferrule_lint.project.config import load_settings

FOLDER = Path(__file__).resolve().parents[1] / "fixes"


@functools.cache
def repaired(source: str) -> str | None:
    """What `ferrule-lint fix` with unsafe fixes makes of a file; None if it changes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "pyproject.toml").write_text("")
        (root / "example.py").write_text(source)
        result = fix([root], replace(load_settings(root), unsafe_fixes=True), use_cache=False)
    new = result.repair.contents.get("example.py")
    return None if new is None else new.decode()


TWINS = [
    Case(f"fixes:{path.parent.name}/{path.stem}", "bad", path.read_text("utf-8"), 1)
    for path in sorted(FOLDER.glob("*/*.py"))
    if not path.name.startswith("no_")
]
#: twins that are not played, and why
NOT_PLAYED = {
    "fixes:group_place/imported_by_name": "sends alone: nobody in it receives",
    "fixes:group_place/of_a_function": "its mesh of eight GPUs is made as it is imported; `of_a_getter` is played",
    "fixes:job_rank/beside_the_device": "two ranks that claim one place never meet: there is no job to be watched",
    "fixes:job_rank/from_the_launcher": "two ranks that claim one place never meet: there is no job to be watched",
    "fixes:leave_finally/teardown": "a rank raises before and after; gloo's destroy_process_group waits for nobody",
    "fixes:remove_suppression/stale": "comments only",
}


def after(case: Case) -> Case:
    source = repaired(case.source)
    assert source is not None
    return replace(case, kind="fixed", source=source)


def fixable() -> list[object]:
    """The twins, and the pages' bad examples with a fix: which those are, `tests/fixes/pages` says. Those that cannot
    be played `test_proof` knows."""
    number: dict[str, int] = {}
    found = [case for case in TWINS if case.where not in NOT_PLAYED]
    for case in CASES:
        if case.kind == "bad" and not case.where.startswith("examples:"):
            number[case.where] = number.get(case.where, 0) + 1
            if case.scene is not None and (FOLDER / "pages" / f"{case.where}-{number[case.where]}.diff").exists():
                found.append(case)
    return [pytest.param(case, id=str(case)) for case in found]


FIXABLE = fixable()


def test_every_twin_has_a_scene() -> None:
    assert {case.where for case in TWINS if case.scene is None} == set(NOT_PLAYED)
    assert len(FIXABLE) > len(TWINS) > 20


@pytest.mark.parametrize("case", [pytest.param(case, id=str(case)) for case in TWINS if case.where not in NOT_PLAYED])
def test_before_the_ranks_part(case: Case) -> None:
    """The pages' examples are shown to in `test_proof`."""
    check_harm(case)


@pytest.mark.parametrize("case", FIXABLE)
def test_after_they_do_not(case: Case) -> None:
    scene = case.scene
    assert scene is not None
    result = play(after(case), True)
    if scene.error:
        assert result.divergence is not None, result.report()
        assert result.divergence.kind == "raised", result.report()
        return
    assert result.ok, result.report() + "".join(result.outputs.values())
    assert not scene.wrong_data or set(result.values.values()) == {True}


@pytest.mark.parametrize("case", FIXABLE)
def test_equal_inputs_equal_results(case: Case) -> None:
    """Forward and, where the form trains, backward. Ranks that part by their number alone are compared on one rank."""
    scene = case.scene
    assert scene is not None
    if scene.wrong_data:
        pytest.skip("the bad form computes wrong data on any inputs: what is right, the other tests know")
    ranks = 1 if scene.by_rank else scene.ranks
    before, now = play(case, False, ranks), play(after(case), False, ranks)
    if ranks < scene.ranks and not before.ok:
        pytest.skip(f"it needs more than one rank: {before.failed[0].error if before.failed else before.report()}")
    assert before.ok, before.report() + "".join(before.outputs.values())
    assert now.ok, now.report() + "".join(now.outputs.values())
    assert now.values == before.values
