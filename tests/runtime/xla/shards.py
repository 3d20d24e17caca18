# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Calls a compiled program on four devices of a CPU; run by test_shards.py, in a process with as many devices."""

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import shlo_disc
from tests.pipeline.exports import FAST, In, exported
from tests.runtime.xla.texts import normal

A, W = normal(0, 8, 4), normal(1, 4, 4)


def layer(a: Any, w: Any) -> Any:
    return jnp.tanh(a @ w), jnp.sum(w)


def same(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, 1e-5, 1e-5)


def main(kind: str) -> None:
    """Check `shard_map` with and without tracking of what varies, loops inside of it, and automatic partitioning."""
    assert jax.device_count() == 4
    mesh = jax.make_mesh((4,), ("d",), axis_types=(AxisType[kind],))
    run = shlo_disc.compile(exported(layer, (In("n, 4"), In("4, 4"))), device="cpu", options=FAST).as_jax()
    a, w = jax.device_put(A, NamedSharding(mesh, P("d"))), jax.device_put(W, NamedSharding(mesh, P()))

    def mapped(function: Any, out: Any, *, check: bool) -> Any:
        return jax.jit(jax.shard_map(function, mesh=mesh, in_specs=(P("d"), P()), out_specs=out, check_vma=check))

    def summed(a: Any, w: Any) -> Any:
        y, total = run(a, w)  # a varies along the axis, w does not
        return y, lax.psum(total, "d")

    def scanned(a: Any, w: Any) -> Any:
        return lax.scan(lambda c, _: (run(c, w)[0], None), a, None, length=3)[0]

    deep = A
    for _ in range(3):
        deep = np.tanh(deep @ W)
    for check in (True, False):
        y, total = mapped(summed, (P("d"), P()), check=check)(a, w)
        same(y, layer(A, W)[0])
        same(total, 4 * W.sum())
        assert len({shard.device for shard in y.addressable_shards}) == 4
        same(mapped(scanned, P("d"), check=check)(a, w), deep)
    alone = mapped(lambda _, w: run(w, w)[0], P(), check=True)  # nothing varies
    same(alone(a, w), np.tanh(W @ W))
    with jax.set_mesh(mesh):
        same(jax.jit(run)(a, w)[0], layer(A, W)[0])
    print(f"{kind}: done")


if __name__ == "__main__":
    main(sys.argv[1])
