"""What holds settings by its name: `config`, `self.args`, `cfg.model`.

Settings are meant for all ranks. Where one of them is passed on together with local data, in one dict, asking for a
setting is not asking for the data; nor is it where a program keeps a result beside them, under a key of its own.
"""

from __future__ import annotations

import re

from ferrule_lint.facts import types as f
from ferrule_lint.semantics.domain.dependences import CONTAINED, FLOWS, ITEM, recast
from ferrule_lint.semantics.domain.lattice import Value
from ferrule_lint.semantics.domain.text import last_name

_SETTINGS = re.compile(
    r"(^|_)(config(s|er)?|cfgs?|conf|args|opts?|options|settings|hparams|hps?|flags)$", re.IGNORECASE
)


def hold_settings(expr: f.Expr | None) -> bool:
    """Whether something is called after settings."""
    return _SETTINGS.search(last_name(expr)) is not None


def is_setting(place: str) -> bool:
    """Whether a place, by its text, is a field of what is called after settings: `args.rate`, `self.config.rated`."""
    return any(_SETTINGS.search(part) for part in place.split(".")[:-1])


def key_of(call: f.Call) -> f.Const | None:
    """The key under which settings are given something by a method: `config.update("loss", loss)`, and the first of
    several in `config.add(["val", "loss"], loss)`."""
    base = call.func.base if type(call.func) is f.Attr else None
    if len(call.args) != 2 or call.keywords or not hold_settings(base):
        return None
    key = call.args[0]
    if type(key) is f.Sequence and key.elements:
        key = key.elements[0]
    return key if type(key) is f.Const and is_name(key.text) else None


def is_name(key: str) -> bool:
    """Whether a key, by its text, is a name that is written out."""
    return key[:1] in ("'", '"')


def of_entry(base: f.Expr | None, value: Value) -> Value:
    """What an entry of `base` holds, of which nothing more is known than what `base` depends on."""
    if not value.deps or value.data is not None or not hold_settings(base):
        return value
    return value._replace(deps=recast(value.deps, CONTAINED, FLOWS, ITEM))
