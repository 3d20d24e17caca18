# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Every transformation of every function that JAX traces at given sizes only: few programs for all sizes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

from tests.jit.test_derivations import TRANSFORMS, Function, compiled, total
from tests.jit.test_generalized import PROGRAMS, SCANS, number
from tests.jit.test_learning import served, shapes_of

pytestmark = pytest.mark.slow

FUNCTIONS: dict[str, Function] = {
    "relu": lambda x: jax.nn.relu(x) / number(x) if number(x) else x,
    "logsumexp": lambda x: jax.nn.logsumexp(jnp.append(x, 0.0) * number(x)),
    "padded": lambda x: jnp.pad(jnp.tanh(x), (2, 1), mode="reflect") * number(x),
    **PROGRAMS,
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_programs_of_each_kind_are_few(name: str, transform: str) -> None:
    """Two for most sizes; others for sizes of 1 and 0, at which functions have other traces."""
    one_way = {"a function with a derivative backwards": {"tangents", "jacobian"}}
    one_way["a condition"] = {*TRANSFORMS} - {"tangents", "jacobian", "batch"}
    needs_an_element = name in {"padded", "a size as an index", "a transform and its inverse", "several results"}
    if transform not in one_way.get(name, ()):
        sizes = (6, 11, 16, 7, 17, 31, 64, *((3,) if needs_an_element else (1, 0)))
        found = compiled(FUNCTIONS[name], TRANSFORMS[transform], sizes)
        assert found
        assert max(found.values()) <= 4, found


@pytest.mark.parametrize("name", SCANS)
def test_the_gradient_of_an_associative_scan_is_one_program_for_each_power_of_two(name: str) -> None:
    sizes = [(5,), (10,), (8,), (15,), (13,), (11,), (12,), (9,), (14,), (32,), (63,), (41,)]
    assert len(shapes_of(served(jax.grad(total(SCANS[name])), sizes))) == 3  # of 5, of 8 to 15, of 32 to 63
