"""Custom calls whose functions fail, keep what they get, or are not there."""

# What is registered is short and has no types: any function may be.
# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc.runtime.library import Runtime
from tests.pipeline.hooks import SAME, WAYS, Driver, Floats, X, by_driver, call, driver, on_emulator, program, register

pytestmark = pytest.mark.usefixtures("own_functions")


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
    function: Callable[..., Any], error: type[Exception], message: str, driver: Driver
) -> None:
    register("target", function)
    with pytest.raises(error, match=message):
        by_driver(driver, SAME)(X)


@driver
def test_each_thread_has_its_own_error(driver: Driver) -> None:
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
def test_memory_that_a_function_keeps_stays_valid(driver: Driver) -> None:
    kept = list[Floats]()
    register("target", lambda y: kept.append(y) or y.sum())
    run = by_driver(driver, TEMPORARY)
    for value in range(5):
        run(np.full(1000, value, np.float32))
    for value, array in enumerate(kept):  # each has a piece of memory that no other call got
        np.testing.assert_array_equal(array, 2 * value)


@driver
def test_an_error_keeps_memory_as_long_as_it_lives_and_no_longer(driver: Driver) -> None:
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
def test_a_function_may_call_programs(driver: Driver) -> None:
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


@driver
def test_donated_memory_that_a_function_keeps_stays_valid(driver: Driver) -> None:
    """A donated array that may not be written is copied, and temporaries lie in the copy."""
    kept = list[Floats]()
    register("target", lambda y: kept.append(y) or y.sum())
    options = shlo_disc.CompileOptions(driver=driver)
    run = shlo_disc.compile(TEMPORARY, device="cpu", donate=(0,), options=options)
    assert run.peak_memory(s0=1000) == 0
    for value in range(5):
        x = np.full(1000, value, np.float32)
        x.flags.writeable = False
        run(x)
    for value, array in enumerate(kept):
        np.testing.assert_array_equal(array, 2 * value)


@pytest.mark.parametrize("calls_into_c", [1, 3])
def test_all_memory_of_a_call_may_be_kept(calls_into_c: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arguments, constants, temporaries, results, in one call into C and in three; the program may be gone."""
    if calls_into_c == 3:
        monkeypatch.setattr(Runtime, "refusal", "asked by a test", raising=False)
    kept = list[Floats]()

    def keep(*given: Floats, out: tuple[Floats]) -> None:
        out[0][...] = given[1] + 7
        kept.extend((*given, *out))

    register("target", keep, out=True)
    run: Any = by_driver("c", """
func.func @main(%w: tensor<?xf32>, %x: tensor<?xf32>) -> tensor<1000xf32> {
  %c = stablehlo.constant dense<3.0> : tensor<1000xf32>
  %y = stablehlo.multiply %x, %w : tensor<?xf32>
  %z = stablehlo.custom_call @target(%w, %x, %c, %y)
    : (tensor<?xf32>, tensor<?xf32>, tensor<1000xf32>, tensor<?xf32>) -> tensor<1000xf32>
  return %z : tensor<1000xf32>
}
""")  # fmt: skip
    assert (run.executable.entry is None) == (calls_into_c == 3)
    bound = run.bind(np.full(1000, 2, np.float32))
    argument = np.full(1000, 5, np.float32)
    argument_is_gone = weakref.ref(argument)
    bound(argument)
    del argument
    for value in range(4):
        bound(np.full(1000, value, np.float32))
    del run, bound
    gc.collect()
    fresh = [np.full(1000, 99, np.float32) for _ in range(20)]
    assert [set(array) for array in kept[:5]] == [{2}, {5}, {3}, {10}, {12}]
    assert argument_is_gone() is not None
    del fresh
    kept.clear()
    gc.collect()
    assert argument_is_gone() is None


def test_an_array_of_jax_gives_one_of_jax_back() -> None:
    """Its buffer is not held after the call: NumPy's view of it is what a function gets, and may keep."""
    kept = list[Floats]()
    register("target", lambda x: kept.append(x) or x + 1)
    run = by_driver("c", SAME)
    for value in range(4):
        x = jnp.full(2, value, jnp.float32)
        (found,) = run(x)
        assert type(found) is type(x)
        np.testing.assert_array_equal(np.asarray(found), value + 1)
        x.delete()
    gc.collect()
    for value, array in enumerate(kept):
        np.testing.assert_array_equal(array, value)


def test_memory_of_calls_is_used_again() -> None:
    seen = list[int]()
    register("target", lambda y: seen.append(y.ctypes.data) or y.sum())
    run = by_driver("c", TEMPORARY)
    for size in (1000, 1 << 19):
        seen.clear()
        for _ in range(6):
            run(np.ones(size, np.float32))
        assert len(set(seen)) < 6
