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

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from shlo_disc.artifact import Artifact
from shlo_disc.bytecode.listing import host_text
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


def attention(q: Any, k: Any, v: Any) -> Any:
    weights = jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.125)
    return jnp.einsum("bhqk,bhkd->bhqd", weights, v)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[In, ...]]] = {
    "softmax": (softmax, (In("b, s"),)),
    "layer_norm": (layer_norm, (In("b, t, 64"), In("64"), In("64"))),
    "gelu_bias": (lambda x, bias: jax.nn.gelu(x + bias), (In("b, s"), In("s"))),
    "product_with_epilogue": (dense, (In("b, s"), In("s, n"), In("n"))),
    "attention": (attention, (In("b, 4, s, 64"), In("b, 4, t, 64"), In("b, 4, t, 64"))),
    "transpose": (lambda x: x.T, (In("b, s"),)),
    "scan": (lambda x: jnp.cumsum(x, 1), (In("b, s"),)),
}


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels(name: str, device: str, golden: Callable[[str], None]) -> None:
    function, inputs = PROGRAMS[name]
    golden("\n".join(checked(file.text) for file in generated(function, *inputs, device=device).kernels))


def test_host_program(golden: Callable[[str], None]) -> None:
    golden(text_of(generated(newton, In("n"))))


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_independent_groups_in_one_launch(device: str) -> None:
    artifact = generated(lambda x, y: (jnp.tanh(x), y.sum(1)), In("s"), In("b, 8"), device=device)
    assert len(list(leaves(artifact.steps))) == 1


def checked(text: str) -> str:
    """Text that has neither tabs nor spaces at the ends of lines."""
    assert [line for line in text.splitlines() if "\t" in line or line.rstrip() != line] == []
    return text


def text_of(artifact: Artifact) -> str:
    """What the report says of a program, and its host program."""
    elsewhere = replace(artifact.report, shapes=())  # their reasons name files of this machine
    told = explain(replace(artifact, report=elsewhere)).replace(f"{Path(__file__).parent}/", "")
    told = re.sub(rf"({Path(__file__).name}):\d+", r"\1", told)  # its lines move with every edit of this file
    return "\n".join([told, "", checked(host_text(artifact))])
