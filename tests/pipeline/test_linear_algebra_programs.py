"""Linear algebra as users write it: decompositions hold, and are those of jax.jit, which calls the same LAPACK."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax
from jax.scipy import linalg as jsl

import shlo_disc
from shlo_disc import CompileOptions
from tests.oracle import xla_executable
from tests.pipeline.exports import FAST, Array

TOLERANCES = {"f": 1e-4, "d": 1e-11, "F": 1e-4, "D": 1e-11, "e": 2e-2, "E": 0.1}
SIZES = ({"b": 1, "n": 1, "m": 1}, {"b": 3, "n": 5, "m": 2}, {"b": 2, "n": 17, "m": 16})
_UNVOUCHED = [f"lapack_{letter}{name}_ffi" for letter in "sz" for name in ("geqp3", "gesvd", "ormqr", "unmqr")]
CHECKS = [export.DisabledSafetyCheck.custom_call(name) for name in _UNVOUCHED]


def random(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


def definite(a: Array) -> Array:
    return a @ np.swapaxes(a, -1, -2).conj() + np.eye(a.shape[-1], dtype=a.dtype)


def close(found: Array, wanted: Array, tolerance: float) -> None:
    assert found.shape == wanted.shape
    assert found.dtype == wanted.dtype
    scale = 1 + float(np.abs(wanted).max(initial=0))
    np.testing.assert_allclose(found / scale, wanted / scale, rtol=0, atol=tolerance)


def factored(a: Any, c: Any, s: Any) -> Mapping[str, Any]:
    """Every routine that JAX calls, on general matrices, on others of m columns, and on definite ones."""
    reflectors, tau = jnp.linalg.qr(a, mode="raw")
    return {
        "cholesky": lax.linalg.cholesky(s, symmetrize_input=False),
        "lu": lax.linalg.lu(a),
        "qr": jnp.linalg.qr(a, mode="complete"),
        "ormqr": lax.linalg.ormqr(jnp.swapaxes(reflectors, -1, -2), tau, c, left=True, transpose=True),
        "geqp3": jsl.qr(a, pivoting=True),
        "svd": jnp.linalg.svd(c, full_matrices=True),
        "thin": jnp.linalg.svd(c, full_matrices=False),
        "values": jnp.linalg.svd(c, compute_uv=False),
        "gesvd": lax.linalg.svd(a, algorithm=lax.linalg.SvdAlgorithm.QR),
        "eigh": jnp.linalg.eigh(s),
        "eig": lax.linalg.eig(a, compute_left_eigenvectors=True),
        "schur": lax.linalg.schur(a),
        "sytrd": lax.linalg.tridiagonal(s),
    }


def hold(got: Mapping[str, Any], a: Array, c: Array, s: Array, tolerance: float) -> None:
    """The identities that make the results what they are called."""

    def same(x: Array, y: Array) -> None:
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * (1 + np.abs(y).max(initial=0)) * y.shape[-1])

    lower = np.tril(got["cholesky"])
    same(lower @ np.swapaxes(lower, -1, -2).conj(), s)
    lu, _, permutation = got["lu"]
    unit = np.tril(lu, -1) + np.eye(lu.shape[-1])
    same(unit @ np.triu(lu), np.take_along_axis(a, permutation[..., None], -2))
    q, r = got["qr"]
    same(q @ r, a)
    q, r, order = got["geqp3"]
    same(q @ r, np.take_along_axis(a, order[..., None, :], -1))
    u, x, v = got["thin"]
    same((u * x[..., None, :]) @ v, c)
    values, vectors = got["eigh"]
    same(s @ vectors, vectors * values[..., None, :])
    w, left, right = got["eig"]
    same(a @ right, right * w[..., None, :])
    same(np.swapaxes(left, -1, -2).conj() @ a, w[..., None] * np.swapaxes(left, -1, -2).conj())
    form, vectors = got["schur"]
    same(vectors @ form @ np.swapaxes(vectors, -1, -2).conj(), a)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
def test_decompositions_hold_and_are_those_of_xla(dtype: Any) -> None:
    with jax.enable_x64(dtype == np.complex128):
        scope = export.SymbolicScope(("n >= m",))
        shapes = [export.symbolic_shape(shape, scope=scope) for shape in ("b, n, n", "b, n, m", "b, n, n")]
        specs = [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]
        run = shlo_disc.compile(export.export(jax.jit(factored), disabled_checks=CHECKS)(*specs), options=FAST)
        rng, tolerance = np.random.default_rng(0), TOLERANCES[np.dtype(dtype).char]
        for sizes in SIZES:
            b, n, m = (sizes[name] for name in "bnm")
            a, c = random(rng, (b, n, n), dtype), random(rng, (b, n, m), dtype)
            s = definite(a)
            got, wanted = run(a, c, s), jax.jit(factored)(a, c, s)
            jax.tree.map(lambda x, y: close(np.asarray(x), np.asarray(y), tolerance), got, wanted)
            hold(jax.tree.map(np.asarray, got), a, c, s, tolerance)


def solved(a: Any, x: Any) -> tuple[Any, ...]:
    """What people solve with them; `a` is well conditioned."""
    each = jax.vmap
    return (
        jnp.linalg.solve(a, x), jnp.linalg.inv(a), jnp.linalg.det(a), jnp.linalg.slogdet(a),
        jnp.linalg.pinv(a), jnp.linalg.matrix_rank(a), jnp.linalg.norm(a, ord=2, axis=(-2, -1)), jnp.linalg.cond(a),
        each(lambda a, x: jnp.linalg.lstsq(a, x)[0])(a, x), each(lambda a, x: jsl.lu_solve(jsl.lu_factor(a), x))(a, x),
        each(lambda a, x: jsl.cho_solve(jsl.cho_factor(a @ a.T + jnp.eye(5)), x))(a, x), each(jsl.expm)(a / 8),
        each(lambda a: jsl.sqrtm(a @ a.T))(a), jsl.hessenberg(a, calc_q=True), each(jsl.lu)(a),
        lax.linalg.tridiagonal_solve(a[:, 0], a[:, 1] + 9, a[:, 2], x),
        jax.grad(lambda a: jnp.linalg.cholesky(a @ jnp.swapaxes(a, -1, -2)).sum() + jnp.linalg.eigvalsh(a).sum())(a),
    )  # fmt: skip


def test_solvers_agree_with_xla() -> None:
    b, m = export.symbolic_shape("b, m")
    specs = [jax.ShapeDtypeStruct(shape, np.float32) for shape in ((b, 5, 5), (b, 5, m))]
    run = shlo_disc.compile(export.export(jax.jit(solved))(*specs), options=FAST)
    rng = np.random.default_rng(1)
    for sizes in SIZES[1:]:
        a = random(rng, (sizes["b"], 5, 5), np.float32) + 6 * np.eye(5, dtype=np.float32)
        x = random(rng, (sizes["b"], 5, sizes["m"]), np.float32)
        pairs = zip(jax.tree.leaves(run(a, x)), jax.tree.leaves(jax.jit(solved)(a, x)), strict=True)
        for got, wanted in pairs:
            close(np.asarray(got), np.asarray(wanted), 1e-4)


def test_failures_become_nan() -> None:
    """What is not positive definite, not finite or does not converge is said in `info`, and JAX makes NaN of it."""

    def function(a: Any) -> tuple[Any, ...]:
        return (
            lax.linalg.cholesky(a, symmetrize_input=False), jnp.linalg.eig(a)[0], jnp.linalg.svd(a)[1], lax.linalg.lu(a)
        )  # fmt: skip

    (b,) = export.symbolic_shape("b")
    run = shlo_disc.compile(export.export(jax.jit(function))(jax.ShapeDtypeStruct((b, 3, 3), np.float32)), options=FAST)
    a = np.stack([np.eye(3), -np.eye(3), np.full((3, 3), np.nan), np.zeros((3, 3))]).astype(np.float32)
    for got, wanted in zip(jax.tree.leaves(run(a)), jax.tree.leaves(jax.jit(function)(a)), strict=True):
        np.testing.assert_array_equal(got, wanted)


# -- the ops of the specification

NUMPY = {"f32": np.float32, "f64": np.float64, "complex<f32>": np.complex64, "complex<f64>": np.complex128,
         "f16": np.float16, "bf16": jnp.bfloat16}  # fmt: skip
WAYS = tuple(product((True, False), (True, False), (True, False), ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT")))


def _word(flag: bool) -> str:
    return "true" if flag else "false"


def solve_text(dtype: str) -> str:
    """All ways to solve, in one program: b has as many rows as a if a is at its left, else as many columns."""
    matrices = f"tensor<?x?x?x{dtype}>"
    lines = [
        f'%{k} = "stablehlo.triangular_solve"(%a, {"%l" if left else "%r"}) <{{left_side = {_word(left)}, '
        f"lower = {_word(lower)}, unit_diagonal = {_word(unit)}, transpose_a = #stablehlo<transpose {trans}>}}> : "
        f"({matrices}, {matrices}) -> {matrices}"
        for k, (left, lower, unit, trans) in enumerate(WAYS)
    ]
    results = ", ".join(f"%{k}" for k in range(len(WAYS)))
    types = ", ".join([matrices] * len(WAYS))
    head = f"func.func @main(%a: {matrices}, %l: {matrices}, %r: {matrices}) -> ({types}) {{"
    return "\n".join([head, *lines, f"return {results} : {types}", "}"])


@pytest.mark.parametrize("dtype", ["f32", "complex<f64>", "bf16"])
def test_triangular_systems(dtype: str) -> None:
    """The triangle that is not asked for, and a diagonal that counts as ones, are never read."""
    run = shlo_disc.compile(solve_text(dtype), options=FAST)
    rng, kind = np.random.default_rng(2), NUMPY[dtype]
    wide = np.complex128 if dtype.startswith("complex") else np.float64
    tolerance = {"f32": 1e-5, "complex<f64>": 1e-13, "bf16": 2e-2}[dtype]
    for b, n, m in ((0, 3, 2), (2, 0, 3), (2, 3, 0), (1, 1, 1), (3, 5, 4), (2, 17, 3), (40, 6, 6)):
        scale = 4 if dtype == "bf16" else 1
        a = (random(rng, (b, n, n), wide) / (scale * max(n, 1)) + 2 * np.eye(n)).astype(kind)
        left, right = (random(rng, shape, wide).astype(kind) for shape in ((b, n, m), (b, m, n)))
        for (at_left, lower, unit, trans), x in zip(WAYS, run(a, left, right), strict=True):
            matrix = np.tril(a.astype(wide)) if lower else np.triu(a.astype(wide))
            if unit:
                matrix[..., range(n), range(n)] = 1
            matrix = matrix if trans == "NO_TRANSPOSE" else np.swapaxes(matrix, -1, -2)
            matrix = matrix.conj() if trans == "ADJOINT" else matrix
            found = np.asarray(x).astype(wide)
            product_, wanted = (matrix @ found, left) if at_left else (found @ matrix, right)
            assert np.asarray(x).dtype == kind
            np.testing.assert_allclose(product_, wanted.astype(wide), rtol=0, atol=tolerance * 20)


def test_what_is_outside_the_triangle_is_not_read() -> None:
    run = shlo_disc.compile(solve_text("f32"), options=FAST)
    a = np.array([[[2, np.nan], [1, 3]]], np.float32)
    b = np.ones((1, 2, 2), np.float32)
    for (_, lower, _, _), x in zip(WAYS, run(a, b, b), strict=True):
        assert np.isfinite(x).all() == lower


CHOLESKY = "\n".join(
    f'%{k} = "stablehlo.cholesky"(%a) <{{lower = {word}}}> : (tensor<?x?x?xTYPE>) -> tensor<?x?x?xTYPE>'
    for k, word in enumerate(("true", "false"))
)


def cholesky_text(dtype: str) -> str:
    matrices = f"tensor<?x?x?x{dtype}>"
    return (
        f"func.func @main(%a: {matrices}) -> ({matrices}, {matrices}) {{\n{CHOLESKY.replace('TYPE', dtype)}\n"
        f"return %0, %1 : {matrices}, {matrices}\n}}"
    )


@pytest.mark.parametrize("dtype", ["f32", "complex<f64>", "bf16"])
def test_cholesky_is_that_of_xla(dtype: str) -> None:
    """Zeros in the other triangle, NaN everywhere if there is no factor."""
    text, kind = cholesky_text(dtype), NUMPY[dtype]
    run, device = shlo_disc.compile(text, options=FAST), jax.devices("cpu")[0]
    rng, wide = np.random.default_rng(3), np.complex128 if dtype.startswith("complex") else np.float64
    a = definite(random(rng, (4, 5, 5), wide))
    a[1] = -a[1]
    a[2, 3, 3] = np.nan
    with jax.enable_x64(True):
        given = a.astype(kind)
        wanted = [np.asarray(x) for x in xla_executable(text, [a.shape], device).execute([jax.device_put(given)])]
    for found, expected in zip(run(given), wanted, strict=True):
        tolerance = {"f32": 1e-5, "complex<f64>": 1e-13, "bf16": 2e-2}[dtype] * 10
        np.testing.assert_allclose(
            np.asarray(found).astype(wide), expected.astype(wide), rtol=tolerance, atol=tolerance
        )
    for shape in ((0, 3, 3), (2, 0, 0), (3, 1, 1)):
        ones = np.ones(shape, kind)
        assert all(np.array_equal(np.asarray(x), ones) for x in run(ones))


@pytest.mark.parametrize(("size", "grain"), [(4, "n_s0 + 1"), (12, "n_s0 + 1"), (13, "1"), (16, "1")])
def test_threads_do_not_share_tiny_matrices(size: int, grain: str) -> None:
    """A grain of more than the batch: calls of so little would wait for each other's lock."""
    matrices = f"tensor<?x{size}x{size}xf32>"
    text = (
        f"func.func @main(%a: {matrices}) -> {matrices} {{\n"
        f'%0 = "stablehlo.cholesky"(%a) <{{lower = true}}> : ({matrices}) -> {matrices}\nreturn %0 : {matrices}\n}}'
    )
    run = shlo_disc.compile(text, options=CompileOptions(optimize=1, threads=2))
    assert f"n_s0, {grain}, 0, scratch);" in run.kernels_source
    a = definite(random(np.random.default_rng(size), (67, size, size), np.float64)).astype(np.float32)
    (found,) = run(a)
    wanted = np.linalg.cholesky(np.tril(a) + np.swapaxes(np.tril(a, -1), 1, 2))
    np.testing.assert_allclose(np.tril(found), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.complex128])
@pytest.mark.parametrize(("left", "transpose"), [(True, False), (True, True), (False, False), (False, True)])
def test_fewer_reflectors_than_columns(dtype: Any, left: bool, transpose: bool) -> None:
    def product(a: Any, tau: Any, c: Any) -> Any:
        return lax.linalg.ormqr(a, tau, c, left=left, transpose=transpose)

    rng = np.random.default_rng()
    with jax.enable_x64(True):
        scope = export.SymbolicScope()
        shapes = ("b, r, n", "b, k", "b, r, m" if left else "b, m, r")
        specs = [jax.ShapeDtypeStruct(export.symbolic_shape(shape, scope=scope), dtype) for shape in shapes]
        exported = export.export(jax.jit(product), platforms=("cpu",), disabled_checks=CHECKS)(*specs)
        run = shlo_disc.compile(exported, options=FAST)
        for b, r, n, k, m in ((2, 5, 3, 1, 4), (1, 7, 9, 5, 3), (3, 4, 4, 4, 1), (2, 3, 2, 2, 2), (1, 17, 16, 9, 2)):
            given = (
                random(rng, (b, r, n), dtype),
                random(rng, (b, k), dtype),
                random(rng, (b, *((r, m) if left else (m, r))), dtype),
            )
            close(np.asarray(run(*given)), np.asarray(jax.jit(product)(*given)), TOLERANCES[np.dtype(dtype).char])


# -- other platforms, and what is refused


def of_cuda(function: Callable[..., Any], dtype: Any = np.float32) -> Any:
    (b,) = export.symbolic_shape("b")
    spec = jax.ShapeDtypeStruct((b, 5, 4), dtype)
    return shlo_disc.compile(export.export(jax.jit(function), platforms=("cuda",))(spec), device="cpu", options=FAST)


def test_exports_for_cuda_run_here() -> None:
    """By cuSOLVER's names: its gesvdj gives v, its interchanges become a permutation in a call of their own."""

    def function(a: Any) -> tuple[Any, ...]:
        return lax.linalg.lu(a), jnp.linalg.qr(a), jnp.linalg.svd(a, full_matrices=False), jnp.linalg.svd(a)

    rng = np.random.default_rng(4)
    a = random(rng, (3, 5, 4), np.float32)
    lu, qr, thin, whole = jax.tree.map(np.asarray, of_cuda(function)(a))
    jax.tree.map(lambda x, y: close(x, np.asarray(y), 1e-5), lu, jax.jit(lax.linalg.lu)(a))
    np.testing.assert_allclose(qr[0] @ qr[1], a, atol=1e-5)
    for u, s, v in (thin, whole):
        np.testing.assert_allclose((u[..., :4] * s[..., None, :]) @ v[..., :4, :], a, atol=1e-5)


CALL = """func.func @main(%a: tensor<2x3x3xf32>) -> tensor<2x3x3xf32> {
  %0:5 = stablehlo.custom_call @lapack_sgesdd_ffi(%a) {mhlo.backend_config = {mode = MODE : ui8}, LAYOUTS} :
    (tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<2x3xf32>, tensor<2x3x3xf32>, tensor<2x3x3xf32>, tensor<2xi32>)
  return %0#2 : tensor<2x3x3xf32>
}"""
COLUMNS, ROWS = "dense<[1, 2, 0]> : tensor<3xindex>", "dense<[2, 1, 0]> : tensor<3xindex>"


@pytest.mark.parametrize(
    ("mode", "order", "message"),
    [
        ("79", COLUMNS, "expected the mode A, S or N of gesdd, found O"),
        ("65", ROWS, "@lapack_sgesdd_ffi is supported for layouts by columns only"),
    ],
)
def test_what_jax_never_writes_is_refused(mode: str, order: str, message: str) -> None:
    vector, number = "dense<[1, 0]> : tensor<2xindex>", "dense<0> : tensor<1xindex>"
    layouts = f"operand_layouts = [{order}], result_layouts = [{order}, {vector}, {order}, {order}, {number}]"
    with pytest.raises(shlo_disc.UnsupportedOpError, match=message):
        shlo_disc.compile(CALL.replace("MODE", mode).replace("LAYOUTS", layouts), options=FAST)
