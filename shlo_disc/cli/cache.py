"""`python -m shlo_disc cache path|ls|prune|verify`: look at the cache on disk, and clean it up."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict
from datetime import datetime

from shlo_disc.cli.output import complain, give, say
from shlo_disc.diagnostics import ShloDiscError, counted
from shlo_disc.progress import Bar
from shlo_disc.runtime.building.cache import Cache, open_cache
from shlo_disc.runtime.building.cache_entries import cache_entries, remove_damaged
from shlo_disc.runtime.building.trimming import trim
from shlo_disc.runtime.peak import parse_bytes

_ENTRIES = "entry", "entries"


def run_cache(options: argparse.Namespace) -> int:
    """Do what is asked. Gives the exit code: 1 if an entry was damaged, 2 if the folder cannot be used."""
    cache = open_cache()
    if cache.is_temporary:  # there was a warning
        return 2
    try:
        return _ACTIONS[options.action](cache, options)
    except ShloDiscError as error:
        complain(error)
        return 2


def _path(cache: Cache, options: argparse.Namespace) -> int:
    give(f"{json.dumps(str(cache.root)) if options.json else cache.root}\n")
    return 0


def _list(cache: Cache, options: argparse.Namespace) -> int:
    found = sorted(cache_entries(cache), key=lambda entry: entry.used)
    if options.json:
        give(json.dumps([asdict(entry) for entry in found]) + "\n")
        return 0
    sizes, counts = Counter[str](), Counter[str]()
    for entry in found:
        sizes[entry.kind] += entry.size
        counts[entry.kind] += 1
    for kind in sorted(sizes):
        say(f"{kind:10} {counted(counts[kind], *_ENTRIES):>14} {sizes[kind] / 1e6:10.1f} MB\n")
    say(f"{'in all':10} {counted(len(found), *_ENTRIES):>14} {sum(sizes.values()) / 1e6:10.1f} MB in {cache.root}\n")
    if found:
        oldest = datetime.fromtimestamp(found[0].used)
        say(f"the first to be removed was used {oldest:%Y-%m-%d %H:%M}; the bound is {cache.limit / 1e9:.1f} GB\n")
    return 0


def _prune(cache: Cache, options: argparse.Namespace) -> int:
    before = {(entry.kind, entry.key): entry.size for entry in cache_entries(cache)}
    trim(cache.root, parse_bytes(options.limit) if options.limit else cache.limit)
    after = {(entry.kind, entry.key) for entry in cache_entries(cache)}
    gone = [size for name, size in before.items() if name not in after]
    if options.json:
        give(json.dumps({"removed": len(gone), "bytes": sum(gone)}) + "\n")
    else:
        say(f"removed {counted(len(gone), *_ENTRIES)}, {sum(gone) / 1e6:.1f} MB; {len(after)} left\n")
    return 0


def _verify(cache: Cache, options: argparse.Namespace) -> int:
    damaged, count = list[str](), 0
    total = sum(1 for _ in cache_entries(cache))
    with Bar() as bar:
        for count, (entry, is_whole) in enumerate(remove_damaged(cache), start=1):
            bar.show(entry.kind, count, total)
            if not is_whole:
                damaged.append(f"{entry.kind}/{entry.key}{entry.suffix}")
    if options.json:
        give(json.dumps({"entries": count, "damaged": damaged}) + "\n")
    else:
        say("".join(f"{name}: damaged, removed\n" for name in damaged))
        say(f"{counted(count, *_ENTRIES)}, {len(damaged)} damaged\n")
    return 1 if damaged else 0


_ACTIONS = {"path": _path, "ls": _list, "prune": _prune, "verify": _verify}
