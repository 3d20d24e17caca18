"""The examples of frameworks compute what JAX computes; those whose library is missing say so."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import pytest

EXAMPLES = {
    "diffrax_solve": "diffrax",
    "equinox_modules": "equinox",
    "graph_network": "jax",
    "keras_stateless": "keras",
    "linen": "flax",
    "molecular_dynamics": "jax",
    "nnx": "flax",
    "numpyro_hmc": "numpyro",
    "optax_training": "optax",
}
LONG = ("equinox_modules", "graph_network", "linen", "molecular_dynamics", "nnx", "optax_training")
NAMES = [pytest.param(name, marks=pytest.mark.slow) if name in LONG else name for name in EXAMPLES]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("default")  # of the libraries
def test_examples_of_frameworks(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    package = EXAMPLES[name]
    if find_spec(package) is None:
        with pytest.raises(SystemExit) as stopped:
            import_module(f"examples.frameworks.{name}")
        assert stopped.value.code == 0
        assert capsys.readouterr().out.startswith("needs: pip install ")
        pytest.skip(f"{package} is not installed")
    assert import_module(f"examples.frameworks.{name}").main() == 0
    assert "sizes, 0 wrong" in capsys.readouterr().out
