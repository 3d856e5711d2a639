"""Names: which a piece of code reads and binds, and which surely have a value at a place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import libcst as cst

from ferrule_lint.fixes.parts import parts
from ferrule_lint.fixes.tree import Tree

_WORD = re.compile(r"[^\W\d]\w*")


def fresh(base: str, taken: Iterable[str]) -> str:
    """`base`, or `base_2`, ... if it is taken."""
    known = set(taken)
    name, number = base, 1
    while name in known:
        number += 1
        name = f"{base}_{number}"
    return name


def words(text: str) -> set[str]:
    """All that could be a name in `text`: more than its names, so that what is not among them is free."""
    return set(_WORD.findall(text))


def below(root: cst.CSTNode, *, functions: bool = False) -> Iterator[cst.CSTNode]:
    """`root` and the nodes below it, in no order; into nested functions, lambdas and classes only if asked to."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        if node is not root and not functions and isinstance(node, cst.FunctionDef | cst.Lambda | cst.ClassDef):
            continue
        stack.extend(reversed(parts(node)))


def reads(node: cst.CSTNode) -> set[str]:
    """Names that evaluating `node` reads, its own targets not counted out."""
    found: set[str] = set()
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, cst.Name):
            found.add(one.value)
        elif isinstance(one, cst.Attribute | cst.Arg):
            stack.append(one.value)
        else:
            stack.extend(parts(one))
    return found


def binds(node: cst.CSTNode) -> set[str]:
    """Names that `node` or anything below it in the same scope binds or deletes."""
    found: set[str] = set()
    for one in below(node):
        if isinstance(one, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.For | cst.CompFor | cst.NamedExpr):
            found |= _targets(one.target)
        elif isinstance(one, cst.AsName):
            found |= _targets(one.name)
        elif isinstance(one, cst.FunctionDef | cst.ClassDef):
            found.add(one.name.value)
        elif isinstance(one, cst.Del):
            found |= _targets(one.target)
        elif isinstance(one, cst.ImportAlias):
            found.add(one.evaluated_alias or one.evaluated_name.partition(".")[0])
        elif isinstance(one, cst.Global | cst.Nonlocal):
            found |= {item.name.value for item in one.names}
        elif isinstance(one, cst.MatchAs | cst.MatchStar) and one.name is not None:
            found.add(one.name.value)
    return found


def _targets(node: cst.CSTNode) -> set[str]:
    if isinstance(node, cst.Name):
        return {node.value}
    if isinstance(node, cst.Tuple | cst.List):
        return {name for element in node.elements for name in _targets(element.value)}
    if isinstance(node, cst.StarredElement):
        return _targets(node.value)
    return set()


def parameters(function: cst.FunctionDef) -> set[str]:
    """The names of all parameters."""
    found = function.params
    named = [*found.posonly_params, *found.params, *found.kwonly_params]
    stars = [one for one in (found.star_arg, found.star_kwarg) if isinstance(one, cst.Param)]
    return {one.name.value for one in (*named, *stars)}


def local_names(function: cst.FunctionDef) -> set[str]:
    """The names that are local to `function`: parameters and what its body binds."""
    return parameters(function) | binds(function.body)


def surely_bound(
    tree: Tree,
    function: cst.FunctionDef,
    statement: cst.CSTNode,
    names: set[str],
    *,
    arms: bool = False,
    same: bool = True,
) -> bool:
    """Whether each of `names` has a value whenever `statement` is reached, on every rank.

    A local name has one if it is a parameter, or if a statement above, in a block around, binds it in any case. A name
    that is bound in some arm only, above, may hold something else there than on the other ranks: that is a no, too.
    With `arms`, an `if` counts whose arms all bind it; without `same`, any value will do.
    """
    unknown = names & local_names(function) - parameters(function)
    doubtful = names & local_names(function) if same else set()
    current: cst.CSTNode = statement
    while current is not function:
        for above in reversed(tree.before(current)):
            sure = _always(above, arms)
            if (binds(above) - sure) & doubtful:
                return False
            unknown -= sure
            doubtful -= sure
        parent = tree.parent(current)
        if parent is None:
            return False
        if isinstance(parent, cst.For | cst.With):
            unknown -= _header(parent)
            doubtful -= _header(parent)
        if isinstance(parent, cst.For | cst.While) and doubtful & set().union(
            *(binds(below_) - _always(below_, arms) for below_ in parent.body.body)
        ):
            # bound below, in some arm of the round before
            return False
        current = parent
    return not unknown


def _header(node: cst.For | cst.With) -> set[str]:
    """What the head of a loop or `with` binds."""
    if isinstance(node, cst.For):
        return _targets(node.target)
    return {name for item in node.items if item.asname is not None for name in _targets(item.asname.name)}


def _always(statement: cst.CSTNode, arms: bool = False) -> set[str]:
    """Names that `statement` binds whichever way it goes."""
    if isinstance(statement, cst.SimpleStatementLine):
        return {name for small in statement.body for name in _bound_by(small)}
    if isinstance(statement, cst.FunctionDef | cst.ClassDef):
        return {statement.name.value}
    if isinstance(statement, cst.With):
        return _header(statement) | _always_in(statement.body, arms)
    if isinstance(statement, cst.Try) and all(_never_ends(handler.body) for handler in statement.handlers):
        return _always_in(statement.body, arms)
    if arms and isinstance(statement, cst.If) and statement.orelse is not None:
        orelse = statement.orelse
        other = _always(orelse, arms) if isinstance(orelse, cst.If) else _always_in(orelse.body, arms)
        return _always_in(statement.body, arms) & other
    return set()


def _never_ends(suite: cst.BaseSuite) -> bool:
    """Whether a block ends with an exit, so that nothing below is reached from it."""
    last = suite.body[-1] if suite.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    return isinstance(last, cst.Raise | cst.Return | cst.Continue | cst.Break)


def _bound_by(small: cst.BaseSmallStatement) -> set[str]:
    if isinstance(small, cst.Del):
        return set()
    if isinstance(small, cst.AnnAssign) and small.value is None:
        return set()
    return binds(small)


def _always_in(suite: cst.BaseSuite, arms: bool = False) -> set[str]:
    if not isinstance(suite, cst.IndentedBlock):
        return set()
    return {name for statement in suite.body for name in _always(statement, arms)}


def mentioned_later(tree: Tree, function: cst.FunctionDef, statement: cst.CSTNode, names: set[str]) -> set[str]:
    """Which of `names` the function mentions after `statement` in a way that may see what it left in them."""
    end = tree.span(statement).end_line
    loops = [
        one for one in tree.around(statement) if isinstance(one, cst.For | cst.While) and tree.function(one) is function
    ]
    again: set[str] = set()
    if loops:
        # in the next round everything in the loop comes later, but for what is bound anew before
        fresh_names = _bound_in_round(tree, loops[-1], statement)
        again = names - fresh_names
    found: set[str] = set()
    first = tree.span(loops[-1]).line if loops else end
    for node in below(function.body, functions=True):
        if isinstance(node, cst.Name) and node.value in names and not is_label(tree, node):
            line = tree.span(node).line
            inside = tree.span(statement).line <= line <= end
            in_next_round = node.value in again and line >= first and not inside
            if in_next_round or (line > end and not _bound_between(tree, function, end, node)):
                found.add(node.value)
    return found


def is_label(tree: Tree, name: cst.Name) -> bool:
    """Whether a name is that of an attribute or of a parameter that is passed, and so of no variable."""
    parent = tree.parent(name)
    return (isinstance(parent, cst.Attribute) and parent.attr is name) or (
        isinstance(parent, cst.Arg) and parent.keyword is name
    )


def _bound_between(tree: Tree, function: cst.FunctionDef, end: int, name: cst.Name) -> bool:
    """Whether a mention of a name below line `end` binds it, or sees what is bound below that line in any case."""
    current: cst.CSTNode = name
    while current is not function:
        parent = tree.parent(current)
        if parent is None:
            return False
        if isinstance(parent, cst.AssignTarget) and name.value in _targets(parent.target):
            return True
        if any(tree.span(above).line > end and name.value in _always(above, True) for above in tree.before(current)):
            return True
        if isinstance(parent, cst.FunctionDef | cst.Lambda) and parent is not function:
            return False  # runs whenever it is called
        current = parent
    return False


def _bound_in_round(tree: Tree, loop: cst.CSTNode, statement: cst.CSTNode) -> set[str]:
    """Names that each round of `loop` binds before it comes to `statement`."""
    found: set[str] = set()
    current = statement
    while current is not loop:
        for above in tree.before(current):
            found |= _always(above)
        parent = tree.parent(current)
        if parent is None:
            break
        if isinstance(parent, cst.For):
            found |= _header(parent)
        current = parent
    return found
