"""Launches that threads go through by rows: which are found, what shares memory in them, and that bits stay."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import NOWHERE
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import Sym, const, of
from shlo_disc.expr.facts import Facts
from shlo_disc.host.division import Division, ElementAccess
from shlo_disc.host.program import KernelRef, LaunchStep
from shlo_disc.host.regions import Locality, find_regions
from shlo_disc.host_ir import Launch, LaunchGroup
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.groups import Group, GroupKind
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.peak import symbols_at
from shlo_disc.size_expr import evaluate
from tests.pipeline.exports import In, exported
from tests.pipeline.guarded import guarded

pytestmark = pytest.mark.slow

SIZES = (0, 1, 2, 47, 95, 96, 97, 191, 192, 193, 401)
MLP = (In("s - 1, 40"), In("40, 96"), In("96, 40"))


def blocks(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    """Two blocks of layer norm and products, row by row."""
    for _ in range(2):
        y = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)
        x = x + jnp.tanh(y @ up) @ down
    return x


def blocks_reversed_between(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    return blocks(jax.lax.rev(blocks(x, up, down), (0,)), up, down)


def reversed_between(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    """The second product reads rows that another thread may have."""
    return jax.lax.rev(jnp.tanh(x @ up), (0,)) @ down


def summed_between(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    """Each row needs something of all others."""
    y = jnp.tanh(x @ up)
    return (y - y.sum(0)) @ down + x


def by_columns(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    """Every row of the second product needs all of the first."""
    y = jnp.tanh(x @ up)
    return y @ (y.T @ x) + x @ (up @ down)


def softmax_of_product(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    return jax.nn.softmax(x @ up, axis=-1) @ down


def of_several_widths(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    """Rows of the third product would fit where longer ones of the first were."""
    y = jnp.tanh(jnp.tanh(x @ up) @ down)
    return jnp.tanh(y @ up[:, :64]) @ down[:64]


def normalized(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    """The product is where the result will be."""
    del down
    return jax.nn.softmax(x @ up, axis=-1)


def summed_rows(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    return (x @ up + down[:, 0]).sum(-1)


def of_a_row(x: jax.Array, up: jax.Array, down: jax.Array) -> tuple[jax.Array, ...]:
    """What is wanted of each row of a product: extremes, where they are, a sum of exponentials."""
    y = x @ up + down[:, 0]
    return y.max(-1), jnp.argmin(y, -1), jax.nn.logsumexp(jnp.tanh(y), axis=-1)


def moments(x: jax.Array, up: jax.Array, down: jax.Array) -> tuple[jax.Array, ...]:
    y = x @ up + down[:, 0]
    return y.mean(-1), y.var(-1)


def in_a_loop(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
    def turn(_: Any, y: jax.Array) -> jax.Array:
        return jnp.tanh(y @ up) @ down + y

    return jax.lax.fori_loop(0, 3, turn, x)


def compiled(function: Callable[..., Any], threads: int, driver: Literal["c", "vm"] = "c") -> shlo_disc.Compiled:
    options = CompileOptions(threads=threads, driver=driver, optimize=1)
    return shlo_disc.compile(exported(function, MLP), device="cpu", options=options)


def artifact_of(run: shlo_disc.Compiled) -> Artifact:
    assert isinstance(run.executable, CpuExecutable)
    return run.executable.artifact


def regions(run: shlo_disc.Compiled) -> list[LaunchGroup]:
    found, left = list[LaunchGroup](), list(artifact_of(run).steps)
    while left:
        step = left.pop()
        left += (*getattr(step, "condition", ()), *getattr(step, "body", ()))
        if isinstance(step, LaunchGroup):
            found.append(step)
    return found


def arrays(size: int) -> list[NDArray[Any]]:
    rng = np.random.default_rng(size)
    found = [one.array(rng, {"s": size + 1}) * np.float32(0.3) for one in MLP]
    if size > 2:
        found[0][1, 3], found[0][2, 0] = np.nan, np.inf
    return found


@pytest.mark.parametrize("threads", [1, 2])
def test_a_chain_of_rows_is_one_region(threads: int) -> None:
    run = compiled(blocks, threads)
    (only,) = regions(run)
    assert len(artifact_of(run).steps) == 1
    assert len(only.launches) > 3


def test_regions_of_the_same_rows_share_the_size_of_a_unit() -> None:
    run = compiled(blocks_reversed_between, 2)
    assert len(regions(run)) == 2
    assert [name for name in artifact_of(run).symbols if name.startswith("unit")] == ["unit0"]


def test_with_one_thread_regions_are_those_that_hold_rows() -> None:
    assert regions(compiled(normalized, 1)) == []
    assert len(regions(compiled(normalized, 2))) == 1
    assert len(regions(compiled(summed_rows, 1))) == 1


def in_numpy(function: Callable[..., Any], x: NDArray[Any], up: NDArray[Any], down: NDArray[Any]) -> list[Any]:
    """What `of_a_row` and `moments` compute: XLA's maximum of a row may lose a NaN."""
    with np.errstate(invalid="ignore"):
        y = x.astype(np.float64) @ up + down[:, 0]
        if function is moments:
            return [y.mean(-1), y.var(-1)]
        return [y.max(-1), np.argmin(y, -1), np.log(np.exp(np.tanh(y)).sum(-1))]


DYNAMIC = (In("s - 1, k"), In("k, n"), In("n, k"))
WIDTHS = [(7, 3, 1), (200, 5, 2003), (385, 65, 64), (1, 1, 17)]


@pytest.mark.parametrize("driver", ["c", "vm"])
@pytest.mark.parametrize(("function", "shapes"), [(f, given) for f in (of_a_row, moments) for given in (MLP, DYNAMIC)])
def test_what_is_reduced_along_the_rows_of_a_product_is_held(
    function: Callable[..., Any], shapes: tuple[In, ...], driver: Literal["c", "vm"]
) -> None:
    """Any number of rows, and of columns: those of one row's width, and of many more than a block of a product has."""
    by_threads = [CompileOptions(threads=threads, driver=driver, optimize=1) for threads in (1, 2, 3)]
    runs = [shlo_disc.compile(exported(function, shapes), options=options) for options in by_threads]
    assert all(any(member.held for member in regions(run)[0].members) for run in runs)
    for sizes in [(size, 40, 96) for size in SIZES] if shapes is MLP else WIDTHS:
        rng = np.random.default_rng(sizes[0])
        bound = {"s": sizes[0] + 1, "k": sizes[1], "n": sizes[2]}
        given = [one.array(rng, bound) * np.float32(0.3) for one in shapes]
        if len(given[0]) > 3:
            given[0][1, 0], given[0][2, 0] = np.nan, np.inf
        alone = [np.asarray(part) for part in runs[0](*given)]
        for found, wanted in zip(alone, in_numpy(function, *given), strict=True):
            np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5, err_msg=str(sizes))
        for found, part in [pair for run in runs for pair in zip(run(*given), alone, strict=True)]:
            np.testing.assert_array_equal(np.asarray(found).view(np.int32), part.view(np.int32), str(sizes))


@pytest.mark.parametrize("threads", [1, 2])
def test_held_rows_do_not_grow_with_the_rows(threads: int) -> None:
    run = compiled(blocks, threads)
    few, many = (run.peak_memory(s=size) for size in (1000, 100_000))
    assert 0 < few == many < 1000 * 96 * 4 * threads
    held = [buffer for buffer in artifact_of(run).buffers if buffer.whole is not None]
    assert len(held) >= 3


@pytest.mark.parametrize("threads", [1, 2])
def test_who_looks_at_every_launch_sees_all_rows(threads: int) -> None:
    """Bits are those of units, and of the rows that the launches before left."""
    run = compiled(blocks, threads)
    executable, given = run.executable, arrays(401)
    assert isinstance(executable, CpuExecutable)
    held = [slot for slot, buffer in enumerate(executable.artifact.buffers) if buffer.whole is not None]
    seen = list[tuple[int, ...]]()

    def look(_: object, buffers: Mapping[int, NDArray[Any]]) -> None:
        seen.append(tuple(len(buffers[slot]) for slot in held))

    (found,) = executable.trace(given, look)
    np.testing.assert_array_equal(found.view(np.int32), np.asarray(run(*given)).view(np.int32))
    assert seen
    assert set(seen) == {(401,) * len(held)}


def test_memory_of_what_is_held_is_guarded() -> None:
    for threads in (1, 2, 3):
        run = compiled(blocks, threads)
        safe = guarded(run)
        for size in SIZES:
            given = arrays(size)
            (found,) = safe(given)
            np.testing.assert_array_equal(np.asarray(found), np.asarray(run(*given)), f"{size} rows")


@pytest.mark.parametrize("function", [reversed_between, summed_between])
def test_what_needs_other_rows_is_not_in_a_region(function: Callable[..., Any]) -> None:
    assert regions(compiled(function, 2)) == []


@pytest.mark.parametrize("driver", ["c", "vm"])
@pytest.mark.parametrize(
    "function", [blocks, reversed_between, summed_between, by_columns, softmax_of_product, in_a_loop]
)
def test_bits_do_not_depend_on_threads(function: Callable[..., Any], driver: Literal["c", "vm"]) -> None:
    runs = [compiled(function, threads, driver) for threads in (1, 2, 3)]
    for size in SIZES:
        given = arrays(size)
        alone, *others = [np.asarray(run(*given)) for run in runs]
        wanted = np.asarray(jax.jit(function)(*given))
        np.testing.assert_allclose(alone, wanted, rtol=2e-4, atol=2e-5)
        for found in (*others, *(np.asarray(run(*given)) for run in runs for _ in range(5))):
            np.testing.assert_array_equal(found.view(np.int32), alone.view(np.int32), f"{size} rows")


def test_rows_of_a_region_have_memory_of_their_own() -> None:
    """What lives in one place at different times of a region is as large, and used by rows: else threads would meet."""
    artifact = artifact_of(compiled(of_several_widths, 2))
    (only,) = [step for step in artifact.steps if isinstance(step, LaunchGroup)]
    used = sorted({slot for launch in only.launches for slot in launch.buffers})
    for size in (100, 1000):
        symbols = symbols_at(artifact, {"s": size})
        spans = dict[int, tuple[int, int]]()
        for slot in used:
            buffer = artifact.buffers[slot]
            if buffer.kind == "arena":
                start, length = (evaluate(text, symbols) for text in (buffer.offset, buffer.size))
                spans[slot] = start, start + length
        for a, (first, last) in spans.items():
            for b, (start, end) in spans.items():
                assert a == b or last <= start or end <= first or (first, last) == (start, end)


N, ROW, COLUMN = Sym("n"), Sym("%r"), Sym("%c")


def launch(read: int, written: int, *, reads_its_row: bool) -> LaunchStep:
    """A launch of a row at a time, which reads that row of a matrix, or any element, and fills the row of another."""
    shape = (of(N), const(4))
    tensors = tuple(Tensor(f"t{slot}", shape, DType.F32, NOWHERE) for slot in (read, written))
    loops = ((ROW, of(N)), (COLUMN, const(4)))
    own = of(ROW) * 4 + of(COLUMN)
    accesses = (ElementAccess(0, own if reads_its_row else None, loops), ElementAccess(1, own, loops))
    division = Division(of(ROW), of(N), accesses, const(1), None, of(N), 1, 2)
    kernel = KernelRef(Launch("k", (), (), of(N), const(1), const(0)), tensors, division=division)
    return LaunchStep(kernel, (read, written), Group(GroupKind.ROWS, (), (), None, None), (written,))


@pytest.mark.parametrize(
    ("first", "second", "is_one"),
    [
        (launch(0, 1, reads_its_row=True), launch(1, 2, reads_its_row=True), True),
        (launch(0, 1, reads_its_row=True), launch(1, 2, reads_its_row=False), False),
        (launch(0, 1, reads_its_row=True), launch(2, 0, reads_its_row=True), True),
        (launch(0, 1, reads_its_row=False), launch(2, 0, reads_its_row=True), False),
        (launch(0, 1, reads_its_row=False), launch(2, 1, reads_its_row=False), True),
    ],
    ids=["hands rows on", "hands all on", "overwrites rows read", "overwrites what others read", "overwrites rows"],
)
def test_a_thread_is_ahead_only_where_rows_are_its_own(first: LaunchStep, second: LaunchStep, is_one: bool) -> None:
    facts = Facts.empty().assume_at_least(of(N), 1, "a size", NOWHERE)
    found = list(find_regions([first, second], Locality(facts)))
    assert [len(region.steps) for region in found] == ([2] if is_one else [])


@pytest.mark.parametrize("empty", [(slice(2, 4, -2), slice(None)), (slice(None), slice(2, 4, -2))])
def test_launches_without_elements_are_in_no_region(empty: tuple[slice, slice]) -> None:
    """A lack of rows cannot be divided by, which shows only when sizes are simplified."""

    def sliced(x: jax.Array) -> jax.Array:
        return jnp.exp(x[empty])

    run = shlo_disc.compile(exported(sliced, (In("b, c"),)), options=CompileOptions(threads=2))
    for shape in ((1, 1), (200, 7)):
        x = np.ones(shape, np.float32)
        np.testing.assert_array_equal(np.asarray(run(x)), x[empty])


CUBES = """
func.func @main(%x: tensor<?x?x?xf32>, %c: tensor<?xf32>, %n: tensor<1xi32>) -> (tensor<?x?x?xf32>, tensor<?x?xf32>) {
  %b = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x?x?xf32>) -> tensor<i32>
  %square = stablehlo.multiply %b, %b : tensor<i32>
  %rows = stablehlo.reshape %square : (tensor<i32>) -> tensor<1xi32>
  %shape = stablehlo.concatenate %rows, %n, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %flat = stablehlo.dynamic_reshape %x, %shape : (tensor<?x?x?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %m = stablehlo.get_dimension_size %flat, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
  %one = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %wide = stablehlo.dynamic_broadcast_in_dim %half, %one, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
  %y = "stablehlo.batch_norm_inference"(%x, %c, %wide, %c, %wide) <{epsilon = 1.0e-03 : f32, feature_index = 0 : i64}>
    : (tensor<?x?x?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?x?x?xf32>
  %p = stablehlo.dot_general %x, %x, batching_dims = [0] x [0], contracting_dims = [2] x [2]
    : (tensor<?x?x?xf32>, tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%p init: %zero) applies stablehlo.add across dimensions = [2]
    : (tensor<?x?x?xf32>, tensor<f32>) -> tensor<?x?xf32>
  %two = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
  %pair = stablehlo.concatenate %two, %two, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %wider = stablehlo.dynamic_broadcast_in_dim %c, %pair, dims = [1] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  %z = stablehlo.maximum %sum, %wider : tensor<?x?xf32>
  return %y, %z : tensor<?x?x?xf32>, tensor<?x?xf32>
}
"""


def test_rows_of_equal_bytes_share_memory_although_their_dims_differ() -> None:
    """That `b * b * s` and `b * b * b` are equal is known as such: where `b` is 0, `s` is any size."""
    alone, *others = (shlo_disc.compile(CUBES, options=CompileOptions(threads=threads)) for threads in (1, 2, 3))
    rng = np.random.default_rng()
    for b, s in ((1, 1), (2, 2), (33, 33), (70, 70), (0, 7)):
        x, c = rng.standard_normal((b, b, s), np.float32), rng.standard_normal(b, np.float32)
        y, z = alone(x, c, np.array([b], np.int32))
        at = c[:, None, None]
        np.testing.assert_allclose(y, at * (x - at) / np.sqrt(np.float32(0.501)) + 0.5, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(z, np.maximum(np.einsum("bqd,bkd->bq", x, x), c), rtol=1e-4, atol=1e-3)
        for run in others:
            for found, wanted in zip(run(x, c, np.array([b], np.int32)), (y, z), strict=True):
                np.testing.assert_array_equal(found, wanted)


def test_reports_show_regions() -> None:
    run = compiled(blocks, 2)
    assert "by rows" in run.explain("fusion")
    assert "held" in run.explain("fusion")
    assert "launches by rows" in run.host_source
