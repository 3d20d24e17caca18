"""Change an exported program: replace ops, fold ops, and run what comes out.

python examples/rewrite.py
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

from __future__ import annotations

import sys
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

import shlo_disc
from shlo_disc import Build, Op, Value
from shlo_disc.ir.attributes import DenseArrayAttr


def rational_tanh(op: Op, build: Build) -> Value:
    """Replace tanh(x) by x (27 + x²) / (27 + 9 x²), which is within 0.03 of it, and cheap."""
    (x,) = op.operands
    x = build.op("stablehlo.clamp", build.constant(-3.0, x), x, build.constant(3.0, x))
    square = build.op("stablehlo.multiply", x, x)
    above = build.op("stablehlo.add", build.constant(27.0, x), square)
    nine = build.op("stablehlo.multiply", build.constant(9.0, x), square)
    below = build.op("stablehlo.add", build.constant(27.0, x), nine)
    return build.op("stablehlo.divide", build.op("stablehlo.multiply", x, above), below)


def cancel_transposes(op: Op, build: Build) -> Value | None:
    """Fold a transpose that undoes the one before it."""
    inner = build.producer(op.operands[0])
    if inner is None or inner.name != "stablehlo.transpose":
        return None
    there, back = permutation(inner), permutation(op)
    undone = [there[axis] for axis in back] == sorted(there)
    return inner.operands[0] if undone else None


def permutation(op: Op) -> list[int]:
    """Give the axes of a transpose."""
    attribute = op.attributes["permutation"]
    assert isinstance(attribute, DenseArrayAttr), "the verifier has checked it"
    return [int(axis) for axis in attribute.values]


def model(x: jax.Array, w: jax.Array) -> jax.Array:
    """Split into heads and back, for no reason."""
    heads = jnp.swapaxes(jnp.tanh(x @ w).reshape(x.shape[0], -1, 4), 0, 1)
    return jnp.tanh(jnp.swapaxes(heads, 0, 1))


def main() -> int:
    """Export, rewrite, run, and compare with JAX."""
    (b,) = export.symbolic_shape("b")
    specs = (jax.ShapeDtypeStruct((b, 8), jnp.float32), jax.ShapeDtypeStruct((8, 12), jnp.float32))
    before = shlo_disc.parse(export.export(jax.jit(model))(*specs).mlir_module())

    after = shlo_disc.rewrite(before, {"stablehlo.tanh": rational_tanh, "stablehlo.transpose": cancel_transposes})
    after = shlo_disc.remove_unused(after)

    counts = [Counter(op.name for op in module.walk()) for module in (before, after)]
    for name in ("stablehlo.tanh", "stablehlo.transpose", "stablehlo.divide"):
        print(f"{name:20} {counts[0][name]} before, {counts[1][name]} after")

    x = np.linspace(-1, 1, 5 * 8, dtype=np.float32).reshape(5, 8)
    w = np.linspace(-0.5, 0.5, 8 * 12, dtype=np.float32).reshape(8, 12)
    (result,) = shlo_disc.compile(after)(x, w)
    error = float(np.abs(result - model(jnp.asarray(x), jnp.asarray(w))).max())
    print(f"at most {error:.3f} from what JAX computes")
    return int(not 0 < error < 0.05)


if __name__ == "__main__":
    sys.exit(main())
