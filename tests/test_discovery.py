"""Which files are read, which are reported, and what cannot be."""

from __future__ import annotations

import os
import random
import shutil
import socket
import subprocess
from pathlib import Path

import pytest
from pipeline import project

from ferrule_lint.project.config import Settings, load_settings
from ferrule_lint.project.discovery import discover, find_root
from ferrule_lint.project.ignore import IgnoreStack


def names(root: Path, *paths: str, settings: Settings | None = None) -> tuple[str, ...]:
    return discover([root / path for path in paths or (".",)], settings or Settings()).report


def test_project_is_read_and_paths_are_reported(tmp_path: Path) -> None:
    project(tmp_path, {"a.py": "", "pkg/b.py": "", "pkg/deep/c.py": "", "notes.txt": ""})
    found = discover([tmp_path / "pkg" / "b.py"], Settings())
    assert found.root == tmp_path
    assert found.read == ("a.py", "pkg/b.py", "pkg/deep/c.py")
    assert found.report == ("pkg/b.py",)
    assert found.errors == ()


def test_order_does_not_depend_on_the_arguments(tmp_path: Path) -> None:
    project(tmp_path, {"b.py": "", "a.py": "", "c/x.py": ""})
    assert names(tmp_path, "c", "b.py", "a.py", "b.py", "./c/x.py") == ("a.py", "b.py", "c/x.py")


@pytest.mark.parametrize("marker", ["pyproject.toml", "ferrule.toml", ".ferrule.toml", ".git/HEAD", ".hg/store"])
def test_root_is_the_nearest_project(tmp_path: Path, marker: str) -> None:
    project(tmp_path, {"outer.py": "", f"inner/{marker}": "", "inner/pkg/a.py": ""})
    found = discover([tmp_path / "inner" / "pkg"], Settings())
    assert found.root == tmp_path / "inner"
    assert found.read == ("pkg/a.py",)


def test_paths_in_several_projects(tmp_path: Path) -> None:
    for name in ("one", "two"):
        project(tmp_path / name, {"a.py": ""})
    (tmp_path / "beside.py").write_text("")
    found = discover([tmp_path / "one", tmp_path / "two" / "a.py"], Settings())
    assert found.root == tmp_path
    # both projects, but not everything between them
    assert found.read == ("one/a.py", "two/a.py")


def test_a_project_is_walked_once_however_many_of_its_files_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path, {"a.py": "", "pkg/b.py": "", "pkg/c.py": ""})
    walked: list[str] = []
    real = os.scandir

    def scandir(folder: str) -> object:
        walked.append(os.path.relpath(folder, tmp_path))
        return real(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    found = discover([tmp_path / "a.py", tmp_path / "pkg" / "b.py", tmp_path / "pkg" / "c.py"], Settings())
    assert found.report == found.read == ("a.py", "pkg/b.py", "pkg/c.py")
    assert sorted(walked) == [".", "pkg"]


def test_lone_script_reads_its_folder_but_not_everything_below(tmp_path: Path) -> None:
    for name in ("script.py", "helper.py", "package/__init__.py", "package/a.py", "other/b.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    if find_root([tmp_path / "script.py"]) != tmp_path:
        pytest.skip("the folder for temporary files lies in a project")
    found = discover([tmp_path / "script.py"], Settings())
    assert found.read == ("helper.py", "package/__init__.py", "package/a.py", "script.py")
    assert found.report == ("script.py",)


def test_lone_script_below_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("top.py", "tools/deep/script.py", "tools/deep/helper.py", "tools/lib/__init__.py", "other/b.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    monkeypatch.chdir(tmp_path)
    if find_root([tmp_path / "script.py"]) != tmp_path:
        pytest.skip("the folder for temporary files lies in a project")
    found = discover(["tools/deep/script.py"], Settings())
    assert found.root == tmp_path
    assert found.report == ("tools/deep/script.py",)
    assert found.read == ("tools/deep/helper.py", "tools/deep/script.py", "tools/lib/__init__.py", "top.py")


def test_default_excludes(tmp_path: Path) -> None:
    excluded = [".venv", "venv", "env", "build", "dist", "node_modules", "__pycache__", "lib/site-packages", ".git"]
    excluded += ["{{cookiecutter.name}}", "templates/{{ project }}"]
    project(tmp_path, {"a.py": "", **{f"{name}/x.py": "" for name in excluded}})
    assert names(tmp_path) == ("a.py",)


def test_exclude_patterns_are_relative_to_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path, {"a.py": "", "gen/a.py": "", "pkg/gen/b.py": "", "pkg/gen/c.py": "", "pkg/d_pb2.py": ""})
    settings = Settings(extend_exclude=("/gen", "pkg/gen/b.py", "*_pb2.py"))
    monkeypatch.chdir(tmp_path / "pkg")
    assert discover([Path()], settings).report == ("pkg/gen/c.py",)
    assert names(tmp_path, settings=settings) == ("a.py", "pkg/gen/c.py")


def test_named_files_are_honoured(tmp_path: Path) -> None:
    project(tmp_path, {".gitignore": "ignored.py\n", "ignored.py": "", "build/lib/x.py": "", "run": "", "a.pyi": ""})
    paths = ("ignored.py", "build/lib/x.py", "run", "a.pyi")
    assert names(tmp_path, *paths) == ("build/lib/x.py", "ignored.py", "run")
    assert names(tmp_path, *paths, settings=Settings(force_exclude=True)) == ("ignored.py", "run")
    # what is reported is read as well
    assert "build/lib/x.py" in discover([tmp_path / "build/lib/x.py"], Settings()).read


def test_named_folders_are_honoured(tmp_path: Path) -> None:
    project(
        tmp_path,
        {".gitignore": "out/\n*.tmp.py\n", "out/sub/a.py": "", "build/lib/x.py": "", "z.py": ""},
    )
    assert names(tmp_path) == ("z.py",)
    assert names(tmp_path, "build/lib") == ("build/lib/x.py",)
    assert names(tmp_path, "build") == ("build/lib/x.py",)
    assert names(tmp_path, "out") == ("out/sub/a.py",)
    assert names(tmp_path, "build", settings=Settings(force_exclude=True)) == ()


def test_nested_gitignore(tmp_path: Path) -> None:
    project(
        tmp_path,
        {
            ".gitignore": "*.gen.py\n/top.py\nlogs/\n",
            "sub/.gitignore": "!keep.gen.py\nlocal.py\n!pkg/\n",
            "a.gen.py": "",
            "top.py": "",
            "sub/top.py": "",
            "sub/keep.gen.py": "",
            "sub/local.py": "",
            "sub/pkg/x.gen.py": "",
            "sub/logs/x.py": "",
            "local.py": "",
        },
    )
    assert names(tmp_path) == ("local.py", "sub/keep.gen.py", "sub/top.py")
    # the same from below: the files above count
    assert names(tmp_path, "sub") == ("sub/keep.gen.py", "sub/top.py")
    everything = names(tmp_path, settings=Settings(respect_gitignore=False))
    assert "a.gen.py" in everything
    assert "sub/logs/x.py" in everything


def test_gitignore_of_the_repository_counts_in_a_project_inside_it(tmp_path: Path) -> None:
    project(tmp_path, {".git/info/exclude": "secret.py\n", ".gitignore": "skip.py\nlib/only_here.py\n"})
    files = {name: "" for name in ("skip.py", "secret.py", "only_here.py", "a.py")}
    project(tmp_path / "lib", files)
    assert names(tmp_path / "lib") == ("a.py",)


def test_odd_gitignores(tmp_path: Path) -> None:
    project(tmp_path, {".gitignore": b"\xef\xbb\xbffirst.py\r\n\xff\xfe\r\n[\r\n!\r\n \r\nlast.py\r\n"})
    project(tmp_path, {"first.py": "", "last.py": "", "a.py": "", "sub/b.py": ""})
    (tmp_path / "sub" / ".gitignore").mkdir()
    assert names(tmp_path) == ("a.py", "sub/b.py")


@pytest.mark.skipif(shutil.which("git") is None, reason="compares with git")
@pytest.mark.parametrize("seed", range(40))
def test_ignores_what_git_ignores(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    folders = [tmp_path]
    for _ in range(6):
        folder = rng.choice(folders) / rng.choice(["a", "b", "build", "foo"])
        folder.mkdir(exist_ok=True)
        folders.append(folder)
    for folder in folders:
        for name in ("a", "b", "build", "x.py", "y.py", "c.log"):
            if rng.random() < 0.5 and not (folder / name).exists():
                (folder / name).write_text("")
    for folder in {tmp_path, *rng.sample(folders, 2)}:
        (folder / ".gitignore").write_text("".join(f"{_pattern(rng)}\n" for _ in range(rng.randint(1, 4))))
    command = ["git", "-C", str(tmp_path), "ls-files", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert _not_ignored(tmp_path, "", IgnoreStack()) == {path for path in listed.split("\0") if path}


def _pattern(rng: random.Random) -> str:
    parts = ["a", "b", "*", "**", "*.py", "build", "x.py", "foo", "?", "[ab]", "[!a]", "b*"]
    pattern = "/".join(rng.choice(parts) for _ in range(rng.choice([1, 1, 1, 2, 2, 3])))
    if rng.random() < 0.25:
        pattern = "/" + pattern
    if rng.random() < 0.35:
        pattern += "/"
    if rng.random() < 0.35:
        pattern = "!" + pattern
    if rng.random() < 0.1:
        pattern = rng.choice(["#c", "  ", "\\!a", "a ", "/", "**/*", "a/**/b", "!*/", "*/", "**/", "a/**", "[a"])
    return pattern


def _not_ignored(folder: Path, base: str, stack: IgnoreStack) -> set[str]:
    stack = stack.with_file(folder / ".gitignore", base)
    found: set[str] = set()
    for entry in os.scandir(folder):
        name = base + entry.name
        if entry.is_dir():
            if entry.name != ".git" and not stack.ignored(name + "/"):
                found |= _not_ignored(Path(entry.path), name + "/", stack)
        elif not stack.ignored(name):
            found.add(name)
    return found


def test_links(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "real.py").write_text("")
    project(tmp_path, {"pkg/a.py": ""})
    (tmp_path / "pkg" / "loop").symlink_to(tmp_path)
    (tmp_path / "pkg" / "self").symlink_to("self")
    (tmp_path / "again.py").symlink_to("pkg/a.py")
    (tmp_path / "outside.py").symlink_to(outside / "real.py")
    (tmp_path / ".#lock.py").symlink_to("user@host.123:456")
    found = discover([tmp_path], Settings())
    # no file twice, no loop, no editor's lock; what only a link leads to is there
    assert found.report == ("outside.py", "pkg/a.py")
    assert found.errors == ()


def test_named_link_keeps_its_name(tmp_path: Path) -> None:
    project(tmp_path, {"pkg/a.py": ""})
    (tmp_path / "again.py").symlink_to("pkg/a.py")
    (tmp_path / "link").symlink_to("pkg")
    assert names(tmp_path, "again.py", "link") == ("again.py", "link/a.py")


def test_what_is_no_file(tmp_path: Path) -> None:
    project(tmp_path, {"a.py": ""})
    os.mkfifo(tmp_path / "pipe.py")
    with socket.socket(socket.AF_UNIX) as server:
        cwd = Path.cwd()
        try:
            # the path of a socket may not be long
            os.chdir(tmp_path)
            server.bind("socket.py")
        finally:
            os.chdir(cwd)
        assert names(tmp_path) == ("a.py",)
        found = discover([tmp_path / "pipe.py", tmp_path / "socket.py", Path("/dev/null")], Settings())
    assert found.report == ()
    assert [error.message for error in found.errors] == ["not a regular file"] * 3


def test_missing_path_is_an_error(tmp_path: Path) -> None:
    project(tmp_path, {"a.py": ""})
    found = discover([tmp_path / "a.py", tmp_path / "gone"], Settings())
    assert found.report == ("a.py",)
    assert [(error.path, error.message) for error in found.errors] == [("gone", "no such file or folder")]


def test_dangling_link_is_an_error_where_it_is_reported(tmp_path: Path) -> None:
    project(tmp_path, {"a.py": "", "sub/b.py": ""})
    (tmp_path / "dead.py").symlink_to("nowhere.py")
    found = discover([tmp_path], Settings())
    assert [(error.path, error.message) for error in found.errors] == [
        ("dead.py", "dangling symbolic link to nowhere.py")
    ]
    elsewhere = discover([tmp_path / "sub"], Settings())
    assert (elsewhere.errors, elsewhere.unreadable) == ((), 1)


def test_unreadable_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path, {"a.py": "", "locked/b.py": ""})
    lock(tmp_path / "locked", monkeypatch)
    for settings in (Settings(), load_settings(tmp_path)):
        found = discover([tmp_path], settings)
        assert found.report == ("a.py",)
        assert [(error.path, error.message) for error in found.errors] == [("locked", "permission denied")]
        assert discover([tmp_path / "a.py"], settings).errors == ()


def test_file_in_an_unreadable_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path, {"a.py": "", "locked/b.py": ""})
    lock(tmp_path / "locked", monkeypatch)
    found = discover([tmp_path / "locked" / "b.py"], load_settings(tmp_path / "locked" / "b.py"))
    assert [(error.path, error.message) for error in found.errors] == [("locked/b.py", "permission denied")]


def lock(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `folder` one whose mode is 000, for somebody who is not root."""
    scandir, stat = os.scandir, os.stat

    def refuse(path: str) -> object:
        if Path(path) == folder:
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    def refuse_in_it(path: object, **options: object) -> os.stat_result:
        if isinstance(path, str | Path) and folder in Path(path).parents:
            raise PermissionError(13, "Permission denied")
        return stat(path, **options)  # type: ignore[call-overload, no-any-return]

    monkeypatch.setattr(os, "scandir", refuse)
    monkeypatch.setattr(os, "stat", refuse_in_it)


def test_folder_called_like_a_file(tmp_path: Path) -> None:
    project(tmp_path, {"x.py/inner.py": ""})
    assert names(tmp_path) == ("x.py/inner.py",)
    assert names(tmp_path, "x.py") == ("x.py/inner.py",)


def test_file_name_that_is_not_utf8(tmp_path: Path) -> None:
    project(tmp_path, {"a.py": ""})
    try:
        with open(os.fsencode(tmp_path) + b"/\xff.py", "w"):
            pass
    except OSError:
        pytest.skip("the file system refuses the name")
    found = discover([tmp_path], Settings())
    assert found.report == ("a.py",)
    assert [error.message for error in found.errors] == ["the file name is not valid UTF-8"]
