"""All have: a collective for which every item of a rank has to bring something is issued if those of every rank do.

`if all("turns" in sample for sample in samples): gather([sample["turns"] for sample in samples])` asks it of the rank's
own items; one small MIN all-reduce asks it of all. The same for a flag that is true until something lacks, and where
such tests decide which entries a dict gets whose entries are exchanged below, one by one.
"""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.agreeing import agreeing
from ferrule_lint.fixes.edits import in_order
from ferrule_lint.fixes.names import below, binds, parameters, reads
from ferrule_lint.fixes.site import Site, conjuncts
from ferrule_lint.fixes.terms import asks
from ferrule_lint.fixes.tests import without_bool
from ferrule_lint.fixes.tree import Tree

FORM = "all-have"
#: with more entries than that there is more to agree on than it is worth
_MOST_TESTS = 4
#: what a rank does for its own data, and not to tell the others of it
_WORK = frozenset({"forward", "backward", "gathered_parameters", "send", "recv", "isend", "irecv"})


def propose(site: Site) -> Fix | None:
    """The test of the branch, or those by which entries come into the dict, asked of all ranks."""
    owner = site.owner
    if site.finding.kind not in ("data", "structure") or {event.op for event in site.finding.events} & _WORK:
        return None
    if isinstance(owner, cst.If) and (_asks_of_all(site.tree, owner.test) or _is_true_until(site, owner)):
        return _agreed(site, [owner])
    tests = []
    if isinstance(owner, cst.If | cst.For):
        tests = _of_entries(site, owner.test if isinstance(owner, cst.If) else owner.iter, owner)
    return _agreed(site, tests) if tests else None


def _agreed(site: Site, tests: list[cst.If]) -> Fix | None:
    """The tests, each of all ranks."""
    tree = site.tree
    groups = [site.group(one) for one in tests]
    if any(isinstance(tree.parent(one), cst.If) and one not in tree.block(one) for one in tests):
        return None  # an `elif`, which some ranks may not come to
    if any(isinstance(node, cst.NamedExpr | cst.Await) for one in tests for node in tree.walk(one.test)):
        return None
    group = groups[0]
    helper = None if group is None or any(one != group for one in groups) else agreeing(site, "MIN", group)
    if group is None or helper is None:
        return None
    name, edits = helper
    wraps = [Edit(tree.span(one.test), f"{name}({tree.text(one.test)}{group.text})") for one in tests]
    assumptions = ["what only some ranks have may be left out"]
    assumptions += [] if group.certain else ["all ranks of the job come here"]
    message = f"it is brought together only if all ranks have it; assumes that {' and that '.join(assumptions)}"
    return Fix(FORM, message, Safety.UNSAFE, in_order((*edits, *wraps)))


def _asks_of_all(tree: Tree, test: cst.BaseExpression) -> bool:
    """Whether a test asks something of all items, `all(... for ... in items)`, and what it asks besides is no value."""
    found = [term for term in conjuncts(test) if _is_all(term)]
    rest = [term for term in conjuncts(test) if term not in found]
    return bool(found) and all(asks(tree, term) in ("truth", "presence", "other") for term in rest)


def _is_all(term: cst.BaseExpression) -> bool:
    call = without_bool(term)
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Name) or call.func.value != "all":
        return False
    return len(call.args) == 1 and isinstance(call.args[0].value, cst.GeneratorExp | cst.ListComp)


def _is_true_until(site: Site, owner: cst.If) -> bool:
    """Whether a test is a flag that is true at first, above, and false as soon as something of the rank's lacks."""
    if not isinstance(owner.test, cst.Name) or owner.test.value in parameters(site.function):
        return False
    name = owner.test.value
    lines = _lines(site)
    bound = [(one, small) for one in lines for small in one.body if name in binds(small)]
    if any(name in reads(one.target) for one in below(site.function.body) if isinstance(one, cst.For | cst.NamedExpr)):
        return False
    values = [small.value if isinstance(small, cst.Assign | cst.AnnAssign) else None for _, small in bound]
    texts = [None if value is None else site.tree.text(value) for value in values]
    first = bound[0][0] if bound else None
    above = first is not None and first in site.tree.before(owner)
    before = all(site.tree.span(one).line < site.tree.span(owner).line for one, _ in bound)
    return above and before and texts[:1] == ["True"] and len(texts) > 1 and set(texts[1:]) == {"False"}


def _lines(site: Site) -> list[cst.SimpleStatementLine]:
    """The lines of the function, in their order."""
    lines = [node for node in below(site.function.body) if isinstance(node, cst.SimpleStatementLine)]
    return sorted(lines, key=lambda one: site.tree.span(one).line)


def _of_entries(site: Site, named: cst.BaseExpression, owner: cst.If | cst.For) -> list[cst.If]:
    """The tests by which a dict gets its entries, if all of them are such tests; `named` mentions the dict."""
    name = _of_dict(named)
    made = [one for one in _lines(site) for small in one.body if name and name in binds(small)]
    first = made[0] if len(made) == 1 else None
    small = first.body[0] if first is not None and len(first.body) == 1 else None
    value = small.value if isinstance(small, cst.Assign | cst.AnnAssign) else None
    if not isinstance(value, cst.Dict) or value.elements or first is None:
        return []
    block = list(site.tree.block(first))
    around = {owner, *site.tree.around(owner)}
    outer = next((at for at, one in enumerate(block) if one in around), None)
    if outer is None:
        return []
    between = block[block.index(first) + 1 : outer]
    tests: list[cst.If] = []
    for one in between:
        stores = [node for node in below(one) if _stores(node, name)]
        if any(isinstance(node, cst.Name) and node.value == name for node in below(one)) and not stores:
            return []
        if isinstance(one, cst.If) and stores:
            if one.orelse is not None or not _asks_of_all(site.tree, one.test):
                return []
            tests.append(one)
        elif stores and not isinstance(one, cst.SimpleStatementLine):
            return []
    return tests if len(tests) <= _MOST_TESTS else []


def _of_dict(named: cst.BaseExpression) -> str:
    """`d` of `d`, `d.items()`, `d.keys()` and `d.values()`; "" for anything else."""
    if isinstance(named, cst.Call) and isinstance(named.func, cst.Attribute) and not named.args:
        named = named.func.value if named.func.attr.value in ("items", "keys", "values") else named
    return named.value if isinstance(named, cst.Name) else ""


def _stores(node: cst.CSTNode, name: str) -> bool:
    """`d["key"] = ...`, with a key that is written there."""
    targets: Iterable[cst.AssignTarget] = node.targets if isinstance(node, cst.Assign) else ()
    for one in targets:
        place = one.target
        if isinstance(place, cst.Subscript) and isinstance(place.value, cst.Name) and place.value.value == name:
            only = place.slice[0].slice if len(place.slice) == 1 else None
            return isinstance(only, cst.Index) and isinstance(only.value, cst.SimpleString)
    return False
