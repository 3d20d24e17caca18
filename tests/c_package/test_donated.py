# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Packages of programs with donated arguments: results in their memory, or elsewhere, have the bits of Python."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc.runtime.memory import aligned
from tests.c_package.in_process import Array, Model
from tests.c_package.packages import ARGUMENT, OK, assert_same_bits

SIZES = (1, 2, 7, 16, 33, 130)


class Donating(NamedTuple):
    """A function, the types of its arguments, which are donated, and the result that each holds in the end."""

    function: Any
    shapes: str
    donate: list[int]
    results: dict[int, int]


def _step(x: Any, g: Any, rate: Any) -> Any:
    return x - rate * g, g.sum(0)


def _sums(x: Any) -> Any:
    return jnp.cumsum(jnp.cumsum(x, axis=0) * 2, axis=0).sum(0)


PROGRAMS = {
    "step": Donating(_step, "f32[n, 5], f32[n, 5], f32[]", [0], {0: 0}),
    "returned": Donating(lambda x, y: (y, x * 2), "f32[n, 3], f32[n, 3]", [1, 0], {1: 0, 0: 1}),
    "temporaries": Donating(_sums, "f32[n, 8]", [0], {0: -1}),
    "unused": Donating(lambda x: x.sum(), "f32[n, 8]", [0], {}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_donated_arguments_have_the_bits_of_python(name: str, tmp_path: Path) -> None:
    one, options = PROGRAMS[name], shlo_disc.CompileOptions(optimize=0)
    run, plain = (
        shlo_disc.compile(one.function, shapes=one.shapes, device="cpu", donate=donate, options=options)
        for donate in (one.donate, [])
    )
    run.build(tmp_path, target="native")
    artifact = run.executable.artifact
    model = Model(tmp_path, artifact, threads=2)
    described = [model.tensor("argument", k) for k in range(len(artifact.arguments))]
    assert {k: tensor.result for k, tensor in enumerate(described) if tensor.donated} == one.results
    assert {tensor.result for tensor in described if not tensor.donated} <= {-1}
    rng = np.random.default_rng(2)
    for n in SIZES:
        sizes = [[n if isinstance(d, str) else d for d in x.shape] for x in artifact.arguments]
        arrays = [_placed(rng.standard_normal(shape)) for shape in sizes]
        wanted = plain.executable([array.copy() for array in arrays])
        before = [array.copy() for array in arrays]
        places = {k: _placed(np.zeros(x.shape)) for k, x in enumerate(wanted) if k in one.results.values()}
        status, message, results = model.run(arrays, places)
        assert (status, message) == (OK, "")
        assert_all_same(results, wanted)
        for k, (array, old) in enumerate(zip(arrays, before, strict=True)):
            assert one.results.get(k) == -1 or array.tobytes() == old.tobytes(), "it is copied to its result"
        arrays = [_placed(old) for old in before]
        status, message, results = model.run(arrays, {r: arrays[k] for k, r in one.results.items() if r >= 0})
        assert (status, message) == (OK, "")
        assert_all_same(results, wanted)
    model.close()


def test_memory_of_donated_arguments_is_aligned(tmp_path: Path) -> None:
    run = shlo_disc.compile(lambda x: x * 2, shapes="f32[n]", device="cpu", donate=[0])
    run.build(tmp_path, target="native")
    model, memory = Model(tmp_path, run.executable.artifact), _placed(np.zeros(12))
    text = "0: found memory that is not aligned to 16 bytes, as that of donated arguments is"
    assert model.run([memory[1:9]], {0: memory[1:9]}) == (ARGUMENT, f"argument {text}", [])
    assert model.run([memory[:4]], {0: memory[5:9]}) == (ARGUMENT, f"result {text}", [])
    model.close()


def assert_all_same(found: list[Array], wanted: Any) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert_same_bits(one, other)


def _placed(values: Array) -> Array:
    """The values as f32 in memory that is aligned to a line."""
    memory = aligned(4 * max(1, values.size)).view(np.float32)[: values.size].reshape(values.shape)
    memory[...] = values
    return memory
