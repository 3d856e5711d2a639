"""What names of a project mean: its files, classes and functions, module-level variables, and what lies outside.

A file is read when somebody first asks for what it defines, and whoever asks notes which part of it that was.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from ferrule_lint.facts import types as f
from ferrule_lint.facts.outline import Facts, outline, plain_name, whole
from ferrule_lint.facts.parts import Words, part_of_lambda, speaks_of
from ferrule_lint.facts.walk import nodes
from ferrule_lint.semantics.domain.dependences import NOTHING
from ferrule_lint.semantics.domain.text import called_name, last_name
from ferrule_lint.semantics.project.defined import Defined
from ferrule_lint.semantics.project.reads import Asked, Memo, Numbers, Reads
from ferrule_lint.semantics.project.traits import Traits

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.lattice import Value


#: arguments that have no name in a function: how many, and by which keywords
Gathered: TypeAlias = tuple[int, tuple[str, ...]]
#: between a function's id and what tells one of its spellings
SPELLED = "\0"

#: decorators and context managers that turn gradients off
WITHOUT_GRADIENT = frozenset({"no_grad", "inference_mode"})


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
        "_body", "_called_on", "_calls", "_decorators", "_line", "_number", "_of_traits", "_origin", "_spellings",
        "_traits", "decorator_names",
        "id", "is_async", "is_class_method", "is_context_manager", "is_generator",
        "is_property", "is_static", "is_variant", "module",
        "name", "owner", "parameters", "parent", "qualname", "returns", "spelling",
    )  # fmt: skip

    def __init__(self, module: ModuleInfo, facts: f.FunctionFacts) -> None:
        self.module = module
        #: of the bit of the part of the file that it is in, once that has been read
        self._number = -1
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
        #: what this is a spelling of, if it is one (see `calls.variadic`)
        self._origin: FunctionInfo | None = None
        #: the id, and more where this is what the function comes to for some number of arguments
        self.spelling = self.id
        #: what it comes to, by how many arguments and which keywords it gathers
        self._spellings: dict[Gathered, FunctionInfo] | None = None
        self._calls: tuple[f.Call, ...] | None = None
        #: (name, method) for each method that is called on a name here, once somebody has asked
        self._called_on: frozenset[tuple[str, str]] | None = None
        #: the same number for its traits alone
        self._of_traits = -1
        self._traits = Traits(facts)
        #: the last parts of the decorators' names: `lru_cache` of `@functools.lru_cache(None)`
        self.decorator_names = names = frozenset(map(called_name, facts.decorators)) or NOTHING
        self.is_property = not names.isdisjoint({"property", "cached_property", "lazy_property"})
        self.is_static = "staticmethod" in names
        #: a further definition of a property or method that is there already
        self.is_variant = not names.isdisjoint({"setter", "deleter", "overload"})
        self.is_class_method = "classmethod" in names or self.name in ("__init_subclass__", "__class_getitem__")
        self.is_context_manager = not names.isdisjoint({"contextmanager", "asynccontextmanager"})

    @property
    def origin(self) -> FunctionInfo:
        """Itself, or what this is a spelling of."""
        return self._origin or self

    @property
    def spellings(self) -> dict[Gathered, FunctionInfo]:
        """What it comes to, by how many arguments and which keywords a call has it gather."""
        if self._spellings is None:
            self._spellings = {}
        return self._spellings

    def spelled(self, parameters: tuple[f.Parameter, ...], body: f.Body, mark: str) -> FunctionInfo:
        """The same function with other parameters, and a body that speaks of them."""
        made = copy.copy(self)
        made._origin, made.spelling = self, f"{self.id}{SPELLED}{mark}"
        made.parameters, made._body = parameters, body
        made._calls = made._called_on = made._spellings = None
        return made

    @property
    def body(self) -> f.Body:
        """The statements."""
        self._noted()
        return self._body

    def _noted(self) -> None:
        if self._number < 0:
            self._number = self.module.number_of(self)
        self.module.reads.read.add(self._number)

    @property
    def traits(self) -> Traits:
        """What is asked of the statements without going through them."""
        if self._of_traits < 0:
            self._of_traits = self.module.number_of_traits(self)
        self.module.reads.read.add(self._of_traits)
        return self._traits

    @property
    def line(self) -> int:
        """Where the definition begins."""
        self._noted()
        return self._line

    @property
    def decorators(self) -> tuple[f.Expr, ...]:
        """The expressions above it, the outermost first."""
        if self._decorators:
            self._noted()
        return self._decorators

    @property
    def turns_gradients_off(self) -> bool:
        """Whether it runs without gradients by its decorators."""
        return not self.decorator_names.isdisjoint(WITHOUT_GRADIENT)

    @property
    def calls(self) -> tuple[f.Call, ...]:
        """Every call in the body, in no order: many questions are about calls only."""
        body = self.body
        if self._calls is None:
            self._calls = tuple(nodes(body, f.Call))
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

    __slots__ = ("_attributes", "_number", "bases", "decorators", "external_bases", "id", "methods", "module", "name",
                 "own_mro", "qualname", "read")  # fmt: skip

    def __init__(self, module: ModuleInfo, facts: f.ClassFacts) -> None:
        self.module = module
        self.qualname = facts.qualname
        self.name = plain_name(facts.qualname)
        self._number = -1
        self.bases = facts.bases
        self.decorators = facts.decorators
        self.methods: dict[str, FunctionInfo] = {}
        self._attributes: dict[str, f.Assign] = {}
        self.own_mro: tuple[ClassInfo, ...] | None = None
        #: what has been read for it
        self.read: Numbers = ()
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
        if self._number < 0:
            self._number = self.module.reads.number(("class", self.id))
        self.module.reads.read.add(self._number)
        return self._attributes


def by_id(classes: Iterable[ClassInfo]) -> list[ClassInfo]:
    """Classes one after the other: a set has them by where they lie in memory, which is another place in each run."""
    return sorted(classes, key=lambda info: info.id)


class ModuleInfo:
    """A file of the project. What it defines is read when somebody first asks for it: most files never are."""

    __slots__ = ("_body", "_by_name", "_calls", "_classes", "_defined", "_functions", "_names", "_outer",
                 "_rebound", "_said", "_shape", "_top", "_words", "bound", "called_for", "facts", "global_assigns",
                 "in_one", "is_package", "meanings", "name", "outline", "parts", "path", "reads", "starred",
                 "values")  # fmt: skip

    def __init__(self, path: str, facts: Facts, reads: Reads, in_one: bool = False) -> None:
        """`in_one`: whoever reads one of its functions has read all, as far as inputs go."""
        self.path = path
        self.in_one = in_one
        parts = path[: -len(".py")].split("/") if path.endswith(".py") else path.split("/")
        self.is_package = parts[-1] == "__init__"
        self.parts = tuple(parts[:-1] if self.is_package else parts)
        self.name = ".".join(self.parts)
        self.facts = facts
        self.reads = reads
        #: numbers of the parts of the file that have been read
        self._shape = self._top = self._names = self._words = self._defined = -1
        self._said: dict[Words, bool] = {}
        self._body: f.Body | None = None
        self._classes: dict[str, ClassInfo] = {}
        self._functions: dict[str, FunctionInfo] = {}
        self._outer: frozenset[str] = frozenset()
        #: the calls at the top level, once somebody has asked for them
        self._calls: tuple[f.Call, ...] | None = None
        #: what was known before its bodies were read; for questions to all files, since nobody notes who asks for it
        self.outline = outline(facts)
        #: imports and star imports, for questions to all files
        self.bound: dict[str, tuple[str, bool]] = {}
        self.starred: list[tuple[str, bool]] = []
        #: what calls import by a name that is written out; `a.` for any file of the package `a`
        self.called_for: list[tuple[str, bool]] = []
        self.global_assigns: dict[str, list[f.Expr]] | None = None
        #: what names have been found to mean at module level
        self.meanings: Memo[str, Entity | None] = Memo(reads)
        #: values of the names that no assignment binds, once they have been asked for
        self.values: Memo[str, Value] = Memo(reads)
        self._rebound: Asked[dict[str, list[str]]] = Asked(reads, "rebound")
        self._by_name: Asked[dict[str, list[tuple[FunctionInfo | None, f.Call]]]] = Asked(reads, "calls in")
        for imported in self.outline.imports:
            self._add_import(imported)

    @property
    def body(self) -> f.Body:
        """The statements at the top level."""
        self._open()
        if self._top < 0:
            self._top = self.reads.number(("top", self.path))
        self.reads.read.add(self._top)
        assert self._body is not None
        return self._body

    @property
    def classes(self) -> dict[str, ClassInfo]:
        """By qualified name."""
        self._open()
        return self._classes

    @property
    def functions(self) -> dict[str, FunctionInfo]:
        """By qualified name. Which there are is something to rest on for those who go through them; who looks one up
        rests on that alone."""
        self._open()
        return self._functions

    @property
    def outer(self) -> frozenset[str]:
        """Qualified names of the functions that others are nested in."""
        self._open()
        return self._outer

    @property
    def mentions(self) -> frozenset[str]:
        """Every identifier that stands in an expression of the file. Most edits change these: ask `mentions_any` or
        `mentions_like`, if that is all there is to know."""
        if self._names < 0:
            self._names = self.reads.number(("names", self.path))
        self.reads.read.add(self._names)
        return self.outline.names

    def mentions_any(self, words: frozenset[str]) -> bool:
        """Whether one of some words stands in an expression of the file."""
        return self._speaks_of(words)

    def mentions_like(self, pattern: re.Pattern[str]) -> bool:
        """Whether an identifier in an expression of the file has something in it that a pattern finds."""
        return self._speaks_of(pattern)

    def _speaks_of(self, words: Words) -> bool:
        if self._words < 0:
            self._words = self.reads.number(("words", self.path))
        self.reads.read.add(self._words)
        known = self._said.get(words)
        if known is None:
            self.reads.asked.add(words)
            known = self._said[words] = speaks_of(self.outline.names, words)
        return known

    @property
    def imports(self) -> dict[str, tuple[str, bool]]:
        """What names are bound to by imports: the full name, and whether it is one of a relative import."""
        self._noted()
        return self.bound

    @property
    def bases(self) -> frozenset[str]:
        """The last names of what its classes inherit from."""
        self._noted()
        return frozenset(base for _, bases in self.outline.classes for base in bases)

    @property
    def stars(self) -> list[tuple[str, bool]]:
        """What is imported with `*`, in the same form."""
        self._noted()
        return self.starred

    def _noted(self) -> None:
        if self._shape < 0:
            self._shape = self.reads.number(("shape", self.path))
        self.reads.read.add(self._shape)

    def rests_on_all(self) -> None:
        """Note that it matters which functions there are: some may be meant that no expression speaks of."""
        if self._defined < 0:
            self._defined = self.reads.number(("defined", self.path))
        self.reads.read.add(self._defined)

    def number_of(self, function: FunctionInfo) -> int:
        """Of the part of the file that a function is in."""
        if self.in_one:
            return self.reads.number(("bodies", self.path))
        root = function
        while root.parent is not None and (around := self._functions.get(root.parent)) is not None:
            root = around
        kind, name = part_of_lambda(root.qualname, root.owner) or ("body", root.qualname)
        return self.reads.number((kind, self.path if kind == "top" else f"{self.path}:{name}"))

    def number_of_traits(self, function: FunctionInfo) -> int:
        """Of what is asked of a function without going through it."""
        if self.in_one or function.parent is not None or part_of_lambda(function.qualname, function.owner):
            return self.number_of(function)
        return self.reads.number(("traits", function.id))

    def _open(self) -> None:
        self._noted()
        if self._body is not None:
            return
        facts = whole(self.facts)
        self._body = facts.body
        self._classes = {c.qualname: ClassInfo(self, c) for c in facts.classes}
        self._functions = Defined(self.rests_on_all, {fn.qualname: FunctionInfo(self, fn) for fn in facts.functions})
        self._outer = frozenset(fn.parent for fn in facts.functions if fn.parent is not None)
        for function in dict.values(self._functions):
            self._add_method(function)

    def rebinders(self, name: str) -> list[FunctionInfo]:
        """The functions that declare a name `global`: if there are any, its initial constant says little."""
        return [self.functions[qualname] for qualname in self.declared_global().get(name, ())]

    def declared_global(self) -> dict[str, list[str]]:
        """The names that functions declare `global`, each with these."""
        return self._rebound.find(self.path, self._found_global, {})

    def _found_global(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for qualname, function in self.functions.items():
            for s in function.body:
                for name in s.names if type(s) is f.ScopeDecl else ():
                    found.setdefault(name, []).append(qualname)
        return found

    def close(self) -> None:
        """Let go of what the file defines, which refers back to it."""
        for info in self._classes.values():
            info.own_mro = None  # it begins with the class itself
        self._classes, self._functions = {}, {}
        self.meanings.clear()
        self.values.clear()

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
        body = self.body
        if self._calls is None:
            self._calls = tuple(nodes(body, f.Call))
        yield None, self._calls
        for function in self.functions.values():
            yield function, function.calls

    def calls_named(self, name: str) -> list[tuple[FunctionInfo | None, f.Call]]:
        """The calls of something with a name, or with one as its last, each with the function around it."""
        found = self.calls_by_name().get(name, [])
        for function, _ in found:
            _ = self.body if function is None else function.body  # what they pass stands there
        return found

    def calls_by_name(self) -> dict[str, list[tuple[FunctionInfo | None, f.Call]]]:
        """All calls by the last name of what they call: where there are such, and no more, is for others to rest on."""
        return self._by_name.find(self.path, self._found_calls, {})

    def _found_calls(self) -> dict[str, list[tuple[FunctionInfo | None, f.Call]]]:
        found: dict[str, list[tuple[FunctionInfo | None, f.Call]]] = {}
        for function, calls in self.calls():
            for call in calls:
                found.setdefault(last_name(call.func), []).append((function, call))
        return found

    def _add_import(self, i: f.Import) -> None:
        if i.name is None:
            bound = i.alias or i.module.partition(".")[0]
            self.bound.setdefault(bound, (i.module if i.alias else bound, False))
            return
        target, relative = i.module, False
        if i.level:
            base = list(self.parts if self.is_package else self.parts[:-1])
            if i.level > 1:
                base = base[: len(base) - (i.level - 1)]
            target, relative = ".".join([*base, *([i.module] if i.module else [])]), True
        if i.name == "*":
            self.starred.append((target, relative))
        elif i.name == "":
            self.called_for.append((target if i.module or not relative else f"{target}.", relative))
        else:
            full = f"{target}.{i.name}" if target else i.name
            known = self.bound.setdefault(i.alias or i.name, (full, relative))
            if relative and not known[1] and full.endswith(f".{known[0]}"):
                # the same file under another name: tried as a program first, then as a part of the package
                self.bound[i.alias or i.name] = (full, relative)

    def assigned(self, name: str) -> list[f.Expr]:
        """Every expression assigned to a module-level name, also inside module-level `if` and `try`."""
        body = self.body
        if self.global_assigns is None:
            self.global_assigns = {}
            for statement in _flat(body):
                if type(statement) is f.Assign and statement.value is not None:
                    for target in statement.targets:
                        for variable, value in _set_to(target, statement.value):
                            self.global_assigns.setdefault(variable, []).append(value)
        return self.global_assigns.get(name, [])


Entity: TypeAlias = ClassInfo | FunctionInfo | ModuleInfo | External | GlobalName


def _set_to(target: f.Expr, value: f.Expr) -> Iterator[tuple[str, f.Expr]]:
    """The names of a target, and what each is set to: `rank, size = 0, 1`, `rank, size = start()`."""
    if type(target) is f.Name:
        yield target.id, value
    elif type(target) is f.Sequence and type(value) is f.Sequence and len(target.elements) == len(value.elements):
        for part, of_part in zip(target.elements, value.elements, strict=True):
            yield from _set_to(part, of_part)
    elif type(target) is f.Sequence and type(value) is f.Call:
        for place, part in enumerate(target.elements):
            if type(part) is f.Starred:
                break
            yield from _set_to(part, f.Subscript(value, f.Const(str(place)), value.pos))


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
