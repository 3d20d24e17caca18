"""The generated text itself: a change of it is reviewed like code (`--update-golden` writes it)."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from shlo_disc.artifact import Artifact
from shlo_disc.report.text import explain
from shlo_disc.runtime.steps import leaves
from tests.pipeline.exports import In
from tests.pipeline.programs import dense, generated, layer_norm, softmax

pytestmark = pytest.mark.quick


def newton(x: Any) -> Any:
    """Square roots, until none of them moves much."""

    def step(state: Any) -> Any:
        y, _ = state
        new = 0.5 * (y + x / y)
        return new, jnp.abs(new - y).max()

    return lax.while_loop(lambda state: state[1] > 1e-3, step, (x, jnp.float32(np.inf)))[0]


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[In, ...]]] = {
    "softmax": (softmax, (In("b, s"),)),
    "layer_norm": (layer_norm, (In("b, t, 64"), In("64"), In("64"))),
    "dot_bias_gelu": (dense, (In("b, s"), In("s, n"), In("n"))),
    "activation_dot": (lambda x, w: jnp.abs(x) @ w, (In("b, s"), In("s, n"))),
    "while_loop": (newton, (In("n"),)),
    "embedding": (lambda table, ids: jnp.tanh(table[ids]), (In("v, 64"), In("b, s", np.int32))),
    "concatenate": (lambda x, y: jnp.concatenate([x, y], 1) * 2, (In("b, s"), In("b, t"))),
    "sum_of_columns": (lambda x: x.sum(0), (In("b, s"),)),
    "sort": (lambda x: jnp.sort(x, 1), (In("b, s"),)),
    "scatter": (lambda x, ids, y: x.at[ids].add(y), (In("v, 64"), In("n", np.int32), In("n, 64"))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_generated(name: str, golden: Callable[[str], None]) -> None:
    function, inputs = PROGRAMS[name]
    golden(text_of(generated(function, *inputs)))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_independent_groups_in_one_launch(device: str, golden: Callable[[str], None]) -> None:
    artifact = generated(lambda x, y: (jnp.tanh(x), y.sum(1)), In("s"), In("b, 8"), device=device)
    assert len(list(leaves(artifact.steps))) == 1
    golden(text_of(artifact))


def text_of(artifact: Artifact) -> str:
    """What is said of a program, its kernels, its host program."""
    texts = [*(file.text for file in artifact.kernels), artifact.host.text]
    assert [line for text in texts for line in text.splitlines() if "\t" in line or line.rstrip() != line] == []
    elsewhere = replace(artifact.report, shapes=())  # their reasons name files of this machine
    told = explain(replace(artifact, report=elsewhere)).replace(f"{Path(__file__).parent}/", "")
    told = re.sub(rf"({Path(__file__).name}):\d+", r"\1", told)  # its lines move with every edit of this file
    return "\n".join([told, "", *texts])
