"""Convert the arrays of a call to what the program takes, with errors that name the wrong argument."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from shlo_disc.artifact import Argument, Artifact
from shlo_disc.diagnostics import ArgumentTypeError, RuntimeShapeError
from shlo_disc.runtime.interop import Array, as_numpy, kind_of

_ACCEPTS = {  # dtype kinds to which each type of Python number converts implicitly
    bool: "b",
    int: "iufcV",
    float: "fcV",
    complex: "c",
}
NONE_BOUND: Mapping[int, tuple[int, ...]] = MappingProxyType({})
_NARROW_INTEGERS = frozenset({"int2", "int4", "uint2", "uint4"})  # of ml_dtypes: `kind` is not "i" or "u"


def conform(
    artifact: Artifact,
    dtypes: Sequence[np.dtype[np.generic]],
    arrays: Sequence[object],
    bound: Mapping[int, tuple[int, ...]] = NONE_BOUND,
) -> list[Array]:
    """Turn the arrays of a call into contiguous NumPy arrays of the dtypes and sizes expected.

    `bound`: the shapes of the bound arguments, which a call leaves out.
    """
    found = conform_each(artifact, dtypes, arrays, bound)
    places = [k for k in range(len(artifact.arguments)) if k not in bound]
    check_sizes(artifact, {**bound, **{k: array.shape for k, array in zip(places, found, strict=True)}}, bound)
    return found


def conform_each(
    artifact: Artifact, dtypes: Sequence[np.dtype[np.generic]], arrays: Sequence[object], bound: Container[int]
) -> list[Array]:
    """Do the same without checking sizes."""
    check_count(artifact, arrays, bound)
    places = [k for k in range(len(artifact.arguments)) if k not in bound]
    return [conform_one(artifact.arguments[k], dtypes[k], one) for k, one in zip(places, arrays, strict=True)]


def check_count(artifact: Artifact, arrays: Sequence[object], bound: Container[int] = ()) -> None:
    """Refuse too few or too many arrays; bound arguments are not counted."""
    expected = [argument.name for k, argument in enumerate(artifact.arguments) if k not in bound]
    if len(arrays) != len(expected):
        raise ArgumentTypeError(f"found {len(arrays)} arrays, expected {len(expected)}: {', '.join(expected)}")


def conform_one(argument: Argument, dtype: np.dtype[np.generic], value: object) -> Array:
    """Turn one array or number into a contiguous NumPy array of the dtype and rank expected."""
    try:
        array = _number(value, dtype) if kind_of(value) == "scalar" else as_numpy(value)
    except ArgumentTypeError as error:
        raise ArgumentTypeError(f"{argument.name}: {error}") from error
    if isinstance(value, np.ma.MaskedArray):
        raise ArgumentTypeError(
            f"{argument.name}: found a masked array, expected a plain one\n"
            "  help: fill what is masked first, for example with .filled(0)"
        )
    check_type(argument, array.dtype, array.shape, same=array.dtype == dtype)
    usable = array.flags.c_contiguous and array.flags.aligned
    plain = array if usable else np.array(array, order="C", copy=True)
    return plain.view(np.ndarray).view(dtype)  # an equal dtype becomes the expected object: C compares addresses


def check_type(argument: Argument, dtype: object, shape: tuple[int, ...], *, same: bool) -> None:
    """Refuse an unexpected dtype (unless `same`) or rank."""
    if not same:
        raise ArgumentTypeError(
            f"{argument.name}: found dtype {dtype}, expected {argument.dtype}\n"
            f"  help: convert it first, for example with .astype({argument.dtype!r})"
        )
    if len(shape) != len(argument.shape):
        raise ArgumentTypeError(
            f"{argument.name}: found rank {len(shape)}, shape {show_shape(shape)}, "
            f"expected rank {len(argument.shape)}, shape {show_shape(argument.shape)}"
        )


def _number(value: object, dtype: np.dtype[np.generic]) -> Array:
    accepted = next(kinds for kind, kinds in _ACCEPTS.items() if isinstance(value, kind))
    is_narrow = dtype.name in _NARROW_INTEGERS
    if ("i" if is_narrow else dtype.kind) not in accepted:
        raise ArgumentTypeError(f"found a Python {type(value).__name__}, expected {dtype}")
    try:
        made = np.array(value, dtype)
    except OverflowError as error:
        raise ArgumentTypeError(f"found {value}, expected a number that fits {dtype}") from error
    if is_narrow and int(made) != value:  # NumPy checks its own types only
        raise ArgumentTypeError(f"found {value}, expected a number that fits {dtype}")
    return made


def check_sizes(artifact: Artifact, shapes: Mapping[int, tuple[int, ...]], bound: Container[int] = ()) -> None:
    """Refuse sizes that differ from a static size, or from another dim of the same symbol; ranks are right.

    `shapes` is by argument number; the first dim of a symbol gives the expected size. `bound`: the bound arguments.
    """
    first = dict[str, tuple[int, int]]()
    for i, shape in shapes.items():
        argument = artifact.arguments[i]
        for axis, (size, wanted) in enumerate(zip(shape, argument.shape, strict=True)):
            if isinstance(wanted, int):
                expected, reason = wanted, ""
            else:
                one, dim = first.setdefault(wanted, (i, axis))
                expected = shapes[one][dim]
                reason = reason_of_size(artifact, wanted, (one, dim), is_bound=one in bound)
            if size != expected:
                raise RuntimeShapeError(
                    f"{argument.name}, dim {axis}: "
                    f"found size {size}, expected {expected}{reason}\n"
                    f"  found shape {show_shape(shape)}, expected {expected_shape(artifact, argument, axis)}"
                )


def reason_of_size(artifact: Artifact, symbol: str, first: tuple[int, int], *, is_bound: bool) -> str:
    """Why a size is expected: it is that of the first dim with this symbol (of an argument, and its axis)."""
    argument, axis = first
    what = "bound as the size" if is_bound else "the size"
    return f", {what} {symbol} of {artifact.arguments[argument].name}, dim {axis}"


def expected_shape(artifact: Artifact, argument: Argument, axis: int) -> str:
    """The shape of an argument, in an error about one axis; and if all sizes are fixed, what to do about that."""
    is_static = not any(isinstance(n, str) for one in artifact.arguments for n in one.shape)
    return show_shape(argument.shape) + (_how_to_make_dynamic(argument, axis) if is_static else "")


def _how_to_make_dynamic(argument: Argument, axis: int) -> str:
    """How to get a program that takes any size here, in place of one whose sizes are all fixed."""
    shape = show_shape((*argument.shape[:axis], "b", *argument.shape[axis + 1 :]))
    return (
        "\n  help: all sizes of this program are fixed; export it with a symbolic one (in a text ?, in shapes= a name):"
        "\n    (b,) = jax.export.symbolic_shape('b')"
        f"\n    given = jax.ShapeDtypeStruct({shape}, {argument.dtype!r})  # {argument.name}"
    )


def show_shape(shape: tuple[int | str, ...]) -> str:
    """A shape as Python prints it, with bare names.

    >>> show_shape((2, "b")), show_shape(("n",)), show_shape(())
    ('(2, b)', '(n,)', '()')
    """
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"
