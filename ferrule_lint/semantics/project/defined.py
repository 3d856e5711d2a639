"""What a file defines, by name: looking one thing up is another question than going through all of it.

Who looks a name up does not rest on what stands beside it, so that a function which is added concerns nobody who does
not speak of it. Who goes through them all does.
"""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import TypeVar

_V = TypeVar("_V")


class Defined(dict[str, _V]):
    """Definitions by qualified name; `noted` is called by whoever goes through them, or counts them."""

    __slots__ = ("_noted",)

    def __init__(self, noted: Callable[[], None], found: Mapping[str, _V]) -> None:
        super().__init__(found)
        self._noted = noted

    def __iter__(self) -> Iterator[str]:
        self._noted()
        return super().__iter__()

    def __len__(self) -> int:
        self._noted()
        return super().__len__()

    def keys(self) -> KeysView[str]:  # type: ignore[override]  # a view is one, whatever dict calls its own
        """All names."""
        self._noted()
        return super().keys()

    def values(self) -> ValuesView[_V]:  # type: ignore[override]  # as above
        """All that is defined."""
        self._noted()
        return super().values()

    def items(self) -> ItemsView[str, _V]:  # type: ignore[override]  # as above
        """Both."""
        self._noted()
        return super().items()
