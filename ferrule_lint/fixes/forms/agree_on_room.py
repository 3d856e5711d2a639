"""Agree on room: whether memory or disk is enough is asked of every rank, where it decides about a collective.

`if psutil.virtual_memory().available > size: keep(state)`, else `save(state)`, goes by what each host has left. There
is enough if every rank has enough, and too little as soon as one has.
"""

from __future__ import annotations

import re

import libcst as cst

from ferrule_lint.findings import Edit, Fix, Safety
from ferrule_lint.fixes.agreeing import agreeing
from ferrule_lint.fixes.blocks import WIDE, on_one_line
from ferrule_lint.fixes.edits import in_order
from ferrule_lint.fixes.site import Group, Site

FORM = "agree-on-room"
#: what is left, and what is taken
_LEFT = re.compile(r"\.(available|free)\b|\bmem_get_info\([^)]*\)\[0\]")
_TAKEN = re.compile(r"\.(used|percent)\b|\b(max_)?memory_(allocated|reserved)\(")
_OF_THE_HOST = re.compile(r"\b(virtual_memory|disk_usage|mem_get_info|memory_allocated|memory_reserved|statvfs)\(")
_MORE = cst.GreaterThan | cst.GreaterThanEqual
_LESS = cst.LessThan | cst.LessThanEqual


def propose(site: Site) -> Fix | None:
    """The comparison, asked of all ranks."""
    tree, owner = site.tree, site.owner
    if site.finding.kind != "host" or not isinstance(owner, cst.If | cst.IfExp):
        return None
    if isinstance(owner, cst.If) and owner not in list(tree.block(owner)):
        return None
    enough = _enough(tree.text(owner.test), owner.test)
    group = None if enough is None else site.group(owner)
    if group is None and all(event.axes == ("?",) for event in site.finding.events):
        group = Group("", certain=False)  # a function of the project makes the group
    helper = None if enough is None or group is None else agreeing(site, "MIN" if enough else "MAX", group)
    if group is None or helper is None:
        return None
    name, edits = helper
    text = on_one_line(tree, owner.test)
    if not text or len(tree.indent(tree.statement(owner) or owner)) + len(text) > WIDE - 20:
        text = tree.text(owner.test)
    wrap = Edit(tree.span(owner.test), f"{name}({text}{group.text})")
    message = "there is enough room if every rank has enough" if enough else "there is too little if one rank has"
    message += "" if group.certain else "; assumes that all ranks of the job come here"
    return Fix(FORM, message, Safety.SAFE if group.certain else Safety.UNSAFE, in_order((*edits, wrap)))


def _enough(text: str, test: cst.BaseExpression) -> bool | None:
    """Whether a test is true where there is enough; None if it compares no room with a limit."""
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1 or not _OF_THE_HOST.search(text):
        return None
    left = cst.Module([]).code_for_node(test.left)
    more = isinstance(test.comparisons[0].operator, _MORE)
    if not more and not isinstance(test.comparisons[0].operator, _LESS):
        return None
    if bool(_LEFT.search(text)) == bool(_TAKEN.search(text)):
        return None
    on_the_left = _LEFT.search(left) is not None or _TAKEN.search(left) is not None
    return (more == on_the_left) == (_LEFT.search(text) is not None)
