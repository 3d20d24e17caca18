"""Plans of the full rules are legal: each tensor is stored by one group, for a reader, and before it is read.

Vectors that several readers take are drawn on purpose: groups compute them again, and then ops move out of these groups
into products and scatters.
"""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from shlo_disc.dynamic_ops.program import Program
from shlo_disc.fusion.planners import plan_full
from shlo_disc.lower_cpu.kernels import CpuLowering
from shlo_disc.lower_cuda.kernels import CudaLowering
from tests.fusion.legal_plans import faults_of
from tests.pipeline.compositions import Step
from tests.pipeline.exports import In
from tests.pipeline.programs import context_of, planned
from tests.pipeline.test_random_programs import INPUTS, STEPS, function_of

TARGETS = {"cpu": CpuLowering.abilities, "cuda": CudaLowering.abilities}
UNSHRUNK = (Phase.explicit, Phase.reuse, Phase.generate)  # a program is small, and each try is an export


def faults(program: Program) -> list[str]:
    """What is wrong with the plans for both targets."""
    contexts = {name: context_of(program, abilities) for name, abilities in TARGETS.items()}
    plans = {name: plan_full(program.body, context) for name, context in contexts.items()}
    return [
        f"{name}: {fault}" for name, plan in plans.items() for fault in faults_of(plan, program.body, contexts[name])
    ]


@settings(max_examples=15, phases=UNSHRUNK)
@given(STEPS)
def test_plans_of_random_programs(steps: list[Step]) -> None:
    assert not faults(planned(function_of(steps), *INPUTS).program)


WIDTHS = (1, 2, 3, 16)

VECTORS: Mapping[str, Callable[[Any], Any]] = {
    "costly": jnp.cos,
    "several ops": lambda p: jnp.tanh(p) + jnp.exp(p * 2),
    "cheap": lambda p: p + 1,
    "of a costly one": lambda p: jnp.sin(jnp.cos(p)[::-1]),
}

# Of x[rows, width], a vector as v[rows, 1], and what the reader before computed.
FORMULAS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "scaled": lambda x, v, _: x * v,
    "repeated": lambda x, v, _: jnp.broadcast_to(v, x.shape),
    "after the last": lambda x, v, last: x * v + last.sum(1, keepdims=True),
    "read twice": lambda x, v, _: jnp.maximum(x, v) * jnp.cos(v),
}

# Of such a formula's values, x and row numbers.
READERS: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "left of a product": lambda y, x, _: y @ jnp.ones((x.shape[1], 2), np.float32),
    "right of a product": lambda y, x, _: x @ (x.T @ y),
    "updates": lambda y, x, numbers: x.at[numbers].add(y),
    "sum": lambda y, *_: y.sum(1, keepdims=True),
    "result": lambda y, *_: y,
}


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a vector: by which reader, in which formula, beside an argument of this width."""

    reader: str
    formula: str
    vector: int
    width: int


USES = st.lists(
    st.builds(
        Use, st.sampled_from(sorted(READERS)), st.sampled_from(sorted(FORMULAS)), st.integers(0, 1),
        st.sampled_from(WIDTHS),
    ),
    min_size=2,
    max_size=5,
)  # fmt: skip


def shared(vectors: list[str], uses: list[Use]) -> Callable[..., Any]:
    """The JAX function of such uses: all that they compute."""

    def run(p: Any, numbers: Any, *arguments: Any) -> Any:
        found = [arguments[0]]
        for use in uses:
            x, v = arguments[WIDTHS.index(use.width)], VECTORS[vectors[use.vector % len(vectors)]](p)[:, None]
            found.append(READERS[use.reader](FORMULAS[use.formula](x, v, found[-1]), x, numbers))
        return found[1:]

    return run


@pytest.mark.parametrize("rows", ["b", "5"])
@settings(max_examples=25, phases=UNSHRUNK)
@given(st.lists(st.sampled_from(sorted(VECTORS)), min_size=1, max_size=2), USES)
def test_plans_of_shared_vectors(rows: str, vectors: list[str], uses: list[Use]) -> None:
    inputs = In(rows), In(rows, np.int32), *(In(f"{rows}, {width}") for width in WIDTHS)
    assert not faults(planned(shared(vectors, uses), *inputs).program)
