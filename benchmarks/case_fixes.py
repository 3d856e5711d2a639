#!/usr/bin/env python3
"""What the fixes make of real bugs: each case of a record at its buggy commit, with all fixes applied to its file.

    python benchmarks/case_fixes.py RECORD.toml... --mirror DIR [--trees DIR] [--save OUT] [--ids A,B] [--prefer hoist]

Clones lie as DIR/owner+name/repo, nothing is downloaded. A line a case: the forms of the fixes at the bug (whose
finding touches a recorded line), how many others there are in its file, and what is wrong: a changed file that does not
compile, one changed outside the functions with findings, a finding that stays, a second run that changes something.
OUT/ID.diff keeps the diff, to be read beside the maintainers' (docs/fixes.md).

Exit code: 0 nothing is wrong, 1 something is, 2 something could not be run.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import replace

from cases import CannotRun, Case, touches, tree_at
from fixes import judge

from ferrule_lint.cli.fixing import diff_of, write
from ferrule_lint.engine import Fixed, fix
from ferrule_lint.findings import Finding
from ferrule_lint.project.config import load_settings
from ferrule_lint.project.discovery import project_root


def repaired(case: Case, tree: pathlib.Path, prefer: str) -> tuple[Fixed, list[str]]:
    """The repair of a case's file, and what is wrong with it."""
    with tempfile.TemporaryDirectory(dir=tree.parent) as scratch:
        # what is written takes the place of a link, so that the tree stays as it is whatever happens here
        copy = pathlib.Path(shutil.copytree(tree, pathlib.Path(scratch, "tree"), copy_function=os.link))
        file = copy / case.path
        settings = replace(
            load_settings(file), unsafe_fixes=True, fix_preference=prefer, root=project_root(file.parent) or copy
        )
        fixed = fix([file], settings, use_cache=False)
        write(fixed, settings)
        return fixed, judge(fixed, fix([file], settings, use_cache=False))


def lines_of(finding: Finding) -> set[int]:
    """Lines of its file that a finding names, but for where its values come from."""
    steps = [s for s in finding.witness if s.role in ("condition", "event", "call")]
    here = {place.line for place in (*steps, *finding.events) if place.path == finding.path}
    return {finding.span.line, *here}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", nargs="+", type=pathlib.Path, metavar="RECORD")
    parser.add_argument("--mirror", type=pathlib.Path, required=True, help="folder with clones as owner+name/repo")
    parser.add_argument("--trees", type=pathlib.Path, help="keep the extracted trees here")
    parser.add_argument("--save", type=pathlib.Path, metavar="OUT", help="keep the diffs here")
    parser.add_argument("--ids", help="only these cases, separated by commas")
    parser.add_argument("--prefer", choices=["agree", "hoist"], default="agree", help="the setting fix-preference")
    options = parser.parse_args(argv)
    cases = [Case(**entry) for record in options.records for entry in tomllib.loads(record.read_text("utf-8"))["case"]]
    wanted = set(options.ids.split(",")) if options.ids else {case.id for case in cases}
    code = 0
    with tempfile.TemporaryDirectory() as scratch:
        trees = options.trees.resolve() if options.trees else pathlib.Path(scratch)
        for case in cases:
            if case.id not in wanted:
                continue
            try:
                tree = tree_at(options.mirror.resolve(), trees, case, case.buggy_commit)
            except CannotRun as error:
                print(f"{case.id}: {error}")
                code = 2
                continue
            fixed, wrong = repaired(case, tree, options.prefer)
            applied = [one for one in fixed.repair.applied if one.fix is not None]
            at_bug = [one for one in applied if touches(lines_of(one), case.wanted_lines)]
            forms = ", ".join(sorted({f"{one.fix.form} ({one.code})" for one in at_bug if one.fix})) or "-"
            others = f", {len(applied) - len(at_bug)} elsewhere" if len(applied) > len(at_bug) else ""
            print(f"{case.id}: {forms}{others}" + "".join(f"\n    WRONG: {one}" for one in wrong), flush=True)
            code = max(code, int(bool(wrong)))
            if options.save is not None and fixed.repair.contents:
                options.save.mkdir(parents=True, exist_ok=True)
                (options.save / f"{case.id}.diff").write_text(diff_of(fixed), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
