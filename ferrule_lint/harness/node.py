"""A marked test in interpreters of its own: each rank starts pytest for this one test, and takes over at its body.

For a test process that has started CUDA, whose forks could not use it, and for different hash seeds. The ranks get the
options of the test process, as pytest-xdist's workers do. Fixtures are made on every rank.
"""

from __future__ import annotations

import base64
import os
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from ferrule_lint.harness.plugin import body_of, describer_of

if TYPE_CHECKING:
    from ferrule_lint.harness.rank.body import Setup

#: options of a whole test run that one test must not follow
_ALONE: dict[str, Any] = {
    "plugins": ["no:terminal", "no:cacheprovider"],
    "capture": "no",
    "keyword": "",
    "markexpr": "",
    "collectonly": False,
    "usepdb": False,
    "dist": "no",
    "numprocesses": None,
    "tx": [],
}


@dataclass(frozen=True, slots=True)
class Node:
    """A test: its file and the rest of its id, and the options of the run that it belongs to."""

    name: str
    folder: str
    options: dict[str, Any]

    def packed(self) -> str:
        return base64.b64encode(pickle.dumps((self.name, self.folder, self.options))).decode()

    @classmethod
    def unpacked(cls, text: str) -> Node:
        return cls(*pickle.loads(base64.b64decode(text)))


def node_of(item: pytest.Function, folder: str) -> Node:
    """`item` as a fresh interpreter finds it; what its ranks write to `tmp_path` goes into `folder`."""
    config = item.config
    options = {name: value for name, value in vars(config.option).items() if _can_travel(value)}
    options.pop("file_or_dir", None)
    wanted = list(options.get("plugins") or ())
    options |= _ALONE
    options |= {
        "plugins": [*wanted, *_ALONE["plugins"]],
        "rootdir": str(config.rootpath),
        "inifilename": str(config.inipath) if config.inipath else None,
    }
    return Node(f"{item.path}::{item.nodeid.partition('::')[2]}", folder, options)


def _can_travel(value: Any) -> bool:
    try:
        return bool(pickle.dumps(value))
    except Exception:
        return False


def run_node(setup: Setup, node: Node) -> None:
    """Be one rank of the test; never returns."""
    from ferrule_lint.harness.rank.body import run_rank

    rank = _Rank(setup)
    options = {**node.options, "basetemp": os.path.join(node.folder, str(setup.rank))}
    config = pytest.Config.fromdictargs(options, [node.name])
    config.pluginmanager.register(rank, "ferrule-rank")
    code = config.hook.pytest_cmdline_main(config=config)
    # the test's body was never reached

    def give_up() -> None:
        if rank.skipped:
            pytest.skip(rank.skipped)
        raise RuntimeError(f"pytest ended with {code} on this rank before it came to the test")

    run_rank(setup, give_up, lambda error: "" if rank.skipped else rank.failed or str(error))


class _Rank:
    """The plugin that turns the one test into a rank."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self.failed = ""
        self.skipped = ""

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        from ferrule_lint.harness.rank.body import run_rank

        run_rank(self._setup, body_of(pyfuncitem), describer_of(pyfuncitem))
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._note(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._note(report)

    def _note(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.failed:
            self.failed = report.longreprtext
        elif report.skipped:
            where = report.longrepr
            self.skipped = str(where[2]).removeprefix("Skipped: ") if isinstance(where, tuple) else str(where)
