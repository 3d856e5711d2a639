"""`ferrule-lint why --graph`: what the picture shows, in three languages."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import xml.etree.ElementTree as ElementTree
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pipeline import project

from ferrule_lint.checks.graph import Graph
from ferrule_lint.cli import main as cli_main
from ferrule_lint.inquiry import why
from ferrule_lint.project.config import Settings
from ferrule_lint.reporters.graph.layout import Link, place

SOURCE = """\
import time
import torch.distributed as dist
from helper import sync


def train(loader, model, limit):
    start = time.time()
    for batch in loader:
        if time.time() - start > limit:
            break
        if batch["x"].isnan().any():
            continue
        dist.all_reduce(model(batch).sum())
    try:
        if dist.get_rank() == 1:
            raise ValueError("<&>")
        dist.barrier()
    except ValueError:
        dist.broadcast(model.weight, 0)
        return
    sync(model)


def quiet(x):
    return x
"""
HELPER = "import torch.distributed as dist\n\n\ndef sync(x):\n    dist.all_gather_object([], x)\n"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project(tmp_path, {"a.py": SOURCE, "helper.py": HELPER})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def graph(root: Path, line: int) -> Graph:
    explanation = why(root / "a.py", line, Settings(), use_cache=False).explanation
    assert explanation is not None
    return explanation.graph


def named(graph: Graph) -> set[tuple[str, str, str]]:
    """Each edge as (line and kind of a node, label, line and kind of the other)."""
    name = {node.id: f"{node.line or ''}{node.kind}" for node in graph.nodes}
    dashed = {True: "cause ", False: ""}
    return {
        (
            name[edge.source],
            f"{dashed[edge.cause]}{'back ' if edge.back else ''}{edge.label}".strip(),
            name[edge.target],
        )
        for edge in graph.edges
    }


def test_the_ways_through_a_function(root: Path) -> None:
    found = graph(root, 9)
    control = {edge for edge in named(found) if not edge[1].startswith("cause")}
    assert control == {
        ("start", "", "8loop"),
        ("8loop", "each", "9choice"),
        ("9choice", "yes", "15choice"),  # break
        ("9choice", "no", "11choice"),
        ("11choice", "back yes", "8loop"),  # continue
        ("11choice", "no", "13event"),
        ("13event", "back", "8loop"),
        ("8loop", "done", "15choice"),
        ("15choice", "exception", "19event"),
        ("15choice", "no", "17event"),
        ("19event", "return", "end"),
        ("17event", "", "21call"),
        ("21call", "", "end"),
    }
    assert {node.line for node in found.nodes if node.kind == "choice" and node.differs} == {9, 11, 15}
    (call,) = [node for node in found.nodes if node.kind == "call"]
    assert call.label == "calls `sync`: all_gather_object over world"


def test_causes_lead_to_what_they_explain(root: Path) -> None:
    found = graph(root, 11)
    causes = {edge for edge in named(found) if edge[1].startswith("cause")}
    assert ("9source", "cause", "9choice") in causes
    assert ("8source", "cause", "11flow") in causes
    assert ("11flow", "cause", "11choice") in causes
    assert all(node.label for node in found.nodes)


def test_a_value_that_decides_nothing_is_shown_too(root: Path) -> None:
    found = graph(root, 7)
    assert ("7source", "cause", "7value") in named(found)
    assert [node.label for node in found.nodes if node.kind == "value"] == ["`start` differs", "`time.time()` differs"]


def draw(root: Path, name: str, place: str = "a.py:11") -> str:
    assert cli_main.run(["why", place, "--graph", str(root / name)]) == 0
    return (root / name).read_text("utf-8")


def test_svg_is_one_picture_that_loads_nothing(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = draw(root, "a.svg")
    captured = capsys.readouterr()
    assert captured.err == f"Wrote {root / 'a.svg'}.\n"
    assert "collectives of train" in captured.out
    tree = ElementTree.fromstring(text)
    assert tree.tag == f"{SVG}svg"
    assert not re.search(r"href|url\((?!#)|@import|<script|<image", text)
    found = graph(root, 11)
    nodes = [one for one in tree.iter(f"{SVG}g") if (one.get("class") or "").startswith("node")]
    assert len(nodes) == len(found.nodes)
    shown = ["".join(one.itertext()).replace(" ", "").replace("\n", "") for one in nodes]
    for node, words in zip(found.nodes, shown, strict=True):
        assert words.startswith(node.label.replace(" ", "")), node
    asked = [words for one, words in zip(nodes, shown, strict=True) if "asked" in (one.get("class") or "").split()]
    assert len(asked) == 1
    assert asked[0].endswith("line11")
    assert sum("differs" in (one.get("class") or "").split() for one in nodes) == 3
    paths = [one for one in tree.iter(f"{SVG}path") if (one.get("class") or "").startswith("edge")]
    assert len(paths) == len(found.edges)
    width, height = float(tree.get("width") or 0), float(tree.get("height") or 0)
    for one in tree.iter(f"{SVG}text"):
        assert 0 <= float(one.get("x") or -1) <= width
        assert 0 <= float(one.get("y") or -1) <= height


def test_svg_in_a_browser(root: Path) -> None:
    from test_formats import in_browser

    draw(root, "a.svg")
    shot = root / "a.png"
    in_browser(root / "a.svg", f"--screenshot={shot}", "--window-size=900,900")
    data = shot.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (900, 900)
    # a blank page of that size takes some 4 kB
    assert len(data) > 15_000


def test_mermaid(root: Path) -> None:
    lines = draw(root, "a.mmd").splitlines()
    assert lines[0] == "flowchart TD"
    node = r'  n\d+(\["[^"]*"\]|\(\["[^"]*"\]\)|\{\{"[^"]*"\}\})'
    edge = r'  n\d+ (-->|-\.->)(\|"[^"]*"\|)? n\d+'
    style = r"  class(Def)? [\w,]+ [\w#:,-]+"
    assert [line for line in lines[1:] if not re.fullmatch(f"{node}|{edge}|{style}", line)] == []
    found = graph(root, 11)
    assert sum(bool(re.fullmatch(node, line)) for line in lines) == len(found.nodes)
    assert sum(bool(re.fullmatch(edge, line)) for line in lines) == len(found.edges)


def test_dot(root: Path) -> None:
    text = draw(root, "a.dot")
    found = graph(root, 11)
    assert text.count(" -> ") == len(found.edges)
    assert text.count("label=") >= len(found.nodes)
    dot = shutil.which("dot")
    if dot is None:
        pytest.skip("Graphviz is not installed, so that it accepts the text is not tried")
    done = subprocess.run([dot, "-Tplain", str(root / "a.dot")], capture_output=True, encoding="utf-8", check=True)
    assert sum(line.startswith("node ") for line in done.stdout.splitlines()) == len(found.nodes)
    assert sum(line.startswith("edge ") for line in done.stdout.splitlines()) == len(found.edges)


@pytest.mark.parametrize("name", ["a.svg", "a.dot", "a.mmd"])
def test_odd_text_and_nothing_to_show(root: Path, name: str) -> None:
    test = 'x["<b>\\"&`\\\\\u202e"] == dist.get_rank()'
    odd = f"import torch.distributed as dist\n\n\ndef f(x):\n    if {test}:\n        dist.barrier()\n"
    (root / "a.py").write_text(odd)
    text = draw(root, name, "a.py:5")
    assert "\u202e" not in text
    assert "<b>" not in text or name == "a.dot"
    if name == "a.svg":
        assert "`x['<b>\"&`" in "".join(ElementTree.fromstring(text).itertext())
    if name == "a.dot" and shutil.which("dot"):
        subprocess.run(["dot", "-Tplain", str(root / name)], capture_output=True, check=True)
    (root / "a.py").write_text(SOURCE)
    assert "quiet" in draw(root, name, "a.py:25")


def test_mistakes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["why", "a.py:9", "--graph", "a.png"]) == 2
    assert "--graph: expected a name that ends in .svg, .dot, .mmd, not 'a.png'" in capsys.readouterr().err
    assert cli_main.run(["why", "a.py:9", "--graph", "gone/a.svg"]) == 2
    assert "gone/a.svg: error: cannot be written" in capsys.readouterr().err


# ---------------------------------------------------------------------- the layout
@st.composite
def drawings(draw: st.DrawFn) -> tuple[list[tuple[float, float]], list[Link]]:
    count = draw(st.integers(1, 14))
    sizes = draw(st.lists(st.tuples(st.floats(20, 300), st.floats(20, 90)), min_size=count, max_size=count))
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    pairs = draw(st.lists(ends, max_size=24, unique=True))
    # from a smaller number to a larger one is down; the rest goes back, if it can follow a way down
    down = [Link(a, b, cause=draw(st.booleans())) for a, b in pairs if a < b]
    linked = {(link.source, link.target) for link in down}
    return sizes, [*down, *(Link(a, b, back=True) for a, b in pairs if (b, a) in linked or a == b)]


@settings(max_examples=60, deadline=None)
@given(drawings())
def test_nodes_do_not_touch_and_edges_go_down(drawing: tuple[list[tuple[float, float]], list[Link]]) -> None:
    sizes, links = drawing
    layout = place(sizes, links)
    boxes = [(*layout.centres[one], *sizes[one]) for one in range(len(sizes))]
    for (x, y, width, height), (x2, y2, width2, height2) in combinations(boxes, 2):
        assert abs(x - x2) >= (width + width2) / 2 or abs(y - y2) >= (height + height2) / 2
    for x, y, width, height in boxes:
        assert x - width / 2 >= -0.01
        assert x + width / 2 <= layout.width + 0.01
        assert y - height / 2 >= -0.01
        assert y + height / 2 <= layout.height + 0.01
    for link, bends in zip(links, layout.bends, strict=True):
        ways = [layout.centres[link.source][1], *(y for _, y in bends), layout.centres[link.target][1]]
        assert all(one >= other if link.back else one < other for one, other in pairwise(ways))


def test_what_comes_after_a_loop_lies_below_it() -> None:
    links = [Link(0, 1), Link(1, 2), Link(2, 0, back=True), Link(0, 3, after=(2,))]
    layout = place([(50, 20)] * 4, links)
    assert layout.centres[3][1] > layout.centres[2][1]
