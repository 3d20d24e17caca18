"""A convolution as StableHLO defines it: padding and holes are zeros, which are multiplied like all else."""

from __future__ import annotations

from math import prod

import numpy as np

from tests.device.conv_cases import Case, Floats


def by_definition(case: Case) -> Floats:
    """The result as [N, spatial, O], in doubles; no library multiplies, as some leave zeros out."""
    x, w = (array.astype("f8") for array in case.operands())
    for d, flag in enumerate(case.reverse):
        w = np.flip(w, 2 + d) if flag else w
    for d, (low, high) in enumerate(case.padding):
        x = _spread(x, 2 + d, case.full(case.hole)[d], low, high)
    groups = case.groups * case.batch_groups
    result = np.zeros((case.batch // case.batch_groups, *case.out, case.features))
    if result.size == 0 or prod(case.kernel) * case.channels == 0:
        return result
    inputs = np.split(x, groups, axis=0 if case.batch_groups > 1 else 1)
    with np.errstate(invalid="ignore"):
        for group, (source, weights) in enumerate(zip(inputs, np.split(w, groups), strict=True)):
            features = slice(group * len(weights), (group + 1) * len(weights))
            for tap in np.ndindex(case.kernel):
                starts = (k * gap for k, gap in zip(tap, case.full(case.gap), strict=True))
                steps = zip(starts, case.out, case.full(case.stride), strict=True)
                seen = source[(slice(None), slice(None), *(slice(a, a + (n - 1) * s + 1, s) for a, n, s in steps))]
                result[..., features] += np.einsum("nc...,oc->n...o", seen, weights[(slice(None), slice(None), *tap)])
    return result


def _spread(x: Floats, axis: int, hole: int, low: int, high: int) -> Floats:
    """Dilate and pad an axis; negative padding takes elements away."""
    x = np.moveaxis(x, axis, 0)
    size = max((len(x) - 1) * hole + 1, 0)
    wide = np.zeros((max(low, 0) + size + max(high, 0), *x.shape[1:]))
    wide[max(low, 0) : max(low, 0) + size : hole] = x
    return np.moveaxis(wide[max(-low, 0) : len(wide) - max(-high, 0)], 0, axis)
