"""Bound arguments, which many calls of a program share, and the initial frame of these calls."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import ArgumentTypeError, RuntimeShapeError
from shlo_disc.records import record
from shlo_disc.runtime.arguments import check_sizes, conform_one, show_shape
from shlo_disc.runtime.interop import Array, jax_types
from shlo_disc.runtime.library import Binder, Pointers, Words, pointers, words
from shlo_disc.runtime.packing import Constants, read_slots
from shlo_disc.signature import UnbackedSize

Span: TypeAlias = tuple[int, int]  # address of an array (on a device: id of the object), and its bytes


def span_of(array: Any) -> Span:
    """The span of an array."""
    return (array.ctypes.data, array.nbytes) if type(array) is np.ndarray else (id(array), getattr(array, "nbytes", 0))


@record
class PackedArray:
    """A packed form of bound arguments: their names, and its bytes."""

    names: str
    bytes: int


@record
class Binding:
    """The bound arguments of a program, by number, and the initial frame of calls. Never changed.

    `shapes` are those of all bound arguments, `given` their spans, `arrays` the arrays that are kept. `raw` and
    `addresses` hold what is known before a call; `binder` fills in the rest. `packed` is by the number of the packing,
    with packed constants too. `known` are the symbols that bound arguments fix, by number. `token` identifies the
    binding without keeping it alive.
    """

    binder: Binder
    shapes: Mapping[int, tuple[int, ...]]
    given: Mapping[int, Span]
    arrays: Mapping[int, Array]
    packed: Mapping[int, Array]
    packed_arrays: tuple[PackedArray, ...]
    known: Mapping[int, int]
    of_jax: bool
    addresses: Pointers
    raw: Words
    token: object

    @property
    def kept(self) -> tuple[Span, ...]:
        """The spans of the kept arrays."""
        return tuple([self.given[k] for k in self.arrays])

    def everything(self, arrays: Sequence[Any]) -> list[Any]:
        """All arguments by number, with an empty array for each bound argument that is not kept."""
        found: list[Any] = [np.empty(0)] * (len(arrays) + len(self.shapes))
        for number, array in (*self.arrays.items(), *zip(self.binder.places, arrays, strict=True)):
            found[number] = array
        return found


def bind_arrays(constants: Constants, dtypes: Sequence[np.dtype[np.generic]], given: Mapping[int, object]) -> Binding:
    """Bind some arguments, by number. Raises `ArgumentTypeError` and `RuntimeShapeError` as a call does."""
    artifact = constants.packer.artifact
    refuse_donated(artifact, given)
    arrays = {k: conform_one(artifact.arguments[k], dtypes[k], given[k]) for k in sorted(given)}
    shapes = {k: array.shape for k, array in arrays.items()}
    check_sizes(artifact, shapes)
    known = known_symbols(artifact, arrays)
    slots = {b.number: slot for slot, b in enumerate(artifact.buffers) if b.kind == "argument" and b.number in arrays}
    packed = dict(constants.packed)
    if arrays:
        places = {slots[k]: array.ctypes.data for k, array in arrays.items() if k in slots}
        packed.update(constants.packer.pack({**constants.addresses, **places}, known, packed))
    used = read_slots(artifact, packed)
    kept = {k: array for k, array in arrays.items() if not array.nbytes or slots.get(k) in used}
    spans = {k: span_of(array) for k, array in arrays.items()}
    return _binding(
        constants,
        dtypes,
        SavedBinding(shapes, kept, packed, known),
        spans,
        of_jax=bool(jax_types(tuple(given.values()))),
    )


@record
class SavedBinding:
    """What of bound arguments has to be kept: see `Binding`. `known`: symbols that they fix, by number."""

    shapes: Mapping[int, tuple[int, ...]]
    arrays: Mapping[int, Array]
    packed: Mapping[int, Array]
    known: Mapping[int, int]


def restore_binding(constants: Constants, dtypes: Sequence[np.dtype[np.generic]], saved: SavedBinding) -> Binding:
    """Bind what an earlier process has kept.

    Nothing of it is believed: shapes, known sizes and packed operands have to be those that binding gives. Raises
    `ValueError`, or as a call does, if they are not.
    """
    artifact, shapes = constants.packer.artifact, saved.shapes
    sizes = [size for shape in shapes.values() for size in shape]
    if not shapes.keys() <= set(range(len(artifact.arguments))) or min(sizes, default=0) < 0:
        raise ValueError(f"found the shapes {dict(shapes)}")
    refuse_donated(artifact, shapes)
    check_sizes(artifact, shapes)
    for number, array in saved.arrays.items():
        if shapes.get(number) != array.shape or array.dtype != dtypes[number]:
            raise ValueError(f"found {array.dtype}{list(array.shape)} for argument {number}")
    read = {k: saved.known[k] for k in _sizes_in_elements(artifact, shapes.keys() - saved.arrays.keys())}
    known = {**_known_by_shapes(artifact, shapes), **_known_by_elements(artifact, saved.arrays), **read}
    if known != saved.known:
        raise ValueError(f"found the sizes {dict(saved.known)}, expected {known}")
    slots = {b.number: slot for slot, b in enumerate(artifact.buffers) if b.kind == "argument" and b.number in shapes}
    packable = constants.packer.sizes({*constants.addresses, *slots.values()}, known, constants.packed)
    if {k: array.nbytes for k, array in saved.packed.items()} != packable:
        raise ValueError(f"found packed operands {list(saved.packed)}, expected bytes {dict(packable)}")
    packed = {**saved.packed, **constants.packed}
    used = read_slots(artifact, packed)
    for number in sorted(shapes.keys() - saved.arrays.keys()):
        if slots.get(number) in used:
            raise ValueError(f"found no array for argument {number}, which calls read")
    spans = {
        k: span_of(saved.arrays[k]) if k in saved.arrays else (0, math.prod(shape) * dtypes[k].itemsize)
        for k, shape in shapes.items()
    }
    return _binding(constants, dtypes, replace(saved, packed=packed), spans, of_jax=False)


def _binding(
    constants: Constants,
    dtypes: Sequence[np.dtype[np.generic]],
    saved: SavedBinding,
    spans: Mapping[int, Span],
    *,
    of_jax: bool,
) -> Binding:
    artifact, kept, packed = constants.packer.artifact, saved.arrays, saved.packed
    return Binding(
        binder=Binder(artifact, dtypes, saved.shapes, saved.known),
        shapes=saved.shapes,
        given=spans,
        arrays=kept,
        packed=packed,
        packed_arrays=tuple([_packed(artifact, k, x) for k, x in packed.items() if k not in constants.packed]),
        known=saved.known,
        of_jax=of_jax,
        addresses=pointers(
            [kept[k].ctypes.data if k in kept else 0 for k in range(len(artifact.arguments))]
            + [packed[k].ctypes.data if k in packed else 0 for k in range(len(artifact.packings))]
        ),
        raw=words([saved.known.get(k, 0) for k in range(artifact.given)]),
        token=object(),
    )


def _packed(artifact: Artifact, number: int, memory: Array) -> PackedArray:
    """Describe packed memory to the user."""
    buffers = [artifact.buffers[slot] for slot in artifact.packings[number].buffers[:-1]]
    names = [artifact.arguments[b.number].name if b.kind == "argument" else b.label for b in buffers]
    return PackedArray(" and ".join(names), memory.nbytes)


def known_symbols(artifact: Artifact, arrays: Mapping[int, Array]) -> Mapping[int, int]:
    """The values, by number, of those symbols of a call that the bound arguments fix."""
    shapes = {k: array.shape for k, array in arrays.items()}
    return {**_known_by_shapes(artifact, shapes), **_known_by_elements(artifact, arrays)}


def _known_by_shapes(artifact: Artifact, shapes: Mapping[int, tuple[int, ...]]) -> dict[int, int]:
    number = {name: k for k, name in enumerate(artifact.symbols[: len(artifact.raw)])}
    found = {symbol: shapes[k][axis] for symbol, (k, axis) in enumerate(artifact.raw) if k in shapes}
    for k, shape in shapes.items():
        named = zip(artifact.arguments[k].shape, shape, strict=True)
        found.update((number[name], size) for name, size in named if isinstance(name, str))
    return found


def _known_by_elements(artifact: Artifact, arrays: Mapping[int, Array]) -> dict[int, int]:
    places = _sizes_in_elements(artifact, arrays)
    return {symbol: int(arrays[one.argument].reshape(-1)[one.element]) for symbol, one in places.items()}


def _sizes_in_elements(artifact: Artifact, arguments: Collection[int]) -> dict[int, UnbackedSize]:
    """The symbols, by number, that are elements of some arguments."""
    every = enumerate(artifact.unbacked_sizes, start=len(artifact.raw))
    return {symbol: one for symbol, one in every if one.argument in arguments}


def refuse_donated(artifact: Artifact, given: Iterable[int]) -> None:
    """Refuse to bind an argument whose memory a call overwrites."""
    donated = {donation.argument for donation in artifact.donations}
    for number in sorted(donated.intersection(given)):
        raise ArgumentTypeError(
            f"{artifact.arguments[number].name}: found a donated argument, expected one that calls leave as it is\n"
            "  help: bind the arguments before it, or compile without donating it"
        )


def check_same(artifact: Artifact, found: Mapping[int, tuple[int, ...]], bound: Mapping[int, tuple[int, ...]]) -> None:
    """Refuse to replace bound arrays by arrays of other shapes."""
    for number, shape in bound.items():
        if found[number] != shape:
            raise RuntimeShapeError(
                f"{artifact.arguments[number].name}: found shape {show_shape(found[number])}, expected "
                f"{show_shape(shape)}, that of the array which is bound\n"
                "  help: bind arrays of other sizes by another bind, which compiles nothing either"
            )


@record
class BoundMemory:
    """Bytes of bound arguments: of the given arrays, of those that are kept, and of packed forms.

    `dropped` are the names of the arguments that are not kept, because nothing reads them unpacked.
    """

    given: int
    kept: int
    packed: int
    dropped: tuple[str, ...]
    arrays: tuple[PackedArray, ...]

    def lines(self) -> list[str]:
        """The same as lines of text."""
        found = [f"bound: {self.given} bytes given, {self.kept} kept, {self.packed} packed"]
        found += [f"  packed {one.names}: {one.bytes} bytes" for one in self.arrays]
        return [*found, *(f"  dropped {name}: nothing reads it as it was given" for name in self.dropped)]


def bound_memory(
    artifact: Artifact, given: Mapping[int, Span], kept: Iterable[Span], packed: tuple[PackedArray, ...] = ()
) -> BoundMemory:
    """The memory of bound arguments: spans `given`, by number, spans that are `kept`, and `packed` forms."""
    spans = set(kept)
    dropped = [k for k, span in given.items() if span[1] and span not in spans]
    total = sum(size for _, size in given.values())
    kept_bytes = total - sum(given[k][1] for k in dropped)
    names = tuple(artifact.arguments[k].name for k in dropped)
    return BoundMemory(total, kept_bytes, sum(one.bytes for one in packed), names, packed)
