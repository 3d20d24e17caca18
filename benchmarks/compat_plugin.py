"""A plugin of pytest (`-p benchmarks.compat_plugin`): run a library's own tests with `shlo_disc.jit` for `jax.jit`.

`COMPAT_JIT=shlo_disc` replaces `jax.jit` before the library is imported, for every module but those of JAX and of
shlo_disc: these find JAX's own. `COMPAT_RESULTS` is the file to which a line of JSON is added when a test begins and
when it ends, so that nothing is lost if the process dies. `COMPAT_SECONDS` is the time that a test may take,
`COMPAT_DONE` a file with the names of tests that are not run again.
"""

# JAX and pytest's hooks have no useful types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import signal
import time
from collections.abc import Generator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

OWN_JIT = {"jax", "jaxlib", "shlo_disc"}  # packages that find JAX's own `jax.jit`
_OUTCOMES = {"setup": "error", "call": "failed", "teardown": "error"}


class TestTooSlowError(BaseException):
    """A test took too long. No test catches it."""

    __test__ = False


def replace_jit() -> None:
    """Let all modules but JAX's and ours find `shlo_disc.jit` in the place of `jax.jit`."""
    jax: Any = import_module("jax")
    for name in ("jax.numpy", "jax.scipy", "jax.nn", "jax.random", "jax.export", "jax.experimental"):
        import_module(name)
    ours: Any = import_module("shlo_disc").jit
    original = jax.jit

    @functools.wraps(original)
    def jit(*args: Any, **kwargs: Any) -> Any:
        frame = inspect.currentframe()
        caller: str = frame.f_back.f_globals.get("__name__", "") if frame and frame.f_back else ""
        return (original if caller.partition(".")[0] in OWN_JIT else ours)(*args, **kwargs)

    jax.jit = jit


def reason_of(error: BaseException) -> str:
    """The exception's type and the first line of its message, without what differs from test to test.

    >>> reason_of(ValueError("x has size 12 at 0x7f12"))
    'ValueError: x has size N at N'
    """
    lines = [one.strip() for one in str(error).splitlines() if one.strip()] or [""]
    return f"{type(error).__name__}: {re.sub(r'0x[0-9a-f]+|[0-9]+([.][0-9]+)?(e[-+]?[0-9]+)?', 'N', lines[0])}"[:300]


def pytest_configure() -> None:
    """Replace `jax.jit` before anything of the library is imported."""
    if os.environ.get("COMPAT_JIT") == "shlo_disc":
        replace_jit()


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    """Leave out the tests that are done."""
    path = os.environ.get("COMPAT_DONE")
    done = set(Path(path).read_text().splitlines()) if path else set[str]()
    left_out = [one for one in items if one.nodeid in done]
    items[:] = [one for one in items if one.nodeid not in done]
    config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: Any) -> Generator[None, Any, Any]:
    """Note which test runs, and how long it takes."""
    _note(test=item.nodeid, outcome="began")
    started = time.monotonic()
    try:
        return (yield)
    finally:
        _note(test=item.nodeid, outcome="ended", seconds=round(time.monotonic() - started, 3))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: Any) -> Generator[None, Any, Any]:
    """Stop a test that takes too long."""
    del item

    def stop(*_: Any) -> None:
        raise TestTooSlowError(f"a test took longer than {seconds:.0f} s")

    seconds = float(os.environ.get("COMPAT_SECONDS", "300"))
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Generator[None, Any, Any]:
    """Note the outcome of a test, and why it failed."""
    report = yield
    if report.failed:
        _note(test=item.nodeid, outcome=_OUTCOMES[report.when], reason=reason_of(call.excinfo.value))
    elif report.skipped:
        _note(test=item.nodeid, outcome="skipped")
    elif report.when == "call":
        _note(test=item.nodeid, outcome="passed")
    return report


def _note(**fields: object) -> None:
    with Path(os.environ["COMPAT_RESULTS"]).open("a") as file:
        file.write(json.dumps(fields) + "\n")
