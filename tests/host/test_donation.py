# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Donated arguments: their memory is used where nobody else sees it, and nothing else is ever overwritten."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export
from numpy.typing import NDArray

import shlo_disc
from shlo_disc import Compiled
from shlo_disc.artifact import Donation
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.runtime.cpu.executable import CpuExecutable
from tests.host.test_peak import attention, searched, updated
from tests.pipeline.exports import FAST, In, by_jax, exported

Array = NDArray[Any]


def momentum(weights: jax.Array, speed: jax.Array, slope: jax.Array) -> tuple[jax.Array, jax.Array]:
    speed = speed * 0.9 + slope
    return weights - speed * 0.1, speed


def passed(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    return y, x, jnp.sort(x, axis=0)


def shaped(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
    counts = jnp.argsort(y, axis=-1)
    return counts.reshape(-1), jnp.cumsum(x + counts.T.reshape(x.shape), axis=0)


FEW = In("", np.int32, lambda rng, shape, dtype: rng.integers(0, 4, shape, dtype))
ONE = In("", np.int32, lambda rng, shape, dtype: rng.integers(0, 1, shape, dtype))
PROGRAMS: Mapping[str, tuple[Callable[..., Any], tuple[In, ...]]] = {
    "momentum": (momentum, (In("s, 8"),) * 3),
    "passed": (passed, (In("s, 8"), In("s"))),
    "shaped": (shaped, (In("s, 8"), In("8, s"))),
    "attention": (attention, (In("s, 8"), In("8, 8"))),
    "loop": (searched, (In("s, 8"), FEW)),
    "update": (updated, (In("s + 1, 8"), ONE)),
}


def compiled(name: str, donate: tuple[int, ...]) -> Compiled:
    function, inputs = PROGRAMS[name]
    return shlo_disc.compile(exported(function, inputs), device="cpu", options=FAST, donate=donate)


def donations(run: Compiled) -> tuple[Donation, ...]:
    return run.executable.artifact.donations


def address(array: Array) -> int:
    return array.ctypes.data


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_right_and_only_donated_arguments_change(name: str) -> None:
    """Whatever is donated, and however the arrays lie in memory."""
    function, inputs = PROGRAMS[name]
    count = len(inputs)
    rng = np.random.default_rng(7)
    for donate in {(), (0,), (count - 1,), tuple(range(count))}:
        run = compiled(name, donate)
        assert {one.argument for one in donations(run)} <= set(donate)
        for size in (1, 2, 7, 16, 33):
            arrays = [one.array(rng, {"s": size}) for one in inputs]
            before = [array.copy() for array in arrays]
            wanted = by_jax(function, before)
            for kind in (np.array, readonly, shifted, jnp.asarray) * 2:  # new sizes by Python, known ones by C
                given = [kind(array) for array in arrays]
                _same(run(*given), wanted)
                for k, (array, old) in enumerate(zip(given, before, strict=True)):
                    if kind is not np.array or k not in donate:
                        np.testing.assert_array_equal(array, old)


def _same(found: Any, wanted: Any) -> None:
    for got, reference in zip(jax.tree_util.tree_leaves(found), wanted, strict=True):
        np.testing.assert_allclose(got, reference, 1e-4, 1e-4)


def readonly(array: Array) -> Array:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


def shifted(array: Array) -> Array:
    """Contiguous, but 4 bytes behind an address where arrays start."""
    raw = np.empty(array.nbytes + 32, np.uint8)
    start = -raw.ctypes.data % 16 + 4
    found = raw[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    found[...] = array
    return found


def test_a_result_takes_the_memory_of_an_argument_and_keeps_it() -> None:
    run = compiled("momentum", (0, 1))
    rng = np.random.default_rng(0)
    weights, speed, slope = (rng.standard_normal((100, 8), np.float32) for _ in range(3))
    wanted, addresses = by_jax(momentum, [weights, speed, slope]), [address(weights), address(speed)]
    found = run(weights, speed, slope)
    assert [address(array) for array in found] == addresses
    del weights, speed
    churn = [np.full((100, 8), k, np.float32) for k in range(20)]
    _same(found, wanted)
    del churn


def test_a_donated_argument_that_is_returned_is_not_copied() -> None:
    run = compiled("passed", (1,))
    x, y = np.ones((9, 8), np.float32), np.arange(9, dtype=np.float32)
    assert address(run(x, y)[0]) == address(y)


def test_temporaries_live_in_a_donated_argument() -> None:
    """The second product, once `x` and `y` are multiplied."""

    def chain(x: jax.Array, y: jax.Array, w: jax.Array) -> jax.Array:
        first = (x * y) @ w
        return jnp.tanh(first @ w) @ w.T + first

    inputs = (In("s, 8"), In("s, 8"), In("8, 8"))
    program = exported(chain, inputs)
    plain, lent = (shlo_disc.compile(program, device="cpu", options=FAST, donate=d) for d in ((), (0, 1)))
    assert lent.peak_memory(s=512) == 0 < plain.peak_memory(s=512)
    arrays = [one.array(np.random.default_rng(2), {"s": 33}) for one in inputs]
    _same([lent(*map(np.array, arrays))], by_jax(chain, arrays))


def test_what_overlaps_another_argument_is_copied() -> None:
    run = compiled("momentum", (0, 1))
    raw = np.random.default_rng(1).standard_normal((40, 8), np.float32)
    cases = [(raw[:10], raw[:10], raw[10:20]), (raw[:10], raw[5:15], raw[20:30]), (raw[:10], raw[20:30], raw[9:19])]
    for case in cases * 2:  # new sizes by Python, known ones by C
        old, wanted = raw.copy(), by_jax(momentum, [part.copy() for part in case])
        kept = case[2].copy()
        _same(run(*case), wanted)
        np.testing.assert_array_equal(case[2], kept)
        raw[...] = old


MARK = "tf.aliasing_output = 0 : i32"


def marked() -> Any:
    """An export whose text marks the second argument as donated."""

    def step(x: jax.Array, y: jax.Array) -> jax.Array:
        return x * 2 + y

    spec = jax.ShapeDtypeStruct(export.symbolic_shape("b, 4"), np.float32)
    program = export.export(jax.jit(step, donate_argnums=(1,)), platforms=["cpu"])(spec, spec)
    assert MARK in program.mlir_module()
    return program


@pytest.mark.parametrize("form", ["export", "text", "text of a donor"])
def test_marks_of_the_text_overwrite_nothing_by_surprise(form: str) -> None:
    """Neither arrays of NumPy nor of JAX change, unless the caller of shlo_disc says so."""
    program = marked()
    text = program.mlir_module()
    donor = text.replace(MARK, "jax.buffer_donor = true")
    program = {"export": program, "text": text, "text of a donor": donor}[form]
    plain, lent = (shlo_disc.compile(program, device="cpu", options=FAST, donate=d) for d in ((), "marked"))
    assert (donations(plain), donations(lent)) == ((), (Donation(1, 0),))
    for size in (1, 2, 7, 8):  # JAX's exports take no size of 0
        x, y = np.full((size, 4), 3, np.float32), np.full((size, 4), 5, np.float32)
        for _ in range(2):  # a new size by Python, a known one by C
            for kind in (np.array, jnp.asarray):
                given = kind(y)
                _same(plain(kind(x), given), [x * 2 + y])
                np.testing.assert_array_equal(given, y)
        given = y.copy()
        (found,) = jax.tree_util.tree_leaves(lent(x, given))
        np.testing.assert_array_equal(found, x * 2 + y)
        np.testing.assert_array_equal(given, found)  # the result took its memory
        given = jnp.asarray(y)
        _same(lent(x, given), [x * 2 + y])
        np.testing.assert_array_equal(given, y)


def test_a_marked_argument_is_bound() -> None:
    y = np.ones((3, 4), np.float32)
    run = shlo_disc.compile(marked(), device="cpu", options=FAST)
    x = np.full((3, 4), 3, np.float32)
    bound = run.bind(x)
    np.testing.assert_array_equal(bound(y), x * 2 + y)
    with pytest.raises(ShloDiscError, match=r"args\[1\]: found a donated argument"):
        shlo_disc.compile(marked(), device="cpu", options=FAST, donate="marked").bind(x, y)
    np.testing.assert_array_equal(run.bind(x, y)(), x * 2 + y)


def test_leaves_that_the_program_drops_are_counted() -> None:
    def second(x: jax.Array, y: jax.Array) -> jax.Array:
        del x
        return y + 1

    program = exported(second, (In("s"), In("s")))
    for donate, expected in (((0,), ()), ((1,), 1), ((0, 1), 1)):
        run = shlo_disc.compile(program, device="cpu", options=FAST, donate=donate)
        x, y = np.zeros(5, np.float32), np.ones(5, np.float32)
        assert (address(run(x, y)) == address(y)) == bool(expected)


@pytest.mark.parametrize("number", [-1, 2])
def test_a_number_of_no_argument_is_refused(number: int) -> None:
    program = exported(lambda x, y: x + y, (In("s"), In("s")))
    with pytest.raises(ShloDiscError, match=f"found the number {number} in donate, expected .* from 0 to 1"):
        shlo_disc.compile(program, device="cpu", options=FAST, donate=(0, number))


def test_the_debugger_sees_donated_memory() -> None:
    run = compiled("momentum", (0, 1))
    assert isinstance(run.executable, CpuExecutable)
    arrays = [one.array(np.random.default_rng(3), {"s": 7}) for one in PROGRAMS["momentum"][1]]
    wanted = by_jax(momentum, arrays)
    found = run.executable.trace(list(map(np.array, arrays)), lambda _step, _buffers: None)
    _same(found, wanted)
