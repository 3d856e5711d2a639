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
from ferrule_lint.checks.known import Remembered
from ferrule_lint.checks.remembered import Answers
from ferrule_lint.checks.run import check
from ferrule_lint.engine import run as whole_run
from ferrule_lint.engine import showing
from ferrule_lint.findings import Confidence, Report
from ferrule_lint.frontend.lower import extract
from ferrule_lint.models.loader import load_models
from ferrule_lint.project.config import load_settings
from ferrule_lint.project.results import ResultsCache, key_of_project
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.hierarchy import MOST_HEIRS
from ferrule_lint.semantics.project.reads import Input

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
    monkeypatch.setattr(whole_run, "MANY", 1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path, FILES)


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are checked."""
    seen: list[str] = []
    parts = checks._parts

    def note(analysis: Analysis, module: ModuleInfo) -> object:
        seen.append(module.path)
        return parts(analysis, module)

    monkeypatch.setattr(checks, "_parts", note)
    return seen


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The functions that are checked, and the files whose top level is, which has no name."""
    seen: list[str] = []
    function, top_level = checks._function, checks._top_level

    def note(analysis: Analysis, info: FunctionInfo) -> object:
        seen.append(info.qualname)
        return function(analysis, info)

    def note_top_level(analysis: Analysis, module: ModuleInfo) -> object:
        seen.append(f"{module.path}:")
        return top_level(analysis, module)

    monkeypatch.setattr(checks, "_function", note)
    monkeypatch.setattr(checks, "_top_level", note_top_level)
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


SEVERAL = """\
import torch.distributed as dist
from pkg.leaf import Leaf

def say(x):
    print(x)

def meet():
    dist.barrier()

def end(x):
    meet()
    say(x)

def lead(leaf: Leaf):
    if dist.get_rank() == 0:
        leaf.save()
"""


def test_of_a_file_only_what_an_edit_concerns_is_checked_again(root: Path, functions: list[str]) -> None:
    """Where there are findings they are looked for again: what is kept of a function is that it has none."""
    write(root, "several.py", SEVERAL)
    lint(root)
    assert {"say", "meet", "end", "lead", "pkg/several.py:"} <= set(functions)
    for edited, again in (
        (SEVERAL.replace("    dist.barrier()", "    y = 1\n    dist.barrier()"), ["meet", "lead"]),
        (SEVERAL.replace("    dist.barrier()", "    pass"), ["meet", "end", "lead"]),
        (SEVERAL.replace("print(x)", "y = x"), ["say", "meet", "end", "lead"]),
        (SEVERAL.replace("print(x)", "y = x") + "\nsay(1)\n", ["lead", "pkg/several.py:"]),
    ):
        functions.clear()
        write(root, "several.py", edited)
        warm = lint(root)
        assert functions == again
        assert warm == lint(root, use_cache=False)


USES = """\
import torch.distributed as dist
from pkg import tools
{imports}

def lead():
    if dist.get_rank() == 0:
        {call}
"""
TOOLS = """\
import torch.distributed as dist

def say(x):
    print(x)
"""
ADDED = "\ndef meet():\n    dist.barrier()\n\ndef lone():\n    if dist.get_rank() == 0:\n        meet()\n"


@pytest.mark.parametrize("text", [TOOLS + ADDED, ADDED.join(TOOLS.split("\n\n", 1))], ids=["below", "above"])
def test_a_function_nobody_speaks_of_concerns_its_file_alone(tmp_path: Path, checked: list[str], text: str) -> None:
    uses = USES.format(imports="from pkg.tools import say", call="say(tools.say)")
    root = project(tmp_path, {"pkg/__init__.py": "", "pkg/uses.py": uses, "pkg/tools.py": TOOLS})
    assert lint(root).findings == ()
    checked.clear()
    write(root, "tools.py", text)
    warm = lint(root)
    assert checked == ["pkg/tools.py"]
    assert [f.code for f in warm.findings] == ["FER102"]
    assert warm == lint(root, use_cache=False)


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("", "tools.meet()"),
        ("from pkg.tools import meet", "meet()"),
        ("from pkg.tools import meet as agree", "agree()"),
        ("from pkg.tools import *", "meet()"),
        ("", 'getattr(tools, "meet")()'),
    ],
)
def test_a_function_that_others_have_looked_for_concerns_them(tmp_path: Path, imports: str, call: str) -> None:
    uses = USES.format(imports=imports, call=call)
    root = project(tmp_path, {"pkg/__init__.py": "", "pkg/uses.py": uses, "pkg/tools.py": TOOLS})
    assert lint(root).findings == ()
    write(root, "tools.py", TOOLS + "\ndef meet():\n    dist.barrier()\n")
    warm = lint(root)
    assert [f.path for f in warm.findings] == ["pkg/uses.py"]
    assert warm == lint(root, use_cache=False)


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


LAYERS = "from torch import nn\n" + "".join(
    f"\nclass {name}(nn.Module):\n    def __init__(self):\n        self.extra = nn.Linear(8, 8)\n\n"
    "    def forward(self, x, mask):\n        if mask.any():\n            x = self.extra(x)\n        return x\n"
    for name in ("Model", "Teacher")
)
SHARD = "from torch.distributed.fsdp import fully_shard\n\ndef shard(it):\n    fully_shard(it)\n"
BUILD = (
    "from pkg import layers\nfrom pkg.parallel import shard\n\ndef build():\n    it = layers.Model()\n    shard(it)\n"
)


def test_the_caller_hands_another_module_to_what_shards_it(tmp_path: Path) -> None:
    files = {"layers": LAYERS, "parallel": SHARD, "build": BUILD}
    root = project(tmp_path, {"pkg/__init__.py": "", **{f"pkg/{name}.py": text for name, text in files.items()}})
    before = lint(root)
    write(root, "build.py", BUILD.replace("Model", "Teacher"))
    warm = lint(root)
    sure = [[f.function for f in r.findings if f.confidence > Confidence.LOW] for r in (before, warm)]
    assert sure == [["pkg.layers.Model.forward"], ["pkg.layers.Teacher.forward"]]
    assert warm == lint(root, use_cache=False)


ITEMS = (
    "from torch import nn\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n\n"
    "class Parts(nn.Module):\n    def __init__(self, n):\n        self.one = nn.ModuleList()\n"
    "        self.other = nn.ModuleList()\n        self.one.append(FSDP(nn.Linear(8, 8)))\n"
)
PARTS = (
    "from pkg.items import Parts\n\nclass Net(Parts):\n    def forward(self, x, attention_mask):\n"
    "        for layer in self.one:\n            if attention_mask.any():\n                x = layer(x)\n"
    "        return x\n"
)


def test_the_list_that_sharded_modules_are_put_in(tmp_path: Path) -> None:
    root = project(tmp_path, {"pkg/__init__.py": "", "pkg/items.py": ITEMS, "pkg/net.py": PARTS})
    counts: list[int] = []
    for attribute in ("one", "other", "one"):
        write(root, "items.py", ITEMS.replace("self.one.append", f"self.{attribute}.append"))
        warm = lint(root)
        counts.append(len([f for f in warm.findings if f.confidence > Confidence.LOW]))
        assert warm == lint(root, use_cache=False)
    assert counts == [1, 0, 1]


PENDING = (
    "import torch.distributed as dist\n\nclass Pending:\n    def __init__(self):\n        self.kept = set()\n\n"
    "    def send(self, weights):\n        for name in self.kept:\n            dist.broadcast(weights[name], 0)\n"
)
ADDS = (
    "from pkg.pending import Pending\n\nclass Added(Pending):\n    def __init__(self):\n        super().__init__()\n"
    "        self.kept = set()\n\n    def add(self, names, ids):\n        self.kept.update(names)\n\n"
    "    def all(self, weights):\n        for name in self.kept:\n            dist.broadcast(weights[name], 0)\n"
)


def test_what_another_method_puts_into_a_set(tmp_path: Path) -> None:
    adds = "import torch.distributed as dist\n" + ADDS
    root = project(tmp_path, {"pkg/__init__.py": "", "pkg/pending.py": PENDING, "pkg/adds.py": adds})
    counts: list[int] = []
    for items in ("names", "ids", "names"):
        write(root, "adds.py", adds.replace("update(names)", f"update({items})"))
        warm = lint(root)
        counts.append(len([f for f in warm.findings if f.path == "pkg/adds.py"]))
        assert warm == lint(root, use_cache=False)
    assert counts == [1, 0, 1]


SHARE = "import torch.distributed as dist\n\ndef share(x, group=None):\n    dist.broadcast(x, 0, group=group)\n"
MESH = (
    "from torch.distributed.device_mesh import init_device_mesh\nfrom pkg.share import share\n\n"
    'MESH = init_device_mesh("cuda", (4, 2), mesh_dim_names=("dp", "tp"))\n\n'
)


def test_the_caller_hands_over_another_group(tmp_path: Path) -> None:
    root = project(tmp_path, {"pkg/__init__.py": "", "pkg/share.py": SHARE})
    counts: list[int] = []
    for given in ("None", 'MESH.get_group("tp")', "None"):
        write(root, "run.py", f"{MESH}def run(x):\n    share(x, group={given})\n")
        warm = lint(root)
        counts.append(len(warm.findings))
        assert warm == lint(root, use_cache=False)
    assert counts == [0, 1, 0]


COUNT = (
    "import torch.distributed as dist\n\ndef count(loader, failed):\n    for batch in loader:\n"
    "        if batch['mask'].any():\n            failed += 1\n    if failed > 3:\n        dist.barrier()\n"
)
RUN = "from pkg.helper import count\n\ndef run(loader, known):\n    failed = 0\n    count(loader, failed)\n"
ALONE = (
    "import torch.distributed as dist\n\ndef evaluate(net, x):\n    if dist.get_rank() == 0:\n        print(net(x))\n"
)
TRAIN = (
    "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\nfrom pkg.helper import evaluate\n\n"
    "def run(build, x):\n    net = FSDP(build())\n    evaluate(net, x)\n"
)


@pytest.mark.parametrize(
    ("helper", "run", "by", "other"), [(COUNT, RUN, "0", "known"), (ALONE, TRAIN, "FSDP(build())", "build()")]
)
def test_the_caller_hands_over_something_else(tmp_path: Path, helper: str, run: str, by: str, other: str) -> None:
    root = project(tmp_path, {"pkg/__init__.py": "", "pkg/helper.py": helper, "pkg/run.py": run})
    before = lint(root)
    write(root, "run.py", run.replace(by, other))
    after = lint(root)
    write(root, "run.py", run)
    again = lint(root)
    sure = [[f for f in r.findings if f.confidence > Confidence.LOW] for r in (before, after, again)]
    assert [len(found) for found in sure] == [1, 0, 1]
    assert again == lint(root, use_cache=False)


def test_the_place_that_shards_a_module_moves(tmp_path: Path) -> None:
    root = project(tmp_path, {"pkg/__init__.py": "", "pkg/model.py": MODEL, "pkg/wraps.py": WRAPS})
    (before,) = lint(root).findings
    write(root, "wraps.py", "\n\n" + WRAPS)
    (after,) = lint(root).findings
    assert [(s.path, s.line) for s in (before.witness[-2], after.witness[-2])] == [
        ("pkg/wraps.py", 5),
        ("pkg/wraps.py", 7),
    ]


SAVES = "def save(trainer, name):\n    if trainer.is_global_zero:\n        trainer.save_checkpoint(name)\n"
OWN = "class OwnTrainer:\n    def save_checkpoint(self, name):\n        pass\n"


@pytest.mark.parametrize("name", ["trainer.py", "new.py"])
def test_a_class_that_a_receiver_may_belong_to(tmp_path: Path, name: str) -> None:
    kept = {
        "pkg/__init__.py": "import lightning\n",
        "pkg/save.py": SAVES,
        "pkg/trainer.py": OWN.replace("OwnTrainer", "Other"),
    }
    root = project(tmp_path, kept)
    assert len(lint(root).findings) == 1
    write(root, name, OWN)
    assert not lint(root).findings
    write(root, name, OWN.replace("save_", "write_"))
    assert len(lint(root).findings) == 1


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


# ---------------------------------------------------------------------- edits within files of several definitions
#: what stands in the files, in pieces between which lines come and go, and which change their places
HEAD = "import re\nimport torch\nimport torch.distributed as dist\nfrom torch import nn\n"
PIECES = {
    "library.py": (
        HEAD,
        "MAIN = 0\nNAMES = [\n    'a',\n]\n",
        "def tell(x):\n    def inner():\n        dist.barrier()\n    if x:\n        inner()\n    return x\n",
        "def rank():\n    return dist.get_rank()\n",
        "def meet(flag=True):\n    if flag:\n        dist.barrier()\n",
        "def is_main():\n    return rank() == MAIN\n",
        "def guarded(x):\n    if is_main():\n        tell(x)\n",
        "def other(x):\n    for item in sorted(x, key=lambda y: y.size):\n        print(item)\n    return len(x)\n",
        "pick = lambda x: rank() == 0\n",
        "class Saver:\n    first = 0\n    mode = None\n"
        "    def __init__(self):\n        self.main = rank() == 0\n        self.done = False\n"
        "    def save(self):\n        if self.mode is None:\n            self.write()\n"
        "    def write(self):\n        dist.all_reduce(self.done)\n",
    ),
    "model.py": (
        HEAD,
        "class Model(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.layer = nn.Linear(8, 8)\n"
        "    def forward(self, x: torch.Tensor):\n        return self.layer(x) if x.any() else x\n",
        "class Plain(nn.Module):\n    def forward(self, x):\n        return x\n",
        "def build():\n    return Model()\n",
    ),
    "wraps.py": (
        HEAD + "from torch.distributed.fsdp import fully_shard\nfrom pkg.model import Model, Plain, build\n",
        "def first():\n    return fully_shard(Model())\n",
        "def second():\n    model = Plain()\n    return model\n",
        "def seed():\n    torch.manual_seed(3)\n",
    ),
    "use.py": (
        HEAD + "from pkg.library import MAIN, Saver, guarded, is_main, meet, other, pick, tell\n"
        "from pkg.model import build\nfrom pkg.names import wait\n",
        "def one(x):\n    if is_main():\n        tell(x)\n",
        "def two(saver: Saver):\n    if saver.main:\n        saver.save()\n",
        "def three(x):\n    if other(x) > 3:\n        guarded(x)\n    if pick(x):\n        dist.barrier()\n",
        "def four(x):\n    model = build()\n    if dist.get_rank() == MAIN:\n        model(x)\n",
        "def six(x):\n    if dist.get_rank() == Saver.first:\n        dist.barrier()\n",
        "from pkg.test_tools import assist\n\ndef ten(x):\n    if dist.get_rank() == 0:\n        assist()\n",
        "def nine(x):\n    if Saver.first:\n        dist.barrier()\n",
        "def seven(x):\n    if dist.get_rank() == 0:\n        meet()\n",
        "def eight(x):\n    if dist.get_rank() == 0:\n        wait()\n",
        "def five(x):\n    if torch.rand(1) > 0.5:\n        dist.barrier()\n",
    ),
    "test_tools.py": (HEAD, "def plain():\n    return 1\n", "def assist():\n    if 1:\n        dist.barrier()\n"),
    "names.py": ("from pkg.library import meet as wait\n", "USED = wait\n"),
    "again.py": (HEAD + "from pkg.library import guarded\n", "def again(x):\n    guarded(x)\n    dist.barrier()\n"),
}
#: a line, and what stands in its place in some version; most say something else to other files
CHANGES = {
    "    return dist.get_rank()\n": ("    return 0\n", "    # of this process\n    return  dist.get_rank()\n"),
    "        inner()\n": ("        print(x)\n", "\n        inner()\n"),
    "        dist.barrier()\n": ("        pass\n", "        torch.manual_seed(dist.get_rank())\n"),
    "    return rank() == MAIN\n": ("    return rank() == 1\n", "    return True\n"),
    "MAIN = 0\n": ("MAIN = 1\n", "import os\nMAIN = int(os.environ['RANK'])\n"),
    "key=lambda y: y.size": ("key=len", "key=lambda y: (lambda z: z)(y)"),
    "pick = lambda x: rank() == 0\n": ("pick = lambda x: True\n", "pick = bool\n"),
    "    first = 0\n": ("    first = dist.get_rank()\n", "    second = 1\n    first = 0\n"),
    "def meet(flag=True)": ("def meet(flag=False)", "def meet(flag: bool = True)", "async def meet(flag=True)"),
    "from pkg.library import meet as wait\n": ("from pkg.library import rank as wait\n",),
    "    mode = None\n": ("    mode = 1\n", "    'Says nothing.'\n    mode = None\n"),
    "        self.main = rank() == 0\n": ("        self.main = True\n", "        self.main, self.x = rank() == 0, 1\n"),
    "        dist.all_reduce(self.done)\n": ("        return\n", "        dist.broadcast(self.done, 0)\n"),
    "fully_shard(Model())": ("fully_shard(Plain())", "Model()", "fully_shard( Model() )"),
    "    torch.manual_seed(3)\n": (
        "    torch.manual_seed(dist.get_rank())\n",
        "    rank = 1\n    torch.manual_seed(3)\n",
    ),
    "if x.any() else x\n": ("if x.sum() else self.layer(x)\n",),
    "    return Model()\n": ("    return Plain()\n", "    optimizer = None\n    return Model()\n"),
    "class Plain(nn.Module):\n": ("class Plain(Model):\n", "class Plain(nn.Module):  # is sharded\n"),
}


class Project:
    """Files in pieces: each has a version, a place among the others, and lines above it."""

    def __init__(self, root: Path, pick: random.Random) -> None:
        self.root, self.pick = root, pick
        self.pieces = {name: list(pieces) for name, pieces in PIECES.items()}
        self.above = {name: [""] * len(pieces) for name, pieces in PIECES.items()}

    def write(self) -> None:
        for name, pieces in self.pieces.items():
            text = "\n".join(above + piece for above, piece in zip(self.above[name], pieces, strict=True))
            write(self.root, name, text)

    def edit(self) -> None:
        name = self.pick.choice([*self.pieces])
        pieces = self.pieces[name]
        kind = self.pick.choice(["move", "above", "change", "change", "change", "change", "back"])
        place = self.pick.randrange(1, len(pieces))
        if kind == "move":
            pieces.insert(self.pick.randrange(1, len(pieces)), pieces.pop(place))
        elif kind == "above":
            self.above[name][self.pick.randrange(len(pieces))] = self.pick.choice(
                ["", "# a comment\n", "\n\n", "'x'\n"]
            )
        elif kind == "back":
            pieces[:] = PIECES[name]
        else:
            known = [(line, news) for line, news in CHANGES.items() if any(line in piece for piece in pieces)]
            if known:
                line, news = self.pick.choice(known)
                new = self.pick.choice(news)
                pieces[:] = [piece.replace(line, new) for piece in pieces]


@pytest.mark.parametrize("seed", range(8))
def test_warm_is_cold_after_edits_within_files(tmp_path: Path, seed: int) -> None:
    root = project(tmp_path, {"pkg/__init__.py": ""})
    edited = Project(root, random.Random(seed))
    edited.write()
    assert len(lint(root).findings) >= 6
    seen = set()
    for _ in range(12):
        for _ in range(edited.pick.choice((1, 1, 1, 2))):
            edited.edit()
        edited.write()
        expected = lint(root, use_cache=False)
        assert lint(root) == expected
        seen.add(expected.findings)
    assert len(seen) > 1


@pytest.mark.parametrize(
    ("before", "after", "again"),
    [
        # what `one` and `three` call and what they show stands where it stood
        pytest.param("class Saver:", "\n# a comment\nclass Saver:", [], id="a definition below moves"),
        pytest.param("    return len(x)\n", "    y = 1\n    return len(x) + y\n", ["pkg/use.py"], id="another body"),
        pytest.param("        self.done = False\n", "        self.done = True\n", ["pkg/use.py"], id="a method"),
    ],
)
def test_who_reads_one_definition_depends_on_no_other(
    tmp_path: Path, checked: list[str], before: str, after: str, again: list[str]
) -> None:
    """`again.py` reads a function of the library that nothing of this concerns."""
    root = project(tmp_path, {"pkg/__init__.py": ""})
    Project(root, random.Random(0)).write()
    write(root, "again.py", "from pkg.library import rank\n\ndef again(x):\n    return rank()\n")
    lint(root)
    checked.clear()
    text = (root / "pkg/library.py").read_text()
    write(root, "library.py", text.replace(before, after))
    assert text.count(before) == 1
    report, warm = lint(root), list(checked)
    assert report == lint(root, use_cache=False)
    assert "pkg/again.py" not in warm
    assert set(again) <= set(warm)


def test_what_is_read_of_other_files_is_an_input() -> None:
    facts = {f"pkg/{name}": extract("\n".join(pieces).encode()) for name, pieces in PIECES.items()}
    (found,) = check({"pkg/__init__.py": extract(b""), **facts}, ["pkg/use.py"], load_models()).files
    assert {
        ("body", "pkg/library.py:tell"),
        ("class", "pkg/library.py:Saver"),
        ("top", "pkg/library.py"),
        ("shape", "pkg/names.py"),
        ("words", "pkg/library.py"),
        ("bodies", "pkg/test_tools.py"),
        ("variable", "pick pkg/library.py"),
        ("sharding", ""),
        ("file", "pkg/library.py"),
    } <= set(found.inputs)
    assert ("body", "pkg/wraps.py:seed") not in found.inputs


#: calls and a variable that go round in circles, who uses them, and what has nothing to do with them
RING = {
    "pkg/__init__.py": "",
    "pkg/ring.py": (
        "import torch.distributed as dist\n\n_ONE = _OTHER = None\n\n"
        "def ping(n):\n    if n:\n        pong(n - 1)\n\n"
        "def pong(n):\n    dist.barrier()\n    ping(n)\n\n"
        "def set_one():\n    global _ONE\n    _ONE = other()\n\n"
        "def set_other():\n    global _OTHER\n    _OTHER = one()\n\n"
        "def one():\n    return _ONE\n\n"
        "def other():\n    return _OTHER\n"
    ),
    "pkg/uses_ring.py": (
        "import torch.distributed as dist\nfrom pkg import ring\n\n"
        "def use():\n    if dist.get_rank() == 0 and ring.one():\n        ring.ping(3)\n"
    ),
    "pkg/elsewhere.py": "def size(x):\n    return len(x)\n\ndef both(x):\n    return 2 * size(x)\n",
}


def test_what_goes_round_in_circles_is_concerned_by_nothing_else(
    tmp_path: Path, checked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Input] = []
    of = Answers.of
    monkeypatch.setattr(Answers, "of", lambda self, question: asked.append(question) or of(self, question))
    root = project(tmp_path, RING)
    assert len(lint(root).findings) == 1
    for text, again in (("return len(x)", "return len(x) + 1"), ("return 2", "return 3")):
        checked.clear()
        asked.clear()
        write(root, "elsewhere.py", RING["pkg/elsewhere.py"].replace(text, again))
        warm = lint(root)
        assert checked == ["pkg/elsewhere.py"]
        assert not [about for _, about in asked if "ring.py" in about]
        assert warm == lint(root, use_cache=False)
    checked.clear()
    write(root, "ring.py", RING["pkg/ring.py"].replace("    dist.barrier()\n", "    pass\n"))
    assert lint(root) == lint(root, use_cache=False)
    assert "pkg/uses_ring.py" in checked


def test_inputs_on_which_nothing_rests_any_more_are_left_out(tmp_path: Path) -> None:
    root = project(tmp_path, RING)
    name = key_of_project(load_settings(root), "files")
    assert name is not None
    sizes = []
    for number in range(60):
        text = RING["pkg/elsewhere.py"].replace("size", f"size_{number}")
        write(root, "elsewhere.py", text)
        lint(root)
        known = ResultsCache(root / ".ferrule_cache").load(name, Remembered)
        assert known is not None and known.is_whole()
        sizes.append(len(known.inputs()))
    assert max(sizes) > sizes[0] > 20  # until there are enough of them
    assert max(sizes) < 2.3 * sizes[0]


def test_a_comment_in_a_file_without_findings_concerns_nobody(root: Path, checked: list[str]) -> None:
    lint(root)
    checked.clear()
    for name in ("alone.py", "manager.py", "settings.py"):
        write(root, name, "# a comment\n" + FILES[f"pkg/{name}"] + "# and another\n")
    warm = lint(root)
    assert not checked
    assert warm.findings == lint(root, use_cache=False).findings


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


CALLEE = """\
import torch.distributed as dist

def pick(kind, other):
    if kind == "all":
        return 8
    return 4

def send(x):
    size = pick("all", x)
    dist.all_reduce(x.view(size))
"""


@pytest.mark.parametrize(
    ("new", "again"),
    [
        ("    y = 1\n    if kind == 'all':\n", ["pick"]),
        ("    if kind == other:\n", ["pick", "send"]),
    ],
)
def test_who_calls_a_function_depends_on_what_it_asks_of_its_body(
    root: Path, functions: list[str], new: str, again: list[str]
) -> None:
    """Which parameters are compared with a text decides what a caller tells of its arguments."""
    write(root, "several.py", CALLEE)
    lint(root)
    functions.clear()
    write(root, "several.py", CALLEE.replace('    if kind == "all":\n', new))
    warm = lint(root)
    assert functions == again
    assert warm == lint(root, use_cache=False)
