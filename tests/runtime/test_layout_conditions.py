"""What the layout of memory relies on without a proof is looked at in every call, and nothing runs where it fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.diagnostics import InternalError
from shlo_disc.expr.dim import Dim, symbol
from shlo_disc.host import plan as host_plan
from shlo_disc.runtime.cuda.build import build_gpu
from tests.c_package.packages import package
from tests.runtime.cuda.gpu_stub import StubDevice, lowered

PROGRAM = """func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = stablehlo.add %x, %x : tensor<?xf32>
  return %r : tensor<?xf32>
}"""
INTERNAL_ERROR = 4  # of the header


@pytest.fixture
def conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layout of the program holds from 5 elements on."""
    verified = host_plan.verify_host

    def with_condition(*arguments: object) -> tuple[Dim, ...]:
        assert verified(*arguments) == (), "of so small a program everything is proven"  # pyright: ignore[reportArgumentType]
        return (symbol("s0") - 5,)

    monkeypatch.setattr(host_plan, "verify_host", with_condition)


def on_gpu(options: CompileOptions) -> Callable[[list[Any]], tuple[Any, ...]]:
    artifact, kernels = lowered(PROGRAM)
    return build_gpu(artifact, options, StubDevice(kernels, has_cublas=False))


@pytest.mark.usefixtures("conditions")
@pytest.mark.parametrize("driver", ["c", "vm"])
@pytest.mark.parametrize("device", ["cpu", "gpu"])
def test_no_call_runs_at_sizes_at_which_a_condition_fails(
    options: CompileOptions, driver: Literal["c", "vm"], device: str
) -> None:
    options = replace(options, driver=driver)
    run = on_gpu(options) if device == "gpu" else shlo_disc.compile(PROGRAM, options=options).executable
    x = np.arange(7, dtype=np.float32)
    for _ in range(2):
        for count in (7, 5):
            np.testing.assert_array_equal(np.asarray(run([x[:count]])[0]), 2 * x[:count])
        with pytest.raises(
            InternalError, match=r"at these sizes, so that nothing was run: found s0 - 5 = -1, expected at"
        ):
            run([x[:4]])


@pytest.mark.usefixtures("conditions")
def test_no_call_from_c_runs_there(tmp_path: Path) -> None:
    built = package(shlo_disc.compile(PROGRAM), tmp_path)
    x = np.arange(7, dtype=np.float32)
    right, edge, wrong = built.calls([[x], [x[:5]], [x[:4]]])
    for answer, count in ((right, 7), (edge, 5)):
        np.testing.assert_array_equal(answer.results[0], 2 * x[:count])
    assert wrong.status == INTERNAL_ERROR
    assert "the layout of memory does not hold at these sizes, so that nothing was run" in wrong.message
