"""The control-flow trace: which lines of the user's files the main thread ran between operations.

`sys.monitoring` where Python has it (3.12), else `sys.settrace`. Only what was run since the last few operations is
kept, and it is sent only when a divergence has to be explained.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from importlib import _bootstrap
from types import CodeType, FrameType
from typing import Any

from ferrule_lint.harness.rank.sites import BACKWARD, is_user

#: lines kept between two operations; the oldest go first
MOST_LINES = 2000
#: operations whose lines are kept
MOST_SEGMENTS = 64

Line = tuple[str, int]
#: index of the operation that ended the segment, and its lines
Segment = tuple[int, list[Line]]


class Flow:
    """One trace, of the thread that makes it and calls `start`."""

    def __init__(self) -> None:
        self._current: deque[Line] = deque(maxlen=MOST_LINES)
        self._segments: deque[Segment] = deque(maxlen=MOST_SEGMENTS)
        self._thread = threading.get_ident()

    def start(self) -> None:
        if sys.version_info >= (3, 12):
            self._monitor()
        else:
            self._pause_in_imports()
            sys.settrace(self._on_call)

    def _pause_in_imports(self) -> None:
        """Importing a large package under a trace function takes many times as long."""
        bootstrap: Any = _bootstrap
        find_and_load = bootstrap._find_and_load

        def untraced(*arguments: Any) -> Any:
            trace = sys.gettrace()
            sys.settrace(None)
            try:
                return find_and_load(*arguments)
            finally:
                sys.settrace(trace)

        bootstrap._find_and_load = untraced

    def stop(self) -> None:
        if sys.version_info >= (3, 12):
            self._stop_monitor()
        else:
            sys.settrace(None)

    def cut(self, index: int) -> None:
        """An operation is issued: what was run before it is a segment.

        Of those that other threads issue this is known in a backward pass only: autograd's do on a GPU, and the traced
        thread waits for them.
        """
        if threading.get_ident() == self._thread or self._runs_backward():
            self._segments.append((index, list(self._current)))
            self._current.clear()

    def _runs_backward(self) -> bool:
        frame = sys._current_frames().get(self._thread)
        return frame is not None and frame.f_code.co_name == BACKWARD

    def export(self) -> list[Segment]:
        """The last segments, and what has been run since as segment -1."""
        return [*self._segments, (-1, list(self._current))]

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._on_line if is_user(frame.f_code.co_filename) else None

    def _on_line(self, frame: FrameType, event: str, argument: Any) -> Any:
        if event == "line":
            self._current.append((frame.f_code.co_filename, frame.f_lineno))
        return self._on_line

    if sys.version_info >= (3, 12):
        _TOOL = 4

        def _monitor(self) -> None:
            monitoring = sys.monitoring

            def on_line(code: CodeType, line: int) -> Any:
                if not is_user(code.co_filename):
                    return monitoring.DISABLE
                if threading.get_ident() == self._thread:
                    self._current.append((code.co_filename, line))
                return None

            if monitoring.get_tool(self._TOOL) is None:
                monitoring.use_tool_id(self._TOOL, "ferrule-lint")
                monitoring.register_callback(self._TOOL, monitoring.events.LINE, on_line)
                monitoring.set_events(self._TOOL, monitoring.events.LINE)

        def _stop_monitor(self) -> None:
            monitoring = sys.monitoring
            if monitoring.get_tool(self._TOOL) == "ferrule-lint":
                monitoring.set_events(self._TOOL, 0)
                monitoring.register_callback(self._TOOL, monitoring.events.LINE, None)
                monitoring.free_tool_id(self._TOOL)
