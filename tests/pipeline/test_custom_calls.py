"""Custom calls that functions of Python compute, by both drivers, on the emulator and in the interpreter."""

# What is registered is short and has no types: any function may be.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import export
from numpy.typing import NDArray

import shlo_disc
from shlo_disc import CompileOptions, custom_calls
from shlo_disc.artifact import Artifact
from shlo_disc.codec import decode, encode
from shlo_disc.runtime.cpu.build import build
from shlo_disc.runtime.cpu.executable import CpuExecutable
from tests.pipeline.hooks import SAME, WAYS, Floats, X, by_driver, call, program, register, way

Array = NDArray[Any]
pytestmark = pytest.mark.usefixtures("own_functions")


AMONG_OTHERS = """
func.func @main(%x: tensor<?x3xf32>, %n: tensor<i32>) -> (tensor<?x3xf32>, tensor<?x3xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %half = stablehlo.constant dense<0.5> : tensor<3xf32>
  %rows = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x3xf32>) -> tensor<i32>
  %r = stablehlo.reshape %rows : (tensor<i32>) -> tensor<1xi32>
  %three = stablehlo.constant dense<3> : tensor<1xi32>
  %s = stablehlo.concatenate %r, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %scalar = stablehlo.constant dense<[]> : tensor<0xi32>
  %y = stablehlo.add %x, %x : tensor<?x3xf32>
  %z:2 = stablehlo.custom_call @scaled(%y, %half, %s, %scalar)
      {indices_of_shape_operands = dense<[2, 3]> : tensor<2xi64>, mhlo.backend_config = {by = 3.0 : f32}}
      : (tensor<?x3xf32>, tensor<3xf32>, tensor<2xi32>, tensor<0xi32>) -> (tensor<?x3xf32>, tensor<i32>)
  %w = stablehlo.negate %z#0 : tensor<?x3xf32>
  %end:2 = stablehlo.while(%i = %zero, %a = %w) : tensor<i32>, tensor<?x3xf32>
    cond {
      %go = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %i1 = stablehlo.add %i, %one : tensor<i32>
      %a1 = stablehlo.custom_call @added(%a, %a, %i, %s) {indices_of_shape_operands = dense<3> : tensor<1xi64>}
          : (tensor<?x3xf32>, tensor<?x3xf32>, tensor<i32>, tensor<2xi32>) -> tensor<?x3xf32>
      stablehlo.return %i1, %a1 : tensor<i32>, tensor<?x3xf32>
    }
  return %w, %end#1, %z#1 : tensor<?x3xf32>, tensor<?x3xf32>, tensor<i32>
}
"""


@way
def test_functions_run_between_kernels_and_in_loops(way: str) -> None:
    def scaled(x: Floats, half: Floats, *, by: float) -> tuple[Floats, np.int32]:
        assert half.tolist() == [0.5] * 3
        return x * half * np.float32(by), np.int32(len(x))

    def added(a: Floats, b: Floats, i: Array, *, out: tuple[Floats]) -> None:
        np.add(a, b + i, out=out[0])

    register("scaled", scaled)
    register("added", added, out=True)
    run = WAYS[way](AMONG_OTHERS)
    for rows, turns in ((4, 3), (0, 2), (1, 0), (17, 1)):
        x = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
        first, last, count = map(np.asarray, run(x, np.array(turns, np.int32)))
        wanted = x * -3
        np.testing.assert_allclose(first, wanted, rtol=1e-6)
        for i in range(turns):
            wanted = wanted + (wanted + i)
        np.testing.assert_allclose(last, wanted, rtol=1e-5, atol=1e-5)
        assert count == rows


ATTRIBUTES = """{
  flag = true, unit, n = -3 : i32, big = 18446744073709551615 : ui64, eps = 1.0e-5 : f32, name = "a \\"b\\"",
  list = [1, "x", [2.5 : f64]], dense = dense<[[1, 2]]> : tensor<1x2xi16>, splat = dense<7> : tensor<2xi8>,
  array = array<f32: 1.0, 2.5>, bits = array<i1: true, false>, half = 1.5 : bf16}"""


@pytest.mark.parametrize("spelling", ["backend_config = {0}, api_version = 4 : i32", "mhlo.backend_config = {0}"])
def test_attributes_are_numbers_texts_and_arrays(spelling: str) -> None:
    seen: dict[str, Any] = {}

    def function(x: Floats, **attributes: Any) -> Floats:
        seen.update(attributes)
        return x

    register("target", function)
    config = spelling.replace("{0}", ATTRIBUTES)
    run = by_driver("c", program(call("%x", "(tensor<2xf32>) -> tensor<2xf32>", config=config)))
    run(np.zeros(2, np.float32))
    assert (seen.pop("flag"), seen.pop("unit"), seen.pop("n"), seen.pop("big")) == (True, True, -3, 2**64 - 1)
    assert (seen.pop("eps"), seen.pop("name"), seen.pop("half")) == (np.float32(1e-5), 'a "b"', 1.5)
    assert seen.pop("list") == (1, "x", (2.5,))
    for name, wanted in {
        "dense": np.array([[1, 2]], np.int16), "splat": np.array([7, 7], np.int8),
        "array": np.array([1, 2.5], np.float32), "bits": np.array([True, False]),
    }.items():  # fmt: skip
        found = seen.pop(name)
        assert found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)
        assert not found.flags.writeable
    assert not seen


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_text_is_one_attribute(version: int) -> None:
    register("target", lambda x, backend_config: x + len(backend_config))
    config = f'backend_config = "four", api_version = {version} : i32'
    run = by_driver("c", program(call("%x", "(tensor<2xf32>) -> tensor<2xf32>", config=config)))
    np.testing.assert_array_equal(run(X)[0], X + 4)


DTYPES = {
    "i1": np.bool_, "i8": np.int8, "ui16": np.uint16, "i64": np.int64, "bf16": ml_dtypes.bfloat16, "f16": np.float16,
    "f64": np.float64, "complex<f32>": np.complex64, "complex<f64>": np.complex128,
}  # fmt: skip


@way
def test_every_dtype_comes_through(way: str) -> None:
    """All in one program: an array that is reversed, a matrix in a layout of its own, and a number."""
    arguments = [f"%{k}x: tensor<3x2x{t}>, %{k}y: tensor<{t}>" for k, t in enumerate(DTYPES)]
    lines = list[str]()
    for k, t in enumerate(DTYPES):
        types = f"(tensor<3x2x{t}>, tensor<{t}>) -> (tensor<{t}>, tensor<3x2x{t}>)"
        layouts = (
            "operand_layouts = [dense<[0, 1]> : tensor<2xindex>, dense<> : tensor<0xindex>], "
            "result_layouts = [dense<> : tensor<0xindex>, dense<[0, 1]> : tensor<2xindex>]"
        )
        lines.append(f"%{k}r:2 = {call(f'%{k}x, %{k}y', types, config=layouts)}")
    results = [f"%{k}r#0, %{k}r#1" for k in range(len(DTYPES))]
    types = [f"tensor<{t}>, tensor<3x2x{t}>" for t in DTYPES]
    text = f"func.func @main({', '.join(arguments)}) -> ({', '.join(types)}) {{\n" + "\n".join(lines)
    register("target", lambda x, y: [y, x[::-1]])
    rng = np.random.default_rng(0)
    arrays = [rng.integers(0, 2, s).astype(t) for t in DTYPES.values() for s in ((3, 2), ())]
    found = list(map(np.asarray, WAYS[way](f"{text}\nreturn {', '.join(results)} : {', '.join(types)}\n}}\n")(*arrays)))
    for k in range(0, len(arrays), 2):
        assert found[k].dtype == found[k + 1].dtype == arrays[k].dtype
        np.testing.assert_array_equal(found[k], arrays[k + 1])
        np.testing.assert_array_equal(found[k + 1], arrays[k][::-1])


@way
def test_a_result_that_shares_memory_begins_as_the_operand(way: str) -> None:
    def add_one(_: Floats, *, out: tuple[Floats, ...]) -> None:
        out[0][0] += 1

    register("target", add_one, out=True)
    alias = (
        "output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, "
        "operand_tuple_indices = []>]"
    )
    run = WAYS[way](program(call("%x", "(tensor<2xf32>) -> tensor<2xf32>", config=alias)))
    x = X.copy()
    np.testing.assert_array_equal(np.asarray(run(x)[0]), [2, 2])
    np.testing.assert_array_equal(x, X)


def test_exports_of_ffi_calls_with_symbolic_sizes() -> None:
    def norm(x: Floats, *, eps: float) -> Floats:
        return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(eps))

    def function(x: Any) -> Any:
        like: Any = jax.ShapeDtypeStruct(x.shape, x.dtype)
        y: Any = jax.ffi.ffi_call("norm", like)(x, eps=np.float32(1e-5))  # pyright: ignore[reportUnknownMemberType]
        return jnp.tanh(y) * 2

    shape: Any = export.symbolic_shape("b, 8")
    unchecked = [export.DisabledSafetyCheck.custom_call("norm")]
    jitted: Any = jax.jit(function)
    exported = export.export(jitted, disabled_checks=unchecked)(jax.ShapeDtypeStruct(shape, np.float32))
    register("norm", norm)
    run = shlo_disc.compile(exported, device="cpu")
    x = np.random.default_rng(0).standard_normal((5, 8)).astype(np.float32)
    np.testing.assert_allclose(run(x), np.tanh(norm(x, eps=1e-5)) * 2, rtol=1e-5)
    register("norm", lambda x, eps: jnp.asarray(norm(x, eps=eps)) * 2)  # JAX's arrays are results too
    np.testing.assert_allclose(run(x), np.tanh(norm(x, eps=1e-5) * 2) * 2, rtol=1e-5)


EFFECTS = """
func.func @main(%x: tensor<2xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  %y = stablehlo.add %x, %x : tensor<2xf32>
  stablehlo.custom_call @log(%y) {has_side_effect = true} : (tensor<2xf32>) -> ()
  stablehlo.custom_call @log(%y) {has_side_effect = true} : (tensor<2xf32>) -> ()
  %unread = stablehlo.custom_call @pure(%y) : (tensor<2xf32>) -> tensor<2xf32>
  %a = stablehlo.custom_call @pure(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %b = stablehlo.custom_call @pure(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %c = "stablehlo.case"(%i) ({
    stablehlo.custom_call @log(%x) {has_side_effect = true} : (tensor<2xf32>) -> ()
    stablehlo.return %x : tensor<2xf32>
  }, {
    stablehlo.return %y : tensor<2xf32>
  }) : (tensor<i32>) -> tensor<2xf32>
  %d = stablehlo.add %a, %b : tensor<2xf32>
  return %d : tensor<2xf32>
}
"""


BRANCHES = """
func.func @main(%x: tensor<2xf32>, %i: tensor<i32>) -> tensor<2xf32> {
  "stablehlo.case"(%i) ({
    stablehlo.custom_call @log(%x) {has_side_effect = true} : (tensor<2xf32>) -> ()
    stablehlo.return
  }, {
    stablehlo.return
  }) : (tensor<i32>) -> ()
  return %x : tensor<2xf32>
}
"""


@pytest.mark.parametrize("way", ["c", "vm", "cuda-c", "cuda-vm"])
def test_branches_without_results_make_their_calls(way: str) -> None:
    logged = list[list[float]]()
    register("log", lambda x: logged.append(x.tolist()))
    run = WAYS[way](BRANCHES)
    for index in (0, 1):
        run(X, np.array(index, np.int32))
    assert logged == [[1, 2]]


@pytest.mark.parametrize("way", ["c", "vm", "cuda-c", "cuda-vm"])
def test_calls_with_side_effects_are_made_and_pure_ones_are_made_once(way: str) -> None:
    logged, asked = list[list[float]](), list[list[float]]()

    def pure(x: Floats) -> Floats:
        asked.append(x.tolist())
        return x * 10

    register("log", lambda x: logged.append(x.tolist()))
    register("pure", pure)
    run = WAYS[way](EFFECTS)
    np.testing.assert_array_equal(np.asarray(run(X, np.array(0, np.int32))[0]), X * 20)
    assert sorted(logged) == [[1, 2], [2, 4], [2, 4]]
    assert asked == [[1, 2]]
    run(X, np.array(1, np.int32))
    assert len(logged) == 5


SIZES_FROM_FUNCTIONS = """
func.func @main(%x: tensor<4xf32>) -> (tensor<?xf32>, tensor<?x4xcomplex<f32>>) {
  %k = stablehlo.custom_call @count(%x) : (tensor<4xf32>) -> tensor<1xi32>
  %0 = stablehlo.custom_call @take(%x, %k) {indices_of_shape_operands = dense<1> : tensor<1xi64>}
      : (tensor<4xf32>, tensor<1xi32>) -> tensor<?xf32>
  %1 = stablehlo.add %0, %0 : tensor<?xf32>
  %four = stablehlo.constant dense<4> : tensor<1xi32>
  %s = stablehlo.concatenate %k, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %y = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
  %z = stablehlo.complex %y, %y : tensor<?x4xcomplex<f32>>
  %f = stablehlo.fft %z, type = FFT, length = [4] : (tensor<?x4xcomplex<f32>>) -> tensor<?x4xcomplex<f32>>
  return %1, %f : tensor<?xf32>, tensor<?x4xcomplex<f32>>
}
"""


@pytest.mark.parametrize("way", ["c", "vm"])
def test_a_function_decides_sizes(way: str) -> None:
    def take(x: Floats, *, out: tuple[Floats]) -> None:
        out[0][:] = x[: len(out[0])]

    register("take", take, out=True)
    register("count", lambda x: np.array([(x > 0).sum()], np.int32))
    run = WAYS[way](SIZES_FROM_FUNCTIONS)
    for count in (3, 0, 4):
        x = np.array([1, 2, 3, 4], np.float32) * (np.arange(4) < count)
        taken, transformed = run(x)
        np.testing.assert_array_equal(taken, 2 * x[:count])
        np.testing.assert_allclose(transformed, np.fft.fft(np.broadcast_to(x + 1j * x, (count, 4))), atol=1e-5)
    register("count", lambda _: np.array([-1], np.int32))
    with pytest.raises(shlo_disc.RuntimeShapeError, match="-1"):
        run(X.repeat(2))


# --- targets that need no function

KNOWN = """
func.func @main(%x: tensor<?x5xf32>) -> (tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x2xf32>, tensor<?x2xi32>) {
  %0 = stablehlo.custom_call @Sharding(%x) {mhlo.sharding = "{replicated}"} : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %1 = stablehlo.custom_call @xla.sdy.FuncResultSharding(%0) {has_side_effect = true}
      : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %2 = stablehlo.custom_call @xla.sdy.GlobalToLocalShape(%1) : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %4 = stablehlo.custom_call @annotate_device_placement(%3) : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %5 = stablehlo.custom_call @MoveToHost(%4) : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %6 = stablehlo.custom_call @mhlo.erf(%5) {mhlo.attributes = {}, mhlo.version = 1 : i64}
      : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %7 = stablehlo.custom_call @mhlo.tan(%5) {mhlo.attributes = {}, mhlo.version = 1 : i64}
      : (tensor<?x5xf32>) -> tensor<?x5xf32>
  %8:2 = stablehlo.custom_call @mhlo.topk(%5) {mhlo.attributes = {k = 2 : i64, largest = true}, mhlo.version = 1 : i64}
      : (tensor<?x5xf32>) -> (tensor<?x2xf32>, tensor<?x2xi32>)
  return %6, %7, %8#0, %8#1 : tensor<?x5xf32>, tensor<?x5xf32>, tensor<?x2xf32>, tensor<?x2xi32>
}
"""


def test_targets_of_xla_on_one_device() -> None:
    x = np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32)
    erf, tan, largest, places = by_driver("c", KNOWN)(x)
    np.testing.assert_allclose(erf, [[math.erf(value) for value in row] for row in x], rtol=1e-5)
    np.testing.assert_allclose(tan, np.tan(x.astype(np.float64)), rtol=1e-5)
    np.testing.assert_array_equal(places, np.argsort(-x, 1)[:, :2])
    np.testing.assert_array_equal(largest, np.take_along_axis(x, places, 1))


def test_a_piece_for_each_device_is_refused() -> None:
    with pytest.raises(shlo_disc.UnsupportedOpError, match="@SPMDFullToShardShape cuts a tensor for several devices"):
        by_driver(
            "c",
            program(
                call("%x", "(tensor<2xf32>) -> tensor<1xf32>", target="SPMDFullToShardShape"), result="tensor<1xf32>"
            ),
        )


def test_artifacts_find_the_function_that_is_registered_when_they_run(tmp_path: Path) -> None:
    register("target", lambda x: x * 3)
    options = CompileOptions(cache_dir=tmp_path)
    run = shlo_disc.compile(SAME, device="cpu", options=options)
    executable = run.executable
    assert isinstance(executable, CpuExecutable)
    loaded = build(decode(Artifact, encode(Artifact, executable.artifact)), options)
    np.testing.assert_array_equal(loaded([X])[0], X * 3)
    register("target", lambda x: x * 4)
    for one in (run.executable, loaded):
        np.testing.assert_array_equal(one([X])[0], X * 4)
    script = (
        "import pathlib, numpy as np, shlo_disc\n"
        f"options = shlo_disc.CompileOptions(cache_dir=pathlib.Path({str(tmp_path)!r}))\n"
        "try:\n"
        f"    shlo_disc.compile({SAME!r}, device='cpu', options=options)\n"
        "except shlo_disc.UnsupportedOpError as error:\n"
        "    assert '@target' in str(error)\n"
        "    shlo_disc.register_custom_call('target', lambda x: x * 5)\n"
        f"    run = shlo_disc.compile({SAME!r}, device='cpu', options=options)\n"
        "    assert 'fuse' not in run.stats.seconds, 'the artifact comes from the cache'\n"
        "    print(run(np.ones(2, np.float32))[0].tolist())\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[5.0, 5.0]\n", "")
    custom_calls._hooks.clear()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(shlo_disc.ShloDiscError, match="no function is registered for the custom call @target on 'cpu'"):
        run(X)
