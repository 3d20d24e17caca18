# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Programs for a GPU inside of functions that JAX traces: on XLA's stream, with XLA's memory, without Python's lock.

A stand-in for XLA calls the handler; the emulator runs the commands.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Literal

import jax
import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc import Compiled, CompileOptions
from shlo_disc.host_ir import Choice, Product
from shlo_disc.options import Hints
from shlo_disc.pipeline import compile_for
from shlo_disc.runtime.cuda.backend import CudaBackend
from shlo_disc.runtime.cuda.executable import GpuExecutable
from shlo_disc.runtime.cuda.launch_table import Chooser, Estimate, cheapest
from shlo_disc.runtime.memory import POOL
from shlo_disc.runtime.xla.library import open_library
from tests.runtime.xla.gpu_of_xla import INTERNAL, NO_MEMORY, OTHER_GPU, Executable, GpuOfXla, RefusalError
from tests.runtime.xla.texts import SLOW, normal

Array = NDArray[Any]
OPTIONS = CompileOptions(optimize=0, graphs=False, matmul_precision="highest")
SIZES = (0, 1, 7, 33)


# (x * y + y, x - y)
ELEMENTWISE = """
func.func @main(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %0 = stablehlo.multiply %x, %y : tensor<?x8xf32>
  %1 = stablehlo.add %0, %y : tensor<?x8xf32>
  %2 = stablehlo.subtract %x, %y : tensor<?x8xf32>
  return %1, %2 : tensor<?x8xf32>, tensor<?x8xf32>
}
"""
# A softmax of rows, and the sums of columns.
SOFTMAX = """
func.func @main(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.add %x, %y : tensor<?x8xf32>
  %1 = stablehlo.reduce(%0 init: %least) applies stablehlo.maximum across dimensions = [1]
      : (tensor<?x8xf32>, tensor<f32>) -> tensor<?xf32>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x8xf32>) -> tensor<i32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %8 = stablehlo.constant dense<8> : tensor<1xi32>
  %shape = stablehlo.concatenate %n1, %8, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %2 = stablehlo.dynamic_broadcast_in_dim %1, %shape, dims = [0] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x8xf32>
  %3 = stablehlo.subtract %0, %2 : tensor<?x8xf32>
  %4 = stablehlo.exponential %3 : tensor<?x8xf32>
  %5 = stablehlo.reduce(%4 init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<?x8xf32>, tensor<f32>) -> tensor<?xf32>
  %6 = stablehlo.dynamic_broadcast_in_dim %5, %shape, dims = [0] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x8xf32>
  %7 = stablehlo.divide %4, %6 : tensor<?x8xf32>
  %9 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<?x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %7, %9 : tensor<?x8xf32>, tensor<8xf32>
}
"""
# tanh(x y): a product with an epilogue
PRODUCT = """
func.func @main(%x: tensor<?x8xf32>, %y: tensor<8x16xf32>) -> tensor<?x16xf32> {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
      : (tensor<?x8xf32>, tensor<8x16xf32>) -> tensor<?x16xf32>
  %1 = stablehlo.tanh %0 : tensor<?x16xf32>
  return %1 : tensor<?x16xf32>
}
"""
# Sums of sorted columns: sorts are in temporaries.
STAGES = """
func.func @main(%x: tensor<?x8xf32>, %y: tensor<?x8xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %1 = "stablehlo.sort"(%y) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %less : tensor<i1>
  }) : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %2 = stablehlo.multiply %0, %1 : tensor<?x8xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0, 1]
      : (tensor<?x8xf32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
"""


def softmax(x: Any, y: Any) -> Any:
    e = np.exp(x + y - np.max(x + y, axis=1, keepdims=True, initial=-np.inf))
    return e / e.sum(1, keepdims=True), x.sum(0)


Case = Literal["elementwise", "softmax", "product", "stages"]
CASES: Mapping[Case, tuple[str, Callable[[Array, Array], tuple[Array, ...]]]] = {
    "elementwise": (ELEMENTWISE, lambda x, y: (x * y + y, x - y)),
    "softmax": (SOFTMAX, softmax),
    "product": (PRODUCT, lambda x, y: (np.tanh(x @ y),)),
    "stages": (STAGES, lambda x, y: (np.sum(np.sort(x, axis=0) * np.sort(y, axis=0)),)),
}


def by_library(choice: Choice, legal: Sequence[Estimate]) -> int:
    """A variant that calls cuBLAS, if there is one."""
    found = [
        one.number
        for one in legal
        if any(isinstance(command, Product) for command in choice.variants[one.number].commands)
    ]
    return found[0] if found else cheapest(choice, legal)


@cache
def gpu() -> GpuOfXla:
    return GpuOfXla()


@cache
def program(case: Case, chooser: Chooser = cheapest, donate: tuple[int, ...] = ()) -> Compiled:
    return compile_for(CudaBackend(gpu().device, chooser), CASES[case][0], OPTIONS, hints=Hints(donated=donate))


def arrays(case: Case, n: int) -> list[Array]:
    return [normal(n, n, 8), normal(n + 1, 8, 16) if case == "product" else normal(n + 2, n, 8)]


def check(found: Sequence[Array], case: Case, given: Sequence[Array]) -> None:
    for ours, wanted in zip(found, CASES[case][1](*given), strict=True):
        np.testing.assert_allclose(ours, wanted, 1e-5, 1e-5)


def loaded(run: Compiled, *like: Any) -> Executable:
    return gpu().executable(run.executable.for_xla, run.as_jax(), *like)


@contextmanager
def poisoning(handle: ctypes.CDLL, *, on: bool) -> Generator[None]:
    """Whether memory is poisoned, by commands that count, as in all tests it is."""
    number = ctypes.c_int64(open_library(program("stages").executable.for_xla).process)
    handle.shlo_xla_begin(number, ctypes.c_int64(on))
    try:
        yield
    finally:
        handle.shlo_xla_begin(number, ctypes.c_int64(POOL.poisons))


@pytest.fixture
def unpoisoned() -> Generator[None]:
    with poisoning(open_library(program("stages").executable.for_xla).handle, on=False):
        yield


def check_stream(one: Any, commands: int | None = None) -> None:
    """All was done on XLA's stream, in the GPU's context, and all memory was given back."""
    assert (one.elsewhere, one.outside, one.in_use) == (0, 0, 0)
    if commands is not None:
        assert one.commands == commands


@pytest.mark.parametrize("case", CASES)
def test_results_of_each_size(case: Case) -> None:
    """Those of a call outside, to the bit; several sizes are loaded at once."""
    run = program(case)
    calls = [(arrays(case, n), n) for n in SIZES]
    executables = [loaded(run, *given) for given, _ in calls]
    for (given, n), executable in zip(calls, executables, strict=True):
        found = executable(*given)
        check(found, case, given)
        for ours, outside in zip(found, run(*given), strict=True):
            np.testing.assert_array_equal(ours, outside)
        check_stream(executable.stream)
        assert executable.stream.commands > 0 or n == 0
        executable.close()


def test_temporaries_are_memory_of_xla() -> None:
    run, given = program("stages"), arrays("stages", 33)
    executable = loaded(run, *given)
    executable(*given)
    assert isinstance(run.executable, GpuExecutable)
    assert (executable.stream.allocations, executable.stream.bytes) == (1, run.executable.arena_bytes(given))
    assert executable.stream.bytes > 0
    none = loaded(program("elementwise"), *arrays("elementwise", 7))
    none(*arrays("elementwise", 7))
    assert none.stream.allocations == 0


@pytest.mark.usefixtures("unpoisoned")
def test_products_of_the_library() -> None:
    """CuBLAS gets XLA's stream; each stream has a handle of its own."""
    run = program("product", by_library)
    handles = set[int | None]()
    for n in SIZES:
        given = arrays("product", n)
        for executable in (loaded(run, *given), loaded(run, *given)):
            for _ in range(2):
                check(executable(*given), "product", given)
                handles.add(executable.stream.cublas)
            check_stream(executable.stream, 4 if n else 0)
    assert len(handles) == 1 + 2 * len(SIZES[1:]), "none without rows, one of each stream"


def test_arguments_that_are_not_aligned() -> None:
    """Packs of 16 bytes cannot be loaded: other variants run. The emulator refuses loads that are not aligned."""
    given = arrays("elementwise", 32)
    executable = loaded(program("elementwise"), *given)
    for offset in (0, 4, 16):
        check(executable(*given, offset=offset), "elementwise", given)


@pytest.mark.usefixtures("unpoisoned")
@pytest.mark.parametrize("case", ["softmax", "stages"])
def test_a_command_fails(case: Case) -> None:
    """The error names the command; temporaries are given back, and the next call is right."""
    run, given = program(case), arrays(case, 7)
    executable = loaded(run, *given)
    executable(*given)
    stream, count = executable.stream, executable.stream.commands
    assert count > 0
    for number in range(count):
        for code, kind in ((700, INTERNAL), (2, NO_MEMORY)):
            stream.commands, stream.fails_at, stream.code = 0, number, code
            told = rf"shlo_disc: kernel \w+ failed: EMULATED_ERROR \({code}\)"
            with pytest.raises(RefusalError, match=told) as caught:
                executable(*given)
            assert caught.value.code == kind
            check_stream(stream, number + 1)
    stream.fails_at = -1
    check(executable(*given), case, given)


@pytest.mark.usefixtures("unpoisoned")
def test_a_product_fails() -> None:
    given = arrays("product", 7)
    executable = loaded(program("product", by_library), *given)
    executable.stream.fails_at, executable.stream.code = 0, 3
    with pytest.raises(RefusalError, match="shlo_disc: product of float32 by cuBLAS failed: cuBLAS status 3") as caught:
        executable(*given)
    assert caught.value.code == NO_MEMORY
    executable.stream.fails_at = -1
    check(executable(*given), "product", given)


@pytest.mark.usefixtures("unpoisoned")
def test_there_is_no_memory() -> None:
    run, given = program("stages"), arrays("stages", 7)
    executable = loaded(run, *given)
    executable.stream.has_no_memory = 1
    told = r"no memory for the temporaries of this call: \d+ bytes: the allocator is empty"
    with pytest.raises(RefusalError, match=told) as caught:
        executable(*given)
    assert caught.value.code == NO_MEMORY
    check_stream(executable.stream, 0)


def test_arrays_on_another_gpu() -> None:
    given = arrays("elementwise", 7)
    executable = loaded(program("elementwise"), *given)
    driver = gpu().device.xla_driver()
    context, driver.context = driver.context, 1
    try:
        with pytest.raises(RefusalError, match="found arrays on another GPU") as caught:
            executable(*given)
    finally:
        driver.context = context
    assert caught.value.code == OTHER_GPU
    check_stream(executable.stream, 0)


def test_buffers_of_other_sizes() -> None:
    executable = loaded(program("elementwise"), *arrays("elementwise", 7))
    with pytest.raises(RefusalError, match="found buffers of other types or sizes"):
        executable(*arrays("elementwise", 8))


def test_donated_arguments() -> None:
    """XLA's values stay, unless XLA has put the result in their place: then nothing is copied."""
    run, given = program("elementwise", donate=(0, 1)), arrays("elementwise", 7)
    stored = {one.result: one.argument for one in run.executable.artifact.donations if one.result is not None}
    assert stored
    executable = loaded(run, *given)
    assert "output_operand_alias" in executable.text
    check(executable(*given), "elementwise", given)
    commands = executable.stream.commands
    check(executable(*given, stored=stored), "elementwise", given)
    assert commands - (executable.stream.commands - commands) == len(stored)
    check_stream(executable.stream)


def test_donated_arguments_without_a_result() -> None:
    """The program computes in a copy, which is memory of XLA."""
    run, given = program("stages", donate=(0, 1)), arrays("stages", 7)
    donations = run.executable.artifact.donations
    assert [one.result for one in donations] == [None] * len(donations) != []
    executable = loaded(run, *given)
    check(executable(*given), "stages", given)
    assert executable.stream.allocations >= len(donations)
    check_stream(executable.stream)


def test_memory_is_poisoned() -> None:
    """Where tests ask for it: results and temporaries, by commands on the stream."""
    given, counts = arrays("stages", 7), list[int]()
    for on in (False, True):
        executable = loaded(program("stages"), *given)
        with poisoning(executable.handle, on=on):
            check(executable(*given), "stages", given)
        counts.append(executable.stream.commands)
        check_stream(executable.stream)
    assert counts[1] == counts[0] + 2


def test_bound_arguments() -> None:
    x, y = arrays("product", 7)
    bound = program("product").bind(x)
    executable = gpu().executable(bound.executable.for_xla, bound.as_jax(), y)
    check(executable(y), "product", (x, y))


@pytest.mark.parametrize("chooser", [cheapest, by_library])
def test_threads_call_at_once_without_the_lock(chooser: Chooser) -> None:
    calls = [arrays("product", 7), *[[normal(k, 7, 8), normal(k, 8, 16)] for k in range(2)]]
    found, streams = loaded(program("product", chooser), *calls[0]).at_once(calls, rounds=5)
    for ours, given in zip(found, calls, strict=True):
        check(ours, "product", given)
    assert len({one.stream for one in streams}) == len(calls)
    assert len({one.commands for one in streams}) == 1
    for one in streams:
        check_stream(one)


def test_loops_that_read_the_device() -> None:
    run = compile_for(CudaBackend(gpu().device), SLOW, OPTIONS)
    x, count = normal(0, 7), np.array(3, np.int32)
    executable = gpu().executable(run.executable.for_xla, run.as_jax(), x, count)
    np.testing.assert_allclose(executable(x, count)[0], np.sin(np.sin(np.sin(x))), 1e-5, 1e-5)
    check_stream(executable.stream)


def test_programs_go_when_nothing_calls_them() -> None:
    run, given = program("elementwise"), arrays("elementwise", 12)
    library = open_library(run.executable.for_xla)
    jax.clear_caches()
    gc.collect()
    before = library.loaded
    executable = loaded(run, *given)
    assert library.loaded == before + 1
    del executable.lowered
    jax.clear_caches()
    gc.collect()
    assert library.loaded == before + 1, "the executable has it"
    check(executable(*given), "elementwise", given)
    executable.close()
    assert library.loaded == before
