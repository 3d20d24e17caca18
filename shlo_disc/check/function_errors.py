"""The largest errors of functions in each implementation, in units in the last place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from shlo_disc.ir.dtypes import DType
from shlo_disc.records import record

Implementation: TypeAlias = Literal["compiled", "interpreter", "xla"]


@record
class Errors:
    """The largest errors of a function in each implementation."""

    compiled: float
    interpreter: float
    xla: float

    def of(self, implementation: Implementation) -> float:
        """The error of one of them."""
        return {"compiled": self.compiled, "interpreter": self.interpreter, "xla": self.xla}[implementation]


# Measured (docs/reference/accuracy.md; tests/check/test_function_errors.py), rounded up. NumPy's depend on the machine:
# these are the larger ones of CPUs with and without AVX-512. Near its roots XLA's lgamma has no correct digit.
_SINGLE: Mapping[str, Errors] = {
    "acos": Errors(0.9, 2.0, 2.5),
    "acosh": Errors(2.0, 1.7, 4.0),
    "asin": Errors(0.9, 3.5, 2.5),
    "asinh": Errors(2.0, 1.7, 3.0),
    "atan": Errors(0.9, 2.5, 6.0),
    "atan2": Errors(0.6, 3.2, 1.6),
    "atanh": Errors(2.0, 1.7, 3.0),
    "bessel_i1e": Errors(0.6, 0.6, 12.0),
    "cbrt": Errors(1.0, 2.5, 1.0),
    "cosh": Errors(2.0, 2.5, 25.0),
    "cosine": Errors(2.1, 2.0, 1.0),
    "digamma": Errors(0.6, 0.6, 1e6),
    "erf": Errors(1.7, 0.6, 5.5),
    "erf_inv": Errors(0.6, 0.6, 70.0),
    "erfc": Errors(4.0, 0.6, 70.0),
    "exponential": Errors(1.1, 2.6, 5.0),
    "exponential_minus_one": Errors(1.5, 2.6, 6.0),
    "lgamma": Errors(0.6, 0.6, 1e6),
    "log": Errors(0.9, 3.5, 1.3),
    "log_plus_one": Errors(1.5, 2.0, 2.6),
    "logistic": Errors(2.8, 0.6, 2.6),
    "power": Errors(0.6, 1.2, 0.6),
    "rsqrt": Errors(1.6, 1.6, 1.6),
    "sine": Errors(2.4, 2.0, 1.0),
    "sinh": Errors(2.0, 1.8, 25.0),
    "tan": Errors(1.0, 3.5, 1.0),
    "tanh": Errors(2.4, 2.0, 4.5),
}
_DOUBLE: Mapping[str, Errors] = {
    "acos": Errors(1.2, 1.0, 1.3),
    "acosh": Errors(1.8, 1.5, 3.5),
    "asin": Errors(0.9, 1.0, 1.5),
    "asinh": Errors(1.8, 1.6, 2.6),
    "atan": Errors(0.9, 1.0, 3.5),
    "atan2": Errors(1.6, 1.0, 0.6),
    "atanh": Errors(1.6, 1.5, 130.0),
    "bessel_i1e": Errors(1.9, 1.0, 8.0),
    "cbrt": Errors(3.5, 3.2, 3.5),
    "cosh": Errors(1.6, 1.0, 600.0),
    "cosine": Errors(0.9, 0.6, 0.6),
    "digamma": Errors(2.0, 1.0, 1e7),
    "erf": Errors(1.6, 1.1, 1.1),
    "erf_inv": Errors(1.9, 1.0, 6e3),
    "erfc": Errors(3.2, 1.0, 500.0),
    "exponential": Errors(1.0, 1.0, 1.8),
    "exponential_minus_one": Errors(1.8, 1.0, 4.5),
    "lgamma": Errors(1.8, 1.0, 1e6),
    "log": Errors(0.9, 1.0, 0.6),
    "log_plus_one": Errors(0.9, 1.0, 150.0),
    "logistic": Errors(2.4, 2.5, 2.5),
    "power": Errors(0.6, 1.0, 0.6),
    "rsqrt": Errors(1.6, 1.6, 1.3),
    "sine": Errors(0.9, 0.6, 0.6),
    "sinh": Errors(1.8, 1.8, 600.0),
    "tan": Errors(1.5, 1.0, 0.6),
    "tanh": Errors(2.2, 1.3, 7.0),
}
MEASURED: Mapping[DType, Mapping[str, Errors]] = {DType.F32: _SINGLE, DType.F64: _DOUBLE}

CORRECTLY_ROUNDED = frozenset({"add", "subtract", "multiply", "divide", "sqrt", "square"})
_BESIDE = 1.0  # an exact result may be rounded to either neighbour
_OTHERS = 4.0  # functions not measured: zeta functions, functions of complex numbers


def disagreement(implementation: Implementation, function: str, dtype: DType) -> float:
    """The largest difference between an implementation and the interpreter, in units in the last place.

    Narrow floats are computed in f32 and rounded, so they differ by one unit at most.
    """
    if function in CORRECTLY_ROUNDED or dtype.is_narrow_float:
        return _BESIDE
    errors = MEASURED.get(dtype, {}).get(function)
    return 2 * _OTHERS if errors is None else errors.of(implementation) + errors.interpreter
