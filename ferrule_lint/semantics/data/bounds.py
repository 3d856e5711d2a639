"""At least, or at most, as many items as a number says: whether something has so many, by the text.

What a name holds is looked up in the statements in front, the last one first, and in the tests around. `if len(x) < n:
raise` and `while len(x) < n: ...` leave at least n behind them, `x = y[:n]` at most n, and an arm that fills up, or
cuts, what the test has found too short, or too long, leaves what the other arm has.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import blocks, nodes, statements, told_parts
from ferrule_lint.semantics.data import fillers
from ferrule_lint.semantics.data.fillers import end_of
from ferrule_lint.semantics.domain.assigned import by_place
from ferrule_lint.semantics.domain.text import last_name, place_name, position, variables

if TYPE_CHECKING:
    from ferrule_lint.semantics.walk.frame import Frame

_NOTHING, _ZERO = f.Const("None"), f.Const("0")
_ALL = f.Op("Slice", (_NOTHING, _NOTHING, _NOTHING))
_LEAVE = frozenset({f.Return, f.Continue, f.Break, f.Raise})
#: how a length compares with a number that it is at least, or at most, if a test holds or does not
_SAYS = {
    (True, True): frozenset({">=", ">", "=="}), (True, False): frozenset({"<", "<=", "!="}),
    (False, True): frozenset({"<=", "<", "=="}), (False, False): frozenset({">", ">=", "!="}),
}  # fmt: skip
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
#: calls and methods that hand back as many items as they get
KEEP = frozenset(
    "list tuple sorted reversed tensor as_tensor array asarray from_numpy argsort sort flip clone detach to cpu cuda "
    "float long int half bool double numpy tolist contiguous type astype sigmoid softmax abs".split()
)
_JOIN = frozenset("cat concat concatenate vstack".split())
_ORDER = frozenset({"sort", "topk"})
#: what makes places of as many items as it is told
_PLACES = frozenset({"randperm", "arange", "permutation", "range"})
_GROW, _TAKE = frozenset({"append", "extend", "insert", "+="}), frozenset({"pop", "remove", "clear"})
#: expressions and names that are followed behind one another
DEEPEST = 10
#: statements that are looked at for one question
_MOST_STATEMENTS = 24

Way: TypeAlias = Sequence[tuple[f.Body, int]]


def kept_by(call: f.Call) -> f.Expr | None:
    """`n` of `x.topk(n)` and `torch.topk(x, n)`: fewer are an error."""
    if last_name(call.func) != "topk" or any(k == "k" for k, _ in call.keywords):
        return next((value for k, value in call.keywords if k == "k"), None) if last_name(call.func) == "topk" else None
    method = type(call.func) is f.Attr and place_name(call.func.base) not in ("torch", "th")
    return call.args[0 if method else 1] if len(call.args) > (0 if method else 1) else None


def body_of(frame: Frame) -> f.Body:
    return frame.function.body if frame.function is not None else frame.module.body


class Asked(NamedTuple):
    """The question whether something has at least, or at most, as many items as a number says."""

    frame: Frame
    number: f.Expr
    least: bool
    #: it is the smallest number that any rank has
    agreed: bool = False

    def of(self, expr: f.Expr, way: Way, depth: int = 0) -> bool:
        """`way`: to where the expression stands."""
        if self.agreed:
            return True
        if depth > DEEPEST:
            return False
        if place := place_name(expr):
            parted = type(expr) is f.Attr and expr.attr in ("indices", "values")
            return self._before(way, place, depth + 1) or (parted and self.of(expr.base, way, depth + 1))  # type: ignore[union-attr]
        if type(expr) is f.Attr:
            ordered = type(expr.base) is f.Call and last_name(expr.base.func) in _ORDER
            return ordered and expr.attr in ("indices", "values") and self.of(expr.base, way, depth + 1)
        if type(expr) is f.Op and expr.kind == "Add":
            return self._together(expr.operands, way, depth)
        if type(expr) is f.Sequence and expr.elements and all(type(e) is f.Starred for e in expr.elements):
            return self._together([e.value for e in expr.elements if type(e) is f.Starred], way, depth)
        if type(expr) is f.Call:
            return self._called(expr, way, depth)
        if type(expr) is f.Subscript:
            return self._indexed(expr, way, depth)
        if type(expr) is f.Comprehension:
            alone = expr.kind == "list" and len(expr.generators) == 1
            kept = alone and (not self.least or not expr.generators[0].conditions)
            return kept and self.of(expr.generators[0].iterable, way, depth + 1)
        if type(expr) is f.IfExp:
            arms = ((expr.body, True), (expr.orelse, False))
            return all(
                self._tells(expr.test, outcome, place_name(arm), way)
                or self._under(expr.test, outcome, arm, way, depth)
                or self.of(arm, way, depth + 1)
                for arm, outcome in arms
            )
        return any(self._fits(n) for n in fillers.times(expr))

    def _under(self, test: f.Expr, outcome: bool, arm: f.Expr, way: Way, depth: int) -> bool:
        """Whether an arm is cut or filled up under a test that says how much there is of what it is made of."""
        if type(arm) is f.Subscript and (end := end_of(arm.index)) is not None and self._fits(end):
            return not self.least or self._tells(test, outcome, place_name(arm.base), way)
        if self.least:
            return False
        parts = _parts_of(arm)
        return any(
            self._fits(number) and (cut or self._tells(test, outcome, place_name(whole), way))
            for number, whole, cut in fillers.completed(self.frame, parts)
            if len(parts) == 2
        )

    def _together(self, parts: Sequence[f.Expr], way: Way, depth: int) -> bool:
        if self.least and any(self.of(part, way, depth + 1) for part in parts):
            return True
        return any(
            self._fits(number) and (self.least or cut or self.of(whole, way, depth + 1))
            for number, whole, cut in fillers.completed(self.frame, parts)
            if self.least or len(parts) == 2
        )

    def _called(self, call: f.Call, way: Way, depth: int) -> bool:
        name, first = last_name(call.func), call.args[0] if call.args else None
        if name in _JOIN:
            return type(first) is f.Sequence and self._together(first.elements, way, depth)
        if (number := kept_by(call)) is not None:
            return self._fits(number)
        if name in _PLACES and len(call.args) == 1 and first is not None:
            counted = fillers.sized(fillers.meant(self.frame, first))
            return self._fits(first) or (counted is not None and self.of(counted, way, depth + 1))
        if name == "pad" and first is not None:
            return any(
                self._fits(number) and (self.least or cut or self.of(first, way, depth + 1))
                for number, cut in fillers.padded(self.frame, call)
            )
        if name in fillers.MAKERS:
            return (size := fillers.first_size(call)) is not None and self._fits(size)
        if name in KEEP:
            of_method = type(call.func) is f.Attr and place_name(call.func.base) not in ("torch", "np", "numpy", "th")
            inner = call.func.base if of_method and type(call.func) is f.Attr else first
            return inner is not None and self.of(inner, way, depth + 1)
        return False

    def _indexed(self, e: f.Subscript, way: Way, depth: int) -> bool:
        index = e.index.elements[0] if type(e.index) is f.Sequence and e.index.elements else e.index
        if type(index) is f.Const:
            ordered = type(e.base) is f.Call and last_name(e.base.func) in _ORDER
            return ordered and self.of(e.base, way, depth + 1)
        if index == _ALL:
            return self.of(e.base, way, depth + 1)
        if type(index) is f.Op and index.kind == "Slice":
            fits = (end := end_of(index)) is not None and self._fits(end, e.base)
            if self.least:
                return fits and self.of(e.base, way, depth + 1)
            return fits or self.of(e.base, way, depth + 1)
        return self.of(index, way, depth + 1)

    def _fits(self, number: f.Expr, of: f.Expr | None = None) -> bool:
        """Whether a number is as large as the one in question, or larger; as small, or smaller. `of`: the number of
        whose items does not count beside it, in `items[: min(n, len(items))]`."""
        if fillers.same(self.frame, number, self.number):
            return True
        meant, own = fillers.meant(self.frame, number), fillers.meant(self.frame, self.number)
        if type(meant) is f.Const and type(own) is f.Const and meant.text.isdigit() and own.text.isdigit():
            return int(meant.text) >= int(own.text) if self.least else int(meant.text) <= int(own.text)
        if type(meant) is not f.Call or len(meant.args) < 2 or last_name(meant.func) not in ("min", "max"):
            return False
        if (last_name(meant.func) == "max") is self.least:
            return any(self._fits(a) for a in meant.args)
        return all(self._fits(a) or (of is not None and fillers.is_length(self.frame, a, of)) for a in meant.args)

    def _tells(self, test: f.Expr, outcome: bool, place: str, way: Way) -> bool:
        """Whether a test with an outcome says so of a place."""
        if not place:
            return False
        for part, holds in told_parts(test, outcome):
            if type(part) is not f.Compare or len(part.ops) != 1:
                continue
            op, left, right = part.ops[0], part.left, part.rights[0]
            for own, how, other in ((left, op, right), (right, _TURNED.get(op, op), left)):
                if how in _SAYS[self.least, holds] and self._counts(own, place, test) and self._fits(other):
                    return True
                missing = fillers.lacked(self.frame, own) if other == _ZERO else None  # `n - len(items) > 0`
                if missing is None or _TURNED.get(how, how) not in _SAYS[self.least, holds]:
                    continue
                if self._fits(missing[0]) and self._counts(missing[1], place, test):
                    return True
        return False

    def _counts(self, number: f.Expr, place: str, test: f.Expr) -> bool:
        """Whether a number is how many items a place has where a test stands: nothing may have been put there since."""
        pos, asked = position(test), fillers.sized(number)
        if pos is None:
            return False
        bodies, body, line = self.frame.analysis.bodies, body_of(self.frame), pos[0]
        if asked is None and type(number) is f.Name:
            counting = bodies.assigning(body, number.id)
            if len(counting) == 1 and counting[0].value is not None:
                asked, line = fillers.sized(counting[0].value), counting[0].line
        counted = place_name(asked)
        if not counted or counted == place:
            return bool(counted) and not self._is_set(place, line, pos[0])
        made = max((s for s in bodies.assigning(body, place) if s.line < line), key=lambda s: s.line, default=None)
        if made is None or made.value is None or _as_long_as(made.value) != counted:
            return False
        return not self._is_set(counted, made.line, pos[0]) and not self._is_set(place, made.line + 1, pos[0])

    def _is_set(self, place: str, since: int, until: int) -> bool:
        """Whether something is put into a place on some lines, without the last one."""
        lines = self.frame.analysis.bodies.once(_setting, body_of(self.frame)).get(place, [])
        return any(since <= line < until for line in lines)

    # ------------------------------------------------------------------ statements
    def _before(self, way: Way, place: str, depth: int) -> bool:
        looked_at = 0
        for level in range(len(way) - 1, -1, -1):
            block, i = way[level]
            for at in self._concerning(block, i, place):
                looked_at += 1
                said = self._said(block[at], place, (*way[:level], (block, at)), depth)
                if said is not None or looked_at > _MOST_STATEMENTS:
                    return bool(said)
            said = self._entered(way[level - 1], block, place, way[:level]) if level else False
            if said is not None:
                return said
        return False

    def _concerning(self, block: f.Body, until: int, place: str) -> list[int]:
        """The statements of a block in front of one of them that have to do with a place, its length or the number, the
        last one first."""
        bodies = self.frame.analysis.bodies
        counting = bodies.once(_counting, body_of(self.frame)).get(place, [])
        concerned = bodies.once(_concerned, block)
        names = {place, *counting, *variables(self.number)}
        return sorted({i for name in names for i in concerned.get(name, []) if i < until}, reverse=True)

    def _entered(self, around: tuple[f.Body, int], block: f.Body, place: str, way: Way) -> bool | None:
        """What is known of a place where a block begins, by the statement around it; None: go on in front of it."""
        s = around[0][around[1]]
        if type(s) is f.If:
            return self._tells(s.test, block is s.body, place, way) or None
        if type(s) is f.With:
            return None
        if type(s) is f.While and block is s.body and self._tells(s.test, True, place, way):
            return True
        return None if (type(s) is f.For or type(s) is f.While) and self._leaves_alone(s, place) else False

    def behind(self, s: f.If, place: str, way: Way, depth: int) -> bool:
        """Whether it holds behind a test, whichever arm was taken. `way`: to the test."""
        for arm, outcome in ((s.body, True), (s.orelse, False)):
            said = self._at_end(arm, place, way, depth)
            if said is None:
                said = self._tells(s.test, outcome, place, way) or self._before(way, place, depth + 1)
            if not said:
                return False
        return True

    def _at_end(self, block: f.Body, place: str, way: Way, depth: int) -> bool | None:
        """The same at the end of a block; None if that says nothing of the place."""
        if block and type(block[-1]) in _LEAVE:
            return True
        for i in self._concerning(block, len(block), place):
            said = self._said(block[i], place, (*way, (block, i)), depth)
            if said is not None:
                return said
        return None

    def _said(self, s: f.Stmt, place: str, way: Way, depth: int) -> bool | None:
        """What a statement says of a place behind it; None if nothing."""
        if depth > DEEPEST:
            return False
        if type(s) is f.Assign and s.value is not None:
            for target in s.targets:
                if place_name(target) == place:
                    return self.of(s.value, way, depth + 1)
                if type(target) is f.Sequence and place in map(place_name, target.elements):
                    if type(s.value) is f.Sequence and len(s.value.elements) == len(target.elements):
                        own = s.value.elements[[*map(place_name, target.elements)].index(place)]
                        return self.of(own, way, depth + 1)
                    taken = type(s.value) is f.Call and last_name(s.value.func) in _ORDER
                    return taken and self.of(s.value, way, depth + 1)
        if type(s) is f.AugAssign and place_name(s.target) == place:
            return self._grown(s.value, way, depth) if s.op == "Add" else False
        called = _method_called(s)
        if called is not None and place_name(called.base) == place:
            given = s.value.args if type(s) is f.ExprStmt and type(s.value) is f.Call else ()
            if called.attr == "extend" and given:
                return self._grown(given[0], way, depth)
            if called.attr in (_TAKE if self.least else _GROW):
                return False
        if type(s) is f.Delete and (place, "remove") in done_in((s,)):
            return False if self.least else None
        if type(s) is f.Assert:
            return self._tells(s.test, True, place, way) or None
        if type(s) is f.If and (s.orelse or s.body):
            return self._of_if(s, place, way, depth)
        if type(s) is f.While and (told := self._of_while(s, place, way)):
            return told
        if type(s) is f.With:
            return self._at_end(s.body, place, way, depth)
        return None if self._leaves_alone(s, place) and not self._changes_number(s) else False

    def _grown(self, added: f.Expr, way: Way, depth: int) -> bool | None:
        """Something is put into a list: it has at least as much as that, and no more is known of how much at most."""
        if not self.least:
            return False
        return self.of(added, way, depth + 1) or None

    def _of_if(self, s: f.If, place: str, way: Way, depth: int) -> bool | None:
        for arm, outcome in ((s.body, False), (s.orelse, True)):
            if arm and type(arm[-1]) in _LEAVE and self._tells(s.test, outcome, place, way):
                return True
        if any(at == place for at, _ in self._done_in(s)):
            return self.behind(s, place, way, depth + 1)
        return False if self._changes_number(s) else None

    def _of_while(self, s: f.While, place: str, way: Way) -> bool:
        """`while len(items) < n:`, and `while True:` with `if len(items) >= n: break`."""
        leaves = [one for one in statements(s.body) if type(one) is f.Break]
        if not leaves:
            return self._tells(s.test, False, place, way)
        last = s.body[-1]
        ends = type(last) is f.If and [*map(type, last.body)] == [f.Break] and last.body[0] in leaves
        endless = type(s.test) is f.Const and len(leaves) == 1
        return ends and endless and type(last) is f.If and self._tells(last.test, True, place, way)

    def _leaves_alone(self, s: f.Stmt, place: str) -> bool:
        """Whether the blocks of a statement neither put anything else into a place nor take from it, or add to it, what
        matters."""
        done = self._done_in(s)
        changes = _TAKE if self.least else _GROW
        return (
            place not in _targets(s) and (place, "=") not in done and not any((place, how) in done for how in changes)
        )

    def _changes_number(self, s: f.Stmt) -> bool:
        """Whether a statement puts another number in place of the one in question: what was asked in front of it was
        not this one."""
        names = variables(self.number)
        done = {place for place, how in self._done_in(s) if how in ("=", "+=")}
        return not names.isdisjoint(_targets(s) | done) or (type(s) is f.AugAssign and place_name(s.target) in names)

    def _done_in(self, s: f.Stmt) -> set[tuple[str, str]]:
        bodies = self.frame.analysis.bodies
        return set().union(*(bodies.once(done_in, block) for block in blocks(s)))


def _method_called(s: f.Stmt) -> f.Attr | None:
    """`kept.pop` of `kept.pop()` and of `last = kept.pop()`."""
    value = s.value if type(s) is f.ExprStmt or type(s) is f.Assign else None
    return value.func if type(value) is f.Call and type(value.func) is f.Attr else None


def _concerned(block: f.Body) -> dict[str, list[int]]:
    """The statements of a block, by their numbers, that do something to each place, or ask something of it."""
    found: list[tuple[str, int]] = []
    for i, s in enumerate(block):
        places = {place for place, _ in done_in((s,))}
        for one in statements((s,)):
            if type(one) is f.If or type(one) is f.While or type(one) is f.Assert:
                places |= variables(one.test) | {place_name(n) for n in nodes(one.test, f.Attr)}
        found += ((place, i) for place in places)
    return by_place(found)


def _counting(body: f.Body) -> dict[str, list[str]]:
    """The names that are set to how many items each place has."""
    return by_place(
        (counted, target.id)
        for s in statements(body)
        if type(s) is f.Assign and s.value is not None and (counted := place_name(fillers.sized(s.value)))
        for target in s.targets
        if type(target) is f.Name
    )


def way_of(frame: Frame, pos: f.Pos | tuple[int, int] | None) -> Way:
    """The blocks around a place, as `way_to` finds them, of a function that may be asked of often."""
    found: list[tuple[f.Body, int]] = []
    block: f.Body | None = body_of(frame) if pos is not None else None
    while block and pos is not None:
        i = bisect_right(frame.analysis.bodies.once(_lines, block), pos[0]) - 1
        if i < 0:
            break
        found.append((block, i))
        inner = [one for one in blocks(block[i]) if one and one[0].line <= pos[0]]
        block = inner[-1] if inner else None
    return found


def _lines(block: f.Body) -> list[int]:
    return [s.line for s in block]


def _setting(body: f.Body) -> dict[str, list[int]]:
    """The lines on which something is put into each place."""
    return by_place((place, s.line) for s in statements(body) for place in _targets(s))


def _as_long_as(expr: f.Expr) -> str:
    """The place that has as many items as something made of it: `kept` for `kept[:, 1]`, `kept.clone()`."""
    for _ in range(DEEPEST):
        if type(expr) is f.Subscript and type(expr.index) is f.Sequence and expr.index.elements[:1] == (_ALL,):
            expr = expr.base
        elif type(expr) is f.Call and type(expr.func) is f.Attr and expr.func.attr in KEEP and not expr.args:
            expr = expr.func.base
        else:
            break
    return place_name(expr)


def _parts_of(expr: f.Expr) -> Sequence[f.Expr]:
    """What is put together: `a + b`, `cat([a, b])`."""
    if type(expr) is f.Op and expr.kind == "Add":
        return expr.operands
    if type(expr) is f.Call and last_name(expr.func) in _JOIN and expr.args and type(expr.args[0]) is f.Sequence:
        return expr.args[0].elements
    return ()


def done_in(body: f.Body) -> frozenset[tuple[str, str]]:
    """What is done to places in a body: "=" if something else is put there, "+=", or the method that is called."""
    found: set[tuple[str, str]] = set()
    for s in statements(body):
        found.update((place, "=") for place in _targets(s))
        if type(s) is f.AugAssign:
            found.add((place_name(s.target), "+="))
        elif type(s) is f.Delete:  # `del kept[n:]`
            found.update((place_name(target.base), "remove") for target in s.targets if type(target) is f.Subscript)
        if (called := _method_called(s)) is not None:
            found.add((place_name(called.base), called.attr))
    return frozenset(found)


def _targets(s: f.Stmt) -> set[str]:
    targets: list[f.Expr | None] = []
    if type(s) is f.Assign:
        targets = [*s.targets]
    elif type(s) is f.For:
        targets = [s.target]
    elif type(s) is f.With:
        targets = [target for _, target in s.items]
    parts = (p for t in targets for p in (t.elements if type(t) is f.Sequence else (t,)))
    return {place_name(part) for part in parts} - {""}
