"""The corpus runner's way to the GPU: one compilation per case, and several calls with arrays that stay on the device.

All options are the default ones but for what `PRECISION` says in the environment.
"""

# CuPy has no types.
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import cupy
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.check.calls import repeated
from shlo_disc.runtime.cuda.executable import GpuExecutable
from shlo_disc.runtime.memory import POOL

Array = NDArray[Any]
BROKEN = 70  # exit status of a process whose CUDA context a kernel has destroyed
DIGESTS = Path(tempfile.gettempdir()) / "shlo_disc_gpu_check"  # of a program's kernels, by the digest of its text
PRECISION = "SHLO_DISC_GPU_PRECISION"  # `default` (TF32) or `highest`
POOL.poisons = True  # what a program reads without having written it shall not be right by chance


def digest(text: str) -> str:
    """What identifies a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def compile(text: str) -> Callable[[Sequence[Array]], list[Array]]:  # noqa: A001 - the runner's name
    """Compile once; all shapes of a case share it."""
    precision = "highest" if os.environ.get(PRECISION) == "highest" else "default"
    run = shlo_disc.compile(text, device="cuda", options=shlo_disc.CompileOptions(matmul_precision=precision))
    DIGESTS.mkdir(exist_ok=True)
    (DIGESTS / digest(text)).write_text(f"{digest(run.kernels_source)} {digest(run.host_source)}")
    executable = run.executable

    def once(inputs: Sequence[Array]) -> Sequence[Any]:
        return run(*inputs)

    several = repeated(executable) if isinstance(executable, GpuExecutable) else once

    def call(inputs: Sequence[Array]) -> list[Array]:
        try:
            results = several(inputs)
            cupy.cuda.runtime.deviceSynchronize()
        except cupy.cuda.runtime.CUDARuntimeError:
            os._exit(BROKEN)  # the context is lost: only this case may count as crashed
        return [cupy.asnumpy(x) for x in results]

    return call
