"""What goes wrong with a run of the harness itself, and what a caller may ask to be raised."""

from __future__ import annotations


class HarnessError(Exception):
    """The run could not be done: torch is missing or unsupported, a script is not there, a rank never started."""


class DivergenceError(AssertionError):
    """The ranks diverged or failed; the message is the report."""
