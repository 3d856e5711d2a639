"""Parts of a module that its constructor is given, of no class that is told: `self.vision = vision`.

What is kept so may be anything that can be called. It is a module with parameters where its name says that it is a
model in itself.
"""

from __future__ import annotations

import re

from ferrule_lint.facts import types as f
from ferrule_lint.facts.walk import statements
from ferrule_lint.semantics.domain.text import place_name
from ferrule_lint.semantics.project.entities import ClassInfo

#: names that say so of an attribute which a sharded module was given; others are told by their names alone, anywhere
_MODEL = re.compile(r"_?(\w+_)?(encoder|decoder|tower|llm|lm|vit)|_?vision|_?language", re.IGNORECASE)


def is_model(info: ClassInfo, name: str) -> bool:
    """Whether the constructor of a class is given a model, by its name, and keeps it in this attribute as it is."""
    method = info.methods.get("__init__")
    if method is None or not method.parameters or _MODEL.fullmatch(name) is None:
        return False
    place = f"{method.parameters[0].name}.{name}"
    given = {p.name for p in method.parameters[1:] if p.annotation is None and p.kind in ("normal", "keyword")}
    kept: list[f.Expr | None] = []
    for s in statements(method.body):
        if type(s) is not f.Assign:
            continue
        for target in s.targets:
            if place_name(target) == place:
                kept.append(s.value)
            elif type(target) is f.Sequence:
                several = s.value.elements if type(s.value) is f.Sequence else ()
                for i, item in enumerate(target.elements):
                    if place_name(item) == place:
                        kept.append(several[i] if len(several) == len(target.elements) else None)
    return bool(kept) and all(type(value) is f.Name and value.id in given for value in kept)
