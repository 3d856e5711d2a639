"""Tests -> formulas over atoms, and the value that a test has as an expression."""

from __future__ import annotations

import re

from ferrule_lint.facts import types as f
from ferrule_lint.facts.plain import said_of
from ferrule_lint.facts.stated import stated
from ferrule_lint.facts.walk import walk
from ferrule_lint.findings import Confidence
from ferrule_lint.semantics.calls import special_methods
from ferrule_lint.semantics.control import beside_all, needed
from ferrule_lint.semantics.data import iteration
from ferrule_lint.semantics.data.batch_fields import (
    absent_from_sample,
    as_key,
    beside_another_size,
    never_zero,
    optional_entry,
)
from ferrule_lint.semantics.data.fields import read_from
from ferrule_lint.semantics.data.module_outputs import is_output
from ferrule_lint.semantics.data.where_given import given, scope_of
from ferrule_lint.semantics.domain.arithmetic import ORDERS
from ferrule_lint.semantics.domain.axes import WORLD
from ferrule_lint.semantics.domain.conditions import (
    Atom,
    Formula,
    Known,
    Negation,
    connect,
    divergence_of,
    negate,
    with_atoms,
)
from ferrule_lint.semantics.domain.dependences import (
    EMPTY,
    FLOWS,
    ITEM,
    NOTHING,
    PICKED,
    ZERO,
    asked_for,
    only,
    without,
)
from ferrule_lint.semantics.domain.joins import computed, join
from ferrule_lint.semantics.domain.lattice import UNIFORM, UNKNOWN, Divergence, Value, is_member
from ferrule_lint.semantics.domain.targets import ClassTarget, FunctionTarget
from ferrule_lint.semantics.domain.text import called_name, last_name, place_name, position, render, shown
from ferrule_lint.semantics.domain.trace import Choice
from ferrule_lint.semantics.groups import (
    blocks,
    laid_out,
    named_members,
    picked_member,
    plans,
    strides,
    this_round,
    written_ranks,
)
from ferrule_lint.semantics.sources import absent_inputs, first_rank, measured, own_number
from ferrule_lint.semantics.sources import ignored as ignored_labels
from ferrule_lint.semantics.sources.stated import same_for_all
from ferrule_lint.semantics.walk import both_ends, found_files, given_rank, kept_tests, made_under, set_either_way
from ferrule_lint.semantics.walk.filled_by_first import is_filled_by_first
from ferrule_lint.semantics.walk.frame import Frame
from ferrule_lint.semantics.walk.narrowing import narrow, widen
from ferrule_lint.semantics.walk.truth import (
    MEMBERSHIP,
    atom_of,
    in_last_round,
    nothing_in_round,
    observe,
    reads_content,
    truthiness,
)


def condition(frame: Frame, expr: f.Expr) -> tuple[Formula, Value]:
    """A test as a formula, and the value it has as an expression."""
    if (kept := kept_tests.held(frame, expr)) is not None:
        if kept.formula is not None:
            return kept.formula, _of_now(kept.formula, frame.eval(expr))
        assert kept.test is not None
        kept_value = frame.eval(expr)
        if kept_value.types and (own := special_methods.truth(frame, expr, kept_value)) is not None:
            kept_value = kept_value._replace(divergence=own)  # what its methods have done to it since it was made
        return _of_number(frame, kept.test, *truthiness(frame, kept.test, kept_value))
    if type(expr) is f.Not:
        formula, value = condition(frame, expr.operand)
        return negate(formula), _truth(negate(formula), _read(frame, expr.operand, value))
    if type(expr) is f.BoolOp:
        return _connective(frame, expr)
    if (asked := said_of(expr)) is not None:
        return condition(frame, asked[0] if asked[1] else f.Not(asked[0]))
    if type(expr) is f.Compare and len(expr.ops) == 1:
        return _comparison(frame, expr, expr.left, expr.ops[0], expr.rights[0])
    if type(expr) is f.Compare:
        values = [frame.eval(expr.left), *map(frame.eval, expr.rights)]
        value = _range_of_ranks(expr, values, observe(frame, join(values), expr.pos, shown(expr)))
        return atom_of(frame, expr, value), value
    word, inner = stated(expr)
    if word == "uniform":
        return same_for_all(condition(frame, inner)[0]), UNIFORM
    if type(expr) is f.Walrus:
        value = frame.eval(expr)
        return truthiness(frame, f.Name(expr.name, position(expr.value) or (frame.line, 1, frame.line, 1)), value)
    if (known := found_files.is_there(frame, expr)) is not None:
        frame.eval(expr)
        return Known(known), Value(uniform=True, const=repr(known))
    return _of_number(frame, expr, *truthiness(frame, expr, frame.eval(expr)))


def _of_number(frame: Frame, test: f.Expr, formula: Formula, value: Value) -> tuple[Formula, Value]:
    """A number that is asked whether it is zero: `if rank % 2`, also as `bool(rank // half)`."""
    if type(test) is f.Call and last_name(test.func) == "bool" and len(test.args) == 1:
        test = test.args[0]
    if type(test) is not f.Op or value.divergence is None or value.divergence.kind != "rank":
        return formula, value
    asks = written_ranks.asks_for_members(frame, test) or laid_out.asks_for_own(frame, "!=", test, f.Const("0"))
    return (_of_members(formula), value) if asks else (formula, value)


def _read(frame: Frame, expr: f.Expr, value: Value) -> Value:
    """What a comparison says whose truth Python asks for on the way (`not loss > limit`): no mask, but one answer."""
    if value.divergence is not None or value.container or not _compares_sizes(expr):
        return value
    return observe(frame, value, position(expr), shown(expr))


def _compares_sizes(expr: f.Expr) -> bool:
    return type(expr) is f.Compare and expr.ops[0] in ("<", "<=", ">", ">=")


def _of_now(formula: Formula, value: Value) -> Value:
    """The value of a variable that holds a test."""
    return value if type(formula) is not Known else Value(uniform=True, const=repr(formula.value))


def _truth(formula: Formula, value: Value) -> Value:
    if type(formula) is Known:
        return Value(uniform=True, const=repr(formula.value))
    return value.plain()._replace(rank=first_rank.of(formula))


def _connective(frame: Frame, expr: f.BoolOp) -> tuple[Formula, Value]:
    formulas: list[Formula] = []
    values: list[Value] = []
    decides = expr.op == "or"
    for i, operand in enumerate(expr.values):
        if i == 0:
            formula, value = condition(frame, operand)
        else:
            guard = connect(expr.op, list(formulas))
            guard = negate(guard) if decides else guard
            frame.conditions.append(guard)
            narrowed = [narrow(frame, kept_tests.spelled_out(frame, v), not decides) for v in expr.values[:i]]
            with frame.recording() as terms:
                formula, value = condition(frame, operand)
            for places in narrowed:
                widen(frame.env, places)
            frame.conditions.pop()
            if terms:
                first = expr.values[0] if i == 1 else f.BoolOp(expr.op, expr.values[:i], expr.pos)
                pos = position(expr.values[0]) or expr.pos
                frame.emit(Choice(guard, tuple(terms), (), frame.module.path, pos, shown(first), "short circuit"))
        formulas.append(formula)
        values.append(value if i == len(expr.values) - 1 else _read(frame, operand, value))
        if type(formula) is Known and formula.value is decides:
            break
    if expr.op == "and":
        formulas, values = both_ends.taken_together(frame, expr.values, formulas, values)
        formulas = _beside_agreed_flag(formulas, values)
    formulas, values = both_ends.lacked(frame, expr, formulas, values)
    formulas, values = beside_all.told_by_all(frame, expr, formulas, values)
    formulas = given_rank.taken_for_granted(frame, expr.op, expr.values, formulas)
    meant = _parts_members(formulas) and (
        named_members.names_each(expr.op, [kept_tests.spelled_out(frame, v) for v in expr.values])
        or written_ranks.asks_for_members(frame, expr)
    )
    if meant or named_members.asks_for_them(frame, expr):
        formulas = [_of_members(g) for g in formulas]
    formula = connect(expr.op, formulas)
    if type(formula) is Known:
        return formula, Value(uniform=True, const=repr(formula.value))
    joined = join(values).plain()
    return formula, joined._replace(
        types=NOTHING,
        uniform=all(v.uniform for v in values),
        rank=first_rank.of(formula),
        boolean=joined.boolean or _compares_sizes(expr.values[-1]),
    )


def _parts_members(formulas: list[Formula]) -> bool:
    """Whether tests ask for the rank, and one of them for something else than a part in a group."""
    found = [d for g in formulas if (d := divergence_of(g)) is not None and d.kind == "rank"]
    return len(found) == len(formulas) and not all(d.member for d in found)


def _of_members(formula: Formula) -> Formula:
    """A test that asks, with others, who is in a group."""

    def asked(atom: Atom) -> Atom:
        return atom._replace(divergence=atom.divergence._replace(member=True)) if atom.divergence is not None else atom

    return with_atoms(formula, asked)


def _beside_agreed_flag(formulas: list[Formula], values: list[Value]) -> list[Formula]:
    """`agreed and x is not None`: who agreed on a flag has thought of presence, and the guard is for None. Whether the
    module is trained (`self.training`) is nothing that anybody agreed on for that."""
    agreed = any(v.agreed and v.divergence is None for v in values)
    if not agreed and not any(
        type(g) is Atom and g.key.startswith("=") and not g.key.endswith(".training") for g in formulas
    ):
        return formulas
    return [doubted(g) for g in formulas]


def doubted(formula: Formula) -> Formula:
    """A test in which it is a guess that an optional input is there on some ranks only."""
    if type(formula) is Negation:
        return Negation(doubted(formula.operand))
    if type(formula) is Atom and formula.divergence is not None and formula.divergence.kind == "structure":
        return formula._replace(divergence=formula.divergence.at_most(Confidence.LOW))
    return formula


def trusted_to_agree(formula: Formula) -> Formula:
    """A test of files by which a function refuses its arguments: these are wrong on all ranks or on none."""
    if type(formula) is Negation:
        return Negation(trusted_to_agree(formula.operand))
    divergence = formula.divergence if type(formula) is Atom else None
    if divergence is None or divergence.kind != "host" or divergence.confidence > Confidence.LOW:
        return formula
    assert type(formula) is Atom
    return formula._replace(divergence=None)


def answered_alike(formula: Formula) -> Formula:
    """A test that all ranks pass as often, each in rounds of its own."""
    if type(formula) is Negation:
        return Negation(answered_alike(formula.operand))
    return formula._replace(divergence=None) if type(formula) is Atom else formula


_NEGATIVE = {"is not": "is", "!=": "==", "not in": "in", ">=": "<", ">": "<="}
#: whether a size is zero, asked by comparing it so with a number that is written out
_NOTHING = frozenset((op, "0") for op in ("==", "!=", ">", "<=", "is")) | {("<", "1"), (">=", "1")}
_MIRRORED = {">": "<", "<": ">", ">=": "<=", "<=": ">="}


def _comparison(frame: Frame, e: f.Compare, left: f.Expr, op: str, right: f.Expr) -> tuple[Formula, Value]:
    positive = _NEGATIVE.get(op, op)
    negative = positive != op
    a, b = beside_another_size(frame.eval(left), frame.eval(right))
    if (op, b.const) in _NOTHING:
        a = never_zero(a)

    def result(formula: Formula, value: Value) -> tuple[Formula, Value]:
        formula = negate(formula) if negative else formula
        return formula, _truth(formula, value)

    if type(left) is f.Const and type(right) is not f.Const and positive in ("==", "is"):
        left, right, a, b = right, left, b, a
    known = _known_comparison(a, b, op) if positive != "in" else _known_member(a, op, right)
    if known is None and positive == "is" and b.const in ("True", "False") and _is_tensor_of_bool(left, a):
        known = negative
    if known is not None:
        return Known(known), Value(uniform=True, const=repr(known))
    if _asks_for_first(a, right, positive):
        positive, right, b = "==", f.Const("0"), Value(uniform=True, const="0")
    key_expr = f.Compare(left, (positive,), (right,), e.pos)
    if b.const == "None" and positive in ("is", "=="):
        return result(*_absence(frame, key_expr, left, a))
    if positive == "==" and is_empty_display(right):
        formula, value = truthiness(frame, left, a)
        return result(negate(formula), value)
    asks_truth = right in (_TRUE, _FALSE) and type(left) in (f.Name, f.Attr) and a.data is None
    if asks_truth and (positive == "==" or (positive == "is" and _is_truth(frame, left, a))):
        formula, value = condition(frame, left) if positive == "is" else truthiness(frame, left, a)
        return result(formula if right == _TRUE else negate(formula), value)
    if positive == "in":
        return result(*_membership(frame, key_expr, left, as_key(frame, left, a), b))
    if frame.rounds and (last := iteration.last_round(frame, left, positive, right)) is not None:
        return result(in_last_round(frame, key_expr._replace(ops=("==",)), last), UNKNOWN)
    value = _compared(frame, e, left, a, right, b)
    first = _also_member(a, value)
    asked = first_rank.equals_zero(first) if positive in ("==", "is") and b.const == "0" else None
    if asked is not None:
        return result(asked, value)
    tested = value
    # what is passed may be a tensor, whose content this reads
    if value.divergence is None and positive in ("<", "<=") and not value.container:
        tested = observe(frame, value, e.pos, shown(e))
    return result(atom_of(frame, key_expr, tested), value)


def _also_member(rank: Value, compared: Value) -> Value:
    """A rank of which a comparison asks whether it is in a group."""
    if rank.divergence is None or compared.divergence is None or not compared.divergence.member:
        return rank
    return rank._replace(divergence=rank.divergence._replace(member=True))


_TRUE, _FALSE = f.Const("True"), f.Const("False")


def _is_truth(frame: Frame, expr: f.Expr, value: Value) -> bool:
    """Whether one of Python's two bools is what a place holds, so that `x is False` is what `x is True` is not: a test
    that it was set to, what ranks differ in by their number (no rank is called `True`), or a parameter that has to be
    given and is not said to be anything else."""
    if value.presence is not None or value.absent is not None:
        return False
    held = kept_tests.held(frame, expr)
    if held is not None and type(held.test) in (f.Compare, f.Not):
        return True
    if value.divergence is not None:
        return value.divergence.kind == "rank"
    if type(expr) is not f.Name or frame.function is None or frame.version(expr.id):
        return False
    parameter = next((p for p in frame.function.parameters if p.name == expr.id), None)
    if parameter is None or (parameter.default or _TRUE) not in (_TRUE, _FALSE):
        return False
    return parameter.annotation is None or last_name(parameter.annotation) == "bool"


def _is_tensor_of_bool(expr: f.Expr, value: Value) -> bool:
    """`x.any()`, `(x == y).all()`: a tensor or a number of numpy, and neither is one of Python's two bools."""
    if type(expr) is not f.Call or type(expr.func) is not f.Attr or expr.func.attr not in ("any", "all"):
        return False
    return not value.types and value.const is None


def is_empty_display(expr: f.Expr) -> bool:
    """`[]`, `()`, `{}`: what is compared with one is asked whether it has items."""
    return (type(expr) is f.Sequence and not expr.elements) or (type(expr) is f.DictDisplay and not expr.keys)


def _asks_for_first(a: Value, right: f.Expr, op: str) -> bool:
    """Whether this asks a rank if it is the first in another way than `== 0`.

    `rank <= 0`, `rank < 1` and `rank in (-1, 0)`: -1 says that there is one process only.
    """
    if a.divergence is None or a.divergence.kind != "rank":
        return False
    if type(right) is f.Sequence and op == "in":
        texts = {e.text for e in right.elements if type(e) is f.Const}
        return texts in ({"0"}, {"-1", "0"}) and len(texts) == len(right.elements)
    return type(right) is f.Const and (op, right.text) in (("<", "1"), ("<=", "0"))


def _known_comparison(a: Value, b: Value, op: str) -> bool | None:
    """A comparison whose outcome is known: two constants, or the number of ranks with 1."""
    for number, other, sign in ((a, b, op), (b, a, _MIRRORED.get(op, op))):
        of_ranks = number.world_size and number.const is None and number.divergence is None
        if of_ranks and other.const in ("0", "1", "2"):
            if sign in (">", "!=") and other.const in ("0", "1"):
                return True
            if sign == ">=":
                return True
            if sign in ("==", "<=") and other.const in ("0", "1"):
                return False
            if sign == "<" and other.const in ("1", "2"):
                return False
    if a.rank[:1] == "#" and b.const == "-1" and a.divergence and a.divergence.axes == WORLD:
        return _OF_NO_RANK.get(op)
    if b.const == "None" and a.there and op in ("is", "is not", "==", "!="):
        return op in ("is not", "!=")
    if _is_function(a) and b.const is not None and op in ("==", "!=") and _WRITTEN.match(b.const):
        return op == "!="  # `evaluate == "train"`, where a parameter was meant: no function is a text
    if a.const is None or b.const is None or a.divergence or b.divergence or a.deps or b.deps:
        if b.const == "None" and op in ("is", "is not", "==", "!=") and a.const not in (None, "None"):
            return op in ("is not", "!=")
        known = type(a.target) in (FunctionTarget, ClassTarget) and a.presence is None
        if b.const == "None" and op in ("is", "is not") and known:
            return op == "is not"
        return None
    if "<given>" in (a.const, b.const):
        return (op in ("is not", "!=")) if "None" in (a.const, b.const) else None
    if is_member(a.const) is not is_member(b.const):
        return None  # `IntEnum`
    if op in ("==", "is"):
        return a.const == b.const
    if op in ("!=", "is not"):
        return a.const != b.const
    if op in ORDERS and _NUMBER.match(a.const) and _NUMBER.match(b.const):
        return ORDERS[op](int(a.const), int(b.const))
    return None


_NUMBER = re.compile(r"-?\d{1,18}$")
#: how a rank compares with -1, which says that nothing has been launched
_OF_NO_RANK = {"==": False, "!=": True, ">": True, "<=": False}


def _is_function(value: Value) -> bool:
    """Whether this is surely a function of the project."""
    surely = value.presence is None and value.divergence is None and not value.deps
    return surely and type(value.target) is FunctionTarget


def _known_member(a: Value, op: str, right: f.Expr) -> bool | None:
    """`mode in ("train", "validate")` where the text is known, `rank not in [-1, 0]` where the number is."""
    if type(right) is not f.Sequence or a.const is None or a.divergence or a.deps or not _WRITTEN.match(a.const):
        return None
    written = [e.text if type(e) is f.Const else "" for e in right.elements]
    return None if "" in written else (a.const in written) is (op == "in")


#: how constants begin that are the same where their text is: texts, whole numbers below zero
_WRITTEN = re.compile(r"['\"]|-\d+$")


def _absence(frame: Frame, key: f.Compare, left: f.Expr, value: Value) -> tuple[Formula, Value]:
    """`x is None`."""
    formula, asked = _presence(frame, key, left, value)
    if divergence_of(formula) is None or (test := made_under.test_for(frame, left)) is None:
        return formula, asked
    with frame.recording():
        made, _ = condition(frame, test)
    return negate(made), asked


def _presence(frame: Frame, key: f.Compare, left: f.Expr, value: Value) -> tuple[Formula, Value]:
    """`x is None`, by what is known of `x`."""
    divergence = value.presence or nothing_in_round(frame, left, value)
    if divergence is not None and divergence.kind in ("structure", "data") and _is_needed(frame, left, key.pos):
        divergence = None
    if divergence is None and value.divergence is not None and value.divergence.kind not in ("data", "rank"):
        # a rank as such is a number everywhere; `rank=None` stands for "no rank in particular", and no clock is None
        divergence = None if value.rank.startswith("#") or measured.is_there(value.divergence) else value.divergence
    if divergence is not None:
        note = f"whether `{shown(left)}` is there differs between ranks"
        if (value.group is not None or MEMBERSHIP.search(last_name(left))) and not first_rank.has_alone(value):
            divergence = divergence._replace(member=True)
        divergence = divergence.then(frame.step("flow", key.pos, note))
    deps = asked_for(value.deps, value.part) | value.presence_deps
    tested = Value(uniform=value.uniform and divergence is None, divergence=divergence, deps=deps)
    return atom_of(frame, key, tested), tested


def _is_needed(frame: Frame, left: f.Expr, pos: f.Pos) -> bool:
    """Whether what follows a test whether something is there takes it for granted."""
    function = frame.function
    return function is not None and type(left) is f.Name and needed.after(function.body, pos, left.id)


def _membership(frame: Frame, key: f.Compare, left: f.Expr, a: Value, b: Value) -> tuple[Formula, Value]:
    """`x in y`."""
    if type(left) is f.Const and (found := _entry_that_some_have(left.text, b)) is not None:
        note = f"{left.text} is there on some ranks only"
        value = Value(divergence=found.then(frame.step("flow", key.pos, note)))
        return atom_of(frame, key, value), value
    if type(left) is f.Const and b.data is not None:
        name = left.text.strip("'\"")
        if not name.isidentifier() and read_from(frame, key.rights[0]) is not None:
            value = observe(frame, b, key.pos, shown(key))  # `"<image>" in text`: no key looks like that
            return atom_of(frame, key, value), value
        if frame.models.convention("optional", name) is not None and not is_output(frame, key.rights[0]):
            note = f"{left.text} may be absent from the local batch"
            absent = b.data.then(frame.step("flow", key.pos, note))._replace(kind="structure")
            value = Value(divergence=absent.at_most(absent_inputs.of_key(frame.analysis, name)))
            return atom_of(frame, key, value), value
        missing = absent_from_sample(frame, b, left.text, key.pos)
        if missing is not None:
            return atom_of(frame, key, Value(divergence=missing)), Value(divergence=missing)
        value = Value(deps=asked_for(b.deps, True))
        return atom_of(frame, key, value, frozenset()), value
    if type(left) is f.Const:
        entry = optional_entry(frame, key.rights[0], left.text.strip("'\""), key.pos)
        if entry is not None:
            return atom_of(frame, key, Value(divergence=entry)), Value(divergence=entry)
    if (
        a.divergence is not None
        and a.divergence.kind == "host"
        and (_is_hash(frame, left) or own_number.is_of_thread(frame, left))
    ):
        a = Value()
    divergence = a.divergence or next((d for d in (b.divergence, b.length) if d is not None and d.kind == "rank"), None)
    if divergence is None and a.data is not None and type(left) is not f.Const and not _may_be_key(frame, left):
        value = observe(frame, a, key.pos, shown(key))
        if value.divergence is not None and type(key.rights[0]) in (f.Sequence, f.SetDisplay):
            # one of some words names a format, most often
            value = value._replace(divergence=value.divergence.at_most(Confidence.LOW))
        return atom_of(frame, key, value), value
    by_first = (
        a.divergence is None
        and divergence is not None
        and is_filled_by_first(frame, key.rights[0], lambda test: condition(frame, test)[0])
    )
    if divergence is not None and not by_first:
        divergence = divergence._replace(member=True)
    value = Value(
        uniform=a.uniform and b.uniform,
        divergence=divergence,
        deps=a.deps | only(b.deps, ITEM, FLOWS),  # whatever their order
    )
    return atom_of(frame, key, value), value


def _may_be_key(frame: Frame, expr: f.Expr) -> bool:
    """Whether something is what a loop around takes of a batch itself: of a dict the keys, which ranks share."""
    if type(expr) is not f.Name:
        return False
    for around in frame.rounds:
        target, walked = around.statement.target, around.statement.iterable
        if type(walked) is f.Call and called_name(walked) in _COPIES and len(walked.args) == 1:
            walked = walked.args[0]
        first = target.elements[0] if type(target) is f.Sequence and target.elements else target
        of_views = type(walked) is f.Call and last_name(walked.func) in ("keys", "items")
        if place_name(first) == expr.id and (of_views or type(walked) is f.Name):
            return True
    return False


#: `for key in list(batch.keys())`: for who takes keys out meanwhile, or in some order
_COPIES = frozenset({"list", "tuple", "sorted"})


def _entry_that_some_have(key: str, value: Value) -> Divergence | None:
    """Why a dict has a key on some ranks only: it was put in there, or so was something under a key worked out."""
    entry = next((entry for known, entry in value.entries if known == key), None)
    if entry is not None:
        return entry.presence
    length = value.length
    return length if length is not None and length.kind == "rank" else None


def _asks_for_nothing(frame: Frame, size: f.Expr, op: str, number: Value) -> bool:
    """Whether a comparison tells a rank that has nothing from others. A tensor is asked whether it has more than one
    row (`x.shape[0] > 1`) for the sake of its layout; of items it parts ranks with none from those with some, unless
    they are what a module puts out."""
    if (op, number.const) in _NOTHING:
        return True
    counted = size.args[0] if type(size) is f.Call and called_name(size) == "len" and len(size.args) == 1 else None
    return number.const == "1" and counted is not None and not is_output(frame, counted)


def _asks_where_it_lies(own: f.Expr, other: f.Expr) -> bool:
    """`x.device.index == torch.cuda.current_device()`"""
    current = type(own) is f.Call and last_name(own.func) == "current_device"
    return current and any(type(n) is f.Attr and n.attr in ("device", "get_device") for n in walk(other))


def _asks_whether_changed(e: f.Compare, *sides: f.Expr) -> bool:
    """`hash(x) == self.hash_before`: hashes differ between processes, not whether two of one process are the same."""
    return e.ops[0] in ("==", "!=") and any(type(x) is f.Call and called_name(x) == "hash" for x in sides)


def _is_hash(frame: Frame, expr: f.Expr) -> bool:
    """Whether something is looked up by its hash: `h = hash(x)`, `if h in table`, whose keys are such hashes, too."""
    place = place_name(expr)
    values = [expr] if place is None else [g.value for g in given(frame, scope_of(frame), place)]
    return any(type(x) is f.Call and called_name(x) == "hash" for x in values)


def _compared(frame: Frame, e: f.Compare, left: f.Expr, a: Value, right: f.Expr, b: Value) -> Value:
    """The value of `a < b`, `a == b`, ..."""
    op = e.ops[0]
    if _asks_where_it_lies(left, right) or _asks_where_it_lies(right, left):
        return Value()  # each rank has its own tensors on its own device
    if measured.asks_whether_time_passed(frame, left, right):
        return Value()
    if _asks_whether_changed(e, left, right):
        return Value()
    apart = a.divergence is not None and a.divergence.kind == "rank"
    if apart and set_either_way.asks_whether_set(frame, e.ops[0], left, right):
        return Value()
    nothing = _asks_for_nothing(frame, left, op, b) or _is_size_of_nothing(right)
    mirrored = _asks_for_nothing(frame, right, _MIRRORED.get(op, op), a)
    if not (nothing or mirrored):
        a, b = _of_any_size(a), _of_any_size(b)
    values = [a, b]
    for value, asked in ((a, nothing), (b, mirrored)):
        if value.divergence is None and asked and value.emptiness is not None:
            step = frame.step("flow", e.pos, f"`{shown(e)}` tests if it is empty")
            sure = absent_inputs.of_positions(frame.analysis, shown(e))
            emptiness = value.emptiness.then(step)._replace(empty=True)
            return Value(divergence=emptiness.at_most(sure), deps=value.deps)
    joined = computed(values)
    if nothing or mirrored:  # a number that is passed may be a size
        joined = joined._replace(deps=joined.deps | only(joined.deps, ZERO, FLOWS, ITEM))
    if joined.divergence is None and joined.data is not None and (_is_text(left) or _is_text(right)):
        # a word in a batch names its format, most often
        value = observe(frame, joined, e.pos, shown(e))
        return value._replace(divergence=value.divergence.at_most(Confidence.LOW) if value.divergence else None)
    if joined.divergence is None and (joined.data is not None or joined.deps):
        # a comparison of tensors is a tensor; `observe` happens where it is used as a condition
        is_scalar = any(reads_content(x) for x in (left, right))
        if is_scalar or (joined.data is not None and any(v.const is not None for v in values)):
            return observe(frame, joined, e.pos, shown(e))
        if joined.data is not None:
            return joined
    ignored = ignored_labels.mask(frame, e, a, b)
    if ignored is not None:
        return ignored
    if any(v.const == "-1" for v in values):
        return Value()  # "is there a rank at all", "is this process in the group": the same for all it concerns
    if e.ops[0] in (">=", "<") and b.const == "0" and a.divergence is not None and a.divergence.kind == "rank":
        return Value()  # likewise: no rank of the world is negative
    if any(_is_parallel_size(x) and y.const in ("0", "1") for x, y in ((left, b), (right, a))):
        return Value()  # "is there anybody to talk to": the members of a group agree on its size
    member = any(v.divergence is not None and v.divergence.member for v in values)
    if e.ops[0] in ("==", "!=") and joined.divergence is not None and joined.divergence.kind == "rank":
        member = member or blocks.same_place_in_both(frame, left, right)
        member = member or this_round.asks_for_own(frame, e, left, right)
        member = member or plans.asks_for_own_step(frame, left, right)
        member = member or (op == "==" and strides.asks_for_member(frame, left, right))
    if joined.divergence is not None and joined.divergence.kind == "rank" and not member:
        member = written_ranks.asks_for_members(frame, e) or laid_out.asks_for_own(frame, op, left, right)
    if joined.divergence is not None and member:
        joined = joined._replace(divergence=joined.divergence._replace(member=True))
    if joined.divergence is not None and e.ops[0] in ("==", "!="):
        joined = joined._replace(divergence=picked_member.told_by(frame, left, right, joined.divergence))
    if joined.divergence is not None and _asks_for_leader(e.ops[0], left, a, right, b):
        joined = joined._replace(divergence=joined.divergence._replace(leads=True))
    return _range_of_ranks(e, values, joined)


def _asks_for_leader(op: str, left: f.Expr, a: Value, right: f.Expr, b: Value) -> bool:
    """`get_rank() == self.primary_rank`, where nothing is known of the one that is named, and
    `get_rank() == stages[own][0]`, the first of the ranks that stand together in a table."""
    if op not in ("==", "!="):
        return False
    for rank, expr, named in ((a, right, b), (b, left, a)):
        if rank.divergence is None or rank.divergence.kind != "rank" or named.uniform or named.const is not None:
            continue
        if _is_first_of_own(expr) or (type(expr) is f.Attr and named.divergence is None):
            return True
    return False


def _is_first_of_own(expr: f.Expr) -> bool:
    """`stages[own][0]`: of ranks by blocks, the first of one which a variable tells."""
    if type(expr) is not f.Subscript or expr.index != f.Const("0") or type(expr.base) is not f.Subscript:
        return False
    return type(expr.base.index) in (f.Name, f.Attr, f.Call, f.Op)


def _is_size_of_nothing(expr: f.Expr) -> bool:
    """`torch.Size([0])`"""
    sizes = expr.args[0] if type(expr) is f.Call and last_name(expr.func) == "Size" and expr.args else None
    return type(sizes) is f.Sequence and any(type(size) is f.Const and size.text == "0" for size in sizes.elements)


def _is_text(expr: f.Expr) -> bool:
    return type(expr) is f.Const and expr.text[:1] in "'\""


def _of_any_size(value: Value) -> Value:
    """A size that is not compared with zero: that it may be zero somewhere does not matter."""
    if any(how in (EMPTY, PICKED) for _, how in value.deps):
        return value._replace(deps=without(value.deps, EMPTY, PICKED))
    return value


_PARALLEL_SIZE = re.compile(r"(^|_)(dp|tp|pp|cp|ep|sp|etp|edp|parallel|group|world)_(world_)?size$")


def _is_parallel_size(expr: f.Expr) -> bool:
    """Whether something is, by its name, the number of ranks in a group."""
    return _PARALLEL_SIZE.search(last_name(expr)) is not None


def _range_of_ranks(e: f.Compare, values: list[Value], result: Value) -> Value:
    """`first <= rank < last`: whether this process is one of those that play a part, not which of them it is."""
    divergence = result.divergence
    if divergence is None or divergence.kind != "rank" or divergence.axes != WORLD:
        return result
    if any(op not in ("<", "<=", ">", ">=") for op in e.ops) or any(v.const is not None for v in values[-1:]):
        return result
    if not any(v.rank for v in values) and not _PLACES.search(render(e)):
        return result  # a number that one rank keeps, such as the best loss
    return result._replace(divergence=divergence._replace(member=True))


#: names of numbers that stand for processes
_PLACES = re.compile(
    r"rank|idx|index|coord|stage|worker|proc|shard|node|gpu|device|part|member|(^|_|\b)(id|pos)\b", re.I
)
