# pyright: reportMissingTypeStubs=false
"""What is said of a call's memory beforehand is what the call takes, for programs of the corpus.

At the shapes that the corpus records and at random ones: the peak is what both drivers ask for, it is where the highest
buffer ends and no byte more, and buffers that are needed at once share none. One run looks at a sample of
the programs; `--exhaustive` at all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, cast

import numpy as np
import pytest
from sympy import Integer

import shlo_disc
from shlo_disc.analysis.sizes import random_points
from shlo_disc.artifact import Artifact
from shlo_disc.compiled import peak_formula
from shlo_disc.diagnostics import UnsupportedOpError
from shlo_disc.host_ir import Buffer, Case, While
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.driver import sizes_in_python
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.peak import peak_memory
from shlo_disc.runtime.symbols import Symbols
from shlo_disc.schedules.tables import UNKNOWN
from shlo_disc.size_expr import evaluate
from tests.corpus.judged import dynamic_cases
from tests.pipeline.exports import FAST
from tests.soundness.programs import SEED, parametrize_names, read_program

pytestmark = pytest.mark.slow

POINTS, MANY_POINTS = 4, 20
TWO_THREADS = replace(UNKNOWN, threads=2)  # so that there are regions, whose buffers are needed for longer
BUILT = 8  # one program of so many is built, and its own code asked
LINE = 64  # bytes: where buffers of the arena start and end


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize_names(metafunc, recorded=True)


def test_the_peak_is_what_calls_take(program_name: str, corpus: Path, exhaustive: bool) -> None:
    is_model = program_name.startswith("models/")
    path = corpus / program_name / "module.mlir" if is_model else corpus / f"{program_name}.mlir"
    text = path.read_text()
    try:
        artifact = compile_text(text, program_name, Request(scheduling=TWO_THREADS), Stopwatch())
    except UnsupportedOpError as error:
        pytest.skip(str(error).splitlines()[0])
    shapes = [] if is_model else recorded(corpus, program_name)
    shapes += itertools.islice(drawn(artifact, corpus, program_name), MANY_POINTS if exhaustive else POINTS)
    assert shapes, "some sizes are accepted"
    formula = peak_formula(artifact)
    for one in shapes:
        raw = tuple(one[argument][axis] for argument, axis in artifact.raw)
        symbols = Symbols(artifact, raw)
        sizes = {name: symbols[name] for name in artifact.free}
        peak = peak_memory(artifact, sizes)
        assert sizes_in_python(artifact, raw).arena_bytes == peak
        # All at once, from the leaves on: `subs` takes SymPy minutes for a maximum of many sums.
        assert int(formula.xreplace({x: Integer(sizes[x.name]) for x in formula.free_symbols})) == peak
        assert_packed(artifact, symbols, peak)
    if exhaustive or Random(program_name).randrange(BUILT) == 0:
        assert_taken(text, shapes)


def recorded(corpus: Path, name: str) -> list[Sequence[Sequence[int]]]:
    """The shapes of all arguments, for every variant of a case."""
    variants = cast("list[dict[str, Any]]", dynamic_cases(corpus)[name]["variants"])
    return [[shape for _, shape in variant["in"]] for variant in variants if not variant.get("error")]


def drawn(artifact: Artifact, corpus: Path, name: str) -> Iterator[Sequence[Sequence[int]]]:
    """Shapes of all arguments at random sizes that pass the checks."""
    program = read_program(corpus, name, rewritten=False)
    for point in random_points(program, Random(SEED)):
        yield [[dim.evaluate(point) for dim in parameter.raw_shape] for parameter in program.parameters]
        if not artifact.raw:
            return


def assert_packed(artifact: Artifact, symbols: Symbols, peak: int) -> None:
    """The arena ends where its highest buffer does, and what is needed at once lies apart.

    With loops and branches, a buffer may be needed at its first and its last moment alone, which `Buffer` does not say.
    """
    used = [b for b in artifact.buffers if b.kind == "arena" and b.first <= b.last]
    spans = {id(b): span(b, symbols) for b in used}
    assert peak == max((-(-end // LINE) * LINE for _, end in spans.values()), default=0)
    if any(isinstance(step, While | Case) for step in artifact.steps):
        return
    for x, y in itertools.combinations(used, 2):
        if x.memory != y.memory and x.first <= y.last and y.first <= x.last:
            (x_start, x_end), (y_start, y_end) = spans[id(x)], spans[id(y)]
            assert x_end <= y_start or y_end <= x_start, (x, y)


def span(buffer: Buffer, symbols: Symbols) -> tuple[int, int]:
    start = evaluate(buffer.offset, symbols)
    return start, start + evaluate(buffer.size, symbols)


def assert_taken(text: str, shapes: Sequence[Sequence[Sequence[int]]]) -> None:
    """The generated host program asks for the same."""
    run = shlo_disc.compile(text, device="cpu", options=replace(FAST, threads=2)).executable
    assert isinstance(run, CpuExecutable), "the CPU's"
    artifact = run.artifact
    for one in shapes:
        arrays = [np.zeros(s, dtype_of(a.dtype)) for s, a in zip(one, artifact.arguments, strict=True)]
        raw = tuple(one[argument][axis] for argument, axis in artifact.raw)
        assert run.arena_bytes(arrays) == sizes_in_python(artifact, raw).arena_bytes
