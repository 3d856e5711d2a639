"""Which files a run reads and which it reports on.

The whole project around the given paths is read, because a divergence is often caused in one file and visible in
another; only the given paths are reported.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ferrule_lint.findings import LintError
from ferrule_lint.project.config import FILES, Settings
from ferrule_lint.project.ignore import IgnoreStack, PatternSet
from ferrule_lint.project.nearest import Nearest, Scope, scope_of

_VCS = (".git", ".hg", ".svn")
#: what notebooks end with
NOTEBOOK = ".ipynb"
_MARKERS = (*FILES, *_VCS)


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files of a run, as sorted POSIX paths relative to `root`."""

    root: Path
    read: tuple[str, ...]
    report: tuple[str, ...]
    errors: tuple[LintError, ...] = ()
    #: folders and links outside the given paths that could not be read
    unreadable: int = 0


@dataclass(slots=True)
class _Found:
    """What walks collect: absolute paths."""

    files: set[str] = field(default_factory=set)
    errors: list[tuple[str, str]] = field(default_factory=list)


def project_root(path: Path) -> Path | None:
    """The nearest folder at or above `path` with a project file or a version control folder."""
    for folder in (path, *path.parents):
        if any(os.path.exists(folder / marker) for marker in _MARKERS):
            return folder
    return None


def discover(paths: Sequence[Path | str], settings: Settings, given_content: Collection[Path] = ()) -> Discovery:
    """The files to read and to report on for `paths`; the current folder if there are none.

    The files in `given_content` (absolute paths) need not exist: their content comes from elsewhere.
    """
    given = _absolute(paths)
    folders = [_folder(path) for path in given]
    projects = [project_root(folder) for folder in folders]
    root = settings.root or find_root(paths)
    settings = replace(settings, root=root)
    walker = _Walker(root, settings)

    around = _Found()
    for project in dict.fromkeys(project for project in projects if project is not None):
        walker.walk(project, around)
    # the folder of a lone script may be /tmp or somebody's home: only it and the packages in it are read, and those of
    # the folders up to the root
    alone = [folder for folder, project in zip(folders, projects, strict=True) if project is None]
    above = (parent for folder in alone for parent in (folder, *folder.parents) if parent.is_relative_to(root))
    for folder in dict.fromkeys(above):
        walker.walk(folder, around, packages_only=True)

    reported = _Found()
    # its own, for the settings files of what is reported on: nobody minds the others
    walker = _Walker(root, settings)
    for path in given:
        if path in given_content:
            walker.add_given(path, reported)
        else:
            walker.add(path, reported)

    errors = sorted({(walker.name(path), message) for path, message in reported.errors})
    hidden = {path for path, _ in around.errors} - {path for path, _ in reported.errors}
    report = {walker.name(path) for path in reported.files}
    for name in report:
        walker.nearest.of(name)
    read = {walker.name(path) for path in around.files} | report
    read |= {walker.name(str(path)) for path in given_content if path.is_relative_to(root)}
    return Discovery(
        root=root,
        read=tuple(sorted(read)),
        report=tuple(sorted(report)),
        errors=(*(LintError(path, 0, message) for path, message in errors), *walker.nearest.errors()),
        unreadable=len(hidden),
    )


def find_root(paths: Sequence[Path | str]) -> Path:
    """The folder that a run over `paths` is relative to.

    The project of the first path, if all others lie in it; else the folder that holds all of them. Without a project
    it is the current folder, as for other linters, or that of the path where this lies elsewhere.
    """
    roots = _roots(paths)
    first = roots[0]
    if all(root.is_relative_to(first) for root in roots):
        return first
    return common_folder(roots)


def by_project(paths: Sequence[Path | str]) -> list[list[Path | str]]:
    """The paths of each project by themselves; projects inside of one that was asked for belong to it.

    Paths that are in no project are one of these groups.
    """
    if len(paths) < 2:
        return [list(paths)]
    folders = [_folder(path) for path in _absolute(paths)]
    projects = [project_root(folder) for folder in folders]
    outermost: dict[Path | None, list[Path | str]] = {}
    for path, own in zip(paths, projects, strict=True):
        around = [one for one in projects if one is not None and own is not None and own.is_relative_to(one)]
        outermost.setdefault(min(around, key=lambda one: len(one.parts), default=None), []).append(path)
    return list(outermost.values())


def common_folder(folders: Sequence[Path]) -> Path:
    """The folder that holds all of `folders`."""
    return Path(os.path.commonpath([str(folder) for folder in folders]))


def _roots(paths: Sequence[Path | str]) -> list[Path]:
    here = Path.cwd()
    folders = [_folder(path) for path in _absolute(paths)]
    return [project_root(folder) or (here if folder.is_relative_to(here) else folder) for folder in folders]


def _absolute(paths: Sequence[Path | str]) -> list[Path]:
    # absolute() and not resolve(): a link given on the command line keeps the name it was given by
    return [Path(os.path.normpath(Path(path).absolute())) for path in (paths or ["."])]


def _folder(path: Path) -> Path:
    return path if os.path.isdir(path) else path.parent


class _Excludes:
    """The patterns of `exclude` and `extend-exclude` in some settings."""

    def __init__(self, settings: Settings) -> None:
        # the last pattern that fits decides
        self._sets: tuple[tuple[Scope, PatternSet], ...] = tuple(
            (scope_of(settings, key), PatternSet.parse(patterns))
            for key, patterns in (("extend-exclude", settings.extend_exclude), ("exclude", settings.exclude))
        )

    def has(self, name: str) -> bool:
        """Whether the entry `name` itself is excluded."""
        for scope, patterns in self._sets:
            decision = patterns.decide(scope(name))
            if decision is not None:
                return decision
        return False


class _Walker:
    """Goes through folders by the settings' rules."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self._root = root
        self.nearest = Nearest(settings)
        self._excludes: dict[int, _Excludes] = {}
        self._real_root = os.path.realpath(root)

    def name(self, path: str) -> str:
        """`path` relative to the root, with slashes."""
        return Path(os.path.relpath(path, self._root)).as_posix()

    def add(self, path: Path, found: _Found) -> None:
        """What one path on the command line stands for."""
        try:
            mode = path.stat().st_mode
        except OSError as error:
            if isinstance(error, FileNotFoundError) and path.is_symlink():
                found.errors.append((str(path), f"dangling symbolic link to {os.readlink(path)}"))
            else:
                found.errors.append((str(path), _reason(error)))
            return
        if self._forces(path) and self._below_excluded(path, folder=stat.S_ISDIR(mode)):
            return
        if stat.S_ISDIR(mode):
            self.walk(path, found, suffixes=(".py", NOTEBOOK))
        elif not stat.S_ISREG(mode):
            found.errors.append((str(path), "not a regular file"))
        elif path.suffix != ".pyi":
            self._add_file(str(path), found)

    def add_given(self, path: Path, found: _Found) -> None:
        """A file on the command line whose content is known already."""
        excluded = self._forces(path) and self._below_excluded(path, folder=False)
        if path.suffix != ".pyi" and not excluded:
            self._add_file(str(path), found)

    def walk(
        self, top: Path, found: _Found, *, packages_only: bool = False, suffixes: tuple[str, ...] = (".py",)
    ) -> None:
        """Collect the Python files in `top` and below it; nobody imports a notebook, so they are read if asked for.

        `top` itself was asked for, so it is read even if it is excluded or ignored; then the patterns that leave
        it out say nothing about what is in it.
        """
        stack = self._ignores_above(top)
        prefix = self._prefix(top)
        if prefix and self._below_excluded(top, folder=True):
            prefix = ""
        pending = [(str(top), prefix, self._ignore_base(top), stack)]
        while pending:
            folder, name, base, stack = pending.pop()
            settings = self._settings_in(folder)
            if settings.respect_gitignore:
                stack = stack.with_file(Path(folder, ".gitignore"), base)
            try:
                with os.scandir(folder) as entries:
                    listed = sorted(entries, key=lambda entry: entry.name)
            except OSError as error:
                found.errors.append((folder, _reason(error)))
                continue
            for entry in listed:
                if self._is_folder(entry):
                    if packages_only and not os.path.exists(os.path.join(entry.path, "__init__.py")):
                        continue
                    if not self._left_out(settings, name, base, entry.name + "/", stack):
                        pending.append((entry.path, f"{name}{entry.name}/", f"{base}{entry.name}/", stack))
                elif entry.name.endswith(suffixes) and not self._left_out(settings, name, base, entry.name, stack):
                    self._add_entry(entry, found)

    def _settings_in(self, folder: str) -> Settings:
        """The settings that count in a folder."""
        return self.nearest.of_folder(os.path.relpath(folder, self._root))

    def _forces(self, path: Path) -> bool:
        return self._settings_in(str(path.parent)).force_exclude

    def _left_out(self, settings: Settings, name: str, base: str, entry: str, stack: IgnoreStack) -> bool:
        if self._excluded(settings, name + entry):
            return True
        return settings.respect_gitignore and stack.ignored(base + entry)

    def _excluded(self, settings: Settings, name: str) -> bool:
        """Whether settings exclude the entry `name` (relative to the root; of a folder with a slash)."""
        excludes = self._excludes.get(id(settings))
        if excludes is None:
            excludes = self._excludes[id(settings)] = _Excludes(settings)
        return excludes.has(name)

    @staticmethod
    def _is_folder(entry: os.DirEntry[str]) -> bool:
        # links to folders are not followed: loops, and the same file under two names
        try:
            return entry.is_dir(follow_symlinks=False)
        except OSError:
            return False

    def _add_entry(self, entry: os.DirEntry[str], found: _Found) -> None:
        """A directory entry that is called like a Python file."""
        try:
            if not entry.is_symlink():
                if entry.is_file(follow_symlinks=False):
                    self._add_file(entry.path, found)
                return
            if entry.is_file():
                # one that points into the project is read under its own name
                if not os.path.realpath(entry.path).startswith(self._real_root + os.sep):
                    self._add_file(entry.path, found)
            elif not entry.is_dir() and not os.path.exists(entry.path) and not entry.name.startswith(".#"):
                # ".#name.py" is how Emacs locks a file that is being edited
                target = os.readlink(entry.path)
                found.errors.append((entry.path, f"dangling symbolic link to {target}"))
        except OSError as error:
            found.errors.append((entry.path, _reason(error)))

    @staticmethod
    def _add_file(path: str, found: _Found) -> None:
        try:
            path.encode()
        except UnicodeEncodeError:
            found.errors.append((path, "the file name is not valid UTF-8"))
        else:
            found.files.add(path)

    def _prefix(self, folder: Path) -> str:
        """`folder` relative to the root, as patterns see it."""
        if folder == self._root or not folder.is_relative_to(self._root):
            return ""
        return folder.relative_to(self._root).as_posix() + "/"

    def _below_excluded(self, path: Path, *, folder: bool) -> bool:
        """Whether `path` or a folder between it and the root is excluded."""
        parts = self._prefix(path).rstrip("/").split("/")
        for count in range(1, len(parts) + 1):
            name = "/".join(parts[:count])
            settings = self.nearest.of_folder("/".join(parts[: count - 1]))
            if name and self._excluded(settings, name + ("/" if folder or count < len(parts) else "")):
                return True
        return False

    def _repository(self, folder: Path) -> Path:
        """Where `.gitignore` files begin to count for `folder`: its repository, else the root of the run."""
        for candidate in (folder, *folder.parents):
            if os.path.exists(candidate / ".git"):
                return candidate
        return self._root if folder.is_relative_to(self._root) else folder

    def _ignore_base(self, folder: Path) -> str:
        repository = self._repository(folder)
        return "" if folder == repository else folder.relative_to(repository).as_posix() + "/"

    def _ignores_above(self, folder: Path) -> IgnoreStack:
        """The ignore files that count in `folder`, but not its own.

        None, if they ignore `folder`: it was asked for all the same, and git has nothing to say inside it.
        """
        stack = IgnoreStack()
        if not self._settings_in(str(folder)).respect_gitignore:
            return stack
        repository = self._repository(folder)
        stack = stack.with_file(repository / ".git" / "info" / "exclude", "")
        base = ""
        current = repository
        for part in folder.relative_to(repository).parts:
            stack = stack.with_file(current / ".gitignore", base)
            base += part + "/"
            current /= part
            if stack.ignored(base):
                return IgnoreStack()
        return stack


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return "no such file or folder"
    if isinstance(error, PermissionError):
        return "permission denied"
    return error.strerror or str(error)
