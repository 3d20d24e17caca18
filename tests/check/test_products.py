"""Legal runs of products and convolutions that add one term after the other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shlo_disc.check.products import added_in_turn, overflow_in_turn
from shlo_disc.diagnostics import NOWHERE
from shlo_disc.dynamic_ops.contract import CONVOLUTION, ConvAttrs, DataDims, KernelDims
from shlo_disc.dynamic_ops.opdef import Arrays
from shlo_disc.dynamic_ops.program import Body, Program, Tensor
from shlo_disc.dynamic_ops.reference import by_definition
from shlo_disc.expr.dim import const
from shlo_disc.ir.dtypes import DType

pytestmark = pytest.mark.quick


def no_bodies(_body: Body | Program, _inputs: Arrays) -> Arrays:
    raise AssertionError("products have no bodies")


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_terms_added_one_after_the_other_are_those_of_the_op(data: st.DataObject) -> None:
    """Of small integers, whose sums are exact in any order."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    size, channels, groups = data.draw(st.integers(1, 7)), data.draw(st.integers(0, 3)), data.draw(st.integers(1, 2))
    window, stride, spread, hole = (data.draw(st.integers(1, 3)) for _ in range(4))
    low, high, batch_groups = (data.draw(st.integers(lo, 2)) for lo in (-1, 0, 1))
    if groups > 1:
        batch_groups = 1
    attrs = ConvAttrs(
        input=DataDims(0, 2, (1,)),
        kernel=KernelDims(1, 2, (0,)),
        output=DataDims(0, 1, (2,)),
        strides=(const(stride),),
        padding=((const(low), const(high)),),
        lhs_dilation=(const(hole),),
        rhs_dilation=(const(spread),),
        reversal=(data.draw(st.booleans()),),
        feature_groups=groups,
        batch_groups=batch_groups,
    )
    x = rng.integers(-4, 5, (2 * batch_groups, size, channels * groups)).astype(np.float32)
    y = rng.integers(-4, 5, (window, channels, 4)).astype(np.float32)
    room = (size - 1) * hole + 1 + low + high - ((window - 1) * spread + 1)
    shape = (2, 4, max(0, room // stride + 1))
    operands = [Tensor(f"x{k}", tuple(map(const, one.shape)), DType.F32, NOWHERE) for k, one in enumerate((x, y))]
    result = Tensor("r", tuple(map(const, shape)), DType.F32, NOWHERE)
    op = CONVOLUTION.op(tuple(operands), attrs, (result,), NOWHERE)
    (expected,) = by_definition(op, (x, y), no_bodies)
    (found,) = added_in_turn(op, (x, y), no_bodies, rng)
    np.testing.assert_array_equal(found, expected)
    assert not overflow_in_turn(op, (x, y))
    assert overflow_in_turn(op, (x * np.float32(1e20), y * np.float32(1e20))) is bool(x.any() and y.any())
