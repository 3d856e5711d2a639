"""Settings files: where they are looked for, what they may say, and how mistakes are reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from pipeline import project

from ferrule_lint.findings import Confidence
from ferrule_lint.project.config import ConfigError, Settings, describe, load_settings
from ferrule_lint.project.selection import check_codes, selects


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
sharded = ["*Block"]
models = ["models/mine.toml"]
output-format = "concise"
cache-dir = ".cache/ferrule"
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
        sharded=("*Block",),
        models=(tmp_path / "models/mine.toml",),
        output_format="concise",
        cache_dir=tmp_path / ".cache/ferrule",
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
        ("models = ['']", "expected a path"),
        ("output-format = 'jsn'", 'did you mean "json"?'),
    ],
)
def test_mistakes_have_their_line(tmp_path: Path, line: str, message: str) -> None:
    project(tmp_path, {"pyproject.toml": f"[project]\nname = 'x'\n\n[tool.ferrule-lint]\nignore = []\n{line}\n"})
    with pytest.raises(ConfigError) as caught:
        load_settings(tmp_path)
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "pyproject.toml"), 6)
    assert message in caught.value.message


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


def test_bom_and_crlf(tmp_path: Path) -> None:
    project(tmp_path, {"ferrule.toml": b'\xef\xbb\xbfselect = ["FER1"]\r\nsharded = true\r\n'})
    assert load_settings(tmp_path).sharded is True


def test_description_is_toml_that_means_the_same(tmp_path: Path) -> None:
    settings = Settings(sharded=("A*",), extend_exclude=('odd"name\\',), models=(tmp_path / "m.toml",))
    project(tmp_path, {"ferrule.toml": describe(settings)})
    again = load_settings(tmp_path)
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
    check_codes(Settings(select=("FER1", "ALL"), ignore=("FER102",)), ["FER102"])
    with pytest.raises(ConfigError, match='unknown rule code "FER2" in ignore'):
        check_codes(Settings(ignore=("FER2",)), ["FER102"])
