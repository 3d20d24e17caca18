"""What the layout of memory relies on without a proof is looked at in every call, and nothing runs where it fails."""

from __future__ import annotations

import numpy as np
import pytest

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.diagnostics import InternalError
from shlo_disc.expr.dim import Dim, symbol
from shlo_disc.host import plan as host_plan

PROGRAM = """func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %r = stablehlo.add %x, %x : tensor<?xf32>
  return %r : tensor<?xf32>
}"""


@pytest.mark.parametrize("options", [CompileOptions(driver="c"), CompileOptions(driver="vm")], ids=["c", "vm"])
def test_no_call_runs_at_sizes_at_which_a_condition_fails(
    options: CompileOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    verified = host_plan.verify_host

    def with_condition(*arguments: object) -> tuple[Dim, ...]:
        assert verified(*arguments) == (), "of so small a program everything is proven"  # pyright: ignore[reportArgumentType]
        return (symbol("s0") - 5,)

    monkeypatch.setattr(host_plan, "verify_host", with_condition)
    compiled = shlo_disc.compile(PROGRAM, options=options)
    x = np.arange(7, dtype=np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(np.asarray(compiled(x)[0]), 2 * x)
        with pytest.raises(
            InternalError, match=r"at these sizes, so that nothing was run: found s0 - 5 = -1, expected at"
        ):
            compiled(x[:4])
