"""Arrays in files, for calls from the command line: .npy, .npz and .safetensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.artifact import Argument
from shlo_disc.cli.inputs import InputError
from shlo_disc.diagnostics import counted
from shlo_disc.program_file.tensors import StoredTensor, read_tensors, write_tensors
from shlo_disc.runtime.interop import dtype_of

Array: TypeAlias = NDArray[Any]
FORMATS = (".npz", ".npy", ".safetensors")


def read_arrays(path: Path) -> Mapping[str, Array]:
    """The arrays of a file by name; the one of an .npy has the name `0`. Raises `InputError`."""
    if path.suffix not in FORMATS:
        raise InputError(f"{path}: expected a file of {', '.join(FORMATS)}")
    try:
        if path.suffix == ".npy":
            return {"0": np.load(path, allow_pickle=False)}
        if path.suffix == ".safetensors":
            return {name: _array(one) for name, one in read_tensors(path.read_bytes()).items()}
        with np.load(path, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except Exception as error:  # for damaged files NumPy, zipfile and zlib raise many types
        raise InputError(f"{path}: expected arrays in the format of its name, found none ({error})") from error


def write_arrays(path: Path, arrays: Sequence[Array]) -> None:
    """Write results, named `result0`, `result1` …. Raises `InputError`."""
    named = {f"result{number}": array for number, array in enumerate(arrays)}
    if path.suffix not in FORMATS:
        raise InputError(f"{path}: expected a file of {', '.join(FORMATS)}")
    if path.suffix == ".npy" and len(arrays) != 1:
        raise InputError(f"{path}: found {counted(len(arrays), 'result')}, expected one: take .npz or .safetensors")
    try:
        if path.suffix == ".npy":
            np.save(path, arrays[0])
        elif path.suffix == ".npz":
            np.savez(path, allow_pickle=False, **named)
        else:
            path.write_bytes(write_tensors({name: _stored(array) for name, array in named.items()}))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error


def chosen(arguments: Sequence[Argument], found: Mapping[str, Array], path: Path) -> list[Array]:
    """The arrays of a call: by the names of the arguments, if all are there, else in their order."""
    names = [argument.name for argument in arguments]
    if len(found) != len(names):
        raise InputError(f"{path}: found {counted(len(found), 'array')}, expected {len(names)}: {', '.join(names)}")
    ordered = [found[name] for name in names] if set(found) == set(names) else list(found.values())
    # NumPy stores types that it does not know as raw bytes.
    dtypes = [dtype_of(argument.dtype) for argument in arguments]
    return [x.view(dtype) if _is_raw(x, dtype) else x for x, dtype in zip(ordered, dtypes, strict=True)]


def drawn(arguments: Sequence[Argument], sizes: Mapping[str, int], seed: int) -> list[Array]:
    """Random arrays: normal numbers, integers from 0 to 9, booleans."""
    rng, found = np.random.default_rng(seed), list[Array]()
    for argument in arguments:
        dtype = dtype_of(argument.dtype)
        shape = tuple([size if isinstance(size, int) else sizes[size] for size in argument.shape])
        if dtype.kind in "iub":
            numbers: Array = rng.integers(0, 2 if dtype.kind == "b" else 10, shape)
        else:
            numbers = rng.standard_normal(shape)
        found.append(np.asarray(numbers).astype(dtype))
    return found


def _is_raw(array: Array, dtype: np.dtype[Any]) -> bool:
    return array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize


def _array(tensor: StoredTensor) -> Array:
    return np.frombuffer(tensor.data, dtype_of(tensor.dtype)).reshape(tensor.shape)


def _stored(array: Array) -> StoredTensor:
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return StoredTensor(array.dtype.name, array.shape, data.data)
