# JAX's functions are partly untyped; nothing untyped leaves this file.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownLambdaType=false
"""What is proven of random chains of masked layers holds for every padding."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import Phase, assume, event, given, settings
from hypothesis import strategies as st

from tests.ragged.attention_programs import attended, scores, states
from tests.ragged.programs import LENGTHS, Masked, convolution
from tests.ragged.running import Padded, analysed, check_near, lengths_of, packed, same

pytestmark = pytest.mark.slow

SHAPES = "f32[b, s, 8], f32[8, 8], f32[3, 8, 8], f32[b, 8], i32[b]"
MASKS: Mapping[str, Callable[[Any, Any], Any]] = {
    "exact": lambda at, n: at < n,
    "one less": lambda at, n: at < n - 1,
    "one more": lambda at, n: at <= n,
    "negated": lambda at, n: ~(at >= n),
    "as float": lambda at, n: at.astype(jnp.float32) - n.astype(jnp.float32) < -0.0,
    "both": lambda at, n: (at < n) & (at >= 0),
    "none": lambda at, n: (at >= 0) | (n < 0),
}
FILLS: Mapping[str, Callable[[Any, Any], Any]] = {
    "select": lambda m, x: jnp.where(m, x, -jnp.inf),
    "finite": lambda m, x: jnp.where(m, x, jnp.finfo(jnp.float32).min),
    "added": lambda m, x: x + (1.0 - m) * -1e9,
    "added select": lambda m, x: x + jnp.where(m, 0.0, -1e4),
    "small": lambda m, x: x + (1.0 - m) * -4.0,
}


class Layers:
    """Functions of elements [b, s, 8], with what else a layer may read."""

    def __init__(self, mask: str, fill: str, w: Any, kernel: Any, h: Any, lengths: Any) -> None:
        self.mask, self.fill, self.w, self.kernel, self.h, self.lengths = mask, fill, w, kernel, h, lengths

    def within(self, x: Any) -> Any:
        return MASKS[self.mask](jnp.arange(x.shape[1])[None], self.lengths[:, None])

    def dense(self, x: Any) -> Any:
        return jnp.tanh(x @ self.w)

    def normalized(self, x: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-3)

    def selected(self, x: Any) -> Any:
        return jnp.where(self.within(x)[..., None], x, 0)

    def multiplied(self, x: Any) -> Any:
        return x * self.within(x)[..., None]

    def with_mean(self, x: Any) -> Any:
        return x + self.selected(x).sum(1, keepdims=True) / jnp.maximum(self.lengths, 1)[:, None, None]

    def with_largest(self, x: Any) -> Any:
        return x - jnp.where(self.within(x)[..., None], x, jnp.finfo(x.dtype).min).max(1, keepdims=True)

    def with_least(self, x: Any) -> Any:
        y = FILLS[self.fill](self.within(x)[..., None], x)
        return jnp.exp(jnp.minimum(y - y.min(1, keepdims=True), 1))

    def softmax(self, x: Any) -> Any:
        return jax.nn.softmax(FILLS[self.fill](self.within(x)[..., None], x), 1)

    def attention(self, x: Any) -> Any:
        return attended(FILLS[self.fill](self.within(x)[:, None], scores(x, self.w)), x)

    def causal_attention(self, x: Any) -> Any:
        at = jnp.arange(x.shape[1])
        return attended(FILLS[self.fill]((at[:, None] >= at[None])[None], scores(x, self.w)), x)

    def summed(self, x: Any) -> Any:
        return jnp.cumsum(x, 1)

    def summed_from_the_end(self, x: Any) -> Any:
        return jax.lax.cumsum(x, 1, reverse=True)

    def later(self, x: Any) -> Any:
        return jnp.concatenate([jnp.ones_like(x[:, :1]), x[:, :-1]], 1)

    def earlier(self, x: Any) -> Any:
        return jnp.concatenate([x[:, 1:], jnp.zeros_like(x[:, :1])], 1)

    def reversed(self, x: Any) -> Any:
        return x[:, ::-1]

    def causal_convolution(self, x: Any) -> Any:
        return convolution(x, self.kernel, 2, 0)

    def convolution(self, x: Any) -> Any:
        return convolution(x, self.kernel, 1, 1)

    def recurrent(self, x: Any) -> Any:
        return states(x, self.h, self.w)

    def flattened(self, x: Any) -> Any:
        return (x.reshape(-1, 8) @ self.w).reshape(x.shape)

    def turned(self, x: Any) -> Any:
        return jnp.sin(x.transpose(2, 1, 0)).transpose(2, 1, 0)


NAMES = tuple(name for name in vars(Layers) if not name.startswith("_") and name != "within")
ENDS: Mapping[str, Callable[[Layers, Any], Any]] = {
    "elements": lambda _layers, x: x,
    "sum": lambda layers, x: layers.selected(x).sum(1),
    "last": lambda layers, x: jnp.take_along_axis(x, (layers.lengths - 1)[:, None, None], 1)[:, 0],
    "first": lambda _layers, x: x[:, 0],
    "loss": lambda layers, x: (x**2 * layers.within(x)[..., None]).sum(),
}


def chain(names: Sequence[str], mask: str, fill: str, end: str) -> Callable[..., Any]:
    """The function that applies layers; a loss is returned with its gradient."""

    def applied(w: Any, x: Any, *others: Any) -> Any:
        layers = Layers(mask, fill, w, *others)
        for name in names:
            x = getattr(layers, name)(x)
        return ENDS[end](layers, x)

    def random_chain(x: Any, w: Any, kernel: Any, h: Any, lengths: Any) -> Any:
        others = x, kernel, h, lengths
        found = jax.value_and_grad(applied)(w, *others) if end == "loss" else applied(w, *others)
        used = (x[:, 0].sum() + w.sum() + kernel.sum() + h.sum() + lengths.sum()) * 0  # no argument is dropped
        return jax.tree.map(lambda y: y + jax.lax.stop_gradient(used - used), found)

    return random_chain


CHAINS = given(
    names=st.lists(st.sampled_from(NAMES), min_size=1, max_size=4),
    mask=st.sampled_from(tuple(MASKS)),
    fill=st.sampled_from(tuple(FILLS)),
    end=st.sampled_from(tuple(ENDS)),
    seed=st.integers(0, 2**32 - 1),
)


class TestRandomPrograms:
    @settings(max_examples=25, deadline=None)
    @CHAINS
    def test_what_is_proven_holds(self, names: list[str], mask: str, fill: str, end: str, seed: int) -> None:
        one = Masked(chain(names, mask, fill, end), SHAPES, ragged=LENGTHS)
        analysis, program = analysed(one)
        event(f"proven: {analysis.is_proven}")
        rng = np.random.default_rng(seed)
        for _ in range(2 if analysis.is_proven else 0):
            padded = Padded(program, one, lengths_of(one, rng, analysis.least_length), rng)
            assert same(padded.run(), padded.run()), analysis.explain()

    @settings(max_examples=25, deadline=None, phases=(Phase.explicit, Phase.generate))
    @CHAINS
    def test_packed_programs_compute_the_same(
        self, names: list[str], mask: str, fill: str, end: str, seed: int
    ) -> None:
        one = Masked(chain(names, mask, fill, end), SHAPES, ragged=LENGTHS)
        analysis, program = analysed(one)
        event(f"proven: {analysis.is_proven}")
        assume(analysis.is_proven)
        rng, (_, found) = np.random.default_rng(seed), packed(one)
        for _ in range(2):
            padded = Padded(program, one, lengths_of(one, rng, analysis.least_length), rng)
            expected = padded.run()
            made = padded.run(program=found)
            # What is computed from padding may be NaN in the padded program alone (docs/explanation/ragged.md).
            check_near([np.where(np.isnan(a), a, b) for a, b in zip(expected, made, strict=True)], expected)
