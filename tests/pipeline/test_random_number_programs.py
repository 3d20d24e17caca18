"""Random numbers: bit for bit those of XLA and JAX, at every size; `rng` as its distribution says."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc.diagnostics import UnsupportedOpError
from shlo_disc.pipeline import compile_for
from shlo_disc.runtime.cuda.backend import CudaBackend
from tests.emulator.device import EmulatedDevice
from tests.pipeline.exports import FAST, OPTIMIZED, In, Program, corners, program, verify

KEY = In("4", np.uint32, corners)
WORDS = In("2", np.uint64, corners)
WIDTHS: tuple[Any, ...] = (np.uint8, np.uint16, np.uint32, np.uint64)


def bits(algorithm: lax.RandomAlgorithm, rank: int) -> Any:
    """Draw every width in the shape of the second argument; which dim Threefry splits depends on the sizes."""

    def drawn(key: Any, x: Any) -> Any:
        state = key
        found = list[Any]()
        for width in WIDTHS:
            state, one = lax.rng_bit_generator(state, x.shape[:rank], width, algorithm)
            found.append(one)
        return (*found, state)

    return drawn


def distributions(implementation: str) -> Any:
    """Numbers that users draw; not those that need a `log` or an `erf_inv`, which differ in the last bits."""

    def drawn(data: Any, x: Any) -> Any:
        key = jax.random.wrap_key_data(data, impl=implementation)
        first, second = jax.random.split(key)
        return (
            jax.random.bits(first, x.shape), jax.random.uniform(second, x.shape, minval=-1), jax.random.randint(
                jax.random.fold_in(key, 7), x.shape, -5, 90), jax.random.bernoulli(first, 0.3, x.shape),
            jax.random.key_data(jax.random.split(key, x.shape[0])),
        )  # fmt: skip

    return drawn


PROGRAMS: tuple[Program, ...] = (
    program("threefry bits", bits(lax.RandomAlgorithm.RNG_THREE_FRY, 2), WORDS, In("b - 1, s"), wide=True, draws=5),
    program("philox bits", bits(lax.RandomAlgorithm.RNG_PHILOX, 3), WORDS, In("b - 1, s, 3"), wide=True, draws=3),
    program("threefry", distributions("threefry2x32"), In("2", np.uint32, corners), In("b, s"), draws=2),
    program("rbg", distributions("rbg"), KEY, In("b, s"), draws=2),
    program("unsafe rbg", distributions("unsafe_rbg"), KEY, In("b, s"), draws=2),
)


@pytest.mark.parametrize("one", PROGRAMS, ids=lambda one: one.name)
def test_numbers_are_those_of_jax(one: Program) -> None:
    verify(one)


RNG = """func.func @main(%x: tensor<?xf32>) -> (RESULTS) {
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %sizes = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
BODY
  return VALUES : RESULTS
}"""


def rng(*draws: tuple[str, str, str, str]) -> str:
    """A program that draws `(type, distribution, a, b)` as often as its argument has elements."""
    lines = list[str]()
    for k, (dtype, distribution, a, b) in enumerate(draws):
        lines += [
            f"  %{name}{k} = stablehlo.constant dense<{x}> : tensor<{dtype}>"
            for name, x in zip("ab", (a, b), strict=True)
        ]
        scalars = f"tensor<{dtype}>, tensor<{dtype}>, tensor<1xi32>"
        lines.append(
            f"  %r{k} = stablehlo.rng %a{k}, %b{k}, %sizes, distribution = {distribution} : "
            f"({scalars}) -> tensor<?x{dtype}>"
        )
    values = ", ".join(f"%r{k}" for k in range(len(draws)))
    results = ", ".join(f"tensor<?x{one[0]}>" for one in draws)
    return RNG.replace("RESULTS", results).replace("BODY", "\n".join(lines)).replace("VALUES", values)


def test_rng_draws_what_it_says() -> None:
    draws = (
        ("f32", "UNIFORM", "-2.0", "6.0"), ("f32", "UNIFORM", "-2.0", "6.0"), ("f64", "NORMAL", "3.0", "2.0"),
        ("f16", "NORMAL", "-1.0", "0.5"), ("bf16", "UNIFORM", "0.0", "1.0"), ("i32", "UNIFORM", "-3", "9"),
        ("ui8", "UNIFORM", "250", "255"), ("i64", "UNIFORM", "-9223372036854775808", "9223372036854775807"),
        ("f32", "NORMAL", "0.0", "1.0"),
    )  # fmt: skip
    run = shlo_disc.compile(rng(*draws), options=OPTIMIZED)
    count = 200_000
    first = [np.asarray(x).astype(np.float64) for x in run(np.zeros(count, np.float32))]
    again = [np.asarray(x).astype(np.float64) for x in run(np.zeros(count, np.float32))]
    for x, y in zip(first, again, strict=True):
        np.testing.assert_array_equal(x, y)  # a program draws the same numbers at every call
    assert not np.array_equal(first[0], first[1])
    means = (2.0, 2.0, 3.0, -1.0, 0.5, 2.5, 252.0)
    deviations = (8 / 12**0.5, 8 / 12**0.5, 2.0, 0.5, 12**-0.5, (143 / 12) ** 0.5, 2**0.5)
    for x, mean, deviation in zip(first, means, deviations, strict=False):
        assert abs(x.mean() - mean) < 5 * deviation / count**0.5 + 0.004  # bf16 has 7 bits: their mean is 1/256 low
        assert abs(x.std() / deviation - 1) < 0.01
    assert (first[5].min(), first[5].max()) == (-3, 8)
    assert (first[6].min(), first[6].max()) == (250, 254)
    assert abs(np.mean(first[7] > 0) - 0.5) < 0.01
    normal = first[8]
    assert abs((normal**3).mean()) < 0.03
    assert abs((normal**4).mean() - 3) < 0.1
    assert abs(np.mean(np.abs(normal) < 1) - 0.6827) < 0.005
    assert abs(np.corrcoef(first[2], first[8])[0, 1]) < 0.01
    assert [x.size for x in run(np.zeros(0, np.float32))] == [0] * len(draws)


WHOLE = "tensor<i64>, tensor<i64>, tensor<0xi64>"
LOOPS = """
func.func private @drawn(%a: tensor<i64>, %b: tensor<i64>, %s: tensor<0xi64>) -> tensor<i64> {
  %d = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (SCALARS) -> tensor<i64>
  return %d : tensor<i64>
}
func.func @main(%n: tensor<i32>, %m: tensor<i32>) -> (tensor<?x3xi64>, tensor<i64>, tensor<4xi64>) {
  %a = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
  %b = stablehlo.constant dense<9223372036854775807> : tensor<i64>
  %s = stablehlo.constant dense<> : tensor<0xi64>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %nothing = stablehlo.constant dense<0> : tensor<i64>
  %before = func.call @drawn(%a, %b, %s) : (SCALARS) -> tensor<i64>
  %count = stablehlo.multiply %n, %m : tensor<i32>
  %rows = stablehlo.reshape %count : (tensor<i32>) -> tensor<1xi32>
  %three = stablehlo.constant dense<3> : tensor<1xi32>
  %shape = stablehlo.concatenate %rows, %three, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %empty = stablehlo.dynamic_broadcast_in_dim %nothing, %shape, dims = [] :
    (tensor<i64>, tensor<2xi32>) -> tensor<?x3xi64>
  %r:2 = stablehlo.while(%i = %zero, %x = %empty) : tensor<i32>, tensor<?x3xi64>
    cond { %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }
    do {
      %odd = stablehlo.remainder %i, %two : tensor<i32>
      %y = "stablehlo.case"(%odd) ({
        %w:2 = stablehlo.while(%j = %zero, %t = %x) : tensor<i32>, tensor<?x3xi64>
          cond { %c = stablehlo.compare LT, %j, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %c : tensor<i1> }
          do {
            %first = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (SCALARS) -> tensor<i64>
            %second = func.call @drawn(%a, %b, %s) : (SCALARS) -> tensor<i64>
            %third = func.call @drawn(%a, %b, %s) : (SCALARS) -> tensor<i64>
            %k0 = stablehlo.reshape %first : (tensor<i64>) -> tensor<1x1xi64>
            %k1 = stablehlo.reshape %second : (tensor<i64>) -> tensor<1x1xi64>
            %k2 = stablehlo.reshape %third : (tensor<i64>) -> tensor<1x1xi64>
            %row = stablehlo.concatenate %k0, %k1, %k2, dim = 1 :
              (tensor<1x1xi64>, tensor<1x1xi64>, tensor<1x1xi64>) -> tensor<1x3xi64>
            %p = stablehlo.multiply %i, %m : tensor<i32>
            %q = stablehlo.add %p, %j : tensor<i32>
            %u = stablehlo.dynamic_update_slice %t, %row, %q, %zero :
              (tensor<?x3xi64>, tensor<1x3xi64>, tensor<i32>, tensor<i32>) -> tensor<?x3xi64>
            %j1 = stablehlo.add %j, %one : tensor<i32>
            stablehlo.return %j1, %u : tensor<i32>, tensor<?x3xi64>
          }
        stablehlo.return %w#1 : tensor<?x3xi64>
      }, {
        %d = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (SCALARS) -> tensor<i64>
        %row = stablehlo.broadcast_in_dim %d, dims = [] : (tensor<i64>) -> tensor<1x3xi64>
        %p = stablehlo.multiply %i, %m : tensor<i32>
        %u = stablehlo.dynamic_update_slice %x, %row, %p, %zero :
          (tensor<?x3xi64>, tensor<1x3xi64>, tensor<i32>, tensor<i32>) -> tensor<?x3xi64>
        stablehlo.return %u : tensor<?x3xi64>
      }) : (tensor<i32>) -> tensor<?x3xi64>
      %next = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %next, %y : tensor<i32>, tensor<?x3xi64> }
  %turns = stablehlo.iota dim = 0 : tensor<4xi64>
  %scanned:2 = "chlo.scan"(%turns, %nothing) <{dimension = 0 : i64, is_reverse = false,
      operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%t: tensor<i64>, %carry: tensor<i64>):
      %d = stablehlo.rng %a, %b, %s, distribution = UNIFORM : (SCALARS) -> tensor<i64>
      stablehlo.return %d, %carry : tensor<i64>, tensor<i64>
    }) : (tensor<4xi64>, tensor<i64>) -> (tensor<4xi64>, tensor<i64>)
  return %r#1, %before, %scanned#0 : tensor<?x3xi64>, tensor<i64>, tensor<4xi64>
}""".replace("SCALARS", WHOLE)


def test_rng_in_loops_differs_from_turn_to_turn() -> None:
    """In loops in branches of loops, in calls, and in a scan; with sizes that the arguments hold."""
    made: tuple[Any, ...] = (
        shlo_disc.compile(LOOPS, device="cpu", options=FAST),
        shlo_disc.compile(LOOPS, device="cpu", options=replace(FAST, driver="vm")),
        compile_for(CudaBackend(EmulatedDevice()), LOOPS, FAST),
    )
    for n, m in ((1, 1), (0, 3), (5, 7)):
        sizes = np.int32(n), np.int32(m)
        table, before, scanned = map(np.asarray, made[0](*sizes))
        for run in made:
            for found, wanted in zip(run(*sizes), (table, before, scanned), strict=True):
                np.testing.assert_array_equal(found, wanted)  # at every call, by both drivers, on a GPU
        looped = [table[i * m : (i + 1) * m].ravel() for i in range(0, n, 2)]
        single = [table[i * m : i * m + 1] for i in range(1, n, 2)]
        assert all((row == row[0, 0]).all() for row in single)
        numbers = np.concatenate([*looped, *(row[0, :1] for row in single), before.ravel(), scanned])
        assert len(set(numbers.tolist())) == numbers.size


def test_rng_in_a_loop_is_uniform() -> None:
    text = """func.func @main(%n: tensor<i32>) -> (tensor<f32>, tensor<f32>) {
  %a = stablehlo.constant dense<0.0> : tensor<f32>
  %b = stablehlo.constant dense<1.0> : tensor<f32>
  %s = stablehlo.constant dense<> : tensor<0xi64>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %x = %a, %q = %a) : tensor<i32>, tensor<f32>, tensor<f32>
    cond { %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }
    do { %d = stablehlo.rng %a, %b, %s, distribution = UNIFORM :
        (tensor<f32>, tensor<f32>, tensor<0xi64>) -> tensor<f32>
      %y = stablehlo.add %x, %d : tensor<f32>
      %dd = stablehlo.multiply %d, %d : tensor<f32>
      %p = stablehlo.add %q, %dd : tensor<f32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %y, %p : tensor<i32>, tensor<f32>, tensor<f32> }
  return %r#1, %r#2 : tensor<f32>, tensor<f32>
}"""
    turns = 10_000
    total, squares = shlo_disc.compile(text, device="cpu", options=FAST)(np.int32(turns))
    assert abs(total / turns - 1 / 2) < 5 * (1 / 12 / turns) ** 0.5
    assert abs(squares / turns - 1 / 3) < 5 * (4 / 45 / turns) ** 0.5


def test_rng_in_a_reduction_is_refused() -> None:
    scalars = "(tensor<f32>, tensor<f32>, tensor<0xi64>) -> tensor<f32>"
    text = f"""func.func @main(%x: tensor<4xf32>, %s: tensor<0xi64>) -> tensor<f32> {{
  %a = stablehlo.constant dense<0.0> : tensor<f32>
  %r:2 = stablehlo.while(%i = %x, %v = %a) : tensor<4xf32>, tensor<f32>
    cond {{ %c = stablehlo.compare LT, %v, %a : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1> }}
    do {{ %d = stablehlo.reduce(%i init: %a) across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
        reducer(%p: tensor<f32>, %q: tensor<f32>) {{
          %e = stablehlo.rng %p, %q, %s, distribution = UNIFORM : {scalars}
          stablehlo.return %e : tensor<f32> }}
      stablehlo.return %i, %d : tensor<4xf32>, tensor<f32> }}
  return %r#1 : tensor<f32>
}}"""
    with pytest.raises(UnsupportedOpError, match="draws random numbers in a region without an order"):
        shlo_disc.compile(text, device="cpu")
