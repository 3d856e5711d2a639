"""Items that are taken by their numbers: `x[i]`, where `i` is one whole number, and `x[chosen.long()]`.

One number takes one row, whatever data it was worked out from, and a tensor of numbers takes as many as there are in
it. Only truth values take as many as are true. Told by how an index is made: `.item()`, `int(...)`, `t.argmax()`, the
counter of a loop, one of the places in a list of these, also by way of names, pairs and functions of the project; and
casts to whole numbers, arithmetic with them, `torch.where` of three arguments.
https://docs.pytorch.org/docs/stable/generated/torch.where.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.semantics.data import number_types
from ferrule_lint.semantics.data.iteration import definition
from ferrule_lint.semantics.domain.assigned import is_bar
from ferrule_lint.semantics.domain.bound_parts import ARITHMETIC, ITEM, Bound, Path, bound_parts
from ferrule_lint.semantics.domain.targets import FunctionTarget
from ferrule_lint.semantics.domain.text import last_name, root_name, words

if TYPE_CHECKING:
    from ferrule_lint.semantics.domain.lattice import Value
    from ferrule_lint.semantics.walk.frame import Frame

#: functions of Python that make a whole number of whatever they are given
_COUNTS = frozenset(
    "int len ord hash round floor ceil isqrt trunc randint randrange bisect bisect_left bisect_right".split()
)
#: of modules whose functions have the names of torch's, which make tensors
_OF_NUMBERS = frozenset({"math", "random", "bisect"})
#: methods of whatever they are called of that make one
_MADE = frozenset("item index count numel nelement bit_length dim ndimension".split())
#: what a tensor is reduced to: without a dimension, to one
_REDUCE = frozenset("argmax argmin max min sum prod count_nonzero".split())
#: methods that leave a tensor with its numbers, in another layout
_KEEP = frozenset(
    "cpu cuda to detach clone long int short numpy contiguous flatten ravel view reshape squeeze unsqueeze tolist "
    "astype".split()
)
#: what makes tensors of numbers, which are places most often
_NUMBERED = frozenset(
    "argsort multinomial randperm randint arange argwhere flatnonzero nonzero searchsorted bucketize argmax "
    "argmin".split()
)
#: what walks the items of something else
_WALKS = frozenset("list tuple sorted reversed iter set".split())
_CASTS = frozenset({"long", "int", "short"})
_WHOLE = frozenset("long int int64 int32 int16 short intp LongTensor IntTensor".split())
#: names that are followed
_DEEPEST = 12


def in_each_dimension(frame: Frame, call: f.Call) -> bool:
    """Whether a call that looks for places hands them back as a tensor for each dimension: `nonzero(as_tuple=True)`."""
    return last_name(call.func) == "nonzero" and _reader(frame).is_tuple(call)


def is_one(frame: Frame, expr: f.Expr, value: Value) -> bool:
    """Whether an index is one whole number, or a tensor that holds one and has no dimension."""
    if value.number is not None and value.number.dtype == number_types.WHOLE:
        return True
    made = definition(frame, expr)  # of all that the name is given in the function
    return (made is not expr and _reader(frame).is_one(made, ())) or _reader(frame).is_one(expr, ())


def are_numbers(frame: Frame, expr: f.Expr) -> bool:
    """Whether an index is made of whole numbers, and no truth values."""
    made = definition(frame, expr)
    return (made is not expr and _reader(frame).are_numbers(made)) or _reader(frame).are_numbers(expr)


def casts(call: f.Call) -> bool:
    """Whether a method makes whole numbers of what there is: `mask.long()`, `mask.to(torch.int64)`."""
    name = last_name(call.func)
    if name in ("to", "type", "astype"):
        return any(last_name(a) in _WHOLE for a in (*call.args, *(v for key, v in call.keywords if key == "dtype")))
    return name in _CASTS and type(call.func) is f.Attr and not call.args


def _reader(frame: Frame) -> _Reader:
    return _Reader(frame, frame.function.body if frame.function is not None else frame.module.body)


class _Reader:
    """Reads the text of one body; `frame` is that of the function which is looked at, whosever body it is."""

    def __init__(self, frame: Frame, body: f.Body, own: bool = True) -> None:
        self.frame = frame
        self.bound = frame.analysis.bodies.once(bound_parts, body)
        #: whether it is the frame's own body, whose expressions can be evaluated
        self.own = own
        #: of parts of what has names whether they are numbers
        self.known: dict[tuple[str, Path], bool] = {}
        self.followed: set[str] = set()

    # ------------------------------------------------------------------ one number
    def is_one(self, expr: f.Expr, path: Path) -> bool:
        """Whether a part of what an expression makes is one whole number."""
        if type(expr) is f.Name:
            return self._of_name(expr.id, path)
        if type(expr) is f.IfExp:
            return self.is_one(expr.body, path) and self.is_one(expr.orelse, path)
        if type(expr) is f.Walrus:
            return self.is_one(expr.value, path)
        if type(expr) is f.Call:
            return self._of_call(expr, path)
        if type(expr) is f.Subscript:
            return self._of_subscript(expr, path)
        if path:
            return self._of_parts(expr, path)
        if type(expr) is f.Const:
            return expr.text.lstrip("-").isdigit()
        if type(expr) is f.BoolOp:
            return all(self.is_one(value, ()) for value in expr.values)
        return type(expr) is f.Op and expr.kind in ARITHMETIC and self._of_operator(expr)

    def _of_parts(self, expr: f.Expr, path: Path) -> bool:
        """The same of a part of a list or tuple that is written out, or of an item of a comprehension."""
        if type(expr) is f.Comprehension and path[0] == ITEM:
            return len(expr.elements) == 1 and self.is_one(expr.elements[0], path[1:])
        if type(expr) is not f.Sequence:
            return False
        parts = expr.elements if path[0] == ITEM else expr.elements[path[0] : path[0] + 1]
        return bool(parts) and all(self.is_one(part, path[1:]) for part in parts)

    def _of_name(self, name: str, path: Path) -> bool:
        if (name, path) not in self.known:
            if len(self.known) >= _DEEPEST:
                return False
            self.known[name, path] = True  # `best = i` in a loop over `i` and `best`: what else it is says so
            bound = [b for b in self._last_bound(name) if b[0] != _NONE]
            self.known[name, path] = bool(bound) and all(self.is_one(expr, within + path) for expr, within in bound)
        return self.known[name, path]

    def _last_bound(self, name: str) -> list[Bound]:
        """What a name is bound to, without what it was made of itself afterwards: `i = draw(w)`, `i = i.item()`."""
        bound = self.bound.get(name, [])
        made = [k for k, (expr, _) in enumerate(bound) if any(n.id == name for n in nodes(expr, f.Name))]
        return bound[made[-1] :] if made and type(bound[made[-1]][0]) is f.Call else bound

    def _of_operator(self, expr: f.Op) -> bool:
        known = [self.is_one(operand, ()) for operand in expr.operands]
        return any(known) and all(
            one or self._is_alike(operand) for one, operand in zip(known, expr.operands, strict=True)
        )

    def _is_alike(self, expr: f.Expr) -> bool:
        """Whether nothing local is known of an operand: if it is no number, it is as large everywhere."""
        if not self.own or type(expr) not in (f.Name, f.Attr, f.Subscript):
            return False
        value = self.frame.ask(expr)
        return not (value.data or value.shape or value.length or value.boolean or value.container)

    def _of_subscript(self, expr: f.Subscript, path: Path) -> bool:
        if type(expr.base) is f.Attr and expr.base.attr == "shape":
            return not path
        index = expr.index
        if type(index) is f.Op and index.kind == "Slice":
            return path[:1] == (ITEM,) and self.is_one(expr.base, path)
        if type(index) is f.Sequence:  # of all dimensions
            numbers = bool(index.elements) and all(self.is_one(part, ()) for part in index.elements)
            return not path and numbers and self._is_numbered(expr.base)
        if type(index) is f.Const and index.text.isdigit() and self.is_one(expr.base, (int(index.text), *path)):
            return True
        if self._is_first_of_places(expr):  # an item of the places themselves
            return path == (ITEM,)
        return self.is_one(index, ()) and self.is_one(expr.base, (ITEM, *path))

    def _of_call(self, call: f.Call, path: Path) -> bool:
        name, args = last_name(call.func), call.args
        if path[:1] == (ITEM,):
            return self._of_items(call, name, path[1:])
        if (function := self._function(call)) is not None:
            return self._of_function(function, path)
        if name in ("max", "min", "next") and type(call.func) is f.Name and args:
            if name == "next" or len(args) == 1:
                others = all(self.is_one(arg, path) for arg in args[1:])
                return others and self.is_one(args[0], (ITEM, *path))
            return all(self.is_one(arg, path) for arg in args)
        if name == "choice" and len(args) == 1 and all(key == "p" for key, _ in call.keywords):
            return (not path and self.is_one(args[0], ())) or self.is_one(args[0], (ITEM, *path))
        if name == "pop" and type(call.func) is f.Attr:
            return self.is_one(call.func.base, (ITEM, *path))
        if name == "divmod":
            return len(path) == 1
        if path:
            return False
        if type(call.func) is f.Name:
            if name in ("abs", "sum") and args:
                return self.is_one(args[0], () if name == "abs" else (ITEM,))
            return name in _COUNTS and (name != "round" or len(args) == 1)
        return self._of_method(call, name)

    def _of_method(self, call: f.Call, name: str) -> bool:
        if type(call.func) is not f.Attr:
            return False
        if name in _COUNTS:
            of_numpy = name == "randint" and root_name(call.func) in _NUMPY and len(call.args) < 3
            return (of_numpy and not call.keywords) or root_name(call.func) in _OF_NUMBERS
        if name in _MADE or (name == "size" and bool(call.args)):
            return True
        if name in _REDUCE and not call.keywords:
            of_module = type(call.func.base) is f.Name and call.func.base.id in ("torch", *_NUMPY)
            return len(call.args) == of_module
        return name in _KEEP and not call.keywords and self.is_one(call.func.base, ())

    def _of_items(self, call: f.Call, name: str, path: Path) -> bool:
        """The same of one of the items of what a call makes."""
        args = call.args
        if name in ("range", "enumerate", "zip", "map", "filter") and args:
            if name == "enumerate":
                return path == (0,) or (path[:1] == (1,) and self.is_one(args[0], (ITEM, *path[1:])))
            if name == "zip":
                return bool(path) and 0 <= path[0] < len(args) and self.is_one(args[path[0]], (ITEM, *path[1:]))
            if name == "filter":
                return self.is_one(args[-1], (ITEM, *path))
            return not path and (name == "range" or (type(args[0]) is f.Name and args[0].id in _COUNTS))
        if (is_bar(call) or name in _WALKS) and type(call.func) is f.Name and args:
            return self.is_one(args[0], (ITEM, *path))
        if name in ("sample", "choices", "permutation") and args:
            return self.is_one(args[0], (ITEM, *path)) or (not path and self.is_one(args[0], ()))
        if (function := self._function(call)) is not None:
            return self._of_function(function, (ITEM, *path))
        return not path and self._is_numbered(call)

    def _is_numbered(self, expr: f.Expr) -> bool:
        """Whether something is a tensor of numbers, or a list of them: what is taken out of it by a number is one, or a
        row of as many as there are dimensions."""
        while type(expr) is f.Call and type(expr.func) is f.Attr and expr.func.attr in _KEEP:
            expr = expr.func.base
        if type(expr) is f.Subscript and type(expr.index) is f.Op and expr.index.kind == "Slice":
            return self._is_numbered(expr.base)
        if type(expr) is f.Subscript:
            return self._is_first_of_places(expr)
        if type(expr) is f.Name:
            return self._follows(expr.id, self._is_numbered)
        if type(expr) is not f.Call or last_name(expr.func) not in _NUMBERED:
            return False
        return last_name(expr.func) != "nonzero" or not self.is_tuple(expr)

    def _follows(self, name: str, asks: Callable[[f.Expr], bool]) -> bool:
        """Whether something holds of all that a name is given as a whole."""
        if name in self.followed:
            return False
        self.followed.add(name)
        bound = self.bound.get(name, ())
        holds = bool(bound) and all(not within and asks(expr) for expr, within in bound)
        self.followed.discard(name)
        return holds

    def _is_first_of_places(self, expr: f.Subscript) -> bool:
        """`torch.where(mask)[0]`, `mask.nonzero(as_tuple=True)[0]`: the places in a dimension."""
        made = expr.base
        if type(made) is f.Name and len(bound := self.bound.get(made.id, [])) == 1 and not bound[0][1]:
            made = bound[0][0]
        if type(made) is not f.Call or type(expr.index) is not f.Const:
            return False
        name = last_name(made.func)
        return (name == "where" and len(made.args) == 1) or (name == "nonzero" and self.is_tuple(made))

    def is_tuple(self, call: f.Call) -> bool:
        """Whether `nonzero` hands back the places in each dimension: numpy's does."""
        if any(name == "as_tuple" for name, _ in call.keywords):
            return True
        makers = [call, *(b[0] for n in nodes(call, f.Name) for b in self.bound.get(n.id, ()))]
        return any(word in _NUMPY for maker in makers for word in words(maker))

    # ------------------------------------------------------------------ functions of the project
    def _function(self, call: f.Call) -> FunctionTarget | None:
        if not self.own:
            return None
        target = self.frame.ask(call.func).target
        return target if type(target) is FunctionTarget else None

    def _of_function(self, target: FunctionTarget, path: Path) -> bool:
        function = target.function
        if not path and type(function.returns) is f.Name and function.returns.id == "int":
            return True
        returned = [s.value for s in statements(function.body) if type(s) is f.Return]
        reader = _Reader(self.frame, function.body, own=False)
        return bool(returned) and all(value is not None and reader.is_one(value, path) for value in returned)

    # ------------------------------------------------------------------ several numbers
    def are_numbers(self, expr: f.Expr) -> bool:
        if type(expr) is f.Name:
            return self._follows(expr.id, self.are_numbers)
        if type(expr) is f.Op:
            return expr.kind in ARITHMETIC and any(map(self._is_number_in, expr.operands))
        if type(expr) is not f.Call:
            return False
        name = last_name(expr.func)
        if casts(expr):
            return True
        if name == "where":
            arms = (*expr.args[1:], *(v for key, v in expr.keywords if key in ("input", "other", "x", "y")))
            return len(arms) == 2 and not all(map(self._is_truth, arms))
        return name in _NUMBERED - {"nonzero"} or self._of_form(expr)

    def _of_form(self, call: f.Call) -> bool:
        layout = type(call.func) is f.Attr and call.func.attr in _KEEP
        return layout and type(call.func) is f.Attr and self.are_numbers(call.func.base)

    def _is_number_in(self, operand: f.Expr) -> bool:
        """Whether an operand makes numbers of the other, too: truth values times truth values are such again."""
        return (type(operand) is f.Const and operand.text[:1].isdigit()) or self.are_numbers(operand)

    def _is_truth(self, arm: f.Expr) -> bool:
        if type(arm) is f.Const:
            return arm.text in ("True", "False")
        return type(arm) is f.Compare or (self.own and self.frame.ask(arm).boolean)


_NONE = f.Const("None")
_NUMPY = ("np", "numpy")
