"""What others ask of a function's body without going through it: an edit that leaves all of this concerns only those
who go through it (see `reads`)."""

from __future__ import annotations

from functools import cached_property

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import nodes, statements
from ferrule_lint.semantics.domain.dependences import NOTHING
from ferrule_lint.semantics.domain.text import called_name, place_name
from ferrule_lint.semantics.project.fills import Fill, fills
from ferrule_lint.semantics.project.remote_calls import tells_workers
from ferrule_lint.semantics.project.sent_round import sends_round

#: statements that assign nothing, and end nothing
_ASSIGN_NOTHING = frozenset({f.ExprStmt, f.Assert, f.If})
_NONE = f.Const("None")


class Traits:
    """Each is found out when it is first asked for."""

    def __init__(self, facts: f.FunctionFacts) -> None:
        self._body = facts.body
        self._declared = facts.parameters
        self._parameters = [p.name for p in facts.parameters]

    def all(self) -> tuple[object, ...]:
        """All of them, to see whether those of another version are the same."""
        said: tuple[object, ...]
        said = (self.says_nothing, self.returns, self.raises, self.returned_name, self.returns_numbers)
        said = (*said, self._compared, self.counted, tuple(self.filled.items()), self.entered)
        return *said, self.run, self.set_again, self.sends_round, self.tells_workers

    @cached_property
    def says_nothing(self) -> bool:
        """Whether it is `pass`, `...`, `raise NotImplementedError`, or hands back a constant or an argument."""
        return all(map(_is_empty, self._body))

    @cached_property
    def returns(self) -> bool:
        """Whether it hands back something in any case."""
        return any(type(s) is f.Return for s in self._body)

    @cached_property
    def raises(self) -> bool:
        """Whether it fails in any case."""
        return any(type(s) is f.Raise for s in self._body)

    @cached_property
    def returned_name(self) -> str:
        """The name that it returns at its end and nowhere else, with nothing assigned before; "" if there is none."""
        last = self._body[-1] if self._body else None
        name = last.value.id if type(last) is f.Return and type(last.value) is f.Name else ""
        plain = name and all(type(s) in _ASSIGN_NOTHING or s is last for s in statements(self._body))
        return name if plain else ""

    @cached_property
    def entered(self) -> tuple[list[tuple[str, str]], list[f.Call], set[str]]:
        """The entries that it makes of its parameters as they are, `metrics[key] = value`: (dict, key); the calls that
        it hands two of them on to; and which of them stay what they are."""
        targets = [t for s in statements(self._body) for t in (s.targets if type(s) is f.Assign else _of_loop(s))]
        fixed = {p.name for p in self._declared if p.kind == "normal"} - {t.id for t in targets if type(t) is f.Name}
        own = dict.fromkeys(
            (t.base.id, t.index.id)
            for t in targets
            if type(t) is f.Subscript and type(t.base) is f.Name and type(t.index) is f.Name and t.base.id != t.index.id
        )
        given = ((c, (*c.args, *(v for _, v in c.keywords))) for c in nodes(self._body, f.Call))
        handed = [c for c, args in given if len({a.id for a in args if type(a) is f.Name} & fixed) > 1]
        return [pair for pair in own if fixed.issuperset(pair)], handed, fixed

    @cached_property
    def returns_numbers(self) -> bool:
        """Whether it returns nothing but things with their numbers: `return enumerate(tqdm(loader))`."""
        returned = [s.value for s in statements(self._body) if type(s) is f.Return]
        return bool(returned) and all(type(e) is f.Call and called_name(e) == "enumerate" for e in returned)

    @cached_property
    def sends_round(self) -> bool:
        """Whether it sends a parameter from one rank to the others, and hands back what each has now."""
        return sends_round(self._body, self._parameters)

    @cached_property
    def tells_workers(self) -> bool:
        """Whether it tells the workers which method to call, and calls that itself."""
        return tells_workers(self._body, self._parameters)

    @cached_property
    def run(self) -> frozenset[str]:
        """Parameters that it calls, or calls a method of, or hands on to another call."""
        calls = list(nodes(self._body, f.Call))
        called = {place_name(c.func).partition(".")[0] for c in calls}
        handed = {a.id for c in calls for a in (*c.args, *(v for _, v in c.keywords)) if type(a) is f.Name}
        return frozenset((called | handed).intersection(self._parameters)) or NOTHING

    @cached_property
    def set_again(self) -> frozenset[str]:
        """Parameters that it sets, steps or lets go, themselves or a place in them."""
        targets: list[f.Expr] = []
        for s in statements(self._body):
            if type(s) is f.Assign or type(s) is f.Delete:
                targets += s.targets
            elif type(s) is f.AugAssign or type(s) is f.For:
                targets.append(s.target)
        parts = [part for one in targets for part in (one.elements if type(one) is f.Sequence else (one,))]
        places = {place_name(part.base if type(part) is f.Subscript else part) for part in parts}
        roots = {place.partition(".")[0].partition("[")[0] for place in places}
        return frozenset(roots.intersection(self._parameters)) or NOTHING

    @property
    def told_apart(self) -> frozenset[str]:
        """Parameters by whose value the function takes its ways: it compares them with a text, or with something that
        has a name, such as the member of an `Enum`, or looks for an attribute of that name (`getattr(hook, event)`)."""
        return self._compared[0]

    @property
    def measures(self) -> frozenset[str]:
        """Parameters that the function compares with the size of something."""
        return self._compared[1]

    @property
    def missed(self) -> frozenset[str]:
        """Parameters that the function compares with None."""
        return self._compared[2]

    @cached_property
    def _compared(self) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
        compared = [node for node in nodes(self._body, f.Compare) if len(node.ops) == 1]
        pairs = [
            (asked.id, with_)
            for node in compared
            for asked, with_ in ((node.left, node.rights[0]), (node.rights[0], node.left))
            if type(asked) is f.Name and asked.id in self._parameters
        ]
        named = frozenset(name for name, with_ in pairs if _has_a_name(with_))
        sized = frozenset(name for name, with_ in pairs if _is_a_size(with_))
        missed = frozenset(name for name, with_ in pairs if with_ == _NONE)
        looked_up = (c.args[1] for c in nodes(self._body, f.Call) if len(c.args) > 1 and called_name(c) == "getattr")
        named |= {name.id for name in looked_up if type(name) is f.Name and name.id in self._parameters}
        return named or NOTHING, sized or NOTHING, missed or NOTHING

    @cached_property
    def counted(self) -> tuple[str, ...]:
        """The attributes that a method steps in any case, and sets to nothing else: `self.count += 1`."""
        certain = {place_name(s.target) for s in self._body if type(s) is f.AugAssign and _is_step(s)}
        set_again = {place_name(t) for s in statements(self._body) if type(s) is f.Assign for t in s.targets}
        return tuple(sorted(name for place in certain - set_again if (name := self._own(place))))

    @cached_property
    def filled(self) -> dict[str, Fill]:
        """The attributes that a method adds to, and under which keys."""
        return fills(self._body, self._declared)

    def _own(self, place: str) -> str:
        """The name of an attribute of the instance, "" if a place is none."""
        own = self._parameters[0] if self._parameters else ""
        return place.partition(".")[2] if place.startswith(f"{own}.") and place.count(".") == 1 else ""


def _is_empty(s: f.Stmt) -> bool:
    if type(s) is f.ExprStmt:
        return type(s.value) is f.Const
    if type(s) is f.Raise:
        return called_name(s.value) == "NotImplementedError"
    return type(s) is f.Return and (s.value is None or type(s.value) in (f.Const, f.Name))


def _is_step(s: f.AugAssign) -> bool:
    return s.op == "Add" and type(s.value) is f.Const and s.value.text.isdigit()


def _is_a_size(expr: f.Expr) -> bool:
    """`x.size(0)`, `x.shape[1]`, `len(x)`."""
    if type(expr) is f.Subscript:
        return type(expr.base) is f.Attr and expr.base.attr == "shape"
    return type(expr) is f.Call and called_name(expr) in ("size", "len")


def _has_a_name(expr: f.Expr) -> bool:
    """A text, `Unit.STEP`, or several of them."""
    if type(expr) is f.Sequence:
        return bool(expr.elements) and all(map(_has_a_name, expr.elements))
    return type(expr) is f.Attr or (type(expr) is f.Const and expr.text[:1] in ("'", '"'))


def _of_loop(s: f.Stmt) -> tuple[f.Expr, ...]:
    return (s.target,) if type(s) is f.For else ()
