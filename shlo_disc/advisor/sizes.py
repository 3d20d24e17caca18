"""Sizes of calls: read from a file, from arrays, or from the report of a function of `jit`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from shlo_disc.diagnostics import ShloDiscError, counted, whole_number
from shlo_disc.records import record

_NUMBER, _LIKE_A_NUMBER = re.compile(r"\+?\d{1,18}"), re.compile(r"[-+.\d]")
LARGEST = 10**18  # of a size


@record
class CallSizes:
    """The sizes of calls in their order: a name for each column, and a row for each call."""

    names: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]
    notes: tuple[str, ...] = ()


def sizes_of(given: object) -> CallSizes:
    """Read sizes in any form that `advise` takes. Raises `ShloDiscError`."""
    if isinstance(given, CallSizes):
        return given
    if isinstance(given, str | Path):
        return read_sizes(str(given))
    if (served := getattr(given, "sizes", None)) is not None and hasattr(given, "compilations"):
        return _of_report(served)
    if isinstance(given, Mapping):
        return _of_columns(cast("Mapping[object, object]", given))
    rows = [_row(row, number) for number, row in enumerate(_listed(given), start=1)]
    return _checked(CallSizes(_default_names(len(rows[0]) if rows else 1), tuple(rows)))


def read_sizes(file: str, columns: Sequence[str] = ()) -> CallSizes:
    """Read a file of one call a line: whole numbers between commas, semicolons or spaces.

    Args:
        file: its path, or `-` for the standard input. Its first line may have names; empty lines, and what follows `#`,
            are skipped.
        columns: names or numbers, from 1, of the columns to read; none: all.

    Returns:
        The sizes, in the order of `columns`.

    Raises:
        ShloDiscError: the file cannot be read, or a line of it has no such numbers.
    """
    shown = "<stdin>" if file == "-" else file
    lines = _lines(file, shown)
    names, chosen = tuple[str, ...](), list[int]()
    width, rows = 0, list[tuple[int, ...]]()
    for number, cells in lines:
        if not width:
            width = len(cells)
            is_header = not any(map(_LIKE_A_NUMBER.match, cells))
            names = tuple(cells) if is_header else _default_names(width)
            chosen = _chosen(columns, names, shown, is_named=is_header)
            if is_header:
                continue
        if len(cells) != width:
            raise ShloDiscError(f"{shown}:{number}: expected {counted(width, 'column')} as above, found {len(cells)}")
        for column in chosen:
            if not _NUMBER.fullmatch(cells[column]):
                what = f"column {names[column]!r}" if width > 1 else "this line"
                raise ShloDiscError(
                    f"{shown}:{number}: expected a whole number >= 0 in {what}, found {cells[column]!r}"
                )
        rows.append(tuple([int(cells[column]) for column in chosen]))
    if not rows:
        raise ShloDiscError(f"{shown}: expected lines with sizes, such as 17 or 8,17, found none")
    return _checked(CallSizes(tuple([names[column] for column in chosen]), tuple(rows)), shown)


def _lines(file: str, shown: str) -> Iterable[tuple[int, list[str]]]:
    """The lines that are not empty, with their numbers, in cells."""
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise ShloDiscError(f"{shown}: {error.strerror}") from error
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            text = line.decode("utf-8-sig").partition("#")[0].strip()
        except UnicodeDecodeError:
            raise ShloDiscError(f"{shown}:{number}: expected text in UTF-8, found other bytes") from None
        if text:
            marks = "," if "," in text else ";" if ";" in text else None
            yield number, [cell.strip().strip('"') for cell in text.split(marks)]


def _chosen(columns: Sequence[str], names: tuple[str, ...], shown: str, *, is_named: bool) -> list[int]:
    """The numbers, from 0, of the columns that are to be read."""
    found = list[int]()
    for one in columns:
        if is_named and one in names:
            found.append(names.index(one))
        elif one.isdecimal() and 1 <= int(one) <= len(names):
            found.append(int(one) - 1)
        else:
            known = f"{', '.join(names)}, or " if is_named else ""
            raise ShloDiscError(f"{shown}: found the column {one!r}, expected {known}a number from 1 to {len(names)}")
    return found or list(range(len(names)))


def _of_report(served: Sequence[Any]) -> CallSizes:
    """The different shapes of the calls of a function: those of its largest family."""
    if not served:
        raise ShloDiscError("found the report of a function that has not been called yet, expected one with calls")
    most = max(served, key=lambda one: len(one.rows))
    if not most.names:
        raise ShloDiscError("found the report of a function whose sizes never changed, expected sizes that differ")
    notes = ["each different shape counts once: how often it was called is not recorded"]
    if others := sum(len(one.rows) for one in served) - len(most.rows):
        notes.append(f"without {counted(others, 'shape')} of calls with other types or structures")
    return _checked(CallSizes(most.names, most.rows, tuple(notes)))


def _of_columns(given: Mapping[object, object]) -> CallSizes:
    columns = {str(name): _listed(values) for name, values in given.items()}
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise ShloDiscError(f"expected columns of equal lengths, found {lengths}")
    rows = [
        tuple([_size(value, f"{name}[{number}]") for name, value in zip(columns, row, strict=True)])
        for number, row in enumerate(zip(*columns.values(), strict=True))
    ]
    return _checked(CallSizes(tuple(columns), tuple(rows)))


def _listed(given: object) -> Sequence[object]:
    """Values of an array or any other iterable."""
    to_list = getattr(given, "tolist", None)
    values = to_list() if to_list is not None else given
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise ShloDiscError(
            f"found {given!r}, expected sizes: a path, an array of them, columns, or a function's report"
        )
    return list(cast("Iterable[object]", values))


def _row(row: object, number: int) -> tuple[int, ...]:
    values = _listed(cast("object", row)) if isinstance(row, Iterable) else [row]
    return tuple([_size(value, f"a size of call {number}") for value in values])


def _size(value: object, what: str) -> int:
    size = whole_number(value, what)
    if not 0 <= size < LARGEST:
        raise ShloDiscError(f"found {what} = {size}, expected a size >= 0 and below 10^18")
    return size


def _checked(sizes: CallSizes, shown: str = "") -> CallSizes:
    """The sizes, if there are any, and as many in each row."""
    where = f"{shown}: " if shown else ""
    if not sizes.rows or not sizes.names:
        raise ShloDiscError(f"{where}expected the sizes of at least one call, found none")
    for number, row in enumerate(sizes.rows, start=1):
        if len(row) != len(sizes.names):
            raise ShloDiscError(
                f"{where}expected {counted(len(sizes.names), 'size')} in call {number}, found {len(row)}"
            )
    if not any(all(row) for row in sizes.rows):
        raise ShloDiscError(f"{where}expected a call without a size of 0, found none")
    return sizes


def _default_names(columns: int) -> tuple[str, ...]:
    return ("size",) if columns == 1 else tuple([f"size{number}" for number in range(1, columns + 1)])
