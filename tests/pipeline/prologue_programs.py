# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
"""Products whose operands are formulas: what tests of both targets run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.pipeline.exports import In, between, infinite, special


@dataclass(frozen=True, slots=True)
class Prologue:
    """A program around one product, and the ops that must move into it.

    Symbols are m, n and k, and one more than the sizes where a dim may be empty.
    """

    function: Callable[..., Any]
    inputs: tuple[In, ...]
    ops: frozenset[str]
    groups: int = 1
    wide: bool = False


A, B, ROW = In("m - 1, k - 1"), In("k - 1, n - 1"), In("k - 1")
IDS = In("m - 1", np.int32)


def rms_norm(x: Any, scale: Any, w: Any) -> Any:
    return (x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * scale) @ w


def layer_norm(x: Any, w: Any) -> Any:
    return ((x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)) @ w


def causal(x: Any, w: Any) -> Any:
    rows, columns = (lax.broadcasted_iota(np.int32, x.shape, d) for d in (0, 1))
    return jnp.where(columns <= rows, x, 0) @ w


def embeddings(table: Any, ids: Any, x: Any, w: Any) -> Any:
    """Rows of a table beside each other, then features (as in DLRM)."""
    return jnp.concatenate([table[ids].reshape(-1, 60), jnp.abs(x)], 1) @ w


def heads(x: Any, w: Any) -> Any:
    return jnp.einsum("bkh,hkn->bhn", jnp.abs(x) + 1, w)


def residual(x: Any, w: Any) -> Any:
    y = jnp.abs(x)
    return y @ w + y


def pointwise(x: Any, w: Any, layout: tuple[str, str, str]) -> Any:
    """A convolution with one tap."""
    return lax.conv_general_dilated(x, w, (1,), "VALID", dimension_numbers=layout)


def gated(x: Any, g: Any, v: Any, w: Any) -> Any:
    """Features weighted by a small network ("squeeze and excitation"), whose end is cheap and read by all positions."""
    gate = jnp.clip(pointwise(g, v, ("NWC", "WIO", "NWC")) + 3, 0, 6) / 6
    return pointwise(x * gate, w, ("NWC", "WIO", "NWC"))


def ones(x: Any, w: Any) -> Any:
    """Dims of size 1 that change places before and after the product."""
    return jnp.maximum(jnp.einsum("emasf,fn->eamns", jnp.abs(x), w), 0).transpose(3, 2, 1, 4, 0)


def split_heads(x: Any, w: Any) -> Any:
    """An epilogue behind a reshape and a transpose."""
    return (x @ w).reshape(2, -1, 3, 4).transpose(0, 2, 1, 3) * 0.5


def joined_heads(weights: Any, values: Any, x: Any) -> Any:
    """An epilogue behind a transpose and a reshape."""
    return (weights @ values).transpose(0, 2, 1, 3).reshape(2, -1, 12) + x


PROLOGUES: Mapping[str, Prologue] = {
    "activation of the left": Prologue(lambda x, w: jnp.tanh(x) @ w, (A, B), frozenset({"tanh"})),
    "activation of the right": Prologue(lambda x, w: x @ (jnp.abs(w) + 1), (A, B), frozenset({"abs", "add"})),
    "both sides": Prologue(lambda x, w: jnp.abs(x) @ (w * 2), (A, B), frozenset({"abs", "multiply"})),
    "transposed": Prologue(
        lambda x, w: jnp.abs(x).T @ (w.T + 1), (In("k - 1, m - 1"), In("n - 1, k - 1")), frozenset({"abs", "add"})
    ),
    "converted": Prologue(
        lambda x, w: x @ w.astype(np.float32), (A, In("k - 1, n - 1", np.int8)), frozenset({"convert"})
    ),
    "dequantised": Prologue(
        lambda x, w, s: x @ (w.astype(np.float32) * s),
        (A, In("k - 1, n - 1", np.int8), In("n - 1")),
        frozenset({"convert", "multiply"}),
    ),
    "rows gathered": Prologue(lambda t, i, w: t[i] @ w, (In("5, k - 1"), IDS, B), frozenset({"d_gather"})),
    "rms norm": Prologue(rms_norm, (In("m, k"), In("k"), In("k, n")), frozenset({"multiply"}), groups=2),
    "layer norm": Prologue(layer_norm, (In("m, k"), In("k, n")), frozenset({"multiply"}), groups=2),
    "masked": Prologue(causal, (A, B), frozenset({"select"})),
    "scaled rows": Prologue(lambda x, s, w: (x * s[:, None]) @ w, (A, In("m - 1"), B), frozenset({"multiply"})),
    "padded": Prologue(lambda x, w: jnp.pad(x, ((1, 2), (0, 1))) @ w, (A, In("k, n")), frozenset({"d_pad"})),
    "joined": Prologue(
        lambda x, y, w: jnp.concatenate([x, y], 1) @ w,
        (A, In("m - 1, 3"), In("k + 2, n")),
        frozenset({"d_concatenate"}),
    ),
    "looked up and joined": Prologue(
        embeddings,
        (In("5, 20"), In("m - 1, 3", np.int32), A, In("k + 59, n - 1")),
        frozenset({"d_gather", "d_concatenate"}),
    ),
    "a slice": Prologue(lambda x, w: jnp.abs(x[:, 1:]) @ w, (In("m, k"), B), frozenset({"abs"})),
    "batches": Prologue(
        lambda x, w: jnp.einsum("bhmk,bhkn->bhmn", jnp.abs(x), w),
        (In("2, 3, m - 1, k - 1"), In("2, 3, k - 1, n - 1")),
        frozenset({"abs"}),
    ),
    "heads inside": Prologue(heads, (In("m, k, 2"), In("2, k, n")), frozenset({"abs"})),
    "prologue and epilogue": Prologue(
        lambda x, w, b: jax.nn.relu(jnp.abs(x) @ w + b), (A, B, In("n - 1")), frozenset({"abs", "maximum"})
    ),
    "read by the epilogue too": Prologue(residual, (In("m - 1, k - 1"), In("k - 1, k - 1")), frozenset({"abs", "add"})),
    "f64": Prologue(
        lambda x, w: jnp.abs(x) @ w, (In(A.shape, np.float64), In(B.shape, np.float64)), frozenset({"abs"}), wide=True
    ),
    "one tap": Prologue(
        lambda x, w: pointwise(jnp.abs(x), w, ("NWC", "WIO", "NWC")),
        (In("m - 1, 2, k - 1", draw=special), In("1, k - 1, n - 1")),
        frozenset({"abs"}),
    ),
    "one tap, features first": Prologue(
        lambda x, w: pointwise(jnp.abs(x), w, ("NCW", "OIW", "NCW")) + 1,
        (In("2, k - 1, m - 1"), In("n - 1, k - 1, 1")),
        frozenset({"abs", "add"}),
    ),
    "gated": Prologue(
        gated, (In("2, m, k"), In("2, 1, 5"), In("1, 5, k"), In("1, k, n")), frozenset({"multiply"}), groups=2
    ),
    "dims of size 1": Prologue(ones, (In("1, m, 1, 3, k"), In("k, n")), frozenset({"abs", "maximum"})),
    "heads split": Prologue(split_heads, (In("2, m, k"), In("k, 12")), frozenset({"multiply"})),
    "heads joined": Prologue(joined_heads, (In("2, 3, m, k"), In("2, 3, k, 4"), In("2, m, 12")), frozenset({"add"})),
    "NaN and infinities": Prologue(
        lambda x, w: jnp.abs(x) @ w, (In("m, k", draw=special), In("k, n", draw=infinite)), frozenset({"abs"})
    ),
}  # fmt: skip


TABLE, NUMBERS = In("m, k"), In("n - 1", np.int32, between(-2, 9))


def gradient(ids: Any, y: Any, like: Any) -> Any:
    """Of an embedding: updates are added into zeros."""
    return jnp.zeros_like(like).at[ids].add(y * 2)


def scaled_product(x: Any, a: Any, b: Any, ids: Any) -> Any:
    """What updates are computed from is also what the scatter begins with, and something else keeps its group alive."""
    y = a @ b
    table = x * y
    return table.at[ids].min(table[ids], mode="drop"), y.astype(np.int16)


SCATTERS: Mapping[str, Prologue] = {
    "updates": Prologue(
        lambda x, i, y: x.at[i].add(jnp.abs(y) + 1), (TABLE, NUMBERS, In("n - 1, k")), frozenset({"abs", "add"})
    ),
    "indices": Prologue(lambda x, i: x.at[i * 2 - 1].set(3.0), (TABLE, NUMBERS), frozenset({"multiply", "subtract"})),
    "zeros": Prologue(gradient, (NUMBERS, In("n - 1, k"), TABLE), frozenset({"multiply"})),
    "integers": Prologue(
        lambda x, i, y: x.at[i].max(y + 1),
        (In("m", np.int32), NUMBERS, In("n - 1", np.int32)),
        frozenset({"add"}),
    ),
    # In place, a row might be read after it was written; whether it is in place must not decide what is fused.
    "the operand is read by its updates": Prologue(
        lambda x, i: x.at[i].add(jnp.abs(x[i])), (TABLE, NUMBERS), frozenset(), groups=3
    ),
    "a computed operand is read by its updates": Prologue(
        scaled_product, (In("1, 2"), In("1, 1"), In("1, 2"), In("1", np.int32)), frozenset({"d_gather"}), groups=2
    ),
    "negative zeros": Prologue(
        lambda i, y: jnp.full((7,), -0.0).at[i].add(-jnp.abs(y)), (NUMBERS, In("n - 1")), frozenset({"abs"}), groups=2
    ),
}


def descent(table: Any, ids: Any, y: Any) -> Any:
    """A step along the gradient of an embedding."""
    return table - 0.1 * jnp.zeros_like(table).at[ids].add(y)


def momentum(table: Any, state: Any, ids: Any, y: Any) -> Any:
    """The same with a second result, which is read in turn."""
    state = 0.9 * state + jnp.zeros_like(table).at[ids].add(y * 2)
    return table - 0.1 * state, state


def both_types(x: Any, ids: Any, y: Any) -> Any:
    """Results of two types; that of the scatter's own type is where updates are combined."""
    found = jnp.abs(x.at[ids].add(y))
    return found.astype(np.float16), found


ROWS = In("n - 1, k")
SCATTER_EPILOGUES: Mapping[str, Prologue] = {
    "descent": Prologue(descent, (TABLE, NUMBERS, ROWS), frozenset({"multiply", "subtract"})),
    "two results": Prologue(momentum, (TABLE, TABLE, NUMBERS, ROWS), frozenset({"multiply", "add", "subtract"})),
    "columns": Prologue(
        lambda x, b, i, y: jnp.tanh(x.at[:, i].add(y) + b),
        (TABLE, In("k"), NUMBERS, In("m, n - 1")),
        frozenset({"tanh"}),
    ),
    "one axis": Prologue(
        lambda x, i, y: jnp.sqrt(x.at[i].max(y)) * x, (In("m"), NUMBERS, In("n - 1")), frozenset({"sqrt", "multiply"})
    ),
    "another shape": Prologue(
        lambda x, i, y: -x.at[i].set(y).reshape(-1), (TABLE, NUMBERS, ROWS), frozenset({"negate"})
    ),
    "another order": Prologue(
        lambda x, i, y: jnp.exp(x.at[i].add(y).T), (TABLE, NUMBERS, ROWS), frozenset[str](), groups=2
    ),
    "another type": Prologue(lambda x, i, y: x.at[i].add(y) > 0, (TABLE, NUMBERS, ROWS), frozenset[str](), groups=2),
    "rounded beside": Prologue(both_types, (TABLE, NUMBERS, ROWS), frozenset({"convert", "abs"})),
    "read twice": Prologue(
        lambda x, i, y: (x.at[i].add(y)) * x.at[i].add(y)[::-1], (TABLE, NUMBERS, ROWS), frozenset[str](), groups=2
    ),
}
