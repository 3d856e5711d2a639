"""Several projects in one run, and parts of a project with settings of their own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pipeline import project

from ferrule_lint.cli import main as cli_main
from ferrule_lint.cli.lint import PRESETS
from ferrule_lint.project.presets import preset_names

BUG = "import torch.distributed as dist\n\n\ndef f(x):\n    if dist.get_rank() == 0:\n        dist.all_reduce(x)\n"
#: a forward that only some ranks reach: a bug if the module is sharded, which nothing here says
FORWARD = (
    "import torch\nimport torch.distributed as dist\nfrom torch import nn\n\n\nclass Net(nn.Module):\n"
    "    def __init__(self):\n        super().__init__()\n        self.head = nn.Linear(2, 2)\n\n"
    "    def forward(self, x, mask):\n        if mask.any():\n            x = self.head(x)\n        return x\n"
)


def found(capsys: pytest.CaptureFixture[str], *args: str, status: int = 1) -> set[tuple[str, str]]:
    """(path, code) of what is reported."""
    assert cli_main.run(["--output-format", "json", *args]) == status
    document = json.loads(capsys.readouterr().out)
    return {(finding["path"], finding["code"]) for finding in document["findings"]}


# ---------------------------------------------------------------------- one project, several settings files
@pytest.fixture
def monorepo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    files = {
        "pyproject.toml": (
            '[tool.ferrule-lint]\nextend-exclude = ["gen"]\nper-file-ignores = { "tools/**" = ["FER102"] }\n'
        ),
        "main.py": BUG,
        "gen/a.py": BUG,
        "tools/a.py": BUG,
        "packages/quiet/ferrule.toml": 'ignore = ["FER102"]\n',
        "packages/quiet/a.py": BUG,
        "packages/quiet/gen/a.py": BUG,
        "packages/models/ferrule.toml": (
            'extend = "../../pyproject.toml"\nsharded = true\nextend-exclude = ["/old"]\n'
            '[rules.FER102]\nseverity = "warning"\n'
        ),
        "packages/models/a.py": BUG,
        "packages/models/net.py": FORWARD,
        "packages/models/old/a.py": BUG,
        "packages/models/deep/gen/a.py": BUG,
        "packages/models/tools/a.py": BUG,
        "packages/plain/pyproject.toml": "[project]\nname = 'plain'\n",
        "packages/plain/a.py": BUG,
        "packages/plain/net.py": FORWARD,
    }
    project(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_nearest_settings_file_counts(monorepo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    everything = found(capsys, ".")
    assert everything == {
        ("main.py", "FER102"),
        # FER102 is switched off in quiet/; models/ extends the settings above and replaces their `extend-exclude`
        ("packages/models/a.py", "FER102"),
        ("packages/models/net.py", "FER101"),
        ("packages/models/deep/gen/a.py", "FER102"),
        ("packages/models/tools/a.py", "FER102"),
        ("packages/plain/a.py", "FER102"),
    }
    # and no other path on the command line changes that
    for path in ("packages/models", "packages/plain", "packages/quiet", "main.py"):
        expected = {one for one in everything if one[0] == path or one[0].startswith(f"{path}/")}
        assert found(capsys, path, status=1 if expected else 0) == expected
    # a second run comes from the cache, and says the same
    assert found(capsys, ".") == everything
    (monorepo / "packages/quiet/ferrule.toml").write_text("")
    assert found(capsys, ".") == everything | {
        ("packages/quiet/a.py", "FER102"),
        ("packages/quiet/gen/a.py", "FER102"),
    }


def test_patterns_are_those_of_the_folder_of_the_file_that_has_them(
    monorepo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = 'per-file-ignores = { "/gen" = ["FER102"] }\n'
    (monorepo / "packages/models/ferrule.toml").write_text(own)
    inside = {path for path, _ in found(capsys, "packages/models")}
    assert inside == {f"packages/models/{name}" for name in ("a.py", "old/a.py", "tools/a.py", "deep/gen/a.py")}
    (monorepo / "packages/models/ferrule.toml").write_text(own.replace("/gen", "/deep"))
    assert found(capsys, "packages/models") == {(path, "FER102") for path in inside if "deep" not in path}
    # a pattern that is inherited sees paths as the file that has it does
    (monorepo / "packages/models/ferrule.toml").write_text('extend = "../../pyproject.toml"\n')
    (monorepo / "pyproject.toml").write_text(
        '[tool.ferrule-lint]\nper-file-ignores = { "/packages/models/tools" = ["FER1"] }\n'
    )
    assert found(capsys, "packages/models") == {(path, "FER102") for path in inside if "tools" not in path}


def test_severities_and_the_command_line(monorepo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli_main.run(["--output-format", "json", "packages/models/a.py", "main.py"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {finding["path"]: finding["severity"] for finding in findings} == {
        "main.py": "error",
        "packages/models/a.py": "warning",
    }
    # it comes before all files
    assert ("packages/quiet/a.py", "FER102") in found(capsys, "--select", "FER102", ".")
    assert found(capsys, "--ignore", "FER102", ".") == {("packages/models/net.py", "FER101")}
    assert found(capsys, "--isolated", "packages/quiet") == {
        ("packages/quiet/a.py", "FER102"),
        ("packages/quiet/gen/a.py", "FER102"),
    }


def test_mistakes_in_one_of_them(monorepo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (monorepo / "packages/quiet/ferrule.toml").write_text('\nignroe = ["FER102"]\n')
    (monorepo / "packages/models/ferrule.toml").write_text('\nignore = ["FER999"]\n')
    # somebody else's broken file is nobody's business here
    (monorepo / "packages/plain/pyproject.toml").write_text("[project\n")
    assert cli_main.run(["--output-format", "concise", "-q", "."]) == 2
    lines = capsys.readouterr().out.splitlines()
    errors = [line for line in lines if "error:" in line]
    assert [line.split(": ")[1] for line in errors] == [
        "packages/models/ferrule.toml:2",
        "packages/quiet/ferrule.toml:2",
    ]
    assert 'unknown setting "ignroe"' in errors[1]
    # the rest went on, under the settings above
    assert any(line.startswith("packages/quiet/a.py:6:9: FER102") for line in lines)
    # who lints another part need not mind
    assert found(capsys, "packages/plain") == {("packages/plain/a.py", "FER102")}
    assert found(capsys, "main.py") == {("main.py", "FER102")}


def test_fixes_and_comments_follow_the_settings_of_their_file(
    monorepo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = (
        "import time\n\nimport torch\nimport torch.distributed as dist\n\n\ndef train(loader, model, limit):\n"
        "    start = time.time()\n    for batch in loader:\n"
        "        if time.time() - start > limit:\n            break\n        dist.all_reduce(model(batch).sum())\n"
    )
    for folder in (".", "packages/quiet"):
        (monorepo / folder / "clock.py").write_text(clock)
    (monorepo / "packages/quiet/ferrule.toml").write_text(
        'extend-unsafe-fixes = ["FER103"]\nrules = { FER002 = { require-reason = true } }\n'
    )
    for folder in (".", "packages/quiet"):
        (monorepo / folder / "said.py").write_text(BUG.replace("(x)\n", "(x)  # ferrule: ignore[FER102]\n"))
    codes = found(capsys, ".")
    assert ("packages/quiet/said.py", "FER002") in codes
    assert ("said.py", "FER002") not in codes
    cli_main.run(["--fix-only", "clock.py", "packages/quiet/clock.py"])
    assert (monorepo / "clock.py").read_text() != clock
    assert (monorepo / "packages/quiet/clock.py").read_text() == clock


def test_the_baseline_follows_them_too(monorepo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["--write-baseline", "-q", "."]) == 0
    (monorepo / "packages/plain/a.py").write_text("x = 1\n")
    (monorepo / "packages/models/ferrule.toml").write_text('ignore = ["FER1"]\n')
    capsys.readouterr()
    assert cli_main.run(["."]) == 0
    # what models/ has is not looked for any more, so nobody knows whether it is stale
    assert "1 entry of .ferrule-baseline.json matches nothing any more" in capsys.readouterr().err


# ---------------------------------------------------------------------- several projects
@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    helper = "import torch.distributed as dist\n\n\ndef sync(x):\n    dist.all_reduce(x)\n"
    caller = (
        "import torch.distributed as dist\nfrom helper import sync\n\n\ndef f(x):\n"
        "    if dist.get_rank() == 0:\n        sync(x)\n"
    )
    project(tmp_path / "one", {"a.py": caller, "helper.py": helper})
    files = {"a.py": caller, "helper.py": "def sync(x):\n    return x\n", "b.py": BUG}
    project(tmp_path / "two", {**files, "pyproject.toml": "[tool.ferrule-lint.rules.FER102]\nseverity = 'warning'\n"})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_each_project_is_read_by_itself(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["--output-format", "json", "two", "one/a.py"]) == 1
    document = json.loads(capsys.readouterr().out)
    got = {(finding["path"], finding["severity"]): finding for finding in document["findings"]}
    assert set(got) == {("one/a.py", "error"), ("two/b.py", "warning")}
    # two's helper issues nothing, one's does: they are not mixed up
    finding = got["one/a.py", "error"]
    assert [step["path"] for step in finding["witness"]] == ["one/a.py", "one/a.py", "one/a.py", "one/helper.py"]
    assert document["summary"]["files"] == 4
    # a finding is the same one alone
    cli_main.run(["--output-format", "json", "one"])
    (alone,) = json.loads(capsys.readouterr().out)["findings"]
    assert alone["fingerprint"] == finding["fingerprint"]


def test_text_shows_the_source_of_each(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["one", "two"]) == 1
    out = capsys.readouterr().out
    assert "7 | sync(x)" in out
    assert "6 | dist.all_reduce(x)" in out
    assert "Found 2 problems (1 error, 1 warning) in 5 files." in out.splitlines()


def test_each_project_has_its_baseline_and_its_fixes(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["--write-baseline", "one", "two"]) == 0
    assert (two / "one/.ferrule-baseline.json").exists()
    assert (two / "two/.ferrule-baseline.json").exists()
    assert not (two / ".ferrule-baseline.json").exists()
    assert cli_main.run(["one", "two"]) == 0
    (two / "two/c.py").write_text(BUG)
    capsys.readouterr()
    assert found(capsys, "one", "two") == {("two/c.py", "FER102")}
    assert cli_main.run(["--add-suppressions", "--no-baseline", "one", "two"]) == 0
    assert "ferrule: ignore[FER102]" in (two / "one/a.py").read_text()
    assert "ferrule: ignore[FER102]" in (two / "two/c.py").read_text()


def test_what_is_listed(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli_main.run(["--show-files", "one", "two/b.py"]) == 0
    assert capsys.readouterr().out.split() == ["one/a.py", "one/helper.py", "two/b.py"]
    assert cli_main.run(["--show-settings", "one", "two"]) == 0
    out = capsys.readouterr().out
    assert out.count("# project root: ") == 2
    assert 'rules = { FER102 = { severity = "warning" } }' in out
    assert cli_main.run(["--output-format", "concise", "one", "gone/a.py", "two"]) == 2
    assert "error: gone/a.py: no such file or folder" in capsys.readouterr().out


def test_clean_goes_to_each(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cli_main.run(["-q", "one", "two"])
    assert (two / "one/.ferrule_cache").exists()
    assert (two / "two/.ferrule_cache").exists()
    assert cli_main.run(["clean", "one", "two"]) == 0
    assert not (two / "one/.ferrule_cache").exists()
    assert not (two / "two/.ferrule_cache").exists()


def test_a_project_inside_of_another_belongs_to_it(two: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (two / "ferrule.toml").write_text("")
    (two / "top.py").write_text(BUG)
    assert found(capsys, "two/b.py", "top.py") == {("two/b.py", "FER102"), ("top.py", "FER102")}
    assert (two / ".ferrule_cache").exists()
    assert not (two / "two/.ferrule_cache").exists()


# ---------------------------------------------------------------------- presets
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", set()),
        ('preset = "hf"', {"FER101"}),
        ('preset = "lightning"', {"FER101"}),
        ('preset = "megatron"', set()),
        ('preset = "serving"', set()),
        # what the file says itself comes first
        ('preset = "hf"\nsharded = false', set()),
        # and so does its own preset before that of the file it extends
        ('preset = "megatron"\nextend = "hf.toml"', set()),
        ('extend = "hf.toml"', {"FER101"}),
        ('extend = "said.toml"\npreset = "hf"', set()),
    ],
)
def test_presets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, expected: set[str]
) -> None:
    files = {"ferrule.toml": text, "net.py": FORWARD, "hf.toml": 'preset = "hf"\n', "said.toml": "sharded = false\n"}
    project(tmp_path, files)
    monkeypatch.chdir(tmp_path)
    assert {code for _, code in found(capsys, ".", status=1 if expected else 0)} == expected


@pytest.mark.parametrize(
    ("text", "option", "expected"),
    [
        ("", "hf", {"FER101"}),
        ("", "megatron", set()),
        # in place of the file's, and of one that the file extends
        ('preset = "megatron"', "hf", {"FER101"}),
        ('preset = "hf"', "megatron", set()),
        ('extend = "hf.toml"', "megatron", set()),
        # what the file says itself comes first all the same
        ("sharded = false", "hf", set()),
    ],
)
def test_preset_on_the_command_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str,
    option: str,
    expected: set[str],
) -> None:
    project(tmp_path, {"ferrule.toml": text, "net.py": FORWARD, "hf.toml": 'preset = "hf"\n'})
    monkeypatch.chdir(tmp_path)
    assert {code for _, code in found(capsys, ".", "--preset", option, status=1 if expected else 0)} == expected
    assert cli_main.run(["--show-settings", "--preset", option]) == 0
    assert f'preset = "{option}"\n' in capsys.readouterr().out


def test_presets_that_can_be_named() -> None:
    assert preset_names() == PRESETS


@pytest.mark.parametrize("name", ["megatron", "serving"])
def test_presets_against_evidence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    wrap = "from net import Net\nfrom torch.distributed.fsdp import fully_shard\n\nnet = fully_shard(Net())\n"
    project(tmp_path, {"net.py": FORWARD, "wrap.py": wrap})
    monkeypatch.chdir(tmp_path)
    assert found(capsys, ".") == {("net.py", "FER101")}
    (tmp_path / "ferrule.toml").write_text(f'preset = "{name}"\n')
    assert found(capsys, ".", status=0) == set()


def test_config_names_the_preset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    project(tmp_path, {"ferrule.toml": 'preset = "hf"\nselect = ["FER1"]\n'})
    monkeypatch.chdir(tmp_path)
    assert cli_main.run(["config"]) == 0
    sections = [part.splitlines() for part in capsys.readouterr().out.split("\n\n")]
    assert sections[0] == ["# from ferrule.toml", 'preset = "hf"', 'select = ["FER1"]']
    assert sections[1] == ["# from the preset hf", "sharded = true"]
    assert sections[2][0] == "# defaults"


def test_unknown_preset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project(tmp_path, {"ferrule.toml": '\npreset = "lightening"\n'})
    assert cli_main.run([str(tmp_path)]) == 2
    message = capsys.readouterr().err
    assert f'{tmp_path / "ferrule.toml"}:2: error: "preset": "lightening" is none of' in message
    assert 'did you mean "lightning"?' in message
