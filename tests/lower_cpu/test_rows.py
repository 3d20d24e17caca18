"""Row kernels as C++: where lanes run, what is unrolled, what one task is."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from shlo_disc.expr.dim import const, symbol
from shlo_disc.kernels.kernel import RowKernel
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.lower_cpu.modulo_splitting import join_short_rows
from shlo_disc.lower_cpu.packed_transpose import print_packed, with_packed_loads
from shlo_disc.lower_cpu.rows import SEAMS, RowPrinter, extent, is_flat, scratch_bytes, unrolled
from tests.pipeline.exports import BF16, F16, In
from tests.pipeline.programs import chain, planned, softmax

pytestmark = pytest.mark.quick

X = In("b, s")
I32 = np.int32


def kernel(function: Callable[..., Any], *inputs: In) -> RowKernel:
    """The kernel of a program that has only one."""
    found = planned(function, *inputs)
    (group,) = found.plan.groups
    return join_short_rows(build_row_kernel(group, found.program.facts, found.producers, SEAMS)[0])


def text(function: Callable[..., Any], *inputs: In) -> str:
    return "\n".join(RowPrinter(kernel(function, *inputs)).lines()[0])


# how lanes show in the text, and what must not show
VECTORS: dict[str, tuple[Callable[..., Any], tuple[In, ...], tuple[str, ...], tuple[str, ...]]] = {
    "elementwise": (jnp.tanh, (X,), ("store(", "tanh_(load(", "store_n("), ("load_stride",)),
    "f16": (lambda x: x * 2, (In("b, s", F16),), ("store(", "round_f16"), ()),
    "bf16": (jnp.exp, (In("b, s", BF16),), ("store(", "round_bf16"), ()),
    "i8": (lambda x: x + x, (In("b, s", np.int8),), ("store(", "load("), ()),
    "bool": (lambda x: ~x, (In("b, s", bool),), ("store_bool(", "load_bool("), ()),
    "comparison": (lambda x, y: jnp.where(x < y, x, 0), (X, X), ("select(", "store("), ()),
    "transposed operand": (lambda x, y: x.T + y, (X, In("s, b")), ("load_stride(", "store("), ()),
    "the same for a row": (lambda x, y: x * y[:, None], (X, In("b")), ("splat_f32(", "store("), ()),
    "the same for a column": (lambda x, y: x * y, (X, In("s")), ("load(", "store("), ("splat",)),
    "rows gathered": (lambda x, i: x[i], (X, In("n", I32)), ("store(", "load("), ("gather(",)),
    "positions": (lambda x: x + jnp.arange(x.shape[1]), (X,), ("store(",), ()),
    "sum of rows": (lambda x: x.sum(1), (X,), ("hsum(", "keep_n("), ()),
    "sum of columns": (lambda x: x.sum(0), (X,), ("store(",), ("hsum(",)),
    "maximum": (lambda x: x.max(1), (X,), ("hmax(",), ()),
    "join along the lane": (lambda x, y: jnp.concatenate([x, y], 1), (X, In("b, t")), ("store(",), ("if (v",)),
    "join of rows": (lambda x, y: jnp.concatenate([x, y]) * 2, (X, In("t, s")), ("if (", "store("), ()),
    "windows in padding": (lambda x: lax.reduce_window(x, 0.0, lax.add, (3, 5), (1, 2), "SAME"), (X,),
                           ("store(", "load_stride_where(", "lanes_between("), ()),
    "padding between": (lambda x: lax.pad(x, 0.0, ((0, 0, 0), (0, 0, 1))), (X,), ("store_interleaved(",), ()),
    "repeated rows of few": (lambda x: jnp.repeat(x[:, None], 3, 1), (In("b"),), ("v1, v1, v1",), ()),
    "too many phases": (lambda x: jnp.repeat(x, 9), (In("b"),), ("floordiv(",), ("store",)),
    "phases of a sum": (lambda x: jnp.repeat(x, 3, 1).sum(1), (X,), (), ("store_interleaved(",)),
    "short axis": (lambda x: x.T * 2, (In("3, b"),), (), ("store(",)),
    "running sum": (lambda x: jnp.cumsum(x, 1), (X,), (), ("hsum(",)),
    "complex": (lambda x: x * x, (In("b, s", np.complex64),), ("store(", "load("), ()),
    "sum of complex": (lambda x: x.sum(1), (In("b, s", np.complex64),), ("hsum(", "keep_n("), ()),
    "argmax": (lambda x: jnp.argmax(x, 1), (X,), ("select(",), ("hmax(",)),
}  # fmt: skip


@pytest.mark.parametrize("name", VECTORS)
def test_lanes_run_where_they_can(name: str) -> None:
    function, inputs, present, absent = VECTORS[name]
    found = text(function, *inputs)
    assert [part for part in present if part not in found] == [], found
    assert [part for part in absent if part in found] == [], found


def test_rows_with_reductions_are_unrolled() -> None:
    assert unrolled(kernel(softmax, X))
    assert unrolled(kernel(chain, X, In("s"), In("s")))
    assert not unrolled(kernel(jnp.tanh, X))
    assert not unrolled(kernel(lambda x: jnp.argmax(x, 1), X)), "its reduction has no vector form"
    assert not unrolled(kernel(lambda x: x.sum(0), X)), "there are no rows"


def test_neighbouring_loops_become_one() -> None:
    flat = kernel(jnp.tanh, In("b, s, d"))
    assert is_flat(flat)
    assert [str(a.extent) for a in flat.stages[0].axes] == ["b*d*s"]
    rows = kernel(softmax, In("b, s, d"))
    assert [str(a.extent) for a in rows.rows] == ["b*s"]


@pytest.mark.parametrize(
    ("function", "inputs", "pieces"),
    [
        (softmax, (X,), symbol("b")),
        (softmax, (In("b, t, s"),), symbol("b") * symbol("t")),
        (jnp.tanh, (X,), symbol("b") * symbol("s")),
        (lambda x: x.sum(), (X,), const(1)),
        (lambda x, y: x[:, None] * y, (In("b"), In("s")), symbol("b")),
    ],
    ids=["rows", "merged rows", "flat", "everything", "outer product"],
)
def test_a_launch_has_a_piece_per_row(function: Callable[..., Any], inputs: tuple[In, ...], pieces: object) -> None:
    assert extent(kernel(function, *inputs)) == pieces


def test_scratch_holds_whole_vectors_of_every_row_at_work() -> None:
    one = kernel(softmax, X)
    assert scratch_bytes(one) == (symbol("s") + 15) // 16 * 16 * 4 * 4
    assert scratch_bytes(kernel(lambda x: lax.reduce(x, np.float32(0), lax.add, (1,)), X)) == const(0)


@pytest.mark.parametrize(
    ("function", "inputs", "count"),
    [
        (lambda x: softmax(x.T), (X,), 1),
        (lambda x, y: softmax(x.T * y.T + x.T), (X, X), 2),
        (lambda x: softmax(x.transpose(0, 2, 1)), (In("b, s, d"),), 1),
        (softmax, (X,), 0),
        (lambda x: softmax(x.T), (In("b, 4"),), 0),
        (lambda x: softmax(x.transpose(1, 0, 2)), (In("b, s, d"),), 0),
    ],
    ids=["one", "two", "of batches", "none", "few rows", "contiguous"],
)
def test_operands_with_strides_along_lanes_are_turned(
    function: Callable[..., Any], inputs: tuple[In, ...], count: int
) -> None:
    found = with_packed_loads(kernel(function, *inputs))
    assert len(found.loads if found else ()) == count
    if found is not None:
        body = "\n".join([*print_packed(found).functions, *print_packed(found).statements])
        assert body.count("load_transposed(") == count
        assert "load_stride" not in body
