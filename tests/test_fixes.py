"""Fixes: `fixes/<form>/<name>.py` becomes what `<name>.diff` says, `no_<name>.py` is left alone.

With FERRULE_UPDATE=1 in the environment the diffs are written instead of compared.
"""

from __future__ import annotations

import importlib.util
import io
import json
import os
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest
from pipeline import project
from support import lint_project

from ferrule_lint.engine import Fixed, fix
from ferrule_lint.findings import Confidence, Edit, Finding, Fix, Safety, Span
from ferrule_lint.fixes.helpers import ANY_RANK, EVERY_RANK, LARGEST
from ferrule_lint.fixes.propose import FORMS
from ferrule_lint.fixes.text import SourceText
from ferrule_lint.fixes.verify import MOST_CHECKS, verified
from ferrule_lint.project.config import load_settings
from ferrule_lint.reporters.patch import unified
from ferrule_lint.rulebook import Rule, load_rules

FOLDER = Path(__file__).parent / "fixes"
FILES = sorted(path for path in FOLDER.glob("*/*.py"))
TWINS = [path for path in FILES if not path.name.startswith("no_")]
EXAMPLES = [
    pytest.param(rule.code, example.source, FOLDER / "pages" / f"{rule.code}-{number}.diff", id=f"{rule.code}-{number}")
    for rule in load_rules().values()
    for number, example in enumerate((one for one in rule.examples if one.kind == "bad"), start=1)
    if rule.code in (*FORMS, "FER002")
]


ALL_FORMS = {form.__module__.rpartition(".")[2] for forms in FORMS.values() for form in forms} | {"remove_suppression"}


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


#: settings without which a form is not seen: another one is preferred, or the finding is a guess
SETTINGS: dict[str, dict[str, Any]] = {
    "hoist": {"fix_preference": "hoist"},
    "leave_finally": {"min_confidence": Confidence.LOW},
}


def fixed(root: Path, files: dict[str, str | bytes], *, unsafe: bool = True, form: str = "") -> Fixed:
    """A project of these files with all fixes applied, in memory; with the settings that show a form."""
    project(root, files)
    settings = replace(load_settings(root), unsafe_fixes=unsafe, **SETTINGS.get(form, {}))
    return fix([root], settings, use_cache=False)


@cache
def after(path: Path) -> Fixed:
    """What becomes of a twin, worked out once for all tests."""
    with TemporaryDirectory() as root:
        return fixed(Path(root), {"before.py": path.read_bytes()}, form=path.parent.name)


def comments(source: bytes) -> Counter[str]:
    tokens = tokenize.tokenize(io.BytesIO(source).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


@pytest.mark.parametrize("path", TWINS, ids=name_of)
def test_becomes_its_fixed_form(path: Path) -> None:
    source, result = path.read_bytes(), after(path)
    forms = {finding.fix.form for finding in result.repair.applied if finding.fix is not None}
    assert forms == {path.parent.name.replace("_", "-")}
    new = result.repair.contents["before.py"]
    assert not result.report.findings
    assert not result.repair.dropped
    diff = unified(f"{path.stem}.py", source, new)
    expected = path.with_suffix(".diff")
    if os.environ.get("FERRULE_UPDATE"):
        expected.write_text(diff, encoding="utf-8")
    assert diff == expected.read_text(encoding="utf-8")
    check_care(source, new)


_SUPPRESSES = re.compile("# (ferrule|noqa):")


def check_care(before: bytes, after: bytes) -> None:
    """What holds of every fix: the result parses, keeps its comments, and has no trailing white space of its own."""
    compile(after, "after.py", "exec")
    said, says = comments(before), comments(after)
    if not any(_SUPPRESSES.search(one) for one in said):
        assert said == says
    old = {line.rstrip() for line in before.decode().split("\n")}
    assert not [line for line in after.decode().split("\n") if line != line.rstrip() and line.rstrip() not in old]


@pytest.mark.parametrize("path", TWINS, ids=name_of)
def test_a_second_run_changes_nothing(path: Path, tmp_path: Path) -> None:
    again = fixed(tmp_path, {"before.py": after(path).repair.contents["before.py"]}, form=path.parent.name)
    assert not again.repair.contents
    assert not again.report.findings


@pytest.mark.parametrize("path", [path for path in FILES if path not in TWINS], ids=name_of)
def test_is_left_alone(path: Path, tmp_path: Path) -> None:
    """There is a finding, and no fix of it that is certain enough to be offered, even as unsafe."""
    result = fixed(tmp_path, {"before.py": path.read_bytes()}, form=path.parent.name)
    if path.parent.name == "hoist":
        # the ranks agree on the condition instead
        forms = {finding.fix.form for finding in result.repair.applied if finding.fix is not None}
        assert forms == {"uniform-predicate"}
        return
    if path.parent.name == "average_number" and result.repair.applied:
        # or on what is decided by it
        forms = {finding.fix.form for finding in result.repair.applied if finding.fix is not None}
        assert forms <= {"uniform-predicate", "reduce-decision"}
        return
    if {finding.fix.form for finding in result.repair.applied if finding.fix is not None} == {"local-group"}:
        return  # the members alone create the group instead
    assert result.report.findings
    assert not result.repair.contents
    assert all(finding.fix is None for finding in result.report.findings)


def test_every_form_has_twins_and_refusals() -> None:
    forms = ALL_FORMS
    assert {path.parent.name for path in TWINS} == forms
    assert len(TWINS) == len(
        [path for path in FOLDER.glob("*/*.diff") if path.parent.name not in ("pages", "examples")]
    )
    refused = {path.parent.name for path in FILES if path not in TWINS}
    assert refused >= forms - {"pad_everywhere"}


@pytest.mark.parametrize(("code", "source", "diff"), EXAMPLES)
def test_examples_of_rule_pages(code: str, source: str, diff: Path, tmp_path: Path) -> None:
    """A bad example has a fixed form if it has a diff: what has none has no fix."""
    result = fixed(tmp_path / "one", {"example.py": source})
    assert not result.report.errors
    assert not result.repair.dropped
    new = result.repair.contents.get("example.py")
    text = "" if new is None else unified("example.py", source.encode(), new)
    if os.environ.get("FERRULE_UPDATE"):
        diff.unlink(missing_ok=True)
        if text:
            diff.write_text(text, encoding="utf-8")
    assert text == (diff.read_text(encoding="utf-8") if diff.exists() else "")
    if new is not None:
        assert not result.report.findings
        check_care(source.encode(), new)
        again = fixed(tmp_path / "two", {"example.py": new})
        assert not again.repair.contents
        assert not again.report.findings


def test_the_documentation_lists_every_form() -> None:
    text = (FOLDER.parent.parent / "docs" / "fixes.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| ([a-z-]+) \| FER", text, re.MULTILINE)) == {one.replace("_", "-") for one in ALL_FORMS}


BUGS = sorted((FOLDER.parent.parent / "examples").glob("*/bug.py"))


@pytest.mark.parametrize("path", BUGS, ids=lambda path: path.parent.name)
def test_bugs_of_the_examples(path: Path, tmp_path: Path) -> None:
    """Each becomes what its diff says; what cannot be fixed has none."""
    result = fixed(tmp_path / "one", {"bug.py": path.read_bytes()})
    new = result.repair.contents.get("bug.py")
    text = "" if new is None else unified("bug.py", path.read_bytes(), new)
    diff = FOLDER / "examples" / f"{path.parent.name}.diff"
    if os.environ.get("FERRULE_UPDATE") and text:
        diff.write_text(text, encoding="utf-8")
    assert text == (diff.read_text(encoding="utf-8") if diff.exists() else "")
    if new is not None:
        assert not result.report.findings
        check_care(path.read_bytes(), new)
        assert not fixed(tmp_path / "two", {"bug.py": new}).repair.contents


@pytest.mark.parametrize("rule", load_rules().values(), ids=load_rules())
def test_pages_say_how_safe_their_fixes_are(rule: Rule, tmp_path: Path) -> None:
    """The front matter has the safest there is."""
    files = {f"e{number}.py": example.source for number, example in enumerate(rule.examples) if example.kind == "bad"}
    project(tmp_path, files)
    findings = lint_project(tmp_path).findings
    best = max((finding.fix.safety for finding in findings if finding.fix is not None), default=None)
    assert rule.fix == ("none" if best is None else best.label)


@pytest.fixture
def torch_double() -> Iterator[Any]:
    """The stand-in for torch, under its name, for one test."""
    before = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "torch"}
    for name in before:
        del sys.modules[name]
    spec = importlib.util.spec_from_file_location("torch", FOLDER.parent / "torch_double.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["torch"] = module
    spec.loader.exec_module(module)
    yield module
    for name in [name for name in sys.modules if name.split(".")[0] == "torch"]:
        del sys.modules[name]
    sys.modules.update(before)


#: pipelines and transfers have more than one rank; modules and accelerate are not among the stand-ins
NOT_RUN = {
    "join_ranks",
    "dummy_input",
    "leave_late",
    "repeat_last_round",
    "run_schedule",
    "stand_in",
    "keep_in_graph",
    "finish_dispatch",
    "narrow_receive",
    "unblock_ring",
    "take_turns",
    "global_rank",
    "group_place",
    "job_rank",
    "widen_guard",
    "pad_across_processes",
}
RUNNABLE = [path for path in TWINS if "def example()" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("initialized", [True, False])
@pytest.mark.parametrize("path", RUNNABLE, ids=name_of)
def test_one_process_computes_the_same(path: Path, initialized: bool, torch_double: Any) -> None:
    """At world size 1, and without a process group as far as the program can do without."""
    torch_double.ready[0] = initialized
    results = []
    for source in (path.read_bytes(), after(path).repair.contents["before.py"]):
        names: dict[str, Any] = {"__name__": "before"}
        exec(compile(source, str(path), "exec", dont_inherit=True), names)
        results.append(names["example"]())
    assert results[0] == results[1]
    assert results[0]


def test_there_are_programs_to_run() -> None:
    assert {path.parent.name for path in RUNNABLE} == ALL_FORMS - NOT_RUN


# ---------------------------------------------------------------------- care

GUARDED = (FOLDER / "lift_guard" / "barrier_at_the_end.py").read_bytes()


@pytest.mark.parametrize(
    ("change", "restore"),
    [
        pytest.param(lambda s: s.replace(b"\n", b"\r\n"), lambda s: s.replace(b"\r\n", b"\n"), id="crlf"),
        pytest.param(lambda s: b"\xef\xbb\xbf" + s, lambda s: s.removeprefix(b"\xef\xbb\xbf"), id="bom"),
        pytest.param(
            lambda s: b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + s,
            lambda s: s.removeprefix(b"# -*- coding: latin-1 -*-\n# caf\xe9\n"),
            id="latin-1",
        ),
        pytest.param(lambda s: s.rstrip(b"\n"), lambda s: s + b"\n", id="no line end at the end"),
        pytest.param(lambda s: s.replace(b"    ", b"\t"), lambda s: s.replace(b"\t", b"    "), id="tabs"),
        pytest.param(lambda s: s + b"\x0c\nx = 1\n", lambda s: s.removesuffix(b"\x0c\nx = 1\n"), id="form feed"),
    ],
)
def test_bytes_outside_the_edits_stay(change: Any, restore: Any, tmp_path: Path) -> None:
    plain = fixed(tmp_path / "plain", {"a.py": GUARDED}).repair.contents["a.py"]
    other = fixed(tmp_path / "other", {"a.py": change(GUARDED)}).repair.contents["a.py"]
    assert restore(other) == plain


def test_a_helper_is_written_once_and_its_name_shadows_nothing(tmp_path: Path) -> None:
    two = (FOLDER / "reduce_decision" / "loss_is_not_finite.py").read_text()
    two = two.replace("def example", "def _any_rank():\n    return 1\n\n\ndef example")
    two += two[two.index("def train") : two.index("def fit")].replace("def train", "def again")
    two += "\n\ndef fit_again(loader: torch.utils.data.DataLoader) -> list[float]:\n"
    two += '    return again([batch["loss"] for batch in loader])\n'
    result = fixed(tmp_path, {"a.py": two})
    new = result.repair.contents["a.py"].decode()
    assert new.count("def _any_rank_2(") == 1
    assert new.count("if _any_rank_2(not torch.isfinite(loss)):") == 2
    assert not result.report.findings


AGREEING = """\
import torch
import torch.distributed as dist


def on_any_rank(wanted, group=None):
    if not dist.is_initialized():
        return wanted
    vote = torch.tensor(int(wanted))
    dist.all_reduce(vote, op=dist.ReduceOp.MAX, group=group)
    return bool(vote.item())
"""


@pytest.mark.parametrize(
    ("change", "used"),
    [
        pytest.param(("", ""), True, id="as it is"),
        pytest.param(("ReduceOp.MAX", "ReduceOp.MIN"), False, id="of all"),
        pytest.param(("group=group", "group=TP"), False, id="a group of its own"),
        pytest.param(("bool(vote.item())", "vote.item() / 2"), False, id="a number"),
        pytest.param(("wanted, group", "wanted, other, group"), False, id="two parameters"),
        pytest.param(("    return bool", "    dist.barrier()\n    return bool"), False, id="a barrier besides"),
    ],
)
@pytest.mark.parametrize(
    "line", ["from .agree import on_any_rank as agreed", "from own.agree import on_any_rank as agreed"]
)
def test_a_function_of_the_project_is_called(line: str, change: tuple[str, str], used: bool, tmp_path: Path) -> None:
    """Instead of a helper, if it does what the helper would; the analysis verifies that its result is the same."""
    source = (FOLDER / "reduce_decision" / "loss_is_not_finite.py").read_text()
    source = source.replace("import torch\n", f"import torch\n\n{line}\n", 1)
    other = AGREEING.replace(*change) if change[0] else AGREEING
    result = fixed(tmp_path, {"own/a.py": source, "own/__init__.py": "", "own/agree.py": other})
    new = result.repair.contents["own/a.py"].decode()
    assert ("if agreed(not torch.isfinite(loss)):" in new) is used
    assert ("def _any_rank(" in new) is not used
    assert not result.report.findings


def test_an_import_goes_where_imports_live(tmp_path: Path) -> None:
    source = (
        '"""Docs."""\n\nfrom __future__ import annotations\n\nimport time\nfrom typing import TYPE_CHECKING\n\n'
        "from torch.distributed import barrier\n\nif TYPE_CHECKING:\n    import torch\n\n\n"
        "def train(steps: int, deadline: float) -> None:\n    for _ in range(steps):\n"
        "        if time.time() > deadline:\n            break\n        barrier()\n"
    )
    new = fixed(tmp_path, {"a.py": source}).repair.contents["a.py"].decode()
    assert "import TYPE_CHECKING\n\nimport torch\nfrom torch.distributed import barrier\n" in new
    assert "        if _any_rank(time.time() > deadline):\n" in new


@pytest.mark.parametrize(
    ("imports", "torch", "dist"),
    [
        (
            "try:\n    import torch\n    import torch.distributed as dist\nexcept ImportError:\n    pass",
            "torch",
            "dist",
        ),
        ("from own import ready\n\nif ready():\n    from torch import distributed as dist, tensor", "torch", "dist"),
        ("import torch.nn as nn\nimport torch.distributed as dist", "torch", "dist"),
    ],
)
def test_an_import_that_may_not_happen_is_not_made_to(imports: str, torch: str, dist: str, tmp_path: Path) -> None:
    """What is imported under a top-level `if` or `try` is called as it is there, and not imported anew."""
    source = (
        f"import time\n\n{imports}\n\n\ndef train(steps: int, deadline: float) -> None:\n    for _ in range(steps):\n"
        "        if time.time() > deadline:\n            break\n"
        f"        {dist}.barrier()\n"
    )
    new = fixed(tmp_path, {"a.py": source}).repair.contents["a.py"].decode()
    assert f"        agreed = {torch}.tensor(values, device=device)\n        {dist}.all_reduce(agreed" in new
    assert ("\nimport torch\n" in new) is ("import torch\n" not in imports)


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        ("cpu:gloo,cuda:gloo", "cpu"),
        ("cuda:nccl", "cuda"),
        ("cpu:gloo,cuda:nccl", "cpu"),
        ("cuda:nccl,cpu:gloo", "cpu"),
        ("npu:hccl", "npu"),
    ],
)
def test_helpers_reduce_where_the_group_can(devices: str, expected: str) -> None:
    """What `get_backend_config` says of a group, also if it was told no backend: NCCL reduces nothing on the CPU."""
    used: list[str] = []

    def tensor(values: list[int], device: str) -> Any:
        used.append(device)
        return SimpleNamespace(tolist=lambda: values)

    dist = SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: True,
        get_backend_config=lambda group: devices,
        all_reduce=lambda tensor, op, group: None,
        ReduceOp=SimpleNamespace(MAX="max", MIN="min"),
    )
    names: dict[str, Any] = {"torch": SimpleNamespace(tensor=tensor), "dist": dist}
    for template in (ANY_RANK, EVERY_RANK, LARGEST):
        exec(template.format(name="agree", torch="torch", dist="dist"), names)
        assert names["agree"](1) == 1
    assert used == [expected] * 3


@pytest.mark.parametrize(
    ("twin", "safety"),
    [
        ("agree_after_loop/parameters", Safety.SAFE),
        ("agree_after_loop/waiting", Safety.SAFE),
        ("reduce_decision/in_each_round", Safety.UNSAFE),  # one reduction for each parameter
        ("gather_uneven/number_of_each", Safety.UNSAFE),  # the list may be read in another way
        ("uniform_predicate/clock_of_a_job", Safety.SAFE),
    ],
)
def test_how_safe_a_fix_is(twin: str, safety: Safety) -> None:
    (finding,) = after(FOLDER / f"{twin}.py").repair.applied
    assert finding.fix is not None and finding.fix.safety == safety


def test_only_safe_fixes_unless_asked(tmp_path: Path) -> None:
    source = (FOLDER / "reduce_decision" / "nothing_selected.py").read_bytes()
    result = fixed(tmp_path, {"a.py": source}, unsafe=False)
    assert not result.repair.contents
    (finding,) = result.report.findings
    assert finding.fix is not None and finding.fix.safety == Safety.UNSAFE
    assert "assumes that" in finding.fix.message


@pytest.mark.parametrize(
    ("preference", "forms"), [("agree", {"uniform-predicate"}), ("hoist", {"hoist"}), ("", {"uniform-predicate"})]
)
def test_a_setting_chooses_between_forms(preference: str, forms: set[str], tmp_path: Path) -> None:
    source = (FOLDER / "hoist" / "also_run_above.py").read_bytes()
    settings = f"[tool.ferrule-lint]\nunsafe-fixes = true\n{preference and 'fix-preference = ' + repr(preference)}\n"
    project(tmp_path, {"a.py": source, "pyproject.toml": settings})
    result = fix([tmp_path], load_settings(tmp_path), use_cache=False)
    assert {finding.fix.form for finding in result.repair.applied if finding.fix is not None} == forms
    assert not result.report.findings


def test_another_finding_at_the_same_call_is_not_new(tmp_path: Path) -> None:
    """A fix changes the text of a call, and so the fingerprint of whatever else is found there."""
    source = (
        "import torch\nimport torch.distributed as dist\n\n\n"
        "def share(text: str, src: int, group: dist.ProcessGroup) -> torch.Tensor:\n"
        "    rank = dist.get_rank(group)\n    length = torch.empty(1, dtype=torch.int)\n    if rank == src:\n"
        "        length = torch.tensor(len(text), dtype=torch.int)\n"
        "    dist.broadcast(length, src=src, group=group)\n    return length\n"
    )
    result = fixed(tmp_path, {"a.py": source})
    assert [finding.code for finding in result.repair.applied] == ["FER402"]
    assert [finding.code for finding in result.report.findings] == ["FER201"]
    assert not result.repair.dropped


def test_suppressed_findings_are_not_fixed(tmp_path: Path) -> None:
    source = GUARDED.replace(b"dist.barrier()\n", b"dist.barrier()  # ferrule: ignore[FER102] one rank only\n")
    result = fixed(tmp_path, {"a.py": source})
    assert len(result.report.suppressed) == 1
    assert not result.repair.contents


def test_notebooks_are_not_fixed(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": GUARDED.decode()}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    project(tmp_path, {"a.ipynb": json.dumps(notebook)})
    result = fix([tmp_path / "a.ipynb"], replace(load_settings(tmp_path), unsafe_fixes=True), use_cache=False)
    assert result.report.findings
    assert not result.repair.contents


SHOWN = """\
import torch
import torch.distributed as dist
from torch.utils.data import DataLoader


class NothingToLearn(ValueError):
    pass


def loss_of(batch: dict[str, torch.Tensor]) -> torch.Tensor:
    if batch["mask"].sum().item() == 0:
        raise NothingToLearn("every label is masked")
    return (batch["x"] * batch["mask"]).sum()


def train(loader: DataLoader, weights: list[torch.Tensor]) -> None:
    for batch in loader:
        try:
            loss_of(batch).backward()
        except NothingToLearn:
            continue
        for weight in weights:
            dist.all_reduce(weight.grad)
"""


@pytest.mark.parametrize("settings", ["", 'extend-safe-fixes = ["FER105"]'])
def test_a_fix_that_is_only_shown_is_never_applied(settings: str, tmp_path: Path) -> None:
    """What the other ranks have done by then would have to be undone by hand."""
    project(tmp_path, {"a.py": SHOWN, "pyproject.toml": f"[tool.ferrule-lint]\nunsafe-fixes = true\n{settings}\n"})
    result = fix([tmp_path], load_settings(tmp_path), use_cache=False)
    assert not result.repair.contents
    (finding,) = result.report.findings
    assert finding.fix is not None and finding.fix.safety == Safety.SHOWN
    assert "what `backward` did on the other ranks has to be undone there by hand" in finding.fix.message


@pytest.mark.parametrize(
    ("settings", "applied"),
    [
        ('extend-safe-fixes = ["FER103"]', True),
        ('extend-safe-fixes = ["FER1"]\nextend-unsafe-fixes = ["FER103"]', False),
        ("unsafe-fixes = true", True),
        ("", False),
    ],
)
def test_settings_say_what_is_safe(settings: str, applied: bool, tmp_path: Path) -> None:
    source = (FOLDER / "reduce_decision" / "nothing_selected.py").read_bytes()
    project(tmp_path, {"a.py": source, "pyproject.toml": f"[tool.ferrule-lint]\n{settings}\n"})
    assert bool(fix([tmp_path], load_settings(tmp_path), use_cache=False).repair.contents) is applied


def test_ignored_findings_are_not_fixed(tmp_path: Path) -> None:
    project(tmp_path, {"a.py": GUARDED, "pyproject.toml": '[tool.ferrule-lint]\nignore = ["FER102"]\n'})
    assert not fix([tmp_path], load_settings(tmp_path), use_cache=False).repair.contents


def test_edits_are_ranges_of_the_file_as_it_is(tmp_path: Path) -> None:
    project(tmp_path, {"a.py": GUARDED})
    (finding,) = lint_project(tmp_path).findings
    assert finding.fix is not None
    assert SourceText(GUARDED).edited(finding.fix.edits) == fixed(tmp_path, {"a.py": GUARDED}).repair.contents["a.py"]


def test_a_bad_fix_among_many_is_looked_for_by_halves() -> None:
    """Each line is a finding; what writes `not` for one leaves it there."""
    source = "".join(f"bad{number}\n" for number in range(12))

    def finding(number: int, text: str) -> Finding:
        span = Span(number + 1, 1, number + 1, len(f"bad{number}") + 1)
        fix = Fix("form", "", Safety.SAFE, (Edit(span, text),))
        return Finding("FER102", "", "error", Confidence.HIGH, "", "a.py", span, fix=fix, anchor_text=f"bad{number}")

    def offered(wrong: int) -> tuple[int, list[str]]:
        findings = [finding(number, f"bad{number}  #" if number == wrong else "pass") for number in range(12)]
        runs = []

        def recheck(contents: Mapping[str, bytes]) -> list[Finding]:
            runs.append(contents)
            lines = contents["a.py"].decode().splitlines()
            return [one for one, line in zip(findings, lines, strict=True) if line.startswith("bad")]

        kept, dropped = verified(findings, lambda path: source.encode(), recheck)
        assert len(runs) <= MOST_CHECKS
        return sum(one.fix is not None for one in kept), [f"{one.finding.anchor_text}: {one.reason}" for one in dropped]

    for wrong in range(12):
        assert offered(wrong) == (11, [f"bad{wrong}: the finding would still be there"])
    assert offered(-1) == (12, [])


def test_a_comment_that_one_fix_takes_out_does_not_stop_the_others(tmp_path: Path) -> None:
    functions = "".join(
        f"\n\ndef save{number}(model, path):\n    if dist.get_rank() == 0:\n"
        "        torch.save(model, path)\n        dist.barrier()\n"
        for number in range(8)
    )
    unused = "import torch\nimport torch.distributed as dist\n\nWIDTH = 4  # ferrule: ignore[FER102]\n"
    result = fixed(tmp_path, {"a.py": (unused + functions).encode()})
    assert Counter(finding.code for finding in result.repair.applied) == {"FER002": 1, "FER102": 8}
    assert not result.repair.dropped
    assert b"ferrule" not in result.repair.contents["a.py"]
