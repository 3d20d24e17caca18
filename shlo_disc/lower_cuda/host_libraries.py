"""Libraries that host calls use on a GPU."""

from __future__ import annotations

from shlo_disc.host.host_calls import HostLibraries
from shlo_disc.linear_algebra import Routine

# Routines of `runtime/cuda/cusolver.py`: those that CuPy binds, and a permutation by a kernel of its own.
_IN_CUSOLVER = frozenset({
    "potrf", "cholesky", "trsm", "getrf", "geqrf", "orgqr", "ormqr", "gesdd", "gesvd", "syevd", "geev",
    "pivots_to_permutation",
})  # fmt: skip


def is_in_cusolver(routine: Routine) -> bool:
    """Whether cuSOLVER computes a routine, rather than SciPy on the host: its geev has no left eigenvectors."""
    return routine.name in _IN_CUSOLVER and not (routine.name == "geev" and routine.options.startswith("V"))


def _library(routine: Routine) -> tuple[str, str]:
    if is_in_cusolver(routine):
        return "routine", "cuSOLVER and cuBLAS"
    return "host_routine", "SciPy on the host, between two copies"


LIBRARIES = HostLibraries("cuda", "cuFFT", _library)
