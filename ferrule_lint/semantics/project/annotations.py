"""What annotations say: the classes of the project and of libraries that they name."""

from __future__ import annotations

import re

from ferrule_lint.facts import types as f
from ferrule_lint.models.lookup import ModelSet
from ferrule_lint.semantics.domain.dependences import NOTHING
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import ClassInfo, External, ModuleInfo
from ferrule_lint.semantics.project.names import Names

#: annotations of what holds items of one class
_LISTS = frozenset(
    "list List Sequence MutableSequence tuple Tuple Iterable Iterator Collection deque Deque ModuleList".split()
)
#: annotations of what holds things of one class under keys
_TABLES = frozenset("dict Dict Mapping MutableMapping OrderedDict defaultdict DefaultDict ModuleDict".split())
#: containers: who says that one is returned means it
_CONTAINERS = frozenset("dict Dict list List tuple Tuple set Set OrderedDict defaultdict Mapping Sequence str".split())


class Annotations:
    """Questions about annotations, each with the file that it stands in."""

    def __init__(self, names: Names, models: ModelSet) -> None:
        self._names = names
        self._models = models

    def class_of(self, annotation: f.Expr | None, module: ModuleInfo) -> ClassInfo | None:
        """The project class that an annotation names; `Optional[X]`, `X | None` and `"X"` are X."""
        found = self._annotated(annotation, module)
        return found if isinstance(found, ClassInfo) else None

    def elements_of(self, annotation: f.Expr | None, module: ModuleInfo) -> frozenset[ClassInfo]:
        """The project class of the items that an annotation names (`list[X]`, `Sequence[X] | None`, `tuple[X, ...]`),
        or of what stands under the keys (`dict[str, X]`)."""
        item = _item_of(annotation)
        info = self.class_of(item, module) if item is not None else None
        return frozenset({info}) if info is not None else NOTHING

    def held_by(self, annotation: f.Expr | None, module: ModuleInfo) -> str | None:
        """The library class of the items that an annotation names, or of what stands under the keys."""
        item = _item_of(annotation)
        return self.external_of(item, module) if item is not None else None

    def external_of(self, annotation: f.Expr | None, module: ModuleInfo) -> str | None:
        """The library class that an annotation names, by its full name."""
        found = self._annotated(annotation, module)
        return self._models.canonical(found.dotted) if isinstance(found, External) else None

    def instance_of(self, annotation: f.Expr | None, module: ModuleInfo) -> Value | None:
        """An object of the library class that an annotation names, if models know it; that it is some module says
        nothing of it."""
        named = self.external_of(annotation, module)
        external = self._models.more_than_module(named) if named is not None else None
        if external is None:
            return None
        model = self._models.class_(external)
        return Value(external=external, module=model is not None and model.role in ("sharded", "ddp", "leaf"))

    def _annotated(self, annotation: f.Expr | None, module: ModuleInfo) -> object:
        stack: list[f.Expr | None] = [annotation]
        while stack:
            expr = stack.pop(0)
            if type(expr) in (f.Name, f.Attr):
                return self._names.resolve(expr, module)
            if type(expr) is f.Const and expr.text[:1] in "'\"":
                name = expr.text.strip("'\"").rpartition("[")[2].rstrip("]").partition("|")[0].strip()
                if name.isidentifier():
                    return self._names.lookup(module, name)
                if re.fullmatch(r"[\w.]+", name):
                    base, *rest = name.split(".")
                    entity = self._names.lookup(module, base)
                    for part in rest:
                        entity = self._names.member(entity, part) if entity is not None else None
                    return entity
            elif type(expr) is f.Subscript:
                if last_name(expr.base) in ("Optional", "Union", "Annotated", "Final", "ClassVar"):
                    stack.append(expr.index)
            elif type(expr) is f.Op and expr.kind == "BitOr":
                stack += [o for o in expr.operands if not (type(o) is f.Const and o.text == "None")]
            elif type(expr) is f.Sequence:
                stack += expr.elements
        return None


def leaves_no_none(annotation: f.Expr | None) -> bool:
    """Whether an annotation of a result leaves no room for None: `-> dict[str, Tensor]`."""
    if type(annotation) is f.Subscript:
        return last_name(annotation.base) in _CONTAINERS
    return last_name(annotation) in _CONTAINERS


def _item_of(annotation: f.Expr | None) -> f.Expr | None:
    """The annotation of what a list or a dict holds."""
    stack: list[f.Expr | None] = [annotation]
    while stack:
        expr = stack.pop()
        if type(expr) is f.Op and expr.kind == "BitOr":
            stack += expr.operands
        elif type(expr) is f.Subscript and last_name(expr.base) in ("Optional", "Final"):
            stack.append(expr.index)
        elif type(expr) is f.Subscript and last_name(expr.base) in _LISTS:
            return expr.index.elements[0] if type(expr.index) is f.Sequence and expr.index.elements else expr.index
        elif type(expr) is f.Subscript and last_name(expr.base) in _TABLES and type(expr.index) is f.Sequence:
            return expr.index.elements[-1] if expr.index.elements else None
    return None
