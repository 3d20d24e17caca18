"""Pack operands of kernels ahead of calls: constants when a program is loaded, arguments when they are bound.

An operand is packed once all its sources, and the sizes that it depends on, are known. A constant or a bound argument
that nothing reads unpacked any more is dropped.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from shlo_disc.artifact import Artifact
from shlo_disc.host_ir import Case, Copy, HostCall, Launch, LaunchGroup, Slot, Step, While
from shlo_disc.runtime.interop import Array
from shlo_disc.runtime.library import LoadedProgram, Pointers, Runtime, pointers, words
from shlo_disc.runtime.limits import LARGEST, magnitude
from shlo_disc.runtime.memory import ALIGNMENT, aligned
from shlo_disc.size_expr import SizeExpr, evaluate, symbols_of


class Packer:
    """Packs operands for the kernels of one program."""

    def __init__(self, artifact: Artifact, program: LoadedProgram, runtime: Runtime) -> None:
        self.artifact = artifact
        self._program = program  # the kernels live as long as it does
        self._runtime = ctypes.c_void_p(runtime.address)
        self._parallel = runtime.parallel
        self._kernels = {one.kernel: ctypes.c_void_p(program.address(one.kernel)) for one in artifact.packings}

    def pack(
        self, addresses: Mapping[Slot, int], given: Mapping[int, int], done: Collection[int] = ()
    ) -> Mapping[int, Array]:
        """Packed memory by the number of its packing, for all whose sources are in `addresses`, except those `done`.

        `given` are known values of a call's symbols, by number. Raises `MemoryError`.
        """
        known, found = known_symbols(self.artifact, given), dict[int, Array]()
        for number, size in self.sizes(addresses.keys(), given, done).items():
            packing = self.artifact.packings[number]
            found[number] = memory = aligned(size)
            sources = packing.buffers[:-1]
            self._launch(packing, [*(addresses[slot] for slot in sources), memory.ctypes.data], known)
        return found

    def sizes(
        self, sources: Collection[Slot], given: Mapping[int, int], done: Collection[int] = ()
    ) -> Mapping[int, int]:
        """The bytes of what `pack` would pack, by number. Raises `MemoryError` for sizes beyond 64 bits."""
        return packed_sizes(self.artifact, sources, given, done)

    def _launch(self, packing: Launch, addresses: list[int], known: Mapping[str, int]) -> None:
        extent, grain, scratch = (evaluate(one, known) for one in (packing.extent, packing.grain, packing.scratch))
        if extent > 0:
            done = self._parallel(
                self._runtime, self._kernels[packing.kernel], pointers(addresses),
                words([evaluate(one, known) for one in packing.symbols]),
                ctypes.c_int64(extent), ctypes.c_int64(grain), ctypes.c_int64(scratch),
            )  # fmt: skip
            if not done:
                raise MemoryError(f"no memory to pack operands of {packing.kernel}")


def packed_sizes(
    artifact: Artifact, sources: Collection[Slot], given: Mapping[int, int], done: Collection[int] = ()
) -> Mapping[int, int]:
    """The bytes of operands that can be packed, by number; see `Packer`. Raises `MemoryError` beyond 64 bits."""
    known, found = known_symbols(artifact, given), dict[int, int]()
    for number, packing in enumerate(artifact.packings):
        *needed, target = packing.buffers
        size = artifact.buffers[target].size
        sizes = (size, packing.extent, packing.grain, packing.scratch, *packing.symbols)
        if number in done or not all(slot in sources for slot in needed):
            continue
        if set(symbols_of(*sizes)) <= known.keys():
            _check_fits(artifact, sizes, known)
            found[number] = evaluate(size, known)
    return found


def known_symbols(artifact: Artifact, given: Mapping[int, int]) -> dict[str, int]:
    """The values of all symbols that follow from the given ones."""
    known = {artifact.symbols[number]: value for number, value in given.items()}
    for name, formula in zip(artifact.symbols[artifact.given :], artifact.definitions, strict=True):
        if set(symbols_of(formula)) <= known.keys():
            known[name] = evaluate(formula, known)
    return known


def _check_fits(artifact: Artifact, sizes: Sequence[SizeExpr], known: Mapping[str, int]) -> None:
    """Refuse sizes that do not fit into 64 bits: those of the memory, and what they are computed from."""
    defined = dict(zip(artifact.symbols[artifact.given :], artifact.definitions, strict=True))
    for size in (*sizes, *(defined[name] for name in dict.fromkeys(symbols_of(*sizes)) if name in defined)):
        if magnitude(size, known) > LARGEST:
            raise MemoryError(f"a packed operand does not fit into 64 bits: found {size} = {evaluate(size, known)}")


def read_slots(artifact: Artifact, packed: Collection[int]) -> frozenset[Slot]:
    """The buffers that calls read unpacked, if the packings of these numbers were made."""
    there = {artifact.packings[number].buffers[-1] for number in packed}
    there.update(slot for slot, buffer in enumerate(artifact.buffers) if buffer.packed in there)
    return frozenset(_read(artifact.steps, there))


def _read(steps: Iterable[Step], packed: Collection[Slot]) -> Iterator[Slot]:
    for step in steps:
        match step:
            case Launch(unless=unless) if unless in packed:
                pass
            case Launch():
                spared = Counter(slot for slot, instead in step.replaced if instead in packed)
                yield from Counter(step.buffers) - spared
            case LaunchGroup():
                yield from _read(step.launches, packed)
            case Copy(source, _):
                yield source
            case HostCall():
                yield from step.operands
            case While(condition, flag, body):
                yield flag
                yield from _read((*condition, *body), packed)
            case Case(index, _, branches):
                yield index
                for branch in branches:
                    yield from _read(branch, packed)
            case _:
                raise AssertionError(f"a step whose kernels do not compute in the host's memory: {step}")


class Constants:
    """The large literals of a program, aligned and read-only, and their packed forms."""

    def __init__(self, packer: Packer, *, keep: bool = False) -> None:
        """Literals that nothing reads unpacked are dropped, unless `keep`."""
        self.packer, artifact = packer, packer.artifact
        arrays = list(map(at_aligned_address, (constant.data for constant in artifact.constants)))
        slots = {slot: b.number for slot, b in enumerate(artifact.buffers) if b.kind == "constant"}
        self.packed = packer.pack({slot: arrays[number].ctypes.data for slot, number in slots.items()}, {})
        used = read_slots(artifact, self.packed)
        for number, packing in enumerate(artifact.packings):
            used |= frozenset() if number in self.packed else frozenset(packing.buffers)  # read while binding
        kept = {number for slot, number in slots.items() if keep or slot in used}
        self._keep = {number: array for number, array in enumerate(arrays) if number in kept}
        self.pointers: Pointers = pointers(
            [array.ctypes.data if number in kept else 0 for number, array in enumerate(arrays)]
        )

    @property
    def addresses(self) -> Mapping[Slot, int]:
        """The addresses of the literals that are kept, by slot."""
        buffers = self.packer.artifact.buffers
        places = {slot: self.pointers[b.number] for slot, b in enumerate(buffers) if b.kind == "constant"}
        return {slot: address for slot, address in places.items() if address}


def at_aligned_address(data: bytes | memoryview) -> Array:
    """The bytes at an address that is aligned; those of a mapped file are not copied."""
    found = np.frombuffer(data, np.uint8)
    if found.ctypes.data % ALIGNMENT == 0:
        return found
    memory = aligned(len(data))
    memory[:] = found
    return memory
