"""Sizes whose formulas do not fit into 64 bits are refused by name, and all others are computed exactly.

The sizes of random programs are compared with Python's unbounded integers, near 2**31, 2**32 and 2**63: a plan of a
call needs no arrays. Arrays without elements, and sizes that are read from arrays, bring large sizes to whole calls.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from random import Random
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.artifact import LARGEST_SIZE, Artifact
from shlo_disc.bytecode import encode
from shlo_disc.compiled import Compiled
from shlo_disc.diagnostics import RuntimeShapeError, ShapeError
from shlo_disc.options import CompileOptions
from shlo_disc.pipeline import Request, Stopwatch, compile_for, compile_text
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import open_cache
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cuda.backend import CudaBackend
from shlo_disc.runtime.driver import Sizes, sizes_in_c, sizes_in_python
from shlo_disc.runtime.host_code import LoadedHostCode
from shlo_disc.runtime.library import open_program, open_runtime
from shlo_disc.runtime.symbols import Symbols
from shlo_disc.size_expr import evaluate
from tests.conftest import SEED
from tests.emulator.device import EmulatedDevice

LARGEST = 2**63 - 1
SURE = 2**58  # bytes of every tensor, up to which a call must not be refused
PROGRAMS = 6
Driver = Literal["c", "vm"]
DRIVERS: tuple[Driver, ...] = ("c", "vm")


def options(driver: Driver = "c", threads: int = 1) -> CompileOptions:
    return CompileOptions(driver=driver, threads=threads, optimize=0)


# --- random programs ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """A program on three vectors: its text, and how its tensors get their shapes, as (op, operands, numbers)."""

    text: str
    ops: tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]

    def shapes(self, sizes: Sequence[int]) -> list[tuple[int, ...]] | None:
        """The shape of every tensor, in unbounded integers; None if a size is negative."""
        found: list[tuple[int, ...]] = [(size,) for size in sizes]
        for op, operands, numbers in self.ops:
            shapes = [found[k] for k in operands]
            match op:
                case "outer":
                    shape = shapes[0] + shapes[1]
                case "pad":
                    low, high, interior = numbers
                    shape = tuple(low + n + max(n - 1, 0) * interior + high for n in shapes[0])
                case "concatenate":
                    shape = (shapes[0][0] + shapes[1][0], *shapes[0][1:])
                case _:
                    shape = shapes[0]
            if min(shape) < 0:
                return None
            found.append(shape)
        return found


def typed(rank: int) -> str:
    return f"tensor<{'?x' * rank}f32>"


@lru_cache
def drawn(number: int) -> Drawn:
    """A random program that some sizes fit."""
    random = Random(SEED * PROGRAMS + number)
    while True:
        found = draw(random)
        shapes = found.shapes((2, 2, 2)) or []
        if max(4 * math.prod(shape) for shape in shapes) <= SURE:
            return found


def draw(random: Random) -> Drawn:
    """Each tensor is sorted, so that all are stored."""
    ranks, lines = [1, 1, 1], list[str]()
    ops = list[tuple[str, tuple[int, ...], tuple[int, ...]]]()

    def add(op: str, operands: tuple[int, ...], rank: int, text: str, numbers: tuple[int, ...] = ()) -> None:
        ops.append((op, operands, numbers))
        lines.append(f"%{len(ranks)} = {text}")
        ranks.append(rank)

    for _ in range(random.randint(3, 5)):
        a, b = (random.choice([k for k in range(len(ranks)) if ranks[k] <= 2]) for _ in range(2))
        kinds = f"({typed(ranks[a])}, {typed(ranks[b])})"
        match random.choice(("outer", "pad", "concatenate")):
            case "outer":
                rank = ranks[a] + ranks[b]
                dims = "<{dot_dimension_numbers = #stablehlo.dot<>}>"
                text = f'"stablehlo.dot_general"(%{a}, %{b}) {dims} : {kinds} -> {typed(rank)}'
                add("outer", (a, b), rank, text)
            case "pad":
                numbers = (
                    random.choice((0, 1, 2**31, 2**59)),
                    random.choice((0, 3, 2**32)),
                    random.choice((0, 1, 2**31)),
                )
                low, high, interior = ([one] * ranks[a] for one in numbers)
                text = f"stablehlo.pad %{a}, %z, low = {low}, high = {high}, interior = {interior}"
                add("pad", (a,), ranks[a], f"{text} : ({typed(ranks[a])}, tensor<f32>) -> {typed(ranks[a])}", numbers)
            case _:
                text = f"stablehlo.concatenate %{a}, %{a}, dim = 0 : ({typed(ranks[a])}, {typed(ranks[a])})"
                add("concatenate", (a, a), ranks[a], f"{text} -> {typed(ranks[a])}")
        last = len(ranks) - 1
        kind = typed(ranks[last])
        add("sort", (last,), ranks[last], f'"stablehlo.sort"(%{last}) <{{dimension = 0 : i64}}> ({{\n'
            "^bb0(%x: tensor<f32>, %y: tensor<f32>):\n"
            "%r = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
            f"stablehlo.return %r : tensor<i1> }}) : ({kind}) -> {kind}")  # fmt: skip
    kept = ", ".join(f"%{k}" for k in range(4, len(ranks), 2))
    kinds = ", ".join(typed(ranks[k]) for k in range(4, len(ranks), 2))
    body = "\n".join(["%z = stablehlo.constant dense<0.0> : tensor<f32>", *lines, f"return {kept} : {kinds}"])
    given_types = ", ".join(f"%{k}: tensor<?xf32>" for k in range(3))
    return Drawn(f"func.func @main({given_types}) -> ({kinds}) {{\n{body}\n}}", tuple(ops))


@lru_cache
def planner(number: int, device: Literal["cpu", "cuda"]) -> tuple[Artifact, Callable[[tuple[int, ...]], Sizes]]:
    artifact = compile_text(drawn(number).text, "drawn.mlir", Request(device), Stopwatch())
    builder = Builder(find_compiler(), 0, open_cache(None))
    if device == "cpu":
        code = encode(artifact)
        loaded = LoadedHostCode(code, open_program(builder.program(artifact)))
        run = partial(open_runtime(builder.runtime, 1).plan_call, ctypes.c_void_p(loaded.address))
        return artifact, lambda raw: sizes_in_c(artifact, run, raw, loaded.code)
    plan = open_program(builder.host_program(artifact)).function("shlo_plan", ctypes.c_int64)
    return artifact, lambda raw: sizes_in_c(artifact, plan, raw)


EDGES = st.sampled_from([0, 1, 2, 3, 2**20, 2**30, 2**31, 2**32, 2**40, 2**50, 2**60]).flatmap(
    lambda edge: st.integers(max(0, edge - 2), edge + 2)
)
SIZES = st.tuples(*[EDGES | st.integers(0, 40) | st.integers(0, 2**60)] * 3)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("number", range(PROGRAMS))
@settings(max_examples=150)
@given(sizes=SIZES)
def test_sizes_are_exact_or_refused(number: int, device: Literal["cpu", "cuda"], sizes: tuple[int, ...]) -> None:
    artifact, plan = planner(number, device)
    shapes = drawn(number).shapes(sizes)
    assert shapes is not None, "nothing is cut off"
    largest = max(4 * math.prod(max(size, 1) for size in shape) for shape in shapes)
    arena = evaluate(artifact.arena_bytes, Symbols(artifact, sizes))
    for how in ("c", "vm"):
        try:
            found = plan(sizes) if how == "c" else sizes_in_python(artifact, sizes)
        except RuntimeShapeError:
            assert largest > SURE or max(sizes) > LARGEST_SIZE
        except MemoryError:
            assert largest > SURE
        else:
            assert largest <= LARGEST
            assert list(found.shapes) == shapes[4::2]
            assert found.arena_bytes == arena <= LARGEST


# --- whole calls ----------------------------------------------------------------------------------------------------

OUTER = """
func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>, %c: tensor<?xf32>) -> tensor<?xf32> {
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<>}>
    : (tensor<?xf32>, tensor<?xf32>) -> tensor<?x?xf32>
  %1 = "stablehlo.dot_general"(%0, %c) <{dot_dimension_numbers = #stablehlo.dot<>}>
    : (tensor<?x?xf32>, tensor<?xf32>) -> tensor<?x?x?xf32>
  %2 = "stablehlo.sort"(%1) <{dimension = 2 : i64, is_stable = false}> ({
    ^bb0(%x: tensor<f32>, %y: tensor<f32>):
      %r = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %r : tensor<i1>
    }) : (tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.maximum across dimensions = [0, 1]
    : (tensor<?x?x?xf32>, tensor<f32>) -> tensor<?xf32>
  return %3 : tensor<?xf32>
}
"""
"""Three small vectors make large temporaries."""


def vectors(*sizes: int) -> list[NDArray[np.float32]]:
    return [np.ones(size, np.float32) for size in sizes]


@pytest.mark.parametrize("driver", DRIVERS)
def test_temporaries_beyond_64_bits_are_refused_by_name(driver: Driver) -> None:
    run = shlo_disc.compile(OUTER, device="cpu", options=options(driver))
    with pytest.raises(RuntimeShapeError) as caught:
        run(*vectors(1 << 21, 1 << 21, 1_000_000))
    text = str(caught.value)
    assert "does not fit into 64 bits" in text
    assert "2097152 * 2097152 * 1000000 * 4 bytes" in text
    assert "s0 is argument 0, dim 0" in text
    assert "<string>:5:" in text
    np.testing.assert_array_equal(run(*vectors(2, 3, 4))[0], np.ones(4))


@pytest.mark.parametrize("driver", DRIVERS)
def test_temporaries_that_no_machine_has_are_a_memory_error(driver: Driver) -> None:
    run = shlo_disc.compile(OUTER, device="cpu", options=options(driver))
    with pytest.raises(MemoryError, match=r"temporaries|arena|allocate"):
        run(*vectors(1 << 21, 1 << 20, 100_000))
    np.testing.assert_array_equal(run(*vectors(2, 3, 4))[0], np.ones(4))


PAD = """
func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {{
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.pad %a, %z, low = [{}], high = [{}], interior = [{}] : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}}
"""


def test_padding_that_no_array_can_have_is_refused_when_compiling() -> None:
    for low, high, interior in ((-(2**63), LARGEST, LARGEST), (0, 0, LARGEST), (LARGEST, -LARGEST, 0)):
        with pytest.raises(ShapeError, match=r"does not fit into 64 bits|expected sizes of at most \d+"):
            shlo_disc.compile(PAD.format(low, high, interior), device="cpu", options=options())


def test_static_sizes_that_no_array_can_have_are_refused_when_compiling() -> None:
    text = """
    func.func @main() -> tensor<i32> {
      %0 = stablehlo.iota dim = 0 : tensor<4294967296x4294967296x16xi32>
      %z = stablehlo.constant dense<0> : tensor<i32>
      %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.maximum across dimensions = [0, 1, 2]
        : (tensor<4294967296x4294967296x16xi32>, tensor<i32>) -> tensor<i32>
      return %1 : tensor<i32>
    }
    """
    with pytest.raises(ShapeError, match="does not fit into 64 bits"):
        shlo_disc.compile(text, device="cpu", options=options())


@pytest.mark.parametrize("driver", DRIVERS)
def test_padding_is_as_large_as_it_says(driver: Driver) -> None:
    run = shlo_disc.compile(PAD.format(-(2**48), 2**48, 0), device="cpu", options=options(driver))
    np.testing.assert_array_equal(run(np.arange(3, dtype=np.float32))[0], np.zeros(3))
    run = shlo_disc.compile(PAD.format(0, 0, 2**47), device="cpu", options=options(driver))
    np.testing.assert_array_equal(run(np.arange(1, 2, dtype=np.float32))[0], [1])
    with pytest.raises(MemoryError):
        run(np.ones(2, np.float32))
    with pytest.raises(RuntimeShapeError, match="does not fit into 64 bits"):
        run(np.ones((1 << 15) + 1, np.float32))


EMPTY = """
func.func @main(%a: tensor<?x?x?xf32>) -> (tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<f32>) {
  %0 = stablehlo.add %a, %a : tensor<?x?x?xf32>
  %1 = stablehlo.transpose %a, dims = [2, 0, 1] : (tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %2 = stablehlo.exponential %1 : tensor<?x?x?xf32>
  %z = stablehlo.constant dense<5.0> : tensor<f32>
  %3 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1, 2]
    : (tensor<?x?x?xf32>, tensor<f32>) -> tensor<f32>
  return %0, %2, %3 : tensor<?x?x?xf32>, tensor<?x?x?xf32>, tensor<f32>
}
"""


def empty_runs() -> list[Compiled]:
    """The program on both drivers and the emulated GPU."""
    made = [shlo_disc.compile(EMPTY, device="cpu", options=options(driver, threads=2)) for driver in DRIVERS]
    return [*made, *(compile_for(CudaBackend(EmulatedDevice()), EMPTY, options(driver)) for driver in DRIVERS)]


@pytest.mark.parametrize("shape", [(0, 2**30, 2**30), (2**30, 0, 2**30), (2**30, 2**30, 0), (LARGEST_SIZE, 2**29, 0)])
def test_empty_arrays_may_have_any_sizes_that_numpy_gives_them(shape: tuple[int, ...]) -> None:
    for run in empty_runs():
        same, turned, total = map(np.asarray, run(np.empty(shape, np.float32)))
        assert same.shape == shape
        assert turned.shape == (shape[2], shape[0], shape[1])
        assert total == 5
