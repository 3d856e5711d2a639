"""What fails on nothing, below an exit for "there is nothing" or in a branch for "there is some": `items[0]`, say.

The test kept such code from it. Where ranks go only one way, one with nothing comes to it and would fail there, alone.
So does what makes no number of nothing: a mean, or a loss, of what a mask selects is NaN where it selects nothing.
"""

from __future__ import annotations

import re

import libcst as cst

from ferrule_lint.fixes.flags import flags_of
from ferrule_lint.fixes.names import below, binds, local_names, reads
from ferrule_lint.fixes.site import Site, callee
from ferrule_lint.fixes.tests import asks, normal

#: take one item at least, as their first argument, or make no number of none
_TAKE_ONE = frozenset(
    """max min next stack cat concat concatenate vstack hstack choice choices sample reduce pad_sequence mean std var
    median multinomial RandomSampler amax amin argmax argmin quantile topk""".split()
)
#: draw a number below one that may be none
_DRAWS = frozenset({"randint", "randrange"})
#: methods that need an item, or make no number of none
_NEED_ONE = frozenset(
    "max min argmax argmin amax amin pop popleft popitem mean std var median quantile multinomial topk".split()
)
#: are as empty as their argument
_AS_EMPTY = frozenset("list tuple sorted iter reversed enumerate zip map filter tensor as_tensor array asarray".split())

#: methods and functions whose result has an item for each item of what they are given
_KEEPS_ITEMS = frozenset(
    """abs bfloat16 bool clamp clone contiguous copy cos cpu cuda detach double exp flatten float half int items keys
    log log1p log_softmax logsigmoid long masked_select nonzero numpy pow relu reshape sigmoid sin softmax softplus sqrt
    square squeeze t tanh to tolist transpose unsqueeze values view""".split()
)
#: where functions come from that work item by item, if they do not say otherwise
_ITEM_BY_ITEM = re.compile(r"(torch\.nn\.|torch\.|nn\.)?(F|functional)|torch|torch\.special|np|numpy|jnp")
_NOT_BY_ITEM = re.compile(
    r"sum|prod|any|all|norm|mean|std|var|count|numel|bincount|einsum|matmul|mm$|dot$|linear|conv|embedding|"
    r"zeros|ones|full|empty|arange|eye|rand|stack|cat$|pad|equal|dist|save|load"
)
#: ask a tensor or list whether there is something in it, or how much
_ASK = frozenset("any all sum numel nelement len count_nonzero nonzero size".split())
_COUNT = frozenset("sum numel nelement len count_nonzero size item".split())
#: means, unless they are told otherwise
_LOSS = re.compile(r"(^|_)(loss(es)?|cross_entropy|criterion|kl_div)(_|$)|Loss$")
_NETWORK = re.compile(r"(^|_)(model|net|network|head|encoder|decoder|layers?|proj|mlp|tower)$")


def fails_on_nothing(site: Site, owner: cst.If) -> bool:
    """Whether something below `owner` fails where there is nothing of what its test asks for."""
    last = site.tree.span(owner).end_line
    return _fails(site, owner, [one for one in below(site.function.body) if _line(site, one) > last])


def fails_within(site: Site, owner: cst.If | cst.IfExp) -> bool:
    """Whether something in the arm that `owner` takes fails where there is nothing of what its test asks for."""
    return _fails(site, owner, list(below(owner.body)), divided=True)


def _fails(site: Site, owner: cst.If | cst.IfExp, nodes: list[cst.CSTNode], *, divided: bool = False) -> bool:
    """`divided`: whether a division by how much there is counts, too."""
    empty, here = _asked_for(site, owner), set(map(id, nodes))
    for node in sorted(nodes, key=lambda one: _line(site, one)):
        if isinstance(node, cst.Assign | cst.AnnAssign) and node.value is not None and _is_empty(node.value, empty):
            empty |= binds(node)
        needs = _needs_one(node, empty) or (divided and _is_divided(node, empty))
        if needs and not _is_asked_again(site, node, here, empty):
            return True
    return False


def _line(site: Site, node: cst.CSTNode) -> int:
    return site.tree.span(node).line


def _asked_for(site: Site, owner: cst.If | cst.IfExp) -> set[str]:
    """What a test is about, with what a flag or count in it was made of: `items` of `n = len(items)`. These are local
    names, and the texts of what is asked: `batch['mask']`, `labels != -100`.

    A mask (`keep = scores > 0`) is made of what is there in any case.
    """
    local = local_names(site.function) - {"self", "cls"}
    flags = flags_of(site.tree, site.function)
    tests = [owner.test]
    found = reads(owner.test) & set(flags)
    for name in found:
        value = flags[name].value
        if not isinstance(value, cst.Comparison) or asks(site.tree, value) != "other":
            tests.append(value)
    for test in tests:
        names = reads(test) & local
        for subject in _subjects(test):
            found.add(normal(subject))
            if isinstance(subject, cst.Subscript | cst.Attribute):
                names -= reads(subject)
        found |= names
    return found


def _subjects(test: cst.BaseExpression) -> list[cst.BaseExpression]:
    """`x` of `x.any()`, `torch.any(x)` and `len(x)`, in a test."""
    found = []
    for call in below(test):
        if not isinstance(call, cst.Call) or callee(call) not in _ASK:
            continue
        method = isinstance(call.func, cst.Attribute) and not (
            isinstance(call.func.value, cst.Name) and call.func.value.value in ("torch", "np", "numpy")
        )
        if method and isinstance(call.func, cst.Attribute):
            found.append(call.func.value)
        elif call.args:
            found.append(call.args[0].value)
    return found


def _is_empty(value: cst.BaseExpression, empty: set[str]) -> bool:
    """Whether a value has no items where `empty` have none."""
    if isinstance(value, cst.Name):
        return value.value in empty
    if normal(value) in empty:
        return True
    if isinstance(value, cst.BinaryOperation):
        return _is_empty(value.left, empty) or _is_empty(value.right, empty)
    if isinstance(value, cst.UnaryOperation) and isinstance(value.operator, cst.Minus):
        return _is_empty(value.expression, empty)
    if isinstance(value, cst.BaseComp):
        return _is_empty(value.for_in.iter, empty)
    if isinstance(value, cst.Subscript):
        # a slice of nothing, or what a mask selects
        taken = [one.slice.value for one in value.slice if isinstance(one.slice, cst.Index)]
        sliced = not taken and _is_empty(value.value, empty)
        return sliced or any(_is_empty(one, empty) for one in taken)
    if isinstance(value, cst.Call):
        name, given = callee(value), any(_is_empty(arg.value, empty) for arg in value.args)
        if name in _KEEPS_ITEMS and isinstance(value.func, cst.Attribute) and _is_empty(value.func.value, empty):
            return True
        if _LOSS.search(name):
            return given and _reduction(value) == "none"
        return given and (name in _AS_EMPTY or name in _KEEPS_ITEMS or _is_network(value) or _is_by_item(value))
    return False


def _is_by_item(call: cst.Call) -> bool:
    """Whether a library's function has a result for each item, as most have: `F.logsigmoid(x)`, `torch.erf(x)`."""
    of_library = isinstance(call.func, cst.Attribute) and _ITEM_BY_ITEM.fullmatch(_written(call.func.value)) is not None
    return of_library and _NOT_BY_ITEM.search(callee(call)) is None


def _is_network(call: cst.Call) -> bool:
    """Whether a call runs a module, by its name: that has an output for each row of its input."""
    of_self = isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name)
    own = of_self and isinstance(call.func, cst.Attribute) and getattr(call.func.value, "value", "") == "self"
    return own or _NETWORK.search(callee(call)) is not None


def _reduction(call: cst.Call) -> str:
    """What a loss is told to make of the losses of all items; a mean if it is told nothing."""
    for arg in call.args:
        if arg.keyword is not None and arg.keyword.value == "reduction" and isinstance(arg.value, cst.SimpleString):
            return str(arg.value.evaluated_value)
    return "mean"


def _is_divided(node: cst.CSTNode, empty: set[str]) -> bool:
    """Whether a node divides by how much there is of `empty`."""
    if not isinstance(node, cst.BinaryOperation | cst.AugAssign):
        return False
    if not isinstance(node.operator, cst.Divide | cst.DivideAssign | cst.FloorDivide):
        return False
    divisor = node.right if isinstance(node, cst.BinaryOperation) else node.value
    if isinstance(divisor, cst.Call) and callee(divisor) in _COUNT:
        return any(_is_empty(one, empty) for one in _subjects(divisor)) or bool(reads(divisor) & empty)
    return isinstance(divisor, cst.Name) and divisor.value in empty


def _needs_one(node: cst.CSTNode, empty: set[str]) -> bool:
    """Whether a node fails if `empty` have no items, or makes no number of them."""
    if isinstance(node, cst.Subscript):
        return _is_place(node) and _is_empty(node.value, empty)
    if not isinstance(node, cst.Call):
        return False
    if _LOSS.search(callee(node)) and any(_is_empty(arg.value, empty) for arg in node.args):
        return _reduction(node) == "mean"
    if isinstance(node.func, cst.Attribute) and callee(node) in _NEED_ONE and _is_empty(node.func.value, empty):
        return True
    if callee(node) in _DRAWS:
        drawn = [arg.value for arg in node.args if isinstance(arg.value, cst.Name | cst.BinaryOperation)]
        return any(reads(one) & empty for one in drawn)
    if callee(node) not in _TAKE_ONE or not node.args:
        return False
    spared = any(arg.keyword is not None and arg.keyword.value in ("default", "initializer") for arg in node.args)
    more = len([arg for arg in node.args if arg.keyword is None])
    if callee(node) in ("max", "min") and more > 1 and not node.args[0].star:
        return False
    first = node.args[1 if callee(node) == "reduce" and more > 1 else 0].value
    return not spared and not (callee(node) == "next" and more > 1) and _is_empty(first, empty)


def _is_place(node: cst.Subscript) -> bool:
    """Whether one item is taken by its number: `items[0]`, `items[-1]`."""
    only = node.slice[0].slice if len(node.slice) == 1 else None
    number = only.value if isinstance(only, cst.Index) else None
    if isinstance(number, cst.UnaryOperation):
        number = number.expression
    return isinstance(number, cst.Integer)


def _is_asked_again(site: Site, node: cst.CSTNode, here: set[int], empty: set[str]) -> bool:
    """Whether a node stands under another test of the same, among those looked at, or in a loop over it."""
    for one in site.tree.around(node):
        if id(one) not in here:
            return False
        if isinstance(one, cst.If | cst.IfExp) and reads(one.test) & empty:
            return True
        if isinstance(one, cst.For) and _is_empty(one.iter, empty):
            return True
        walked = one.for_in.iter if isinstance(one, cst.BaseComp) else None
        if walked is not None and _is_empty(walked, empty) and node not in list(below(walked)):
            return True
    return False


_LISTS = re.compile(r"(?i)^(typing\.)?(list|sequence|set|tuple|iterable|collection|dict|mapping)\b")


def is_empty_list(site: Site, term: cst.BaseExpression) -> bool:
    """Whether a term is `not items`, of a parameter that is said to be a list, or of what is assigned a list."""
    if not isinstance(term, cst.UnaryOperation) or not isinstance(term.operator, cst.Not):
        return False
    if not isinstance(term.expression, cst.Name):
        return False
    name, found = term.expression.value, site.function.params
    for one in (*found.posonly_params, *found.params, *found.kwonly_params):
        if one.name.value == name:
            kind = "" if one.annotation is None else _written(one.annotation.annotation)
            default = "" if one.default is None else _written(one.default)
            return "None" not in (*kind.split(), default) and _LISTS.match(kind) is not None
    flag = flags_of(site.tree, site.function).get(name)
    return flag is not None and isinstance(flag.value, cst.List | cst.ListComp | cst.Dict | cst.DictComp)


def _written(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
