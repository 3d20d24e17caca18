"""The arrays of a call as the program takes them, or an error that says which is wrong and how."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shlo_disc.artifact import Argument, Artifact
from shlo_disc.diagnostics import ArgumentTypeError, RuntimeShapeError
from shlo_disc.runtime.interop import Array, as_numpy, kind_of

_ACCEPTS = {  # kinds of dtype that a Python number may become without losing what it is
    bool: "b",
    int: "iufcV",
    float: "fcV",
    complex: "c",
}


def conform(artifact: Artifact, dtypes: Sequence[np.dtype[np.generic]], arrays: Sequence[object]) -> list[Array]:
    """Turn the arrays of a call into contiguous NumPy arrays of the dtypes and sizes expected."""
    expected = artifact.arguments
    if len(arrays) != len(expected):
        names = ", ".join(argument.name for argument in expected)
        raise ArgumentTypeError(f"found {len(arrays)} arrays, expected {len(expected)}: {names}")
    found = [_one(argument, dtype, array) for argument, dtype, array in zip(expected, dtypes, arrays, strict=True)]
    _check_sizes(artifact, found)
    return found


def _one(argument: Argument, dtype: np.dtype[np.generic], value: object) -> Array:
    try:
        array = _number(value, dtype) if kind_of(value) == "scalar" else as_numpy(value)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{argument.name}: {error}") from error
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentTypeError(
            f"{argument.name}: found a masked array, expected a plain one\n"
            "  help: fill what is masked first, for example with .filled(0)"
        )
    if array.dtype != dtype:
        raise ArgumentTypeError(
            f"{argument.name}: found dtype {array.dtype}, expected {argument.dtype}\n"
            f"  help: convert it first, for example with .astype({argument.dtype!r})"
        )
    if array.ndim != len(argument.shape):
        raise ArgumentTypeError(
            f"{argument.name}: found rank {array.ndim}, shape {_show(array.shape)}, "
            f"expected rank {len(argument.shape)}, shape {_show(argument.shape)}"
        )
    usable = array.flags.c_contiguous and array.flags.aligned
    plain = array if usable else np.array(array, order="C", copy=True)
    return plain.view(np.ndarray).view(dtype)  # an equal dtype becomes the very one that is expected


def _number(value: object, dtype: np.dtype[np.generic]) -> Array:
    accepted = next(kinds for kind, kinds in _ACCEPTS.items() if isinstance(value, kind))
    if dtype.kind not in accepted:
        raise ArgumentTypeError(f"found a Python {type(value).__name__}, expected {dtype}")
    try:
        return np.array(value, dtype)
    except OverflowError as error:
        raise ArgumentTypeError(f"found {value}, expected a number that fits {dtype}") from error


def _check_sizes(artifact: Artifact, arrays: list[Array]) -> None:
    names = artifact.symbols[: len(artifact.raw)]
    owner = dict(zip(names, artifact.raw, strict=True))
    for i, (argument, array) in enumerate(zip(artifact.arguments, arrays, strict=True)):
        for axis, (size, wanted) in enumerate(zip(array.shape, argument.shape, strict=True)):
            if isinstance(wanted, int):
                expected, reason = wanted, ""
            else:
                first, first_axis = owner[wanted]
                if (first, first_axis) == (i, axis):
                    continue
                expected = arrays[first].shape[first_axis]
                name = artifact.arguments[first].name
                reason = f", the size {wanted} of {name}, dim {first_axis}"
            if size != expected:
                raise RuntimeShapeError(
                    f"{argument.name}, dim {axis}: "
                    f"found size {size}, expected {expected}{reason}\n"
                    f"  found shape {_show(array.shape)}, expected {_show(argument.shape)}"
                )


def _show(shape: tuple[int | str, ...]) -> str:
    """A shape as Python prints it, with bare names.

    >>> _show((2, "b")), _show(("n",)), _show(())
    ('(2, b)', '(n,)', '()')
    """
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
