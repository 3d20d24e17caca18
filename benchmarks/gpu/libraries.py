"""cuSOLVER's and cuFFT's results against SciPy's, and a program that calls them, on a stream."""

# CuPy has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

import cupy
import jax
import jax.numpy as jnp
import numpy as np
from jax import export

import shlo_disc
from benchmarks.gpu.section import Section, gpu_seconds
from shlo_disc.linear_algebra import Routine
from shlo_disc.runtime.cuda.cupy_device import open_gpu
from shlo_disc.runtime.fourier import Transform, bind_fft
from tests.runtime.cuda.linear_algebra_cases import KINDS, Case, cases, near, numbers

TRANSFORMS: tuple[Transform, ...] = ("FFT", "IFFT", "RFFT", "IRFFT")
SIZES = ((1,), (2,), (7,), (3, 64), (0, 8), (2, 3, 5), (97, 128), (2, 4, 6, 8))


def main() -> None:
    """Check all that has a callee on the GPU, then time some."""
    section = Section()
    section.add("wrong", [])
    section.add("checked", {})
    for kind in KINDS:
        for case in cases(kind):
            _judge(section, case.routine.name, f"{case.routine} {[x.shape for x in case.inputs]} {kind.__name__}", case)
    for transform in TRANSFORMS:
        for shape in SIZES:
            for rank in range(1, min(3, len(shape)) + 1):
                for kind in (np.complex64, np.complex128):
                    _judge_fft(section, transform, rank, shape, kind)
    _judge_program(section)
    section.add("seconds", {name: _seconds(name, options, n) for name, options, n in TIMED})
    section.add("summary", [f"right: {section.report['checked']}, wrong: {len(section.report['wrong'])}"])


def _count(section: Section, name: str, what: str, error: Exception | None) -> None:
    if error is None:
        section.add("checked", dict(Counter(section.report["checked"]) + Counter([name])))
    else:
        section.append("wrong", f"{what}: {error}"[:400])


def _run(case: Case) -> list[Any]:
    given, found = ([cupy.asarray(x) for x in arrays] for arrays in (case.inputs, case.blank()))
    open_gpu().bind_routine(case.routine)(given, found)
    return [x.get() for x in found]


def _judge(section: Section, name: str, what: str, case: Case) -> None:
    failed = None
    try:
        case.check(_run(case))
    except Exception as error:  # noqa: BLE001 - the next one may be right
        failed = error
    _count(section, name, what, failed)


def _judge_fft(section: Section, transform: Transform, rank: int, shape: tuple[int, ...], kind: Any) -> None:
    """The input of IRFFT is any: what is not symmetric in it must count as it does for SciPy."""
    real = np.zeros(0, kind).real.dtype
    x = numbers(real if transform == "RFFT" else kind, *shape)
    last = {"RFFT": shape[-1] // 2 + 1, "IRFFT": 2 * shape[-1] - 1}.get(transform, shape[-1])
    result = np.zeros((*shape[:-1], last), real if transform == "IRFFT" else kind)
    on_gpu = cupy.asarray(result)
    failed = None
    try:
        bind_fft(transform, rank, 1)([x], [result])
        open_gpu().bind_fft(transform, rank)([cupy.asarray(x)], [on_gpu])
        near(on_gpu.get(), result)
    except Exception as error:  # noqa: BLE001
        failed = error
    _count(section, transform, f"{transform} of the last {rank} of {shape} {kind.__name__}", failed)


def _program(x: Any) -> Sequence[Any]:
    a = x @ x.mT + jnp.eye(x.shape[-1], dtype=x.dtype)
    values, vectors = jnp.linalg.eigh(a)
    return (
        jnp.linalg.cholesky(a),
        jnp.linalg.solve(a, x),
        jnp.linalg.svd(x, compute_uv=False),
        (vectors * values[..., None, :]) @ vectors.mT,
        jnp.abs(jnp.fft.rfft2(x)),
    )


def _compiled(device: Literal["cpu", "cuda"]) -> Any:
    shape = jax.ShapeDtypeStruct(export.symbolic_shape("b, 8, 8"), np.float32)
    options = shlo_disc.CompileOptions(matmul_precision="highest")
    exported = export.export(jax.jit(_program), platforms=(device,))(shape)
    return shlo_disc.compile(exported, device=device, options=options)


def _judge_program(section: Section) -> None:
    """Kernels before and behind the calls must be in order with them, on a stream that is not the default one."""
    x, failed = numbers(np.float32, 50, 8, 8), None
    try:
        with cupy.cuda.Stream(non_blocking=True) as stream:
            found = _compiled("cuda")(cupy.asarray(x))
            stream.synchronize()
        for mine, wanted in zip(found, _compiled("cpu")(x), strict=True):
            near(mine.get(), np.asarray(wanted))
    except Exception as error:  # noqa: BLE001
        failed = error
    _count(section, "program", "a program on a stream", failed)


TIMED = (
    ("potrf", "L", 1024), ("getrf", "", 1024), ("geqrf", "", 1024), ("syevd", "VL", 512), ("gesdd", "S", 256),
)  # fmt: skip


def _seconds(name: str, options: str, n: int) -> float:
    x = numbers(np.float32, n, n)
    a = cupy.asarray(x @ x.T + np.eye(n, dtype=np.float32))
    line, one = cupy.empty(n, np.float32), cupy.empty((), np.int32)
    results = {
        "potrf": [a.copy(), one], "getrf": [a.copy(), cupy.empty(n, np.int32), one], "geqrf": [a.copy(), line],
        "syevd": [a.copy(), line, one], "gesdd": [line, a.copy(), a.copy(), one],
    }[name]  # fmt: skip
    (seconds,) = gpu_seconds(partial(open_gpu().bind_routine(Routine(name, options)), [a], results))
    return seconds


if __name__ == "__main__":
    main()
