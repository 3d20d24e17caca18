"""A graph network in the manner of jraph, over graphs with any number of nodes and edges.

python -m examples.frameworks.graph_network
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUntypedBaseClass=false

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import shlo_disc
from examples.frameworks.common import wrong_cases

SIZES = [(nodes, edges) for nodes in (4, 5, 9, 16) for edges in (1, 6, 20, 33, 48)]


def layer(params: Any, nodes: Any, senders: Any, receivers: Any) -> Any:
    """Every edge sends a message; every node adds up what it gets, weighted by a softmax over its edges."""
    pairs = jnp.concatenate([nodes[senders], nodes[receivers]], -1)
    messages = jnp.tanh(pairs @ params["message"])
    scores = jnp.exp(messages @ params["score"])
    total = jax.ops.segment_sum(scores, receivers, num_segments=nodes.shape[0])
    weights = scores / total[receivers]
    received = jax.ops.segment_sum(messages * weights[:, None], receivers, num_segments=nodes.shape[0])
    return nodes + received @ params["update"]


def loss(params: Any, nodes: Any, senders: Any, receivers: Any) -> Any:
    for _ in range(2):
        nodes = layer(params, nodes, senders, receivers)
    return jnp.mean(nodes**2)


def graph(random: np.random.Generator, nodes: int, edges: int) -> tuple[Any, ...]:
    ends = [random.integers(0, nodes, edges).astype(np.int32) for _ in range(2)]
    return (random.standard_normal((nodes, 8), np.float32), *ends)


def main() -> int:
    """Compile once, call with all graphs; 0 if values and gradients are those of `jax.jit`."""
    random = np.random.default_rng(0)
    shapes = {"message": (16, 12), "score": (12,), "update": (12, 8)}
    params = {name: random.standard_normal(shape, np.float32) / 4 for name, shape in shapes.items()}
    cases = [(params, *graph(random, *size)) for size in SIZES]
    value = shlo_disc.jit(loss, shapes={"nodes": "n 8", "senders": "e", "receivers": "e"})
    wrong = wrong_cases(value, jax.jit(loss), cases)
    step = shlo_disc.jit(jax.value_and_grad(loss))
    wrong += wrong_cases(step, jax.jit(jax.value_and_grad(loss)), cases)
    print(value.report())
    print(step.report())
    print(f"{len(SIZES)} sizes, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
