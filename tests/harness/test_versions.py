"""What leans on torch's internals says so, with torch's version, when they are not as expected."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

torch = pytest.importorskip("torch")

from ferrule_lint.cli.main import cli  # noqa: E402
from ferrule_lint.harness import HarnessError, run  # noqa: E402
from ferrule_lint.harness.rank import dispatcher  # noqa: E402

DOCS = Path(__file__).resolve().parents[2] / "docs" / "harness.md"


def test_this_torch_passes() -> None:
    dispatcher.check()


def _too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.3.1+cpu")


def _renamed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch._C, "_dispatch_keyset_full_after")


def _not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher, "install", lambda on_operation: torch.library.Library("c10d", "IMPL"))


def _unread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "__version__", "2.99.0")
    monkeypatch.setattr(dispatcher, "reduce_op", lambda arguments: "")


def _without_distributed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.distributed, "is_available", lambda: False)


WRONG = [
    (_too_old, r"torch 2\.3\.1\+cpu is too old: the harness needs 2\.4 or newer"),
    (_renamed, r"the recorder does not work with torch .*: AttributeError: .*_dispatch_keyset_full_after"),
    (_not_seen, r"the recorder does not work with torch .*: an all_reduce was recorded as \[\]"),
    (_unread, r"the recorder does not work with torch 2\.99\.0 .*: an all_reduce was recorded as .*''"),
    (_without_distributed, r"torch .* was built without torch\.distributed"),
]


@pytest.mark.parametrize(("change", "message"), WRONG, ids=[change.__name__ for change, _ in WRONG])
def test_what_is_wrong_is_said_with_the_version(
    change: Callable[[pytest.MonkeyPatch], None], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    change(monkeypatch)
    with pytest.raises(HarnessError, match=message):
        run(print)
    (tmp_path / "train.py").write_text("")
    done = CliRunner().invoke(cli, ["trace", str(tmp_path / "train.py")])
    assert done.exit_code == 2
    assert re.search(message, done.output), done.output
    assert "Traceback" not in done.output


class _Frame:
    """A function of torch's on the stack, as before torch's operations said everything themselves."""

    def __init__(self, **known: Any) -> None:
        self.f_code = type("Code", (), {"co_filename": "/torch/distributed/distributed_c10d.py"})
        self.f_locals, self.f_back = known, None


def test_what_older_operations_do_not_say_is_read_from_their_callers() -> None:
    boxed = object()
    frame: Any = _Frame(op=torch.distributed.ReduceOp.MAX, async_op=False)
    assert dispatcher.reduce_op({"reduce_op": boxed}, frame) == "MAX"
    assert dispatcher.reduce_op({"reduce_op": boxed}, None) == ""
    functional: Any = _Frame(reduceOp="sum")
    assert dispatcher.reduce_op({"reduce_op": boxed}, functional) == "SUM"
    # no flag (2.4 to 2.6), two spellings of it, none needed
    assert not dispatcher.is_async({}, frame)
    assert dispatcher.is_async({}, None)
    assert not dispatcher.is_async({"asyncOp": False}, None) and not dispatcher.is_async({"async_op": False}, None)
    assert not dispatcher.is_async({"wait_all_ranks": True}, None)


def test_docs_name_the_tested_versions() -> None:
    text = DOCS.read_text("utf-8")
    for version in dispatcher.TESTED:
        assert f"| {version} |" in text, version
