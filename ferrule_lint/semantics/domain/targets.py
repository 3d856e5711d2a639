"""What a value refers to when it is called or when an attribute is taken of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.lattice import Value
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo, ModuleInfo
    from ferrule_lint.semantics.walk.frame import Frame

#: what a module in DDP is an instance of
IN_DDP = "torch.nn.parallel.DistributedDataParallel"


class FunctionTarget(NamedTuple):
    """A project function; `receiver` is the bound instance; `closure` the frame it was defined in."""

    function: FunctionInfo
    receiver: Value | None = None
    closure: Frame | None = None
    #: class to look methods up in, when called through `super()`
    through: ClassInfo | None = None
    #: past its decorators: what a decorator's wrapper calls
    raw: bool = False


class ClassTarget(NamedTuple):
    info: ClassInfo


class ModuleTarget(NamedTuple):
    info: ModuleInfo


class ExternalTarget(NamedTuple):
    dotted: str


class MethodTarget(NamedTuple):
    """An attribute of a value of unknown type."""

    receiver: Value
    name: str


class PartialTarget(NamedTuple):
    """`functools.partial(target, ...)`."""

    target: Value
    arguments: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]


class SeveralTarget(NamedTuple):
    """One of several: a method of several classes, a table of functions."""

    targets: tuple[Value, ...]


class RecordTarget(NamedTuple):
    """`namedtuple("Out", "loss stop")`: makes records of these fields."""

    fields: tuple[str, ...]


#: where functions of libraries are collectives, by their dotted names
_COLLECTIVES = "torch.distributed."


def is_collective(target: Target | None) -> bool:
    """Whether something that is not of the project may be a collective."""
    return type(target) is ExternalTarget and target.dotted.startswith(_COLLECTIVES)


#: stands for the function that a decorator is given, when it is asked under which condition that is run
DECORATED = ExternalTarget("<decorated>")

Target: TypeAlias = (
    FunctionTarget
    | ClassTarget
    | ModuleTarget
    | ExternalTarget
    | MethodTarget
    | PartialTarget
    | SeveralTarget
    | RecordTarget
)
