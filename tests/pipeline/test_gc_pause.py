"""The collector of cycles rests while a program is compiled, and is left as it was found."""

from __future__ import annotations

import gc
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from shlo_disc.diagnostics import ParseError
from shlo_disc.pipeline import Request, Stopwatch, compile_text

pytestmark = pytest.mark.quick

TEXT = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"


@pytest.fixture(params=[True, False], ids=["on", "off"], autouse=True)
def found(request: pytest.FixtureRequest) -> Generator[bool]:
    """Whether the collector is on before the test."""
    if not request.param:
        gc.disable()
    yield bool(request.param)
    gc.enable()


class _Watch(Stopwatch):
    """Looks at the collector, and waits for other threads, in every stage."""

    def __init__(self, barrier: threading.Barrier | None = None) -> None:
        super().__init__()
        self.seen = set[bool]()
        self._barrier = barrier

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        if self._barrier is not None and name == "verify":
            self._barrier.wait()
        with super().stage(name):
            self.seen.add(gc.isenabled())
            yield


def test_it_rests_while_a_program_is_compiled(found: bool) -> None:
    watch = _Watch()
    compile_text(TEXT, "rest.mlir", Request(), watch)
    assert watch.seen == {False}
    assert gc.isenabled() is found


def test_an_error_leaves_it_as_it_was_found(found: bool) -> None:
    with pytest.raises(ParseError):
        compile_text("func.func", "broken.mlir", Request(), _Watch())
    assert gc.isenabled() is found


def test_threads_leave_it_as_the_first_one_found_it(found: bool) -> None:
    """All are inside at once, then leave one by one: each finds the collector off to its own end."""
    count = 3
    barrier = threading.Barrier(count, timeout=60)
    watches = [_Watch(barrier) for _ in range(count)]
    with ThreadPoolExecutor(count) as pool:
        done = [pool.submit(compile_text, TEXT, "threads.mlir", Request(), watch) for watch in watches]
    assert all(each.result().device == "cpu" for each in done)
    assert [watch.seen for watch in watches] == [{False}] * count
    assert gc.isenabled() is found
