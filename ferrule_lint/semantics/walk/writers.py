"""Which methods of a class may set an attribute of its instances, found out once for all of them: there are as many
attributes as methods, and each is asked for by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ferrule_lint.semantics.project.entities import FunctionInfo


class Writers:
    """The methods by the attributes that they set."""

    def __init__(self, methods: Iterable[tuple[FunctionInfo, frozenset[str], frozenset[str]]]) -> None:
        """`methods`: each with the names that it sets, and what it calls (`own_names`)."""
        self._methods: list[FunctionInfo] = []
        #: places among them, by the names of attributes, and of those whose methods are called
        self._setting: dict[str, list[int]] = {}
        self._acting: dict[str, list[int]] = {}
        for place, (method, names, called) in enumerate(methods):
            self._methods.append(method)
            for name in names:
                self._setting.setdefault(name, []).append(place)
            for outer in {outer for outer, dot, _ in (name.removeprefix(".").partition(".") for name in called) if dot}:
                self._acting.setdefault(outer, []).append(place)

    def of(self, name: str) -> Sequence[FunctionInfo]:
        """The methods that set an attribute, or one of an attribute, or that call something of the latter
        (`self.state.stop()`), in their order."""
        outer, _, inner = name.partition(".")
        places = {*self._setting.get(name, ()), *(self._acting.get(outer, ()) if inner else ())}
        return [self._methods[place] for place in sorted(places)]
