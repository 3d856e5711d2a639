"""What is kept file by file: after an edit a warm run says what a cold one does, and looks at no more than it must."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pipeline import project

from ferrule_lint import engine
from ferrule_lint.checks import run as checks
from ferrule_lint.checks.run import check
from ferrule_lint.engine import run as whole_run
from ferrule_lint.engine import showing
from ferrule_lint.findings import Confidence, Report
from ferrule_lint.frontend.lower import extract
from ferrule_lint.models.loader import load_models
from ferrule_lint.project.config import load_settings
from ferrule_lint.semantics.project.entities import ModuleInfo
from ferrule_lint.semantics.project.hierarchy import MOST_HEIRS

BASE = """\
import torch.distributed as dist

class Base:
    def save(self):
        self.write()

    def write(self):
        pass
"""
MEETING = BASE.replace("pass", "dist.barrier()")
FILES = {
    "pkg/__init__.py": "",
    "pkg/base.py": BASE,
    "pkg/middle.py": "from pkg.base import Base\n\nclass Middle(Base):\n    pass\n",
    "pkg/leaf.py": (
        "import torch.distributed as dist\nfrom pkg.middle import Middle\n\n"
        "class Leaf(Middle):\n    def write(self):\n        dist.all_reduce(self.x)\n"
    ),
    "pkg/settings.py": "MAIN = 0\n",
    "pkg/train.py": (
        "import torch.distributed as dist\nfrom pkg.leaf import Leaf\nfrom pkg.settings import MAIN\n\n"
        "def step(leaf: Leaf):\n    if dist.get_rank() == MAIN:\n        leaf.save()\n"
    ),
    "pkg/alone.py": "import torch.distributed as dist\n\ndef wait():\n    dist.barrier()\n",
    "pkg/manager.py": "class TheManager:\n    def finish(self):\n        pass\n",
    "pkg/user.py": (
        "import torch.distributed as dist\n\ndef end(the_manager):\n"
        "    if dist.get_rank() == 0:\n        the_manager.finish()\n"
    ),
}
#: the same, so that what it needs has been worked out for another file before
FILES["pkg/train_more.py"] = FILES["pkg/train.py"].replace("def step", "def step_more")
#: a method that is inherited and means something else for subclasses, wherever they are
TEMPLATE = BASE.replace("self.write()", "if dist.get_rank() == 0:\n            self.write()")
SUBCLASS = (
    "import torch.distributed as dist\nfrom pkg.template import Base\n\n"
    "class Sub(Base):\n    def write(self):\n        dist.barrier()\n"
)
FILES["pkg/template.py"] = TEMPLATE
#: chains of calls and of attributes, of which each user sees the end only
LAST = "import torch.distributed as dist\n\ndef act():\n    dist.barrier()\n\ndef rank():\n    return dist.get_rank()\n"
CHAINS = {
    "pkg/chain_a.py": "from pkg.chain_b import go\n\ndef run():\n    go()\n",
    "pkg/chain_b.py": "from pkg.chain_c import act\n\ndef go():\n    act()\n",
    "pkg/chain_c.py": LAST,
    "pkg/state.py": (
        "from pkg.chain_c import rank\n\nclass State:\n    def __init__(self):\n        self.main = rank() == 0\n"
    ),
    **{
        f"pkg/use_{name}.py": "import torch.distributed as dist\n"
        "from pkg.chain_a import run\nfrom pkg.state import State\n\n"
        f"def {name}():\n    if dist.get_rank() == 0:\n        run()\n\n"
        f"def {name}_more(state: State):\n    if state.main:\n        dist.barrier()\n"
        for name in ("one", "two")
    },
}
FINISHING = "import torch.distributed as dist\n\nclass TheManager:\n    def finish(self):\n        dist.barrier()\n"


@pytest.fixture(autouse=True)
def for_any_number_of_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_run, "WORTHWHILE", 1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path, FILES)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are checked."""
    seen: list[str] = []
    file = checks._file

    def note(analysis: object, module: ModuleInfo, errors: list[object]) -> object:
        seen.append(module.path)
        return file(analysis, module, errors)  # type: ignore[arg-type]

    monkeypatch.setattr(checks, "_file", note)
    return seen


def lint(root: Path, *, use_cache: bool = True) -> Report:
    settings = dataclasses.replace(load_settings(root), min_confidence=Confidence.LOW)
    report = engine.lint([root], settings, use_cache=use_cache)
    statistics = {k: v for k, v in report.statistics.items() if k not in ("cache_hits", "results_cached")}
    return dataclasses.replace(report, seconds=0.0, statistics=statistics)


def write(root: Path, name: str, text: str) -> None:
    (root / "pkg" / name).write_text(text)


def test_only_what_an_edit_concerns_is_checked_again(root: Path, checked: list[str]) -> None:
    first = lint(root)
    assert [(finding.code, finding.path) for finding in first.findings] == [
        ("FER102", "pkg/train.py"),
        ("FER102", "pkg/train_more.py"),
    ]
    assert sorted(checked) == sorted(FILES)
    checked.clear()
    write(root, "alone.py", FILES["pkg/alone.py"] + "    dist.barrier()\n")
    assert lint(root).findings == first.findings
    assert checked == ["pkg/alone.py"]


def heirs(number: int) -> str:
    """Further classes that inherit from `Base`, beside the two that do."""
    return "from pkg.base import Base\n" + "".join(f"class Heir{i}(Base):\n    pass\n" for i in range(number))


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("base.py", MEETING, 2),
        ("leaf.py", FILES["pkg/leaf.py"].replace("dist.all_reduce(self.x)", "pass"), 0),
        ("leaf.py", FILES["pkg/leaf.py"].replace("(Middle)", ""), 0),
        ("middle.py", FILES["pkg/middle.py"].replace("pass", "def save(self):\n        pass"), 0),
        ("settings.py", "import torch.distributed as dist\nMAIN = dist.get_rank()\n", 0),
        ("manager.py", FINISHING, 3),
        ("new.py", SUBCLASS, 3),
        ("heirs.py", heirs(MOST_HEIRS - 2), 2),
        ("heirs.py", heirs(MOST_HEIRS), 0),
    ],
)
def test_what_an_edit_concerns_is_checked_again(root: Path, name: str, text: str, found: int) -> None:
    lint(root)
    write(root, name, text)
    warm = lint(root)
    assert warm == lint(root, use_cache=False)
    assert len(warm.findings) == found or name == "settings.py"


MODEL = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor):
        return self.layer(x) if x.any() else x
"""
WRAPS = """
from torch.distributed.fsdp import fully_shard
from pkg.model import Model

model = fully_shard(Model())
"""


def test_the_place_that_shards_a_module_moves(tmp_path: Path) -> None:
    root = project(tmp_path, {"pkg/__init__.py": "", "pkg/model.py": MODEL, "pkg/wraps.py": WRAPS})
    (before,) = lint(root).findings
    write(root, "wraps.py", "\n\n" + WRAPS)
    (after,) = lint(root).findings
    assert [(s.path, s.line) for s in (before.witness[-2], after.witness[-2])] == [
        ("pkg/wraps.py", 5),
        ("pkg/wraps.py", 7),
    ]


@pytest.mark.parametrize(
    ("before", "after", "found"), [("dist.barrier()", "pass", 2), ("return dist.get_rank()", "return 0", 2)]
)
def test_what_was_worked_out_for_others_concerns_who_uses_it(
    tmp_path: Path, before: str, after: str, found: int
) -> None:
    root = project(tmp_path, CHAINS)
    assert len(lint(root).findings) == 4
    write(root, "chain_c.py", LAST.replace(before, after))
    warm = lint(root)
    assert len(warm.findings) == found
    assert warm == lint(root, use_cache=False)


@pytest.mark.parametrize("files", [FILES, CHAINS], ids=["classes", "chains"])
def test_what_a_file_depends_on_does_not_depend_on_who_came_before(files: dict[str, str]) -> None:
    """What others have worked out counts as read by whoever uses it."""
    facts = {path: extract(text.encode()) for path, text in files.items()}
    together = {result.path: set(result.inputs) for result in check(facts, list(facts), load_models()).files}
    for path in facts:
        (alone,) = check(facts, [path], load_models()).files
        assert set(alone.inputs) <= together[path]


def test_a_body_that_nobody_reads_concerns_nobody(root: Path, checked: list[str]) -> None:
    """`train.py` looks `save` up in the file, and never at what stands below it."""
    write(root, "base.py", BASE + "\ndef other():\n    pass\n")
    write(root, "train.py", FILES["pkg/train.py"].replace("leaf.save()", "print(Leaf)"))
    lint(root)
    checked.clear()
    write(root, "base.py", BASE + "\ndef other():\n    return 1\n")
    lint(root)
    assert "pkg/train.py" not in checked
    assert "pkg/base.py" in checked


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            "import torch.distributed as dist\n\ndef step(x):\n"
            "    if dist.get_rank() == 0:\n        print(x)\n        dist.barrier()\n",
            id="without a helper",
        ),
        # whose code asks what nobody has asked in checking
        pytest.param(
            "import os\nimport torch.distributed as dist\n\ndef step(path, x):\n"
            "    if not os.path.exists(path):\n        return None\n    dist.all_reduce(x)\n    return x\n",
            id="with a helper",
        ),
    ],
)
def test_what_is_shown_comes_back_with_its_fix(root: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, "train.py", text)
    first = lint(root)
    assert first.findings[0].fix is not None
    write(root, "alone.py", "x = 1\n")
    with monkeypatch.context() as without:
        without.setattr(showing, "recheck", None)
        assert lint(root).findings == first.findings
    # other settings may want another fix
    (root / "pyproject.toml").write_text('[tool.ferrule-lint]\nignore = ["FER105"]\n')
    assert lint(root) == lint(root, use_cache=False)


def test_a_part_of_the_project_leaves_the_rest_in_memory(root: Path, checked: list[str]) -> None:
    lint(root)
    settings = load_settings(root)
    write(root, "alone.py", "x = 1\n")
    engine.lint([root / "pkg/alone.py", root / "pkg/settings.py"], settings)
    checked.clear()
    write(root, "alone.py", "x = 2\n")
    lint(root)
    assert checked == ["pkg/alone.py"]


def test_evidence_of_the_whole_project_concerns_all(root: Path, checked: list[str]) -> None:
    lint(root)
    checked.clear()
    write(
        root,
        "alone.py",
        "import torch\nfrom torch.distributed.fsdp import fully_shard\n"
        "def build():\n    model = torch.nn.Linear(1, 1)\n    fully_shard(model)\n",
    )
    warm = lint(root)
    assert "pkg/user.py" in checked
    assert warm == lint(root, use_cache=False)


def _rename(root: Path, old: str, new: str) -> None:
    if (root / "pkg" / old).exists():
        (root / "pkg" / old).rename(root / "pkg" / new)


def _toggle(name: str, *texts: str) -> Callable[[Path, random.Random], object]:
    return lambda root, pick: write(root, name, pick.choice([FILES.get(f"pkg/{name}", "x = 1\n"), *texts]))


EDITS: tuple[Callable[[Path, random.Random], object], ...] = (
    _toggle("base.py", MEETING, "def save(:\n", BASE.replace("self.write()", "return self.write()")),
    _toggle("middle.py", FILES["pkg/middle.py"].replace("(Base)", ""), "from pkg.base import Base as Middle\n"),
    _toggle("leaf.py", FILES["pkg/leaf.py"].replace("dist.all_reduce(self.x)", "pass")),
    _toggle("settings.py", "MAIN = 1\n", "from pkg.alone import MAIN\n"),
    _toggle("alone.py", "MAIN = 2\n", "class Other:\n    def finish(self):\n        pass\n"),
    _toggle("manager.py", FINISHING, FINISHING.replace("TheManager", "AManager")),
    _toggle("train.py", FILES["pkg/train.py"].replace("if", "# ferrule: ignore-file\n    if")),
    _toggle("more.py", FINISHING, MEETING, SUBCLASS),
    lambda root, pick: _rename(root, "base.py", "moved.py"),
    lambda root, pick: _rename(root, "moved.py", "base.py"),
    lambda root, pick: (root / "pkg/more.py").unlink(missing_ok=True),
    lambda root, pick: write(root, "user.py", FILES["pkg/user.py"] + "\n" * pick.randrange(3)),
)


@pytest.mark.parametrize("seed", range(8))
def test_warm_is_cold_after_any_edits(root: Path, seed: int) -> None:
    pick = random.Random(seed)
    seen = set()
    for _ in range(12):
        for _ in range(pick.choice((1, 1, 3))):
            pick.choice(EDITS)(root, pick)
        expected = lint(root, use_cache=False)
        assert lint(root) == expected
        seen.add(expected.findings)
    assert len(seen) > 1
