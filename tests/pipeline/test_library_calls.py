"""Custom calls of libraries: programs that JAX exports for GPUs and TPUs run on the CPU, and all targets are known."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import jaxlib
import numpy as np
import pytest
from jax import export, lax
from jax._src.config import threefry_gpu_kernel_lowering
from jax._src.export import _export
from jax._src.lax import linalg
from jax.experimental import sparse
from jaxlib import cpu_sparse, lapack

import shlo_disc
from shlo_disc.compiled import Compiled
from shlo_disc.diagnostics import UnsupportedOpError
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.legalize.rules_custom_calls import CUSTOM, op_of_target
from shlo_disc.legalize.rules_library import reason_against
from shlo_disc.pipeline import compile_for
from shlo_disc.runtime.cuda.backend import CudaBackend
from tests.emulator.device import EmulatedDevice
from tests.pipeline.exports import FAST, Array

ALL = [export.DisabledSafetyCheck.custom_call("ALL")]
SIZES = ((1, 1, 1), (2, 3, 2), (3, 17, 5))


def exported(function: Callable[..., Any], platform: str, *specs: Any) -> export.Exported:
    return export.export(jax.jit(function), platforms=(platform,), disabled_checks=ALL)(*specs)


def specs(dtype: Any, *shapes: str) -> list[Any]:
    scope = export.SymbolicScope()
    return [jax.ShapeDtypeStruct(export.symbolic_shape(shape, scope=scope), dtype) for shape in shapes]


def on_cpu(function: Callable[..., Any], platform: str, *specs: Any) -> Compiled:
    return shlo_disc.compile(exported(function, platform, *specs), device="cpu", options=FAST)


def numbers(dtype: Any, *shape: int) -> Array:
    rng = np.random.default_rng(shape)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    return x.astype(dtype) if np.dtype(dtype).kind == "c" else x.real.astype(dtype)


def solved(lower: Any, diagonal: Any, upper: Any, b: Any) -> Any:
    return lax.linalg.tridiagonal_solve(lower, diagonal, upper, b, perturb_singular=True)


def singular(dtype: Any, b: int, n: int) -> tuple[Any, ...]:
    """Diagonals of matrices: one with a 0 as a pivot, one of zeros, one whose pivots are too small to divide by."""
    lower, diagonal, upper = (numbers(dtype, k, b, n)[0] for k in (1, 2, 3))
    diagonal[0, n // 2] = lower[0, n // 2] = upper[0, n // 2 - 1] = 0
    if b > 1:
        lower[1], diagonal[1], upper[1] = 0, 0, 0
    if b > 2:
        diagonal[2], lower[2] = np.finfo(dtype).tiny / 8, 0
    return lower, diagonal, upper


@pytest.mark.parametrize(("dtype", "platform"), [(np.float32, "cpu"), (np.complex128, "cuda")])
def test_singular_tridiagonal_systems(dtype: Any, platform: str) -> None:
    with jax.enable_x64(True):
        run = on_cpu(solved, platform, *specs(dtype, "b, n", "b, n", "b, n", "b, n, m"))
        for b, n, m in (*SIZES, (2, 40, 1)):
            given = (*singular(dtype, b, n), numbers(dtype, b, n, m))
            wanted = np.asarray(jax.jit(solved)(*given))
            assert np.isfinite(wanted).all()
            # pivots next to 0 are moved to a small number: quotients by it lose half the digits
            np.testing.assert_allclose(run(*given), wanted, rtol=2e-3 if dtype == np.float32 else 1e-11)


@pytest.mark.parametrize(
    ("dtype", "library"), [(np.float64, "cusolver"), (np.complex64, "cusolver"), (np.float32, "cuhybrid")]
)
def test_eigenvectors_of_a_gpu(dtype: Any, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX asks for cuSOLVER's where it is new enough, and unpacks the real vectors itself."""
    version = 11702 if library == "cusolver" else 11000
    monkeypatch.setattr(linalg, "cuda_versions", SimpleNamespace(cusolver_get_version=lambda: version))
    with jax.enable_x64(True):
        source = exported(jnp.linalg.eig, "cuda", *specs(dtype, "b, n, n"))
        assert f"@{library}" in source.mlir_module()
        run = shlo_disc.compile(source, device="cpu", options=FAST)
        for b, n, _ in SIZES:
            a = numbers(dtype, b, n, n)
            w, v = run(a)
            np.testing.assert_allclose(a @ v, v * w[:, None, :], atol=1e-4 if a.dtype.itemsize < 16 else 1e-11)
            found, wanted = (np.sort_complex(x.ravel()) for x in (w, np.linalg.eigvals(a).astype(w.dtype)))
            np.testing.assert_allclose(
                found, wanted, atol=1e-4 if a.dtype.itemsize < 16 and dtype != np.float64 else 1e-11
            )


def updated(r: Any, w: Any, a: Any, c: Any) -> tuple[Any, ...]:
    factored: Any = jax.scipy.linalg.qr(a, pivoting=True)
    q, upper, order = factored
    return (
        linalg.cholesky_update_p.bind(r, w), linalg.symmetric_product_p.bind(a, c, alpha=2.0, beta=0.5),
        q @ upper, jnp.take_along_axis(a, order[None, :], -1), lax.empty((2, 3), a.dtype),
    )  # fmt: skip


def test_products_and_factors_of_a_gpu() -> None:
    for n, k in ((1, 1), (5, 3), (16, 17)):
        a, c, w = numbers(np.float32, n, k), numbers(np.float32, n, n), numbers(np.float32, n)
        r = np.triu(np.linalg.qr(c)[1]).astype(np.float32)
        w[n // 2] = 0  # nothing to rotate
        given = (r, w, a, c)
        got = on_cpu(updated, "cuda", *given)(*given)
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-4), got[:2], jax.jit(updated)(*given)[:2])
        np.testing.assert_allclose(got[2], got[3], atol=1e-4)
        assert not np.asarray(got[4]).any()


def drawn(data: Any, x: Any) -> Any:
    first, second = jax.random.split(jax.random.wrap_key_data(data))
    return jax.random.bits(first, x.shape), jax.random.normal(second, x.shape)


@pytest.fixture
def by_threefry() -> Iterator[None]:
    """JAX calls a kernel for its random numbers on a GPU."""
    with jax.threefry_partitionable(False), threefry_gpu_kernel_lowering(True):
        yield


@pytest.mark.usefixtures("by_threefry")
def test_threefry_of_a_gpu_draws_the_same_numbers() -> None:
    (x,) = specs(np.float32, "n, 3")
    source = exported(drawn, "cuda", jax.ShapeDtypeStruct((2,), np.uint32), x)
    assert "@cu_threefry2x32_ffi" in source.mlir_module()
    run, key = shlo_disc.compile(source, device="cpu", options=FAST), np.array([7, 4000000000], np.uint32)
    for n in (1, 2, 17, 64):
        given = key, np.zeros((n, 3), np.float32)
        got, wanted = run(*given), jax.jit(drawn)(*given)
        np.testing.assert_array_equal(got[0], wanted[0])
        np.testing.assert_allclose(got[1], wanted[1], rtol=1e-5, atol=1e-6)


def of_tpu(a: Any, s: Any) -> tuple[Any, ...]:
    jacobi = lax.linalg.EighImplementation.JACOBI
    return (
        lax.linalg.lu(a), jnp.linalg.qr(a), lax.linalg.eigh(s, symmetrize_input=False, implementation=jacobi),
        lax.linalg.eigh(s, lower=False, symmetrize_input=False, implementation=jacobi),
    )  # fmt: skip


def test_decompositions_of_a_tpu() -> None:
    run = on_cpu(of_tpu, "tpu", *specs(np.float32, "b, 5, 3", "b, 3, 3"))
    for b in (1, 2, 17):
        a, s = numbers(np.float32, b, 5, 3), numbers(np.float32, b, 3, 3)
        lu, (q, r), *eighs = run(a, s)
        jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-4), lu, jax.jit(lax.linalg.lu)(a))
        np.testing.assert_allclose(q @ r, a, atol=1e-5)
        for (v, w), triangle in zip(eighs, (np.tril(s), np.triu(s)), strict=True):
            whole = triangle + np.swapaxes(triangle, -1, -2) - s * np.eye(3, dtype=s.dtype)
            np.testing.assert_allclose(whole @ v, v * np.asarray(w)[:, None, :], atol=1e-4)


def compressed(dense: Array) -> sparse.BCSR:
    """Its elements that are not 0, and two more that stand for nothing."""
    return sparse.BCSR.fromdense(dense, nse=int(np.count_nonzero(dense)) + 2)


def multiplied(matrix: Any, x: Any, y: Any) -> Any:
    return matrix @ x, matrix @ y


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_sparse_products(dtype: Any) -> None:
    for rows, columns, m in ((1, 1, 1), (17, 40, 3)):
        full = numbers(dtype, rows, columns)
        dense = np.where(np.random.default_rng(rows).random((rows, columns)) < 0.3, full, 0)
        given = compressed(dense), numbers(dtype, columns), numbers(dtype, columns, m)
        source = exported(multiplied, "cpu", *given)
        assert "@cpu_csr_sparse_dense_ffi" in source.mlir_module()
        for got, x in zip(shlo_disc.compile(source, device="cpu", options=FAST)(*given), given[1:], strict=True):
            np.testing.assert_allclose(got, dense @ x, atol=1e-5)


solve_sparse: Callable[..., Any] = sparse.linalg.spsolve


def test_sparse_systems() -> None:
    for n in (1, 17):
        dense = np.where(np.random.default_rng(n).random((n, n)) < 0.3, numbers(np.float32, n, n), 0)
        dense = dense + 9 * np.eye(n, dtype=np.float32)
        matrix, b = compressed(dense), numbers(np.float32, n)
        given = (matrix.data, matrix.indices, matrix.indptr, b)
        run = on_cpu(solve_sparse, "cuda", *given)
        np.testing.assert_allclose(dense @ run(*given), b, atol=1e-5)
        assert np.isnan(run(np.zeros_like(given[0]), *given[1:])).all()


def on_gpu(key: Any, diagonals: Any, b: Any, r: Any, w: Any, matrix: Any) -> tuple[Any, ...]:
    elements, (lower, diagonal, upper) = (matrix.data, matrix.indices, matrix.indptr), diagonals
    return (
        jax.random.bits(jax.random.wrap_key_data(key), (5,)), solved(lower, diagonal, upper, b),
        linalg.cholesky_update_p.bind(r, w), solve_sparse(*elements, w),
    )  # fmt: skip


@pytest.mark.usefixtures("by_threefry")
def test_a_gpu_computes_what_the_cpu_does() -> None:
    n = 5
    given = (
        np.array([7, 4000000000], np.uint32), singular(np.float32, 3, n), numbers(np.float32, 3, n, 2),
        np.eye(n, dtype=np.float32), numbers(np.float32, n), compressed(np.eye(n, dtype=np.float32) * 3),
    )  # fmt: skip
    source = exported(on_gpu, "cuda", *given)
    wanted = shlo_disc.compile(source, device="cpu", options=FAST)(*given)
    for got, expected in zip(compile_for(CudaBackend(EmulatedDevice()), source, FAST)(*given), wanted, strict=True):
        # (of a singular system, as above; the others are exact or nearly)
        np.testing.assert_allclose(got, expected, rtol=2e-3, atol=1e-6)


RANKED = ("i1", "i4", "ui8", "i64", "f32", "bf16", "f8E4M3FN", "f4E2M1FN")


def first_k() -> str:
    """The largest and the smallest three of each row, in every kind of type."""
    lines, types = list[str](), list[str]()
    for k, name in enumerate(RANKED):
        x, results = f"tensor<?x9x{name}>", f"(tensor<?x3x{name}>, tensor<?x3xi32>)"
        attributes = "{mhlo.attributes = {k = 3 : i64, largest = false}}"
        lines += [
            f"%a{k}:2 = chlo.top_k(%x{k}, k = 3) : {x} -> {results}",
            f"%b{k}:2 = stablehlo.custom_call @mhlo.topk(%x{k}) {attributes} : ({x}) -> {results}",
        ]
        types += [f"tensor<?x3x{name}>", "tensor<?x3xi32>"] * 2
    values = ", ".join(f"%{way}{k}#{part}" for k in range(len(RANKED)) for way in "ab" for part in "01")
    arguments = ", ".join(f"%x{k}: tensor<?x9x{name}>" for k, name in enumerate(RANKED))
    body = "\n".join([*lines, f"return {values} : {', '.join(types)}"])
    return f"func.func @main({arguments}) -> ({', '.join(types)}) {{\n{body}\n}}"


def rank(x: Array, name: str) -> Array:
    """Integers in the total order of IEEE 754: -NaN, -inf, ..., -0, +0, ..., NaN."""
    if not DType(name).is_float:
        return x.astype(np.int64)
    bits = x.astype(np.float32).view(np.int32).astype(np.int64)
    return np.where(bits < 0, bits ^ 0x7FFFFFFF, bits)


def test_the_first_k_of_every_type() -> None:
    """Of equal elements the first one comes first, in both orders."""
    run, rng = shlo_disc.compile(first_k(), device="cpu", options=FAST), np.random.default_rng(11)
    for rows in (1, 2, 17):
        given = [rng.integers(-3, 4, (rows, 9)).astype(numpy_dtype(DType(name))) for name in RANKED]
        for x, name in zip(given, RANKED, strict=True):
            if DType(name).is_float:
                x[0, 2], x[0, 7] = -0.0, np.nan if name != "f4E2M1FN" else 0
        results = iter(run(*given))
        for x, name in zip(given, RANKED, strict=True):
            for sign in (-1, 1):
                order = np.argsort(sign * rank(x, name), axis=-1, kind="stable")[:, :3]
                values, places = next(results), next(results)
                np.testing.assert_array_equal(places, order)
                found, wanted = np.asarray(values).astype(np.float64), np.take_along_axis(x, order, -1)
                np.testing.assert_array_equal(found, wanted.astype(np.float64))


# -- every target that JAX knows

IN_TEXT = re.compile(r'"((?:\{target_name_prefix\}|\{platform\})\w+|(?:cu|cpu_)\w*_ffi)"')
FOLDERS = ("jax/_src/lax", "jax/_src/random", "jax/experimental/sparse")


def targets() -> Iterator[str]:
    """What jaxlib registers for the CPU, what JAX promises to keep, and what its lowerings for GPUs spell."""
    for registered in (lapack.registrations(), cpu_sparse.registrations()):
        yield from (name for name, *_ in registered["cpu"])
    yield from _export._CUSTOM_CALL_TARGETS_GUARANTEED_STABLE  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    root = Path(jaxlib.__file__).parents[1]
    for path in (path for folder in FOLDERS for path in (root / folder).rglob("*.py")):
        for name in IN_TEXT.findall(path.read_text()):
            yield re.sub(r"\{\w+\}", "cu", name)


def test_every_target_of_jax_runs_or_is_refused_for_a_reason() -> None:
    known = set(targets())
    assert {"cusolver_syrk_ffi", "cu_tridiagonal_solve_perturbed", "cpu_csr_sparse_dense_ffi"} < known
    assert len(known) > 120
    unknown = [name for name in sorted(known) if name not in CUSTOM and not reason_against(name)]
    assert not unknown
    assert not [name for name in CUSTOM if reason_against(name)]
    assert not any(map(op_of_target, known))


def test_a_target_that_is_refused_says_why() -> None:
    call = "stablehlo.custom_call @TARGET(%x) : (tensor<f32>) -> tensor<f32>"
    source = "func.func @main(%x: tensor<f32>) -> tensor<f32> {\n %0 = CALL\n return %0 : tensor<f32>\n}"
    for target, reason in (
        ("cusparse_coo_matmat_ffi", "the memory of a C"), ("mosaic_gpu_v2", "written for other hardware"),
        ("xla_ffi_partitioned_python_cpu_callback", "the text does not hold the function"),
        ("hipsolver_getrf_ffi", "for AMD's GPUs"), ("ragged_all_to_all", "several devices"),
    ):  # fmt: skip
        with pytest.raises(UnsupportedOpError, match=f"not supported for the target @{target}: .*{reason}"):
            shlo_disc.compile(source.replace("CALL", call.replace("TARGET", target)), device="cpu")


def test_jax_exports_no_callbacks() -> None:
    """`pure_callback` and its like are objects of a process: JAX refuses them before we see them."""
    spec = jax.ShapeDtypeStruct((2,), np.float32)

    def called(x: Any) -> Any:
        return jax.pure_callback(np.sin, spec, x)

    with pytest.raises(NotImplementedError, match="serialization of host_callbacks"):
        export.export(jax.jit(called), disabled_checks=ALL)(spec)
