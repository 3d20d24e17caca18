# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""What a GPU's kernel may write in place of what it reads, by any variant and order of threads; donated arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shlo_disc.artifact import Artifact
from shlo_disc.compiled import Compiled
from shlo_disc.host_ir import Choice, Copy
from shlo_disc.kernels import inplace
from shlo_disc.options import Hints
from shlo_disc.pipeline import compile_for
from shlo_disc.runtime.cuda.backend import CudaBackend
from shlo_disc.runtime.cuda.launch_table import cheapest
from shlo_disc.runtime.steps import leaves, slots_of
from tests.emulator.device import EmulatedDevice, Schedule
from tests.emulator.run import OPTIONS, numbered
from tests.host.test_donation import momentum
from tests.pipeline.exports import In, by_jax, check, exported, flat

pytestmark = pytest.mark.slow

SIZES = (1, 2, 5, 8, 33)
VARIANTS = 16  # of a choice at most: one that has fewer runs its last again
INDEX = In("", np.int32, lambda rng, shape, dtype: rng.integers(0, 1, shape, dtype))


def cached(cache: jax.Array, new: jax.Array, at: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.lax.dynamic_update_slice(cache, new, (at, jnp.int32(0))), jnp.tanh(new)


def summed(x: jax.Array, at: jax.Array) -> jax.Array:
    """Updates that meet."""
    return x.at[jnp.stack([at, at, at + 0])].add(1.5)


PROGRAMS: Mapping[str, tuple[Callable[..., Any], tuple[In, ...]]] = {
    "map": (lambda x, y: jnp.tanh(x) * y + x, (In("s, 8"), In("8"))),
    "two maps": (lambda x, y: (x * y, x - y), (In("s, 8"), In("s, 8"))),
    "softmax": (lambda x: jax.nn.softmax(x * 2, axis=-1), (In("s, 64"),)),
    "few rows": (lambda x: jax.nn.softmax(x * 2, axis=-1), (In("8, s"),)),
    "norm": (lambda x, y: (x - x.mean(-1, keepdims=True)) / (1 + x.var(-1, keepdims=True)) + y, (In("s, 64"),) * 2),
    "softmax across": (lambda x, y: jax.nn.softmax(x.T * 2 + y, axis=-1), (In("s, 40"), In("40, s"))),
    "softmax of the middle": (lambda x: jax.nn.softmax(x * 2, axis=1), (In("2, s, 40"),)),
    "momentum": (momentum, (In("s, 8"),) * 3),
    "apart": (lambda x, y: (jnp.exp(x), y / jnp.abs(y).sum(-1, keepdims=True)), (In("s, 8"), In("8, s"))),
    "cache": (cached, (In("s + 1, 8"), In("1, 8"), INDEX)),
    "meet": (summed, (In("s + 1, 8"), INDEX)),
    "a row from others": (lambda x, at: x.at[at].set(x[at] * 2 + x[-1]), (In("s + 1, 8"), INDEX)),
}
# A thread would read what another one has overwritten, or the kernel reads more than once.
REFUSED: Mapping[str, tuple[Callable[..., Any], tuple[In, ...]]] = {
    "reversed": (lambda x: x - x[:, ::-1], (In("s, 8"),)),
    "other rows": (lambda x: x + x[::-1].sum(-1, keepdims=True), (In("s, 8"),)),
    "transposed": (lambda x: x + x.T, (In("40, 40"),)),
    "shifted": (lambda x: x * 2 + jnp.roll(x, 1, axis=0), (In("s, 8"),)),
    "gathered": (lambda x, at: x + x[at], (In("s, 8"), INDEX)),
    "in reverse order": (lambda x: jnp.exp(x)[::-1], (In("s, 8"),)),
}


def lent(
    name: str, donate: tuple[int, ...], device: EmulatedDevice, variant: int | None = None
) -> tuple[Compiled, Callable[..., Any], tuple[In, ...]]:
    function, inputs = {**PROGRAMS, **REFUSED}[name]
    chooser = cheapest if variant is None else partial(numbered, variant)
    run = compile_for(CudaBackend(device, chooser), exported(function, inputs), OPTIONS, hints=Hints(donated=donate))
    return run, function, inputs


def arrays_at(inputs: tuple[In, ...], size: int) -> list[Any]:
    rng = np.random.default_rng(size)
    return [one.array(rng, {"s": size}) for one in inputs]


@pytest.mark.parametrize("variant", [None, *range(VARIANTS)])
@pytest.mark.parametrize("name", [*PROGRAMS, *REFUSED])
def test_results_are_right_whatever_is_donated(name: str, variant: int | None, exhaustive: bool) -> None:
    if variant is not None and (variant + [*PROGRAMS, *REFUSED].index(name)) % 3 and not exhaustive:
        pytest.skip("one variant of three: --exhaustive")
    schedules: tuple[Schedule, ...] = ("lifo", "random")
    device = EmulatedDevice()
    count = len({**PROGRAMS, **REFUSED}[name][1])
    for donate in {(0,), tuple(range(count))}:
        run, function, inputs = lent(name, donate, device, variant)
        for number, size in enumerate(SIZES):
            arrays = arrays_at(inputs, size)
            wanted = by_jax(function, arrays)
            lying: list[list[Any]] = [[device.array(x, offset) for x in arrays] for offset in (0, 4)]
            for given in lying:
                device.set_schedule(schedules[number % 2], seed=size)
                check(flat(run, given), wanted, f"{name}, {size}, {donate}, {variant}")
                for k, (array, old) in enumerate(zip(given, arrays, strict=True)):
                    if k not in donate or array.pointer != array.memory.pointer:
                        np.testing.assert_array_equal(array.numpy(), old)


LENT = [("map", [0]), ("softmax", [0]), ("momentum", [0, 1]), ("cache", [0]), ("meet", [0])]


@pytest.mark.parametrize(("name", "results"), LENT)
def test_results_are_on_donated_memory(name: str, results: list[int]) -> None:
    """And nothing is copied for that."""
    device = EmulatedDevice()
    count = len(PROGRAMS[name][1])
    run, _, inputs = lent(name, tuple(range(count)), device)
    given: list[Any] = [device.array(array) for array in arrays_at(inputs, 33)]
    found: tuple[Any, ...] = run.executable(given)
    pointers = {one.pointer for one in given}
    assert [k for k, one in enumerate(found) if one.pointer in pointers] == results
    assert not copies(run.executable.artifact)


def copies(artifact: Artifact) -> int:
    found = 0
    for step in leaves(artifact.steps):
        found += isinstance(step, Copy)
        found += isinstance(step, Choice) and any(isinstance(c, Copy) for v in step.variants for c in v.commands)
    return found


@pytest.mark.parametrize("name", REFUSED)
def test_what_another_thread_reads_is_not_overwritten(name: str) -> None:
    """No buffer of these launches is the memory of another."""
    run, _, _ = lent(name, (0,), EmulatedDevice())
    artifact = run.executable.artifact
    choices = [step for step in leaves(artifact.steps) if isinstance(step, Choice)]
    assert choices
    for command in (c for choice in choices for variant in choice.variants for c in variant.commands):
        memories = [artifact.buffers[slot].memory for slot in dict.fromkeys(slots_of(command))]
        assert len(set(memories)) == len(memories), command


def _always(*_: object) -> bool:
    return True


@pytest.mark.parametrize("name", ["reversed", "other rows", "shifted"])
def test_it_would_be_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If these kernels did write in place, results would be wrong."""
    monkeypatch.setattr(inplace, "_precedes", _always)
    device = EmulatedDevice(schedule="lifo")
    run, function, inputs = lent(name, (0,), device)
    arrays = arrays_at(inputs, 33)
    given: list[Any] = [device.array(array) for array in arrays]
    (found,) = flat(run, given)
    assert not np.allclose(found, by_jax(function, arrays)[0], 1e-4, 1e-4)


def test_what_is_passed_twice_or_comes_from_the_host_is_copied() -> None:
    device = EmulatedDevice()
    run, function, inputs = lent("two maps", (0, 1), device)
    x, y = arrays_at(inputs, 7)
    twice: Any = device.array(x)
    check(flat(run, [twice, twice]), by_jax(function, [x, x]), "twice")
    np.testing.assert_array_equal(twice.numpy(), x)
    check(flat(run, [x, y]), by_jax(function, [x, y]), "from the host")
    np.testing.assert_array_equal(x, arrays_at(inputs, 7)[0])
