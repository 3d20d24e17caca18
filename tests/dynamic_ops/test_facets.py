"""Every op's element rule computes what its NumPy reference computes."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.dynamic_ops.opdef import Arrays, Template
from shlo_disc.dynamic_ops.program import Body, Program, Tensor
from shlo_disc.dynamic_ops.registry import OPS, definition
from shlo_disc.expr.dim import Sym, const
from shlo_disc.expr.evaluate import evaluate
from shlo_disc.expr.scalar import Index, Load, Scalar
from tests.dynamic_ops.samples import SAMPLES, Sample

# These have no element rule; test_order_and_control.py shows what they compute,
# test_linear_algebra.py what libraries do, and tests/pipeline/test_loop_sizes.py what is outlined.
CONTROL = {"d_while", "d_case", "d_outlined_while", "d_outlined_case"}
TEMPLATES_ONLY = {"d_sort", "d_scatter", "d_select_and_scatter", *CONTROL}.union(
    name for name, one in OPS.items() if one.template is Template.LIBRARY
)


@dataclass(slots=True)
class _Concrete:
    """Answers element rules with loads, and regions by inlining them."""

    inlined: dict[Tensor, Scalar] = field(default_factory=dict[Tensor, Scalar])
    numbers: count[int] = field(default_factory=count)

    def at(self, tensor: Tensor, index: Index, /) -> Scalar:
        return self.inlined.get(tensor) or Load(tensor, index)

    def symbol(self, hint: str, /) -> Sym:
        return Sym(f"{hint}{next(self.numbers)}")

    def region(self, body: Body, arguments: tuple[Scalar, ...], /) -> tuple[Scalar, ...]:
        self.inlined.update(zip(body.arguments, arguments, strict=True))
        for op in body.ops:
            rule = definition(op).element
            assert rule is not None, f"{op.name} is in a region of rank-0 ops"
            self.inlined[op.results[0]] = rule(op, self, 0, ())
        return tuple(self.inlined[x] for x in body.results)


def run_body(body: Body | Program, arguments: Arrays) -> Arrays:
    assert isinstance(body, Body), "no sample runs programs"
    values = dict(zip(body.arguments, arguments, strict=True))
    for op in body.ops:
        found = definition(op).reference(op, tuple(values[x] for x in op.operands), run_body)
        values.update(zip(op.results, found, strict=True))
    return tuple(values[x] for x in body.results)


def by_elements(sample: Sample, k: int) -> NDArray[Any]:
    rule = definition(sample.op).element
    assert rule is not None, f"{sample.op.name} has an element rule"
    result = sample.op.results[k]
    shape = tuple(size.evaluate({}) for size in result.shape)
    arrays = {f"x{k}": np.asarray(x) for k, x in enumerate(sample.inputs)}
    found = [evaluate(rule(sample.op, _Concrete(), k, tuple(map(const, at))), {}, arrays) for at in np.ndindex(shape)]
    return np.array(found).reshape(shape)


def test_every_op_has_a_sample_or_no_element_rule() -> None:
    assert {s.op.name for s in SAMPLES} | TEMPLATES_ONLY == set(OPS)
    assert {name for name, one in OPS.items() if one.element is None} == TEMPLATES_ONLY


@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_element_rule_agrees_with_the_reference(sample: Sample) -> None:
    with np.errstate(all="ignore"):
        expected = definition(sample.op).reference(sample.op, tuple(np.asarray(x) for x in sample.inputs), run_body)
    assert len(expected) == len(sample.op.results)
    for k, wanted in enumerate(expected):
        found = by_elements(sample, k)
        assert wanted.shape == tuple(size.constant for size in sample.op.results[k].shape)
        assert wanted.size == 0 or found.dtype == wanted.dtype
        if wanted.dtype.kind == "V":
            found, wanted = found.astype(np.float32), wanted.astype(np.float32)  # noqa: PLW2901
        np.testing.assert_array_equal(found, wanted) if wanted.dtype.kind in "biu" else (
            np.testing.assert_allclose(found, wanted, rtol=1e-6)
        )
