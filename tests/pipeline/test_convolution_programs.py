"""Convolutions and pooling, with what is fused into them, at every size."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc import parse
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from tests.pipeline.exports import BF16, In, Program, exported, program, verify

NHWC, NCHW, NWC = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW"), ("NWC", "WIO", "NWC")
VOLUME = ("NCDHW", "OIDHW", "NCDHW")
IMAGE, SMALL = In("b, h, w, 3"), {"b": 2}


def conv(
    strides: tuple[int, ...] = (1, 1), padding: Any = "SAME", layout: Any = NHWC, **options: Any
) -> Callable[[Any, Any], Any]:
    return lambda x, k: lax.conv_general_dilated(x, k, strides, padding, dimension_numbers=layout, **options)


def block(x: Any, k: Any, bias: Any, deep: Any) -> Any:
    """Convolution, bias, activation, depthwise convolution, residual, pooling."""
    y = jax.nn.silu(conv()(x, k) + bias)
    z = conv(feature_group_count=4)(y, deep) + y
    return z, z.mean((1, 2)), lax.reduce_window(z, -np.inf, lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME")


def loss(x: Any, k: Any) -> Any:
    return (jnp.tanh(conv(padding=((1, 1), (1, 1)))(x, k)) ** 2).sum()


def block_first(x: Any, k: Any, bias: Any, deep: Any) -> Any:
    """The same with features first, and without what is returned on the way."""
    y = jax.nn.silu(conv(layout=NCHW)(x, k) + bias[:, None, None])
    z = conv(layout=NCHW, feature_group_count=4)(y, deep) + y
    return lax.reduce_window(z, -np.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), "SAME"), z.mean((2, 3))


def residual_first(x: Any, k: Any, bias: Any, y: Any) -> Any:
    """Bias, activation and residual around one convolution with features first."""
    return jax.nn.relu(conv(layout=NCHW)(x, k) + bias[:, None, None]) + y


def image(name: str, function: Callable[..., Any], *inputs: In, **options: Any) -> Program:
    return program(name, function, *inputs, **{"fixed": SMALL, **options})


LARGE = ("h >= 4", "w >= 4")
PROGRAMS = (
    image("same", conv(), IMAGE, In("3, 3, 3, 5")),
    image("valid", conv(padding="VALID"), IMAGE, In("3, 2, 3, 5"), constraints=LARGE),
    image("even kernel", conv(), IMAGE, In("2, 4, 3, 5")),
    image("strides", conv((2, 3)), IMAGE, In("3, 3, 3, 17")),
    image("explicit padding", conv(padding=((2, 0), (1, 3))), IMAGE, In("3, 3, 3, 4")),
    image("negative padding", conv(padding=((-1, 1), (2, -1))), IMAGE, In("2, 2, 3, 4"), constraints=LARGE),
    image("dilated kernel", conv(rhs_dilation=(2, 2), padding="SAME"), IMAGE, In("3, 3, 3, 4")),
    image("dilated image", conv(lhs_dilation=(2, 2), padding=((1, 1), (1, 1))), IMAGE, In("3, 3, 3, 4")),
    image("groups", conv(feature_group_count=2), In("b, h, w, 6"), In("3, 3, 3, 8")),
    image("depthwise", conv(feature_group_count=6), In("b, h, w, 6"), In("3, 3, 1, 6")),
    image("depthwise, multiplied", conv(feature_group_count=3), IMAGE, In("3, 3, 1, 6")),
    image("narrow groups", conv(feature_group_count=5), In("b, h, w, 20"), In("3, 3, 4, 20")),
    image("narrow groups, strides", conv((2, 2), feature_group_count=12), In("b, h, w, 24"), In("3, 3, 2, 24")),
    image("batch groups", conv(batch_group_count=2), In("4, h, w, 3"), In("3, 3, 3, 6")),
    image("one by one", conv(), IMAGE, In("1, 1, 3, 33")),
    image("channels first", conv(layout=NCHW), In("b, 3, h, w"), In("5, 3, 3, 3")),
    image(
        "channels first, f64", conv(layout=NCHW), In("b, 3, h, w", np.float64), In("5, 3, 3, 3", np.float64), wide=True
    ),
    image("channels first, i32", conv(layout=NCHW), In("b, 3, h, w", np.int32), In("17, 3, 3, 3", np.int32)),
    image("channels first, strides", conv((2, 3), layout=NCHW), In("b, 3, h, w"), In("70, 3, 3, 3")),
    image("channels first, one image", conv(layout=NCHW), In("1, 3, h, w"), In("5, 3, 3, 3"), fixed={}),
    image("channels first, known sizes", conv(layout=NCHW), In("b, 3, 7, 9"), In("5, 3, 3, 3")),
    image("channels first, volume", conv((1, 1, 1), layout=VOLUME), In("b, 2, 3, h, w"), In("4, 2, 2, 3, 3")),
    image(
        "channels before images",
        conv(layout=("NCHW", "OIHW", "CNHW")),
        In("b, 3, h, w"),
        In("5, 3, 3, 3"),
    ),
    image("images last", conv(layout=("NCHW", "OIHW", "CHWN")), In("b, 3, h, w"), In("5, 3, 3, 3")),
    image("mirrored", lambda x, k: conv(layout=NCHW)(x, k)[..., ::-1], In("b, 3, h, w"), In("5, 3, 3, 3")),
    image("residual, channels first", residual_first, In("b, 3, h, w"), In("5, 3, 3, 3"), In("5"), In("b, 5, h, w")),
    image("symbolic channels", conv(), In("b, h, w, c"), In("3, 3, c, n"), fixed={"b": 2, "c": 7, "n": 17}),
    image("one dim", conv((1,), layout=NWC), In("b, s, 4"), In("3, 4, 6")),
    image("one dim, causal", conv((1,), ((2, 0),), NWC), In("b, s, 4"), In("3, 4, 6")),
    image("three dims", conv((1, 1, 1), layout=("NDHWC", "DHWIO", "NDHWC")), In("b, 3, 4, w, 2"), In("2, 3, 3, 2, 4")),
    image("transposed", lambda x, k: lax.conv_transpose(x, k, (2, 2), "SAME"), IMAGE, In("3, 3, 3, 4")),
    image("bf16", conv(), In("b, h, w, 3", BF16), In("3, 3, 3, 4", BF16)),
    image("f64", conv(), In("b, h, w, 3", np.float64), In("3, 3, 3, 4", np.float64), wide=True),
    image("i32", conv(), In("b, h, w, 3", np.int32), In("3, 3, 3, 4", np.int32)),
    image("constant kernel", lambda x: conv()(x, jnp.ones((3, 3, 3, 4))), IMAGE),
    image("block", block, IMAGE, In("3, 3, 3, 4"), In("4"), In("3, 3, 1, 4"), scale=3),
    image("block, channels first", block_first, In("b, 3, h, w"), In("4, 3, 3, 3"), In("4"), In("4, 1, 3, 3"), scale=3),
    image(
        "gradient of a block, channels first",
        jax.grad(lambda *x: (block_first(*x)[1] ** 2).sum(), (1, 3)),
        *(In("b, 3, h, w"), In("4, 3, 3, 3"), In("4"), In("4, 1, 3, 3")),
        constraints=LARGE,
        scale=10,
    ),
    image("then transposed", lambda x, k: conv()(x, k).transpose(0, 3, 1, 2) * 2, IMAGE, In("3, 3, 3, 4")),
    image("then cut", lambda x, k: conv()(x, k)[..., :2] * 2, IMAGE, In("3, 3, 3, 4")),
    image("gradient", jax.grad(loss, (0, 1)), IMAGE, In("3, 3, 3, 4"), constraints=("h >= 4", "w >= 4"), scale=10),
    image(
        "average pooling",
        lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") / 4,
        IMAGE,
        constraints=LARGE,
    ),
)


@pytest.mark.parametrize("one", PROGRAMS, ids=lambda one: one.name)
def test_convolution_is_that_of_jax(one: Program) -> None:
    verify(one)


@pytest.mark.parametrize(
    ("layout", "groups", "packed"),
    [(NHWC, 1, True), (NCHW, 1, True), (NHWC, 2, True), (NHWC, 20, False)],
    ids=["last", "first", "groups", "narrow groups"],
)
def test_bound_weights_are_packed_once(layout: Any, groups: int, packed: bool) -> None:
    """They give what unbound ones do, also after others were bound."""
    features = {"NHWC": "b, h, w, 40", "NCHW": "b, 40, h, w"}[layout[0]]
    kernel = (3, 3, 40 // groups, 80) if layout is NHWC else (80, 40, 3, 3)
    kernel = (3, 3, 2, 40) if groups == 20 else kernel
    rng = np.random.default_rng(3)
    function = conv(layout=layout, feature_group_count=groups)
    run = shlo_disc.compile(exported(lambda k, x: function(x, k), (In(", ".join(map(str, kernel))), In(features))))
    first, second = (rng.standard_normal(kernel, np.float32) for _ in range(2))
    bound = run.bind(first)
    assert (bound.memory.packed > 0) == packed
    for weights in (first, second):
        bound.rebind(weights)
        for b, h, w in ((1, 1, 1), (2, 7, 7), (3, 31, 17)):
            image = rng.standard_normal((b, h, w, 40) if layout is NHWC else (b, 40, h, w), np.float32)
            np.testing.assert_allclose(bound(image), run(weights, image), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(("layout", "transposed"), [(NHWC, False), (NCHW, True), (("NCHW", "OIHW", "CNHW"), True)])
def test_lanes_are_what_is_next_to_each_other(layout: Any, transposed: bool) -> None:
    """Of results whose features are spread in memory, a feature's positions are stored at once."""
    shapes = {"NHWC": ("b, h, w, 4", "3, 3, 4, 8"), "NCHW": ("b, 4, h, w", "8, 4, 3, 3")}[layout[0]]
    run = shlo_disc.compile(exported(conv(layout=layout), tuple(map(In, shapes))))
    assert ("conv.transposed = 1;" in run.kernels_source) == transposed


HWOI = ("NHWC", "HWOI", "NHWC")


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
@pytest.mark.parametrize("layout", [NHWC, NCHW, HWOI], ids=["last", "first", "transposed"])
@pytest.mark.parametrize(("channels", "features"), [(7, 3), (40, 80), (256, 80)])
def test_weights_of_two_bytes_are_packed_as_they_are(dtype: Any, layout: Any, channels: int, features: int) -> None:
    """To the last bit what convolutions of f32 give of the same numbers, bound or not, also after others were bound."""
    names = {"N": "b", "H": "h", "W": "w", "C": str(channels)}
    sizes = {"H": "3", "W": "3", "I": str(channels), "O": str(features)}
    shape, kernel = ", ".join(names[x] for x in layout[0]), ", ".join(sizes[x] for x in layout[1])
    run = shlo_disc.compile(
        exported(lambda k, x: conv(layout=layout)(x, k.astype(np.float32)), (In(kernel, dtype), In(shape)))
    )
    wide = shlo_disc.compile(exported(lambda k, x: conv(layout=layout)(x, k), (In(kernel), In(shape))))
    assert "convert" not in run.kernels_source
    rng, taken = np.random.default_rng(3), tuple(int(sizes[x]) for x in layout[1])
    first, second = (rng.standard_normal(taken, np.float32).astype(dtype) for _ in range(2))
    second.flat[:5] = [np.nan, np.inf, -np.inf, np.finfo(np.float16).smallest_subnormal, -0.0]
    bound, bound_wide = run.bind(first), wide.bind(first.astype(np.float32))
    assert bound.memory.packed == bound_wide.memory.packed > 0
    for weights in (first, second):
        bound.rebind(weights)
        bound_wide.rebind(weights.astype(np.float32))
        for b, h, w in ((1, 1, 1), (2, 7, 5), (1, 31, 17), (3, 1, 16)):
            actual = {"N": b, "H": h, "W": w, "C": channels}
            image = rng.standard_normal([actual[x] for x in layout[0]], np.float32)
            np.testing.assert_array_equal(bound(image), bound_wide(image))
            np.testing.assert_array_equal(run(weights, image), bound_wide(image))


@pytest.mark.parametrize("dtype", [jnp.bfloat16, np.float16])
def test_constant_weights_of_two_bytes_stay_so(dtype: Any) -> None:
    """No call converts them, and images and results keep their type."""
    rng = np.random.default_rng(3)
    kernel = rng.standard_normal((3, 3, 24, 33), np.float32).astype(dtype)
    run = shlo_disc.compile(exported(lambda x: conv()(x, kernel), (In("b, h, w, 24", dtype),)))
    assert "conv.pack = shlo_conv_weights_" in run.kernels_source
    assert len(run.executable.artifact.packings) == 1
    image = rng.standard_normal((2, 9, 8, 24), np.float32).astype(dtype)
    found, wanted = run(image), np.asarray(conv()(image.astype(np.float32), kernel.astype(np.float32)))
    assert found.dtype == dtype
    # one rounding to the type, of sums of 216 terms in f32
    half_unit = float(jnp.finfo(dtype).eps) / 2
    np.testing.assert_allclose(found.astype(np.float32), wanted, rtol=half_unit, atol=1e-4)


BESIDE_PADDING: dict[str, tuple[Callable[[Any, Any], Any], str, tuple[int, ...]]] = {
    "last": (conv(), "b, h, w, 20", (3, 3, 20, 33)),
    "first": (conv(layout=NCHW), "b, 20, h, w", (33, 20, 3, 3)),
    "steps": (conv((2, 2)), "b, h, w, 20", (3, 4, 20, 33)),
    "holes": (conv(padding=((2, 1), (2, 1)), lhs_dilation=(2, 2)), "b, h, w, 20", (3, 3, 20, 7)),
    "groups": (conv(feature_group_count=4), "b, h, w, 64", (3, 3, 16, 64)),
    "narrow groups": (conv(feature_group_count=8), "b, h, w, 32", (3, 3, 4, 32)),
    "depthwise, first": (conv(layout=NCHW, feature_group_count=20), "b, 20, h, w", (20, 1, 3, 3)),
    "gradient of the image": (
        lambda x, k: jax.vjp(lambda y: conv()(y, k), jnp.zeros((*x.shape[:3], 5)))[1](x)[0],
        "b, h, w, 33",
        (3, 3, 5, 33),
    ),
}


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16], ids=["f32", "bf16"])
@pytest.mark.parametrize("name", BESIDE_PADDING)
def test_weights_that_are_not_finite_reach_padding(name: str, dtype: Any) -> None:
    """0 times infinity is NaN on padding and in holes, as in the reference, for any number of threads, bound or not."""
    function, shape, kernel = BESIDE_PADDING[name]
    export = exported(lambda k, x: function(x, k.astype(x.dtype)), (In(", ".join(map(str, kernel)), dtype), In(shape)))
    runs = [shlo_disc.compile(export, threads=threads) for threads in (1, 2, 3)]
    expected = legalize(parse(str(export.mlir_module())))
    rng = np.random.default_rng(len(name))
    weights = rng.integers(-8, 9, kernel).astype(dtype)
    for place in ((0,) * 4, (2, 1, 0, 0), tuple(n - 1 for n in kernel)):
        weights[tuple(np.minimum(place, np.array(kernel) - 1))] = rng.choice([np.nan, np.inf, -np.inf])
        for sizes in ({"b": 1, "h": 1, "w": 1}, {"b": 2, "h": 7, "w": 5}, {"b": 1, "h": 31, "w": 18}):
            dims = [sizes[d] if d in sizes else int(d) for d in shape.split(", ")]
            image = rng.integers(-8, 9, dims).astype(np.float32)
            (wanted,) = interpret(expected, (weights, image))
            for run in runs:
                np.testing.assert_array_equal(run(weights, image), wanted)
            np.testing.assert_array_equal(runs[1].bind(weights)(image), wanted)
