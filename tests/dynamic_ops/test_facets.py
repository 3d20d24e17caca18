"""Every op's element rule computes what its NumPy reference computes."""

from __future__ import annotations

import pytest

from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.registry import OPS
from tests.dynamic_ops.facets import agree, by_reference, elements, shape_of
from tests.dynamic_ops.samples import SAMPLES
from tests.dynamic_ops.sampling import Sample

pytestmark = pytest.mark.quick

# These have no element rule; test_order_and_control.py shows what they compute,
# test_linear_algebra.py what libraries do, and tests/pipeline/test_loop_sizes.py what is outlined.
CONTROL = {"d_while", "d_case", "d_outlined_while", "d_outlined_case"}
TEMPLATES_ONLY = {"d_sort", "d_scatter", "d_select_and_scatter", *CONTROL}.union(
    name for name, one in OPS.items() if one.template is Template.LIBRARY
)


def test_every_op_has_a_sample_or_no_element_rule() -> None:
    assert {s.op.name for s in SAMPLES} | TEMPLATES_ONLY == set(OPS)
    assert {name for name, one in OPS.items() if one.element is None} == TEMPLATES_ONLY


@pytest.mark.parametrize("sample", SAMPLES, ids=repr)
def test_element_rule_agrees_with_the_reference(sample: Sample) -> None:
    expected = by_reference(sample)
    assert len(expected) == len(sample.op.results)
    for k, wanted in enumerate(expected):
        assert wanted.shape == shape_of(sample, k)
        for at, found in elements(sample, k):
            operands = [x[at] if x.shape == wanted.shape else x for x in sample.inputs]
            assert agree(found, wanted[at], sample.op), (k, at, operands, found, wanted[at])
