"""Reads what the ranks of a dead job have left behind (Flight Recorder dumps) and finds the first difference."""
