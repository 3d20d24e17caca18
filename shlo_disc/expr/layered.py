"""An immutable mapping that is cheap to extend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar, cast

K = TypeVar("K")
V = TypeVar("V")
_SMALL = 32  # entries of a layer that is copied into the next one rather than kept apart
_GONE = object()


class Layered(Mapping[K, V], Generic[K, V]):
    """Layers of entries, the oldest and largest first; a later layer overrides earlier ones.

    Layers of similar size are merged, so the number of layers, and of copies of an entry, is logarithmic in the number
    of entries; copying a dict for every new entry would take quadratic time. Iteration is in insertion order, as for a
    dict.

    >>> one = Layered({"a": 1})
    >>> two = one.with_entry("b", 2).with_entry("a", 3)
    >>> dict(one), dict(two), dict(two.without("a"))
    ({'a': 1}, {'a': 3, 'b': 2}, {'b': 2})
    """

    __slots__ = ("_count", "_layers", "_next")

    def __init__(self, entries: Mapping[K, V] | None = None) -> None:
        placed: dict[K, tuple[int, object]] = {key: (k, each) for k, (key, each) in enumerate((entries or {}).items())}
        self._layers: tuple[dict[K, tuple[int, object]], ...] = (placed,)
        self._count = self._next = len(placed)

    def _entry(self, key: object) -> tuple[int, object] | None:
        for layer in reversed(self._layers):
            if (found := layer.get(cast("K", key))) is not None:
                return None if found[1] is _GONE else found
        return None

    def __getitem__(self, key: K) -> V:
        found = self._entry(key)
        if found is None:
            raise KeyError(key)
        return cast("V", found[1])

    def __contains__(self, key: object) -> bool:
        return self._entry(key) is not None

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[K]:
        entries = dict[K, tuple[int, object]]()
        for layer in self._layers:
            entries.update(layer)
        places = [(place, key) for key, (place, value) in entries.items() if value is not _GONE]
        places.sort(key=lambda each: each[0])
        return iter([key for _, key in places])

    def place(self, key: K) -> int:
        """The insertion number of an entry: later entries have larger ones."""
        found = self._entry(key)
        if found is None:
            raise KeyError(key)
        return found[0]

    def changed_since(self, older: Layered[K, V]) -> Iterator[tuple[K, V]]:
        """The entries new or changed since an older mapping that this one extends; visits only unshared layers.

        >>> one = Layered({"a": 1, "b": 2})
        >>> list(one.with_entry("a", 3).with_entry("c", 4).without("b").changed_since(one))
        [('a', 3), ('c', 4)]
        """
        shared = {id(layer) for layer in older._layers}
        for layer in self._layers:
            for key in layer if id(layer) not in shared else ():
                found, before = self._entry(key), older._entry(key)
                if found is not None and (before is None or before[1] != found[1]):
                    yield key, cast("V", found[1])

    def with_entry(self, key: K, value: V) -> Layered[K, V]:
        """The mapping with another value for a key; a new key comes last."""
        known = self._entry(key)
        place = self._next if known is None else known[0]
        return self._extended(key, (place, value), self._count + (known is None))

    def without(self, key: K) -> Layered[K, V]:
        """The mapping without a key, which may be absent."""
        known = self._entry(key)
        return self if known is None else self._extended(key, (known[0], _GONE), self._count - 1)

    def _extended(self, key: K, entry: tuple[int, object], count: int) -> Layered[K, V]:
        layers, last = list(self._layers), {key: entry}
        while layers and len(layers[-1]) <= max(_SMALL, len(last)):
            last = {**layers.pop(), **last}
        made = Layered[K, V]()
        made._layers, made._count, made._next = (*layers, last), count, self._next + 1
        return made
