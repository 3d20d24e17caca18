"""NumPyro: steps of Hamiltonian Monte Carlo, for any number of data.

python -m examples.frameworks.numpyro_hmc
"""

# JAX annotates only a part of its functions, and the library is found when this runs.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false, reportUntypedBaseClass=false

from __future__ import annotations

import sys
from typing import Any

import jax
import numpy as np

import shlo_disc
from examples.frameworks.common import library, wrong_cases

numpyro = library("numpyro", "numpyro")
distributions = library("numpyro.distributions", "numpyro")
infer_hmc = library("numpyro.infer.hmc", "numpyro")
infer_util = library("numpyro.infer.util", "numpyro")

SIZES = list(range(5, 25))


def model(x: Any, y: Any) -> None:
    slope = numpyro.sample("slope", distributions.Normal(0.0, 2.0))
    spread = numpyro.sample("spread", distributions.HalfNormal(1.0))
    with numpyro.plate("data", x.shape[0]):
        numpyro.sample("y", distributions.Normal(slope * x, spread), obs=y)


def main() -> int:
    """Compile once, step with data of all sizes; 0 if energies, gradients and steps are those of `jax.jit`."""
    random = np.random.default_rng(0)
    data = [(random.standard_normal(size, np.float32), random.standard_normal(size, np.float32)) for size in SIZES]
    start = infer_util.initialize_model(jax.random.key(0), model, model_args=data[0], dynamic_args=True)
    energy_of = start.potential_fn

    def energy(position: Any, x: Any, y: Any) -> Any:
        return energy_of(x, y)(position)

    init, sample = infer_hmc.hmc(potential_fn_gen=energy_of, algo="HMC")
    state = init(start.param_info, num_warmup=0, step_size=0.1, num_steps=4, model_args=data[0],
                 rng_key=jax.random.PRNGKey(1))  # fmt: skip

    def move(state: Any, x: Any, y: Any) -> Any:
        moved = sample(state, model_args=(x, y))
        return moved.z, moved.potential_energy, moved.accept_prob

    position = start.param_info.z
    value = shlo_disc.jit(jax.value_and_grad(energy))
    wrong = wrong_cases(value, jax.jit(jax.value_and_grad(energy)), [(position, *one) for one in data])
    step = shlo_disc.jit(move)
    wrong += wrong_cases(step, jax.jit(move), [(state, *one) for one in data], tolerance=1e-3)
    print(value.report())
    print(step.report())
    print(f"{len(SIZES)} sizes, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
