"""The environment as a source: what a launcher tells each process of its rank, and what it tells all of them alike.

The name of the variable is written at the place that reads it, or where a helper is called that reads whichever
variable it is asked for: `get_environ("APP_RANK")`. A call with such a name is therefore a context of its own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.lattice import UNIFORM, Value
from ferrule_lint.semantics.domain.text import dotted_name
from ferrule_lint.semantics.sources import first_rank

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_RANK_VARIABLE = re.compile(r"(^|_)RANK$|PROCID$|LOCALID$")
#: so much for each rank, or the rank of a matrix: a setting
_SETTING = re.compile(r"(^|_)(PER|MAX|MIN|LORA|LOW|ADAPTER)_RANK$")


def names_rank(const: str | None) -> bool:
    """Whether a constant is the name of a variable that holds something of the process's own rank."""
    if const is None or const[:1] not in ("'", '"'):
        return False
    name = const.strip("'\"")
    return _RANK_VARIABLE.search(name) is not None and _SETTING.search(name) is None


#: how many processes a launcher has started in all
_SIZE = re.compile(r"(SLURM_NTASKS|SLURM_NPROCS|(?<!LOCAL_)(?<!NODE_)WORLD_SIZE)$")


def variable(frame: Frame, const: str | None, pos: f.Pos) -> Value:
    """What a variable of the environment holds: ranks differ, the rest of it is taken as the same."""
    name = (const or "").strip("'\"")
    if not names_rank(const):
        return UNIFORM._replace(world_size=_SIZE.search(name) is not None)
    divergence = frame.source(WORLD, "rank", pos, f"the environment variable {name} differs by rank")
    return first_rank.named(Value(divergence=divergence), name)


_ENVIRONMENT = frozenset(("os.environ", "environ"))
_READS = frozenset(("os.getenv", "getenv", "os.environ.get", "environ.get"))


def is_read(e: f.Expr) -> bool:
    """Whether an expression is the text of a variable, as it is: its truth asks whether a launcher has set it, and
    says nothing of the number that is in it (`"0"` is true)."""
    if type(e) is f.Subscript:
        return dotted_name(e.base) in _ENVIRONMENT
    return type(e) is f.Call and dotted_name(e.func) in _READS


def looked_up(frame: Frame, base: f.Expr, index: f.Expr, pos: f.Pos) -> Value | None:
    """`os.environ["RANK"]`, or with a name that this function was asked for; None if it is something else."""
    if dotted_name(base) not in ("os.environ", "environ"):
        return None
    const = index.text if type(index) is f.Const else frame.eval(index).const
    return None if const is None else variable(frame, const, pos)
