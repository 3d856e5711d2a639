"""Settings files: where they are looked for, what they may say, and how mistakes are reported."""

from __future__ import annotations

import json
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pipeline import at_text, project

from ferrule_lint.findings import Confidence
from ferrule_lint.project.config import ConfigError, Settings, load_settings
from ferrule_lint.project.describe import describe
from ferrule_lint.project.selection import Selection, check_codes, selects
from ferrule_lint.project.values import EXTEND, KEYS, RuleSettings


def test_defaults() -> None:
    settings = Settings()
    assert settings.min_confidence is Confidence.MEDIUM
    assert settings.sharded == "auto"
    assert ".venv" in settings.exclude


def test_every_setting_of_a_pyproject(tmp_path: Path) -> None:
    text = """
[project]
name = "x"

[tool.ferrule-lint]
select = ["FER1", 'FER2']
ignore = ["FER105"]
extend-select = ["FER001"]
min-confidence = "low"
exclude = ["a"]
extend-exclude = ["b/*.py"]
force-exclude = true
respect-gitignore = false
sharded = [".*Block"]
models = ["models/mine.toml"]
output-format = "concise"
cache-dir = ".cache/ferrule"
baseline = "old.json"

[tool.ferrule-lint.per-file-ignores]
"tests/**" = ["FER1"]

[tool.ferrule-lint.rules]
FER002 = { severity = "error", require-reason = true }
FER101.min-confidence = "high"
"""
    project(tmp_path, {"pyproject.toml": text})
    settings = load_settings(tmp_path)
    assert settings == Settings(
        source=tmp_path / "pyproject.toml",
        select=("FER1", "FER2"),
        ignore=("FER105",),
        extend_select=("FER001",),
        min_confidence=Confidence.LOW,
        exclude=("a",),
        extend_exclude=("b/*.py",),
        force_exclude=True,
        respect_gitignore=False,
        sharded=(".*Block",),
        models=(tmp_path / "models/mine.toml",),
        output_format="concise",
        cache_dir=tmp_path / ".cache/ferrule",
        baseline=tmp_path / "old.json",
        per_file_ignores=(("tests/**", ("FER1",)),),
        rules=(
            ("FER002", RuleSettings(severity="error", require_reason=True)),
            ("FER101", RuleSettings(min_confidence=Confidence.HIGH)),
        ),
    )


def test_nearest_file_with_settings_wins(tmp_path: Path) -> None:
    outer = '[tool.ferrule-lint]\nselect = ["FER1"]\n'
    project(tmp_path, {"pyproject.toml": outer, "pkg/pyproject.toml": "[project]\n", "pkg/deep/ferrule.toml": ""})
    # a pyproject.toml without the table is passed by; an empty ferrule.toml is one
    assert load_settings(tmp_path / "pkg").select == ("FER1",)
    assert load_settings(tmp_path / "pkg" / "x.py").select == ("FER1",)
    assert load_settings(tmp_path / "pkg" / "deep").source == tmp_path / "pkg/deep/ferrule.toml"


def test_ferrule_toml_wins_in_the_same_folder(tmp_path: Path) -> None:
    project(
        tmp_path,
        {"pyproject.toml": '[tool.ferrule-lint]\nselect = ["FER1"]\n', "ferrule.toml": 'select = ["FER2"]\n'},
    )
    assert load_settings(tmp_path).select == ("FER2",)
    # as of `.ruff.toml`
    project(tmp_path, {".ferrule.toml": 'select = ["FER3"]\n'})
    assert load_settings(tmp_path).select == ("FER3",)


def test_config_and_isolated(tmp_path: Path) -> None:
    project(tmp_path, {"ferrule.toml": 'select = ["FER1"]\n', "other.toml": 'select = ["FER2"]\n'})
    assert load_settings(tmp_path, config=tmp_path / "other.toml").select == ("FER2",)
    assert load_settings(tmp_path, isolated=True) == Settings()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("selct = []", 'unknown setting "selct"; did you mean "select"?'),
        ("min_confidence = 'low'", 'unknown setting "min_confidence"; did you mean "min-confidence"?'),
        ("zzz = 1", 'unknown setting "zzz"'),
        ("select = 'FER1'", '"select": expected a list of strings'),
        ("select = [1]", '"select": expected a list of strings'),
        ("select = ['fer 1']", '"select": "fer 1" is not a rule code or the beginning of one'),
        ("min-confidence = 'hihg'", '"hihg" is none of "low", "medium", "high"; did you mean "high"?'),
        ("min-confidence = 3", 'expected one of "low", "medium", "high"'),
        ("force-exclude = 'yes'", "expected true or false"),
        ("sharded = 'always'", 'expected "auto", true, false or a list'),
        ("sharded = 1", 'expected "auto", true, false or a list'),
        ("sharded = ['Block', '(']", '"sharded": "(" is no regular expression: missing )'),
        (
            "sharded = ['*Block']",
            '"*Block" is no regular expression: nothing to repeat at position 0; any text is ".*"',
        ),
        ("models = ['']", "expected a path"),
        ("output-format = 'jsn'", 'did you mean "json"?'),
        ("per-file-ignores = []", '"per-file-ignores": expected a table'),
        ("per-file-ignores = { 'a' = 'FER1' }", '"per-file-ignores": "a": expected a list of strings'),
        ("per-file-ignores = { '!' = [] }", '"!" is not a pattern of paths'),
        ("rules = { FER1 = {} }", '"rules": "FER1" is not the code of a rule'),
        ("rules = { FER101 = 1 }", '"FER101": expected a table'),
        ("rules = { FER101 = { severity = 'fatal' } }", '"fatal" is none of "error", "warning"'),
        ("rules = { FER101 = { min_confidence = 'low' } }", 'did you mean "min-confidence"?'),
        ("rules = { FER101 = { require-reason = true } }", 'unknown setting "require-reason"'),
        ("extend = 1", '"extend": expected a path'),
        ("extend = 'gone.toml'", '"extend": there is no file'),
        ("extend = 'pyproject.toml'", '"extend": pyproject.toml extends itself'),
    ],
)
def test_mistakes_have_their_line(tmp_path: Path, line: str, message: str) -> None:
    project(tmp_path, {"pyproject.toml": f"[project]\nname = 'x'\n\n[tool.ferrule-lint]\nignore = []\n{line}\n"})
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path)
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "pyproject.toml"), 6)
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ('ignore = []\n\n[per-file-ignores]\n"a" = []\n"b" = 1\n', 5, '"b": expected a list of strings'),
        ("[rules]\nFER101 = {}\nFER102 = { severity = 1 }\n", 3, '"FER102": "severity": expected one of'),
        ("[rules.FER101]\n\n[rules.FER102]\nseverity = 1\n", 3, '"FER102": "severity": expected one of'),
    ],
)
def test_mistakes_in_tables_have_their_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    project(tmp_path, {"ferrule.toml": text})
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path)
    assert message in caught.value.message
    assert caught.value.line == line


def test_extend(tmp_path: Path) -> None:
    files = {
        "pyproject.toml": '[tool.ferrule-lint]\nselect = ["FER1"]\nignore = ["FER102"]\nmodels = ["m.toml"]\n',
        "pkg/ferrule.toml": 'extend = "../pyproject.toml"\nignore = ["FER103"]\ncache-dir = "c"\n',
        "pkg/deep/ferrule.toml": 'extend = "../ferrule.toml"\n',
    }
    project(tmp_path, files)
    settings = load_settings(tmp_path / "pkg" / "deep")
    assert (settings.select, settings.ignore) == (("FER1",), ("FER103",))
    # paths are relative to the file that says them
    assert [path.resolve() for path in settings.models] == [tmp_path / "m.toml"]
    assert settings.cache_dir is not None
    assert settings.cache_dir.resolve() == tmp_path / "pkg" / "c"
    assert settings.source == tmp_path / "pkg/deep/ferrule.toml"
    assert {key: Path(path).resolve() for key, path in settings.origins} == {
        "select": tmp_path / "pyproject.toml",
        "ignore": tmp_path / "pkg/ferrule.toml",
        "models": tmp_path / "pyproject.toml",
        "cache-dir": tmp_path / "pkg/ferrule.toml",
    }


def test_extend_in_a_circle(tmp_path: Path) -> None:
    project(tmp_path, {"a.toml": 'extend = "b.toml"\n', "b.toml": 'select = []\nextend = "a.toml"\n'})
    with pytest.raises(ConfigError, match=r"a\.toml extends itself") as caught:
        load_settings(tmp_path, config=tmp_path / "a.toml")
    assert (Path(caught.value.path).name, caught.value.line) == ("b.toml", 2)


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        (b"a = 1\nselect = [\n", 3, "not valid TOML"),
        (b"select = = 1\n", 1, "not valid TOML"),
        (b"# \xff\n", 0, "is not UTF-8"),
        (b"[tool.ferrule-lint]\n", 1, "settings stand at the top level"),
        (b"a = " + b"[" * 100_000, 0, "nested too deeply"),
    ],
)
def test_broken_files(tmp_path: Path, content: bytes, line: int, message: str) -> None:
    project(tmp_path, {"ferrule.toml": content})
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path)
    assert caught.value.line == line
    assert message in caught.value.message


def test_table_that_is_none(tmp_path: Path) -> None:
    project(tmp_path, {"pyproject.toml": "[tool]\nferrule-lint = 1\n"})
    with pytest.raises(ConfigError, match="has to be a table") as caught:
        load_settings(tmp_path)
    assert caught.value.line == 2


def test_missing_config_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_settings(tmp_path, config=tmp_path / "gone.toml")
    with pytest.raises(ConfigError, match="is a folder"):
        load_settings(tmp_path, config=tmp_path)


@pytest.mark.parametrize("name", ["ferrule", "ferrule_lint"])
def test_settings_in_a_table_of_another_name_are_a_mistake(tmp_path: Path, name: str) -> None:
    project(tmp_path, {"pyproject.toml": f"[project]\nname = 'x'\n[tool.{name}]\nselect = ['FER1']\n"})
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path)
    assert caught.value.line == 3
    assert caught.value.message == f"[tool.{name}] is not read; write [tool.ferrule-lint]"
    # a tool that is called so and has nothing to do with this one
    project(tmp_path, {"pyproject.toml": f"[tool.{name}]\nspacing = 3\n"})
    assert load_settings(tmp_path).source is None
    # the right table counts, whatever else there is
    project(tmp_path, {"pyproject.toml": f"[tool.ferrule-lint]\n[tool.{name}]\nselect = ['FER1']\n"})
    assert load_settings(tmp_path).select == ("FER",)


def test_bom_and_crlf(tmp_path: Path) -> None:
    project(tmp_path, {"ferrule.toml": b'\xef\xbb\xbfselect = ["FER1"]\r\nsharded = true\r\n'})
    assert load_settings(tmp_path).sharded is True


def test_description_is_toml_that_means_the_same(tmp_path: Path) -> None:
    settings = Settings(
        sharded=("A*",),
        extend_exclude=('odd"name\\',),
        models=(tmp_path / "m.toml",),
        per_file_ignores=(('odd "name"', ("FER1", "FER2")), ("b", ())),
        rules=(("FER002", RuleSettings(require_reason=True)), ("FER101", RuleSettings("error", Confidence.LOW))),
    )
    project(tmp_path, {"ferrule.toml": describe(settings)})
    again = load_settings(tmp_path)
    assert (again.per_file_ignores, again.rules) == (settings.per_file_ignores, settings.rules)
    project(tmp_path, {"ferrule.toml": describe(Settings())})
    assert load_settings(tmp_path) == Settings(source=tmp_path / "ferrule.toml")
    assert (again.sharded, again.extend_exclude, again.models) == (("A*",), ('odd"name\\',), (tmp_path / "m.toml",))


@pytest.mark.parametrize(
    ("settings", "code", "expected"),
    [
        (Settings(), "FER102", True),
        (Settings(select=("ALL",)), "FER102", True),
        (Settings(select=()), "FER102", False),
        (Settings(ignore=("FER1",)), "FER102", False),
        (Settings(ignore=("FER1",), extend_select=("FER102",)), "FER102", True),
        (Settings(ignore=("FER1",), extend_select=("FER102",)), "FER103", False),
        (Settings(select=("FER102",), ignore=("FER102",)), "FER102", False),
        # what could not be checked is said whatever is selected
        (Settings(select=("FER102",)), "FER001", True),
        (Settings(ignore=("FER001",)), "FER001", False),
    ],
)
def test_selection(settings: Settings, code: str, expected: bool) -> None:
    assert selects(settings, code) is expected


def test_check_codes() -> None:
    names = {"FER102": "collective-in-divergent-branch"}
    check_codes(Settings(select=("FER1", "ALL"), ignore=("FER102",)), names)
    with pytest.raises(ConfigError, match='unknown rule code "FER2" in ignore'):
        check_codes(Settings(ignore=("FER2",)), names)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('select = ["FER102"]\nper-file-ignores = { "a" = ["FER102"], "b" = ["FER9"] }\n', 2),
        ('[per-file-ignores]\n"a" = ["FER102"]\n"b" = ["FER9"]\n', 3),
        ("sharded = true\n[rules.FER999]\n", 2),
        ("sharded = true\n[rules]\nFER999.severity = 'error'\n", 3),
    ],
)
def test_unknown_codes_in_tables_have_their_line(tmp_path: Path, text: str, line: int) -> None:
    project(tmp_path, {"ferrule.toml": text})
    with pytest.raises(ConfigError, match='unknown rule code "FER9') as caught:
        check_codes(load_settings(tmp_path), {"FER102": "collective-in-divergent-branch"})
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("tests", "tests/a.py", True),
        ("tests/", "pkg/tests/deep/a.py", True),
        ("tests/**", "tests/deep/a.py", True),
        ("/tests", "pkg/tests/a.py", False),
        ("test_*.py", "pkg/test_a.py", True),
        ("test_*.py", "pkg/a_test.py", False),
        ("pkg/*.py", "pkg/a.py", True),
        ("pkg/*.py", "pkg/deep/a.py", False),
        ("!src", "src/a.py", False),
        ("!src", "tools/a.py", True),
    ],
)
def test_patterns_of_per_file_ignores(pattern: str, path: str, expected: bool) -> None:
    selection = Selection(Settings(per_file_ignores=((pattern, ("FER1",)),)))
    assert selection.looks_for("FER102", path) is not expected
    assert selection.looks_for("FER201", path)


def test_settings_of_one_rule() -> None:
    rules = (("FER102", RuleSettings(severity="warning", min_confidence=Confidence.LOW)),)
    selection = Selection(Settings(rules=rules))
    low = at_text("a.py", "f(x)", "f(x)", confidence=Confidence.LOW)
    assert selection.asks_for(low)
    assert not selection.asks_for(at_text("a.py", "f(x)", "f(x)", confidence=Confidence.LOW, code="FER103"))
    assert selection.graded(low).severity == "warning"


# ---------------------------------------------------------------------- the schema
def schema() -> Any:
    return json.loads(resources.files("ferrule_lint.project").joinpath("settings.schema.json").read_text("utf-8"))


def test_schema_knows_every_setting() -> None:
    jsonschema.Draft7Validator.check_schema(schema())
    assert set(schema()["properties"]) == {*KEYS, EXTEND}
    assert all("description" in value for value in schema()["properties"].values())


@pytest.mark.parametrize(
    "text",
    [
        "select = ['FER1', 'ALL']\nignore = []\nextend-select = ['FER201']",
        "sharded = true",
        "sharded = ['.*Expert']",
        "sharded = 'always'",
        "sharded = 1",
        "select = 'FER1'",
        "select = ['fer 1']",
        "select = [1]",
        "min-confidence = 'hihg'",
        "output-format = 'concise'",
        "output-format = 'jsn'",
        "force-exclude = 'yes'",
        "models = ['a.toml']",
        "models = ['']",
        "cache-dir = ''",
        "zzz = 1",
        "per-file-ignores = { 'tests/**' = ['FER1'] }",
        "per-file-ignores = { 'tests/**' = 'FER1' }",
        "per-file-ignores = []",
        "rules.FER101 = { severity = 'warning', min-confidence = 'low' }",
        "rules.FER002.require-reason = true",
        "rules.FER101.require-reason = true",
        "rules.FER101.severity = 'fatal'",
        "rules.FER1.severity = 'error'",
        "rules.FER101 = 1",
    ],
)
def test_schema_and_reader_agree(tmp_path: Path, text: str) -> None:
    project(tmp_path, {"ferrule.toml": text})
    valid = jsonschema.Draft7Validator(schema()).is_valid(tomllib.loads(text))
    if valid:
        load_settings(tmp_path)
    else:
        with pytest.raises(ConfigError):
            load_settings(tmp_path)
