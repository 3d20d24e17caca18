"""LAPACK's routines as kernels: their sizes and workspaces; `device/linear_algebra/lapack.h` loops over the batch.

A workspace has at least the size that LAPACK's documentation requires, and suffices for blocks of `_BLOCK` columns.
Routines adapt to the size that they are given, so that compilation needs no workspace queries to the library.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shlo_disc.dynamic_ops.linear_algebra import HessenbergAttrs, LapackAttrs, routine
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import ONE, ZERO, Dim, const, maximum, minimum, product, total
from shlo_disc.host.host_calls import HostLibraries
from shlo_disc.host.program import InPlace
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.groups import Group
from shlo_disc.linear_algebra import Routine
from shlo_disc.lower_cpu.lowered import LoweredGroup
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.templates import SIZES, KernelBody, signature, union
from shlo_disc.lower_cpu.work import WORK_PER_THREAD
from shlo_disc.records import record

_LETTERS = {DType.F32: "s", DType.F64: "d", DType.C64: "c", DType.C128: "z"}
_BLOCK = 64  # the largest block size of ilaenv for these routines
_REFLECTOR = 65 * 64  # the triangular factor of a block, which ormqr and gehrd keep behind their workspace
_CALL = 1 << 14  # cost of calling a routine, in additions
# OpenBLAS takes a process-wide lock in each call of its own routines (LAPACK's in Fortran do not). It dominates the
# time of small matrices: two threads take 1.6 to 2.8 times as long as one for 4 x 4, 0.98 to 1.75 times for 8 x 8,
# 0.53 to 0.79 times for 16 x 16. The bound is in multiplications.
_LOCKING = frozenset({"potrf", "cholesky", "trsm", "getrf"})
_WORTH_A_LOCK = 1 << 11


@record
class _LapackSizes:
    """The sizes of `ShloLapack`, and the arrays in scratch: numbers of elements, of real parts, of int32.

    `pairs`: numbers of operands, and of the results that may overwrite them; the kernel has read them by then.
    """

    m: Dim
    n: Dim
    k: Dim
    elements: tuple[Dim, ...] = ()
    reals: tuple[Dim, ...] = ()
    integers: tuple[Dim, ...] = ()
    pairs: tuple[tuple[int, int], ...] = ((0, 0),)


@record
class LapackKernel:
    """One op on a batch of matrices.

    `array_bytes` are the sizes of the arrays in scratch, `work` is the cost of a matrix in additions. `alone` is 1 if
    one thread computes the batch, else 0.
    """

    name: str
    tensors: tuple[Tensor, ...]
    sizes: _LapackSizes
    options: str
    array_bytes: tuple[Dim, ...]
    batch: Dim
    work: Dim
    alone: Dim

    @property
    def scratch(self) -> Dim:
        """Bytes of private memory."""
        return total(self.array_bytes)

    @property
    def in_place(self) -> InPlace:
        """Positions of operands, and of results of the same type that may reuse their memory."""
        operands = len(self.tensors) - self._results
        found = list[tuple[int, int]]()
        for operand, result in self.sizes.pairs:
            a, b = self.tensors[operand], self.tensors[operands + result]
            if (a.shape, a.dtype) == (b.shape, b.dtype) and self.tensors.count(a) == 1:
                found.append((operand, operands + result))
        return tuple(found)

    _results: int = 1


def lower_lapack(group: Group) -> LoweredGroup:
    """One task, which launches the parallel loop over the batch itself."""
    kernel = build_lapack(group)
    body = print_lapack(kernel, maximum(1, const(WORK_PER_THREAD) // kernel.work))
    work = kernel.batch * kernel.work
    return LoweredGroup(body, kernel.tensors, ONE, work, kernel.scratch, in_place=kernel.in_place)


def _matrix(op: Op[Any]) -> tuple[Dim, Dim]:
    m, n = op.operands[0].shape[-2:]
    return m, n


def _plain(op: Op[Any]) -> _LapackSizes:
    m, n = _matrix(op)
    return _LapackSizes(m, n, n)


def _solve(op: Op[Any]) -> _LapackSizes:
    m, n = op.operands[1].shape[-2:]
    return _LapackSizes(m, n, op.operands[0].shape[-1], pairs=((1, 0),))


def _copied(op: Op[Any]) -> _LapackSizes:
    m, n = _matrix(op)
    return _LapackSizes(m, n, minimum(m, n), (m * n,))


def _qr(op: Op[Any]) -> _LapackSizes:
    m, n = _matrix(op)
    return _LapackSizes(m, n, minimum(m, n), (m * n, maximum(n, 1) * _BLOCK))


def _pivoted_qr(op: Op[Any]) -> _LapackSizes:
    m, n = _matrix(op)
    work = 2 * n + (n + 1) * _BLOCK
    return _LapackSizes(m, n, minimum(m, n), (m * n, work), (2 * n,), pairs=((0, 0), (1, 1)))


def _orthogonal(op: Op[Any]) -> _LapackSizes:
    m, n = _matrix(op)
    return _LapackSizes(m, n, op.operands[1].shape[-1], (m * n, maximum(n, 1) * _BLOCK))


def _orthogonal_product(op: Op[Any]) -> _LapackSizes:
    (rows, k), (m, n) = _matrix(op), op.operands[2].shape[-2:]
    across = n if op.attrs.options[0] == "L" else m
    return _LapackSizes(m, n, k, (rows * k, m * n, maximum(across, 1) * _BLOCK + _REFLECTOR), pairs=((2, 0),))


def _singular_vectors(op: Op[Any]) -> tuple[Dim, Dim, Dim, Dim, Dim, Dim]:
    """m, n, the smaller and the larger of them, the elements of both matrices of vectors."""
    (m, n), job = _matrix(op), op.attrs.options
    low, high = minimum(m, n), maximum(m, n)
    if job == "N":
        return m, n, low, high, ZERO, ZERO
    return m, n, low, high, m * (m if job == "A" else low), n * (n if job == "A" else low)


def _gesdd(op: Op[Any]) -> _LapackSizes:
    m, n, low, high, u, v = _singular_vectors(op)
    blocks = (m + n) * _BLOCK + _REFLECTOR
    squares = (3 if op.operands[0].dtype.is_complex else 4) * low * low
    reals = maximum(5 * low * low + 7 * low, 2 * high * low + 2 * low * low + low)
    pairs = ((0, 1), (0, 2)) if op.attrs.options != "N" else ()
    return _LapackSizes(m, n, low, (m * n, u, v, squares + 7 * low + high + blocks), (reals,), (8 * low,), pairs)


def _gesvd(op: Op[Any]) -> _LapackSizes:
    m, n, low, high, u, v = _singular_vectors(op)
    work = 2 * low * low + 5 * low + high + (m + n) * _BLOCK + _REFLECTOR
    pairs = ((0, 1), (0, 2)) if op.attrs.options != "N" else ()
    return _LapackSizes(m, n, low, (m * n, u, v, work), (5 * low,), (ZERO,), pairs)


def _syevd(op: Op[Any]) -> _LapackSizes:
    _, n = _matrix(op)
    large = 1 + 6 * n + 2 * n * n
    is_complex = op.operands[0].dtype.is_complex
    work = 2 * n + n * n if is_complex else large
    pairs = ((0, 0),) if op.attrs.options[0] == "V" else ()
    return _LapackSizes(n, n, n, (n * n, maximum(work, 1)), (large if is_complex else ZERO,), (3 + 5 * n,), pairs)


def _geev(op: Op[Any]) -> _LapackSizes:
    _, n = _matrix(op)
    pairs = tuple((0, k) for k in range(1, len(op.results) - 1))
    work = 5 * n + maximum(2 * n, 1) * _BLOCK + _REFLECTOR
    vectors = tuple(n * n if job == "V" else ZERO for job in op.attrs.options)
    return _LapackSizes(n, n, n, (n * n, *vectors, work), (2 * n,), pairs=pairs)


def _gees(op: Op[Any]) -> _LapackSizes:
    _, n = _matrix(op)
    work = 3 * n + maximum(n, 1) * _BLOCK + _REFLECTOR
    return _LapackSizes(n, n, n, (n * n, n * n if op.attrs.options == "V" else ZERO, work), (n,))


def _hessenberg(op: Op[HessenbergAttrs]) -> _LapackSizes:
    _, n = _matrix(op)
    return _LapackSizes(const(op.attrs.low), n, const(op.attrs.high), (n * n, maximum(n, 1) * _BLOCK + _REFLECTOR))


def _tridiagonal(op: Op[Any]) -> _LapackSizes:
    m, n = op.operands[3].shape[-2:]
    return _LapackSizes(m, n, ONE, (m * n,), pairs=((0, 0), (1, 1), (2, 2), (3, 3)))


def _perturbed(op: Op[Any]) -> _LapackSizes:
    m, n = op.operands[3].shape[-2:]
    return _LapackSizes(m, n, ONE, (3 * m,), pairs=((3, 0),))


def _update(op: Op[Any]) -> _LapackSizes:
    _, n = _matrix(op)
    return _LapackSizes(n, n, ONE, pairs=((0, 0), (1, 1)))


def _permutation(op: Op[Any]) -> _LapackSizes:
    return _LapackSizes(ONE, op.results[0].shape[-1], op.operands[0].shape[-1], pairs=())


_ROUTINES: Mapping[str, Callable[[Op[Any]], _LapackSizes]] = {
    "potrf": _plain, "cholesky": _plain, "trsm": _solve, "getrf": _copied, "geqrf": _qr,
    "geqp3": _pivoted_qr, "orgqr": _orthogonal, "ormqr": _orthogonal_product, "gesdd": _gesdd,
    "gesvd": _gesvd, "syevd": _syevd, "sytrd": _qr, "geev": _geev, "gees": _gees, "gehrd": _hessenberg,
    "gtsv": _tridiagonal, "gtsv_perturbed": _perturbed, "cholesky_update": _update,
    "pivots_to_permutation": _permutation,
}  # fmt: skip
_OF_VECTORS = frozenset({"gtsv", "gtsv_perturbed", "pivots_to_permutation"})  # whose first operands are vectors


def build_lapack(group: Group) -> LapackKernel:
    """The kernel of a group of one op."""
    (op,) = group.ops
    name, dtype = routine(op).name, op.operands[0].dtype
    sizes = _ROUTINES[name](op)
    counts = [
        *((count, dtype.bytes) for count in sizes.elements),
        *((count, dtype.part.bytes) for count in sizes.reals),
        *((count, DType.I32.bytes) for count in sizes.integers),
    ]
    options = op.attrs.options if isinstance(op.attrs, LapackAttrs) else ""
    batch = op.operands[0].shape[: -1 if name in _OF_VECTORS else -2]
    size = sizes.m * sizes.n * sizes.k
    return LapackKernel(
        name=f"shlo_{_LETTERS.get(dtype, '')}{name}",
        tensors=(*op.operands, *op.results),
        sizes=sizes,
        options=options,
        array_bytes=tuple((count * size + 63) // 64 * 64 for count, size in counts),
        batch=product(batch),
        work=size + _CALL,
        alone=minimum(1, const(_WORTH_A_LOCK - 1) // maximum(1, size)) if name in _LOCKING else ZERO,
        _results=len(op.results),
    )


def print_lapack(kernel: LapackKernel, grain: Dim) -> KernelBody:
    """A function for a range of matrices, and the kernel that launches it in parallel, at least `grain` at a time."""
    inner, sizes = Emitter(VectorSpelling()), kernel.sizes
    m, n, k = (inner.dim_scalar(size) for size in (sizes.m, sizes.n, sizes.k))
    array_bytes = ", ".join(inner.dim_scalar(size) for size in kernel.array_bytes) or "0"
    statements = [
        *inner.scopes[0].lines,
        f"const int64_t array_bytes[] = {{{array_bytes}}};",
        f'const ShloLapack op = {{{m}, {n}, {k}, "{kernel.options}", array_bytes}};',
        f"{kernel.name}(&op, buffers, begin, end, scratch);",
    ]
    part = f"{NAME}_matrices"
    function = [*signature("static", part), SIZES, *(INDENT + line for line in statements), "}"]
    outer = Emitter(VectorSpelling())
    least = grain + kernel.alone * kernel.batch
    batch, least, scratch = (outer.dim_scalar(size) for size in (kernel.batch, least, kernel.scratch))
    call = f"shlo_lapack_batch(runtime, {part}, buffers, dims, {batch}, {least}, {scratch}, scratch);"
    used = union(tuple(inner.sizes), tuple(outer.sizes))
    return KernelBody(tuple(function), (*outer.scopes[0].lines, call), used, ("lapack",))


def _library(found: Routine) -> tuple[str, str] | None:
    """SciPy where LAPACK has no such routine; kernels call LAPACK directly."""
    return ("host_routine", "SciPy") if found.is_in_python else None


LIBRARIES = HostLibraries("cpu", "SciPy's pocketfft", _library)
