"""What is in the cache on disk: its entries, and which of them are damaged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shlo_disc.records import record
from shlo_disc.runtime.building.cache import Cache
from shlo_disc.runtime.building.folders import NEW_FILE
from shlo_disc.runtime.building.trimming import entries_in


@record
class CacheEntry:
    """An entry: its kind (`artifacts`, `objects`, …), key, suffix, bytes, and when it was last used (POSIX time)."""

    kind: str
    key: str
    suffix: str
    size: int
    used: float


def cache_entries(cache: Cache) -> Iterator[CacheEntry]:
    """The entries of a cache, without files that are still being written."""
    for kind, half, entry, stat in entries_in(cache.root):
        if not entry.name.startswith(NEW_FILE):
            name = Path(entry.name)
            yield CacheEntry(kind, half + name.stem, name.suffix, stat.st_size, stat.st_mtime)


def remove_damaged(cache: Cache) -> Iterator[tuple[CacheEntry, bool]]:
    """Every entry, and whether it is whole; one that is not is removed."""
    for entry in list(cache_entries(cache)):
        yield entry, cache.is_whole(entry.kind, entry.key, entry.suffix)
