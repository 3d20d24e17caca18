"""Names by which users choose what is compared, and by which inputs. Imports nothing: `--help` needs them at once."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping

WAYS = ("compiled", "vm", "interpreter", "xla")  # the default of `check`
REFERENCE = "interpreter"
# Threads that run a program compiled for the largest number of them.
POOLS: Mapping[str, int] = {"threads2": 2, "threads3": 3, "threads8": 8}
# Ways that run the same kernels, or kernels of the same arithmetic: results have to be bit-identical.
ALIKE = ("compiled", "vm", "divided", *POOLS, "donated")
OPTIMIZED_XLA = "optimized xla"  # asked where XLA differs that optimized little
OTHERS = ("divided", *POOLS, "donated", "unfused", "specialized")
KINDS = ("normal", "small", "special", "wide")  # of random inputs; `sampling.py` draws them


def xla_is_installed() -> bool:
    """Whether JAX is installed, through which programs are run by XLA."""
    return importlib.util.find_spec("jax") is not None and importlib.util.find_spec("jaxlib") is not None
