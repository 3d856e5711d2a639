"""Tests that are asked by way of something else: `if self.is_due(step):` where the method says `return step % n == 0`.

A test by itself says most where it stands: which places are there, which is empty, which test it is again. So a
function of the file that does nothing but return an expression is taken for that, with the arguments in place of its
parameters; so are `bool(test)`, `test is True`, `int(test) == 1`, `any([test])` and `not not test`.

What a name says of itself (`is_main_process()`) or a model of a call counts for more than how it is worked out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import replaced, walk
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.domain.text import last_name, place_name, variables
from ferrule_lint.semantics.project.entities import FunctionInfo
from ferrule_lint.semantics.project.options import passed
from ferrule_lint.semantics.sources.rank_axes import is_world_size
from ferrule_lint.semantics.walk import own_tests
from ferrule_lint.semantics.walk.frame import Frame

#: functions that return a call of a function that returns a call...
DEEPEST = 3
#: nodes of an expression that is a test and no computation
LARGEST = 80
#: what means something else in another function, or is a step of its own
_OWN = frozenset({f.Lambda, f.Yield, f.Walrus, f.Starred})
#: what asks some of its parts only after others, or several times
_LAZY = frozenset({f.BoolOp, f.IfExp, f.Comprehension})
#: what is a test as it stands: of anything else its truth may ask whether it is there
_TESTS = frozenset({f.Compare, f.BoolOp, f.Not})
_TRUE, _FALSE = ("True", "1"), ("False", "0")


def unfolded(frame: Frame, test: f.Expr, depth: int = 0) -> f.Expr:
    """A test as it is written where it is worked out; itself where it is not known, or nothing but itself."""
    if type(test) is f.Not:
        operand = unfolded(frame, test.operand, depth)
        if type(operand) is f.Not:
            return operand.operand
        return test if operand is test.operand else f.Not(operand)
    if type(test) is f.BoolOp:
        values = tuple([unfolded(frame, value, depth) for value in test.values])
        return test if all(a is b for a, b in zip(values, test.values, strict=True)) else test._replace(values=values)
    if type(test) is f.Compare and len(test.ops) == 1:
        return _of_comparison(frame, test, depth)
    if type(test) is f.Call:
        return _of_call(frame, test, depth)
    if type(test) is f.Subscript and type(test.base) is f.Call:
        return _of_item(frame, test, depth)
    if type(test) is f.Attr and depth < DEEPEST and (kept := own_tests.held(frame, test)) is not None:
        return unfolded(frame, kept, depth + 1)
    if type(test) is f.Attr and depth < DEEPEST and (asked := _of_property(frame, test)) is not None:
        return unfolded(frame, asked, depth + 1)
    return test


def _of_property(frame: Frame, test: f.Attr) -> f.Expr | None:
    """What a property returns, in terms of the fields of an object of which this function has set one: its own class
    does not know of that."""
    place = place_name(test.base)
    if not place or place == frame.self_name or frame.light or frame.read(place_name(test)) is not None:
        return None
    with frame.aside():
        types = frame.eval(test.base).types
    info = next(iter(types)) if len(types) == 1 else None
    if info is None or frame.analysis.hierarchy.below(info):
        return None
    method = frame.analysis.names.method(info, test.attr)
    if method is None or not method.is_property or set(method.decorator_names) != {"property"} or not method.parameters:
        return None
    own, returned = method.parameters[0].name, _only_return(method)
    nodes = list(walk(returned))
    fields = {n.attr for n in nodes if type(n) is f.Attr and type(n.base) is f.Name and n.base.id == own}
    if _is_computation(nodes) or variables(returned) - {own} - _BUILT_IN:
        return None
    if returned is None or not any(frame.read(f"{place}.{name}") is not None for name in fields):
        return None
    return replaced(returned, {own: test.base}, test.pos)


_BUILT_IN = frozenset("len sum max min abs any all int float bool sorted round".split())


def items_of(frame: Frame, walked: f.Expr) -> f.Expr:
    """What a loop goes through by way of a generator that hands out its items as they come: `(x for x in xs)`, and a
    function that yields each."""
    if type(walked) is f.Comprehension and walked.kind == "generator" and len(walked.generators) == 1:
        only = walked.generators[0]
        names = [place_name(x) for x in (only.target, *walked.elements)]
        plain = type(only.target) is f.Name and not only.conditions and len(names) == 2 and names[0] == names[1]
        return items_of(frame, only.iterable) if plain else walked
    target = _target(frame, walked.func) if type(walked) is f.Call and not walked.keywords else None
    if target is None or type(walked) is not f.Call or target.function.decorators or not target.function.is_generator:
        return walked
    name = _hands_out(target.function)
    given = passed(walked, target.function, target.function.owner is not None, name) if name else None
    return walked if given is None or len(walked.args) != 1 else items_of(frame, given)


def _hands_out(function: FunctionInfo) -> str:
    """The parameter whose items a generator yields one by one, and nothing else."""
    loop = function.body[-1] if function.body else None
    if len(function.body) == 1 and type(loop) is f.For and type(loop.target) is f.Name and not loop.orelse:
        last = loop.body[-1] if loop.body else None
        handed = last.value.value if type(last) is f.ExprStmt and type(last.value) is f.Yield else None
        if len(loop.body) == 1 and type(handed) is f.Name and handed.id == loop.target.id:
            return place_name(loop.iterable) if type(loop.iterable) is f.Name else ""
    return ""


def _of_comparison(frame: Frame, test: f.Compare, depth: int) -> f.Expr:
    """`bool(test) is True`, `int(test) == 0`."""
    op, right = test.ops[0], test.rights[0]
    if op not in ("==", "!=", "is", "is not") or type(right) is not f.Const or right.text not in (*_TRUE, *_FALSE):
        return test
    asked = _as_bool(frame, test.left)
    if asked is None and op in ("==", "!=") and (type(test.left) in _TESTS or _answers(test.left, right)):
        asked = test.left
    if asked is None:
        return test
    inner = unfolded(frame, asked, depth)
    return inner if (right.text in _TRUE) is (op in ("==", "is")) else unfolded(frame, f.Not(inner), depth)


#: what answers yes or no, by its name: `os.path.exists(path) == False`
_YES_OR_NO = re.compile(r"_*(is|has|exists|lexists|startswith|endswith)(?![a-z])|is(file|dir|instance|finite)")


def _answers(asked: f.Expr, compared: f.Const) -> bool:
    """Whether a call answers yes or no, and is compared with that in so many words."""
    said = compared.text in ("True", "False")
    return said and type(asked) is f.Call and _YES_OR_NO.match(last_name(asked.func)) is not None


def _as_bool(frame: Frame, expr: f.Expr) -> f.Expr | None:
    """The test of `bool(test)`, `int(test)`, `not test`; None for what is none."""
    if type(expr) is f.Not:
        return expr
    if type(expr) is not f.Call or len(expr.args) != 1 or expr.keywords or not _is_builtin(frame, expr.func):
        return None
    name, arg = last_name(expr.func), expr.args[0]
    if name not in ("bool", "int"):
        return None
    inner = arg if type(arg) in _TESTS else _as_bool(frame, arg) or unfolded(frame, arg)
    return inner if type(inner) in _TESTS else None


def _is_builtin(frame: Frame, func: f.Expr) -> bool:
    if type(func) is not f.Name or func.id not in ("bool", "int", "any", "all"):
        return False
    return frame.read(func.id) is None and frame.analysis.names.lookup(frame.module, func.id) is None


def _of_call(frame: Frame, test: f.Call, depth: int) -> f.Expr:
    if _is_builtin(frame, test.func) and len(test.args) == 1 and not test.keywords:
        name, arg = last_name(test.func), test.args[0]
        if name in ("any", "all"):
            return _of_all(frame, test, arg, depth)
        asked = _as_bool(frame, test) if name == "bool" else None
        return test if asked is None else unfolded(frame, asked, depth)
    found = _returned(frame, test, depth)
    return test if found is None else unfolded(frame, found, depth + 1)


def _of_all(frame: Frame, test: f.Call, listed: f.Expr, depth: int) -> f.Expr:
    """`any([a, b])`, where nothing is done by asking both."""
    if type(listed) is f.Comprehension and last_name(test.func) == "any":
        found = _as_membership(listed, test.pos)
        return test if found is None else unfolded(frame, found, depth)
    if type(listed) is not f.Sequence or not listed.elements or f.Starred in map(type, listed.elements):
        return test
    if len(listed.elements) == 1:
        return unfolded(frame, listed.elements[0], depth)
    if any(type(node) is f.Call for node in walk(listed.elements[1:])):
        return test
    op = "or" if last_name(test.func) == "any" else "and"
    return unfolded(frame, f.BoolOp(op, listed.elements, test.pos), depth)


def _as_membership(listed: f.Comprehension, pos: f.Pos) -> f.Expr | None:
    """`any(rank == r for r in ranks)` is `rank in ranks`."""
    only = listed.generators[0] if len(listed.generators) == 1 and len(listed.elements) == 1 else None
    asked = listed.elements[0]
    if only is None or only.conditions or type(asked) is not f.Compare or asked.ops != ("==",):
        return None
    for sought, item in ((asked.left, asked.rights[0]), (asked.rights[0], asked.left)):
        if type(item) is f.Name and item.id == place_name(only.target) and item.id not in variables(sought):
            return f.Compare(sought, ("in",), (only.iterable,), pos)
    return None


def _of_item(frame: Frame, test: f.Subscript, depth: int) -> f.Expr:
    """`check(x)[0]` of a function that returns a pair."""
    index = test.index
    if type(test.base) is not f.Call or type(index) is not f.Const or not index.text.isdigit():
        return test
    found = _returned(frame, test.base, depth)
    if type(found) is not f.Sequence or int(index.text) >= len(found.elements):
        return test
    asked = found.elements[int(index.text)]
    if any(type(node) is f.Call for part in found.elements if part is not asked for node in walk(part)):
        return test
    return unfolded(frame, asked, depth + 1)


def _returned(frame: Frame, call: f.Call, depth: int) -> f.Expr | None:
    """What a function of the project returns that does nothing else, in terms of what it is given here."""
    target = _target(frame, call.func) if depth < DEEPEST else None
    if target is None or target.closure not in (None, frame) or not _says_nothing_itself(frame, target.function):
        return None
    function = target.function
    if function.module is not frame.module:
        return None  # its place is a step of the witness, which is told by what it returns
    returned = _only_return(function)
    if returned is None or target.raw or f.Starred in map(type, call.args) or any(k is None for k, _ in call.keywords):
        return None
    nodes = list(walk(returned))
    if _is_computation(nodes):
        return None
    given = _arguments(target, call, nodes)
    if given is None:
        return None
    bound = {name for n in nodes if type(n) is f.Generator for name in variables(n.target)}
    if bound and (bound & given.keys() or any(bound & variables(x) for x in given.values())):
        return None
    free = {n.id for n in nodes if type(n) is f.Name} - given.keys() - bound
    if target.closure is None and any(frame.read(name) is not None for name in free):
        return None
    return replaced(returned, given, call.pos)


def _is_computation(nodes: list[object]) -> bool:
    """Whether an expression of these nodes is no test that could stand elsewhere."""
    if len(nodes) > LARGEST:
        return True
    return any(type(n) in _OWN or (type(n) is f.Op and n.kind == "Await") for n in nodes)


#: what tests mostly call, and no project defines: not to be looked up at every test
_OUTSIDE = frozenset(
    "isinstance hasattr getattr len callable issubclass type int float str get startswith endswith exists isfile isdir "
    "any all item numel size dim is_tensor isnan isfinite is_available is_initialized get_rank get_world_size".split()
)


def _target(frame: Frame, func: f.Expr) -> FunctionTarget | None:
    if type(func) is not f.Lambda and (last_name(func) in _OUTSIDE or not place_name(func)):
        return None
    with frame.aside():
        target = frame.eval(func).target
    return target if type(target) is FunctionTarget else None


def _says_nothing_itself(frame: Frame, function: FunctionInfo) -> bool:
    """Whether only its body tells what a function is."""
    own = function.decorator_names - {"staticmethod"} or function.is_generator or function.is_async
    if own or function.is_class_method or is_world_size(function.name):
        return False
    models = frame.models
    if any(models.convention(kind, function.name) is not None for kind in ("rank", "initialized")):
        return False
    return models.call(f"{function.module.name}.{function.qualname}") is None


def _only_return(function: FunctionInfo) -> f.Expr | None:
    body = function.body
    if body and type(body[0]) is f.ExprStmt and type(body[0].value) is f.Const:
        body = body[1:]
    if not body or type(body[-1]) is not f.Return or body[-1].value is None:
        return None
    returned = body[-1].value
    for s in reversed(body[:-1]):  # `h = self.history` is another name for it
        name = s.targets[0] if type(s) is f.Assign and len(s.targets) == 1 else None
        if (
            type(s) is not f.Assign
            or type(name) is not f.Name
            or type(s.value) is not f.Attr
            or not place_name(s.value)
        ):
            return None
        returned = replaced(returned, {name.id: s.value}, s.value.pos)
    return returned


def _arguments(target: FunctionTarget, call: f.Call, nodes: list[object]) -> Mapping[str, f.Expr] | None:
    """What stands for each parameter; None where one cannot be told, or where what is passed would be done more often
    or less often than once."""
    function = target.function
    own = function.owner is not None and not function.is_static
    if own and (target.receiver is None or type(call.func) is not f.Attr):
        return None
    used = [n.id for n in nodes if type(n) is f.Name]
    lazy = any(type(n) in _LAZY for n in nodes)
    given: dict[str, f.Expr] = {}
    for parameter in function.parameters:
        if parameter.kind not in ("normal", "keyword"):
            return None
        expr = passed(call, function, own, parameter.name)
        if expr is None and type(parameter.default) is f.Const:
            expr = parameter.default
        if expr is None:
            return None
        once = not lazy and used.count(parameter.name) == 1
        if not once and any(type(n) is f.Call or type(n) in _OWN for n in walk(expr)):
            return None
        given[parameter.name] = expr
    if len(call.args) + len(call.keywords) > len(function.parameters):
        return None
    return given
