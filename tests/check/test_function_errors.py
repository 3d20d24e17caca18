"""What the differential tester takes the errors of functions for is what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shlo_disc import parse
from shlo_disc.check.function_errors import MEASURED
from shlo_disc.check.running import program_of
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.ir.dtypes import DType
from tests.conftest import SEED
from tests.device.oracles import WIDER, errors

SHORT = {
    "sine": "sin", "cosine": "cos", "exponential": "exp", "exponential_minus_one": "expm1", "log_plus_one": "log1p",
}  # fmt: skip
STABLEHLO = {
    "cbrt", "cosine", "exponential", "exponential_minus_one", "log", "log_plus_one", "logistic", "rsqrt", "sine", "tan",
    "tanh",
}  # fmt: skip
PAIRS = {"atan2", "power"}  # the page is about functions of one number
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "accuracy.md"
POINTS = 20_000


@pytest.mark.parametrize("dtype", MEASURED)
def test_no_function_of_the_interpreter_is_farther_off(dtype: DType) -> None:
    names = [name for name in MEASURED[dtype] if SHORT.get(name, name) + "_" in WIDER]
    type_ = f"tensor<?x{dtype.value}>"
    lines = [
        f"%{k} = stablehlo.{name} %x : {type_}" if name in STABLEHLO else f"%{k} = chlo.{name} %x : {type_} -> {type_}"
        for k, name in enumerate(names)
    ]
    results = ", ".join(f"%{k}" for k in range(len(names)))
    types = ", ".join([type_] * len(names))
    body = "\n".join(lines)
    text = f"func.func @main(%x: {type_}) -> ({types}) {{\n{body}\nreturn {results} : {types}\n}}"
    random = np.random.default_rng(SEED)
    kind = np.float32 if dtype is DType.F32 else np.float64
    bits = random.integers(0, 256, (POINTS, dtype.bytes), np.uint8).view(kind)[:, 0]
    x = np.concatenate([bits, *[random.uniform(-r, r, POINTS).astype(kind) for r in (1, 10, 100)]])
    for name, y in zip(names, interpret(program_of(parse(text)), [x]), strict=True):
        assert errors(SHORT.get(name, name) + "_", x, y).max() <= MEASURED[dtype][name].interpreter, name


@pytest.mark.parametrize("dtype", MEASURED)
def test_no_measured_error_is_larger(dtype: DType) -> None:
    section = PAGE.read_text().partition(f"## {dtype.value}\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    found = {row[0]: [float(cell.partition(" ")[0]) for cell in row[1:5]] for row in rows}
    for name, errors_ in MEASURED[dtype].items():
        if name in PAIRS:
            continue
        *ours, xla = found[SHORT.get(name, name)]
        assert max(ours) <= errors_.compiled, name
        assert xla <= errors_.xla or name in ("lgamma", "digamma"), name


@pytest.mark.parametrize("kind", [np.complex64, np.complex128])
def test_cube_roots_of_complex_numbers(kind: type[Any]) -> None:
    """The interpreter's, in each direction; NumPy and XLA have none."""
    type_ = f"tensor<?xcomplex<f{np.finfo(kind).bits}>>"
    text = f"func.func @main(%x: {type_}) -> {type_} {{\n%0 = stablehlo.cbrt %x : {type_}\nreturn %0 : {type_}\n}}"
    root = (np.array([1, 2 + 1j, 2 - 1j, 1 + 1.7j, 1 - 1.7j, 0]) * 1.5).astype(np.complex128)
    (found,) = interpret(program_of(parse(text)), [(root**3).astype(kind)])
    np.testing.assert_allclose(found, root, rtol=4 * float(np.finfo(kind).eps))
