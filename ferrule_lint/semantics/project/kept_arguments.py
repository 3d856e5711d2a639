"""What callers give that is kept: `Runner(Evaluator(rows))`, `Loop(callbacks=[Saver()])`, `Engine(Worker)`.

What the parameter of a constructor holds is the callers' to say, and so is that of a method that keeps it in the
instance (`loop.register(Saver())`). Where all that can be told pass an instance of one class of the project, or of a
few, it is one of these; likewise with functions, and with objects of one class of a library that models know. Of lists
and dicts it is enough to know some of the items: whatever else is in them, these are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.assigned import appended_to
from ferrule_lint.semantics.domain.dependences import NOTHING
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.targets import FunctionTarget, SeveralTarget, Target
from ferrule_lint.semantics.domain.text import last_name, place_name
from ferrule_lint.semantics.project.built_around import DEEPEST, MOVES, sources
from ferrule_lint.semantics.project.entities import ClassInfo, External, FunctionInfo, ModuleInfo
from ferrule_lint.semantics.project.options import given_by_callers

_Id = TypeVar("_Id", str, tuple[str, str])

if TYPE_CHECKING:
    from ferrule_lint.semantics.analysis import Analysis

#: what makes a list of one, or hands it back
_LISTS = frozenset({"list", "tuple", "ModuleList", "CallbackList", "filter", "sorted", "reversed"})
#: what a class of a library is told by among ids of the project's
_LIBRARY = "="
#: classes of which one parameter is said to be, and its items, which are all there; with more nothing is
_MOST_CLASSES = 3
_MOST_OF_ITEMS = 6
#: assignments to a name, or returns of a function, that are looked at; with more nothing is known of it
_MOST_SOURCES = 8


class Given(NamedTuple):
    """Ids of classes: of the instances that are given, of the items in what is given, and those given themselves; and
    of functions, each with the class of its receiver (which is empty, where there is none)."""

    instances: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    functions: tuple[tuple[str, str], ...] = ()
    #: the library class of what is given, and that of the items in it
    library: str | None = None
    library_items: str | None = None


def of_parameter(analysis: Analysis, function: FunctionInfo, name: str) -> Given:
    """What callers are seen to give for a parameter of a constructor, or of a method that keeps it in its instance."""
    if function.name != "__init__" and name not in _kept_by(analysis, function):
        return Given()
    question = f"{function.id} {name}"
    return analysis.kept_arguments.find(question, lambda: _found(analysis, function, name), Given())


def infos(analysis: Analysis, ids: Iterable[str]) -> frozenset[ClassInfo]:
    """The classes with these ids."""
    found = [analysis.names.class_of_id(cls) for cls in ids]
    return frozenset([info for info in found if info is not None])


def functions(analysis: Analysis, given: Given) -> list[FunctionTarget]:
    """The functions that are given, each with an instance of its class for a receiver."""
    found: list[FunctionTarget] = []
    for function, cls in given.functions:
        known, info = analysis.names.function_of_id(function), analysis.names.class_of_id(cls) if cls else None
        if known is not None:
            found.append(FunctionTarget(known, Value(types=frozenset({info})) if info is not None else None))
    return found


def one_of(targets: Sequence[Target]) -> Target:
    """The one that there is, or one of several."""
    return targets[0] if len(targets) == 1 else SeveralTarget(tuple([Value(target=one) for one in targets]))


def _kept_by(analysis: Analysis, function: FunctionInfo) -> frozenset[str]:
    """The names whose values a method keeps in its instance."""
    own = function.parameters[0].name if function.owner is not None and function.parameters else ""
    if not own or function.is_static or function.is_class_method:
        return NOTHING
    return analysis.bodies.once(_kept, function.body, own)


def _kept(body: f.Body, own: str) -> frozenset[str]:
    """The names that are put into an attribute of `own`: `self.x = name`, `self.x[k] = name`, `self.x.append(name)`."""
    found: set[str] = set()
    for s in statements(body):
        if type(s) is f.Assign and type(s.value) is f.Name:
            places = [place_name(t.base if type(t) is f.Subscript else t) for t in s.targets]
            found.update([s.value.id] if any(place.startswith(f"{own}.") for place in places) else ())
        elif appended_to(s).startswith(f"{own}."):
            found.update(one.id for one in _appended(s) if type(one) is f.Name)
    return frozenset(found)


def _appended(s: f.Stmt) -> tuple[f.Expr, ...]:
    return s.value.args if appended_to(s) and type(s) is f.ExprStmt and type(s.value) is f.Call else ()


def _found(analysis: Analysis, function: FunctionInfo, name: str) -> Given:
    instances: set[str] = set()
    items: set[str] = set()
    classes: set[str] = set()
    functions: set[tuple[str, str]] = set()
    certain = True
    for module, owner, given in given_by_callers(analysis, function, name):
        place = _Place(analysis, module, owner)
        if _is_open(owner, given):
            continue  # what the caller was given itself, which says nothing
        entity = analysis.names.resolve(given, module) if type(given) in (f.Name, f.Attr) else None
        if isinstance(entity, ClassInfo):
            classes.add(entity.id)
        elif run := place.function(given, entity):
            functions.add(run)
        elif (made := place.made(given)) is not None:
            instances |= made
        elif found := place.items(given):
            items |= found
        else:
            certain = False
    held = _few(_own(items), _MOST_OF_ITEMS)
    own = _own(instances)
    if certain and not (len(own) < len(instances) and (own or classes or functions)):
        told = _of_library(instances), _of_library(items)
        return Given(_few(own), held, _few(classes), _few(functions), *told)
    # many things have a method of one name, and a class one constructor
    return Given(items=held, library_items=_of_library(items)) if function.name == "__init__" else Given()


def _own(found: Iterable[str]) -> set[str]:
    """The classes of the project among some."""
    return {cls for cls in found if not cls.startswith(_LIBRARY)}


def _of_library(found: Iterable[str]) -> str | None:
    """The one class of a library among some."""
    names = [cls.removeprefix(_LIBRARY) for cls in found if cls.startswith(_LIBRARY)]
    return names[0] if len(names) == 1 else None


def _few(found: set[_Id], most: int = _MOST_CLASSES) -> tuple[_Id, ...]:
    return tuple(sorted(found)) if len(found) <= most else ()


class _Place(NamedTuple):
    """A function, or the top level of a file, in which expressions are looked at."""

    analysis: Analysis
    module: ModuleInfo
    owner: FunctionInfo | None

    def made(self, expr: f.Expr, depth: int = 0) -> set[str] | None:
        """The classes of which an expression surely makes an instance; None where it may be anything else."""
        if type(expr) is f.Name and depth < DEEPEST:
            return _together(self.made(source, depth + 1) for source in self._sources(expr.id))
        if type(expr) is not f.Call:
            return None
        if type(expr.func) is f.Attr and expr.func.attr in MOVES and not (expr.args and expr.func.attr == "type"):
            return self.made(expr.func.base, depth)
        entity = self.analysis.names.resolve(expr.func, self.module)
        if isinstance(entity, FunctionInfo) and depth < DEEPEST:
            inside = _Place(self.analysis, entity.module, entity)
            return _together(inside.made(value, depth + 1) for value in _returned(entity))
        if isinstance(entity, External) and (dotted := self._of_library(entity)) is not None:
            return {_LIBRARY + dotted}
        return {entity.id} if isinstance(entity, ClassInfo) else None

    def _of_library(self, made: External) -> str | None:
        """The library class that something is made of, if models know it; what a module is wrapped in is told by who
        hands on the wrapped module (`handed_wrapped`)."""
        model = self.analysis.models.class_(made.dotted)
        if model is not None and model.role in ("sharded", "ddp"):
            return None
        return self.analysis.models.more_than_module(made.dotted)

    def function(self, expr: f.Expr, entity: object) -> tuple[str, str] | None:
        """The function that an expression refers to, which `entity` may be, and the class of its receiver."""
        if isinstance(entity, FunctionInfo):
            return entity.id, ""
        if type(expr) is f.Lambda and (written := self.module.functions.get(expr.qualname)) is not None:
            return written.id, ""
        if type(expr) is not f.Attr or self.owner is None or self.owner.owner is None:
            return None
        own = self.owner.parameters[0].name if self.owner.parameters and not self.owner.is_static else ""
        info = self.module.classes.get(self.owner.owner)
        if info is None or type(expr.base) is not f.Name or expr.base.id != own:
            return None
        method = self.analysis.names.method(info, expr.attr)
        return None if method is None or method.is_property or method.is_static else (method.id, info.id)

    def items(self, expr: f.Expr, depth: int = 0) -> set[str]:
        """The classes of which there are instances among the items of what an expression makes."""
        if type(expr) is f.Name and depth < DEEPEST:
            begun = self._sources(expr.id)
            found = [self.items(source, depth + 1) for source in begun]
            added = self._added_to(expr.id) if begun else ()
            return set().union(*found, *(self.made(one, depth + 1) or () for one in added))
        if type(expr) is f.Sequence:
            return {cls for one in expr.elements for cls in self._one_item(one, depth)}
        if type(expr) is f.DictDisplay:
            return {cls for one in expr.values for cls in self._one_item(one, depth)}
        if type(expr) is f.Comprehension and expr.elements:
            return self.made(expr.elements[-1], depth) or set()
        if type(expr) is f.IfExp:
            return self.items(expr.body, depth) | self.items(expr.orelse, depth)
        if type(expr) is f.BoolOp:  # `callbacks or []`
            return {cls for one in expr.values for cls in self.items(one, depth)}
        if type(expr) is f.Op and expr.kind == "Add":
            return {cls for one in expr.operands for cls in self.items(one, depth)}
        if type(expr) is not f.Call:
            return set()
        if last_name(expr.func) in _LISTS and expr.args:
            return self.items(expr.args[-1], depth)
        entity = self.analysis.names.resolve(expr.func, self.module) if depth < DEEPEST else None
        if not isinstance(entity, FunctionInfo):
            return set()
        inside = _Place(self.analysis, entity.module, entity)
        return {cls for value in _returned(entity) for cls in inside.items(value, depth + 1)}

    def _sources(self, name: str) -> list[f.Expr]:
        found = sources(self.module, self.owner, name)
        return found if len(found) <= _MOST_SOURCES else []

    def _one_item(self, expr: f.Expr, depth: int) -> set[str]:
        if type(expr) is f.Starred:
            return self.items(expr.value, depth)
        if type(expr) is f.IfExp:
            return self._one_item(expr.body, depth) | self._one_item(expr.orelse, depth)
        return self.made(expr, depth) or set()

    def _added_to(self, name: str) -> Iterator[f.Expr]:
        """What the function appends to a list of its own, or puts into a dict."""
        for s in statements(self.owner.body if self.owner is not None else ()):
            if appended_to(s) == name:
                yield from _appended(s)
            elif type(s) is f.Assign and any(type(t) is f.Subscript and place_name(t.base) == name for t in s.targets):
                yield from (s.value,) if s.value is not None else ()


def _returned(function: FunctionInfo) -> list[f.Expr]:
    found = [s.value for s in statements(function.body) if type(s) is f.Return and s.value is not None]
    return found if len(found) <= _MOST_SOURCES else []


def _together(found: Iterable[set[str] | None]) -> set[str] | None:
    known = list(found)
    return None if not known or None in known else {cls for classes in known for cls in classes or ()}


def _is_open(owner: FunctionInfo | None, expr: f.Expr) -> bool:
    """Whether an expression is what the caller was passed itself, which says nothing."""
    return owner is not None and type(expr) is f.Name and any(p.name == expr.id for p in owner.parameters)
