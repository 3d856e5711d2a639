"""Every rule page is well formed, and its examples behave as tagged."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import describe, lint_source

from ferrule_lint.checks.build import NAMES
from ferrule_lint.findings import Confidence
from ferrule_lint.rulebook import HEADINGS, RulePageError, load_rules, parse_page

ROOT = Path(__file__).resolve().parent.parent
RULES = load_rules()
EXAMPLES = [
    pytest.param(rule, example, id=f"{rule.code}:{example.line}-{example.kind}")
    for rule in RULES.values()
    for example in rule.examples
]


@pytest.mark.parametrize(("rule", "example"), EXAMPLES)
def test_example(rule, example, tmp_path):
    report = lint_source({"example.py": example.source}, tmp_path)
    codes = {finding.code for finding in report.findings}
    expected = {rule.code} if example.kind == "bad" else set()
    assert codes == expected, describe(report)
    assert all(finding.confidence >= Confidence.MEDIUM for finding in report.findings)
    assert all(finding.name == rule.name for finding in report.findings)
    assert all(finding.severity == rule.severity for finding in report.findings)


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_page_has_examples_of_both_kinds(rule):
    kinds = {example.kind for example in rule.examples}
    assert kinds == {"bad", "good"}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_example_lines_point_into_the_page(rule):
    lines = (ROOT / "rules" / f"{rule.code}.md").read_text(encoding="utf-8").splitlines()
    for example in rule.examples:
        assert lines[example.line - 2] == f"```python {example.kind}"
        assert lines[example.line - 1] == example.source.splitlines()[0]


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_examples_parse(rule):
    for example in rule.examples:
        if (rule.code, example.kind) == ("FER001", "bad"):
            with pytest.raises(SyntaxError):
                compile(example.source, "example.py", "exec")
        else:
            compile(example.source, "example.py", "exec")


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_case_is_linked_and_links_to_pages_resolve(rule):
    case = rule.text.partition("## A real case\n")[2].partition("\n## ")[0]
    assert re.search(r"\]\(https://github\.com/[\w.-]+/[\w.-]+/(pull|issues|commit)/\w+\)", case)
    for target in re.findall(r"\]\((FER\d{3})\.md\)", rule.text):
        assert target in RULES
    assert all(code in RULES for code in re.findall(r"ignore\[(FER\d{3})\]", rule.text))


#: a source distribution has the tests, but neither changelog nor documentation
in_checkout = pytest.mark.skipif(not (ROOT / "CHANGELOG.md").exists(), reason="not a checkout")


@in_checkout
def test_changelog_lists_the_same_rules():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\* `(FER\d{3})` ([a-z0-9-]+)", changelog, re.MULTILINE))
    assert listed == {rule.code: rule.name for rule in RULES.values()}


def test_code_knows_the_same_rules():
    assert {rule.code: rule.name for rule in RULES.values()} == NAMES


@in_checkout
def test_limits_page_exists():
    assert (ROOT / "docs" / "limits.md").read_text(encoding="utf-8").startswith("# ")


# The reader of the pages: what is wrong is said with its line.

BODY = "# Title\n\n" + "".join(f"## {heading}\n\ntext\n\n" for heading in HEADINGS)


def page(body: str = BODY, **changes: str | None) -> str:
    matter: dict[str, str | None] = {
        "code": "FER199",
        "name": "some-name",
        "family": "control-flow",
        "severity": "error",
        "fix": "none",
        "since": "0.1.0",
    }
    matter.update(changes)
    lines = "".join(f"{key}: {value}\n" for key, value in matter.items() if value is not None)
    return f"---\n{lines}---\n\n{body}"


def test_good_page():
    example = "```python bad\nx = 1\ny = 2\n```\n"
    rule = parse_page(page(BODY.replace("## Examples\n", f"## Examples\n\n{example}")), "FER199.md")
    assert (rule.code, rule.name, rule.family, rule.title) == ("FER199", "some-name", "control-flow", "Title")
    assert [(one.kind, one.source) for one in rule.examples] == [("bad", "x = 1\ny = 2\n")]
    assert rule.text.startswith("\n# Title\n")


def test_a_rule_without_fixes_may_do_without_their_safety():
    assert parse_page(page(BODY.replace("## Fix safety\n\ntext\n\n", "")), "FER199.md").fix == "none"


def test_headings_inside_code_do_not_count():
    shown = "```python good\n# Not a title\n## not a heading\n```\n"
    rule = parse_page(page(BODY.replace("## Examples\n", f"## Examples\n\n{shown}")), "FER199.md")
    assert rule.examples[0].source.startswith("# Not a title")


@pytest.mark.parametrize(
    ("source", "line", "message"),
    [
        ("# Title\n", 1, "starts with front matter"),
        ("---\ncode: FER199\n", 2, "no closing"),
        ("---\ncode FER199\n---\n", 2, "expected `key: value`"),
        ("---\ncode:\n---\n", 2, "expected `key: value`"),
        (page(colour="red"), 8, "unknown key 'colour'"),
        (page(since=None), 7, "lacks 'since'"),
        (page().replace("since:", "code: FER198\nsince:"), 7, "'code' is given twice"),
        (page(code="FER1"), 2, "code 'FER1'"),
        (page(name="Some Name"), 3, "name 'Some Name'"),
        (page(family="shape"), 4, "family 'shape'"),
        (page(severity="fatal"), 5, "severity 'fatal'"),
        (page(fix="maybe"), 6, "fix 'maybe'"),
        (page(since="soon"), 7, "since 'soon'"),
        (page(BODY.replace("# Title\n", "", 1)), 9, "no title"),
        (page(BODY + "## More\n"), 10 + 4 * len(HEADINGS) + 2, "unexpected heading `## More`"),
        (page(BODY.replace("## Fix", "## Repair")), 28, "expected `## Fix`"),
        (page(BODY.replace("## Fix safety\n\ntext\n\n", ""), fix="safe"), 32, "expected `## Fix safety`"),
        (page(BODY.partition("## References")[0]), 39, "lacks `## References`"),
        (page(BODY + "```python worse\n```\n"), 44, "unknown example tag 'worse'"),
        (page(BODY + "```python bad\nx = 1\n"), 44, "never closed"),
    ],
)
def test_malformed_page(source, line, message):
    with pytest.raises(RulePageError, match=re.escape(message)) as caught:
        parse_page(source, "rules/FER199.md")
    assert (caught.value.path, caught.value.line) == ("rules/FER199.md", line)
    assert str(caught.value).startswith(f"rules/FER199.md:{line}: ")


def test_pages_in_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("ferrule_lint.rulebook.rules_dir", lambda: tmp_path)
    (tmp_path / "models").mkdir()
    (tmp_path / "README.md").write_text("not a page")
    (tmp_path / "FER199.md").write_text(page())
    (tmp_path / "FER101.md").write_text(page(code="FER101", name="other-name"))
    assert list(load_rules()) == ["FER101", "FER199"]
    (tmp_path / "FER101.md").write_text(page(code="FER101"))
    with pytest.raises(RulePageError, match="is called 'some-name' too"):
        load_rules()
    (tmp_path / "FER101.md").write_text(page(code="FER102", name="other-name"))
    with pytest.raises(RulePageError, match=r"has to be called FER102\.md"):
        load_rules()
