"""Idle is told from busy, and from ready to run on a machine that is busy with other things."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ferrule_lint.harness import activity
from ferrule_lint.harness.activity import LOOKS, Activity, wants_to_run

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")


@pytest.fixture
def process(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    code = f"import time; print(flush=True); {request.param}"
    running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert running.stdout is not None
    running.stdout.readline()
    yield running
    running.kill()
    running.wait()
    running.stdout.close()


def looks(pid: int, count: int) -> list[bool]:
    seen, watched = [], Activity()
    for _ in range(count):
        seen.append(watched.is_flat([pid]))
        time.sleep(0.05)
    return seen


@pytest.mark.parametrize("process", ["time.sleep(600)"], indirect=True)
def test_one_that_sleeps_is_idle_after_some_looks(process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 30
    while wants_to_run(process.pid) and time.monotonic() < end:
        time.sleep(0.01)
    seen = looks(process.pid, LOOKS + 3)
    assert seen[:LOOKS] == [False] * LOOKS and seen[-1]


@pytest.mark.parametrize("process", ["exec('while True: pass')"], indirect=True)
def test_one_that_would_run_is_not_idle(process: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    assert wants_to_run(process.pid)
    # as if it never got a processor
    monkeypatch.setattr(activity, "cpu_ticks", lambda pids: 7)
    assert not any(looks(process.pid, LOOKS + 3))


def test_where_the_system_does_not_tell_nobody_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activity, "cpu_ticks", lambda pids: None)
    assert Activity().is_flat([1])
