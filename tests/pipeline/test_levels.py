# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false
"""Code for each level of x86-64 compiles, and gives what code for this CPU gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc.runtime.building.machines import MACHINES
from tests.pipeline.exports import OPTIMIZED

LEVELS = [name for name in MACHINES if name.startswith("x86-64")]
TYPES = ("i1", "i8", "i32", "f16", "f32")


def moved(*arrays: Any) -> list[Any]:
    """Elements of each type read backwards, with steps, between padding, at computed places and across rows."""
    found = list[Any]()
    for x in arrays:
        zero = jnp.zeros((), x.dtype)
        found += [x[:, ::-1], x[:, ::3], x[::-2], lax.pad(x, zero, ((0, 0, 1), (1, 2, 2))), x.T, jnp.roll(x, 1, 1)]
        found.append(x[:, jnp.arange(x.shape[1]) * 5 % 11 % 3])
        found.append(jnp.where(x[::-1] == x, x, x[:, ::-1]))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_elements_of_all_types_move_as_on_this_cpu(level: str, tmp_path: Path) -> None:
    """A CPU with AVX-512 may lack what this one has, such as permutations of bytes."""
    shapes = ", ".join(f"{kind}[b, s]" for kind in TYPES)
    run: Any = shlo_disc.compile(moved, shapes=shapes, device="cpu", constraints=("s >= 3",), options=OPTIMIZED)
    try:
        run.save(tmp_path / "moved.shlo", targets=(level,))
        other: Any = shlo_disc.load(tmp_path / "moved.shlo", code="trust")
    except shlo_disc.ShloDiscError as error:
        if "code that this CPU runs" not in str(error):
            raise
        pytest.skip(f"this CPU does not run {level}")
    rng = np.random.default_rng(5)
    for b, s in ((1, 3), (3, 17), (5, 64), (2, 129)):
        drawn = [rng.integers(-3, 3, (b, s)) for _ in TYPES]
        dtypes = (np.bool_, np.int8, np.int32, np.float16, np.float32)
        arrays = [x.astype(dtype) for x, dtype in zip(drawn, dtypes, strict=True)]
        for number, (found, expected) in enumerate(zip(other(*arrays), run(*arrays), strict=True)):
            np.testing.assert_array_equal(found, expected, err_msg=f"{number} of [{b}, {s}]")
