"""Validate the user's options and hints before anything is compiled."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast, get_args

from shlo_disc.diagnostics import ShloDiscError, whole_number, whole_numbers
from shlo_disc.options import CompileOptions, FusionRules, Hints
from shlo_disc.schedules.tables import Schedules

_LIKELY = "expected values by the names of sizes such as {'s': [1, 8]}"


def read_options(options: object, threads: int | None) -> CompileOptions:
    """Validate options (None: all defaults), with an optional number of threads beside them.

    Raises `ShloDiscError` for invalid ones.
    """
    found = CompileOptions() if options is None else options
    if not isinstance(found, CompileOptions):
        raise ShloDiscError(f"found options of type {type(found).__name__}, expected CompileOptions")
    if threads is not None and threads != found.threads:
        if found.threads is not None:
            raise ShloDiscError(f"found threads={threads} beside options with threads={found.threads}, expected one")
        found = replace(found, threads=threads)
    _check_choices(found)
    _check_paths(found)
    return found


def _check_choices(options: CompileOptions) -> None:
    choices: dict[str, tuple[object, tuple[object, ...]]] = {
        "driver": (options.driver, ("c", "vm")),
        "fusion": (options.fusion, get_args(FusionRules)),
        "matmul_precision": (options.matmul_precision, ("default", "highest")),
        "optimize": (options.optimize, (0, 1, 2, 3)),
        "isolate_reader": (options.isolate_reader, (None, True, False)),
    }
    for name, (found, known) in choices.items():
        if found not in known:
            raise ShloDiscError(f"found {name} {found!r}, expected {' or '.join(map(repr, known))}")
    if not isinstance(cast("object", options.schedules), Schedules | None):
        raise ShloDiscError(
            f"found schedules of type {type(options.schedules).__name__}, expected what tune or parse_schedules returns"
        )
    if options.threads is not None and whole_number(options.threads, "threads") < 1:
        raise ShloDiscError(f"found threads {options.threads}, expected None or at least 1")
    seconds = cast("object", options.compiler_seconds)
    if seconds is not None and (not isinstance(seconds, int | float) or not seconds > 0):
        raise ShloDiscError(f"found compiler_seconds {seconds!r}, expected None or a positive number of seconds")


def _check_paths(options: CompileOptions) -> None:
    for name in ("compiler", "cache_dir"):
        found: object = getattr(options, name)
        if found is None:
            continue
        if not isinstance(found, str | os.PathLike) or "\0" in f"{found}":
            raise ShloDiscError(f"found {name} {found!r}, expected None or a path")


def read_hints(constraints: object, likely: object, donate: object, ragged: object = None) -> Hints:
    """Validate the caller's hints on a program. Raises `ShloDiscError` for invalid ones."""
    if isinstance(constraints, str):
        raise ShloDiscError(f"found constraints {constraints!r}, expected several such as [{constraints!r}]")
    texts = list(cast("Iterable[object]", constraints)) if isinstance(constraints, Iterable) else [constraints]
    found = tuple([text for text in texts if isinstance(text, str)])
    if len(found) != len(texts):
        raise ShloDiscError(f"found constraints {constraints!r}, expected texts such as ['s <= 512']")
    sizes: object = {} if likely is None else likely
    if not isinstance(sizes, Mapping):
        raise ShloDiscError(f"found likely {likely!r}, {_LIKELY}")
    usual = list[tuple[str, tuple[int, ...]]]()
    for name, values in cast("Mapping[object, object]", sizes).items():
        if not isinstance(name, str):
            raise ShloDiscError(f"found likely {likely!r}, {_LIKELY}")
        usual.append((name, whole_numbers(values, f"likely {name}")))
    rows = _read_ragged(ragged)
    if isinstance(donate, str):
        if donate == "marked":
            return Hints(found, tuple(usual), donates_marked=True, ragged=rows)
        raise ShloDiscError(
            f"found donate = {donate!r}, expected numbers of flat arguments such as [0, 2], or 'marked'"
        )
    return Hints(found, tuple(usual), whole_numbers(donate, "donate"), ragged=rows)


def _read_ragged(ragged: object) -> tuple[tuple[str, str | int], ...]:
    """Validate which sizes are ragged; None: no size."""
    if ragged is None:
        return ()
    expected = "expected arguments with lengths by the names of sizes, such as {'s': 'lengths'}"
    if not isinstance(ragged, Mapping) or not ragged:
        raise ShloDiscError(f"found ragged {ragged!r}, {expected}")
    found = list[tuple[str, str | int]]()
    for name, argument in cast("Mapping[object, object]", ragged).items():
        if not isinstance(name, str) or not isinstance(argument, str | int) or isinstance(argument, bool):
            raise ShloDiscError(f"found ragged {ragged!r}, {expected}")
        found.append((name, argument))
    return tuple(found)
