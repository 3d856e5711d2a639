"""The pytest plugin: `@pytest.mark.ferrule(ranks=2)` runs a test's body on several ranks.

    @pytest.mark.ferrule(ranks=4)
    def test_step(): ...                    # one rank; the default process group is there

    @pytest.mark.ferrule(ranks=2, expect="divergence")
    def test_known_bug(): ...               # passes if the ranks diverge; a kind such as "shape" can be named

Fixtures and parameters are made once, in the test process, and every rank is a fork of it: nothing is pickled. Where
forks cannot be (the process has started CUDA) or are not wanted (`fresh=True`, or `hash_seeds`), every rank is an
interpreter that starts pytest for this one test. What the ranks print is shown if the test fails. Until a marked test
runs, this module imports nothing but pytest; torch and the harness come with the first one.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
import tempfile
import unittest
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from ferrule_lint.harness.forks import keep_forks_able

if TYPE_CHECKING:
    from ferrule_lint.harness.result import Result
    from ferrule_lint.harness.supervisor import Ending

#: seconds that a test may take if it does not say otherwise
TIMEOUT = 120.0

_MARK = "ferrule"
#: what would pass whatever it says
_NOT_AWAITED = "ferrule awaits no async function; call asyncio.run(...) in a plain one"
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_OPTIONS = {"ranks", "backend", "mode", "strict", "timeout", "expect", "flow", "limits", "fresh", "hash_seeds"}
_LINE = (
    "ferrule(ranks=2, backend='auto', mode='lockstep', strict=False, timeout=120, expect=None, flow=True, fresh=False, "
    "hash_seeds=None): run the test on this many ranks and fail if they diverge"
)


#: what the ranks raise -> what the test does where all of them do
_OUTCOMES: dict[str, Callable[[str], Any]] = {"Skipped": pytest.skip, "XFailed": pytest.xfail}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", _LINE)
    keep_forks_able()


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Refuse a marked method of a `unittest.TestCase`: pytest hands it to unittest, and no rank would be started."""
    owner = item.getparent(pytest.Class)
    if owner is None or item.get_closest_marker(_MARK) is None:
        return
    if isinstance(owner.obj, type) and issubclass(owner.obj, unittest.TestCase):
        pytest.fail("ferrule runs no method of a unittest.TestCase on ranks; write a class without it", pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a marked test on its ranks instead of here."""
    mark = pyfuncitem.get_closest_marker(_MARK)
    if mark is None:
        return None
    options = _options(mark)
    if inspect.iscoroutinefunction(pyfuncitem.obj) or inspect.isasyncgenfunction(pyfuncitem.obj):
        pytest.fail(_NOT_AWAITED, pytrace=False)
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    expect = options.pop("expect", None)
    result = _run(pyfuncitem, options)
    for rank, text in result.outputs.items():
        if text:
            pyfuncitem.add_report_section("call", f"rank {rank}", text)
    _judge(result, expect)
    return True


def _options(mark: pytest.Mark) -> dict[str, Any]:
    options = dict(mark.kwargs)
    if len(mark.args) > 1 or (mark.args and "ranks" in options):
        pytest.fail("ferrule takes one positional argument, the number of ranks", pytrace=False)
    if mark.args:
        options["ranks"] = mark.args[0]
    if unknown := sorted(set(options) - _OPTIONS):
        known = ", ".join(sorted(_OPTIONS))
        pytest.fail(f"ferrule has no option {', '.join(unknown)}; there are {known}", pytrace=False)
    _check_expected(options.get("expect"))
    options.setdefault("timeout", TIMEOUT)
    return options


def _check_expected(expect: object) -> None:
    from ferrule_lint.harness.divergence import KINDS

    kinds = ("divergence", *KINDS)
    if expect is not None and expect not in kinds:
        pytest.fail(f"expect={expect!r}: expected one of {', '.join(kinds)}", pytrace=False)


def _run(item: pytest.Function, options: dict[str, Any]) -> Result:
    from ferrule_lint.harness.api import run
    from ferrule_lint.harness.errors import HarnessError

    try:
        if _needs_fresh(options):
            from ferrule_lint.harness.node import node_of

            with tempfile.TemporaryDirectory(prefix="ferrule-") as folder:
                return run(node_of(item, folder), **{**options, "fresh": True})
        return run(body_of(item), describe=describer_of(item), **options)
    except HarnessError as error:
        reason = str(error)
    # outside of the handler, or pytest shows the error a second time as what was being handled
    pytest.fail(reason, pytrace=False)


def _needs_fresh(options: dict[str, Any]) -> bool:
    from ferrule_lint.harness.api import require_torch
    from ferrule_lint.harness.backend import choose, hardware, needs_fresh

    if options.get("mode") == "simulate":
        return False
    require_torch()
    if options.get("fresh") or options.get("hash_seeds") is not None:
        return True
    found = hardware()
    return needs_fresh(choose(options.get("backend", "auto"), options.get("ranks", 2), found), found)


def body_of(item: pytest.Function) -> Callable[[], None]:
    """The test with its fixtures."""
    arguments = {name: item.funcargs[name] for name in item._fixtureinfo.argnames}

    def body() -> None:
        returned = item.obj(**arguments)
        if hasattr(returned, "__await__") or hasattr(returned, "__aiter__"):
            pytest.fail(_NOT_AWAITED, pytrace=False)

    return body


def describer_of(item: pytest.Function) -> Callable[[BaseException], str]:
    """What the test raises, as pytest shows it."""

    def describe(error: BaseException) -> str:
        if isinstance(error, pytest.skip.Exception | pytest.xfail.Exception):
            return ""  # its name and words say all
        found = pytest.ExceptionInfo.from_exception(error)
        # the frames between here and the test are not the reader's
        return str(item.repr_failure(found))

    return describe


def _judge(result: Result, expect: str | None) -> None:
    from ferrule_lint.harness.lint import notes

    divergence = result.divergence
    raised = [one for one in result.failed if one.status == "raised"]
    for name, outcome in _OUTCOMES.items():
        if raised and all(one.error.startswith(f"{name}:") for one in result.endings.values()):
            outcome(raised[0].error.partition(": ")[2])
    if expect is not None:
        if divergence is None:
            pytest.fail(f"expected {expect}, but the ranks did not diverge\n{result.report()}", pytrace=False)
        if expect not in ("divergence", divergence.kind):
            pytest.fail(f"expected {expect}, but:\n{result.report()}", pytrace=False)
        return
    if divergence is not None:
        shown = result.with_notes(notes(divergence))
        pytest.fail(f"{shown.report()}{_tracebacks(raised)}", pytrace=False)
    if result.failed:
        pytest.fail(_tracebacks(list(result.failed)), pytrace=False)


def _tracebacks(endings: list[Ending]) -> str:
    """What was raised, once for all ranks that raised the same."""
    from ferrule_lint.harness.render import ranks_text

    alike: dict[tuple[str, str], list[Ending]] = {}
    for one in endings:
        alike.setdefault((str(one), _ADDRESS.sub("0x...", one.traceback)), []).append(one)
    texts = []
    for (words, _), same in alike.items():
        texts.append(f"{ranks_text([one.rank for one in same])} {words}\n{same[0].traceback}".rstrip())
    return "\n\n".join(texts)
