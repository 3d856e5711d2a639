#!/usr/bin/env python3
"""Runs programs of others under `ferrule-lint trace`, unmodified, on two ranks of the CPU, and says what came of it.

    python scripts/trace_public.py accelerate PATH/TO/accelerate    its self-tests, which `accelerate test` starts

Of accelerate a checkout is enough, with `huggingface_hub`, `psutil`, `pyyaml` and `safetensors` installed. Nothing is
downloaded. Printed is a Markdown table: program, exit code, the last line of the report, seconds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

#: program -> modules to run, and where below the checkout they are
PROGRAMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "accelerate": (
        "src",
        (
            "accelerate.test_utils.scripts.test_script",
            "accelerate.test_utils.scripts.test_sync",
            "accelerate.test_utils.scripts.test_distributed_data_loop",
        ),
    ),
}


def trace(module: str, source: Path, seconds: float) -> tuple[int, str, float]:
    """(exit code, heading of the report, seconds) of one program."""
    paths = [str(source), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH", "")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "ACCELERATE_USE_CPU": "true", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "ferrule_lint", "trace", "--backend", "gloo", "--timeout", str(seconds)]
    start = time.monotonic()
    done = subprocess.run([*command, "-m", module], env=environment, capture_output=True, text=True)
    lines = [line for line in done.stderr.splitlines() if line.startswith(("DIVERGENCE", "TIME", "ferrule-lint:"))]
    return done.returncode, lines[-1] if lines else done.stderr.strip()[-200:], time.monotonic() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("project", choices=sorted(PROGRAMS))
    parser.add_argument("tree", type=Path)
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds for each program")
    options = parser.parse_args()
    folder, modules = PROGRAMS[options.project]
    source = options.tree.resolve() / folder
    if not source.is_dir():
        sys.exit(f"{source}: there is no such folder")
    print("| program | exit code | |\n| --- | --- | --- |")
    for module in modules:
        code, heading, seconds = trace(module, source, options.timeout)
        print(f"| `{module}` | {code} | {heading} ({seconds:.0f} s in all) |", flush=True)


if __name__ == "__main__":
    main()
