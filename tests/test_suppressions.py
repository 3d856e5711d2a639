"""Comments that suppress findings, from the source to the exit code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pipeline import project
from support import lint_source

from ferrule_lint.cli import main as cli_main

HEAD = "import torch.distributed as dist\n\n\n"
LINE = "# ferrule: ignore[FER102]"


def codes(source: str, root: Path) -> list[str]:
    report = lint_source({"a.py": HEAD + source}, root)
    assert not report.errors
    return [finding.code for finding in report.findings]


SUPPRESSED = {
    "the call": """\
def f(x):
    if dist.get_rank() == 0:
        dist.all_reduce(x)  # ferrule: ignore[FER102] only one rank is left here
""",
    "noqa": """\
def f(x):
    if dist.get_rank() == 0:
        dist.all_reduce(x)  # noqa: E501, FER102 some reason
""",
    "noqa in small letters": """\
def f(x):
    if dist.get_rank() == 0:
        dist.all_reduce(x)  # noqa: fer102
""",
    "noqa in ruff's other spellings": """\
def f(x):
    if dist.get_rank() == 0:
        dist.all_reduce(x)  # type: ignore  #NOQA:FER102
""",
    "any line of the call": """\
def f(x):
    if dist.get_rank() == 0:
        dist.all_reduce(
            x,  # ferrule: ignore[FER102]
            op=dist.ReduceOp.MAX,
        )
""",
    "the end of a call over several lines": """\
def f(x):
    if dist.get_rank() == 0:
        dist.all_reduce(
            x,
        )  # ferrule: ignore[FER102]
""",
    "inside the call, on a line of its own": """\
def f(x):
    if dist.get_rank() == 0:
        dist.all_reduce(
            # ferrule: ignore[FER102]
            x,
        )
""",
    "above the call": """\
def f(x):
    if dist.get_rank() == 0:
        # ferrule: ignore[FER102] a reason

        # and another comment
        dist.all_reduce(x)
""",
    "the condition": """\
def f(x):
    if dist.get_rank() == 0:  # ferrule: ignore[FER102]
        dist.all_reduce(x)
""",
    "above a condition over several lines": """\
def f(x):
    # ferrule: ignore[FER102]
    if (
        dist.get_rank()
        == 0
    ):
        dist.all_reduce(x)
""",
    "the condition of an exit": """\
def f(x):
    if dist.get_rank() == 0:  # ferrule: ignore[FER103]
        return
    dist.all_reduce(x)
""",
    "the def": """\
def f(x):  # ferrule: ignore[FER102]
    if dist.get_rank() == 0:
        dist.all_reduce(x)
""",
    "a def over several lines": """\
def f(
    x,  # ferrule: ignore[FER102]
):
    if dist.get_rank() == 0:
        dist.all_reduce(x)
""",
    "above a decorator": """\
def deco(f):
    return f


# ferrule: ignore[FER102]
@deco
def f(x):
    if dist.get_rank() == 0:
        dist.all_reduce(x)
""",
    "an async method": """\
class A:
    async def f(self, x):  # ferrule: ignore[FER102]
        if dist.get_rank() == 0:
            dist.all_reduce(x)
""",
    "the file": """\
def f(x):
    if dist.get_rank() == 0:
        dist.all_reduce(x)

# ferrule: ignore-file[FER102] generated
""",
    "the file in ruff's word": """\
# ferrule: file-ignore[FER102]
def f(x):
    if dist.get_rank() == 0:
        dist.all_reduce(x)
""",
    "a block": """\
# ferrule: disable[FER102]
def f(x):
    if dist.get_rank() == 0:
        dist.all_reduce(x)
# ferrule: enable[FER102]
""",
    "a block until the indentation ends": """\
def f(x):
    # ferrule: disable[FER102, FER103]
    if dist.get_rank() == 0:
        dist.all_reduce(x)
    if dist.get_rank() == 1:
        return
    dist.all_reduce(x)
""",
    "several codes": """\
def f(x):  # ferrule: ignore[ FER103,FER102 ] two reasons
    if dist.get_rank() == 0:
        dist.all_reduce(x)
    if dist.get_rank() == 1:
        return
    dist.all_reduce(x)
""",
    "between other comments": """\
def f(x):
    if dist.get_rank() == 0:
        dist.all_reduce(x)  # type: ignore # ferrule: ignore[FER102] why # pragma: no cover
""",
}


@pytest.mark.parametrize("source", SUPPRESSED.values(), ids=SUPPRESSED)
def test_suppressed(source: str, tmp_path: Path) -> None:
    report = lint_source({"a.py": HEAD + source}, tmp_path)
    assert [(f.code, f.span.line, f.message) for f in report.findings] == []
    assert report.suppressed
    assert all(finding.suppression for finding in report.suppressed)


NOT_SUPPRESSED = {
    "another rule": (
        f"def f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)  {LINE.replace('2]', '3]')}\n",
        ["FER102", "FER002"],
    ),
    "noqa without a code is not ours": (
        "def f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)  # noqa\n",
        ["FER102"],
    ),
    "a string": (
        f"def f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x, '{LINE}')\n",
        ["FER102"],
    ),
    "the statement before": (
        f"def f(x):\n    if dist.get_rank() == 0:\n        x = x + 1  {LINE}\n        dist.all_reduce(x)\n",
        ["FER002", "FER102"],
    ),
    "the line after": (
        f"def f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)\n        {LINE}\n    return x\n",
        ["FER102", "FER002"],
    ),
    "another function": (
        f"def f(x):  {LINE}\n    return x\n\n\ndef g(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)\n",
        ["FER002", "FER102"],
    ),
    "after a block": (
        "def f(x):\n    # ferrule: disable[FER102]\n    x = 1\n    # ferrule: enable[FER102]\n"
        "    if dist.get_rank() == 0:\n        dist.all_reduce(x)\n",
        ["FER002", "FER102"],
    ),
    "after an indented block": (
        "def f(x):\n    if x:\n        # ferrule: disable[FER102]\n        x = 1\n"
        "    if dist.get_rank() == 0:\n        dist.all_reduce(x)\n",
        ["FER002", "FER102"],
    ),
    "a directive that is quoted in prose": (
        "def f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)  # see `# ferrule: ignore[FER102]`\n",
        ["FER102"],
    ),
}


@pytest.mark.parametrize(("source", "expected"), NOT_SUPPRESSED.values(), ids=NOT_SUPPRESSED)
def test_not_suppressed(source: str, expected: list[str], tmp_path: Path) -> None:
    assert codes(source, tmp_path) == expected


@pytest.mark.parametrize(
    ("comment", "message"),
    [
        ("# ferrule: ignore[FER102]", "unused suppression: there is no FER102 here"),
        ("# ferrule: ignore-file[FER102]", "unused suppression: there is no FER102 in this file"),
        ("# ferrule: disable[FER102]", "not a suppression: `disable` has to stand on a line of its own"),
        ("# noqa: FER102", "unused suppression: there is no FER102 here"),
        ("# noqa: FER192", "`FER192` is suppressed, but there is no such rule; did you mean FER102?"),
        ("# ferrule: ignore[F401]", "`F401` is suppressed, but there is no such rule"),
        (
            "# ferrule: ignore[FER1]",
            "`FER1` is suppressed, but there is no such rule: a comment names each rule by its whole",
        ),
        (
            "# ferrule: ignore[collective-in-divergent-branch]",
            "`collective-in-divergent-branch` is suppressed, but there is no such rule; did you mean FER102?",
        ),
        ("# ferrule-lint: ignore[FER102]", "unused suppression: there is no FER102 here"),
        ("# ferrule: ignore", "it names no rule: write `# ferrule: ignore[FER101]`"),
        ("# ferrule: ignore FER102", "it names no rule"),
        ("# ferrule: ignore[]", "it names no rule"),
        ("# noqa: FER1", "`FER1` is suppressed, but there is no such rule: a comment names each rule by its whole"),
        ("# noqa: fer102", "unused suppression: there is no FER102 here"),
        ("# ferrule: noqa: FER102", "write `# ferrule: ignore[FER101]`, or `ignore-file[FER101]` for the whole file"),
        ("# ferrule: noqa", "write `# ferrule: ignore[FER101]`"),
        ("# ferrule: bananas", "`bananas` is none of ignore, ignore-file, disable, enable, uniform"),
        ("# ferrule: uniformly all ranks share it", "`uniformly` is none of"),
        ("# ferrule: ignored[FER102]", "`ignored` is none of ignore, ignore-file, disable, enable"),
    ],
)
def test_comments_that_suppress_nothing(comment: str, message: str, tmp_path: Path) -> None:
    report = lint_source({"a.py": f"x = 1  {comment}\n"}, tmp_path)
    (finding,) = report.findings
    assert (finding.code, finding.severity, finding.span.line) == ("FER002", "warning", 1)
    assert message in finding.message


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\n# ferrule: enable[FER102]\n", "FER102 is not disabled here"),
        ("x = 1\n# ferrule: ignore[FER102]\n", "there is no code below it"),
        ("# ferrule: disable[FER102]\nx = 1\n", "there is no FER102 in this block"),
    ],
)
def test_blocks_and_ends_that_suppress_nothing(source: str, message: str, tmp_path: Path) -> None:
    (finding,) = lint_source({"a.py": source}, tmp_path).findings
    assert finding.code == "FER002"
    assert message in finding.message


COMMENTS_OF_OTHERS = [
    "# a ferrule: it holds the brush",
    "# noqa: F401",
    "# noqa: a ferrule",
    "# ferrule: see the docs",
    "# ferrule: the ring that ends a stick",
]


@pytest.mark.parametrize("comment", COMMENTS_OF_OTHERS)
def test_other_comments_are_left_alone(comment: str, tmp_path: Path) -> None:
    assert codes(f"x = 1  {comment}\n", tmp_path) == []


def test_the_place_is_the_code_in_the_comment(tmp_path: Path) -> None:
    source = "def f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)  # ferrule: ignore[FER104, FER102]\n"
    report = lint_source({"a.py": source.replace("def", HEAD + "def", 1)}, tmp_path)
    (finding,) = report.findings
    start = source.splitlines()[2].index("FER104") + 1
    assert (finding.span.column, finding.span.end_column) == (start, start + 6)
    (suppressed,) = report.suppressed
    assert suppressed.suppression is not None
    assert (suppressed.suppression.form, suppressed.suppression.line) == ("ignore", 6)


def test_unused_only_if_the_rule_was_looked_for(tmp_path: Path) -> None:
    for select, expected in [(["FER"], ["FER002"]), (["FER002", "FER103"], []), (["FER102"], [])]:
        files = {"ferrule.toml": f"select = {select}", "a.py": "x = 1  # ferrule: ignore[FER102]\n"}
        assert [f.code for f in lint_source(files, tmp_path).findings] == expected


def test_a_finding_that_is_not_confident_enough_to_be_shown_still_uses_its_comment(tmp_path: Path) -> None:
    source = HEAD + "def f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)  # ferrule: ignore[FER102]\n"
    report = lint_source({"ferrule.toml": 'min-confidence = "high"', "a.py": source}, tmp_path)
    assert report.findings == ()


def test_comments_about_comments(tmp_path: Path) -> None:
    assert codes("x = 1  # ferrule: ignore[FER102, FER002] kept for later\n", tmp_path) == []
    assert codes("# ferrule: ignore-file[FER002]\nx = 1  # ferrule: ignore[FER102]\n", tmp_path) == []
    assert codes("x = 1  # ferrule: ignore[FER002]\n", tmp_path) == ["FER002"]


@pytest.mark.parametrize("newline", ["\r\n", "\r"])
def test_other_line_ends(newline: str, tmp_path: Path) -> None:
    source = HEAD + "def f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)  # ferrule: ignore[FER102]\n"
    report = lint_source({"a.py": source.replace("\n", newline)}, tmp_path)
    assert (len(report.findings), len(report.suppressed)) == (0, 1)


def test_files_outside_the_given_paths_are_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path, {"a.py": "x = 1\n", "b.py": "x = 1  # ferrule: ignore[FER102]\n"})
    monkeypatch.chdir(tmp_path)
    assert cli_main.run(["a.py"]) == 0
    assert cli_main.run(["b.py"]) == 1
    # and again from the cache
    assert cli_main.run(["b.py"]) == 1


# ---------------------------------------------------------------------- the command line
BUG = HEAD + "def f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)\n"


def test_ignore_suppressions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = BUG.replace("(x)\n", f"(x)  {LINE}\n") + "# ferrule: ignore\n"
    project(tmp_path, {"a.py": source, "ferrule.toml": 'ignore = ["FER002"]'})
    monkeypatch.chdir(tmp_path)
    assert cli_main.run(["--output-format", "concise"]) == 0
    assert "1 suppressed" in capsys.readouterr().out
    assert cli_main.run(["--ignore-suppressions", "--output-format", "concise"]) == 1
    assert "FER102" in capsys.readouterr().out


def test_add_suppressions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    project(tmp_path, {"a.py": BUG, "b.py": "x = 1\n"})
    monkeypatch.chdir(tmp_path)
    # the option's value comes behind `=` only: `a.py` is a path
    assert cli_main.run(["--add-suppressions", "a.py"]) == 0
    assert capsys.readouterr().out == "Suppressed 1 finding in 1 file.\n"
    assert (tmp_path / "a.py").read_text() == BUG.rstrip() + "  # ferrule: ignore[FER102]\n"
    assert cli_main.run([]) == 0
    # once is enough
    assert cli_main.run(["--add-suppressions"]) == 0
    assert capsys.readouterr().out.endswith("Suppressed 0 findings in 0 files.\n")


def test_a_reason_that_is_taken_for_a_path_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project(tmp_path, {"a.py": BUG})
    monkeypatch.chdir(tmp_path)
    assert cli_main.run(["--add-suppressions", "one rank only", "a.py"]) == 2
    assert "if it is the reason, write --add-suppressions='one rank only'" in capsys.readouterr().err
    assert cli_main.run(["--add-suppressions", "--diff", "a.py"]) == 2
    assert "--diff changes none" in capsys.readouterr().err
    assert (tmp_path / "a.py").read_text() == BUG
    # the reason is there, so this can be a path only: the rest is written, and what is missing is said
    assert cli_main.run(["--add-suppressions=one rank only", "gone.py", "a.py"]) == 2
    assert capsys.readouterr().err == "error: gone.py: no such file or folder\n"
    assert (tmp_path / "a.py").read_text() == BUG.rstrip() + "  # ferrule: ignore[FER102] one rank only\n"


def test_add_suppressions_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path, {"a.py": BUG})
    monkeypatch.chdir(tmp_path)
    assert cli_main.run(["--add-suppressions=one  rank\nonly", "."]) == 0
    assert "dist.all_reduce(x)  # ferrule: ignore[FER102] one rank only\n" in (tmp_path / "a.py").read_text()
    (suppressed,) = lint_source({"a.py": (tmp_path / "a.py").read_text()}, tmp_path).suppressed
    assert suppressed.suppression is not None
    assert suppressed.suppression.reason == "one rank only"


@pytest.mark.parametrize(
    ("there", "written"),
    [
        ("# ferrule: ignore[FER103]", "# ferrule: ignore[FER103, FER102] one rank only"),
        ("# ferrule-lint: ignore[FER103]", "# ferrule-lint: ignore[FER103, FER102] one rank only"),
        ("# ferrule: ignore[FER103] judged", "# ferrule: ignore[FER103, FER102] judged"),
    ],
)
def test_a_comment_that_is_extended_gets_the_reason_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: str, written: str
) -> None:
    project(tmp_path, {"a.py": f"{BUG.rstrip()}  {there}\n"})
    monkeypatch.chdir(tmp_path)
    assert cli_main.run(["--add-suppressions=one rank only"]) == 0
    assert (tmp_path / "a.py").read_text() == f"{BUG.rstrip()}  {written}\n"


FORMS = {
    "a call over several lines": (
        "        dist.all_reduce(\n            x,\n        )\n",
        "        dist.all_reduce(\n            x,\n        )  # ferrule: ignore[FER102]\n",
    ),
    "a comment that is there": (
        "        dist.all_reduce(x)  # sum  \n",
        "        dist.all_reduce(x)  # sum  # ferrule: ignore[FER102]\n",
    ),
    "a suppression that is there": (
        "        dist.all_reduce(x)  # ferrule: ignore[FER002] why\n",
        "        dist.all_reduce(x)  # ferrule: ignore[FER002, FER102] why\n",
    ),
    "what looks like one in a string": (
        "        dist.all_reduce(x + '# ferrule: ignore[FER103]')\n",
        "        dist.all_reduce(x + '# ferrule: ignore[FER103]')  # ferrule: ignore[FER102]\n",
    ),
    "a long line": (
        f"        dist.all_reduce(x + {'1' * 90})\n",
        f"        # ferrule: ignore[FER102]\n        dist.all_reduce(x + {'1' * 90})\n",
    ),
    "several statements": (
        "        y = 2; dist.all_reduce(x); z = 3\n",
        "        y = 2; dist.all_reduce(x); z = 3  # ferrule: ignore[FER102]\n",
    ),
    "a continued line": (
        "        y = \\\n            dist.all_reduce(x)\n",
        "        y = \\\n            dist.all_reduce(x)  # ferrule: ignore[FER102]\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("style", ["plain", "crlf", "bom", "latin-1", "no end"])
def test_where_comments_are_written(
    before: str, after: str, style: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = HEAD + "def f(x):\n    if dist.get_rank() == 0:\n"

    def encoded(text: str) -> bytes:
        text = ("# coding: latin-1\n# é\n" if style == "latin-1" else "# é\n") + head + text
        if style == "crlf":
            text = text.replace("\n", "\r\n")
        if style == "no end":
            text = text[:-1]
        return text.encode({"bom": "utf-8-sig", "latin-1": "latin-1"}.get(style, "utf-8"))

    project(tmp_path, {"a.py": encoded(before), "ferrule.toml": 'ignore = ["FER002"]'})
    monkeypatch.chdir(tmp_path)
    assert cli_main.run(["--add-suppressions", "--no-cache"]) == 0
    assert (tmp_path / "a.py").read_bytes() == encoded(after)
    assert cli_main.run(["--no-cache"]) == 0


def test_broken_files_and_other_encodings_are_not_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    latin = ("# coding: latin-1\n" + BUG).encode("latin-1")
    project(tmp_path, {"a.py": latin, "broken.py": "def f(:\n"})
    monkeypatch.chdir(tmp_path)
    assert cli_main.run(["--add-suppressions=日本"]) == 2
    assert "error: a.py: the reason cannot be written in iso-8859-1" in capsys.readouterr().err
    assert (tmp_path / "a.py").read_bytes() == latin
    assert (tmp_path / "broken.py").read_text() == "def f(:\n"


def test_the_mode_of_a_file_stays_and_links_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path, {"a.py": BUG})
    (tmp_path / "a.py").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert cli_main.run(["--add-suppressions", "--no-cache"]) == 0
    assert (tmp_path / "a.py").stat().st_mode & 0o777 == 0o755
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "pyproject.toml"]


def test_a_reason_can_be_required(tmp_path: Path) -> None:
    source = BUG.replace("(x)\n", f"(x)  {LINE}\n")
    files = {"ferrule.toml": "rules.FER002 = { require-reason = true, severity = 'error' }"}
    (finding,) = lint_source({**files, "a.py": source}, tmp_path).findings
    assert (finding.message, finding.severity) == ("the suppression of FER102 gives no reason", "error")
    assert lint_source({**files, "a.py": source.replace("2]", "2] a reason")}, tmp_path).findings == ()


def test_per_file_ignores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    settings = '[tool.ferrule-lint.per-file-ignores]\n"tests/**" = ["FER1"]\n'
    project(tmp_path, {"pyproject.toml": settings, "a.py": BUG, "tests/b.py": BUG, "tests/c.py": f"x = 1  {LINE}\n"})
    monkeypatch.chdir(tmp_path)
    # nothing of FER102 in the tests, so a comment about it is not unused there
    assert cli_main.run(["--output-format", "concise"]) == 1
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines() if " FER" in line] == ["a.py"]
    assert cli_main.run(["tests"]) == 0
    # from another folder the patterns mean the same
    monkeypatch.chdir(tmp_path / "tests")
    assert cli_main.run(["b.py"]) == 0
    assert cli_main.run(["--isolated", "b.py"]) == 1


def test_ruff_leaves_our_codes_alone_once_it_is_told(tmp_path: Path) -> None:
    """The setting of the README and of docs/suppressions.md, with the real ruff."""
    readme = Path(__file__).resolve().parent.parent / "README.md"
    if not readme.exists():
        pytest.skip("not a checkout")
    found = re.search(
        r"^```toml\n(\[tool\.ruff\.lint\]\n.*?)^```$", readme.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert found is not None
    (tmp_path / "a.py").write_text("import os\n\nprint(os.name)  # noqa: FER102\n")

    def ruff() -> str:
        command = [
            sys.executable,
            "-m",
            "ruff",
            "check",
            "--no-cache",
            "--select",
            "RUF100,RUF102",
            "--preview",
            "a.py",
        ]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
        if "No module named ruff" in done.stderr:
            pytest.skip("ruff is in the extra `dev`")
        return done.stdout

    (tmp_path / "pyproject.toml").write_text("")
    assert "Invalid rule code in `# noqa`: FER102" in ruff()
    (tmp_path / "pyproject.toml").write_text(found[1])
    assert "All checks passed" in ruff()
