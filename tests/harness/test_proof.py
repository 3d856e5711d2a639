"""Every bad example diverges when its ranks' inputs differ, every good one does not, and both compute the same.

The bad forms also run on equal inputs, where they are fine: so it is the difference that breaks them. Their results
there are compared with those of the good forms, forward and, where there is one, backward.
"""

from __future__ import annotations

import ast
import functools
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from programs.lane import LANE, on_lane
from proof.doubles import load
from proof.fresh import act
from proof.scenes import SCENES, Scene

from ferrule_lint.harness import run
from ferrule_lint.harness.result import Result
from ferrule_lint.rulebook import load_rules

ROOT = Path(__file__).resolve().parents[2]

#: rule pages whose examples need no ranks: they are about source text
TEXT = {"FER001", "FER002"}
#: (code or folder, entry point) of examples that cannot be played, and why
NOT_PLAYED: dict[tuple[str, str], str] = {
    ("FER402", "start"): "two ranks that claim one place never meet: there is no job to be watched",
}


#: likewise, on NCCL
NOT_ON_NCCL = {("FER201", "gather_report"): "its bytes are on the CPU"}
#: those that run through on NCCL, whatever is in their ranks' place
NO_HARM_ON_NCCL = dict.fromkeys(
    [("FER403", "interleave"), ("fixes:keep_group/as_many_buffers", "fixes:keep_group/as_many_buffers")],
    "NCCL does not refuse a list that is too short: the call returns",
)


@dataclass(frozen=True)
class Case:
    where: str
    kind: str
    source: str
    line: int

    @property
    def entries(self) -> list[str]:
        definitions = (ast.FunctionDef, ast.ClassDef)
        return [node.name for node in ast.parse(self.source).body if isinstance(node, definitions)]

    @property
    def scene(self) -> Scene | None:
        return next((SCENES[name] for name in self.names if name in SCENES), None)

    @property
    def names(self) -> list[str]:
        """Under which its scene may be: that of a whole file, or of one of its functions."""
        if ":" in self.where:
            return [self.where]
        return [f"{self.where}:{name}" for name in self.entries] + self.entries

    def __str__(self) -> str:
        return f"{self.where.rpartition(':')[2]}-{self.kind}-{self.line}"


def cases() -> list[Case]:
    found = []
    for code, rule in load_rules().items():
        if code not in TEXT:
            found += [Case(code, one.kind, one.source, one.line) for one in rule.examples]
    for folder in sorted((ROOT / "examples").glob("*/")):
        for name, kind in (("bug.py", "bad"), ("fixed.py", "good")):
            if (folder / name).exists():
                found.append(Case(f"examples:{folder.name}", kind, (folder / name).read_text("utf-8"), 1))
    return found


CASES = cases()
PLAYED = [case for case in CASES if case.scene is not None]


@functools.cache
def play(case: Case, spread: bool, ranks: int = 0) -> Result:
    scene = case.scene
    assert scene is not None
    skip_on_nccl(case, NOT_ON_NCCL)
    if scene.hash_seeds and spread:
        return run(act, args=(case.source, case.names, spread), hash_seeds=[1, 2], timeout=90, backend=LANE)

    def body() -> object:
        return on_lane(lambda: scene.play(load(case.source, "example"), spread))

    return run(body, ranks=ranks or scene.ranks, timeout=90, flow=False, backend=LANE, strict=scene.strict)


def skip_on_nccl(case: Case, why: Mapping[tuple[str, str], str]) -> None:
    for name in case.names if LANE == "nccl" else ():
        if (case.where, name) in why:
            pytest.skip(why[case.where, name])


def of_kind(kind: str, *, by_data: bool = False) -> list[object]:
    """Played examples; `by_data`: only those in which data decide, so that equal inputs make a difference."""
    found = []
    for case in PLAYED:
        scene = case.scene
        if case.kind == kind and scene is not None and not (by_data and (scene.by_rank or scene.wrong_data)):
            found.append(case)
    return [pytest.param(case, id=str(case)) for case in found]


def twins() -> list[object]:
    """(good example, the first bad one of the same scene)."""
    bad = {id(case.scene): case for case in reversed(PLAYED) if case.kind == "bad"}
    pairs = [(case, bad.get(id(case.scene))) for case in PLAYED if case.kind == "good"]
    return [
        pytest.param(good, one, id=str(good))
        for good, one in pairs
        if one is not None and not (one.scene.by_rank or one.scene.wrong_data)
    ]


def test_every_example_is_played() -> None:
    left = {(case.where, tuple(case.entries)) for case in CASES if case.scene is None}
    excused = {(where, entries) for where, entries in left if any((where, name) in NOT_PLAYED for name in entries)}
    assert left == excused, "give these a scene in proof/scenes.py, or a reason in NOT_PLAYED"


def check_harm(case: Case) -> None:
    """The ranks of a bad form part, or it does what its scene says instead."""
    skip_on_nccl(case, NO_HARM_ON_NCCL)
    scene = case.scene
    assert scene is not None
    result = play(case, True)
    if scene.wrong_data:
        assert result.ok, result.report() + "".join(result.outputs.values())
        assert False in result.values.values(), result.values
    elif scene.raises:
        assert result.failed, "no rank was refused"
    else:
        assert result.divergence is not None, f"{result.endings} {result.outputs}"
        assert result.divergence.kind not in ("raised", "crashed", "timeout"), result.report()


@pytest.mark.parametrize("case", of_kind("bad"))
def test_bad_example_does_harm(case: Case) -> None:
    check_harm(case)


@pytest.mark.parametrize("case", of_kind("bad", by_data=True))
def test_bad_example_is_fine_on_equal_inputs(case: Case) -> None:
    result = play(case, False)
    assert result.ok, result.report() + "".join(result.outputs.values())


@pytest.mark.parametrize("case", of_kind("good"))
def test_good_example_runs_through(case: Case) -> None:
    scene = case.scene
    assert scene is not None
    result = play(case, True)
    assert result.ok, result.report() + "".join(result.outputs.values())
    assert not scene.wrong_data or set(result.values.values()) == {True}


@pytest.mark.parametrize(("good", "bad"), twins())
def test_good_example_computes_what_the_bad_one_did(good: Case, bad: Case) -> None:
    result = play(good, False)
    assert result.ok, result.report() + "".join(result.outputs.values())
    assert result.values == play(bad, False).values
