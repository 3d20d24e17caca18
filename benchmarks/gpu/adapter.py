"""The corpus runner's way to the GPU: one compilation per case, host arrays in and out."""

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

Array = NDArray[Any]
BROKEN = 70  # exit status of a process whose CUDA context a kernel has destroyed
DIGESTS = Path(tempfile.gettempdir()) / "shlo_disc_gpu_check"  # of a program's kernels, by the digest of its text
OPTIONS = shlo_disc.CompileOptions(driver="vm", matmul_precision="highest")


def digest(text: str) -> str:
    """What identifies a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def compile(text: str) -> Callable[[Sequence[Array]], list[Array]]:  # noqa: A001 - the runner's name
    """Compile once; all shapes of a case share it."""
    run = shlo_disc.compile(text, device="cuda", options=OPTIONS)
    DIGESTS.mkdir(exist_ok=True)
    (DIGESTS / digest(text)).write_text(digest(run.kernels_source))

    def call(inputs: Sequence[Array]) -> list[Array]:
        try:
            results = run(*inputs)
            cupy.cuda.runtime.deviceSynchronize()
        except cupy.cuda.runtime.CUDARuntimeError:
            os._exit(BROKEN)  # the context is lost: only this case may count as crashed
        return [cupy.asnumpy(x) for x in results]

    return call
