"""The programs that facts are checked on: the dynamic cases of the corpus, its models, and those of `written`."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.analysis.sizes import Point
from shlo_disc.diagnostics import UnsupportedOpError
from shlo_disc.dynamic_ops.program import Program, Tensor
from shlo_disc.ir.dtypes import numpy_dtype
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes import PASSES
from tests.corpus.judged import dynamic_cases
from tests.models.recorded import MODELS
from tests.soundness.written import WRITTEN, export_written

SEED = 20261121
SAMPLE = 60  # cases of the corpus that one run looks at, all others being for --exhaustive


def parametrize_names(metafunc: pytest.Metafunc, *, recorded: bool = False) -> None:
    """One test per program: a sample of the cases, the models, and unless only `recorded` programs count, our own.

    Skipped where there is no corpus.
    """
    if "program_name" not in metafunc.fixturenames:
        return
    folder: object = metafunc.config.getoption("--corpus")
    assert isinstance(folder, Path), "--corpus is parsed as a path"
    names = ["no corpus"]
    if (folder / "manifest.json").is_file():
        cases = sorted(dynamic_cases(folder))
        if not metafunc.config.getoption("--exhaustive"):
            cases = Random(SEED).sample(cases, SAMPLE)
        names = [*(f"models/{name}" for name in MODELS), *cases]
        names += [] if recorded else [f"written/{name}" for name in WRITTEN]
    metafunc.parametrize("program_name", names)


def read_program(corpus: Path, name: str, *, rewritten: bool) -> Program:
    """Legalize a program, and rewrite it; skip it if it is not supported."""
    try:
        program = legalize(parse_module(text_of(corpus, name), name))
    except UnsupportedOpError as error:
        pytest.skip(str(error).splitlines()[0])
    for step in PASSES if rewritten else ():
        program = step.run(program)
    return program


def text_of(corpus: Path, name: str) -> str:
    """The StableHLO of a program by its name."""
    folder, _, rest = name.partition("/")
    match folder:
        case "models":
            return (corpus / name / "module.mlir").read_text()
        case "written":
            return export_written(WRITTEN[rest])
        case _:
            return (corpus / f"{name}.mlir").read_text()


def random_inputs(program: Program, point: Point, seed: int) -> list[NDArray[Any]]:
    """Arguments of these sizes: small integers, floats around 0."""
    rng = np.random.default_rng(seed)
    return [random_array(p.tensor, tuple(dim.evaluate(point) for dim in p.raw_shape), rng) for p in program.parameters]


def random_array(tensor: Tensor, shape: tuple[int, ...], rng: np.random.Generator) -> NDArray[Any]:
    dtype = numpy_dtype(tensor.dtype)
    if dtype.kind in "biu":
        return rng.integers(0, 2 if dtype.kind == "b" else 6, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)
