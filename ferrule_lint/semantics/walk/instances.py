"""What a test says an object to be: `isinstance(x, C)`, `type(x) is C`, `any(isinstance(x, c) for c in CLASSES)`."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import told_parts
from ferrule_lint.semantics.domain.targets import ClassTarget
from ferrule_lint.semantics.domain.text import instance_test, last_name, place_name
from ferrule_lint.semantics.project.entities import ClassInfo
from ferrule_lint.semantics.walk.frame import Frame

#: classes of one `isinstance` that are told apart
_MOST_CLASSES = 3
#: whether a quick look, which only asks what is returned, tells them apart as well
_QUICKEST = 1


def instances(frame: Frame, test: f.Expr, outcome: bool) -> list[tuple[f.Expr, frozenset[ClassInfo]]]:
    """What is an instance of classes of the project if `test` is `outcome`."""
    if outcome and type(test) is f.BoolOp and test.op == "or":
        return _one_of(frame, test.values)
    asked = (instance_test(test) or _exact(test) or _of_any(test)) if outcome else None
    if asked is None or frame.light == _QUICKEST or not place_name(asked[0]):
        return []
    place, named = asked
    values = [item for expr in _spelled_out(frame, named) for v in [frame.eval(expr)] for item in v.items or (v,)]
    classes = frozenset(v.target.info for v in values if type(v.target) is ClassTarget)
    if not 0 < len(classes) == len(values) <= _MOST_CLASSES or not all(_is_told(frame, info) for info in classes):
        return []  # of a class with subclasses one of these is meant, and by its methods' names it may be told which
    return [(place, classes)]


def _spelled_out(frame: Frame, named: tuple[f.Expr, ...]) -> Iterator[f.Expr]:
    """The classes of a test, those of a tuple that the file gives a name to one by one: `KINDS = (A, B)`."""
    for expr in named:
        made = frame.module.assigned(expr.id) if type(expr) is f.Name and frame.read(expr.id) is None else ()
        if len(made) == 1 and type(made[0]) is f.Sequence:
            yield from made[0].elements
        else:
            yield expr


def _exact(test: f.Expr) -> tuple[f.Expr, tuple[f.Expr, ...]] | None:
    """`type(x) is C`, `x.__class__ == C`, `type(x) in (A, B)`."""
    if type(test) is not f.Compare or len(test.ops) != 1 or test.ops[0] not in ("is", "==", "in"):
        return None
    left, right = test.left, test.rights[0]
    if type(left) is f.Call and last_name(left.func) == "type" and len(left.args) == 1:
        asked = left.args[0]
    elif type(left) is f.Attr and left.attr == "__class__":
        asked = left.base
    else:
        return None
    return asked, right.elements if test.ops[0] == "in" and type(right) is f.Sequence else (right,)


def _of_any(test: f.Expr) -> tuple[f.Expr, tuple[f.Expr, ...]] | None:
    """`any(isinstance(x, c) for c in (A, B))`."""
    made = test.args[0] if type(test) is f.Call and last_name(test.func) == "any" and len(test.args) == 1 else None
    if type(made) is not f.Comprehension or len(made.generators) != 1 or len(made.elements) != 1:
        return None
    generator, asked = made.generators[0], instance_test(made.elements[0])
    if asked is None or generator.conditions or [place_name(c) for c in asked[1]] != [place_name(generator.target)]:
        return None
    classes = generator.iterable
    return asked[0], classes.elements if type(classes) is f.Sequence else (classes,)


def _one_of(frame: Frame, tests: tuple[f.Expr, ...]) -> list[tuple[f.Expr, frozenset[ClassInfo]]]:
    """`isinstance(x, A) or isinstance(x, B)` says of `x` what `isinstance(x, (A, B))` does."""
    found = [
        [said for part, outcome in told_parts(test, True) for said in instances(frame, part, outcome)] for test in tests
    ]
    if any(len(said) != 1 for said in found) or len({place_name(said[0][0]) for said in found}) != 1:
        return []
    classes = frozenset(info for ((_, infos),) in found for info in infos)
    return [(found[0][0][0], classes)] if len(classes) <= _MOST_CLASSES else []


def _is_told(frame: Frame, info: ClassInfo) -> bool:
    """Whether an instance does what its class says: subclasses only do what it leaves open, and change nothing."""
    names = frame.analysis.names
    for sub in frame.analysis.hierarchy.below(info):
        for name in sub.methods:
            inherited = names.method(info, name) if not name.startswith("__") else None
            if inherited is not None and not inherited.traits.says_nothing:
                return False
    return True


def are_others(frame: Frame, known: frozenset[ClassInfo], classes: frozenset[ClassInfo]) -> bool:
    """Whether what a place was known to hold is none of some classes, nor has to do with them: one of another arm."""
    lines = {info: frame.analysis.names.mro(info) for info in known | classes}
    return bool(known) and not any(b in lines[a] or a in lines[b] for a in known for b in classes)


def known_by(frame: Frame, tests: Collection[f.Expr], names: Collection[str]) -> None:
    """Let what a comprehension walks be what its conditions say: `[m for m in parts if isinstance(m, C)]`."""
    told = [
        found for test in tests for part, holds in told_parts(test, True) for found in instances(frame, part, holds)
    ]
    for expr, classes in told:
        place = place_name(expr)
        value = frame.env.get(place)
        if place in names and value is not None and not value.types and value.external is None:
            frame.env[place] = value._replace(types=classes, target=None)
