"""Whether a symbolic trace at given sizes is the trace of the function at these sizes.

Both jaxprs are written in one canonical form: variables by number, in the order of their definition; sizes by their
values; numbers that are computed from sizes alone by their values; nested jaxprs likewise. If the forms are equal, the
functions are. The converse does not hold: where the forms differ, one more program is compiled.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shlo_disc.expr.dim import symbol
from shlo_disc.jit.abstraction import Sizes
from shlo_disc.jit.function_state import function_state
from shlo_disc.jit.jax_modules import INTEGERS, MAPPINGS, SEQUENCES, jax_module
from shlo_disc.legalize.constraints import read_size

_MOST_FOLDED = 64  # elements of a value that is computed from sizes alone


def same_trace(symbolic: Any, sizes: Sizes, concrete: Any) -> bool:
    """Whether a closed jaxpr with symbolic sizes has, at these sizes, the same form as another without symbols."""
    return _Form(sizes).closed(symbolic) == _Form({}).closed(concrete)


class _Form:
    """Writes jaxprs with the symbols of one trace as nested tuples."""

    def __init__(self, sizes: Sizes) -> None:
        self._names = {one.name: symbol(one.name) for one in sizes}
        self._sizes = sizes
        self._within = list[Any]()  # functions that are being written

    def closed(self, jaxpr: Any) -> tuple[object, ...]:
        """The form of a closed jaxpr."""
        return self._jaxpr(jaxpr.jaxpr, [self._value(x) for x in jaxpr.consts])

    def _jaxpr(self, jaxpr: Any, consts: list[object]) -> tuple[object, ...]:
        known = dict[Any, object](zip(jaxpr.constvars, consts, strict=False))
        for k, one in enumerate(jaxpr.invars):
            known[one] = ("argument", k)
        lines, memory = list[object](), dict[object, object]()
        for eqn in jaxpr.eqns:
            given = tuple([self._atom(one, known) for one in eqn.invars])
            folded = self._folded(eqn, given)
            if folded is not None:
                known[eqn.outvars[0]] = folded
                continue
            line = (eqn.primitive.name, given, self._params(eqn.params), tuple([self._aval(x) for x in eqn.outvars]))
            place = memory.setdefault(line, len(lines)) if not eqn.effects else len(lines)
            if place == len(lines):
                lines.append(line)
            for k, one in enumerate(eqn.outvars):
                known[one] = ("result", place, k)
        return (
            tuple([self._aval(one) for one in jaxpr.invars]),
            tuple(lines),
            tuple([self._atom(one, known) for one in jaxpr.outvars]),
        )

    def _atom(self, one: Any, known: Mapping[Any, object]) -> object:
        return self._value(one.val) if hasattr(one, "val") else known[one]

    def _value(self, value: Any) -> object:
        array = np.asarray(value)
        return ("value", str(array.dtype), array.shape, array.tobytes())

    def _aval(self, one: Any) -> object:
        aval = one.aval
        shape = getattr(aval, "shape", None)
        if shape is None:
            return str(aval)
        return tuple(map(self._size, shape)), str(aval.dtype), bool(getattr(aval, "weak_type", False))

    def _size(self, size: Any) -> int:
        return int(size) if isinstance(size, INTEGERS) else self._evaluated(size)

    def _evaluated(self, size: Any) -> int:
        return read_size(str(size), self._names).evaluate(self._sizes)

    def _params(self, params: Mapping[str, Any]) -> object:
        return tuple([(name, self._param(params[name])) for name in sorted(params) if name not in _NAMES_ONLY])

    def _param(self, value: Any) -> object:
        if _is_symbolic(value):
            return self._evaluated(value)
        if isinstance(value, bool | str | bytes | None):
            return value
        if isinstance(value, INTEGERS):
            return int(value)
        if isinstance(value, SEQUENCES):
            items = tuple(map(self._param, value))
            return (type(value).__name__, items) if hasattr(value, "_fields") else items
        if isinstance(value, MAPPINGS):
            return tuple([(str(key), self._param(value[key])) for key in sorted(value, key=str)])
        if hasattr(value, "jaxpr") and hasattr(value, "consts"):
            return self.closed(value)
        if hasattr(value, "eqns") and hasattr(value, "invars"):
            return self._jaxpr(value, [("const", k) for k in range(len(value.constvars))])
        if isinstance(value, np.ndarray | np.generic | float | complex):
            return self._value(value)
        return self._other(value)

    def _other(self, value: Any) -> object:
        """A parameter of another class: by its fields, if it has any; a function by identity."""
        fields = getattr(value, "__dataclass_fields__", None)
        if fields is not None:
            return type(value).__name__, tuple([(name, self._param(getattr(value, name))) for name in fields])
        if isinstance(value, functools.partial):
            return "partial", self._param(value.func), self._param(value.args), self._param(value.keywords)
        if (state := function_state(value)) is not None:
            return self._function(value, *state)
        return type(value).__name__, value if _is_hashable(value) else id(value)

    def _function(self, function: Any, code: object, held: tuple[Any, ...]) -> object:
        if function in self._within:  # it calls itself
            return "function", self._within.index(function)
        self._within.append(function)
        try:
            return "function", code, tuple(map(self._param, held))
        finally:
            self._within.pop()

    def _folded(self, eqn: Any, given: tuple[Any, ...]) -> object | None:
        """The value of an equation of known numbers, such as a size that is converted to a float; else None."""
        name = eqn.primitive.name
        if name == "dim_as_value":
            aval = eqn.outvars[0].aval
            return self._value(np.asarray(self._size(eqn.params["dim"]), aval.dtype))
        if len(eqn.outvars) != 1 or eqn.effects or not given or any(one[0] != "value" for one in given):
            return None
        shape: list[Any] | None = getattr(eqn.outvars[0].aval, "shape", None)
        if shape is None or any(_is_symbolic(size) for size in shape) or math.prod(shape) > _MOST_FOLDED:
            return None
        if any(_is_jaxpr(x) or _is_symbolic(x) for x in eqn.params.values()):
            return None
        if any(dtype == _FLOAT0 for _, dtype, _, _ in given):
            return None
        jax = jax_module()

        arrays = [np.frombuffer(data, dtype).reshape(shape) for _, dtype, shape, data in given]
        with jax.ensure_compile_time_eval():
            return self._value(eqn.primitive.bind(*arrays, **eqn.params))


_FLOAT0 = str(np.dtype([("float0", np.void)]))  # of tangents of integers, which nothing computes with
_NAMES_ONLY = frozenset(
    {"name", "jvp_jaxpr_thunk", "jvp_jaxpr_fun", "fwd_jaxpr_thunk", "bwd", "debug_info", "source_info"}
)


def _is_symbolic(value: Any) -> bool:
    return type(value).__name__ == "_DimExpr"


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_jaxpr(value: Any) -> bool:
    return hasattr(value, "jaxpr") or hasattr(value, "eqns")
