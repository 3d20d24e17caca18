"""Compute how much memory a call needs from its sizes.

Only temporaries count, as in XLA's `temp_size_in_bytes`: the arena of the call. Arguments and results belong to the
caller, literals to the program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import RuntimeShapeError, ShloDiscError, whole_number
from shlo_disc.runtime.checks import holds, verify
from shlo_disc.runtime.symbols import Symbols
from shlo_disc.size_expr import bounds, evaluate

_LARGEST = 1 << 40  # the largest size that is tried
_UNITS = {
    "": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
    "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
}  # fmt: skip


def peak_memory(artifact: Artifact, sizes: Mapping[str, int]) -> int:
    """The bytes of temporaries of a call with these sizes.

    Raises `ShloDiscError` if a size is missing, unknown or no number, `RuntimeShapeError` if such a call is refused.
    """
    return evaluate(artifact.arena_bytes, symbols_at(artifact, sizes))


def symbols_at(artifact: Artifact, sizes: Mapping[str, int]) -> Symbols:
    """All symbols of a call with these sizes. Raises like `peak_memory`."""
    sizes = _read_sizes(artifact, sizes)
    if (found := _symbols(artifact, sizes)) is None:
        given = ", ".join(f"{name}={value}" for name, value in sizes.items())
        if all(value >= 0 for value in sizes.values()):
            verify(artifact, Symbols(artifact, _raw(artifact, sizes)))
        raise RuntimeShapeError(f"found the sizes {given}, expected some that meet the program's demands on sizes")
    return found


def largest_size(artifact: Artifact, symbol: str, budget: int | str, sizes: Mapping[str, int]) -> int:
    """The largest value of a symbol whose call keeps within the budget (bytes, or "2GiB").

    Bisects ranges of values, the upper half first, and prunes those whose least peak is too large: correct for any
    formula, and logarithmic where it grows with the symbol. Raises `ShloDiscError` if nothing fits, or everything.
    """
    if symbol in sizes:
        raise ShloDiscError(f"found a value of {symbol}, expected none: it is asked for")
    sizes = _read_sizes(artifact, {**sizes, symbol: 1})
    room = parse_bytes(budget)
    ranges = [(0, _LARGEST)]
    while ranges:
        low, high = ranges.pop()
        if _least(artifact, {**sizes, symbol: (low, high)}) > room:
            continue
        if low == high:
            peak = _peak(artifact, {**sizes, symbol: low})
            if peak is None or peak > room:
                continue
            if low == _LARGEST:
                raise ShloDiscError(f"the peak does not grow with {symbol}: every value keeps within {room} bytes")
            return low
        middle = (low + high) // 2
        ranges += [(low, middle), (middle + 1, high)]
    raise ShloDiscError(f"no value of {symbol} keeps within {room} bytes")


def parse_bytes(budget: int | str) -> int:
    """A number of bytes.

    >>> parse_bytes("2GiB"), parse_bytes("1.5 KB"), parse_bytes(64)
    (2147483648, 1500, 64)
    """
    if isinstance(budget, int):
        return budget
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", budget)
    if found is None or found[2] not in _UNITS:
        raise ShloDiscError(f"found {budget!r}, expected a number of bytes such as 1048576, '64MiB' or '2GiB'")
    return int(float(found[1]) * _UNITS[found[2]])


def _read_sizes(artifact: Artifact, sizes: Mapping[str, object]) -> dict[str, int]:
    """Check what a user gave: a whole number for each size that the program has."""
    known = artifact.free
    for name in sizes:
        if name not in known:
            raise ShloDiscError(f"found size {name!r}, expected {_listed(known)}")
    if missing := [name for name in known if name not in sizes]:
        raise ShloDiscError(f"found no value of {_listed(missing)}")
    return {name: whole_number(value, f"size {name}") for name, value in sizes.items()}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "none, as the program has no dynamic sizes"


def _peak(artifact: Artifact, sizes: Mapping[str, int]) -> int | None:
    """The peak, or None if such a call is refused."""
    found = _symbols(artifact, sizes)
    return None if found is None else evaluate(artifact.arena_bytes, found)


def _symbols(artifact: Artifact, sizes: Mapping[str, int]) -> Symbols | None:
    """All symbols, or None if such a call is refused."""
    raw = _raw(artifact, sizes)
    if any(size < 0 for size in raw[: len(artifact.raw)]):
        return None
    symbols = Symbols(artifact, raw)
    if not all(holds(check, symbols) for check in artifact.checks):
        return None
    if any(name in artifact.symbols and symbols[name] != value for name, value in sizes.items()):
        return None
    return symbols


def _raw(artifact: Artifact, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The sizes that a call reads off its arrays."""
    return tuple(evaluate(size, sizes) for size in artifact.raw_sizes)


def _least(artifact: Artifact, sizes: Mapping[str, int | tuple[int, int]]) -> float:
    """A lower bound of the peak over ranges of sizes."""
    known = {name: (size, size) if isinstance(size, int) else size for name, size in sizes.items()}
    count = artifact.given
    found = dict(zip(artifact.symbols[:count], (bounds(f, known) for f in artifact.raw_sizes), strict=True))
    for name, formula in zip(artifact.symbols[count:], artifact.definitions, strict=True):
        found[name] = bounds(formula, found)
    return bounds(artifact.arena_bytes, found)[0]
