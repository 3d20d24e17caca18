"""Custom calls that functions of Python compute, by both drivers, on the emulator and in the interpreter."""

# What is registered is short and has no types: any function may be.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import gc
import pickle
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import export
from numpy.typing import NDArray

import shlo_disc
from shlo_disc import CompileOptions, custom_calls
from shlo_disc.dynamic_ops.legalize import legalize
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.pipeline import compile_for
from shlo_disc.runtime.executable import Executable, build
from tests.emulator.device import EmulatedDevice

Array = NDArray[Any]
Floats = NDArray[np.float32]
DRIVERS: tuple[Literal["c", "vm"], ...] = ("c", "vm")


@pytest.fixture(autouse=True)
def no_functions_stay() -> Iterator[None]:
    """What a test registers is forgotten after it."""
    hooks: dict[Any, Any] = custom_calls._hooks  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    before = dict(hooks)
    yield
    hooks.clear()
    hooks.update(before)


def register(target: str, function: Callable[..., Any], *, out: bool = False) -> None:
    """Register a function of NumPy arrays for the CPU, and for the emulator, whose arrays are NumPy's too."""
    for device in ("cpu", "cuda"):
        shlo_disc.register_custom_call(target, function, device=device, out=out)


def by_driver(driver: Literal["c", "vm"], text: str) -> Callable[..., Any]:
    return shlo_disc.compile(text, device="cpu", options=CompileOptions(driver=driver))


def on_emulator(driver: Literal["c", "vm"], text: str) -> Callable[..., Any]:
    options = CompileOptions(driver=driver, cuda_graphs=True)
    return compile_for(EmulatedDevice(), text, options)


def by_interpreter(text: str) -> Callable[..., Any]:
    program = legalize(shlo_disc.parse(text))
    return lambda *arrays: tuple(interpret(program, arrays))


WAYS: Mapping[str, Callable[[str], Callable[..., Any]]] = {
    "c": lambda text: by_driver("c", text),
    "vm": lambda text: by_driver("vm", text),
    "cuda-c": lambda text: on_emulator("c", text),
    "cuda-vm": lambda text: on_emulator("vm", text),
    "interpreter": by_interpreter,
}
way = pytest.mark.parametrize("way", WAYS)
driver = pytest.mark.parametrize("driver", DRIVERS)


def call(operands: str, types: str, *, target: str = "target", config: str = "") -> str:
    return f"stablehlo.custom_call @{target}({operands}) {{{config}}} : {types}"


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


def program(op: str, argument: str = "tensor<2xf32>", result: str = "tensor<2xf32>") -> str:
    return f"func.func @main(%x: {argument}) -> {result} {{\n  %0 = {op}\n  return %0 : {result}\n}}\n"


SAME = program(call("%x", "(tensor<2xf32>) -> tensor<2xf32>"))
X = np.array([1, 2], np.float32)


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


# --- what goes wrong


class OursError(Exception):
    """What a function raises."""


@pytest.mark.parametrize("way", ["c", "vm", "cuda-c", "cuda-vm"])
@pytest.mark.parametrize("kind", [OursError, KeyboardInterrupt, SystemExit])
def test_what_a_function_raises_comes_out_as_it_is(way: str, kind: type[BaseException]) -> None:
    error = kind("no")

    def fail(_: Floats) -> Floats:
        raise error

    register("target", fail)
    run = WAYS[way](SAME)
    for _ in range(2):
        error.__notes__ = []
        with pytest.raises(kind) as caught:
            run(X)
        assert caught.value is error
        assert caught.value.__notes__ == ["raised by custom_call @target, <string>:2:8"]
    register("target", lambda x: x + 1)
    np.testing.assert_array_equal(np.asarray(run(X)[0]), X + 1)


def test_the_program_stops_at_the_error() -> None:
    made = list[str]()
    register("first", lambda _: made.append("first") or 1 / 0)
    register("second", lambda x: made.append("second") or x)
    types = "(tensor<2xf32>) -> tensor<2xf32>"
    text = program(f"{call('%x', types, target='first')}\n  %1 = {call('%0', types, target='second')}")
    run = by_driver("c", text.replace("return %0", "return %1"))
    with pytest.raises(ZeroDivisionError):
        run(X)
    assert made == ["first"]


@pytest.mark.parametrize(("function", "error", "message"), [
    (lambda x: x.astype(np.float64), shlo_disc.ArgumentTypeError, r"found dtype float64 of result 0, expected float32"),
    (lambda x: x[:1], shlo_disc.RuntimeShapeError, r"found shape \(1,\) of result 0, expected \(2,\)"),
    (lambda _: None, shlo_disc.ArgumentTypeError, "found 0 results, expected 1"),
    (lambda x: (x, x), shlo_disc.ArgumentTypeError, "found 2 results, expected 1"),
    (lambda _: "text", shlo_disc.ArgumentTypeError, "found str, expected a NumPy, JAX or DLPack array"),
    (lambda x: x.__setitem__(0, 1), ValueError, "read-only"),
    (lambda: None, TypeError, "takes 0 positional arguments"),
])  # fmt: skip
@driver
def test_results_that_the_op_does_not_state(
    function: Callable[..., Any], error: type[Exception], message: str, driver: Literal["c", "vm"]
) -> None:
    register("target", function)
    with pytest.raises(error, match=message):
        by_driver(driver, SAME)(X)


@driver
def test_each_thread_has_its_own_error(driver: Literal["c", "vm"]) -> None:
    def fail_if_odd(x: Floats) -> Floats:
        if x[0] % 2:
            raise OursError(float(x[0]))
        return x * 2

    register("target", fail_if_odd)
    run = by_driver(driver, SAME)
    wrong = list[object]()

    def work(number: int) -> None:
        for turn in range(200):
            value = float(number + turn * 8)
            try:
                (found,) = run(np.array([value, 0], np.float32))
                wrong.extend([found] if value % 2 or found[0] != value * 2 else [])
            except OursError as error:
                wrong.extend([error] if error.args != (value,) else [])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


TEMPORARY = """
func.func @main(%x: tensor<?xf32>) -> tensor<f32> {
  %y = stablehlo.add %x, %x : tensor<?xf32>
  %z = stablehlo.custom_call @target(%y) : (tensor<?xf32>) -> tensor<f32>
  return %z : tensor<f32>
}
"""


@driver
def test_memory_that_a_function_keeps_stays_valid(driver: Literal["c", "vm"]) -> None:
    kept = list[Floats]()
    register("target", lambda y: kept.append(y) or y.sum())
    run = by_driver(driver, TEMPORARY)
    for value in range(5):
        run(np.full(1000, value, np.float32))
    for value, array in enumerate(kept):  # each has a piece of memory that no other call got
        np.testing.assert_array_equal(array, 2 * value)


@driver
def test_an_error_keeps_memory_as_long_as_it_lives_and_no_longer(driver: Literal["c", "vm"]) -> None:
    def fail(y: Floats) -> Floats:
        raise OursError(y.sum())

    register("target", fail)
    run: Any = by_driver(driver, TEMPORARY)
    argument = np.ones(1000, np.float32)
    gone = weakref.ref(argument)
    gc.disable()
    try:
        with pytest.raises(OursError) as caught:
            run(argument)
        frame = caught.traceback[-1].frame
        np.testing.assert_array_equal(frame.f_locals["y"], 2)  # as a debugger would show it
        del argument, frame, caught
        assert gone() is None, "a cycle keeps the memory of the call"
    finally:
        gc.enable()


@driver
def test_a_function_may_call_programs(driver: Literal["c", "vm"]) -> None:
    def recurse(x: Floats) -> Floats:
        return run(x - 1)[0] + 1 if x[0] > 0 else x * 0

    register("target", recurse)
    run: Any = by_driver(driver, SAME)
    np.testing.assert_array_equal(run(np.array([5, 7], np.float32))[0], [5, 5])


def test_refused_by_name() -> None:
    def refused(text: str, message: str) -> None:
        with pytest.raises(shlo_disc.UnsupportedOpError, match=message):
            by_driver("c", text)

    refused(
        SAME, r"@target\n(.*\n){2}  help: register a function .* shlo_disc.register_custom_call\('target', function\)"
    )
    shlo_disc.register_custom_call("target", lambda x: x)
    with pytest.raises(shlo_disc.UnsupportedOpError, match=r"@target on cuda\n(.*\n){2}  help: .*, device='cuda'\)"):
        on_emulator("vm", SAME)
    dynamic = program(call("%x", "(tensor<2xf32>) -> tensor<?xf32>"), result="tensor<?xf32>")
    refused(dynamic, "result 0 of the custom call @target has a size that is not known")
    types = "(tensor<2xf32>) -> tensor<2xf32>"
    refused(program(call("%x", types, config="called_computations = [@main]")), "calls computations")
    refused(program(call("%x", types, config="mhlo.backend_config = {d = {}}")), "the attribute 'd' of a custom call")
    refused(SAME.replace("@target", "@xla_ffi_python_cpu_callback"), "jax.ffi.ffi_call")


def test_what_cannot_be_registered() -> None:
    with pytest.raises(shlo_disc.ShloDiscError, match="found 3 for the custom call @target, expected a function"):
        shlo_disc.register_custom_call("target", 3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(shlo_disc.ShloDiscError, match="found device 'tpu', expected 'cpu' or 'cuda'"):
        shlo_disc.register_custom_call("target", abs, device="tpu")  # pyright: ignore[reportArgumentType]


def test_artifacts_find_the_function_that_is_registered_when_they_run(tmp_path: Path) -> None:
    register("target", lambda x: x * 3)
    options = CompileOptions(cache_dir=tmp_path)
    run = shlo_disc.compile(SAME, device="cpu", options=options)
    executable = run.executable
    assert isinstance(executable, Executable)
    loaded = build(pickle.loads(pickle.dumps(executable.artifact)), options)
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
