#!/bin/sh
# The project's test command: a fresh virtual environment, then style, types and tests.
# torch is for the harness's tests only. All three always run; the exit status is 0 only if all three passed.
set -eu
cd "$(dirname "$0")/.."

venv=.venv-test
rm -rf "$venv"
"${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs]' "${TORCH:-torch==2.13.0}" numpy

status=0
"$venv/bin/python" -m ruff check . || status=1
# beside the tests, which wait for other processes now and then
"$venv/bin/python" -m mypy >"$venv/mypy.log" 2>&1 &
types=$!
# in two processes, also where more processors are: a test of the harness starts up to eight ranks of its own
"$venv/bin/python" -m pytest -q -n "${WORKERS:-2}" || status=1
wait "$types" || status=1
cat "$venv/mypy.log"
exit "$status"
