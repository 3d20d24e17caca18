# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Packages share work with the threads of a caller: the bits are those of a pool of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import shlo_disc
from shlo_disc.artifact import Artifact
from tests.c_package.in_process import PARALLEL_FOR, Model
from tests.c_package.packages import OK, assert_same_bits

SIZES = (1, 3, 64, 257, 1000)
Hook = Callable[[Any, int, Any, Any], None]


def _program(x: Any, w: Any, v: Any) -> Any:
    """Launches of rows, products in a group of launches, and a sort."""
    h = jax.nn.gelu(x @ w) @ v
    return jax.nn.softmax(h), jax.numpy.sort(h, axis=0), (x * x).sum(0)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Artifact]:
    """A package for two threads; four run it."""
    folder = tmp_path_factory.mktemp("threads")
    options = shlo_disc.CompileOptions(optimize=0, threads=2)
    run = shlo_disc.compile(_program, shapes="f32[n, 64], f32[64, 128], f32[128, 64]", device="cpu", options=options)
    run.build(folder, target="native")
    return folder, run.executable.artifact


@pytest.fixture(scope="module")
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def calls() -> list[list[Any]]:
    rng = np.random.default_rng(6)
    weights = [rng.standard_normal(shape).astype(np.float32) for shape in ((64, 128), (128, 64))]
    return [[rng.standard_normal((n, 64)).astype(np.float32), *weights] for n in SIZES]


def test_bits_are_those_of_the_own_pool(built: tuple[Path, Artifact], executor: ThreadPoolExecutor) -> None:
    counts, used = list[int](), set[int]()

    def on_threads(_: Any, count: int, body: Any, data: Any) -> None:
        def one(number: int) -> None:
            used.add(threading.get_ident())
            body(data, number)

        counts.append(count)
        for job in [executor.submit(one, number) for number in range(count)]:
            job.result()

    def backwards(_: Any, count: int, body: Any, data: Any) -> None:
        for number in reversed(range(count)):
            body(data, number)

    def idle(_: Any, count: int, body: Any, data: Any) -> None:
        """A wrong one, as are threads without memory; the calling thread does what is left."""
        del count, body, data

    hooks: dict[str, Hook] = {"threads": on_threads, "backwards": backwards, "idle": idle}
    own = Model(*built, threads=4)
    for name, hook in hooks.items():
        model = Model(*built, threads=4, parallel_for=PARALLEL_FOR(hook))
        for call in calls():
            status, message, results = model.run(call)
            assert (status, message) == (OK, ""), name
            for one, other in zip(results, own.run(call)[2], strict=True):
                assert_same_bits(one, other)
        model.close()
    assert set(counts) <= {2, 3, 4}
    assert used - {threading.get_ident()}
    own.close()


def test_a_model_of_one_thread_uses_no_others(built: tuple[Path, Artifact]) -> None:
    used = list[int]()
    model = Model(*built, threads=1, parallel_for=PARALLEL_FOR(lambda *given: used.append(given[1])))
    assert model.run(calls()[-1])[0] == OK
    assert not used
    model.close()


def test_several_calls_at_once(built: tuple[Path, Artifact], executor: ThreadPoolExecutor) -> None:
    """One shares its loops, and the others run alone: also calls from a thread of the caller's pool."""

    def on_threads(_: Any, count: int, body: Any, data: Any) -> None:
        threads = [threading.Thread(target=body, args=(data, number)) for number in range(1, count)]
        for one in threads:
            one.start()
        body(data, 0)
        for one in threads:
            one.join()

    model, call = Model(*built, threads=3, parallel_for=PARALLEL_FOR(on_threads)), calls()[3]
    wanted = Model(*built, threads=1).run(call)[2]
    for status, message, results in executor.map(lambda _: model.run(call), range(12)):
        assert (status, message) == (OK, "")
        for one, other in zip(results, wanted, strict=True):
            assert_same_bits(one, other)
    model.close()
