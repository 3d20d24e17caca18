"""Sizes and values have the names that the user gave them."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from tests.api.programs import compiled, counted, dims, spec

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("text", "size", "symbols", "definition", "result"),
    [
        ("s", 5, ("s",), (), "s"),
        ("s + 1", 5, ("zs0", "s"), ("zs0 - 1",), "s + 1"),
        ("2*s", 6, ("zs0", "s"), ("zs0 // 2",), "2*s"),
        ("3*s + 1", 7, ("zs0", "s"), ("(zs0 + 2) // 3 - 1",), "3*s + 1"),
        ("s0", 3, ("s0",), (), "s0"),
        ("2*zs1", 4, ("zzs0", "zs1"), ("zzs0 // 2",), "2*zs1"),
        ("2*lambda", 4, ("s0", "s0_by_2"), ("s0 // 2",), "2*s0_by_2"),
        ("int", 3, ("int",), (), "int"),
    ],
)
def test_a_size_has_the_name_of_its_dimension_variable(
    text: str, size: int, symbols: tuple[str, ...], definition: tuple[str, ...], result: str
) -> None:
    run = compiled(jnp.tanh, spec(*dims(text)))
    artifact = run.executable.artifact
    assert (artifact.symbols, tuple(map(str, artifact.definitions))) == (symbols, definition)
    assert [str(size) for size in artifact.results[0].shape] == [result]
    np.testing.assert_allclose(run(counted(size)), np.tanh(counted(size)), rtol=1e-6)


def test_sizes_of_several_variables_are_written_in_them() -> None:
    s, mixed = dims("s, s + 2*t")
    run = compiled(lambda x, y: x.sum() + y, spec(s), spec(mixed))
    assert [str(size) for size in run.executable.artifact.results[0].shape] == ["s + 2*t"]
    np.testing.assert_allclose(run(counted(3), counted(7)), counted(3).sum() + counted(7))


def test_tensors_know_their_ssa_names() -> None:
    program = legalize(
        parse_module(
            """func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
              %42 = stablehlo.tanh %x : tensor<?xf32>
              %same = stablehlo.optimization_barrier %42 : tensor<?xf32>
              %y = func.call @inner(%same) : (tensor<?xf32>) -> tensor<?xf32>
              return %y : tensor<?xf32>
            }
            func.func private @inner(%z: tensor<?xf32>) -> tensor<?xf32> {
              %0 = stablehlo.exponential %z : tensor<?xf32>
              return %0 : tensor<?xf32>
            }"""
        )
    )
    tanh, exponential = (op.results[0] for op in program.body.ops)
    assert (program.names[tanh], program.names[exponential]) == ("42", "0")
