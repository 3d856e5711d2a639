#!/bin/sh
# Build the documentation site into `site/` (or the folder given), in an environment of its own. Warnings are errors.
set -eu
cd "$(dirname "$0")/.."

venv=.venv-docs
[ -x "$venv/bin/sphinx-build" ] || {
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
}
"$venv/bin/sphinx-build" -W --keep-going -q -c docs . "${1:-site}"
echo "The site begins with ${1:-site}/index.html"
