"""Diffrax: an equation of motion that is solved for any number of pendulums.

python -m examples.frameworks.diffrax_solve
"""

# JAX annotates only a part of its functions, and the library is found when this runs.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUntypedBaseClass=false

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import shlo_disc
from examples.frameworks.common import library, wrong_cases

diffrax = library("diffrax", "diffrax")
optimistix = library("optimistix", "optimistix")

SIZES = list(range(2, 22))


def slope(time: Any, angles: Any, length: Any) -> Any:
    del time
    angle, speed = angles
    return speed, -9.81 / length * jnp.sin(angle)


def solve(length: Any, angle: Any) -> Any:
    # The usual norm calls `math.sqrt` with the number of elements, which is one number in a program for one size only.
    control = diffrax.PIDController(rtol=1e-5, atol=1e-6, norm=optimistix.max_norm)
    start = (angle, jnp.zeros_like(angle))
    found = diffrax.diffeqsolve(
        diffrax.ODETerm(slope), diffrax.Tsit5(), t0=0.0, t1=1.0, dt0=0.01, y0=start, args=length,
        stepsize_controller=control, max_steps=256,
    )  # fmt: skip
    return found.ys[0][-1]


def loss(length: Any, angle: Any) -> Any:
    return jnp.sum(solve(length, angle) ** 2)


def main() -> int:
    """Compile once, solve at all sizes; 0 if values and gradients are those of `jax.jit`."""
    random = np.random.default_rng(0)
    cases = [(np.float32(1.3), random.uniform(0.1, 1.0, size).astype(np.float32)) for size in SIZES]
    angles = shlo_disc.jit(solve)
    wrong = wrong_cases(angles, jax.jit(solve), cases, tolerance=1e-3)
    step = shlo_disc.jit(jax.value_and_grad(loss))
    wrong += wrong_cases(step, jax.jit(jax.value_and_grad(loss)), cases, tolerance=1e-3)
    print(angles.report())
    print(step.report())
    print(f"{len(SIZES)} sizes, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
