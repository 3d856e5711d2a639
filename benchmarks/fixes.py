#!/usr/bin/env python3
"""Apply all fixes to copies of well-known projects, and see what they leave.

    python benchmarks/fixes.py DIR...              clones, which are not changed
    python benchmarks/fixes.py --save OUT DIR...   keep the diff of each project as OUT/name.diff

The `*.py` and `pyproject.toml` files of each clone go to a temporary folder, where `--fix --unsafe-fixes` is applied
and written. Then every changed file has to compile; outside the functions with the findings, the helper functions and
the imports of a file nothing may have changed; what was fixed must not be found any more; and a second run must change
nothing. A line a project is printed: findings, fixed, dropped, left, files changed, and what is wrong.

Exit code: 0 all of that holds, 1 it does not.
"""

from __future__ import annotations

import argparse
import ast
import pathlib
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ferrule_lint.cli.fixing import diff_of, write
from ferrule_lint.engine import Fixed, fix
from ferrule_lint.findings import Finding
from ferrule_lint.project.config import Settings, load_settings


def copy(clone: pathlib.Path, folder: pathlib.Path) -> None:
    """The files that a run reads, in `folder`."""
    for path in clone.rglob("*"):
        inner = path.relative_to(clone)
        wanted = path.suffix == ".py" or path.name == "pyproject.toml"
        if wanted and path.is_file() and not path.is_symlink() and ".git" not in inner.parts:
            (folder / inner).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, folder / inner)
    (folder / "pyproject.toml").touch()


def repair(folder: pathlib.Path) -> tuple[Fixed, Settings]:
    settings = replace(load_settings(folder), unsafe_fixes=True, root=folder)
    return fix([folder], settings, use_cache=False), settings


class _Outside(ast.NodeTransformer):
    """A module without imports, helpers, and what is in the functions that may change."""

    def __init__(self, may_change: set[str], known: set[str]) -> None:
        self.may_change = may_change
        self.known = known
        self.path: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.path.append(node.name)
        self.generic_visit(node)
        self.path.pop()
        return node

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST | None:
        name = ".".join([*self.path, node.name])
        if not self.path and name.startswith("_") and name not in self.known:
            return None  # a helper
        if name in self.may_change:
            node.body = [ast.Pass()]
            return node
        self.path.append(node.name)
        self.generic_visit(node)
        self.path.pop()
        return node

    visit_FunctionDef = _function
    visit_AsyncFunctionDef = _function

    def visit_Import(self, node: ast.Import) -> None:
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        return None


def changed_outside(before: bytes, after: bytes, findings: Iterable[Finding]) -> bool:
    """Whether something else differs than the functions of `findings`, helpers and imports."""
    old, new = ast.parse(before), ast.parse(after)
    known = {node.name for node in old.body if isinstance(node, ast.FunctionDef)}
    # the module's part of the name has any length
    ends = {".".join(f.function.split(".")[at:]) for f in findings for at in range(f.function.count(".") + 1)}
    return ast.dump(_Outside(ends, known).visit(old)) != ast.dump(_Outside(ends, known).visit(new))


def judge(fixed: Fixed, again: Fixed) -> list[str]:
    """What is wrong with the result of a repair, in words."""
    wrong: list[str] = []
    applied = fixed.repair.applied
    for path, after in fixed.repair.contents.items():
        here = [finding for finding in applied if finding.path == path]
        try:
            compile(after, path, "exec", dont_inherit=True)
        except (SyntaxError, ValueError) as error:
            wrong.append(f"{path} does not compile: {error}")
            continue
        if changed_outside(fixed.before[path], after, here):
            wrong.append(f"{path} is changed outside the functions with findings")
    left = Counter(finding.fingerprint for finding in fixed.report.findings)
    first = Counter(finding.fingerprint for finding in applied)
    wrong += [f"{finding.path}:{finding.span.line} is still found" for finding in applied if left[finding.fingerprint]]
    if again.repair.contents:
        wrong.append(f"a second run changes {', '.join(sorted(again.repair.contents))}")
    assert sum(first.values()) == len(applied)
    return wrong


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", nargs="+", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--save", type=pathlib.Path, metavar="OUT", help="keep the diffs here")
    options = parser.parse_args(argv)
    failed = False
    for clone in options.clones:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            copy(clone, root)
            fixed, settings = repair(root)
            written = write(fixed, settings)
            again, _ = repair(root)
            wrong = judge(fixed, again) + [
                f"{one.path}: {one.message}" for one in written.errors if "not fixed" in one.message
            ]
            applied, left = len(fixed.repair.applied), len(fixed.report.findings)
            forms = Counter(one.fix.form for one in fixed.repair.applied if one.fix is not None)
            print(
                f"{clone.name}: {applied + left} findings, {applied} fixed, {len(fixed.repair.dropped)} fixes dropped,"
                f" {left} left, {len(fixed.repair.contents)} files changed"
                + "".join(f"\n    {form}: {count}" for form, count in sorted(forms.items()))
                + "".join(f"\n    WRONG: {one}" for one in wrong),
                flush=True,
            )
            for one in fixed.repair.dropped:
                print(f"    dropped {one.finding.path}:{one.finding.span.line} {one.finding.code}: {one.reason}")
            if options.save is not None:
                options.save.mkdir(parents=True, exist_ok=True)
                (options.save / f"{clone.name}.diff").write_text(diff_of(fixed), encoding="utf-8")
            failed |= bool(wrong)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
