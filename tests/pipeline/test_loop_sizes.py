"""Sizes that loops and branches compute, and carried shapes that change: against NumPy and the interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.artifact import Loop
from shlo_disc.diagnostics import RuntimeShapeError, ShloDiscError
from tests.emulator.device import EmulatedDevice
from tests.emulator.run import compiled, emulate
from tests.pipeline.test_partitions import COUNT, TAKE, kept_first
from tests.pipeline.test_unbacked_dims import run_all

Array = NDArray[Any]

# Every turn appends a line of a length of its own; the number of turns is computed, and carried as it is.
GROWS = """
func.func @main(%x: tensor<?xf32>, %n: tensor<i32>) -> (tensor<?xf32>, tensor<i32>, tensor<?xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %turns = stablehlo.maximum %n, %zero : tensor<i32>
  %r:3 = stablehlo.while(%m = %turns, %i = %zero, %a = %x) : tensor<i32>, tensor<i32>, tensor<?xf32>
  cond {
    %more = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %j = stablehlo.add %i, %one : tensor<i32>
    %shape = stablehlo.reshape %j : (tensor<i32>) -> tensor<1xi32>
    %line = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
    %b = stablehlo.concatenate %a, %line, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    stablehlo.return %m, %j, %b : tensor<i32>, tensor<i32>, tensor<?xf32>
  }
  %twice = stablehlo.add %r#2, %r#2 : tensor<?xf32>
  return %r#2, %r#1, %twice : tensor<?xf32>, tensor<i32>, tensor<?xf32>
}"""


def grown(x: Array, n: int) -> Array:
    return np.concatenate([x, *(np.arange(k + 1, dtype=np.float32) for k in range(n))])


def test_a_carried_value_grows() -> None:
    calls = [(np.ones(size, np.float32), np.array(n, np.int32)) for size in (0, 3) for n in (-1, 0, 1, 4)]
    for (x, n), (found, turns, twice) in zip(calls, run_all(GROWS, calls), strict=True):
        wanted = grown(x, int(n))
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(twice, 2 * wanted)
        assert turns == max(0, n)
        assert not np.shares_memory(found, x)
    for x, n in calls[1::3]:
        for one, wanted in zip(emulate(GROWS, (x, n))[:1], [grown(x, int(n))], strict=True):
            np.testing.assert_array_equal(one, wanted)


def test_memory_is_foretold_by_the_sizes_of_the_worst_turn() -> None:
    run = shlo_disc.compile(GROWS, device="cpu")
    for size, n in ((0, 0), (3, 4), (100, 20), (1000, 3)):
        used = run.executable.arena_bytes([np.ones(size, np.float32), np.array(n, np.int32)])
        turn = {"t0": size + n * (n - 1) // 2, "t1": n - 1} if n else {"t0": 0, "t1": 0}
        foretold = run.peak_memory(s0=size, v0=size + n * (n + 1) // 2, **turn)
        assert used == foretold if n else used <= foretold
    largest = run.max_size("t0", budget="1MiB", s0=100, v0=100, t1=10)
    assert run.peak_memory(s0=100, v0=100, t0=largest, t1=10) <= 1 << 20
    assert run.peak_memory(s0=100, v0=100, t0=largest + 1, t1=10) > 1 << 20
    assert {str(size) for size in run.peak_formula.free_symbols} == {"t0", "t1"}


# The sieve of Eratosthenes: what is left shrinks from turn to turn, until the next prime's square is too large.
SIEVE = (
    """
func.func @main(%limit: tensor<i32>) -> (tensor<?xi32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %many = stablehlo.subtract %limit, %one : tensor<i32>
  %shape = stablehlo.reshape %many : (tensor<i32>) -> tensor<1xi32>
  %line = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
  %twos = stablehlo.dynamic_broadcast_in_dim %two, %shape, dims = [] : (tensor<i32>, tensor<1xi32>) -> tensor<?xi32>
  %all = stablehlo.add %line, %twos : tensor<?xi32>
  %r:2 = stablehlo.while(%k = %zero, %left = %all) : tensor<i32>, tensor<?xi32>
  cond {
    %p1 = stablehlo.dynamic_slice %left, %k, sizes = [1] : (tensor<?xi32>, tensor<i32>) -> tensor<1xi32>
    %p = stablehlo.reshape %p1 : (tensor<1xi32>) -> tensor<i32>
    %square = stablehlo.multiply %p, %p : tensor<i32>
    %more = stablehlo.compare LE, %square, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %p1 = stablehlo.dynamic_slice %left, %k, sizes = [1] : (tensor<?xi32>, tensor<i32>) -> tensor<1xi32>
    %size = stablehlo.get_dimension_size %left, dim = 0 : (tensor<?xi32>) -> tensor<i32>
    %size1 = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %ps = stablehlo.dynamic_broadcast_in_dim %p1, %size1, dims = [0]
      : (tensor<1xi32>, tensor<1xi32>) -> tensor<?xi32>
    %nothing = stablehlo.dynamic_broadcast_in_dim %zero, %size1, dims = []
      : (tensor<i32>, tensor<1xi32>) -> tensor<?xi32>
    %rest = stablehlo.remainder %left, %ps : tensor<?xi32>
    %apart = stablehlo.compare NE, %rest, %nothing : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
    %same = stablehlo.compare EQ, %left, %ps : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi1>
    %mask = stablehlo.or %apart, %same : tensor<?xi1>
"""
    + COUNT.format(name="count", mask="mask")
    + kept_first("sorted", "mask", "left").replace("f32", "i32")
    + TAKE.format(name="after", x="sorted", count="count_1", dtype="i32")
    + """
    %next = stablehlo.add %k, %one : tensor<i32>
    stablehlo.return %next, %after : tensor<i32>, tensor<?xi32>
  }
  return %r#1, %r#0 : tensor<?xi32>, tensor<i32>
}"""
)


def primes(limit: int) -> Array:
    return np.array([n for n in range(2, limit + 1) if all(n % k for k in range(2, int(n**0.5) + 1))], np.int32)


def test_a_sieve_leaves_the_primes() -> None:
    calls = [(np.array(limit, np.int32),) for limit in (2, 3, 30, 200)]
    for (limit,), (found, turns) in zip(calls, run_all(SIEVE, calls), strict=True):
        np.testing.assert_array_equal(found, primes(int(limit)))
        assert turns == len(primes(int(int(limit) ** 0.5)))
    np.testing.assert_array_equal(emulate(SIEVE, (np.array(50, np.int32),))[0], primes(50))


# A loop in a loop in a function that is called twice, with a loop beside it that needs no sizes.
NESTED = """
func.func private @pyramid(%x: tensor<?x2xf32>, %n: tensor<i32>) -> (tensor<?x2xf32>, tensor<i32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %a = %x, %sum = %zero) : tensor<i32>, tensor<?x2xf32>, tensor<i32>
  cond {
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %s:2 = stablehlo.while(%j = %zero, %b = %a) : tensor<i32>, tensor<?x2xf32>
    cond {
      %more = stablehlo.compare LT, %j, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %c = stablehlo.concatenate %b, %x, dim = 0 : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<?x2xf32>
      %next = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %next, %c : tensor<i32>, tensor<?x2xf32>
    }
    %t:2 = stablehlo.while(%j = %i, %acc = %sum) : tensor<i32>, tensor<i32>
    cond {
      %more = stablehlo.compare GT, %j, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %more : tensor<i1>
    } do {
      %less = stablehlo.subtract %j, %one : tensor<i32>
      %more = stablehlo.add %acc, %j : tensor<i32>
      stablehlo.return %less, %more : tensor<i32>, tensor<i32>
    }
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %s#1, %t#1 : tensor<i32>, tensor<?x2xf32>, tensor<i32>
  }
  return %r#1, %r#2 : tensor<?x2xf32>, tensor<i32>
}
func.func @main(%x: tensor<?x2xf32>, %n: tensor<i32>) -> (tensor<?x2xf32>, tensor<i32>, tensor<?x2xf32>) {
  %a:2 = func.call @pyramid(%x, %n) : (tensor<?x2xf32>, tensor<i32>) -> (tensor<?x2xf32>, tensor<i32>)
  %b:2 = func.call @pyramid(%a#0, %n) : (tensor<?x2xf32>, tensor<i32>) -> (tensor<?x2xf32>, tensor<i32>)
  return %a#0, %b#1, %b#0 : tensor<?x2xf32>, tensor<i32>, tensor<?x2xf32>
}"""


def pyramid(x: Array, n: int) -> Array:
    return np.concatenate([x] * (1 + n * (n - 1) // 2))


def test_loops_in_loops_in_functions() -> None:
    calls = [
        (np.arange(2 * size, dtype=np.float32).reshape(-1, 2), np.array(n, np.int32))
        for size in (0, 2)
        for n in (0, 1, 3)
    ]
    for (x, n), (first, total, second) in zip(calls, run_all(NESTED, calls), strict=True):
        np.testing.assert_array_equal(first, pyramid(x, int(n)))
        np.testing.assert_array_equal(second, pyramid(pyramid(x, int(n)), int(n)))
        assert total == sum(i * (i + 1) // 2 for i in range(int(n)))


# A branch that computes a size for itself, in a loop, and one whose demand holds for some calls only.
BRANCHES = (
    """
func.func @main(%x: tensor<?xf32>, %k: tensor<i32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %a = %x) : tensor<i32>, tensor<?xf32>
  cond {
    %more = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %b = "stablehlo.case"(%i) ({
      stablehlo.return %a : tensor<?xf32>
    }, {
      %twice = stablehlo.multiply %k, %k : tensor<i32>
      %shape = stablehlo.reshape %twice : (tensor<i32>) -> tensor<1xi32>
      %line = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
      stablehlo.return %line : tensor<?xf32>
    }, {
      %c = stablehlo.concatenate %a, %x, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
      stablehlo.return %c : tensor<?xf32>
    }) : (tensor<i32>) -> tensor<?xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %b : tensor<i32>, tensor<?xf32>
  }
  %large = stablehlo.compare GT, %k, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %d = "stablehlo.if"(%large) ({
    %starts = stablehlo.constant dense<0> : tensor<1xi32>
    %two = stablehlo.constant dense<1> : tensor<1xi32>
    %sum = stablehlo.reduce(%r#1 init: %f) applies stablehlo.add across dimensions = [0]
      : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
    %whole = stablehlo.convert %sum : (tensor<f32>) -> tensor<1xi32>
    %part = stablehlo.real_dynamic_slice %r#1, %starts, %whole, %two
      : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
    stablehlo.return %part : tensor<?xf32>
  }, {
    %e = stablehlo.negate %r#1 : tensor<?xf32>
    stablehlo.return %e : tensor<?xf32>
  }) : (tensor<i1>) -> tensor<?xf32>
  return %r#1, %d : tensor<?xf32>, tensor<?xf32>
}""".replace("  %three =", "  %f = stablehlo.constant dense<0.0> : tensor<f32>\n  %three =", 1)
    .replace(
        "(tensor<f32>) -> tensor<1xi32>",
        "(tensor<f32>) -> tensor<i32>\n    %whole1 = stablehlo.reshape %whole : (tensor<i32>) -> tensor<1xi32>",
    )
    .replace("%starts, %whole,", "%starts, %whole1,")
)


def test_branches_that_compute_sizes_and_only_the_one_that_runs_is_checked() -> None:
    calls = [(-np.ones(5, np.float32), np.array(k, np.int32)) for k in (0, 1, 2, 3)]
    for (x, k), (found, other) in zip(calls, run_all(BRANCHES, calls), strict=True):
        wanted = np.concatenate([np.arange(int(k) ** 2, dtype=np.float32), x])
        np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(other, -wanted)
    run = shlo_disc.compile(BRANCHES, device="cpu")
    x, k = np.zeros(2, np.float32), np.array(4, np.int32)
    with pytest.raises(RuntimeShapeError, match="in branch 1 at <string>:2") as caught:
        run(x, k)
    assert "found 18 and 120" in str(caught.value)
    for one, wanted in zip(emulate(BRANCHES, calls[2]), run(*calls[2]), strict=True):
        np.testing.assert_array_equal(one, wanted)


# The size is what is carried, and the buffer doubles in place of the one before; a broken demand names the turn.
COUNTDOWN = """
func.func @main(%n: tensor<i32>) -> tensor<i32> {
  %0 = stablehlo.while(%i = %n) : tensor<i32>
  cond {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %more = stablehlo.compare NE, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %shape = stablehlo.reshape %i : (tensor<i32>) -> tensor<1xi32>
    %line = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>
    %sum = stablehlo.reduce(%line init: %zero) applies stablehlo.maximum across dimensions = [0]
      : (tensor<?xi32>, tensor<i32>) -> tensor<i32>
    %less = stablehlo.subtract %sum, %two : tensor<i32>
    stablehlo.return %less : tensor<i32>
  }
  return %0 : tensor<i32>
}"""


def test_what_is_said_of_loops(tmp_path: Path) -> None:
    run = shlo_disc.compile(COUNTDOWN, device="cpu")
    assert run(9) == (0,)  # 9, 6, 3, 0
    assert run(0) == (0,)
    with pytest.raises(RuntimeShapeError) as caught:
        run(np.array(10, np.int32))  # 10, 7, 4, 1, -2
    assert str(caught.value).splitlines() == [
        "the result of stablehlo.dynamic_iota has no negative sizes: found -2 and 0, expected i >= 0",
        "  found i = -2, expected >= 0",
        "  where i is the value of %i",
        "  demanded at <string>:12:13",
        "      %line = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>",
        "              ^^^^^^^^^^^^^^^^^^^^^^",
        "  in iteration 5 of the loop at <string>:3:8",
    ]
    text = run.explain()
    assert "\npartition 1, body of the loop at <string>:3:8\n" in text
    run.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().count("<iframe") == len(run.executable.artifact.parts)
    assert "  t0: the value of %i in an iteration of the loop at <string>:3:8" in text
    assert run.peak_memory(t0=9) == run.executable.arena_bytes([np.array(9, np.int32)])
    with pytest.raises(ShloDiscError, match="found no value of t0"):
        run.peak_memory()
    seen = list[object]()
    run.executable.trace([np.array(9, np.int32)], lambda step, _buffers: seen.append(step))
    assert len(seen) > 3


# What every turn appends has a size that is computed before the loop; another carried value keeps its shape.
APPENDS = """
func.func @main(%x: tensor<?xf32>, %n: tensor<i32>, %m: tensor<i32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %size = stablehlo.multiply %m, %m : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %a = %x, %b = %x) : tensor<i32>, tensor<?xf32>, tensor<?xf32>
  cond {
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %shape = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
    %line = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
    %c = stablehlo.concatenate %a, %line, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    %d = stablehlo.multiply %b, %b : tensor<?xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %c, %d : tensor<i32>, tensor<?xf32>, tensor<?xf32>
  }
  return %r#1, %r#2 : tensor<?xf32>, tensor<?xf32>
}"""


class _Counting(EmulatedDevice):
    downloads = 0

    def download(self, pointer: int, size: int) -> bytes:
        self.downloads += 1
        return super().download(pointer, size)


def test_a_turn_on_a_gpu_waits_for_its_predicate_alone() -> None:
    device = _Counting()
    run = compiled(APPENDS, device)
    x, m, waited = np.array([2, 3], np.float32), np.array(2, np.int32), list[int]()
    for turns in (1, 2, 3):
        before = device.downloads
        longer, squared = run.executable(tuple(map(device.array, (x, np.array(turns, np.int32), m))))
        waited.append(device.downloads - before)
        np.testing.assert_array_equal(longer, np.concatenate([x, *[np.arange(4, dtype=np.float32)] * turns]))
        np.testing.assert_array_equal(squared, x ** (2**turns))
    assert np.diff(waited).tolist() == [1, 1]


def test_a_turn_overwrites_what_the_one_before_left() -> None:
    run = shlo_disc.compile(APPENDS, device="cpu")
    x, m = np.full(1000, 1, np.float32), np.array(2, np.int32)
    (loop,) = [one.runs for one in run.executable.artifact.partitions if isinstance(one.runs, Loop)]
    assert any(donation.argument == 2 for donation in loop.body.artifact.donations)  # %b
    kept = x.copy()
    _, squared = run(x, np.array(3, np.int32), m)
    np.testing.assert_array_equal(x, kept)
    assert not np.shares_memory(squared, x)
