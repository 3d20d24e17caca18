# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Which comparisons of symbolic sizes are recorded as assumptions of a trace."""

from __future__ import annotations

import numpy as np
from jax import export
from jax.core import ShapedArray

from shlo_disc.jit.comparisons import assumptions_of

FLOATS = np.dtype("float32")


def test_comparisons_of_a_hash_table_are_no_assumptions() -> None:
    """Of 2,000 types that JAX keeps, some have hashes that resemble those of the 1,000 that are made here."""
    scope = export.SymbolicScope()
    (size,) = export.symbolic_shape("n", scope=scope)
    kept = [ShapedArray((k, k + 1), FLOATS) for k in range(2000)]
    with assumptions_of(scope) as found:
        kept += [ShapedArray((size, k), FLOATS) for k in range(1000)]
    assert len(kept) == 3000
    assert not found


def test_comparisons_of_a_function_are_assumptions() -> None:
    scope = export.SymbolicScope()
    (size,) = export.symbolic_shape("n", scope=scope)
    with assumptions_of(scope) as found:
        assert size != 11
        assert size >= 1
    assert [(str(one.size), one.relation) for one in found] == [("n - 11", "!="), ("n - 1", ">=")]
