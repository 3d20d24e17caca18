"""Molecular dynamics in the manner of jax-md: steps of any number of particles in a periodic box.

python -m examples.frameworks.molecular_dynamics
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUntypedBaseClass=false

from __future__ import annotations

import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import shlo_disc
from examples.frameworks.common import wrong_cases

SIZES = list(range(2, 22))
BOX, TIME_STEP, STEPS = 6.0, 1e-3, 10


def energy(positions: Any) -> Any:
    """The potential of Lennard and Jones of all pairs, by the nearest image of each particle."""
    between = positions[:, None] - positions[None]
    between = between - BOX * jnp.round(between / BOX)
    itself = jnp.eye(positions.shape[0], dtype=bool)
    squares = jnp.where(itself, 1.0, jnp.sum(between**2, -1))
    sixth = squares**-3
    return 2.0 * jnp.sum(jnp.where(itself, 0.0, sixth**2 - sixth))


def simulate(positions: Any, speeds: Any) -> Any:
    """Move all particles, by velocity Verlet. Returns positions, speeds, and the energy after every step."""

    def move(state: Any, _: Any) -> Any:
        positions, speeds, force = state
        positions = (positions + TIME_STEP * speeds + TIME_STEP**2 / 2 * force) % BOX
        after, gradient = jax.value_and_grad(energy)(positions)
        speeds = speeds + TIME_STEP / 2 * (force - gradient)
        return (positions, speeds, -gradient), after + jnp.sum(speeds**2) / 2

    start = (positions, speeds, -jax.grad(energy)(positions))
    (positions, speeds, _), energies = jax.lax.scan(move, start, length=STEPS)
    return positions, speeds, energies


def particles(random: np.random.Generator, count: int) -> tuple[Any, Any]:
    """Particles near the points of a lattice."""
    lattice = np.stack(np.meshgrid(*[np.arange(3) * BOX / 3] * 3), -1).reshape(-1, 3)[:count]
    positions = lattice + random.uniform(0.0, 0.3, (count, 3))
    return positions.astype(np.float32), random.standard_normal((count, 3), np.float32)


def main() -> int:
    """Compile once, simulate all numbers of particles; 0 if values and gradients are those of `jax.jit`."""
    random = np.random.default_rng(0)
    cases = [particles(random, size) for size in SIZES]
    run = shlo_disc.jit(simulate)
    wrong = wrong_cases(run, jax.jit(simulate), cases, tolerance=1e-3)
    step = shlo_disc.jit(jax.value_and_grad(energy))
    wrong += wrong_cases(step, jax.jit(jax.value_and_grad(energy)), [(positions,) for positions, _ in cases])
    print(run.report())
    print(step.report())
    print(f"{len(SIZES)} sizes, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
