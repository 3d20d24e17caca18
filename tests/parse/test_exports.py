"""What JAX exports is read, and printed as MLIR prints it."""

# JAX and jaxlib's MLIR bindings are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import jax
import jax.numpy as jnp
import pytest
from jax import export, lax
from jax._src.interpreters import mlir
from jax.sharding import AbstractMesh, AxisType, NamedSharding, PartitionSpec
from jaxlib.mlir import ir

from shlo_disc.parse.bytecode import read_program
from shlo_disc.parse.locations import user_location
from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module
from tests.parse.structure import structure


def _attention(q: jax.Array, k: jax.Array) -> jax.Array:
    return jax.nn.softmax(jnp.einsum("bqd,bkd->bqk", q, k), axis=-1)


def _recurrence(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    def step(carry: jax.Array, row: jax.Array) -> tuple[jax.Array, jax.Array]:
        return carry * 2 + row, carry

    return lax.scan(step, jnp.zeros_like(x[0]), x + y)


def _indexing(x: jax.Array, y: jax.Array) -> tuple[jax.Array, ...]:
    order = jnp.argsort(x, axis=1)
    return order, jnp.argmax(y, axis=0), x.at[0].add(1.0), jnp.take_along_axis(y, order, axis=1)


def _branches(x: jax.Array, y: jax.Array) -> jax.Array:
    chosen = lax.cond(x.sum() > 0, jnp.sin, jnp.cos, y)
    return lax.fori_loop(0, 3, lambda _, value: jnp.sinh(value), chosen)


def _convolution(x: jax.Array, y: jax.Array) -> jax.Array:
    kernel = jnp.ones((8, 8, 3), x.dtype)
    return lax.conv_general_dilated(x + y, kernel, (2,), "SAME", dimension_numbers=("NHC", "IOH", "NHC"))


def _samples(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    key = jax.random.key(3)
    return jax.random.normal(key, (4,)) + x.sum(), jax.random.key_data(jax.random.split(key)) + y.size


MESH = AbstractMesh((2, 2), ("x", "y"), axis_types=(AxisType.Auto, AxisType.Auto))


def _sharded(x: jax.Array, y: jax.Array) -> jax.Array:
    spread = lax.with_sharding_constraint(x * y, NamedSharding(MESH, PartitionSpec(None, "x", "y")))
    total = jax.shard_map(
        lambda part: lax.psum(part, "x"),
        mesh=MESH,
        in_specs=PartitionSpec(None, "x", "y"),
        out_specs=PartitionSpec(None, None, "y"),
    )
    return total(spread) + 1


FUNCTIONS: Sequence[Callable[[jax.Array, jax.Array], object]] = (
    _attention, _recurrence, _indexing, _branches, _convolution, _samples, _sharded,
)  # fmt: skip


@cache
def exported(function: Callable[[jax.Array, jax.Array], object]) -> export.Exported:
    (n,) = export.symbolic_shape("n", constraints=["n >= 2"])
    spec = jax.ShapeDtypeStruct((n, 4, 8), jnp.float32)
    return export.export(jax.jit(function))(spec, spec)


def printed_by_mlir(text: str, *, generic: bool) -> str:
    """Print a program without locations, as jaxlib does."""
    with mlir.make_ir_context():
        asm = ir.Module.parse(text).operation.get_asm(enable_debug_info=False, print_generic_op_form=generic)
    assert isinstance(asm, str)
    return asm


@pytest.mark.parametrize("function", FUNCTIONS)
def test_text_comes_back(function: Callable[[jax.Array, jax.Array], object]) -> None:
    text = exported(function).mlir_module()
    module = parse_module(text)
    assert str(module) == printed_by_mlir(text, generic=False)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_generic_text_comes_back(function: Callable[[jax.Array, jax.Array], object]) -> None:
    text = exported(function).mlir_module()
    generic = printed_by_mlir(text, generic=True)
    module = parse_module(generic)
    assert structure(module) == structure(parse_module(text))
    assert print_module(module, generic=True) == generic


@pytest.mark.parametrize("function", FUNCTIONS)
def test_locations_come_back(function: Callable[[jax.Array, jax.Array], object]) -> None:
    module = parse_module(exported(function).mlir_module())
    text = print_module(module, locations=True)
    assert structure(parse_module(text), locations=True) == structure(module, locations=True)


def test_ops_know_the_user_s_line() -> None:
    module = parse_module(exported(_attention).mlir_module())
    lines = {user_location(op.location, module.location_aliases) for op in module.walk()}
    first = _attention.__code__.co_firstlineno + 1
    assert any(line is not None and line.endswith(f"test_exports.py:{first}") for line in lines)


def test_bytecode_is_read_through_jaxlib() -> None:
    program = exported(_attention)
    text, name = read_program(program.mlir_module_serialized)
    assert name == "<bytecode>"
    assert structure(parse_module(text)) == structure(parse_module(program.mlir_module()))
