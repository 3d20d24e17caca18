# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
"""Scatter and select_and_scatter on a GPU: what meets is combined in order, whichever way it is done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from shlo_disc.runtime.cuda.device import IndexType
from tests.lower_cuda.forced import Array, forced
from tests.pipeline.exports import BF16, F16, In, exported

pytestmark = pytest.mark.slow

I32, U32, I64 = np.int32, np.uint32, np.int64
COUNTS = (0, 1, 2, 33, 255, 1023, 1024, 1025, 2049, 5000)
ORDERED = ("linked", "sorted")


def numbers(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    """Sums of these depend on the order if they are floats."""
    kind = np.dtype(dtype)
    if kind.kind in "iub":
        return rng.integers(0, 2 if kind.kind == "b" else 99, shape).astype(kind)
    found = rng.standard_normal(shape) * 4
    return (found + 1j * rng.standard_normal(shape) if kind.kind == "c" else found).astype(kind)


Program = tuple[Callable[..., Any], tuple[In, ...], tuple[str, ...]]
IDS = In("n - 1", I32)


def table(function: Callable[..., Any], labels: tuple[str, ...], dtype: Any = np.float32) -> Program:
    """A program that scatters rows into a table."""
    return function, (In("v, d", dtype), IDS, In("n - 1, d", dtype)), labels


def overlapping(x: Any, i: Any, u: Any) -> Any:
    """Windows of three rows and two columns; updates have their rows first."""
    return jax.lax.scatter_add(x, i[:, None], u, jax.lax.ScatterDimensionNumbers((0, 2), (), (0,)))


PROGRAMS: dict[str, Program] = {
    "add rows": table(lambda x, i, u: x.at[i].add(u), ORDERED),
    "set rows": table(lambda x, i, u: x.at[i].set(u), ORDERED),
    "max rows": table(lambda x, i, u: x.at[i].max(u), ORDERED, F16),
    "add bf16": table(lambda x, i, u: x.at[i].add(u), ORDERED, BF16),
    "add complex": table(lambda x, i, u: x.at[i].add(u), ORDERED, np.complex64),
    "set bool": table(lambda x, i, u: x.at[i].set(u), ORDERED, np.bool_),
    "multiply integers": table(lambda x, i, u: x.at[i].multiply(u), ORDERED, I32),
    "add integers": table(lambda x, i, u: x.at[i].add(u), ("atomic",), I32),
    "min integers": table(lambda x, i, u: x.at[i].min(u), ("atomic",), I32),
    "max unsigned": table(lambda x, i, u: x.at[i].max(u), ("atomic",), U32),
    "unique": table(lambda x, i, u: x.at[i].add(u, unique_indices=True), ("direct",)),
    "unique before they are clamped": table(lambda x, i, u: x.at[i].add(u, unique_indices=True, mode="clip"), ORDERED),
    "one window per batch": (
        jax.vmap(lambda x, i, u: jax.lax.dynamic_update_slice(x, u, (i,))),
        (In("v, d"), In("v", I32), In("v, 1")),
        ("direct",),
    ),
    "one row": (lambda x, i, u: x.at[i].add(u), (In("v, d"), In("", I32), In("d")), ("direct",)),
    "columns": (
        lambda x, i, u: x.at[:, i].add(u, mode="drop"),
        (In("v, d"), IDS, In("v, n - 1")),
        ORDERED,
    ),
    "elements": (lambda x, i, u: x.at[i, i].add(u), (In("v, d"), IDS, In("n - 1")), ORDERED),
    "overlapping": (overlapping, (In("40, 6"), IDS, In("3, n - 1, 2")), ("sorted",)),
    "clamped": (lambda x, i, u: x.at[i].add(u, mode="clip"), (In("v, d"), IDS, In("n - 1, d")), ORDERED),
}


@pytest.mark.parametrize(("name", "label"), [(name, label) for name, p in PROGRAMS.items() for label in p[2]])
def test_agrees_with_jax(name: str, label: str) -> None:
    """Many indices meet, some are out of bounds on either side."""
    function, inputs, _ = PROGRAMS[name]
    run, rng, jitted = forced(exported(function, inputs), label), np.random.default_rng(0), jax.jit(function)
    for count in COUNTS:
        sizes = {"v": 7, "d": 5} if count % 2 else {"v": 40, "d": 33}
        shapes = [i.shape.replace("n - 1", str(count)) for i in inputs]
        concrete = [tuple(sizes.get(s.strip()) or int(s) for s in shape.split(",") if s.strip()) for shape in shapes]
        x, updates = (numbers(rng, concrete[k], inputs[k].dtype) for k in (0, 2))
        ids = np.asarray(rng.integers(-sizes["v"] - 3, sizes["v"] + 5, concrete[1]), I32)
        if name == "unique":
            ids = rng.permutation(max(count, 7)).astype(I32)[:count]
        (result,), taken = run([x, ids, updates])
        assert taken == (label != "linked" or count <= 1024)
        np.testing.assert_array_equal(result, np.asarray(jitted(x, ids, updates)))


def scatter_text(combine: str, *, window: int = 1, rank: int = 1) -> str:
    """Updates of `window` neighbours, combined by a body over %old and %new."""
    updates = "?" + f"x{window}" * (window > 1)
    windows = "1" if window > 1 else ""
    inserted = "" if window > 1 else "0"
    numbers = (
        f"#stablehlo.scatter<update_window_dims = [{windows}], inserted_window_dims = [{inserted}],"
        f" scatter_dims_to_operand_dims = [0], index_vector_dim = {rank}>"
    )
    return f"""
    func.func public @main(%x: tensor<?xf32>, %i: tensor<?x1xi64>, %u: tensor<{updates}xf32>) -> tensor<?xf32> {{
      %0 = "stablehlo.scatter"(%x, %i, %u) ({{
        ^bb0(%old: tensor<f32>, %new: tensor<f32>):
          {combine}
          stablehlo.return %r : tensor<f32>
      }}) {{scatter_dimension_numbers = {numbers}}} :
        (tensor<?xf32>, tensor<?x1xi64>, tensor<{updates}xf32>) -> tensor<?xf32>
      return %0 : tensor<?xf32>
    }}"""


HALVES = """%two = stablehlo.constant dense<2.0> : tensor<f32>
          %half = stablehlo.divide %old, %two : tensor<f32>
          %r = stablehlo.subtract %new, %half : tensor<f32>"""


@pytest.mark.parametrize("index", ["int32_t", "int64_t"])
@pytest.mark.parametrize("window", [1, 3])
@pytest.mark.parametrize("label", ORDERED)
def test_updates_are_applied_in_order(label: str, window: int, index: IndexType) -> None:
    """`new - old / 2` tells every order apart; windows of three overlap."""
    run, rng = forced(scatter_text(HALVES, window=window), label, index=index), np.random.default_rng(1)
    for count, size in ((1, 3), (9, 4), (340, 30), (1100, 7), (3000, 2000)):
        x = rng.standard_normal(size).astype(np.float32)
        ids = rng.integers(-2, size + 2, (count, 1)).astype(I64)
        updates = rng.standard_normal((count, window) if window > 1 else count).astype(np.float32)
        expected = x.copy()
        for place, update in zip(ids[:, 0], updates.reshape(count, -1), strict=True):
            if place >= 0 and place + window <= size:
                expected[place : place + window] = update - expected[place : place + window] / np.float32(2)
        (result,), _ = run([x, ids, updates])
        np.testing.assert_array_equal(result, expected)


SELECT_AND_SCATTER = """
func.func public @main(%x: tensor<?x?xf32>, %s: tensor<?x?xf32>, %i: tensor<f32>) -> tensor<?x?xf32> {
  %r = "stablehlo.select_and_scatter"(%x, %s, %i) ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
  }, {
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %two = stablehlo.constant dense<2.0> : tensor<f32>
      %half = stablehlo.divide %a, %two : tensor<f32>
      %c = stablehlo.subtract %b, %half : tensor<f32>
      stablehlo.return %c : tensor<f32>
  }) {window_dimensions = array<i64: 3, 2>, window_strides = array<i64: 2, 1>,
      padding = dense<[[1, 1], [0, 1]]> : tensor<2x2xi64>} :
    (tensor<?x?xf32>, tensor<?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
"""


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (7, 5), (33, 17), (0, 4)])
def test_windows_choose_and_combine_in_order(shape: tuple[int, int]) -> None:
    """Windows overlap, reach into the padding, and hold ties."""
    rng = np.random.default_rng(2)
    x = np.round(rng.standard_normal(shape)).astype(np.float32)
    source = rng.standard_normal(((shape[0] + 1) // 2, shape[1])).astype(np.float32)
    expected = np.full_like(x, 0.25)
    for at in np.ndindex(source.shape):
        best = None
        for offset in np.ndindex(3, 2):
            place = (2 * at[0] + offset[0] - 1, at[1] + offset[1])
            if 0 <= place[0] < shape[0] and place[1] < shape[1] and (best is None or not x[best] >= x[place]):
                best = place
        if best is not None:
            expected[best] = source[at] - expected[best] / np.float32(2)
    (result,), taken = forced(SELECT_AND_SCATTER, "windows")([x, source, np.array(0.25, np.float32)])
    assert taken
    np.testing.assert_array_equal(result, expected)


def test_distinct_places_may_meet_at_the_end_that_they_are_clamped_to() -> None:
    """The last update counts, though the indices were promised to be unique before they were clamped."""
    source = exported(
        lambda x, i, u: x.at[i].set(u, mode="clip", unique_indices=True), (In("n, d"), In("k", np.int32), In("k, d"))
    )
    run = forced(source, "direct", schedule="random")
    rng = np.random.default_rng(4)
    for n, d, k in ((5, 3, 60), (50, 1, 70), (2, 40, 9)):
        x, updates = rng.standard_normal((n, d), np.float32), rng.standard_normal((k, d), np.float32)
        places = rng.permutation(np.arange(2 * k, dtype=np.int32))[:k]
        wanted = x.copy()
        for place, update in zip(np.minimum(places, n - 1), updates, strict=True):
            wanted[place] = update
        (found,), is_direct = run([x, places, updates])
        assert not is_direct
        np.testing.assert_array_equal(found, wanted)
