"""Convolutions on a GPU: every variant on the emulator, and what the compiler makes of them."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from shlo_disc.fusion.fuse import plan_fusion
from shlo_disc.kernels.groups import Abilities, GroupKind
from shlo_disc.kernels.templates import build_convolution
from shlo_disc.lower_cuda.convolution import print_convolution
from shlo_disc.lower_cuda.kernels import H100
from shlo_disc.lower_cuda.matmul import CONTRACTIONS
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.cuda import nvrtc
from tests.emulator.device import EmulatedDevice
from tests.emulator.run import compiled
from tests.lower_cuda.compilers import require_nvrtc
from tests.lower_cuda.emulated import Sizes, verify
from tests.lower_cuda.printing import KERNEL, module
from tests.lower_cuda.sass import instructions, resources
from tests.pipeline.exports import BF16, F16, In, by_jax, exported
from tests.pipeline.programs import context_of, planned

pytestmark = pytest.mark.slow

NHWC, NCHW = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")
Function = Callable[..., Any]


def conv(
    dims: tuple[str, str, str], strides: tuple[int, ...] = (1, 1), padding: Any = "SAME", **options: Any
) -> Function:
    """A convolution and something elementwise after it."""

    def run(x: Any, w: Any) -> Any:
        return jnp.tanh(lax.conv_general_dilated(x, w, strides, padding, dimension_numbers=dims, **options))

    return run


def sizes(*shapes: tuple[int, int, int, int, int]) -> tuple[Sizes, ...]:
    """Images, height, width, features in and out; the programs' images are one fewer, so that 0 is among them."""
    return tuple({"b": b + 1, "h": h, "w": w, "c": c, "o": o} for b, h, w, c, o in shapes)


SIZES = sizes((1, 1, 1, 1, 1), (2, 7, 5, 3, 9), (1, 9, 12, 8, 66), (0, 3, 3, 2, 2))
FEW = sizes((1, 5, 6, 16, 7), (2, 13, 7, 4, 65))
SPATIAL = sizes((1, 1, 1, 0, 0), (2, 7, 5, 0, 0), (1, 9, 12, 0, 0))
IMAGE, FILTER = In("b - 1, h, w, c"), In("3, 3, c, o")
CHANNELS, OIHW = In("b - 1, c, h, w"), In("o, c, 3, 3")


@dataclass(frozen=True, slots=True)
class Case:
    """A program around one convolution, and the sizes it runs at."""

    function: Function
    inputs: tuple[In, In]
    sizes: tuple[Sizes, ...] = FEW
    wide: bool = False
    scale: float = 1.0


def of(dtype: Any, first: In, second: In) -> tuple[In, In]:
    return In(first.shape, dtype), In(second.shape, dtype)


def transposed(x: Any, w: Any) -> Any:
    return lax.conv_transpose(x, w, (2, 2), "SAME", transpose_kernel=True) + 1


CASES: Mapping[str, Case] = {
    "f32": Case(conv(NHWC), (IMAGE, FILTER), SIZES),
    "f32, features first": Case(conv(NCHW), (CHANNELS, OIHW), SIZES),
    "f16": Case(conv(NHWC, (2, 2)), of(F16, IMAGE, FILTER), SIZES, scale=2),
    "bf16, features first": Case(conv(NCHW, (1, 2)), of(BF16, CHANNELS, OIHW), scale=2),
    "f64": Case(conv(NHWC, padding=((1, 0), (2, 3))), of(np.float64, IMAGE, FILTER), SIZES, wide=True),
    "dilated taps": Case(conv(NHWC, padding=((2, 2), (1, 3)), rhs_dilation=(2, 1)), (IMAGE, FILTER)),
    "dilated input": Case(conv(NHWC, padding=((1, 1), (2, 1)), lhs_dilation=(2, 3)), (IMAGE, FILTER)),
    "deep": Case(conv(NHWC), (IMAGE, FILTER), sizes((1, 3, 4, 61, 9), (2, 2, 2, 120, 3))),
    "deep groups": Case(
        conv(NHWC, feature_group_count=2), (In("b - 1, h, w, 160"), In("2, 2, 80, 6")), SPATIAL[:1]
    ),
    "cropped": Case(conv(NHWC, padding=((-1, 2), (0, 0))), (IMAGE, FILTER)),
    "transposed": Case(transposed, (In("b - 1, h, w, 5"), In("3, 3, 7, 5")), SPATIAL),
    "groups": Case(
        conv(NHWC, feature_group_count=3), (In("b - 1, h, w, 12"), In("3, 3, 4, 27")), SPATIAL
    ),
    "groups, features first": Case(
        conv(NCHW, feature_group_count=3), (In("b - 1, 12, h, w"), In("27, 4, 3, 3")), SPATIAL
    ),
    "depthwise": Case(conv(NHWC, feature_group_count=6), (In("b - 1, h, w, 6"), In("3, 3, 1, 12")), SPATIAL),
    "depthwise packs": Case(
        conv(NHWC, (2, 1), feature_group_count=8), (In("b - 1, h, w, 8"), In("3, 3, 1, 8")), SPATIAL
    ),
    "depthwise packs of bf16": Case(
        conv(NHWC, feature_group_count=16), of(BF16, In("b - 1, h, w, 16"), In("3, 3, 1, 16")), SPATIAL
    ),
    "depthwise bf16": Case(
        conv(NHWC, feature_group_count=6), of(BF16, In("b - 1, h, w, 6"), In("3, 3, 1, 6")), SPATIAL
    ),
    "one tap": Case(conv(NHWC), (IMAGE, In("1, 1, c, o")), SIZES),
    "one tap, features first": Case(conv(NCHW), (CHANNELS, In("o, c, 1, 1")), SIZES),
    "one tap of two": Case(conv(NHWC, (2, 2), "VALID"), (IMAGE, In("1, 1, c, o"))),
    "one dim": Case(conv(("NHC", "HIO", "NHC"), (2,)), (In("b - 1, h, c"), In("5, c, o")), SIZES),
    "three dims": Case(
        conv(("NDHWC", "DHWIO", "NDHWC"), (1, 2, 1)), (In("b - 1, 3, h, w, c"), In("2, 3, 2, c, o")),
    ),
    "no spatial dim": Case(conv(("NC", "IO", "NC"), (), ()), (In("b - 1, c"), In("c, o")), SIZES),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_every_variant_on_the_emulator(name: str) -> None:
    case = CASES[name]
    verify(case.function, case.inputs, case.sizes, scale=case.scale, wide=case.wide)


def printed(function: Function, *inputs: In, wide: bool = False) -> Printed:
    """What is printed for the convolution of a program that has one group."""
    with jax.enable_x64(wide):
        found = planned(function, *inputs)
    program, producers = found.program, found.producers
    (group,) = plan_fusion(program.body, context_of(program, Abilities(H100, convolutions=CONTRACTIONS))).groups
    assert group.kind is GroupKind.CONVOLUTION
    return print_convolution(build_convolution(group, program.facts, producers)[0], program.facts)


def test_depthwise_convolutions_have_no_tiles() -> None:
    found = printed(conv(NHWC, feature_group_count=6), In("b, h, w, 6"), In("3, 3, 1, 6"))
    assert [v.label for v in found.variants] == ["single elements"], "6 features are no packs of 4"
    found = printed(conv(NHWC, feature_group_count=8), In("b, h, w, 8"), In("3, 3, 1, 8"))
    assert [(v.label, v.aligned) for v in found.variants] == [("packs of 4", True), ("single elements", False)]


def test_the_weights_are_read_as_a_matrix_where_they_lie_like_one() -> None:
    assert "Weights<" not in printed(conv(NHWC), IMAGE, FILTER).text
    assert "Weights<" not in printed(conv(NCHW), CHANNELS, OIHW).text
    assert "Weights<" in printed(transposed, In("b, h, w, 5"), In("3, 3, 7, 5")).text


@pytest.mark.parametrize(
    ("function", "inputs", "wanted", "wide_loads"),
    [
        (conv(NHWC), (In("b, h, w, 64"), In("3, 3, 64, 128")), "HMMA.1688.F32.TF32", 2),
        (conv(NHWC), of(BF16, In("b, h, w, 64"), In("3, 3, 64, 128")), "HMMA.16816.F32.BF16", 2),
        (conv(NCHW), of(F16, In("b, 64, h, w"), In("128, 64, 3, 3")), "HMMA.16816.F32", 1),
    ],
)
def test_tiles_use_tensor_cores_and_wide_loads(
    function: Function, inputs: tuple[In, In], wanted: str, wide_loads: int
) -> None:
    require_nvrtc()
    built = nvrtc.compile_kernels(module(printed(function, *inputs)), "kernels.cu", 90, "int32_t")
    used, code = resources(built.log), instructions(built.cubin)
    for suffix, registers in (("medium", 168), ("small", 168)):
        text = code[f"{KERNEL}_{suffix}"]
        assert wanted in text
        assert text.count("LDG.E.128") >= wide_loads
        assert used[f"{KERNEL}_{suffix}"].registers <= registers
    assert all(kernel.spilled == 0 for kernel in used.values())


def without_tanh(x: Any, w: Any) -> Any:
    return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=NHWC)


def test_default_precision_rounds_operands_to_tf32() -> None:
    """Sums of small integers are exact in TF32; those of fractions are not."""
    source = exported(conv(NHWC), (IMAGE, FILTER))
    rng = np.random.default_rng(2)
    rounds = set[bool]()
    for number in range(3):
        run = compiled(source, EmulatedDevice(), variant=number, options=CompileOptions(graphs=False)).executable
        for size in FEW:
            x, w = (i.array(rng, size) for i in (IMAGE, FILTER))
            exact = np.round(x), np.round(w)
            wanted = by_jax(conv(NHWC), exact)
            np.testing.assert_allclose(np.asarray(run(exact)[0]), wanted[0], rtol=1e-5, atol=1e-5)
            found, wanted = np.asarray(run((x, w))[0]), by_jax(conv(NHWC), (x, w))
            (terms,) = by_jax(without_tanh, (np.abs(x), np.abs(w)))  # of which a product of TF32 loses 2^-10
            assert np.all(np.abs(found - wanted[0]) <= 1.01 * 2.0**-10 * terms)
            rounds.add(bool(np.abs(found - wanted[0]).max() > 1e-5))
    assert rounds == {True, False}, "tiles round, single elements do not need to"
