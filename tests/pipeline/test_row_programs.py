"""Random programs of maps and reductions over axes of one size: any number of threads gives what NumPy gives."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from tests.conftest import SEED
from tests.pipeline.exports import OPTIMIZED, Array, check, exported, flat
from tests.pipeline.guarded import guarded
from tests.pipeline.row_programs import INPUTS, function_of, sizes_of

PROGRAMS, CALLS = 32, 4
THREADS = (1, 2, 3, 8)
OPTIONS = replace(OPTIMIZED, driver="vm")  # one host program less to compile


@pytest.mark.parametrize("number", range(PROGRAMS))
def test_any_number_of_threads_gives_what_numpy_gives(number: int) -> None:
    seed = SEED * 1000 + number
    program = exported(function_of(seed, jnp), INPUTS)
    runs = {n: shlo_disc.compile(program, options=replace(OPTIONS, threads=n)) for n in THREADS}
    cut = guarded(runs[1], seed)  # launches in two pieces, the memory poisoned
    rng = np.random.default_rng([seed, 1])
    for call in range(CALLS):
        sizes = sizes_of(rng, is_long=call == 0)
        arrays = [one.array(rng, sizes) for one in INPUTS]
        wanted = [x.astype(np.float32) for x in function_of(seed, np)(*(x.astype(np.float64) for x in arrays))]
        alone = flat(runs[1], arrays)
        check(alone, wanted, f"seed {seed}, {sizes}", scale=5)
        assert _bits(list(cut([arrays[k] for k in program.module_kept_var_idx]))) == _bits(alone), (seed, sizes)
        for n in THREADS[1:]:
            assert _bits(flat(runs[n], arrays)) == _bits(alone), (seed, sizes, n)


def _bits(arrays: Sequence[Array]) -> list[bytes]:
    return [x.tobytes() for x in arrays]
