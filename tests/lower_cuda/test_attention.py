"""Attention on a GPU: where it is found, and that its kernels give what `jax.jit` gives."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shlo_disc.dynamic_ops.contract import Precision
from shlo_disc.emit.naming import NAME
from shlo_disc.host_ir import GridLaunch
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.groups import GroupKind
from shlo_disc.lower_cuda.attention import print_attention
from shlo_disc.lower_cuda.attention_tiles import HALF, PLAIN, SHARED, TF32, Products, tiles_for
from shlo_disc.runtime.cuda import nvrtc
from tests.emulator.device import EmulatedDevice
from tests.emulator.run import OPTIONS, compiled
from tests.lower_cuda.attention_programs import (
    ATTENTION,
    FEW_KEYS,
    MASK,
    REFUSED,
    Function,
    causal,
    find,
    find_in,
    heads,
    masked,
    masked_twice,
    plain,
)
from tests.lower_cuda.compilers import require_nvrtc
from tests.lower_cuda.emulated import verify
from tests.lower_cuda.sass import instructions, resources
from tests.pipeline.exports import Array, Draw, In, by_jax, check, exported, special

pytestmark = pytest.mark.slow

# ---- where it is found


@pytest.mark.parametrize("name", ATTENTION)
def test_attention_is_found(name: str) -> None:
    function, inputs = ATTENTION[name]
    found = find(function, *inputs)
    assert len(found.kernels) == 1, found.reasons
    assert len(found.after.groups) <= len(found.before.groups) - 2
    assert not found.reasons


@pytest.mark.parametrize("name", REFUSED)
def test_what_only_looks_like_attention_is_refused(name: str) -> None:
    function, inputs, reason = REFUSED[name]
    found = find(function, *inputs)
    assert not found.kernels
    assert found.after.groups == found.before.groups
    assert bool(found.reasons) == (reason is not None)
    assert all(reason in one for one in found.reasons if reason)


def test_scores_are_read_in_place() -> None:
    """Queries, keys and values come from their arguments, with strides and without copies."""
    (kernel,) = find(plain, *heads(width=16, count=2)).kernels
    for view in (kernel.q, kernel.k, kernel.v):
        assert (str(view.row_stride), str(view.column_stride)) == ("32", "1")
    assert [axis.extent.constant for axis in kernel.batch] == [None, 2]
    assert kernel.kept is None
    assert kernel.weight == kernel.exponential


# How many products of queries and keys a model has, each with a softmax of its own.
MODELS = {"bert": 3, "gpt2": 3, "llama": 2, "t5": 6, "vit": 2, "whisper": 6, "resnet": 0}


@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, corpus: Path) -> None:
    found = find_in((corpus / "models" / name / "module.mlir").read_text())
    assert len(found.kernels) == MODELS[name]
    assert not found.reasons
    products = [sum(g.kind is GroupKind.DOT for g in plan.groups) for plan in (found.before, found.after)]
    assert products[0] - products[1] == 2 * MODELS[name]


def test_a_mask_that_layers_share_is_stored_once() -> None:
    def layers(x: Any) -> Any:
        mask = jnp.tril(jnp.ones((x.shape[0], x.shape[0]), bool))
        for _ in range(2):
            x = x + jax.nn.softmax(jnp.where(mask, x @ x.T, -1e9)) @ x
        return x

    found = find(layers, In("s, 16"))
    assert len(found.kernels) == 2, found.reasons


def test_the_group_of_a_decision_is_explained() -> None:
    function, inputs = ATTENTION["causal"]
    text = compiled(exported(function, inputs), EmulatedDevice()).explain()
    assert "group 0: attention -> " in text
    assert "attention: the scores are never stored" in text
    assert "reads its operands from memory" not in text  # what was refused before is merged now
    function, inputs, _ = REFUSED["weights are a result"]
    text = compiled(exported(function, inputs), EmulatedDevice()).explain()
    assert "no attention: " in text


# ---- on the emulator

SIZES = (0, 1, 2, 15, 16, 17, 63, 64, 65, 130)


def sized(queries: int, keys: int, batch: int = 2) -> Mapping[str, int]:
    return {"b": batch, "t": queries + 1, "s": keys + 1}


EDGES = [sized(t, s) for t, s in zip(SIZES, (130, 0, 65, 17, 1, 64, 2, 63, 16, 15), strict=True)]
FEW = [sized(1, 70), sized(37, 19, batch=1)]
DTYPES: Mapping[str, Any] = {"f32": np.float32, "f16": np.float16, "bf16": jnp.bfloat16}


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_number_of_queries_and_keys(dtype: str) -> None:
    verify(causal, heads(DTYPES[dtype]), EDGES, scale=2, inside=4)


@pytest.mark.parametrize(("name", "dtype"), [("causal", "f32"), ("causal", "bf16"), ("mask before and after", "f32")])
def test_keys_that_blocks_share(name: str, dtype: str) -> None:
    """Parts of the keys with nothing for a query among them, and the last part shorter."""
    function, inputs = ATTENTION[name]
    inputs = tuple(replace(i, dtype=DTYPES[dtype] if i.dtype is np.float32 else i.dtype) for i in inputs)
    verify(function, inputs, [sized(3, 1100, batch=1), sized(16, 1793, batch=1)], scale=2, inside=4)


# Those that print something of their own.
WRITTEN = (
    "mask", "bias", "dropout", "soft cap", "epilogue", "fewer heads of keys", "library, bias", "matrices",
    "keys across", "one query, fewer heads of keys", "rows reversed", "width of one",
)  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_every_way_to_write_it(name: str) -> None:
    function, inputs = ATTENTION[name]
    verify(function, inputs, FEW, scale=2, inside=4)


@pytest.mark.parametrize(("dtype", "width"), [("f32", 8), ("f32", 128), ("f16", 48), ("f16", 128), ("bf16", 80)])
def test_widths(dtype: str, width: int) -> None:
    """Rows that are padded, and those with the most shared memory."""
    verify(plain, heads(DTYPES[dtype], width=width, count=1), [sized(19, 41, batch=1)], scale=2, inside=4)


def test_keys_that_are_no_packs() -> None:
    """Rows of 5 elements: single elements are copied; and both directions of memory."""
    inputs = (In("b, t - 1, 3, 5"), In("b, s - 1, 3, 5"), In("b, s - 1, 3, 5"))
    verify(plain, inputs, FEW, scale=2, inside=4)


@pytest.mark.parametrize("function", [masked, masked_twice])
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_rows_that_are_masked_throughout(function: Function, dtype: str) -> None:
    """-inf everywhere is NaN, unless the mask is applied to the weights too; and whole blocks of keys are masked."""
    inputs = (*heads(DTYPES[dtype]), FEW_KEYS)
    verify(function, inputs, [sized(20, 150), sized(5, 7)], scale=2, inside=4)


def _only(position: int, draw: Draw) -> tuple[In, ...]:
    return tuple(replace(one, draw=draw) if k == position else one for k, one in enumerate((*heads(), MASK)))


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("function", [masked, masked_twice])
def test_nans_and_infinities(function: Function, position: int) -> None:
    """In queries, keys or values; where scores become NaN or infinite, so do the rows that they belong to."""
    verify(function, _only(position, _rarely_special), [sized(20, 70), sized(3, 5)], scale=2, inside=4)


def _rarely_special(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    values, odd = rng.standard_normal(shape).astype(dtype), special(rng, shape, dtype)
    return np.where((rng.random(shape) < 0.01) & ~np.isfinite(odd), odd, values)


@pytest.mark.parametrize("name", ["causal", "mask before and after", "wide"])
def test_tf32(name: str) -> None:
    """f32 on tensor cores: 10 bits of mantissa."""
    function, inputs = ATTENTION[name]
    options = replace(OPTIONS, matmul_precision="default")
    source = exported(function, inputs)
    for number in (0, 1):
        run = compiled(source, EmulatedDevice(), variant=number, options=options)
        assert "Tf32Products" in run.kernels_source
        for size in (*FEW, sized(65, 130)):
            rng = np.random.default_rng(7)
            arrays = [i.array(rng, size) for i in inputs]
            found = [np.asarray(result) for result in run.executable(arrays)]
            check(found, by_jax(function, arrays), f"{size}, variant {number}", scale=100, inside=4)


def test_large_scores() -> None:
    """The largest score grows from block to block: what was summed before shrinks to nothing."""
    q, k, v = heads(count=1)
    inputs = (replace(q, draw=_ones), replace(k, draw=_rising), v)
    verify(plain, inputs, [sized(3, 200, batch=1)], scale=10)


def _ones(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    del rng
    return np.ones(shape, dtype)


def _rising(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return rng.uniform(0.9, 1.1, shape).astype(dtype) * np.linspace(0, 60, shape[1], dtype=dtype)[:, None, None]


# ---- what is printed


def _module(text: str) -> str:
    return '#include "call/shlo.cuh"\n' + text.replace(NAME, "kernel")


CODE: Sequence[tuple[Any, int, Precision, Products]] = [
    (np.float16, 64, Precision.DEFAULT, HALF),
    (jnp.bfloat16, 128, Precision.DEFAULT, HALF),
    (np.float32, 16, Precision.DEFAULT, TF32),
    (np.float32, 128, Precision.DEFAULT, TF32),
    (np.float32, 64, Precision.HIGHEST, PLAIN),
    (np.float32, 128, Precision.HIGHEST, PLAIN),
]


@pytest.mark.parametrize(("dtype", "width", "precision", "products"), CODE)
def test_machine_code(dtype: Any, width: int, precision: Precision, products: Products) -> None:
    """No spills, tensor cores where promised, and the shared memory that the tile was chosen for."""
    require_nvrtc()
    (kernel,) = find(causal, *heads(dtype, width=width)).kernels
    kernel = replace(kernel, precisions=(precision, precision))
    printed = print_attention(kernel)
    tiles = tiles_for(kernel)
    assert {tile.products for tile in tiles} == {products}
    made = nvrtc.compile_kernels(_module(printed.text), "attention.cu", 90, "int32_t")
    taken, code = resources(made.log), instructions(made.cubin)
    for tile, variant in zip((*tiles, tiles[-1]), printed.variants, strict=True):
        call, *others = variant.commands
        assert isinstance(call, GridLaunch)
        name = call.kernel.replace(NAME, "kernel")
        assert taken[name].spilled == 0
        assert taken[name].shared == tile.shared <= SHARED
        assert ("HMMA" in code[name]) == (products is not PLAIN)
        assert "LDGSTS" in code[name]  # keys and values go to shared memory past the registers
        assert all(isinstance(c, GridLaunch) and not taken[c.kernel.replace(NAME, "kernel")].spilled for c in others)


def test_every_width_has_tiles() -> None:
    (kernel,) = find(plain, *heads()).kernels
    for dtype in (DType.F32, DType.F16):
        source = replace(kernel.q.source, dtype=dtype)
        for width in range(1, 129):
            for precision in Precision:
                one = replace(
                    kernel,
                    q=replace(kernel.q, source=source),
                    depth=width,
                    width=128,
                    precisions=(precision, precision),
                )
                assert all(tile.shared <= SHARED for tile in tiles_for(one))


def test_few_queries_split_their_keys() -> None:
    """One query and many keys: the cost of a block says that warps share the keys."""
    (kernel,) = find(plain, *heads(np.float16, width=64)).kernels
    many, few = tiles_for(kernel)
    keys = kernel.key.extent
    symbols = dict.fromkeys(keys.symbols(), 4096)
    assert few.cycles(keys).evaluate(symbols) < many.cycles(keys).evaluate(symbols)
    assert few.latency(keys).evaluate(symbols) < many.latency(keys).evaluate(symbols)
    assert many.rows * few.cycles(keys).evaluate(symbols) > few.rows * many.cycles(keys).evaluate(symbols)
