"""All facts of a project -> modules, classes and functions that can be looked up by name.

Imports, re-exports, aliases, relative and star imports are resolved across files. An absolute import may only start
at a source root, that is a directory which is not itself a package: else a vendored `third_party/torch/__init__.py`
would capture `import torch` for everybody.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from ferrule_lint.facts import types as f
from ferrule_lint.facts.outline import Facts, outline, plain_name, whole
from ferrule_lint.facts.walk import walk
from ferrule_lint.semantics.domain.text import dotted_name, last_name
from ferrule_lint.semantics.project.reads import Memo, Reads

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.lattice import Value

_DEEPEST_REEXPORT = 16


class External:
    """Something outside the project, by its full dotted name."""

    __slots__ = ("dotted",)

    def __init__(self, dotted: str) -> None:
        self.dotted = dotted

    def __eq__(self, other: object) -> bool:
        return isinstance(other, External) and other.dotted == self.dotted

    def __hash__(self) -> int:
        return hash(self.dotted)


class GlobalName:
    """A module-level variable."""

    __slots__ = ("module", "name")

    def __init__(self, module: ModuleInfo, name: str) -> None:
        self.module = module
        self.name = name


class FunctionInfo:
    """A function or method of the project."""

    __slots__ = (
        "_body", "_called_on", "_calls", "_decorators", "_line",
        "id", "is_async", "is_class_method", "is_context_manager", "is_generator",
        "is_property", "is_static", "is_variant", "module",
        "name", "owner", "parameters", "parent", "qualname", "returns",
    )  # fmt: skip

    def __init__(self, module: ModuleInfo, facts: f.FunctionFacts) -> None:
        self.module = module
        self.qualname = facts.qualname
        self.name = plain_name(facts.qualname)
        self._line = facts.line
        self.parameters = facts.parameters
        self._decorators = facts.decorators
        self._body = facts.body
        self.returns = facts.returns
        self.is_generator = facts.is_generator
        self.is_async = facts.is_async
        self.owner = facts.owner
        self.parent = facts.parent
        self.id = f"{module.path}:{facts.qualname}"
        self._calls: tuple[f.Call, ...] | None = None
        #: (name, method) for each method that is called on a name here, once somebody has asked
        self._called_on: frozenset[tuple[str, str]] | None = None
        names = {last_name(d.func if type(d) is f.Call else d) for d in facts.decorators}
        self.is_property = not names.isdisjoint({"property", "cached_property", "lazy_property"})
        self.is_static = "staticmethod" in names
        #: a further definition of a property or method that is there already
        self.is_variant = not names.isdisjoint({"setter", "deleter", "overload"})
        self.is_class_method = "classmethod" in names or self.name in ("__init_subclass__", "__class_getitem__")
        self.is_context_manager = not names.isdisjoint({"contextmanager", "asynccontextmanager"})

    @property
    def body(self) -> f.Body:
        """The statements."""
        self.module.read()
        return self._body

    @property
    def line(self) -> int:
        """Where the definition begins."""
        self.module.read()
        return self._line

    @property
    def decorators(self) -> tuple[f.Expr, ...]:
        """The expressions above it, the outermost first."""
        if self._decorators:
            self.module.read()
        return self._decorators

    @property
    def calls(self) -> tuple[f.Call, ...]:
        """Every call in the body, in no order: many questions are about calls only."""
        body = self.body
        if self._calls is None:
            self._calls = tuple([node for node in walk(body) if type(node) is f.Call])
        return self._calls

    def calls_on(self, name: str) -> Iterator[str]:
        """The methods that the function calls on what a name holds."""
        calls = self.calls
        if self._called_on is None:
            funcs = [call.func for call in calls]
            self._called_on = frozenset(
                (func.base.id, func.attr) for func in funcs if type(func) is f.Attr and type(func.base) is f.Name
            )
        return (method for known, method in self._called_on if known == name)

    @property
    def display(self) -> str:
        """The function's dotted name as people write it."""
        return f"{self.module.name}.{self.qualname}".replace("@2", "").lstrip(".")


class ClassInfo:
    """A class of the project."""

    __slots__ = ("_attributes", "bases", "decorators", "external_bases", "id", "line", "methods", "module", "name",
                 "own_mro", "qualname", "read")  # fmt: skip

    def __init__(self, module: ModuleInfo, facts: f.ClassFacts) -> None:
        self.module = module
        self.qualname = facts.qualname
        self.name = plain_name(facts.qualname)
        self.line = facts.line
        self.bases = facts.bases
        self.decorators = facts.decorators
        self.methods: dict[str, FunctionInfo] = {}
        self._attributes: dict[str, f.Assign] = {}
        self.own_mro: tuple[ClassInfo, ...] | None = None
        #: what has been read for it
        self.read = 0
        self.external_bases: tuple[str, ...] = ()
        self.id = f"{module.path}:{facts.qualname}"
        for statement in facts.body:
            if type(statement) is f.Assign:
                for target in statement.targets:
                    if type(target) is f.Name:
                        self._attributes[target.id] = statement

    @property
    def attributes(self) -> dict[str, f.Assign]:
        """What is assigned in the body of the class, by name."""
        self.module.read()
        return self._attributes


class ModuleInfo:
    """A file of the project. What it defines is read when somebody first asks for it: most files never are."""

    __slots__ = ("_bit", "_body", "_classes", "_facts", "_functions", "_outer", "_reads", "_shape", "global_assigns",
                 "imports", "infers", "is_package", "meanings", "name", "outline", "parts", "path", "stars",
                 "values")  # fmt: skip

    def __init__(self, path: str, facts: Facts, reads: Reads) -> None:
        self.path = path
        parts = path[: -len(".py")].split("/") if path.endswith(".py") else path.split("/")
        self.is_package = parts[-1] == "__init__"
        self.parts = tuple(parts[:-1] if self.is_package else parts)
        self.name = ".".join(self.parts)
        self._facts = facts
        self._reads = reads
        self._bit, self._shape = reads.bit(("file", path)), reads.bit(("shape", path))
        self._body: f.Body | None = None
        self._classes: dict[str, ClassInfo] = {}
        self._functions: dict[str, FunctionInfo] = {}
        self._outer: frozenset[str] = frozenset()
        #: what was known before its bodies were read; for questions to all files, since nobody notes who asks for it
        self.outline = outline(facts)
        self.imports: dict[str, tuple[str, bool]] = {}
        self.stars: list[tuple[str, bool]] = []
        self.global_assigns: dict[str, list[f.Expr]] | None = None
        #: what names have been found to mean at module level
        self.meanings: Memo[str, Entity | None] = Memo(reads)
        #: whether it only runs models, once somebody has asked; see `semantics.project.training`
        self.infers: bool | None = None
        #: values of the names that no assignment binds, once they have been asked for
        self.values: Memo[str, Value] = Memo(reads)
        for imported in self.outline.imports:
            self._add_import(imported)

    @property
    def body(self) -> f.Body:
        """The statements at the top level."""
        self._open()
        self.read()
        assert self._body is not None
        return self._body

    @property
    def classes(self) -> dict[str, ClassInfo]:
        """By qualified name."""
        self._open()
        return self._classes

    @property
    def functions(self) -> dict[str, FunctionInfo]:
        """By qualified name."""
        self._open()
        return self._functions

    @property
    def outer(self) -> frozenset[str]:
        """Qualified names of the functions that others are nested in."""
        self._open()
        return self._outer

    @property
    def mentions(self) -> frozenset[str]:
        """Every identifier that stands in an expression of the file."""
        self.read()
        return self.outline.names

    def read(self) -> None:
        """Note that what is being computed depends on all that is in the file, and not just on its shape."""
        self._reads.bits |= self._bit

    def _open(self) -> None:
        self._reads.bits |= self._shape
        if self._body is not None:
            return
        facts = whole(self._facts)
        self._body = facts.body
        self._classes = {c.qualname: ClassInfo(self, c) for c in facts.classes}
        self._functions = {fn.qualname: FunctionInfo(self, fn) for fn in facts.functions}
        self._outer = frozenset(fn.parent for fn in facts.functions if fn.parent is not None)
        for function in self._functions.values():
            self._add_method(function)

    def _add_method(self, function: FunctionInfo) -> None:
        if function.owner is None or function.owner not in self._classes:
            return
        methods = self._classes[function.owner].methods
        if function.name in methods and function.is_variant:
            return
        methods[function.name] = function

    def bodies(self) -> Iterator[tuple[FunctionInfo | None, f.Body]]:
        """What runs in the file: its top level (of no function), and each function."""
        yield None, self.body
        for function in self.functions.values():
            yield function, function.body

    def calls(self) -> Iterator[tuple[FunctionInfo | None, tuple[f.Call, ...]]]:
        """The calls at the top level of the file (of no function), and those of each function."""
        yield None, tuple([node for node in walk(self.body) if type(node) is f.Call])
        for function in self.functions.values():
            yield function, function.calls

    def _add_import(self, i: f.Import) -> None:
        if i.name is None:
            bound = i.alias or i.module.partition(".")[0]
            self.imports.setdefault(bound, (i.module if i.alias else bound, False))
            return
        target, relative = i.module, False
        if i.level:
            base = list(self.parts if self.is_package else self.parts[:-1])
            if i.level > 1:
                base = base[: len(base) - (i.level - 1)]
            target, relative = ".".join([*base, *([i.module] if i.module else [])]), True
        if i.name == "*":
            self.stars.append((target, relative))
        else:
            full = f"{target}.{i.name}" if target else i.name
            known = self.imports.setdefault(i.alias or i.name, (full, relative))
            if relative and not known[1] and full.endswith(f".{known[0]}"):
                # the same file under another name: tried as a program first, then as a part of the package
                self.imports[i.alias or i.name] = (full, relative)

    def assigned(self, name: str) -> list[f.Expr]:
        """Every expression assigned to a module-level name, also inside module-level `if` and `try`."""
        body = self.body
        if self.global_assigns is None:
            self.global_assigns = {}
            for statement in _flat(body):
                if type(statement) is f.Assign and statement.value is not None:
                    for target in statement.targets:
                        if type(target) is f.Name:
                            self.global_assigns.setdefault(target.id, []).append(statement.value)
        return self.global_assigns.get(name, [])


Entity: TypeAlias = ClassInfo | FunctionInfo | ModuleInfo | External | GlobalName


def _flat(body: f.Body) -> Iterator[f.Stmt]:
    """The statements of a body, also those inside `if`, `try` and `with`."""
    for s in body:
        yield s
        if type(s) is f.If:
            yield from _flat(s.body)
            yield from _flat(s.orelse)
        elif type(s) is f.Try:
            yield from _flat(s.body)
            for handler in s.handlers:
                yield from _flat(handler.body)
            yield from _flat(s.orelse)
        elif type(s) is f.With:
            yield from _flat(s.body)


class Names:
    """Name resolution over all files of a project."""

    def __init__(self, files: Mapping[str, Facts]) -> None:
        self.modules: dict[str, ModuleInfo] = {}
        self.reads = Reads()
        self._by_suffix: dict[str, list[ModuleInfo]] = {}
        self._packages: set[str] = set()
        #: method -> the files with a class that has one of this name
        self._with_method: dict[str, list[ModuleInfo]] = {}
        for path in sorted(files):
            self._add(path, files[path])

    def _add(self, path: str, facts: Facts) -> None:
        module = ModuleInfo(path, facts, self.reads)
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
        return [module for module in self.modules.values() if name in module.outline.names]

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
            return None
        if exact:
            return next((m for m in candidates if m.name == dotted), None)
        roots = [m for m in candidates if self._starts_at_root(m, dotted)]
        if not roots:
            return None
        return max(roots, key=lambda m: (_shared(m.parts, near.parts), -len(m.parts), m.path))

    def _starts_at_root(self, module: ModuleInfo, dotted: str) -> bool:
        length = dotted.count(".") + 1
        return len(module.parts) == length or ".".join(module.parts[: len(module.parts) - length]) not in self._packages

    def imported_by(self, module: ModuleInfo) -> Iterator[ModuleInfo]:
        """The files that the imports of a file name; no file is read for that."""
        for dotted, relative in (*module.imports.values(), *module.stars):
            name = dotted
            while name and (found := self.module_named(name, module, relative)) is None:
                name = name.rpartition(".")[0]
            if name and found is not None:
                yield found

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
    def mro(self, info: ClassInfo) -> tuple[ClassInfo, ...]:
        """The class and its project bases, depth first, first seen wins; fills `external_bases`."""
        if info.own_mro is None:
            before = self.reads.begin()
            try:
                info.own_mro, info.external_bases = self._linearized(info)
                info.read = self.reads.bits
            finally:
                self.reads.end(before)
        self.reads.bits |= info.read
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

    def method_after(self, info: ClassInfo, owner: ClassInfo, name: str) -> FunctionInfo | None:
        """What `super().name` means in `owner` for an instance of `info`."""
        chain = self.mro(info)
        start = next((i for i, c in enumerate(chain) if c is owner), -1)
        return next((c.methods[name] for c in chain[start + 1 :] if name in c.methods), None)

    def external_bases(self, info: ClassInfo) -> tuple[str, ...]:
        self.mro(info)
        return info.external_bases


def _shared(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    n = 0
    for x, y in zip(a, b, strict=False):
        if x != y:
            break
        n += 1
    return n
