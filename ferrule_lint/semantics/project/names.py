"""All facts of a project -> modules, classes and functions that can be looked up by name.

Imports, re-exports, aliases, relative and star imports are resolved across files. An absolute import may only start
at a source root, that is a directory which is not itself a package: else a vendored `third_party/torch/__init__.py`
would capture `import torch` for everybody. Where no root has such a file, the folders above the importing one are
asked: who starts a script that lies in a package has its folder for a root, or says so (`sys.path.append`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from ferrule_lint.facts import types as f
from ferrule_lint.facts.outline import Facts
from ferrule_lint.semantics.domain.text import dotted_name
from ferrule_lint.semantics.project.entities import ClassInfo, Entity, External, FunctionInfo, GlobalName, ModuleInfo
from ferrule_lint.semantics.project.programs import is_test
from ferrule_lint.semantics.project.reads import Reads

_DEEPEST_REEXPORT = 16


class Names:
    """Name resolution over all files of a project."""

    def __init__(
        self, files: Mapping[str, Facts], reads: Reads | None = None, is_library: Callable[[str], bool] | None = None
    ) -> None:
        """`is_library`: whether a dotted name begins like that of a library of which something is known."""
        self._is_library = is_library
        self.modules: dict[str, ModuleInfo] = {}
        self.reads = reads if reads is not None else Reads()
        self._by_suffix: dict[str, list[ModuleInfo]] = {}
        self._packages: set[str] = set()
        #: method -> the files with a class that has one of this name
        self._with_method: dict[str, list[ModuleInfo]] = {}
        #: identifier -> the files in which it stands, for those that somebody has asked for
        self._mentioning: dict[str, list[ModuleInfo]] = {}
        for path in sorted(files):
            self._add(path, files[path])

    def _add(self, path: str, facts: Facts) -> None:
        # tests are many, and next to nobody else reads them
        module = ModuleInfo(path, facts, self.reads, in_one=is_test(path))
        self.modules[path] = module
        if module.is_package:
            self._packages.add(module.name)
        for method in module.outline.methods:
            self._with_method.setdefault(method, []).append(module)
        for start in range(len(module.parts)):
            self._by_suffix.setdefault(".".join(module.parts[start:]), []).append(module)

    def methods_named(self, name: str) -> list[FunctionInfo]:
        """All methods of a name, in the order of their files; one that a later definition replaces is one, too."""
        self.reads.ask("method", name)
        return [
            function
            for module in self._with_method.get(name, ())
            for function in module.functions.values()
            if function.name == name and function.owner in module.classes and not function.is_variant
        ]

    def with_method(self, name: str) -> list[str]:
        """The files with a class that has a method of this name."""
        return [module.path for module in self._with_method.get(name, ())]

    def mentioning(self, name: str) -> list[ModuleInfo]:
        """The files in which an identifier stands."""
        self.reads.ask("mention", name)
        found = self._mentioning.get(name)
        if found is None:
            found = [module for module in self.modules.values() if name in module.outline.names]
            self._mentioning[name] = found
        return found

    def only_method(self, name: str) -> FunctionInfo | None:
        """The method of a name that only one class of the project has."""
        self.reads.ask("method", name)
        if len(self._with_method.get(name, ())) != 1:
            return None
        found = self.methods_named(name)
        return found[0] if len(found) == 1 else None

    # ------------------------------------------------------------------ modules
    def module_named(self, dotted: str, near: ModuleInfo, exact: bool) -> ModuleInfo | None:
        self.reads.ask("module", dotted)
        candidates = self._by_suffix.get(dotted)
        if not candidates:
            return None if exact else self._in_whole(dotted, near)
        if exact:
            return next((m for m in candidates if m.name == dotted), None)
        roots = [m for m in candidates if self._starts_at_root(m, dotted)]
        if not roots:
            return self._beside(candidates, dotted, near)
        best = max(roots, key=lambda m: (_shared(m.parts, near.parts), -len(m.parts), m.path))
        if len(roots) == len(candidates) or _is_above(best, dotted, near):
            return best
        # another program of the repository has such a file as well, and this one is started from within its package
        own = [m for m in candidates if _is_above(m, dotted, near)]
        return max(own, key=lambda m: len(m.parts), default=best)

    def _beside(self, candidates: list[ModuleInfo], dotted: str, near: ModuleInfo) -> ModuleInfo | None:
        """The file by a name that lies next to the one which imports it, or in a folder above, though these are
        packages. What imports relatively is no script, and finds nothing there."""
        if self._is_known(dotted) or any(relative for _, relative in (*near.bound.values(), *near.starred)):
            return None
        above = (m for m in candidates if m is not near and _is_above(m, dotted, near))
        return max(above, key=lambda m: len(m.parts), default=None)

    def _in_whole(self, dotted: str, near: ModuleInfo) -> ModuleInfo | None:
        """The file by a name that begins with one for the whole project, where its own folder is a package: that is
        called whatever somebody has called the folder. Only a file in a folder is meant so for certain."""
        head, _, rest = dotted.partition(".")
        if self._whole is None or "." not in rest or head in self._by_suffix or self._is_known(dotted):
            return None
        self.reads.ask("module", rest)
        length = len(self._whole) + rest.count(".") + 1
        return next((m for m in self._by_suffix.get(rest, ()) if m is not near and len(m.parts) == length), None)

    @cached_property
    def _whole(self) -> tuple[str, ...] | None:
        """The folder in which all files lie, if that is a package."""
        folders = [m.parts if m.is_package else m.parts[:-1] for m in self.modules.values()]
        first, last = min(folders, default=()), max(folders, default=())
        common = first[: _shared(first, last)]
        return common if ".".join(common) in self._packages else None

    def _is_known(self, dotted: str) -> bool:
        return dotted.partition(".")[0] in sys.stdlib_module_names or (
            self._is_library is not None and self._is_library(dotted)
        )

    def _starts_at_root(self, module: ModuleInfo, dotted: str) -> bool:
        length = dotted.count(".") + 1
        return len(module.parts) == length or ".".join(module.parts[: len(module.parts) - length]) not in self._packages

    def imported_by(self, module: ModuleInfo) -> Iterator[ModuleInfo]:
        """The files that the imports of a file name; no file is read for that."""
        for dotted, relative in (*module.bound.values(), *module.starred):
            name = dotted
            while name and (found := self.module_named(name, module, relative)) is None:
                name = name.rpartition(".")[0]
            if name and found is not None:
                yield found
        yield from self.called_for_by(module)

    def called_for_by(self, module: ModuleInfo) -> Iterator[ModuleInfo]:
        """The files that a file imports by a call with a name, or the beginning of one, that is written out."""
        for dotted, relative in module.called_for:
            found = [self.module_named(dotted, module, relative)]
            if dotted.endswith("."):
                below = self._below.get(dotted[:-1], ())
                found = [m for m in below if self.module_named(f"{dotted}{m.parts[-1]}", module, relative) is m]
            yield from (m for m in found if m is not None)

    @cached_property
    def _below(self) -> Mapping[str, list[ModuleInfo]]:
        """The files and packages in a package or folder, by each dotted name that this may have."""
        found: dict[str, list[ModuleInfo]] = {}
        for module in self.modules.values():
            for start in range(len(module.parts) - 1):
                found.setdefault(".".join(module.parts[start:-1]), []).append(module)
        return found

    def candidates(self, dotted: str) -> list[str]:
        """The files that an import of `dotted` may mean; those that only a relative one can, with a mark."""
        found = self._by_suffix.get(dotted, ())
        return [f"{m.path}{'' if self._starts_at_root(m, dotted) else ' .'}" for m in found]

    def lookup(self, module: ModuleInfo, name: str, seen: frozenset[tuple[str, str]] = frozenset()) -> Entity | None:
        """What a name means at module level, or None."""
        if seen:
            return self._lookup(module, name, seen)
        return module.meanings.find(name, lambda: self._lookup(module, name, seen))

    def _lookup(self, module: ModuleInfo, name: str, seen: frozenset[tuple[str, str]]) -> Entity | None:
        key = (module.path, name)
        if key in seen or len(seen) > _DEEPEST_REEXPORT:
            return None
        seen = seen | {key}
        if name in module.classes:
            return module.classes[name]
        if name in module.functions:
            return module.functions[name]
        if name in module.imports:
            dotted, relative = module.imports[name]
            found = self._absolute(dotted, module, relative, seen)
            if not isinstance(found, GlobalName) or found.module.assigned(found.name):
                return found
        if module.assigned(name):
            return GlobalName(module, name)
        for dotted, relative in module.stars:
            starred = self.module_named(dotted, module, relative)
            found = self.lookup(starred, name, seen) if starred else None
            if found is not None:
                return found
        if name in module.imports:
            return External(module.imports[name][0])
        return None

    def _absolute(self, dotted: str, near: ModuleInfo, exact: bool, seen: frozenset[tuple[str, str]]) -> Entity | None:
        module = self.module_named(dotted, near, exact)
        head, _, last = dotted.rpartition(".")
        rest: list[str] = []
        owner = self.module_named(head, near, exact) if head else None
        if owner is not None and (last in owner.classes or last in owner.functions):
            return owner.classes.get(last) or owner.functions.get(last)
        if module is not None:
            return module
        while head:
            owner = self.module_named(head, near, exact)
            if owner is not None:
                found = self.lookup(owner, last, seen) or GlobalName(owner, last)
                for attribute in rest:
                    member = self.member(found, attribute)
                    if member is None:
                        return None
                    found = member
                return found
            rest.insert(0, last)
            head, _, last = head.rpartition(".")
        return External(dotted)

    def member(self, entity: Entity, attribute: str) -> Entity | None:
        """What `entity.attribute` means where entity is a module, class or external name."""
        if isinstance(entity, ModuleInfo):
            found = self.lookup(entity, attribute)
            if found is not None:
                return found
            submodule = self.module_named(f"{entity.name}.{attribute}", entity, True)
            return submodule or GlobalName(entity, attribute)
        if isinstance(entity, ClassInfo):
            nested = entity.module.classes.get(f"{entity.qualname}.{attribute}")
            return self.method(entity, attribute) or nested
        if isinstance(entity, External):
            return External(f"{entity.dotted}.{attribute}")
        return None

    def resolve(self, expr: f.Expr | None, module: ModuleInfo) -> Entity | None:
        """What a chain of names means at module scope."""
        if type(expr) is f.Name:
            return self.lookup(module, expr.id)
        if type(expr) is f.Attr:
            base = self.resolve(expr.base, module)
            return self.member(base, expr.attr) if base is not None else None
        if type(expr) is f.Subscript:
            return self.resolve(expr.base, module)
        return None

    # ------------------------------------------------------------------ classes
    def class_of_id(self, name: str) -> ClassInfo | None:
        """The class with an id (`path:qualname`), or None."""
        path, _, qualname = name.rpartition(":")
        module = self.modules.get(path)
        return None if module is None else module.classes.get(qualname)

    def function_of_id(self, name: str) -> FunctionInfo | None:
        """The function with an id (`path:qualname`), or None."""
        path, _, qualname = name.rpartition(":")
        module = self.modules.get(path)
        return None if module is None else module.functions.get(qualname)

    def mro(self, info: ClassInfo) -> tuple[ClassInfo, ...]:
        """The class and its project bases, depth first, first seen wins; fills `external_bases`."""
        if info.own_mro is None:
            before = self.reads.begin()
            try:
                info.own_mro, info.external_bases = self._linearized(info)
                info.read = tuple(self.reads.read)
            finally:
                self.reads.end(before)
        self.reads.read.update(info.read)
        return info.own_mro

    def _linearized(self, info: ClassInfo) -> tuple[tuple[ClassInfo, ...], tuple[str, ...]]:
        info.own_mro = (info,)  # a cyclic base sees the class alone
        order: dict[str, ClassInfo] = {info.id: info}
        external: list[str] = []
        for base in info.bases:
            entity = self.resolve(base, info.module)
            if isinstance(entity, ClassInfo) and entity is not info:
                for c in self.mro(entity):
                    order.setdefault(c.id, c)
                external += entity.external_bases
            elif isinstance(entity, External):
                external.append(entity.dotted)
            else:
                external.append(dotted_name(base) or "?")
        return tuple(order.values()), tuple(external)

    def method(self, info: ClassInfo, name: str) -> FunctionInfo | None:
        for c in self.mro(info):
            if name in c.methods:
                return c.methods[name]
        return None

    def called(self, info: ClassInfo) -> FunctionInfo | None:
        """What a call of an instance runs. The `forward` of a base that leaves the work to one of several for each kind
        of device, chosen when the program runs, stands for the class's own (`forward_cuda`, `forward_native`)."""
        method = self.method(info, "__call__") or self.method(info, "forward")
        for c in self.mro(info) if method is not None and method.name == "forward" else ():
            if "forward" in c.methods:
                break
            own = next((c.methods[name] for name in _BY_DEVICE if name in c.methods), None)
            if own is not None:
                return own
        return method

    def method_after(self, info: ClassInfo, owner: ClassInfo, name: str) -> FunctionInfo | None:
        """What `super().name` means in `owner` for an instance of `info`."""
        chain = self.mro(info)
        start = next((i for i, c in enumerate(chain) if c is owner), -1)
        return next((c.methods[name] for c in chain[start + 1 :] if name in c.methods), None)

    def external_bases(self, info: ClassInfo) -> tuple[str, ...]:
        self.mro(info)
        return info.external_bases


#: methods of an operation for one kind of device, or for any
_BY_DEVICE = ("forward_cuda", "forward_native")


def _shared(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    n = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        n += 1
    return n


def _is_above(module: ModuleInfo, dotted: str, near: ModuleInfo) -> bool:
    """Whether an import of a module by this name starts from a folder that a file lies in."""
    base = module.parts[: len(module.parts) - dotted.count(".") - 1]
    return near.parts[: len(base)] == base
