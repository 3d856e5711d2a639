#!/usr/bin/env python3
"""Does the linter say the same of the same program written otherwise? What it says of one form only is a hole.

    python benchmarks/metamorphic.py [--rewrites NAME,NAME] [--programs WORD] [--show] [--list]

Metamorphic testing (Chen, Cheung and Yiu, 1998) needs no one who knows what is right: two programs that do the same
deserve the same findings. The programs are the examples of the rule pages, the twins (`tests/cases`) and the dataflow
specifications (`tests/dataflow`); the rewrites are in `rewrites/`. For each rewrite: to how many programs it applies,
how many findings are lost (recall: the program with the bug is silent), and how many come anew (precision: a program
is blamed for its form). `--show` prints each such program as it was rewritten.
"""

from __future__ import annotations

import argparse
import pathlib
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import libcst as cst

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))

import rewrites
from support import lint_source
from test_dataflow import SECTIONS

from ferrule_lint.rulebook import load_rules

ROOT = pathlib.Path(__file__).resolve().parent.parent

#: how many findings of each rule
Codes = Counter[str]


@dataclass(frozen=True)
class Program:
    """Files by path, with a name."""

    name: str
    files: Mapping[str, str]


@dataclass(frozen=True)
class Difference:
    """A program of whose other form the linter says something else."""

    program: Program
    rewritten: Mapping[str, str]
    lost: Codes
    gained: Codes

    @property
    def silenced(self) -> int:
        """How many findings are gone, those not counted that another rule tells now."""
        return max(0, self.lost.total() - self.gained.total())

    @property
    def blamed(self) -> int:
        """How many findings are new, those not counted that another rule told before."""
        return max(0, self.gained.total() - self.lost.total())


def all_programs() -> Iterator[Program]:
    """What the project itself says is right or wrong."""
    for code, rule in load_rules().items():
        for example in rule.examples:
            yield Program(f"rules/{code}.md:{example.line}", {"main.py": example.source})
    for path in sorted((ROOT / "tests" / "cases").glob("*/*.py")):
        yield Program(str(path.relative_to(ROOT)), {"main.py": path.read_text(encoding="utf-8")})
    for section in SECTIONS:
        yield Program(f"tests/dataflow/{section.document}.md:{section.line}", section.files)


def is_about_form(program: Program) -> bool:
    """Whether a program is about how it is written: a comment counts for the lines that it stands in."""
    return any("ferrule: " in text or "noqa: FER" in text for text in program.files.values())


def is_readable(program: Program) -> bool:
    """Whether Python and libcst can both read what a program has of Python; some are about files that nobody can."""
    try:
        for source in (text for path, text in program.files.items() if path.endswith(".py")):
            compile(source, program.name, "exec")
            cst.parse_module(source)
    except (SyntaxError, ValueError, cst.ParserSyntaxError):
        return False
    return True


def findings(files: Mapping[str, str]) -> Codes:
    """What the linter says, or nothing where it cannot read a file."""
    with tempfile.TemporaryDirectory() as folder:
        report = lint_source(dict(files), pathlib.Path(folder))
    return Counter(finding.code for finding in report.findings)


def rewritten(files: Mapping[str, str], rewrite: rewrites.Rewrite) -> dict[str, str] | None:
    """The files after a rewrite, or None where it changes nothing."""
    changed = dict(files)
    for path, source in files.items():
        if path.endswith(".py"):
            module = cst.parse_module(source)
            parts = (rewrite.moves(module) if rewrite.moves and len(files) == 1 else None) or {
                "": rewrite.apply(module)
            }
            for name, part in parts.items():
                changed[name or path] = part.code
                compile(part.code, name or path, "exec")
    return changed if changed != dict(files) else None


def differences(program: Program, before: Codes, rewrite: rewrites.Rewrite) -> Difference | None:
    """What a rewrite of a program changes, None where it does not apply."""
    after = rewritten(program.files, rewrite)
    if after is None:
        return None
    now = findings(after)
    return Difference(program, after, before - now, now - before)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try the rewrites and print what they change; 0 whatever comes out, since this measures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rewrites", default="", help="only these, by name, joined by commas")
    parser.add_argument("--programs", default="", help="only programs with this word in their name")
    parser.add_argument("--show", action="store_true", help="print programs of which something else is said")
    parser.add_argument("--list", action="store_true", help="name those programs")
    asked = parser.parse_args(arguments)
    chosen = [rewrites.ALL[name] for name in asked.rewrites.split(",") if name] or list(rewrites.ALL.values())
    programs = [
        program
        for program in all_programs()
        if asked.programs in program.name and not is_about_form(program) and is_readable(program)
    ]
    known = {program.name: findings(program.files) for program in programs}
    print(f"{len(known)} programs, {sum(map(Counter.total, known.values()))} findings")
    for rewrite in chosen:
        found = [
            difference for program in programs if (difference := differences(program, known[program.name], rewrite))
        ]
        lost = sum(known[one.program.name].total() for one in found)
        print(
            f"{rewrite.name:20} {len(found):5} programs {lost:5} findings  lost {sum(d.silenced for d in found):4}"
            f"  new {sum(d.blamed for d in found):4}   {rewrite.says}",
            flush=True,
        )
        for one in found:
            if (one.silenced or one.blamed) and (asked.list or asked.show):
                print(f"  {one.program.name}: lost {dict(one.lost)} gained {dict(one.gained)}")
                if asked.show:
                    print("\n".join(f"    | {path}\n{text}" for path, text in one.rewritten.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
