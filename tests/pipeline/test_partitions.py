"""Sizes that a program computes: its partitions, against NumPy, the reference interpreter, and both host programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.diagnostics import ArgumentTypeError, RuntimeShapeError
from shlo_disc.options import CompileOptions
from tests.emulator.run import emulate
from tests.pipeline.test_unbacked_dims import run_all

Array = NDArray[Any]

COUNT = """
  %{name}_zero = stablehlo.constant dense<0> : tensor<i32>
  %{name}_ones = stablehlo.convert %{mask} : (tensor<?xi1>) -> tensor<?xi32>
  %{name} = stablehlo.reduce(%{name}_ones init: %{name}_zero) applies stablehlo.add across dimensions = [0]
    : (tensor<?xi32>, tensor<i32>) -> tensor<i32>
  %{name}_1 = stablehlo.reshape %{name} : (tensor<i32>) -> tensor<1xi32>
"""
TAKE = """
  %{name}_zero = stablehlo.constant dense<0> : tensor<1xi32>
  %{name}_one = stablehlo.constant dense<1> : tensor<1xi32>
  %{name} = stablehlo.real_dynamic_slice %{x}, %{name}_zero, %{count}, %{name}_one
    : (tensor<?x{dtype}>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?x{dtype}>
"""


def kept_first(name: str, mask: str, x: str) -> str:
    """The elements of `x` where `mask` holds, in front of the others."""
    return f"""
  %{name}_keys = stablehlo.not %{mask} : tensor<?xi1>
  %{name}_both:2 = "stablehlo.sort"(%{name}_keys, %{x}) <{{dimension = 0 : i64, is_stable = true}}> ({{
    ^bb0(%a: tensor<i1>, %b: tensor<i1>, %c: tensor<f32>, %d: tensor<f32>):
      %less = stablehlo.compare LT, %a, %b : (tensor<i1>, tensor<i1>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
  }}) : (tensor<?xi1>, tensor<?xf32>) -> (tensor<?xi1>, tensor<?xf32>)
  %{name} = stablehlo.optimization_barrier %{name}_both#1 : tensor<?xf32>
"""


def compare(name: str, direction: str, x: str, bound: str) -> str:
    return f"""
  %{name}_size = stablehlo.get_dimension_size %{x}, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %{name}_shape = stablehlo.reshape %{name}_size : (tensor<i32>) -> tensor<1xi32>
  %{name}_bound = stablehlo.dynamic_broadcast_in_dim %{bound}, %{name}_shape, dims = []
    : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
  %{name} = stablehlo.compare {direction}, %{x}, %{name}_bound : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xi1>
"""


FILTERS = (
    "func.func @main(%x: tensor<?xf32>, %low: tensor<f32>, %high: tensor<f32>)"
    " -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<i32>) {"
    + compare("above", "GT", "x", "low")
    + COUNT.format(name="many", mask="above")
    + kept_first("first", "above", "x")
    + TAKE.format(name="kept", x="first", count="many_1", dtype="f32")
    + compare("below", "LT", "kept", "high")
    + COUNT.format(name="few", mask="below")
    + kept_first("second", "below", "kept")
    + TAKE.format(name="left", x="second", count="few_1", dtype="f32")
    + """
  %both = stablehlo.concatenate %left, %kept, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %doubled = stablehlo.add %both, %both : tensor<?xf32>
  return %left, %doubled, %left, %x, %many : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<i32>
}"""
)
SIZES = (0, 1, 2, 17, 64, 1000)


def numbers(size: int) -> Array:
    return np.random.default_rng(size).standard_normal(size, dtype=np.float32)


def filtered(x: Array, low: Array, high: Array) -> Sequence[Array]:
    kept = x[x > low]
    left = kept[kept < high]
    return left, 2 * np.concatenate([left, kept]), left, x, np.array(len(kept), np.int32)


BOUNDS = [(-0.5, 0.5), (9.0, 9.5), (-9.0, 9.0), (0.0, -1.0)]
CALLS = [
    (numbers(size), np.array(low, np.float32), np.array(high, np.float32)) for size in SIZES for low, high in BOUNDS
]


def test_one_filter_after_the_other_leaves_what_numpy_leaves() -> None:
    for inputs, found in zip(CALLS, run_all(FILTERS, CALLS), strict=True):
        for one, wanted in zip(found, filtered(*inputs), strict=True):
            np.testing.assert_array_equal(one, wanted)


def test_results_are_arrays_of_their_own() -> None:
    x = numbers(64)
    kept, _, again, same, _ = shlo_disc.compile(FILTERS, device="cpu")(
        x, np.array(-1, np.float32), np.array(1, np.float32)
    )
    assert kept.size
    assert not np.shares_memory(kept, again)
    assert not np.shares_memory(same, x)


def test_a_gpu_does_the_same() -> None:
    for inputs in CALLS[1::5]:
        for one, wanted in zip(emulate(FILTERS, inputs), filtered(*inputs), strict=True):
            np.testing.assert_array_equal(one, wanted)


def test_a_step_is_seen_in_its_partition_and_memory_is_as_foretold() -> None:
    run = shlo_disc.compile(FILTERS, device="cpu")
    seen = list[object]()
    inputs = CALLS[-4]
    traced = run.executable.trace(inputs, lambda step, buffers: seen.append((step, len(buffers))))
    for one, wanted in zip(traced, filtered(*inputs), strict=True):
        np.testing.assert_array_equal(one, wanted)
    assert len(seen) > 3
    kept = filtered(*inputs)
    sizes = {"s0": len(inputs[0]), "v0": int(kept[-1]), "v1": len(kept[0])}
    assert run.executable.artifact.free == tuple(sizes)
    assert run.peak_memory(**sizes) == run.executable.arena_bytes(inputs) > 0
    assert {str(symbol) for symbol in run.peak_formula.free_symbols} <= sizes.keys()
    assert run.max_size("s0", budget=run.peak_memory(**sizes), v0=0, v1=0) >= sizes["s0"]
    assert repr(run).endswith("-> (float32[v1], float32[v0 + v1], float32[v1], float32[s0], int32[])>")


def test_what_is_said_of_it_names_what_is_read(tmp_path: Path) -> None:
    run = shlo_disc.compile(FILTERS, device="cpu")
    text = run.explain()
    assert "  v0: the value of %many\n  v1: the value of %few\n" in text
    assert re.findall("^partition .*", text, re.MULTILINE) == ["partition 0", "partition 1", "partition 2"] * 3
    run.report(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().count("<iframe") == 3


SIZED = """
func.func @main(%x: tensor<?x3xi64>) -> tensor<?x?xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %n = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<?x3xi64>, tensor<i64>) -> tensor<3xi64>
  %rows = stablehlo.slice %n [0:1] : (tensor<3xi64>) -> tensor<1xi64>
  %columns = stablehlo.slice %n [2:3] : (tensor<3xi64>) -> tensor<1xi64>
  %shape = stablehlo.concatenate %rows, %columns, dim = 0 : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
  %narrow = stablehlo.convert %shape : (tensor<2xi64>) -> tensor<2xi32>
  %0 = stablehlo.dynamic_iota %narrow, dim = 1 : (tensor<2xi32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}"""


@pytest.mark.parametrize("driver", ["c", "vm"])
def test_a_negative_or_overflowing_size_names_the_op_and_the_line(driver: Any) -> None:
    run = shlo_disc.compile(SIZED, device="cpu", options=CompileOptions(driver=driver))
    assert run(np.array([[1, 9, 2], [1, 9, 3]]))[0].shape == (2, 5)
    with pytest.raises(RuntimeShapeError) as caught:
        run(np.array([[1, 9, -2]]))
    assert str(caught.value).splitlines()[:4] == [
        "the result of stablehlo.dynamic_iota has no negative sizes: found -2 and 0, expected v1 >= 0",
        "  found v1 = -2, expected >= 0",
        "  where v1 is element 2 of %n",
        "  demanded at <string>:10:8",
    ]
    with pytest.raises(
        RuntimeShapeError, match=r"stablehlo.convert computes does not overflow i32: found .* and 4294967296"
    ):
        run(np.array([[1 << 32, 9, 2]]))
    with pytest.raises(
        RuntimeShapeError, match=r"the result of iota fits into memory: found f32\[1073741824, 1073741824"
    ):
        run(np.array([[1 << 30, 9, 1 << 30]]))
    with pytest.raises(ArgumentTypeError, match="argument 0: found dtype int32"):
        run(np.array([[1, 9, 2]], np.int32))


BRANCHES = """
func.func @main(%x: tensor<?xf32>, %k: tensor<i32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%x init: %z) applies stablehlo.add across dimensions = [0]
    : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
  %p = stablehlo.compare GT, %sum, %z : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %0 = "stablehlo.if"(%p) ({ stablehlo.return %x : tensor<?xf32> }, {
    %a = stablehlo.concatenate %x, %x, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    stablehlo.return %a : tensor<?xf32>
  }) : (tensor<i1>) -> tensor<?xf32>
  %1 = "stablehlo.case"(%k) ({ stablehlo.return %0 : tensor<?xf32> }, {
    %a = stablehlo.constant dense<2.0> : tensor<3xf32>
    %b = stablehlo.concatenate %0, %a, dim = 0 : (tensor<?xf32>, tensor<3xf32>) -> tensor<?xf32>
    stablehlo.return %b : tensor<?xf32>
  }, {
    %a = stablehlo.concatenate %0, %x, dim = 0 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
    stablehlo.return %a : tensor<?xf32>
  }) : (tensor<i32>) -> tensor<?xf32>
  return %0, %1 : tensor<?xf32>, tensor<?xf32>
}"""


def test_a_size_may_depend_on_which_branch_runs() -> None:
    calls = [
        (sign * np.ones(size, np.float32), np.array(k, np.int32))
        for sign in (1, -1)
        for size in (0, 3)
        for k in (-1, 0, 1, 2, 7)
    ]
    for (x, k), (first, second) in zip(calls, run_all(BRANCHES, calls), strict=True):
        wanted = x if x.sum() > 0 else np.concatenate([x, x])
        more = {0: x[:0], 1: np.full(3, 2, np.float32)}.get(int(k), x)
        np.testing.assert_array_equal(first, wanted)
        np.testing.assert_array_equal(second, np.concatenate([wanted, more]))


EQUATIONS = """
func.func @main(%x: tensor<?xf32>, %y: tensor<?xi32>) -> (tensor<?x2xf32>, tensor<?xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %n = stablehlo.reduce(%y init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<?xi32>, tensor<i32>) -> tensor<i32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %twice = stablehlo.multiply %n1, %two : tensor<1xi32>
  %shape = stablehlo.concatenate %n1, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %pairs = stablehlo.dynamic_reshape %x, %shape : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x2xf32>
  %line = stablehlo.dynamic_iota %twice, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  %sum = stablehlo.add %line, %x : tensor<?xf32>
  return %pairs, %sum : tensor<?x2xf32>, tensor<?xf32>
}"""


def test_an_argument_is_not_measured_in_what_is_known_later() -> None:
    calls = [(numbers(2 * n), np.full(n, 1, np.int32)) for n in (0, 1, 9)]
    for (x, _), (pairs, line) in zip(calls, run_all(EQUATIONS, calls), strict=True):
        np.testing.assert_array_equal(pairs, x.reshape(-1, 2))
        np.testing.assert_array_equal(line, x + np.arange(len(x), dtype=np.float32))
    run = shlo_disc.compile(EQUATIONS, device="cpu")
    for size in (7, 9, 10):
        with pytest.raises(RuntimeShapeError, match=f"a reshape keeps the number of elements: found {size} and 8"):
            run(numbers(size), np.full(4, 1, np.int32))


MORE_OPS = """
func.func @main(%x: tensor<?xf32>, %w: tensor<3x1x2xf32>, %m: tensor<3xi32>, %at: tensor<1xi32>)
    -> (tensor<?xf32>, tensor<?xi32>, tensor<1x?x2xf32>, tensor<?xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %k = stablehlo.reduce(%m init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<3xi32>, tensor<i32>) -> tensor<i32>
  %top:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %k)
    : (tensor<?xf32>, tensor<i32>) -> (tensor<?xf32>, tensor<?xi32>)
  %size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %size1 = stablehlo.reshape %size : (tensor<i32>) -> tensor<1xi32>
  %long = stablehlo.concatenate %one, %size1, %one, dim = 0
    : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xi32>
  %line = stablehlo.dynamic_reshape %x, %long : (tensor<?xf32>, tensor<3xi32>) -> tensor<1x?x1xf32>
  %pad = stablehlo.slice %m [1:3] : (tensor<3xi32>) -> tensor<2xi32>
  %pads = stablehlo.reshape %pad : (tensor<2xi32>) -> tensor<1x2xi32>
  %conv = "stablehlo.dynamic_conv"(%line, %w, %pads) <{
    batch_group_count = 1 : i64, feature_group_count = 1 : i64, window_strides = array<i64: 1>,
    dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>
  }> : (tensor<1x?x1xf32>, tensor<3x1x2xf32>, tensor<1x2xi32>) -> tensor<1x?x2xf32>
  %k1 = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>
  %part = "stablehlo.dynamic_gather"(%x, %at, %k1) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [0], start_index_map = [0], index_vector_dim = 0>
  }> : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  return %top#0, %top#1, %conv, %part : tensor<?xf32>, tensor<?xi32>, tensor<1x?x2xf32>, tensor<?xf32>
}"""


def test_sizes_of_top_k_padding_and_windows_are_read() -> None:
    x, w, at = numbers(17), numbers(6).reshape(3, 1, 2), np.array([12], np.int32)
    counts = [(0, 0, 0), (-2, 1, 2), (0, 4, 3), (0, 17, 0)]
    calls = [(x, w, np.array(m, np.int32), at) for m in counts]
    for m, (top, places, conv, part) in zip(counts, run_all(MORE_OPS, calls), strict=True):
        k = sum(m)
        np.testing.assert_array_equal(top, np.sort(x)[::-1][:k])
        np.testing.assert_array_equal(x[places], top)
        assert conv.shape == (1, 17 + m[1] + m[2] - 2, 2)
        start = min(12, 17 - k)
        np.testing.assert_array_equal(part, x[start : start + k])
    run = shlo_disc.compile(MORE_OPS, device="cpu")
    with pytest.raises(RuntimeShapeError, match="top-k returns at most all elements: found 17 and 18"):
        run(x, w, np.array((18, 0, 0), np.int32), at)


BOUNDED = """
func.func @main(%x: tensor<?x2xf32, #stablehlo.bounds<5, ?>>, %n: tensor<i32>)
    -> (tensor<?x2xf32, #stablehlo.bounds<5, ?>>, tensor<i32>) {
  %0 = "stablehlo.set_dimension_size"(%x, %n) <{dimension = 0 : i64}>
    : (tensor<?x2xf32, #stablehlo.bounds<5, ?>>, tensor<i32>) -> tensor<?x2xf32, #stablehlo.bounds<5, ?>>
  %1 = stablehlo.get_dimension_size %0, dim = 0 : (tensor<?x2xf32, #stablehlo.bounds<5, ?>>) -> tensor<i32>
  return %0, %1 : tensor<?x2xf32, #stablehlo.bounds<5, ?>>, tensor<i32>
}"""


def test_a_size_that_is_set_keeps_its_bounds() -> None:
    calls = [
        (numbers(2 * size).reshape(size, 2), np.array(n, np.int32)) for size, n in ((5, 3), (4, 4), (2, 0), (0, 0))
    ]
    for (x, n), (found, size) in zip(calls, run_all(BOUNDED, calls), strict=True):
        np.testing.assert_array_equal(found, x[: int(n)])
        assert size == n
    run = shlo_disc.compile(BOUNDED, device="cpu")
    for size, n, message in ((6, 1, "within the bounds of its type"), (4, 5, "ends within"), (4, -1, "found n = -1")):
        with pytest.raises(RuntimeShapeError, match=message):
            run(numbers(2 * size).reshape(size, 2), np.array(n, np.int32))


def test_a_gpu_reads_branches_and_sizes_of_more_ops() -> None:
    convolved = [numbers(17), numbers(6).reshape(3, 1, 2), np.array((0, 4, 3), np.int32), np.array([12], np.int32)]
    branched = [-np.ones(3, np.float32), np.array(1, np.int32)]
    for text, inputs in ((MORE_OPS, convolved), (BRANCHES, branched)):
        for one, wanted in zip(emulate(text, inputs), shlo_disc.compile(text, device="cpu")(*inputs), strict=True):
            np.testing.assert_allclose(one, wanted, rtol=1e-5, atol=1e-5)


CONSTANT_SIZES = """
func.func @main(%x: tensor<?xf32>, %n: tensor<i32>) -> (tensor<3x2xf32>, tensor<?xf32>) {
  %three = "chlo.constant_like"(%n) <{value = 3 : i32}> : (tensor<i32>) -> tensor<i32>
  %three_1 = stablehlo.reshape %three : (tensor<i32>) -> tensor<1xi32>
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %shape = stablehlo.concatenate %three_1, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %fixed = stablehlo.dynamic_iota %shape, dim = 1 : (tensor<2xi32>) -> tensor<3x2xf32>
  %open = stablehlo.dynamic_iota %three_1, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  return %fixed, %open : tensor<3x2xf32>, tensor<?xf32>
}"""


def test_sizes_may_be_read_from_constants() -> None:
    """What costs nothing to compute again is handed on all the same where sizes are read from it."""
    calls = [(numbers(size), np.array(0, np.int32)) for size in (0, 5)]
    for found in run_all(CONSTANT_SIZES, calls):
        np.testing.assert_array_equal(found[0], [[0, 1]] * 3)
        np.testing.assert_array_equal(found[1], np.arange(3))


def reshaped(sizes: str, others: str) -> str:
    """A program whose last partition reads `%y` alone, whose elements are as many as those of `%x`."""
    return f"""
func.func @main(%x: tensor<{sizes}xf32>, %y: tensor<{others}xf32>, %v: tensor<?xf32>)
    -> (tensor<{others}xf32>, tensor<?xf32>, tensor<{others}xf32>) {{
  %d0 = stablehlo.get_dimension_size %y, dim = 0 : (tensor<{others}xf32>) -> tensor<i32>
  %d1 = stablehlo.get_dimension_size %y, dim = 1 : (tensor<{others}xf32>) -> tensor<i32>
  %e0 = stablehlo.reshape %d0 : (tensor<i32>) -> tensor<1xi32>
  %e1 = stablehlo.reshape %d1 : (tensor<i32>) -> tensor<1xi32>
  %shape = stablehlo.concatenate %e0, %e1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %like = stablehlo.dynamic_reshape %x, %shape : (tensor<{sizes}xf32>, tensor<2xi32>) -> tensor<{others}xf32>
  %z = stablehlo.negate %like : tensor<{others}xf32>
  %least = stablehlo.constant dense<-1.0> : tensor<f32>
  %top = stablehlo.reduce(%z init: %least) applies stablehlo.maximum across dimensions = [0, 1]
    : (tensor<{others}xf32>, tensor<f32>) -> tensor<f32>
  {compare("mask", "GT", "v", "top")}
  {COUNT.format(name="n", mask="mask")}
  {TAKE.format(name="w", x="v", count="n_1", dtype="f32")}
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %total = stablehlo.reduce(%w init: %zero) applies stablehlo.add across dimensions = [0]
    : (tensor<?xf32>, tensor<f32>) -> tensor<f32>
  %s = stablehlo.dynamic_broadcast_in_dim %total, %shape, dims = []
    : (tensor<f32>, tensor<2xi32>) -> tensor<{others}xf32>
  %sum = stablehlo.add %y, %s : tensor<{others}xf32>
  %sorted = "stablehlo.sort"(%sum) <{{dimension = 0 : i64, is_stable = true}}> ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %less = stablehlo.compare LT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
  }}) : (tensor<{others}xf32>) -> tensor<{others}xf32>
  %last = stablehlo.negate %sorted : tensor<{others}xf32>
  return %z, %w, %last : tensor<{others}xf32>, tensor<?xf32>, tensor<{others}xf32>
}}"""


@pytest.mark.parametrize("ranks", [("?x?", "?x?"), ("?x?x?", "?x?")])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_partition_takes_what_has_the_sizes_of_its_formulas(ranks: tuple[str, str], swapped: bool) -> None:
    """That `%y` has as many elements as `%x` gives the arena of a partition without `%x` in sizes of `%x`."""
    text = reshaped(*ranks)
    types = [f"%{name}: tensor<{rank}xf32>" for name, rank in zip("xy", ranks, strict=True)]
    if swapped:
        text = text.replace(", ".join(types), ", ".join(reversed(types)))
    rng = np.random.default_rng()
    run = shlo_disc.compile(text)
    for rows, columns in ((4, 3), (1, 1), (0, 5), (17, 8)):
        x, y = rng.standard_normal((2, rows * columns)).astype(np.float32)
        x = x.reshape((columns, rows) if len(ranks[0]) == 3 else (columns, rows, 1))
        v = 3 * numbers(9)
        y = y.reshape(rows, columns)
        given = (y, x, v) if swapped else (x, y, v)
        count = (v > max(-1.0, (-x).max(initial=-1.0))).sum()
        negated, taken, last = run(*given)
        np.testing.assert_array_equal(negated, -x.reshape(rows, columns))
        np.testing.assert_array_equal(taken, v[:count])
        wanted = -np.sort(y + v[:count].sum(dtype=np.float64), axis=0)
        np.testing.assert_allclose(last, wanted, rtol=1e-5, atol=1e-5)
