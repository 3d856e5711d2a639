"""One process computes the same before and after a fix: each fixable example of the rule pages, executed both ways."""

from __future__ import annotations

import functools
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))

from proof.doubles import load
from test_proof import PLAYED, Case

from ferrule_lint.engine import fix
from ferrule_lint.harness import run
from ferrule_lint.harness.result import Result
from ferrule_lint.project.config import load_settings

#: the rule, example or entry point of what has no meaning with one rank: pipelines, transfers, groups, meshes of two
NEEDS_MORE = ("FER301", "FER303", "FER401", "FER402", "Exporter", "examples:pipeline_stage_broadcast")


@functools.cache
def fixed(case: Case) -> str | None:
    """The example with all fixes applied; None if there is none."""
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "pyproject.toml").touch()
        (root / "example.py").write_text(case.source, encoding="utf-8")
        result = fix([root], replace(load_settings(root), unsafe_fixes=True), use_cache=False)
    new = result.repair.contents.get("example.py")
    return None if new is None else new.decode()


def played(case: Case, source: str) -> Result:
    scene = case.scene
    assert scene is not None
    return run(lambda: scene.play(load(source, "example"), False), ranks=1, timeout=60, flow=False)


FIXABLE = [
    case
    for case in PLAYED
    if case.kind == "bad" and not {case.where, *case.entries} & set(NEEDS_MORE) and fixed(case) is not None
]


@pytest.mark.parametrize("case", FIXABLE, ids=str)
def test_one_process_computes_the_same(case: Case) -> None:
    after = fixed(case)
    assert after is not None
    before, now = played(case, case.source), played(case, after)
    assert (now.ok, now.values) == (before.ok, before.values), now.report() + "".join(now.outputs.values())
    assert before.ok, before.report() + "".join(before.outputs.values())
