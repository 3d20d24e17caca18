"""Row kernels compute what the reference interpreter does, for groups of many forms and for random programs."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kernels.interpreted import check_row_kernels
from tests.pipeline.compositions import RULES, Step, Value, compose, symbol
from tests.pipeline.exports import In, between
from tests.pipeline.programs import layer_norm, planned, softmax

X, C = In("b, s"), In("b, s, d")
SIZES = ({"b": 2, "s": 3, "d": 4}, {"b": 1, "s": 5, "d": 1}, {"b": 3, "s": 1, "d": 2})


def flattened_rows(x: Any) -> Any:
    """The rows [b*s] of the sum are the rows [b, s] of the softmax."""
    b, s, d = x.shape
    return softmax(x) + x.reshape(b * s, d).sum(1).reshape(b, s, 1)


def padded_rows(x: Any) -> Any:
    """Rows with dims of size 1 before, between and after."""
    b, s, d = x.shape
    top = jnp.exp(x.reshape(1, b, s, d)).max(3, keepdims=True)
    return x / top.reshape(b, s, 1) + x.reshape(b, 1, s, 1, d).sum(4).reshape(b, s, 1)


def norms_in_rows(x: Any) -> Any:
    """The norm of every position, and their mean: the second has coarser rows."""
    return jnp.sqrt((x * x).sum(2)).mean(1)


def group_norm(x: Any) -> Any:
    """Rows [b, 2] of [b, s, 2, d]."""
    b, s, d = x.shape
    groups = jnp.stack([x, x + 1], 2)
    mean = groups.mean((1, 3), keepdims=True)
    return ((groups - mean) / (1 + jnp.abs(groups - mean).max((1, 3), keepdims=True))).reshape(b, s, 2 * d)


def shared(x: Any) -> Any:
    """A cheap value that three groups compute for themselves."""
    y = x + 1
    return y.sum(0), y.sum(1), jnp.sort(x, 1) * y


def rolls(x: Any) -> Any:
    """Every step reads the one before at two places."""
    for _ in range(7):
        x = x + x[:, ::-1]
    return x


def other_rows(x: Any) -> Any:
    """What a row has kept of itself is not what it needs of another row."""
    y = jnp.tanh(jnp.exp(x))
    return (y + y[::-1]) / y.sum(1, keepdims=True)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[In, ...]]] = {
    "siblings": (lambda x: (x.sum(1), softmax(x), (x * 2).max(1)), (X,)),
    "flattened rows": (flattened_rows, (C,)),
    "padded rows": (padded_rows, (C,)),
    "rows in rows": (norms_in_rows, (C,)),
    "rows in static rows": (norms_in_rows, (In("b, 3, 4"),)),
    "group norm": (group_norm, (C,)),
    "layer norm of a transpose": (lambda x, y, z: layer_norm(x.T, y, z), (In("s, b"), In("s"), In("s"))),
    "shared": (shared, (X,)),
    "residual in a norm": (
        lambda t, i: (h := jnp.tanh(t[i]), softmax(h) + h.sum(0)),
        (In("7, s"), In("b", np.int32, between(0, 6))),
    ),
    "reversed and rolled": (lambda x: x + x[:, ::-1] + jnp.roll(jnp.exp(x), 1, 1) + softmax(x)[:, ::-1], (X,)),
    "many rolls": (rolls, (X,)),
    "other rows": (other_rows, (X,)),
    "steps by sums of columns": (lambda x, y: (y - 0.1 * x.sum((0, 1)), x.max((0, 1)) * 2), (C, In("d"))),
    "columns of two dims": (lambda x, y: jnp.tanh(y * x.mean(0)).T + 1, (C, In("s, d"))),
    "argmax": (lambda x: (jnp.argmax(x, 1), jnp.argmin(x, 0)), (X,)),
    "sums over all": (lambda x: x - x.mean() + x.sum(0) / x.sum(1)[:, None], (X,)),
    "square": (lambda x: softmax(x.T) + softmax(x) + (x @ x).sum(1), (In("b, b"),)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_groups_of_rows_compute_what_their_ops_do(name: str) -> None:
    function, inputs = PROGRAMS[name]
    found = planned(function, *inputs)
    rng = np.random.default_rng(len(name))
    for sizes in SIZES:
        assert check_row_kernels(found, [i.array(rng, sizes) for i in inputs]) > 0


STEPS = st.lists(
    st.builds(Step, st.sampled_from(sorted(RULES)), *[st.integers(0, 59)] * 3),
    min_size=5,
    max_size=12,
)


@settings(max_examples=40)
@given(STEPS)
def test_random_programs_compute_what_their_ops_do(steps: list[Step]) -> None:
    def run(x: Any, y: Any, z: Any) -> Any:
        b, s, d = (symbol(name, size) for name, size in zip("bsd", z.shape, strict=True))
        values = compose(steps, [Value(x, (b, s)), Value(y, (s, d)), Value(z, (b, s, d))])
        return values[-1].array, values[3 + len(steps) // 2].array

    inputs = X, In("s, d"), C
    found = planned(run, *inputs)
    rng = np.random.default_rng(0)
    for sizes in SIZES[:2]:
        # steps that subtract, divide and exponentiate in any order magnify the rounding of those before
        check_row_kernels(found, [i.array(rng, sizes) for i in inputs], tolerance=1e-3)
