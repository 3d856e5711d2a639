"""What is done once, and what is let go of: the same answers for less time and memory."""

from __future__ import annotations

import gc
import typing
from pathlib import Path

import pytest
from pipeline import project

from ferrule_lint.checks.run import check
from ferrule_lint.engine import lint
from ferrule_lint.facts import types as f
from ferrule_lint.facts.outline import with_outline
from ferrule_lint.facts.walk import nodes, statements, walk
from ferrule_lint.frontend.lower import extract
from ferrule_lint.models.loader import load_models
from ferrule_lint.project.config import load_settings
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.calls import light as light_calls
from ferrule_lint.semantics.data.records import DEEPEST
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.project.entities import ModuleInfo
from ferrule_lint.semantics.project.evidence import place_of
from ferrule_lint.semantics.project.gathering import Gathering, tells_the_same
from ferrule_lint.semantics.project.reads import Memo, Reads
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.holders import FULL

HEAD = "import torch.distributed as dist\n"
BLOCKS = b"""
def f(xs):
    for x in xs:
        if x:
            a = [y for y in x if y]
        elif not x:
            while x:
                break
        else:
            with x as z:
                return z
    else:
        b = 1
    try:
        c = 2
    except ValueError:
        raise
    else:
        d: int
    finally:
        del b
    match xs:
        case [1]:
            e = 3
"""


def analysed(source: str) -> Analysis:
    return Analysis({"a.py": extract(f"{HEAD}{source}".encode())}, load_models())


# ---------------------------------------------------------------------- walking
def test_statements_are_those_of_a_walk_in_its_order() -> None:
    kinds = typing.get_args(f.Stmt)
    paths = sorted(Path(light_calls.__file__).parent.rglob("*.py"))[:12]
    for source in (BLOCKS, *(path.read_bytes() for path in paths)):
        facts = extract(source)
        for body in (facts.body, *(function.body for function in facts.functions)):
            assert [id(s) for s in statements(body)] == [id(n) for n in walk(body) if type(n) in kinds]
    assert len(statements(extract(BLOCKS).functions[0].body)) > 12


def test_a_walk_yields_every_name_and_no_position() -> None:
    nodes = list(walk(extract(b"x = f(a.b[c], *d, e=g if h else {i: j for i in k})").body))
    assert {n.id for n in nodes if type(n) is f.Name} == set("xfacdghijk")
    assert not [n for n in nodes if type(n) is tuple and n and type(n[0]) is int]


def test_nodes_of_a_kind_are_those_of_a_walk_in_its_order() -> None:
    paths = sorted(Path(light_calls.__file__).parent.rglob("*.py"))[:6]
    for body in [function.body for path in paths for function in extract(path.read_bytes()).functions]:
        for kind in (f.Call, f.Name, f.Compare, f.Const):
            assert [id(n) for n in nodes(body, kind)] == [id(n) for n in walk(body) if type(n) is kind]
    assert nodes(None, f.Call) == []


def test_what_a_statement_calls_is_not_gone_into_for_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    analysis = analysed(
        "class A:\n    def __init__(self):\n        self.log()\n        self.x = self.rank()\n"
        "    def log(self):\n        self.rank()\n    def rank(self):\n        return dist.get_rank()\n"
    )
    entered: list[str] = []
    calls = light_calls.execute

    def execute(frame: Frame, body: f.Body) -> None:
        entered.append(frame.function.name if frame.function is not None else "")
        calls(frame, body)

    monkeypatch.setattr(light_calls, "execute", execute)
    info = analysis.names.modules["a.py"].classes["A"]
    value = analysis.holders.attribute(info, "x", FULL)
    assert value is not None and value.divergence is not None
    assert entered == ["rank"]


def test_an_outline_is_made_once() -> None:
    facts = extract(BLOCKS)
    lazy = with_outline(facts)
    assert lazy.whole is facts
    assert with_outline(lazy) is lazy


# ---------------------------------------------------------------------- what was read
def test_inputs_are_named_by_their_numbers() -> None:
    reads = Reads()
    inputs = [("file", str(number)) for number in range(90)]
    numbers = [reads.number(given) for given in inputs]
    assert reads.named([]) == []
    assert reads.named(reversed(numbers)) == inputs
    assert reads.named({numbers[89], numbers[0], numbers[64]}) == [inputs[0], inputs[64], inputs[89]]


def test_looking_at_what_is_remembered_reads_nothing_and_asking_for_it_does() -> None:
    reads = Reads()
    memo: Memo[str, int] = Memo(reads)
    reads.ask("file", "a")
    memo["x"] = 1
    with reads.apart():
        assert (memo.look("x"), reads.read) == (1, set())
        assert (memo["x"], reads.read) == (1, {reads.number(("file", "a"))})


def test_asking_for_an_answer_reads_the_question_and_not_what_it_was_worked_out_from() -> None:
    reads = Reads()
    memo: Memo[str, int] = Memo(reads, lambda key: ("answer", key))
    question = reads.number(("answer", "x"))

    def compute() -> int:
        reads.ask("file", "a")
        return 1

    for _ in range(2):
        with reads.apart():
            assert (memo.find("x", compute), reads.read) == (1, {question})
    assert reads.named(reads.rests["answer", "x"]) == [("file", "a")]
    # but for what may have to be forgotten
    with reads.provisional("sharding"), reads.apart():
        assert (memo["x"], reads.named(reads.read)) == (1, [("file", "a")])


# ---------------------------------------------------------------------- calls for attribute layers
DEEP = """
def b():
    return dist.get_rank()
def a():
    return b()
def deep():
    return a()
def deeper():
    return deep()
class Near:
    def __init__(self):
        self.value = deep()
class Far:
    def __init__(self):
        self.value = deeper()
"""


def held(analysis: Analysis, name: str) -> Value | None:
    return analysis.holders.attribute(analysis.names.modules["a.py"].classes[name], "value", FULL)


@pytest.mark.parametrize("first", [("Near", "Far"), ("Far", "Near")])
def test_a_call_is_not_taken_for_one_that_goes_on_beyond_the_depth(first: tuple[str, str]) -> None:
    analysis = analysed(DEEP)
    values = {name: held(analysis, name) for name in first}
    assert values["Near"] is not None and values["Near"].divergence is not None
    assert values["Far"] is not None and values["Far"].divergence is None


def walked(monkeypatch: pytest.MonkeyPatch, source: str) -> list[str]:
    """The functions that are walked for what the attributes of a class hold."""
    names: list[str] = []
    execute = light_calls.execute

    def noted(frame: Frame, body: f.Body) -> None:
        assert frame.function is not None
        names.append(frame.function.name)
        execute(frame, body)

    monkeypatch.setattr(light_calls, "execute", noted)
    held(analysed(source), "C")
    return names


def test_a_call_is_analysed_once_for_all_depths_and_layers_that_it_does_not_reach(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = "def low():\n    return dist.get_rank()\ndef mid():\n    return low()\nclass C:\n    def __init__(self):\n"
    assert walked(monkeypatch, f"{source}        self.value = [low(), mid()]\n") == ["low", "mid"]


def test_a_call_that_asks_for_an_attribute_is_another_in_each_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    source = (
        "class D:\n    def __init__(self):\n        self.other = C().own()\n"
        "class C:\n    def __init__(self):\n        self.value = self.own() + D().other\n"
        "    def own(self):\n        return {}\n"
    )
    assert walked(monkeypatch, source.format("self.attribute")) == ["own", "own"]
    assert walked(monkeypatch, source.format("dist.get_rank()")) == ["own"]


STEPS = (
    """
class Engine:
    def step(self, state):
        new = self.model.apply({"cache": state["cache"]}, state["place"])
        return {"cache": new["cache"], "place": state["place"] + 1}
def run(engine: Engine, batch):
    state = {"cache": batch["cache"], "place": batch["place"]}
"""
    + "    state = engine.step(state)\n" * 6
    + "    return state\n"
)


def deepest(value: Value) -> int:
    return 1 + max(deepest(entry) for _, entry in value.entries) if value.entries else 0


def test_records_that_are_put_into_the_next_one_are_told_apart_only_so_deep() -> None:
    analysis = analysed(STEPS)
    found = analysis.frame_of(analysis.names.modules["a.py"].functions["run"])
    assert found is not None
    assert deepest(found[0].result) == DEEPEST


# ---------------------------------------------------------------------- what is let go of
def test_frames_that_are_put_away_share_what_stayed_empty() -> None:
    analysis = analysed("def f(x):\n    dist.barrier()\ndef g(y):\n    return y\n")
    functions = analysis.names.modules["a.py"].functions
    one, other = (analysis.frame_of(functions[name]) for name in "fg")
    assert one is not None and other is not None
    assert one[1].env is other[1].env
    assert one[1].layouts is other[1].layouts


def test_nothing_of_an_analysis_stays_without_the_collector() -> None:
    facts = extract(f"{HEAD}class C:\n    def f(self):\n        if dist.get_rank():\n            self.f()\n".encode())
    gc.collect()
    gc.disable()
    try:
        check({"a.py": facts}, ["a.py"], load_models())
        assert not [thing for thing in gc.get_objects() if isinstance(thing, ModuleInfo)]
    finally:
        gc.enable()


# ---------------------------------------------------------------------- fixes that are tried
WRAPPED = """\
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(8, 8)

    def forward(self, x):
        return self.head(x)


def build():
    return fully_shard(Net())


def log(x):
    if dist.get_rank() == 0:
        dist.barrier()
        print(x)


def run(x):
    net = build()
    if dist.get_rank() == 0:
        net(x)
"""


def test_what_is_sharded_is_gathered_once_for_a_run_and_the_fixes_it_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path, {"train.py": WRAPPED})
    looked: list[Gathering] = []
    look = Gathering.look
    monkeypatch.setattr(Gathering, "look", lambda self: (looked.append(self), look(self))[1])
    report = lint([tmp_path], load_settings(tmp_path), use_cache=False)
    assert [finding.code for finding in report.findings] == ["FER102", "FER101"]
    assert any(finding.fix is not None for finding in report.findings)
    assert len(looked) == 1


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("def build():\n", "def build():\n    print()\n\n", True),
        ("fully_shard(Net())", "fully_shard(make())", False),
        ("fully_shard(Net())", "Net()", False),
        ("net = build()", "net = fully_shard(build())", False),
    ],
)
def test_evidence_is_good_for_a_file_that_wraps_what_it_wrapped(old: str, new: str, same: bool) -> None:
    before, after = (
        Analysis({"train.py": extract(text.encode())}, load_models()) for text in (WRAPPED, WRAPPED.replace(old, new))
    )
    evidence = before.sharding.gather()
    assert evidence.calls
    assert tells_the_same(after, evidence, ["train.py"]) is same
    if same:
        site = evidence.sites[0]
        place = place_of(site._replace(pos=(0, 0, 0, 0)), after.names.modules)
        assert place == (site.pos[0] + 2, site.pos[1])
