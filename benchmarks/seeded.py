#!/usr/bin/env python3
"""Bugs put into real code: how many of them are found?

    python benchmarks/seeded.py TREE... [--guards 20] [--agreements 60] [--seed 0]

Two kinds, each in one statement of one file, with the rest of the tree as it is:

* *guard*: a call of a function that communicates is put under `if torch.distributed.get_rank() == 0`. Which functions
  communicate is told from their text alone: one that is defined once in the tree and calls a collective of
  `torch.distributed`, or, over at most four calls, one that does.
* *agreement*: an `all_reduce` or `broadcast` of a variable is taken out, if conditions or loops below ask for the
  variable. It counts only if one of them decides over collectives: if the analysis would report it once it is told
  that the condition differs.

A bug is found if there is a finding, at the default confidence, that was not there before (of a guard: that points at
the statement). The lines of what is not found are printed: not every agreement is about something that ranks disagree
on. Bugs of this kind are written into functions that exist, so they say how far the analysis sees through real code;
they say nothing of bugs that nobody thinks of (see docs/accuracy.md).
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import pathlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from ferrule_lint.checks import branches, loops
from ferrule_lint.checks.run import check
from ferrule_lint.facts.types import FileFacts
from ferrule_lint.findings import Confidence, Finding
from ferrule_lint.frontend.errors import SourceError
from ferrule_lint.frontend.lower import extract
from ferrule_lint.models.loader import load_models
from ferrule_lint.semantics.analysis import Analysis
from ferrule_lint.semantics.domain.conditions import Atom, Connective, Formula, Negation
from ferrule_lint.semantics.domain.lattice import Divergence
from ferrule_lint.semantics.domain.trace import Attempt, Choice, Loop, Trace

_COLLECTIVES = frozenset(
    "all_reduce all_gather all_gather_into_tensor all_gather_object broadcast broadcast_object_list barrier "
    "reduce_scatter reduce_scatter_tensor all_to_all all_to_all_single gather_object scatter_object_list".split()
)
_AGREEING = frozenset("all_reduce broadcast broadcast_object_list".split())
_MODULES = frozenset(["dist", "torch.distributed"])
_ASIDE = ("test", "example", "third_party", "docs/", "tools/", "benchmark", "script")
_DEEPEST = 4
_STACK = 10_000
_FORCED = Divergence(frozenset({"world", "dp", "tp", "pp", "cp", "ep"}), "data", (), Confidence.MEDIUM)

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Seed:
    path: str
    function: FunctionNode
    statement: ast.Expr | ast.Assign
    #: "guard" or "agreement"
    kind: str

    def applied(self, source: str) -> str:
        """The file with the bug."""
        lines = source.split("\n")
        first, last, column = self.statement.lineno - 1, self.statement.end_lineno or 0, self.statement.col_offset
        indent = " " * column
        new = [indent + "pass", *[""] * (last - first - 1)]  # what is below keeps its lines
        if self.kind == "guard":
            test = [indent + "import torch.distributed", indent + "if torch.distributed.get_rank() == 0:"]
            new = [*test, *("    " + line for line in lines[first:last])]
        return "\n".join([*lines[:first], *new, *lines[last:]])


# ---------------------------------------------------------------------- where
def own(function: FunctionNode) -> Iterator[ast.AST]:
    """What a function does itself, without the functions and classes in it."""
    stack: list[ast.AST] = list(function.body)
    while stack:
        node = stack.pop()
        yield node
        if not isinstance(node, FunctionNode | ast.ClassDef | ast.Lambda):
            stack += ast.iter_child_nodes(node)


def called(node: ast.AST) -> str:
    """The last name of what is called."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def is_collective(node: ast.AST) -> bool:
    if called(node) not in _COLLECTIVES or not isinstance(node, ast.Call):
        return False
    return isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in _MODULES


def communicating(functions: dict[str, list[FunctionNode]]) -> set[str]:
    """Names of functions that are defined once and communicate."""
    single = {n: f[0] for n, f in functions.items() if len(f) == 1 and n not in _COLLECTIVES and not n.startswith("__")}
    known = {name for name, f in single.items() if any(map(is_collective, own(f)))}
    for _ in range(_DEEPEST - 1):
        known |= {name for name, f in single.items() if any(called(x) in known for x in own(f))}
    return known


def asked_for(seed: Seed) -> set[int]:
    """Lines of the conditions and loops below an agreement that ask for its variable, or for what is made of it."""
    nodes = [n for n in own(seed.function) if getattr(n, "lineno", 0) > seed.statement.lineno]
    call = seed.statement.value
    assert isinstance(call, ast.Call) and isinstance(call.args[0], ast.Name)
    names = {call.args[0].id}
    for _ in range(3):
        for node in nodes:
            if isinstance(node, ast.Assign) and mentions(node.value, names):
                names |= {n.id for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)}
    tests = [
        (n, n.iter if isinstance(n, ast.For) else n.test) for n in nodes if isinstance(n, ast.If | ast.While | ast.For)
    ]
    return {node.lineno for node, test in tests if mentions(test, names)}


def mentions(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(node))


def seeds(files: dict[str, ast.Module]) -> Iterator[Seed]:
    every = [(p, n) for p, tree in files.items() for n in ast.walk(tree) if isinstance(n, FunctionNode)]
    by_name: dict[str, list[FunctionNode]] = {}
    for _, function in every:
        by_name.setdefault(function.name, []).append(function)
    known = communicating(by_name)
    for path, function in every:
        if any(word in path.lower() for word in _ASIDE):
            continue
        for node in own(function):
            if not isinstance(node, ast.Expr | ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            if called(node.value) in known:
                yield Seed(path, function, node, "guard")
            arguments = node.value.args
            if called(node.value) in _AGREEING and is_collective(node.value) and isinstance(node, ast.Expr):
                seed = Seed(path, function, node, "agreement")
                if arguments and isinstance(arguments[0], ast.Name) and asked_for(seed):
                    yield seed


# ---------------------------------------------------------------------- found?
class Tree:
    """A project, and what is found in it with one of its files changed."""

    def __init__(self, root: pathlib.Path) -> None:
        self.models = load_models()
        self.sources: dict[str, str] = {}
        self.facts: dict[str, FileFacts] = {}
        self.parsed: dict[str, ast.Module] = {}
        for path in sorted(root.rglob("*.py")):
            name = path.relative_to(root).as_posix()
            try:
                self.facts[name] = extract(path.read_bytes())
                self.sources[name] = path.read_text("utf-8")
                self.parsed[name] = ast.parse(self.sources[name])
            except (SourceError, SyntaxError, ValueError):
                continue
        self._before: dict[str, set[tuple[str, str]]] = {}

    def with_bug(self, seed: Seed) -> dict[str, FileFacts] | None:
        source = seed.applied(self.sources[seed.path])
        try:
            return {**self.facts, seed.path: extract(source.encode())}
        except SourceError:
            return None

    def new(self, facts: dict[str, FileFacts], path: str) -> list[Finding]:
        """What is found at the default confidence and was not before."""
        if path not in self._before:
            self._before[path] = {(f.code, f.message) for f in check(self.facts, [path], self.models).findings}
        found = check(facts, [path], self.models).findings
        return [f for f in found if f.confidence > Confidence.LOW and (f.code, f.message) not in self._before[path]]

    def decides(self, facts: dict[str, FileFacts], seed: Seed) -> bool:
        """Whether one of the conditions that ask for what was agreed on decides over collectives."""
        lines = asked_for(seed)
        analysis = Analysis(facts, self.models, ())
        for function in analysis.names.modules[seed.path].functions.values():
            known = analysis.frame_of(function) if function.name == seed.function.name else None
            if known is None:
                continue
            trace = forced(known[0].trace, lines)
            reported = (*branches.check(trace, function.name), *loops.check(trace, function.name))
            if any(step.line in lines for finding in reported for step in finding.witness):
                return True
        return False


def forced(trace: Trace, lines: set[int]) -> Trace:
    """A trace in which the tests and numbers of rounds on some lines differ between ranks."""
    terms = []
    for term in trace:
        if type(term) is Choice:
            formula = differing(term.formula) if term.pos[0] in lines else term.formula
            terms.append(
                term._replace(formula=formula, body=forced(term.body, lines), orelse=forced(term.orelse, lines))
            )
        elif type(term) is Loop:
            trip = _FORCED if term.pos[0] in lines else term.trip
            terms.append(term._replace(body=forced(term.body, lines), trip=trip))
        elif type(term) is Attempt:
            handlers = tuple((line, forced(handler, lines)) for line, handler in term.handlers)
            terms.append(term._replace(body=forced(term.body, lines), handlers=handlers))
        else:
            terms.append(term)
    return tuple(terms)


def differing(formula: Formula) -> Formula:
    if type(formula) is Atom:
        return formula._replace(key=formula.key.lstrip("="), divergence=formula.divergence or _FORCED)
    if type(formula) is Negation:
        return Negation(differing(formula.operand))
    if type(formula) is Connective:
        return formula._replace(operands=tuple(map(differing, formula.operands)))
    return formula


def judged(tree: Tree, seed: Seed) -> bool | None:
    """Whether a bug is found; None if it is none."""
    facts = tree.with_bug(seed)
    if facts is None or (seed.kind == "agreement" and not tree.decides(facts, seed)):
        return None
    found = tree.new(facts, seed.path)
    if seed.kind == "agreement":
        return bool(found)
    first, last = seed.statement.lineno, (seed.statement.end_lineno or 0) + 3
    return any(first <= line <= last for f in found for line in (f.span.line, *(e.line for e in f.events)))


def drawn(every: list[Seed], number: int, salt: str) -> list[Seed]:
    def key(seed: Seed) -> str:
        return hashlib.sha256(f"{salt}{seed.path}:{seed.statement.lineno}".encode()).hexdigest()

    return sorted(every, key=key)[:number]


def main() -> None:
    parser = argparse.ArgumentParser(description="Bugs put into real code: how many of them are found?")
    parser.add_argument("trees", nargs="+", type=pathlib.Path, metavar="TREE")
    parser.add_argument("--guards", type=int, default=20, help="at most so many of each tree")
    parser.add_argument("--agreements", type=int, default=60, help="at most so many of each tree are looked at")
    parser.add_argument("--seed", default="0", help="decides which are drawn")
    options = parser.parse_args()
    sys.setrecursionlimit(_STACK)
    total = {"guard": [0, 0], "agreement": [0, 0]}
    for root in options.trees:
        tree = Tree(root)
        every = list(seeds(tree.parsed))
        for kind, number in (("guard", options.guards), ("agreement", options.agreements)):
            results = []
            for seed in drawn([s for s in every if s.kind == kind], number, options.seed):
                result = judged(tree, seed)
                if result is None:
                    continue
                results.append(result)
                if not result:
                    place = f"{seed.path}:{seed.statement.lineno}"
                    print(f"  not found: {kind} {place} {ast.unparse(seed.statement)[:80]}", flush=True)
            total[kind][0] += sum(results)
            total[kind][1] += len(results)
            print(f"{root.name}: {kind} {sum(results)} of {len(results)}", flush=True)
    for kind, (found, number) in total.items():
        print(f"all: {kind} {found} of {number}")


if __name__ == "__main__":
    main()
