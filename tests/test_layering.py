"""Imports go one way, heavy ones come late, and only the outermost layer speaks."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import ferrule_lint

PACKAGE = Path(ferrule_lint.__file__).parent

#: each part of the package -> the parts it may import, besides itself
ALLOWED = {
    "findings": set(),
    "resources": set(),
    "facts": set(),
    "frontend": {"facts"},
    "models": {"resources"},
    "rulebook": {"resources"},
    "semantics": {"models", "facts", "findings"},
    "checks": {"semantics", "models", "facts", "findings"},
    "flagger": {"findings"},
    "fixes": {"flagger", "findings", "models"},
    "baseline": {"findings"},
    "merging": {"findings"},
    "suppressions": {"facts", "findings", "frontend", "project"},
    # `checks` for the types of what `why` shows
    "reporters": {"findings", "fixes", "resources", "rulebook", "checks"},
    "project": {"findings", "models", "resources", "facts"},
    "extraction": {"project", "frontend", "facts"},
    "memory": {"checks", "findings", "project"},
    "engine": {
        "extraction",
        "memory",
        "checks",
        "fixes",
        "flagger",
        "reporters",
        "suppressions",
        "project",
        "models",
        "frontend",
        "facts",
        "findings",
    },
    "server": {
        "engine",
        "inquiry",
        "checks",
        "findings",
        "project",
        "models",
        "reporters",
        "resources",
        "rulebook",
        "suppressions",
    },
    # `frontend` for the cells of notebooks
    "inquiry": {"extraction", "frontend", "checks", "findings", "project", "models"},
    "cli": {
        "inquiry",
        "server",
        "engine",
        "reporters",
        "project",
        "models",
        "rulebook",
        "resources",
        "findings",
        "fixes",
        "suppressions",
        "baseline",
        "merging",
        "harness",
    },
    "__main__": {"cli"},
    "__init__": set(),
    "py": set(),
}
#: libraries -> the only parts that may import them
RESERVED = {
    "ast": {"frontend"},
    # `frontend` where the standard parser does not take an f-string that a newer one does
    "libcst": {"flagger", "fixes", "frontend"},
    "rich": {"reporters", "cli"},
    "click": {"cli"},
    "pathspec": {"project"},
    "pygls": {"server"},
    "lsprotocol": {"server"},
    "torch": set(),
    "pytest": set(),
    "pickle": set(),
    "marshal": set(),
    "shelve": set(),
    "urllib": set(),
    "http": set(),
    "socket": set(),
}


def modules() -> Iterator[tuple[str, Path, ast.Module]]:
    """(part, path, tree) of each module but the harness', which stands apart."""
    for path in sorted(PACKAGE.rglob("*.py")):
        relative = path.relative_to(PACKAGE)
        part = relative.parts[0].removesuffix(".py")
        if part not in ("harness", "_rules"):
            yield part, relative, ast.parse(path.read_text("utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    """The dotted names that a module imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            module = node.module or ""
            yield from (f"{module}.{alias.name}" for alias in node.names)


def test_there_is_something_to_check() -> None:
    assert {"cli", "engine", "findings", "project"} <= {part for part, _, _ in modules()}


def test_imports_go_one_way() -> None:
    wrong = []
    for part, path, tree in modules():
        assert part in ALLOWED, f"{path}: a new part of the package needs its place in ALLOWED"
        for name in imported(tree):
            words = name.split(".")
            if words[0] != "ferrule_lint" or len(words) < 2 or words[1] == "__version__":
                continue
            if words[1] != part and words[1] not in ALLOWED[part]:
                wrong.append(f"{path} imports {name}")
    assert not wrong


def test_the_domain_knows_nothing_of_a_project() -> None:
    """What the analysis computes with imports nothing else of the analysis when it runs."""
    domain = [(path, tree) for part, path, tree in modules() if path.parts[:2] == ("semantics", "domain")]
    assert len(domain) > 5
    for path, tree in domain:
        names = {name for statement in tree.body for name in imported(ast.Module([statement], []))}
        at_run_time = names - {
            name
            for statement in tree.body
            if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING"
            for name in imported(ast.Module([statement], []))
        }
        others = [n for n in at_run_time if n.startswith("ferrule_lint.semantics.") and ".domain." not in n]
        assert not others, f"{path} imports {others}"


def test_libraries_are_used_where_they_belong() -> None:
    wrong = []
    for part, path, tree in modules():
        for name in imported(tree):
            library = name.split(".")[0]
            if library in RESERVED and part not in RESERVED[library]:
                wrong.append(f"{path} imports {name}")
    assert not wrong


def test_nothing_below_reporters_and_cli_prints() -> None:
    wrong = []
    for part, path, tree in modules():
        if part in ("cli", "reporters"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("print", "input"):
                wrong.append(f"{path}:{node.lineno}: {node.func.id}")
            if isinstance(node, ast.Attribute) and ast.unparse(node) in ("sys.stdout", "sys.stderr"):
                wrong.append(f"{path}:{node.lineno}: {ast.unparse(node)}")
    assert not wrong


@pytest.mark.parametrize(
    "command", ["import ferrule_lint.cli.main as m", "import ferrule_lint.cli.main as m; m.run(['-h'])"]
)
def test_start_up_is_light(command: str) -> None:
    heavy = ("rich", "libcst", "torch", "pathspec", "tomllib", "ferrule_lint.engine")
    code = f"{command}\nimport sys\nprint('loaded:', *[name for name in {heavy} if name in sys.modules])"
    # -S -E: no site module that imports things of its own, but the same path
    setup = f"import sys; sys.path[:] = {sys.path!r}\n"
    done = subprocess.run([sys.executable, "-S", "-E", "-c", setup + code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded:"


def test_linting_imports_no_torch_and_no_colour_without_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "a.py").write_text("x = 1\n")
    code = (
        "import sys\nfrom ferrule_lint.cli.main import run\nstatus = run(['.', '--no-cache'])\n"
        "print(status, [name for name in ('rich', 'libcst', 'torch') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert done.stdout.splitlines()[-1] == "0 []"
