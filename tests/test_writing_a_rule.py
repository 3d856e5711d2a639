"""The rule that docs/writing-a-rule.md makes up works as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import expected_marks

from ferrule_lint.findings import Finding
from ferrule_lint.frontend.lower import extract
from ferrule_lint.models.loader import load_models
from ferrule_lint.semantics.analysis import Analysis

PAGE = Path(__file__).resolve().parent.parent / "docs" / "writing-a-rule.md"
if not PAGE.exists():
    pytest.skip("docs/ is not part of a source distribution", allow_module_level=True)
BLOCKS = re.findall(r"^```python( bad| good)?\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)


def findings(source: str) -> list[Finding]:
    """What the page's check says of `source`."""
    (code,) = [text for tag, text in BLOCKS if not tag]
    namespace: dict[str, object] = {}
    exec(compile(code, "page", "exec"), namespace)
    check = namespace["check"]
    analysis = Analysis({"a.py": extract(source.encode())}, load_models(()), "auto")
    found: list[Finding] = []
    for function in analysis.names.modules["a.py"].functions.values():
        known = analysis.frame_of(function)
        assert known is not None
        found += check(known[0].trace, function.display)  # type: ignore[operator]
    return found


def test_the_bad_example_is_found_and_the_good_one_is_not() -> None:
    (bad,) = [text for tag, text in BLOCKS if tag == " bad"]
    (good,) = [text for tag, text in BLOCKS if tag == " good"]
    marks = expected_marks({"a.py": bad})
    assert [(one.path, one.span.line, one.code) for one in findings(bad)] == list(marks)
    assert findings(good) == []


def test_the_places_of_wiring_are_there() -> None:
    import inspect

    from ferrule_lint.checks import build, run

    assert build.NAMES["FER104"] == "collective-in-divergent-loop"
    assert "loops.check(" in inspect.getsource(run._trace)
