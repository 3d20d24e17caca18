# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""What JAX cannot call is refused while it traces; what XLA must not run is refused by the handler."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc.diagnostics import ArgumentTypeError, RuntimeShapeError, ShloDiscError
from shlo_disc.runtime.xla.library import TARGET
from shlo_disc.runtime.xla.primitive import call_in_trace
from tests.runtime.xla.texts import FAST, PIECE, SUM, TWO, library, normal, program

X = normal(0, 5)


def refused(kind: type[Exception], function: Any, *arrays: Any) -> str:
    """The message of the error, which comes up while the function is traced."""
    with pytest.raises(kind) as caught:
        jax.make_jaxpr(function)(*arrays)
    return str(caught.value)


def test_sizes_types_and_ranks() -> None:
    run, other = program(TWO).as_jax(), normal(1, 4)
    assert refused(RuntimeShapeError, run, X, other) == refused(RuntimeShapeError, lambda: program(TWO)(X, other))
    assert refused(ArgumentTypeError, run, X, np.arange(5, dtype=np.int32)).startswith(
        "argument 1: found dtype int32, expected float32"
    )
    assert refused(ArgumentTypeError, run, X, X[None]).startswith("argument 1: found rank 2, shape (1, 5), expected")
    assert refused(ArgumentTypeError, run, X).startswith("found 1 arrays, expected 2: argument 0, argument 1")
    assert "keyword arguments y" in refused(ArgumentTypeError, lambda x: run(x, y=x), X)


def test_a_check_of_the_program_names_its_line() -> None:
    (n,) = jax.export.symbolic_shape("n")
    spec = jax.ShapeDtypeStruct((n,), np.float32)
    run = shlo_disc.compile(jax.export.export(jax.jit(jnp.sin))(spec), device="cpu", options=FAST)
    told = refused(RuntimeShapeError, run.as_jax(), np.zeros(0, np.float32))
    assert "found n = 0, expected >= 1" in told
    assert "demanded at <sin>:" in told


def test_another_pytree() -> None:
    (n,) = jax.export.symbolic_shape("n")
    spec = jax.ShapeDtypeStruct((n,), np.float32)
    export = jax.export.export(jax.jit(lambda p: p["w"] + 1))({"w": spec})
    run = shlo_disc.compile(export, device="cpu", options=FAST)
    assert "missing: args[0]['w']" in refused(ArgumentTypeError, run.as_jax(), {"v": X})


def test_types_of_64_bits() -> None:
    run = program(SUM.format("f64", "add"))
    told = refused(ArgumentTypeError, run.as_jax(), X.astype(np.float64), X.astype(np.float64))
    assert "found dtype float32, expected float64" in told
    assert "jax_enable_x64" in told


def test_types_that_xla_packs() -> None:
    run = program(SUM.format("f4E2M1FN", "add"))
    told = refused(ShloDiscError, lambda x: call_in_trace(run.executable, [x, x]), X)
    assert "found arrays of float4_e2m1fn inside a function that JAX traces" in told


def test_gradients_and_batches() -> None:
    run = program(TWO).as_jax()
    for transformed in (
        jax.grad(lambda x: run(x, x)[1]),
        lambda x: jax.jvp(lambda x: run(x, x)[1], (x,), (x,)),
        jax.grad(jax.jit(lambda x: run(x, x)[1])),
        lambda x: jax.vmap(run)(x[None], x[None]),
    ):
        assert "use shlo_disc.jit, whose functions can be differentiated" in refused(ShloDiscError, transformed, X)


def test_the_program_itself_names_the_way() -> None:
    assert "run.as_jax()" in refused(ArgumentTypeError, program(TWO), X, X)


def test_symbolic_sizes() -> None:
    (n,) = jax.export.symbolic_shape("n")
    spec = jax.ShapeDtypeStruct((n,), np.float32)
    with pytest.raises(ShloDiscError, match=r"argument 0: found the size n, expected a number"):
        jax.export.export(jax.jit(program(TWO).as_jax()))(spec, spec)


def test_results_whose_size_is_data() -> None:
    numbers = [np.array([k], np.int32) for k in (1, 5, 2)]
    told = refused(ShloDiscError, program(PIECE).as_jax(), X, *numbers)
    assert "result 0 has the shape" in told
    assert "becomes known only during the call" in told


def custom_call(x: Any, **attributes: Any) -> Any:
    types = [jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct((), x.dtype)]
    return jax.ffi.ffi_call(TARGET, types)(x, x, **attributes)


@pytest.mark.parametrize(
    ("attributes", "told"),
    [
        ({"call": np.int64(1), "process": np.int64(1)}, "found an executable that another process compiled"),
        ({"call": np.int64(1 << 40)}, "found a call of a compiled program that is gone"),
        ({"call": np.float32(1)}, "expected the attributes `call` and `process` of 64 bits"),
        ({}, "expected the attributes `call` and `process` of 64 bits"),
    ],
)
def test_executables_of_others(attributes: dict[str, Any], told: str) -> None:
    """They are refused when XLA loads them, before anything runs."""
    given = {"process": np.int64(library().process), **attributes}
    with jax.enable_x64(True), pytest.raises(Exception, match=told):
        jax.jit(lambda x: custom_call(x, **given)).lower(X).compile()


def test_buffers_of_other_types() -> None:
    executable = program(TWO).executable
    lease = library().lease(executable, ((9,), (9,)))  # pyright: ignore[reportArgumentType]  # of the CPU
    names = {"call": np.int64(lease.number), "process": np.int64(lease.process)}
    with jax.enable_x64(True):
        run = jax.jit(lambda x: custom_call(x, **names))
        np.testing.assert_array_equal(run(normal(0, 9))[0], 2 * normal(0, 9))
        for x in (X, np.zeros((3, 3), np.float32), np.zeros(9, np.int32)):
            with pytest.raises(Exception, match="found buffers of other types or sizes than the program"):
                jax.block_until_ready(run(x))
