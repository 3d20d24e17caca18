"""Local padding, ablated: the predicates that a product evaluates on the emulated GPU, with and without it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tests.emulator.run import launch, poisoned

Kernel: TypeAlias = Literal["padded", "checked"]
TEXT = Path(__file__).parent / "local_padding.cu"
TILE, THREADS = 64, 128  # rows and columns of a tile, and threads of its block, as in the text


@dataclass(frozen=True, slots=True)
class Counted:
    """The result [m, n] of a product, and how many predicates all threads evaluated."""

    result: NDArray[Any]
    predicates: int


def count(kernel: Kernel, x: NDArray[Any], w: NDArray[Any]) -> Counted:
    """Multiply x [m, k] by w [k, n], both f32, on the emulated GPU."""
    (m, k), n = x.shape, w.shape[1]
    blocks = -(-m // TILE) * -(-n // TILE)
    predicates = poisoned((blocks * THREADS,), np.int64)
    arrays = [x, w, poisoned((m, n), np.float32), predicates, m, n, k]
    _, _, result, found = launch(TEXT.read_text(), kernel, blocks, THREADS, arrays)
    return Counted(result, int(found.sum()))
