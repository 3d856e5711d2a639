"""Calls that wrap modules: by the name of what does, or by one that the code gives it.

`wrap = partial(FSDP, mesh=mesh)`, `cls = DDP if args.ddp else Other`, and a class that is made in a function of a base
which was chosen there, say what a call of `wrap(model)` means. A class of the project that inherits from a library's
wrapper goes by its own name, in all files (`wrapping_names`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import last_name
from ferrule_lint.semantics.project.entities import FunctionInfo, ModuleInfo

#: what DDP is told by settings, which may be passed on as such
TOLERANT = ("find_unused_parameters", f.Const("True"))
KEEPS_BUFFERS = ("broadcast_buffers", f.Const("False"))


class WrappingCall(NamedTuple):
    #: the function that it stands in, and its place among the calls there
    owner: FunctionInfo | None
    number: int
    #: as it is written
    call: f.Call
    #: with what is called spelled out
    meant: f.Call


def in_file(module: ModuleInfo, wrapping: frozenset[str]) -> Iterator[WrappingCall]:
    """The calls in a file that wrap modules, or set how that is done."""
    of_file = _named(module, module.body, wrapping, {})
    for owner, calls in module.calls():
        body = module.body if owner is None else owner.body
        named = of_file if owner is None else _named(module, body, wrapping, of_file)
        for number, call in enumerate(calls):
            makers = named.get(call.func.id, ()) if type(call.func) is f.Name else ()
            for maker in makers:
                yield WrappingCall(owner, number, call, maker.called(_spelled_out(call, body)))
            settles = TOLERANT in call.keywords or KEEPS_BUFFERS in call.keywords
            if not makers and (settles or last_name(call.func) in wrapping):
                yield WrappingCall(owner, number, call, _spelled_out(call, body))


def _spelled_out(call: f.Call, body: f.Body) -> f.Call:
    """A call with what `**settings` holds for it, where the same body puts it in there, and be it under a test."""
    spread = {value.id for name, value in call.keywords if name is None and type(value) is f.Name}
    if not spread:
        return call
    keywords = [x for s in statements(body) if type(s) is f.Assign for x in _put_in(s, spread)]
    return call._replace(keywords=(*call.keywords, *keywords))


def _put_in(s: f.Assign, names: set[str]) -> list[tuple[str, f.Expr]]:
    """What a statement puts into one of some dicts under keys that are written out."""
    target, value = s.targets[0], s.value
    found: list[tuple[str, f.Expr]] = []
    if value is None:
        return found
    if type(target) is f.Subscript and type(target.base) is f.Name and target.base.id in names:
        found = [(target.index.text[1:-1], value)] if type(target.index) is f.Const else []
    elif type(target) is f.Name and target.id in names and type(value) is f.DictDisplay:
        pairs = zip(value.keys, value.values, strict=True)
        found = [(key.text[1:-1], given) for key, given in pairs if type(key) is f.Const]
    elif type(target) is f.Name and target.id in names and type(value) is f.Call and last_name(value.func) == "dict":
        found = [(name, given) for name, given in value.keywords if name is not None]
    return found


class _Maker(NamedTuple):
    """What wraps modules, and what it is given beforehand."""

    expr: f.Expr
    args: tuple[f.Expr, ...] = ()
    keywords: tuple[tuple[str | None, f.Expr], ...] = ()

    def called(self, call: f.Call) -> f.Call:
        keywords = (*self.keywords, *call.keywords)
        return call._replace(func=self.expr, args=(*self.args, *call.args), keywords=keywords)


def _named(
    module: ModuleInfo, body: f.Body, wrapping: frozenset[str], known: Mapping[str, list[_Maker]]
) -> dict[str, list[_Maker]]:
    """Names that a body gives to what wraps modules, beside those that are `known` around it."""
    found = dict(known)
    naming = [s for s in statements(body) if type(s) is f.Assign or type(s) is f.ClassDef]
    for s in sorted(naming, key=lambda s: s.line):
        makers: list[_Maker] = []
        names: list[str] = []
        if type(s) is f.Assign and s.value is not None:
            names = [target.id for target in s.targets if type(target) is f.Name]
            makers = [maker for expr in _arms(s.value) for maker in _makers(expr, wrapping, found)]
        elif type(s) is f.ClassDef and (info := module.classes.get(s.qualname)) is not None:
            names = [s.name]
            makers = [maker for base in info.bases if type(base) is f.Name for maker in found.get(base.id, ())]
        for name in names if makers else ():
            found[name] = [*found.get(name, ()), *makers]
    return found


def _arms(expr: f.Expr) -> tuple[f.Expr, ...]:
    return (expr.body, expr.orelse) if type(expr) is f.IfExp else (expr,)


def _makers(expr: f.Expr, wrapping: frozenset[str], found: Mapping[str, list[_Maker]]) -> list[_Maker]:
    if type(expr) is f.Call and last_name(expr.func) == "partial" and expr.args:
        makers = _makers(expr.args[0], wrapping, found)
        return [m._replace(args=(*m.args, *expr.args[1:]), keywords=(*m.keywords, *expr.keywords)) for m in makers]
    if type(expr) is f.Name and expr.id in found:
        return found[expr.id]
    return [_Maker(expr)] if type(expr) in (f.Name, f.Attr) and last_name(expr) in wrapping else []
