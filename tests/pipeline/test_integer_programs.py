"""Integers wrap around at their type's width, wherever they are used: as values, indices, conditions and sizes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.artifact import LARGEST_SIZE
from shlo_disc.diagnostics import RuntimeShapeError
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.options import CompileOptions
from shlo_disc.parse.parser import parse_module
from tests.emulator.device import EmulatedDevice
from tests.emulator.run import compiled
from tests.oracle import xla_reference
from tests.pipeline.random_integers import TABLE, TYPES, Integers, differs, limits, program, wrapped

Array = NDArray[Any]
SIZES = (0, 1, 127, 128, 129, 255, 256, 257, 400)
# Random programs, those first in which arithmetic of dims once took the place of arithmetic that wraps.
SEEDS = (0, 13, 15, 21, 25, 35, 47, 52, 61, 74, 200, 201, 202, 203)
NUMBERS = np.random.default_rng(7).standard_normal(TABLE).astype(np.float32)


def agree(run: Any, writer: Integers, size: int, what: str) -> None:
    wrong = differs(run(np.zeros(size, np.float32), NUMBERS), writer.model(size, NUMBERS))
    assert wrong is None, f"{what}, size {size}: result {writer.results[wrong][0]} is wrong in\n{writer.text()}"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_program_of_integers(seed: int) -> None:
    writer = program(seed)
    ways: list[tuple[Literal["c", "vm"], Literal["full", "none"], int]] = [
        ("c", "full", 1), ("vm", "full", 2), ("c", "none", 2), ("vm", "none", 1),
    ]  # fmt: skip
    for driver, fusion, threads in ways:
        options = CompileOptions(driver=driver, fusion=fusion, threads=threads, optimize=0)
        run = shlo_disc.compile(writer.text(), device="cpu", options=options)
        for size in SIZES:
            agree(run, writer, size, f"{driver}, {fusion}")


@pytest.mark.parametrize("seed", SEEDS[:4])
def test_a_random_program_of_integers_of_static_and_of_large_size(seed: int) -> None:
    for size in (129, 400):
        writer = program(seed, static=size)
        agree(
            shlo_disc.compile(writer.text(), device="cpu", options=CompileOptions(optimize=0)), writer, size, "static"
        )
    writer = program(seed, uses=4)
    run = shlo_disc.compile(writer.text(), device="cpu", options=CompileOptions(optimize=0))
    for size in (32768, 65537):
        agree(run, writer, size, "large")


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_program_of_integers_is_interpreted(seed: int) -> None:
    writer = program(seed)
    made = legalize(parse_module(writer.text()))

    def run(*arrays: Array) -> Any:
        return interpret(made, arrays)

    for size in (0, 129):
        agree(run, writer, size, "interpreted")


@pytest.mark.parametrize("index", ["int32_t", "int64_t"])
@pytest.mark.parametrize("seed", SEEDS[1:5])
def test_a_random_program_of_integers_on_the_emulated_gpu(seed: int, index: Literal["int32_t", "int64_t"]) -> None:
    writer = program(seed)
    made = compiled(writer.text(), EmulatedDevice(), index=index)

    def run(*arrays: Array) -> Any:
        return made.executable(arrays)

    for size in (1, 129, 400):
        agree(run, writer, size, index)


def test_the_model_is_that_of_xla() -> None:
    writer = Integers(Random(3))
    for kind in ("i8", "ui8", "i16", "ui16", "i32", "ui32", "i64", "ui64"):
        iota, low, high = writer.iota(kind), *(writer.constant(kind, x) for x in limits(kind))
        for name in ("add", "multiply", "subtract", "divide", "remainder", "shift_right_logical", "maximum"):
            writer.returned(writer.binary(name, iota, high))
        writer.returned(writer.converted(writer.binary("multiply", iota, writer.constant(kind, 100)), "i64"))
        writer.returned(writer.through_float(writer.binary("add", iota, high), "i32"))
        writer.gathered(writer.binary("multiply", iota, writer.constant(kind, 3)))
        writer.sliced(low)
        writer.decided(iota, high)
    for size in (1, 400):
        wanted = writer.model(size, NUMBERS)
        found = xla_reference(writer.text(), [np.zeros(size, np.float32), NUMBERS])
        assert differs(found, wanted) is None


# Single formulas

HEAD = """  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %s = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
"""


@cache
def taken_in_order(kind: str, step: int) -> Any:
    """`x[i * step]` for the indices i, counted in a type."""
    return shlo_disc.compile(
        f"""func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {{
{HEAD}  %i = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?x{kind}>
  %c = stablehlo.constant dense<{step}> : tensor<{kind}>
  %d = stablehlo.dynamic_broadcast_in_dim %c, %s, dims = [] : (tensor<{kind}>, tensor<1xi32>) -> tensor<?x{kind}>
  %j = stablehlo.multiply %i, %d : tensor<?x{kind}>
  %r = "stablehlo.gather"(%x, %j) {{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}}
    : (tensor<?xf32>, tensor<?x{kind}>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}}""",
        device="cpu",
    )


@pytest.mark.parametrize("kind", [kind for kind in TYPES if limits(kind)[1] >= 3])
@pytest.mark.parametrize("size", [1, 16, 129, 400])
def test_computed_indices_wrap_around_before_they_are_held(kind: str, size: int) -> None:
    x = np.arange(size, dtype=np.float32)
    for step in (1, 3):
        wanted = [min(max(wrapped(i * step, kind), 0), size - 1) for i in range(size)]
        (found,) = taken_in_order(kind, step)(x)
        np.testing.assert_array_equal(found, x[wanted])


@pytest.mark.parametrize("kind", ["i32", "i64", "ui32", "ui64"])
def test_indices_that_are_proven_not_to_wrap_around_are_index_arithmetic(kind: str) -> None:
    assert "gather(" not in taken_in_order(kind, 1).kernels_source
    assert "gather(" in taken_in_order("i16", 1).kernels_source  # 40000 elements would wrap around


def test_products_in_64_bits_are_index_arithmetic_where_they_fit() -> None:
    assert "gather(" not in taken_in_order("i64", 3).kernels_source
    assert "gather(" in taken_in_order("i32", 3).kernels_source


@pytest.mark.parametrize("number", [0, 5, (1 << 62) - 1, 1 << 62, 1 << 63, (1 << 64) - 1])
def test_an_unsigned_index_beyond_63_bits_is_the_last_one(number: int) -> None:
    run = shlo_disc.compile(
        """func.func @main(%x: tensor<?xf32>, %i: tensor<ui64>) -> (tensor<2xf32>, tensor<?xf32>) {
  %r = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<?xf32>, tensor<ui64>) -> tensor<2xf32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %at = stablehlo.reshape %i : (tensor<ui64>) -> tensor<1xui64>
  %y = "stablehlo.scatter"(%x, %at, %one) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
  }) {scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0],
    index_vector_dim = 0>} : (tensor<?xf32>, tensor<1xui64>, tensor<f32>) -> tensor<?xf32>
  return %r, %y : tensor<2xf32>, tensor<?xf32>
}""",
        device="cpu",
    )
    x = np.arange(10, 30, dtype=np.float32)
    part, changed = run(x, np.array(number, np.uint64))
    np.testing.assert_array_equal(part, x[min(number, 18) : min(number, 18) + 2])
    wanted = x.copy()
    if number < 20:
        wanted[number] = 1
    np.testing.assert_array_equal(changed, wanted)


# Sizes

ARITHMETIC: dict[str, Callable[[int], int]] = {
    "add": lambda n: n + n,
    "multiply": lambda n: n * n,
    "subtract": lambda n: n - 2,
}


@pytest.mark.parametrize("driver", ["c", "vm"])
@pytest.mark.parametrize("kind", ["i8", "ui8", "i16", "ui16", "i32", "i64"])
@pytest.mark.parametrize("name", ARITHMETIC)
def test_a_size_whose_type_wraps_around_is_refused(name: str, kind: str, driver: Literal["c", "vm"]) -> None:
    other = "%two" if name == "subtract" else "%k"
    text = f"""func.func @main(%x: tensor<?xf32>) -> (tensor<?xi32>, tensor<{kind}>) {{
{HEAD}  %k = stablehlo.convert %n : (tensor<i32>) -> tensor<{kind}>
  %two = stablehlo.constant dense<2> : tensor<{kind}>
  %m = stablehlo.{name} %k, {other} : tensor<{kind}>
  %z = stablehlo.reshape %m : (tensor<{kind}>) -> tensor<1x{kind}>
  %r = stablehlo.dynamic_iota %z, dim = 0 : (tensor<1x{kind}>) -> tensor<?xi32>
  return %r, %m : tensor<?xi32>, tensor<{kind}>
}}"""
    if kind == "i32":
        text = text.replace(
            "%k = stablehlo.convert %n : (tensor<i32>) -> tensor<i32>", "%k = stablehlo.abs %n : tensor<i32>"
        )
    run = shlo_disc.compile(text, device="cpu", options=CompileOptions(driver=driver, optimize=0))
    for n in (2, 11, 63, 64, 127, 128, 200, 255, 256):
        size = ARITHMETIC[name](n)
        if wrapped(n, kind) == n and wrapped(size, kind) == size:
            found, number = run(np.zeros(n, np.float32))
            assert found.tolist() == list(range(size))
            assert number == size
        else:
            with pytest.raises(RuntimeShapeError, match=f"does not overflow {kind}"):
                run(np.zeros(n, np.float32))


def test_the_same_arithmetic_wraps_around_where_it_decides_no_size() -> None:
    run = shlo_disc.compile(
        f"""func.func @main(%x: tensor<?xf32>) -> (tensor<i8>, tensor<f32>, tensor<i1>) {{
{HEAD}  %k = stablehlo.convert %n : (tensor<i32>) -> tensor<i8>
  %m = stablehlo.add %k, %k : tensor<i8>
  %f = stablehlo.convert %m : (tensor<i8>) -> tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i8>
  %b = stablehlo.compare GE, %m, %zero : (tensor<i8>, tensor<i8>) -> tensor<i1>
  return %m, %f, %b : tensor<i8>, tensor<f32>, tensor<i1>
}}""",
        device="cpu",
    )
    for n in (0, 63, 64, 127, 128, 400):
        wanted = wrapped(2 * n, "i8")
        assert [x.item() for x in run(np.zeros(n, np.float32))] == [wanted, wanted, wanted >= 0]


@pytest.mark.parametrize("driver", ["c", "vm"])
def test_a_size_that_is_no_i32_is_refused(driver: Literal["c", "vm"]) -> None:
    text = "func.func @main(%x: tensor<?x?xf32>) -> tensor<?x?xf32> {\n  return %x : tensor<?x?xf32>\n}"
    run = shlo_disc.compile(text, device="cpu", options=CompileOptions(driver=driver))
    assert run(np.zeros((LARGEST_SIZE, 0), np.float32))[0].shape == (LARGEST_SIZE, 0)
    with pytest.raises(
        RuntimeShapeError, match=rf"argument 0, dim 0: found size {LARGEST_SIZE + 1}, expected at most {LARGEST_SIZE}"
    ):
        run(np.zeros((LARGEST_SIZE + 1, 0), np.float32))


@pytest.mark.parametrize("index", ["int32_t", "int64_t"])
def test_multiples_of_indices_are_not_computed_in_32_bits(index: Literal["int32_t", "int64_t"]) -> None:
    text = f"""func.func @main(%x: tensor<?xf32>) -> tensor<?xi64> {{
{HEAD}  %i = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xi64>
  %c = stablehlo.constant dense<100000000> : tensor<i64>
  %d = stablehlo.dynamic_broadcast_in_dim %c, %s, dims = [] : (tensor<i64>, tensor<1xi32>) -> tensor<?xi64>
  %j = stablehlo.multiply %i, %d : tensor<?xi64>
  return %j : tensor<?xi64>
}}"""
    (found,) = compiled(text, EmulatedDevice(), index=index).executable([np.zeros(400, np.float32)])
    np.testing.assert_array_equal(np.asarray(found), np.arange(400) * 100_000_000)
