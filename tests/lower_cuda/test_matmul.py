"""Matrix products on a GPU: every variant on the emulator, and what the compiler makes of them."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from shlo_disc.emit.naming import NAME
from shlo_disc.expr.dim import Dim
from shlo_disc.fusion.fuse import plan_fusion
from shlo_disc.host_ir import GridLaunch, Product
from shlo_disc.kernels.groups import Abilities, GroupKind
from shlo_disc.kernels.templates import build_dot
from shlo_disc.lower_cuda.kernels import H100
from shlo_disc.lower_cuda.matmul import CONTRACTIONS, print_dot
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.cuda import nvrtc
from tests.emulator.device import Array, EmulatedDevice
from tests.emulator.run import compiled, launch, poisoned, variants
from tests.lower_cuda.compilers import require_nvrtc
from tests.lower_cuda.emulated import Sizes, verify
from tests.lower_cuda.printing import KERNEL, module
from tests.lower_cuda.sass import instructions, resources
from tests.pipeline.exports import BF16, F16, In, exported, special
from tests.pipeline.programs import context_of, planned

pytestmark = pytest.mark.slow

F64 = np.float64
DEFAULT = CompileOptions(driver="vm", graphs=False)


def mnk(*shapes: tuple[int, int, int]) -> tuple[Sizes, ...]:
    """Sizes of m, n and k; the programs have dims one smaller than their symbols, so that 0 is among them."""
    return tuple({"m": m + 1, "n": n + 1, "k": k + 1} for m, n, k in shapes)


EDGES = mnk((0, 5, 5), (5, 0, 5), (5, 7, 0), (1, 1, 1), (2, 31, 7), (8, 64, 33), (9, 63, 8), (65, 129, 127))
FEW = mnk((1, 9, 65), (7, 1, 31), (3, 5, 1031), (64, 65, 72), (127, 33, 16))
BATCHES: tuple[Sizes, ...] = (
    {"b": 1, "h": 1, "m": 2, "n": 2, "k": 2},
    {"b": 2, "h": 3, "m": 8, "n": 10, "k": 17},
    {"b": 3, "h": 2, "m": 66, "n": 4, "k": 9},
    {"b": 2, "h": 2, "m": 1, "n": 6, "k": 4},
)

A, B, BIAS = In("m - 1, k - 1"), In("k - 1, n - 1"), In("n - 1")


def of(dtype: Any, *inputs: In) -> tuple[In, ...]:
    return tuple(In(i.shape, dtype, i.draw) for i in inputs)


@dataclass(frozen=True, slots=True)
class Case:
    """A program around one product, and the sizes it runs at."""

    function: Callable[..., Any]
    inputs: tuple[In, ...]
    sizes: tuple[Sizes, ...] = FEW
    scale: float = 1.0
    wide: bool = False


def dense(x: Any, w: Any, bias: Any) -> Any:
    return jnp.tanh(x @ w + bias)


def scores(q: Any, k: Any) -> Any:
    return jnp.einsum("bmhk,bnhk->bhmn", q, k)


CASES: Mapping[str, Case] = {
    "f32 dense": Case(dense, (A, B, BIAS), EDGES),
    "f32 plain": Case(lambda x, w: x @ w, (A, B)),
    "f32 both transposed": Case(lambda x, w: x.T @ w.T - 1, (In("k - 1, m - 1"), In("n - 1, k - 1"))),
    "f32 transposed result": Case(lambda x, w: (x @ w).T * 2, (A, B)),
    "f32 residual and two results": Case(lambda x, w, r: (x @ w + r, jnp.tanh(x @ w) * r), (A, B, In("m - 1, n - 1"))),
    "f32 without a unit stride": Case(
        lambda x, w: jnp.einsum("mkb,kbn->bmn", x, w),
        (In("m, k, b"), In("k, b, n")),
        ({"m": 9, "n": 7, "k": 20, "b": 3},),
    ),
    "f32 to f16": Case(lambda x, w: (x @ w).astype(F16), (A, B)),
    "f64": Case(lambda x, w: x.T @ w, of(F64, In("k - 1, m - 1"), B), EDGES, wide=True),
    "f16 dense": Case(dense, of(F16, A, B, BIAS), scale=2),
    "f16 to f32": Case(
        lambda x, w: jnp.einsum("mk,nk->mn", x, w, preferred_element_type=jnp.float32),
        of(F16, A, In("n - 1, k - 1")),
    ),
    "bf16 dense": Case(dense, of(BF16, A, B, BIAS), scale=2),
    "f32 scores": Case(scores, (In("b, m, h, k"), In("b, n, h, k")), BATCHES),
    "f16 scores": Case(scores, of(F16, In("b, m, h, k"), In("b, n, h, k")), BATCHES),
    "f32 values": Case(
        lambda p, v: jnp.einsum("bhmk,bkhn->bmhn", p, v) + 1, (In("b, h, m, k"), In("b, k, h, n")), BATCHES
    ),
    "bf16 values": Case(
        lambda p, v: jnp.einsum("bhmk,bkhn->bmhn", p, v), of(BF16, In("b, h, m, k"), In("b, k, h, n")), BATCHES
    ),
    "matrix by vector": Case(lambda x, w: jnp.tanh(x @ w), (A, In("k - 1"))),
    "vector by matrix": Case(lambda x, w: x @ w, (In("k - 1"), B)),
    "special values": Case(lambda x, w: x @ w, (In("m, k", draw=special), In("k, n", draw=special)), mnk((9, 10, 3))),
}


@pytest.mark.parametrize("name", CASES)
def test_every_variant_on_the_emulator(name: str) -> None:
    case = CASES[name]
    verify(case.function, case.inputs, case.sizes, scale=case.scale, wide=case.wide)


def rounded(x: Array) -> Array:
    """To 10 bits of mantissa, as TF32 has them; ties away from zero."""
    bits = x.view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)


@pytest.mark.parametrize("transposed", [False, True])
def test_default_precision_rounds_operands_to_tf32(transposed: bool) -> None:
    def function(x: Any, w: Any) -> Any:
        return (x.T @ w.T if transposed else x @ w) * 2

    shapes = ("k, m", "n, k") if transposed else ("m, k", "k, n")
    inputs = [In(shape) for shape in shapes]
    source = exported(function, inputs)
    rng = np.random.default_rng(5)
    labels = set[str]()
    for number in range(len(variants(source)) + 2):  # tiles of two sizes instead of one
        for sizes in ({"m": 9, "n": 70, "k": 40}, {"m": 129, "n": 8, "k": 31}, {"m": 3, "n": 64, "k": 700}):
            arrays = [i.array(rng, sizes) for i in inputs]
            run = compiled(source, EmulatedDevice(), variant=number, options=DEFAULT).executable
            found = np.asarray(run(arrays)[0])
            wanted, exact = (function(*(f(a).astype(F64) for a in arrays)) for f in (rounded, np.asarray))
            near_rounded = np.abs(found - wanted).max() < 1e-3
            assert near_rounded or np.abs(found - exact).max() < 1e-3
            labels.add("tf32" if near_rounded else "f32")
    assert labels == {"tf32", "f32"}, "tiles round, thin kernels do not need to"


def printed(function: Callable[..., Any], *inputs: In, wide: bool = False) -> Printed:
    """What is printed for the product of a program that has one group."""
    with jax.enable_x64(wide):
        found = planned(function, *inputs)
    program, producers = found.program, found.producers
    plan = plan_fusion(program.body, context_of(program, Abilities(H100, CONTRACTIONS)))
    (group,) = plan.groups
    assert group.kind is GroupKind.DOT
    return print_dot(build_dot(group, program.facts, producers)[0], program.facts)


def product_of(found: Printed) -> Product[Dim]:
    """The call of cuBLAS, of which there is one."""
    calls = {call for variant in found.variants for call in variant.commands if isinstance(call, Product)}
    (call,) = calls
    return call


@pytest.mark.parametrize(
    ("shapes", "equation", "flags"),
    [
        (("m, k", "k, n"), "mk,kn->mn", (False, False)),
        (("m, k", "n, k"), "mk,nk->mn", (False, True)),
        (("k, m", "k, n"), "km,kn->mn", (True, False)),
        (("b, k, m", "b, n, k"), "bkm,bnk->bmn", (True, True)),
        (("b, m, h, k", "b, n, h, k"), "bmhk,bnhk->bhmn", (False, True)),
    ],
)
def test_cublas_reads_operands_where_they_are(shapes: tuple[str, str], equation: str, flags: tuple[bool, bool]) -> None:
    found = printed(lambda x, w: jnp.einsum(equation, x, w), *map(In, shapes))
    call = product_of(found)
    assert (call.a_transposed, call.b_transposed) == flags
    assert call.dtypes[0] == "float32"
    assert call.compute == "tf32"


@pytest.mark.parametrize(
    ("precision", "dtype", "compute"),
    [
        ("default", np.float32, "tf32"),
        ("high", np.float32, "tf32"),
        ("highest", np.float32, "f32"),
        (("default", "highest"), np.float32, "f32"),
        (lax.DotAlgorithmPreset.F32_F32_F32, np.float32, "f32"),
        ("default", F16, "f32"),
        ("default", F64, "f64"),
    ],
)
def test_precision_says_how_products_are_computed(precision: Any, dtype: Any, compute: str) -> None:
    found = printed(lambda x, w: jnp.dot(x, w, precision=precision), *of(dtype, A, B), wide=True)
    assert product_of(found).compute == compute
    assert ("TensorTile" in found.text) == (compute == "tf32" or dtype is F16)


def test_an_epilogue_reads_the_product_in_its_result_or_in_a_workspace() -> None:
    in_place = printed(dense, A, B, BIAS)
    assert len(in_place.workspaces) == 1, "only that of split sums"
    call = product_of(in_place)
    assert call.c == 3
    elsewhere = printed(lambda x, w: (x @ w).astype(F16), A, B)
    assert len(elsewhere.workspaces) == 2
    assert str(elsewhere.workspaces[1]) == str(4 * (product_of(elsewhere).m * product_of(elsewhere).n))


def test_kernels_for_few_rows_where_sizes_allow_it() -> None:
    labels = {v.label for v in printed(lambda x, w: x @ w, In("9, k"), In("k, n")).variants}
    assert not any("row" in label for label in labels)
    assert "at most 1 column" in labels
    one = {v.label for v in printed(lambda x, w: x @ w, In("1, k"), In("k, 64")).variants}
    assert "at most 1 row" in one
    assert "at most 8 rows" not in one
    assert not any("column" in label for label in one)


def test_a_strided_operand_is_left_to_our_own_kernels() -> None:
    found = printed(lambda x, w: jnp.einsum("mkb,bkn->bmn", x, w), In("m, k, b"), In("b, k, n"))
    assert not any("cuBLAS" in v.label for v in found.variants)
    assert any(not v.guards for v in found.variants)


MACHINE: Sequence[tuple[str, tuple[In, ...], str]] = (
    ("f32", (A, B, BIAS), "HMMA.1688.F32.TF32"),
    ("f16", of(F16, A, B, BIAS), "HMMA.16816.F32"),
    ("bf16", of(BF16, A, B, BIAS), "HMMA.16816.F32.BF16"),
)


@pytest.mark.parametrize(("name", "inputs", "wanted"), MACHINE, ids=[name for name, _, _ in MACHINE])
def test_tiles_use_tensor_cores_and_wide_loads(name: str, inputs: tuple[In, ...], wanted: str) -> None:
    del name
    require_nvrtc()
    built = nvrtc.compile_kernels(module(printed(dense, *inputs)), "kernels.cu", 90, "int32_t")
    used = resources(built.log)
    code = instructions(built.cubin)
    assert all(kernel.spilled == 0 for kernel in used.values())
    for suffix, registers in (("large", 128), ("small", 128)):
        text = code[f"{KERNEL}_{suffix}"]
        assert wanted in text
        assert "LDG.E.128" in text
        assert "LDSM" in text
        assert used[f"{KERNEL}_{suffix}"].registers <= registers
    for suffix in ("rows1", "rows8", "columns8"):
        assert "LDG.E.128" in code[f"{KERNEL}_{suffix}"]


def test_f64_and_exact_f32_have_tiles_of_their_own() -> None:
    require_nvrtc()
    for dtype, wanted in ((F64, "DFMA"), (np.float32, "FFMA")):
        found = printed(lambda x, w: jnp.dot(x, w, precision="highest"), *of(dtype, A, B), wide=True)
        built = nvrtc.compile_kernels(module(found), "kernels.cu", 90, "int32_t")
        code = instructions(built.cubin)[f"{KERNEL}_plain"]
        assert wanted in code
        assert "HMMA" not in code
        assert "LDG.E.128" in code
        assert all(kernel.spilled == 0 for kernel in resources(built.log).values())


def test_mixed_types_stay_folds() -> None:
    found = planned(
        lambda x, w: lax.dot(x, w, preferred_element_type=jnp.float32), In("m, k", np.int8), In("k, n", np.int8)
    )
    plan = plan_fusion(found.program.body, context_of(found.program, Abilities(H100, CONTRACTIONS)))
    assert all(group.kind is GroupKind.ROWS for group in plan.groups)


@pytest.mark.parametrize(("suffix", "m", "n"), [("small", 70, 67), ("rows8", 5, 67), ("columns8", 67, 5)])
def test_few_blocks_take_all_tiles_in_turn(suffix: str, m: int, n: int) -> None:
    """There may be more tiles than blocks that can be launched: kernels loop over them."""
    found = printed(lambda x, w: jnp.einsum("bmk,bkn->bmn", x, w) * 2, In("b, m, k"), In("b, k, n"))
    rng = np.random.default_rng(3)
    x, w = (rng.integers(-4, 5, shape).astype(np.float32) for shape in ((2, m, 40), (2, 40, n)))
    calls = {c for v in found.variants for c in v.commands if isinstance(c, GridLaunch) and c.kernel.endswith(suffix)}
    (call,) = calls
    sizes = [{"b": 2, "m": m, "k": 40, "n": n}[name] for name in call.symbols]
    buffers = (x, w, poisoned((2, m, n), np.float32), np.zeros(1, np.uint8))
    arrays = [buffers[k] for k in call.buffers]
    left = launch(module(found), call.kernel.replace(NAME, KERNEL), 3, call.threads, [*arrays, *sizes])
    np.testing.assert_array_equal(left[call.buffers.index(2)], x @ w * 2)
