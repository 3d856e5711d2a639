"""Records that a library makes: `namedtuple("Out", "loss stop")(x, True)`, and one that is made of another with some of
its fields anew, `replace(state, stop=True)`, `out._replace(stop=True)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.data.records import MOST_ENTRIES, NAMESPACE
from ferrule_lint.semantics.domain.joins import join
from ferrule_lint.semantics.domain.lattice import UNKNOWN, Value, contained, worse
from ferrule_lint.semantics.domain.targets import RecordTarget
from ferrule_lint.semantics.domain.text import last_name, place_name

if TYPE_CHECKING:
    from ferrule_lint.semantics.calls.arguments import Arguments
    from ferrule_lint.semantics.project.entities import ClassInfo, FunctionInfo
    from ferrule_lint.semantics.walk.frame import Frame


def named_tuple(_frame: Frame, arguments: Arguments) -> Value:
    """What `namedtuple(name, fields)` makes, which makes records."""
    fields = _names(arguments.expression("field_names", 1))
    return Value(uniform=True, there=True, target=RecordTarget(fields)) if fields else UNKNOWN


def _names(expr: f.Expr | None) -> tuple[str, ...]:
    """The names in `"loss stop"`, `"loss, stop"` or `["loss", "stop"]`."""
    if type(expr) is f.Const and len(expr.text) <= 80:  # longer ones are cut
        names = expr.text[1:-1].replace(",", " ").split()
    elif type(expr) is f.Sequence:
        names = [e.text[1:-1] for e in expr.elements if type(e) is f.Const]
        names = names if len(names) == len(expr.elements) else []
    else:
        return ()
    return tuple(names) if all(name.isidentifier() for name in names) else ()


def made(target: RecordTarget, arguments: Arguments) -> Value:
    """A record of the fields that a call gives; others have their defaults."""
    values = contained(join(arguments.values)) if arguments.values else UNKNOWN
    if arguments.is_open or len(target.fields) > MOST_ENTRIES:
        return values._replace(there=True, target=None)
    fields = dict(zip(target.fields, arguments.positional, strict=False)) | arguments.keywords
    items = tuple([fields.get(name, UNKNOWN) for name in target.fields])
    return Value(
        there=True, external=NAMESPACE, entries=tuple(fields.items()), items=items, data=values.data, keyed=values.data
    )


def with_fields(frame: Frame, info: ClassInfo, instance: Value, arguments: Arguments) -> Value:
    """An instance of a data class or named tuple, and what its fields are made with, where that tells something."""
    if arguments.is_open:
        return instance
    names = _fields(frame, info)
    given = dict(zip(names, arguments.positional, strict=False)) | arguments.keywords
    plain = len(arguments.positional) <= len(names) and given.keys() <= set(names)
    if not plain or frame.analysis.names.method(info, "__post_init__") is not None or len(given) > MOST_ENTRIES:
        return instance._replace(entries=tuple([(n, v) for n, v in given.items() if v.tells or v.is_flag]))
    items = None
    if _TUPLES.intersection(frame.analysis.names.external_bases(info)):
        items = tuple([given.get(name, UNKNOWN) for name in names])
    entries = tuple([(name, value) for name, value in given.items() if _says_something(value)])
    # what other fields hold by default is none of the local data that these are given
    return instance._replace(entries=entries, keyed=instance.data, items=items)


def with_kept(
    frame: Frame, info: ClassInfo, constructor: FunctionInfo, instance: Value, bound: Mapping[str, Value]
) -> Value:
    """An instance of another class, and what its constructor keeps of what it is passed, as it is (`self.n = n`), where
    that differs by the rank's own data and nothing else sets it."""
    own = constructor.parameters[0].name if constructor.parameters else ""
    kept: list[tuple[str, Value]] = []
    for s in constructor.body:
        target = s.targets[0] if type(s) is f.Assign and len(s.targets) == 1 else None
        if type(s) is not f.Assign or type(target) is not f.Attr or place_name(target.base) != own:
            continue
        value = bound.get(s.value.id) if type(s.value) is f.Name else None
        told = [] if value is None else [w for w in (value.divergence, value.presence, value.length) if w is not None]
        if value is not None and told and not any(why.kind == "rank" for why in told):
            kept.append((target.attr, value))
    if not kept or len(kept) > MOST_ENTRIES:
        return instance
    later = frame.analysis.holders.set_later(info)
    return instance._replace(entries=tuple([(name, value) for name, value in kept if name not in later]))


_TUPLES = frozenset({"typing.NamedTuple", "typing_extensions.NamedTuple"})


def _says_something(value: Value) -> bool:
    return bool(value.tells or value.is_flag or value.data or value.target or value.module or value.types)


def _fields(frame: Frame, info: ClassInfo) -> list[str]:
    """The fields of a data class, and of what inherits from `namedtuple("State", "steps stop")`."""
    names: list[str] = []
    for c in reversed(frame.analysis.names.mro(info)):
        for base in c.bases:
            if type(base) is f.Call and last_name(base.func) == "namedtuple" and len(base.args) > 1:
                names += _names(base.args[1])
        names += [name for name, statement in c.attributes.items() if statement.annotation is not None]
    return list(dict.fromkeys(names))


def replaced(record: Value, arguments: Arguments) -> Value | None:
    """A record with some of its fields anew, if that is what `arguments` say."""
    is_one = record.types or record.external == NAMESPACE
    if not is_one or arguments.is_open or len(record.entries) + len(arguments.keywords) > MOST_ENTRIES:
        return None
    given = arguments.keywords
    items = None
    if record.items is not None and len(record.items) == len(record.entries):
        items = tuple([given.get(name, old) for (name, _), old in zip(record.entries, record.items, strict=True)])
    data = worse(record.data, join(arguments.keywords.values()).data) if given else record.data
    return record._replace(
        entries=tuple((dict(record.entries) | given).items()), items=items, target=None, data=data,
        keyed=data if record.data is None or record.is_keyed else None,
    )  # fmt: skip


def made_of_another(_frame: Frame, arguments: Arguments) -> Value:
    """`dataclasses.replace(record, stop=x)`"""
    if not arguments.positional:
        return UNKNOWN
    record = arguments.positional[0]
    return replaced(record, arguments) or contained(join(arguments.values))._replace(types=record.types, there=True)
