"""`python -m shlo_disc run|bench|explain FILE`: call a program, time it, and say what was made of it."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from shlo_disc.bound import Bound
from shlo_disc.cli.arrays import Array, chosen, drawn, read_arrays, write_arrays
from shlo_disc.cli.compiling import chosen_options, is_compiled, ragged_sizes
from shlo_disc.cli.inputs import InputError
from shlo_disc.cli.lengths import drawn_lengths
from shlo_disc.cli.output import complain, give, say
from shlo_disc.compiled import Compiled
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.front_door import compile as compile_any
from shlo_disc.loading import load
from shlo_disc.report.text import TOPICS
from shlo_disc.runtime.partitions import Runnable
from shlo_disc.size_expr import evaluate

_DEFAULT_SIZE = 4
_LEAST_SECONDS, _LEAST_CALLS = 1.0, 5  # that `bench` takes
_SHOWN = 6  # elements of a result


def run_run(options: argparse.Namespace) -> int:
    """Call a program once. Gives the exit code."""
    try:
        executable, arrays = _call(options)
        results = [np.asarray(one) for one in executable(arrays)]
        if options.output is not None:
            write_arrays(options.output, results)
        _tell(results, options)
    except (ShloDiscError, MemoryError) as error:
        return complained(error)
    return 0


def run_bench(options: argparse.Namespace) -> int:
    """Time calls of a program. Gives the exit code."""
    try:
        executable, arrays = _call(options)
        seconds, begun = list[float](), time.perf_counter()
        executable(arrays)
        while len(seconds) < _LEAST_CALLS or time.perf_counter() - begun < _LEAST_SECONDS:
            started = time.perf_counter()
            executable(arrays)
            seconds.append(time.perf_counter() - started)
    except (ShloDiscError, MemoryError) as error:
        return complained(error)
    least, median = 1e6 * min(seconds), 1e6 * statistics.median(seconds)
    if options.json:
        give(json.dumps({"calls": len(seconds), "least_us": least, "median_us": median}) + "\n")
    else:
        say(f"{len(seconds)} calls: the shortest {least:.1f} us, the median {median:.1f} us\n")
    return 0


def run_explain(options: argparse.Namespace) -> int:
    """Print what `Compiled.explain` tells. Gives the exit code."""
    try:
        program = program_of(options)
        if options.json:
            give(json.dumps(_data(program, options.topic)) + "\n")
        else:
            say(_explained(program, options.topic) + "\n")
    except ShloDiscError as error:
        return complained(error)
    return 0


def complained(error: Exception) -> int:
    """Print an error, and give the exit code."""
    complain(error)
    return 2 if isinstance(error, InputError) else 1


def _explained(program: Compiled | Bound, topic: str | None) -> str:
    if isinstance(program, Compiled):
        return program.explain(topic)
    if topic is not None:
        raise InputError("found a program with bound arguments, which has no topics, expected no topic")
    return program.explain()


def _data(program: Compiled | Bound, topic: str | None) -> Mapping[str, Any]:
    """What `explain` tells, by topic, and the facts of a program without bound arguments one by one."""
    if isinstance(program, Bound):
        return {"text": _explained(program, topic)}
    texts = {name: program.explain(name) for name in (TOPICS if topic is None else (topic,))}
    return {"explain": texts, "facts": [asdict(fact) for fact in program.facts()]}


def program_of(options: argparse.Namespace) -> Compiled | Bound:
    """A program that `save` wrote, or StableHLO in any form, compiled as the options say."""
    if is_compiled(options):
        return load(options.file)
    ragged = ragged_sizes(options.ragged) or None
    return compile_any(Path(options.file), ragged=ragged, options=chosen_options(options))


def _call(options: argparse.Namespace) -> tuple[Runnable, Sequence[Array]]:
    """The flat program, and the arrays of a call, given or drawn."""
    program = program_of(options)
    return program.executable, arrays_of(options, program)


def arrays_of(options: argparse.Namespace, program: Compiled | Bound) -> Sequence[Array]:
    """The arrays of a call, given or drawn. Raises `InputError`."""
    executable: Runnable = program.executable
    artifact = executable.artifact
    numbers = [number for number in range(len(artifact.arguments)) if number not in executable.bound]
    arguments = [artifact.arguments[number] for number in numbers]
    if options.inputs is not None:
        return chosen(arguments, read_arrays(options.inputs), options.inputs)
    given = _sizes(options.sizes)
    for name in given:
        if name not in artifact.free:
            known = ", ".join(artifact.free) or "none, all its shapes are fixed"
            raise InputError(f"found the size {name!r}, expected sizes of the program: {known}")
    values = {name: given.get(name, _DEFAULT_SIZE) for name in artifact.free}
    raw = zip(artifact.symbols, artifact.raw_sizes, strict=False)
    sizes = {name: evaluate(size, values) for name, size in raw}
    found = dict(zip(numbers, drawn(arguments, sizes, options.seed), strict=True))
    return list({**found, **drawn_lengths(program, found, sizes, options.seed)}.values())


def _sizes(text: str) -> Mapping[str, int]:
    """Read sizes such as `b=8,s=3`."""
    found = dict[str, int]()
    for part in filter(str.strip, text.split(",")):
        name, sign, value = part.partition("=")
        if not sign or not value.strip().isdecimal():
            raise InputError(f"expected sizes such as b=8,s=3, found {part.strip()!r}")
        found[name.strip()] = int(value)
    return found


def _tell(results: Sequence[Array], options: argparse.Namespace) -> None:
    if options.json:
        shapes = [{"dtype": one.dtype.name, "shape": list(one.shape)} for one in results]
        give(json.dumps({"results": shapes}) + "\n")
        return
    for number, one in enumerate(results):
        flat = one.reshape(-1)
        shown = ", ".join(map(str, flat[:_SHOWN].tolist())) + (", ..." if flat.size > _SHOWN else "")
        say(f"result{number}: {one.dtype.name}{list(one.shape)}: {shown}\n")
