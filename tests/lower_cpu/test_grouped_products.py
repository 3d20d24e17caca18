# JAX's functions are partly untyped; nothing untyped leaves this file but arrays of any dtype.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Products of groups of rows, `chlo.ragged_dot`: all types, groups of any size, gradients, threads, bound matrices."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from numpy.typing import NDArray

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.ir.dtypes import DType, numpy_dtype
from tests.lower_cpu.test_small_products import agree, draw

Array = NDArray[Any]
Case = tuple[tuple[int, ...], int, int, int]

# The types of the operands and of the result.
TYPES = ("f32 f32", "bf16 f32", "i8 i32", "f64 f64", "complex<f32> complex<f32>", "f16 f16", "ui8 ui32")
# Sizes of groups, rows in all, depth, columns: none, one, primes, panels of 64 columns and blocks of 192 rows, and more
# or less by one; groups without rows at both ends; rows that belong to no group.
CASES: tuple[Case, ...] = (
    ((0, 5, 0, 1, 11, 0), 17, 7, 5), ((8, 9, 7), 24, 64, 65), ((193, 0, 12), 210, 65, 63), ((1,), 1, 1, 1),
    ((0, 0), 3, 4, 16), ((3, 4), 7, 0, 9), ((), 4, 3, 3), ((2, 2), 4, 3, 0), ((0,), 0, 5, 5), ((31, 33), 64, 290, 300),
)  # fmt: skip
# What no group should be: negative sizes count as 0, rows beyond the last do not exist.
WRONG: tuple[Case, ...] = tuple(
    (sizes, 7, 5, 6) for sizes in ((-3, 4, 2), (9, 9, 9), (2, 2**31 - 1, 2**31 - 1), (-(2**31), 5, -1))
)


def product(number: int, types: str, ragged: str) -> str:
    """The negated product of arguments of this number."""
    operand, result = types.split()
    contracted, group, right, out = ("1", "0", "?x?x?x", "?x?x") if ragged == "rows" else ("0", "", "?x?x", "?x?x?x")
    left = f"tensor<?x?x{operand}>"
    return f"""
  %p{number} = "chlo.ragged_dot"(%x{number}, %w{number}, %s) {{ragged_dot_dimension_numbers = #chlo.ragged_dot<
    lhs_contracting_dimensions = [{contracted}], rhs_contracting_dimensions = [{contracted}],
    lhs_ragged_dimensions = [0], rhs_group_dimensions = [{group}]>,
    precision_config = [#chlo<precision HIGHEST>, #chlo<precision HIGHEST>]}} :
    ({left}, tensor<{right}{operand}>, tensor<?xi32>) -> tensor<{out}{result}>
  %r{number} = stablehlo.negate %p{number} : tensor<{out}{result}>"""


def program_text(ragged: str, types: Sequence[str]) -> str:
    """The negated products of all types; groups are rows or depths."""
    right, out = ("?x?x?x", "?x?x") if ragged == "rows" else ("?x?x", "?x?x?x")
    pairs = [each.split() for each in types]
    weights = [f"%w{n}: tensor<{right}{operand}>" for n, (operand, _) in enumerate(pairs)]
    rows = [f"%x{n}: tensor<?x?x{operand}>" for n, (operand, _) in enumerate(pairs)]
    results = ", ".join(f"tensor<{out}{result}>" for _, result in pairs)
    body = "".join(product(n, each, ragged) for n, each in enumerate(types))
    return f"""func.func @main({", ".join([*weights, *rows, "%s: tensor<?xi32>"])}) -> ({results}) {{{body}
  return {", ".join(f"%r{n}" for n in range(len(types)))} : {results}
}}"""


@lru_cache(maxsize=8)
def program(ragged: str, types: tuple[str, ...] = TYPES, threads: int = 1) -> shlo_disc.Compiled:
    """The same, compiled."""
    text = program_text(ragged, types)
    return shlo_disc.compile(text, options=CompileOptions(optimize=0, threads=threads))


def operands(ragged: str, case: Case, types: Sequence[str] = TYPES) -> tuple[list[Array], list[Array], Array]:
    """The right operands, the left ones, and the sizes."""
    sizes, rows, depth, columns = case
    rng, dtypes = np.random.default_rng([rows, depth]), [numpy_dtype(DType(each.split()[0])) for each in types]
    shape = (len(sizes), depth, columns) if ragged == "rows" else (rows, columns)
    right, left = ([draw(rng, one, dtype) for dtype in dtypes] for one in (shape, (rows, depth)))
    return right, left, np.array(sizes, np.int32)


def judge(found: Array, x: Array, w: Array, sizes: Array, what: str) -> None:
    """Hold each group against NumPy's product."""
    end = 0
    for number, size in enumerate(sizes.tolist()):
        first, end = end, min(len(x), end + max(0, size))
        if w.ndim == 3:
            agree(-found[first:end], x[first:end], w[number], what)
        else:
            agree(-found[number], x[first:end].T, w[first:end], what)
    if w.ndim == 3:
        np.testing.assert_array_equal(found[end:], np.zeros_like(found[end:]), what)


@pytest.mark.parametrize("ragged", ["rows", "depth"])
def test_all_types_and_sizes_of_groups(ragged: str) -> None:
    run = program(ragged)
    for case in (*CASES, *WRONG):
        right, left, sizes = operands(ragged, case)
        found = run(*right, *left, sizes)
        for types, got, x, w in zip(TYPES, found, left, right, strict=True):
            assert got.dtype == numpy_dtype(DType(types.split()[1]))
            judge(np.asarray(got), x, w, sizes, f"{types} {case}")


@pytest.mark.parametrize("ragged", ["rows", "depth"])
def test_threads_do_not_change_bits(ragged: str) -> None:
    types = TYPES[:1]
    cases = [((100, 1, 0, 250, 49, 8), 420, 130, 270), ((0, 400), 400, 64, 64), ((400, 0), 777, 65, 257)]
    wanted = list[Array]()
    for threads in (1, 2, 3, 8):
        run = program(ragged, types, threads)
        for number, case in enumerate(cases):
            right, left, sizes = operands(ragged, case, types)
            (found,) = run(*right, *left, sizes)
            if threads == 1:
                wanted.append(np.asarray(found).copy())
                judge(wanted[-1], left[0], right[0], sizes, str(case))
            np.testing.assert_array_equal(found, wanted[number], str((threads, case)))


def test_an_epilogue_is_part_of_the_launch_and_bound_matrices_are_packed() -> None:
    run = program("rows", TYPES[:3])
    assert run.explain().count("grouped product") == 3
    assert "3 launches of 3 kernels" in run.explain()
    for case in ((8, 9, 7), 24, 64, 65), ((193, 0, 12), 210, 65, 63), ((3, -1, 4), 9, 5, 70):
        right, left, sizes = operands("rows", case, TYPES[:3])
        bound = run.bind(*right)
        assert len(run.executable.artifact.packings) == 3
        for types, got, x, w in zip(TYPES, bound(*left, sizes), left, right, strict=False):
            judge(np.asarray(got), x, w, sizes, f"{types} {case}")


def _layer(x: Any, w: Any, v: Any, sizes: Any) -> Any:
    return lax.ragged_dot(jnp.tanh(lax.ragged_dot(x, w, sizes)), v, sizes)


def _gradients(x: Any, w: Any, v: Any, sizes: Any) -> Any:
    found, pulled = jax.vjp(lambda x, w, v: _layer(x, w, v, sizes), x, w, v)
    return found, pulled(jnp.cos(found))


def test_layers_and_gradients_are_those_of_jax() -> None:
    ours, jitted, groups = shlo_disc.jit(_gradients), jax.jit(_gradients), 3
    rng = np.random.default_rng(7)
    for rows in (1, 17, 40):
        sizes = rng.multinomial(rows - 1, np.ones(groups) / groups).astype(np.int32)  # a row is in no group
        x, w, v = (rng.standard_normal(s).astype("f4") for s in ((rows, 6), (groups, 6, 9), (groups, 9, 4)))
        found, wanted = (jax.tree.leaves(run(x, w, v, sizes)) for run in (ours, jitted))
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-5)


def test_functions_of_jax_keep_the_groups() -> None:
    types = "f32[m, 6], f32[3, 6, 9], f32[3, 9, 4], i32[3]"
    run = shlo_disc.compile(_layer, shapes=types, options=CompileOptions(optimize=0))
    assert "2 launches of 2 kernels" in run.explain()
    assert run.explain().count(": grouped product") == 2


def test_dims_in_any_order() -> None:
    """Several contracted dims and several free ones, none of them where the kernel has them."""
    text = """func.func @main(%x: tensor<?x?x?xf32>, %w: tensor<?x?x?x?x?xf32>, %y: tensor<?x?xf32>, %s: tensor<?xi32>)
    -> (tensor<?x?x?xf32>, tensor<?x?x?x?xf32>) {
  %r = "chlo.ragged_dot"(%x, %w, %s) {ragged_dot_dimension_numbers = #chlo.ragged_dot<
    lhs_contracting_dimensions = [2, 0], rhs_contracting_dimensions = [0, 3], lhs_ragged_dimensions = [1],
    rhs_group_dimensions = [1]>} : (tensor<?x?x?xf32>, tensor<?x?x?x?x?xf32>, tensor<?xi32>) -> tensor<?x?x?xf32>
  %d = "chlo.ragged_dot"(%x, %y, %s) {ragged_dot_dimension_numbers = #chlo.ragged_dot<
    lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [1],
    rhs_group_dimensions = []>} : (tensor<?x?x?xf32>, tensor<?x?xf32>, tensor<?xi32>) -> tensor<?x?x?x?xf32>
  return %r, %d : tensor<?x?x?xf32>, tensor<?x?x?x?xf32>
}"""
    run = shlo_disc.compile(text, options=CompileOptions(optimize=0))
    assert run.explain().count(": grouped product") == 2
    rng, sizes, group = np.random.default_rng(3), np.array([2, 0, 4], np.int32), np.array([0, 0, 2, 2, 2, 2])
    x, w, y = (rng.standard_normal(shape) for shape in ((3, 6, 5), (5, 3, 2, 3, 4), (7, 6)))
    rows, depths = run(x.astype("f4"), w.astype("f4"), y.astype("f4"), sizes)
    np.testing.assert_allclose(rows, np.einsum("amb,bmnao->mno", x, w[:, group]), rtol=1e-4, atol=1e-4)
    wanted = np.einsum("amb,cm,mg->gabc", x, y, group[:, None] == np.arange(3))
    np.testing.assert_allclose(depths, wanted, rtol=1e-4, atol=1e-4)


def test_infinity_of_one_group_stays_in_its_rows() -> None:
    right, left, sizes = operands("rows", ((2, 3), 6, 4, 5), TYPES[:1])
    right[0][0] = np.inf
    (found,) = program("rows", TYPES[:1])(*right, *left, sizes)
    assert not np.isfinite(found[:2]).any()
    judge(np.asarray(found)[2:], left[0][2:], right[0][1:], sizes[1:], "rows of other groups")
