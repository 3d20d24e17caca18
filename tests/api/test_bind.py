"""Arguments that are bound once: calls bring the others, and compute the same as the whole program does."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.diagnostics import ArgumentTypeError, RuntimeShapeError
from shlo_disc.options import CompileOptions
from tests.api.programs import compiled, dims, exported, spec
from tests.emulator.device import EmulatedDevice
from tests.emulator.run import compiled as emulated
from tests.pipeline.test_partitions import CALLS, FILTERS, filtered

Floats = NDArray[np.float32]
B, S, D = dims("b, s, d")


def numbers(*shape: int, seed: int = 0) -> Floats:
    return np.random.default_rng([*shape, seed]).standard_normal(shape, np.float32)


def layers(seed: int = 0) -> dict[str, Any]:
    """Weights of two layers."""
    return {"in": (numbers(16, 96, seed=seed), numbers(96, seed=seed)), "out": numbers(96, 80, seed=seed)}


def network(params: dict[str, Any], x: Any, *, scale: Any) -> Any:
    weight, bias = params["in"]
    hidden = jnp.tanh(x @ weight + bias)
    return {"y": (hidden @ params["out"]) * scale, "x": x}


def specs_of(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: spec(*leaf.shape, dtype=leaf.dtype), tree)


def compiled_network() -> shlo_disc.Compiled:
    return compiled(network, specs_of(layers()), spec(B, S, 16), scale=spec())


def equal(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found["y"], wanted["y"], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("driver", ["c", "vm"])
def test_a_bound_program_computes_what_the_whole_one_does(driver: Any) -> None:
    program = exported(network, specs_of(layers()), spec(B, S, 16), scale=spec())
    run = shlo_disc.compile(program, options=CompileOptions(driver=driver))
    params = layers()
    bound, with_scale = run.bind(params), run.bind(params, scale=np.float32(0.5))
    for size in ((1, 1), (2, 7), (3, 64), (1, 257), (5, 31)):
        x = numbers(*size, 16)
        wanted = jax.jit(network)(params, x, scale=0.5)
        for found in (run(params, x, scale=0.5), bound(x, scale=0.5), with_scale(x)):
            equal(found, wanted)
    assert run.stats.compilations == 1
    assert run.stats.calls == bound.stats.calls == 15


def test_other_weights_take_their_place_without_compiling() -> None:
    run, x = compiled_network(), numbers(2, 5, 16)
    bound = run.bind(layers())
    for seed in (1, 2):
        bound.rebind(layers(seed))
        equal(bound(x, scale=1.0), jax.jit(network)(layers(seed), x, scale=1.0))
    assert run.stats.compilations == 1


def test_a_call_sees_all_old_or_all_new_weights() -> None:
    run = compiled(lambda p, x: (p[0] + x, p[1] + x, p[2] @ x), (spec(D), spec(D), spec(D, D)), spec(D))
    sets = [(np.full(65, k, np.float32), np.full(65, k, np.float32), np.full((65, 65), k, np.float32)) for k in (1, 2)]
    bound, x, stop = run.bind(sets[0]), np.ones(65, np.float32), threading.Event()
    wrong = list[Any]()

    def serve() -> None:
        while not stop.is_set():
            first, second, third = bound(x)
            if len({float(first[0]), float(second[-1]), float(third[3]) / 65 + 1}) != 1:
                wrong.append((first[0], second[-1], third[3]))

    threads = [threading.Thread(target=serve) for _ in range(3)]
    for thread in threads:
        thread.start()
    for turn in range(200):
        bound.rebind(sets[turn % 2])
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong


def test_arrays_of_jax_and_dlpack_are_bound() -> None:
    class Lent:
        def __init__(self, array: Floats) -> None:
            self.array = array

        def __dlpack__(self, **_: object) -> object:
            return self.array.__dlpack__()

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.array.__dlpack_device__()

    run, x, params = compiled_network(), numbers(2, 5, 16), layers()
    wanted = jax.jit(network)(params, x, scale=2.0)
    of_jax = run.bind(jax.tree.map(jnp.asarray, params))(x, scale=2.0)
    equal(of_jax, wanted)
    assert isinstance(of_jax["y"], jax.Array)
    lent = run.bind(jax.tree.map(Lent, params))(x, scale=2.0)
    equal(lent, wanted)
    assert type(lent["y"]) is np.ndarray


def test_strided_weights_are_bound() -> None:
    run, x, params = compiled_network(), numbers(2, 5, 16), layers()
    turned = jax.tree.map(np.asfortranarray, params)
    equal(run.bind(turned)(x, scale=2.0), jax.jit(network)(params, x, scale=2.0))


def test_a_bound_array_fixes_the_sizes_that_it_has() -> None:
    run = compiled(lambda w, x, y: (x @ w, y * 2), spec(D, S), spec(B, D), spec(S))
    bound = run.bind(numbers(7, 3))
    found, _ = bound(numbers(4, 7), numbers(3))
    np.testing.assert_allclose(found, numbers(4, 7) @ numbers(7, 3), rtol=1e-5)
    with pytest.raises(RuntimeShapeError, match=r"args\[1\].shape\[1\] \(= 5\) and the specification 'd' \(= 7\)"):
        bound(numbers(4, 5), numbers(3))
    with pytest.raises(RuntimeShapeError, match=r"args\[0\]: found shape \(7, 4\), expected \(7, 3\), that of"):
        bound.rebind(numbers(7, 4))


def test_sizes_that_only_later_arguments_name_are_still_read_from_calls() -> None:
    run = compiled(lambda x, w: (x @ w).sum(0), spec(B, D), spec(D, S))
    with pytest.raises(ArgumentTypeError, match="the arguments have another structure"):
        run.bind(numbers(2, 3))()
    for b in (1, 5):
        x, w = numbers(b, 3), numbers(3, 2)
        np.testing.assert_allclose(run.bind(x)(w), (x @ w).sum(0), rtol=1e-5)


def test_an_element_of_a_bound_array_decides_sizes() -> None:
    text = """
    func.func @main(%n: tensor<i32>, %x: tensor<f32>) -> tensor<?xf32> {
      %shape = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
      %y = stablehlo.dynamic_broadcast_in_dim %x, %shape, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
      return %y : tensor<?xf32>
    }"""
    run = shlo_disc.compile(text, device="cpu")
    for n in (0, 5):
        (found,) = run.bind(np.array(n, np.int32))(np.float32(3))
        np.testing.assert_array_equal(found, np.full(n, 3, np.float32))


def test_flat_programs_bind_by_position() -> None:
    text = """
    func.func @main(%a: tensor<?xf32>, %b: tensor<?xf32>) -> tensor<?xf32> {
      %c = stablehlo.subtract %a, %b : tensor<?xf32>
      return %c : tensor<?xf32>
    }"""
    run = shlo_disc.compile(text, device="cpu")
    bound = run.bind(numbers(9))
    np.testing.assert_array_equal(bound(numbers(9, seed=1))[0], numbers(9) - numbers(9, seed=1))
    np.testing.assert_array_equal(run.bind(numbers(9), numbers(9))()[0], np.zeros(9, np.float32))
    np.testing.assert_array_equal(run.bind()(numbers(9), numbers(9))[0], np.zeros(9, np.float32))
    bound.rebind(numbers(9, seed=2))
    np.testing.assert_array_equal(bound(numbers(9))[0], numbers(9, seed=2) - numbers(9))
    with pytest.raises(ArgumentTypeError, match="found 3 arrays to bind, expected at most 2"):
        run.bind(numbers(9), numbers(9), numbers(9))
    with pytest.raises(ArgumentTypeError, match="found 2 arrays to bind, expected 1, as many as are bound"):
        bound.rebind(numbers(9), numbers(9))
    with pytest.raises(ArgumentTypeError, match="found 2 arrays, expected 1: argument 1"):
        bound(numbers(9), numbers(9))
    with pytest.raises(ArgumentTypeError, match="found the keyword arguments b, expected positional ones only"):
        run.bind(numbers(9), b=numbers(9))


def refusals() -> dict[str, Any]:
    params = layers()
    return {
        "found 3 positional arguments to bind, expected at most 2": lambda run: run.bind(params, 1, 2),
        "found the keyword argument factor to bind, expected one of scale": lambda run: run.bind(params, factor=1.0),
        r"missing: args\[0\]\['out'\]": lambda run: run.bind({"in": params["in"]}),
        r"args\[0\]\['out'\]: found dtype float64": lambda run: run.bind(params | {"out": np.ones((96, 80))}),
        r"args\[0\]\['out'\], dim 1: found size 79": lambda run: run.bind(params | {"out": numbers(96, 79)}),
        r"missing: kwargs\['scale'\]": lambda run: run.bind(params)(numbers(1, 1, 16)),
        r"extra: args\[2\]": lambda run: run.bind(params)(numbers(1, 1, 16), 1, scale=1.0),
        r"args\[1\], dim 2: found size 15, expected 16": lambda run: run.bind(params)(numbers(1, 1, 15), scale=1.0),
        r"args\[1\]: found rank 1": lambda run: run.bind(params)(numbers(16), scale=1.0),
    }


@pytest.mark.parametrize("message", list(refusals()))
def test_errors_name_the_arguments_of_the_function(message: str) -> None:
    with pytest.raises((ArgumentTypeError, RuntimeShapeError), match=message):
        refusals()[message](compiled_network())


def test_a_donated_argument_is_not_bound() -> None:
    program = exported(lambda x, y: x + y, spec(S), spec(S))
    run = shlo_disc.compile(program, donate=(0,))
    with pytest.raises(ArgumentTypeError, match=r"args\[0\]: found a donated argument, expected one that calls leave"):
        run.bind(numbers(5))
    last = shlo_disc.compile(program, donate=(1,))
    bound, y = last.bind(numbers(5)), numbers(5, seed=1)
    wanted = numbers(5) + y
    found = bound(y)
    np.testing.assert_array_equal(found, wanted)
    assert np.shares_memory(found, y)


def test_what_is_bound_is_no_donation_of_a_call() -> None:
    run = shlo_disc.compile(exported(lambda x, y: (x + y, x), spec(S), spec(S)), donate=(1,))
    x = numbers(5)
    bound = run.bind(x)
    np.testing.assert_array_equal(bound(x)[0], x + x)  # the same array: the call takes a copy
    np.testing.assert_array_equal(bound(x)[1], numbers(5))


@pytest.mark.parametrize("driver", ["c", "vm"])
def test_programs_in_partitions_are_bound(driver: Any) -> None:
    run = shlo_disc.compile(FILTERS, device="cpu", options=CompileOptions(driver=driver))
    for x, low, high in CALLS:
        for one, wanted in zip(run.bind(x, low)(high), filtered(x, low, high), strict=True):
            np.testing.assert_array_equal(one, wanted)
    bound = run.bind(*CALLS[9][:2])
    bound.rebind(CALLS[10][0], CALLS[10][1])
    for one, wanted in zip(bound(CALLS[10][2]), filtered(*CALLS[10]), strict=True):
        np.testing.assert_array_equal(one, wanted)
    with pytest.raises(ArgumentTypeError, match="found 2 arrays, expected 1: argument 2"):
        bound(*CALLS[10][1:])


LOOP = """
func.func @main(%w: tensor<4x4xf32>, %x: tensor<?x4xf32>, %n: tensor<i32>) -> tensor<?x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<?x4xf32>
  cond {
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %p = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
      : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %b = stablehlo.concatenate %a, %p, dim = 0 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    stablehlo.return %j, %b : tensor<i32>, tensor<?x4xf32>
  }
  return %r#1 : tensor<?x4xf32>
}"""


def grown(w: Floats, x: Floats, n: int) -> Floats:
    for _ in range(n):
        x = np.concatenate([x, x @ w])
    return x


def test_what_a_loop_of_changing_shapes_captures_is_bound() -> None:
    run, w = shlo_disc.compile(LOOP, device="cpu"), numbers(4, 4)
    bound = run.bind(w)
    for size in (0, 1, 5):
        for n in (0, 1, 3):
            (found,) = bound(numbers(size, 4), np.array(n, np.int32))
            np.testing.assert_allclose(found, grown(w, numbers(size, 4), n), rtol=1e-4, atol=1e-5)
    carried = run.bind(w, numbers(2, 4))
    (found,) = carried(np.array(2, np.int32))
    (again,) = carried(np.array(2, np.int32))
    np.testing.assert_allclose(found, grown(w, numbers(2, 4), 2), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found, again)


def test_a_gpu_keeps_what_is_bound() -> None:
    run = emulated(FILTERS, EmulatedDevice())
    for inputs in CALLS[1::7]:
        for one, wanted in zip(run.bind(*inputs[:2])(inputs[2]), filtered(*inputs), strict=True):
            np.testing.assert_array_equal(one, wanted)
    looped = emulated(LOOP, EmulatedDevice()).bind(numbers(4, 4))
    (found,) = looped(numbers(3, 4), np.array(2, np.int32))
    np.testing.assert_allclose(found, grown(numbers(4, 4), numbers(3, 4), 2), rtol=1e-4, atol=1e-5)
    assert looped.memory.given == looped.memory.kept == 64
    with pytest.raises(ArgumentTypeError, match="found 1 arrays, expected 2"):
        looped(numbers(3, 4))


def test_memory_and_text_say_what_is_bound() -> None:
    bound = compiled_network().bind(layers())
    given = 4 * (16 * 96 + 96 + 96 * 80)
    assert bound.memory.given == given
    assert repr(bound) == "<Bound jit_network(args[1], kwargs['scale']), 3 arguments bound>"
    assert bound.explain().startswith(f"bound: {given} bytes given, ")
