"""Select the fastest variant of every choice at the sizes of a call.

A kernel is timed by an occupancy cost model as in TSCompiler (Luo et al., "TSCompiler: efficient compilation framework
for dynamic-shape models", 2024): by how many blocks a multiprocessor holds, how many full waves of them run, and what
the last wave leaves idle.

    warps      = ceil(threads / 32)
    occupancy  = min(threads per multiprocessor // (32 warps),
                     registers // (warps * ceil(32 registers per thread, 256)),
                     shared memory // (static + dynamic + 1024),
                     blocks per multiprocessor)
    capacity   = occupancy * multiprocessors
    waves, rest = divmod(blocks, capacity)
    time       = overhead + waves * both(latency, occupancy * cycles)
                          + (both(latency, ceil(rest / multiprocessors) * cycles) if rest else 0)
    both(a, b) = max(a, b) in kernels that load ahead, else (a^1.5 + b^1.5)^(2/3)

Latency and busy time overlap less the closer the two are: blocks of a wave wait and load in step, and the latency of
memory grows with its load. The exponent is fitted to kernels on an H100 (docs/how-to/cuda.md).

`cycles` and `latency` of a block come with the launch (see `host_ir.GridLaunch`); a variant takes the sum of its
commands. Variants themselves are BladeDISC's speculation (Zheng et al., "BladeDISC: Optimizing Dynamic Shape Machine
Learning Workloads via Compiler Approach", SIGMOD 2023): schedules compiled ahead for possible sizes, each under a
guard. The time of a cuBLAS product is estimated from cuBLAS's tiles.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeAlias, assert_never

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import InternalError
from shlo_disc.host_ir import Choice, Command, Copy, Fill, GridLaunch, Guard, Product, Variant
from shlo_disc.records import record
from shlo_disc.runtime.cuda.device import Limits, LoadedKernel
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.selection import Option, SelectionTrace
from shlo_disc.runtime.steps import leaves, slots_of
from shlo_disc.size_expr import SizeExpr, SizeTable

OVERHEAD = 2500  # cycles between two dependent kernels
BYTES_PER_CYCLE = 13  # of global memory, per multiprocessor, as the kernels' own costs assume
OVERLAP = 1.5  # of latency and busy time: 1 is none (the sum), infinity is the longer of the two
RESERVED_SHARED = 1024  # bytes that CUDA takes per block
REGISTER_UNIT = 256  # registers are allocated to warps in such units
WARP = 32
MOST_THREADS, MOST_BLOCKS = 1024, 2**31 - 1

# Multiply-adds per cycle and multiprocessor of a product, by `compute` and the bytes of its inputs' elements.
_RATES: Mapping[tuple[str, int], int] = {
    ("f32", 2): 2048, ("tf32", 4): 1024, ("f32", 4): 128, ("f64", 8): 128, ("f32", 8): 32, ("f64", 16): 32,
}  # fmt: skip
_TILES = ((256, 128, 0.80), (128, 128, 0.75), (128, 64, 0.65), (64, 64, 0.5))  # rows, columns, share of the rate
_SPLIT_DEPTH = 512  # depth of a part when cuBLAS splits sums (split-K), where there are too few tiles
_PRODUCT_LATENCY = 3000

_RELATIONS: Mapping[str, Callable[[int, int], bool]] = {"==": operator.eq, "<=": operator.le, ">=": operator.ge}


@record
class Estimate:
    """A variant that is legal at the sizes of a call, and how many cycles it takes."""

    number: int
    cycles: float


Chooser: TypeAlias = Callable[[Choice, Sequence[Estimate]], int]


def cheapest(choice: Choice, legal: Sequence[Estimate]) -> int:
    """The variant of least cycles; of equal ones the first."""
    del choice
    return min(legal, key=lambda estimate: estimate.cycles).number


def occupancy(limits: Limits, function: LoadedKernel, threads: int, shared: int) -> int:
    """How many blocks of a kernel a multiprocessor holds at once.

    >>> limits = Limits(132, 2048, 32, 65536, 233472, 232448)
    >>> occupancy(limits, LoadedKernel(0, 32, 0), 256, 0), occupancy(limits, LoadedKernel(0, 33, 0), 256, 0)
    (8, 6)
    >>> occupancy(limits, LoadedKernel(0, 32, 1024), 256, 100_000)
    2
    """
    warps = -(-threads // WARP)
    registers = warps * -(-max(function.registers, 1) * WARP // REGISTER_UNIT) * REGISTER_UNIT
    return min(
        limits.threads // (warps * WARP),
        limits.registers // registers,
        limits.shared // (function.shared + shared + RESERVED_SHARED),
        limits.blocks,
    )


def launch_cycles(
    limits: Limits, resident: int, blocks: int, cycles: int, latency: int, *, pipelined: bool = False
) -> float:
    """How long a kernel takes that holds `resident` blocks per multiprocessor; see the formula above.

    >>> limits = Limits(100, 2048, 32, 65536, 233472, 232448)
    >>> [launch_cycles(limits, 2, n, 700, 1000, pipelined=True) - OVERHEAD for n in (200, 201)]
    [1400, 2400]
    """
    both = max if pipelined else _overlapped
    waves, rest = divmod(blocks, resident * limits.multiprocessors)
    tail = both(latency, -(-rest // limits.multiprocessors) * cycles) if rest else 0
    return OVERHEAD + waves * both(latency, resident * cycles) + tail


def _overlapped(latency: float, busy: float) -> float:
    return (latency**OVERLAP + busy**OVERLAP) ** (1 / OVERLAP)


def product_cycles(limits: Limits, product: Product, sizes: tuple[int, int, int, int]) -> float:
    """The cycles of cuBLAS for m, n, k and a batch, if it picks the best of its tiles; at least those of memory."""
    m, n, k, batch = sizes
    itemsize = dtype_of(product.dtypes[0]).itemsize
    rate = _RATES.get((product.compute, itemsize), 64)
    bytes_moved = batch * (itemsize * k * (m + n) + dtype_of(product.dtypes[1]).itemsize * m * n)
    memory = bytes_moved / (BYTES_PER_CYCLE * limits.multiprocessors)
    best = math.inf
    for rows, columns, share in _TILES:
        tiles = batch * -(-m // rows) * -(-n // columns)
        splits = max(1, min(limits.multiprocessors // tiles, k // _SPLIT_DEPTH))
        waves = -(-tiles * splits // limits.multiprocessors)
        best = min(best, waves * rows * columns * (k / splits) / (rate * share) + (OVERHEAD if splits > 1 else 0))
    return OVERHEAD + _PRODUCT_LATENCY + max(memory, best)


@record
class _SizeValues:
    """The values of an artifact's sizes in one call, looked up by identity: hashing takes longer."""

    positions: Mapping[int, int]
    numbers: Sequence[int]

    def __getitem__(self, size: SizeExpr) -> int:
        return self.numbers[self.positions[id(size)]]


class LaunchTable:
    """All choices of a program on one device, with kernels of one width of indices."""

    def __init__(
        self,
        artifact: Artifact,
        limits: Limits,
        functions: Mapping[str, LoadedKernel],
        chooser: Chooser,
        *,
        has_cublas: bool,
    ) -> None:
        self._artifact, self._limits, self._functions = artifact, limits, functions
        self._chooser, self._has_cublas = chooser, has_cublas
        self._choices = [step for step in leaves(artifact.steps) if isinstance(step, Choice)]
        self._numbers = SizeTable(artifact.symbols)
        sizes = [*(size for choice in self._choices for size in _sizes(choice)), *(b.size for b in artifact.buffers)]
        self._at = {id(size): self._numbers.add(size) for size in sizes}  # the artifact keeps them alive

    def choose(self, symbols: Sequence[int], misaligned: Collection[int]) -> tuple[int, ...]:
        """The variant of every choice, by number. `misaligned` are arguments that do not start at 16 bytes."""
        values = _SizeValues(self._at, self._numbers.evaluate(symbols))
        return tuple(self._one(choice, values, misaligned) for choice in self._choices)

    def traces(
        self, symbols: Sequence[int], misaligned: Collection[int], chosen: Sequence[int]
    ) -> tuple[SelectionTrace, ...]:
        """How the variant of every choice was chosen, and what was predicted of the others."""
        values = _SizeValues(self._at, self._numbers.evaluate(symbols))
        return tuple(self._trace(choice, values, misaligned, chosen[choice.number]) for choice in self._choices)

    def _trace(self, choice: Choice, values: _SizeValues, misaligned: Collection[int], chosen: int) -> SelectionTrace:
        options = list[Option]()
        for variant in choice.variants:
            refusal = self._refusal(variant, values, misaligned)
            cycles = None if refusal else sum(self._cycles(command, values) for command in variant.commands)
            options.append(Option(variant.label, cycles, refusal))
        found = options[chosen]
        busy = [self._busy(one, values) for one in choice.variants[chosen].commands if isinstance(one, GridLaunch)]
        why = "of least cycles by the occupancy model" if len(options) > 1 else "the only variant"
        occupied = max(busy) if busy else None
        return SelectionTrace(
            f"choice {choice.number}", (), found.name, why, "cycles", found.predicted, None, occupied, tuple(options)
        )

    def _busy(self, launch: GridLaunch, values: _SizeValues) -> float:
        """The share of the device's room for blocks that a kernel fills, in the mean of its waves."""
        function = self._functions[launch.kernel]
        blocks = max(0, values[launch.blocks])
        room = occupancy(self._limits, function, launch.threads, values[launch.shared]) * self._limits.multiprocessors
        return blocks / (-(-blocks // room) * room) if blocks else 0.0

    def _one(self, choice: Choice, values: _SizeValues, misaligned: Collection[int]) -> int:
        refusals = [self._refusal(v, values, misaligned) for v in choice.variants]
        legal = [
            Estimate(k, sum(self._cycles(command, values) for command in v.commands))
            for k, v in enumerate(choice.variants)
            if not refusals[k]
        ]
        if not legal:
            reasons = "\n".join(f"  {v.label}: {why}" for v, why in zip(choice.variants, refusals, strict=True))
            raise InternalError(f"no variant of choice {choice.number} can run at these sizes\n{reasons}")
        return self._chooser(choice, legal)

    def _refusal(self, variant: Variant, values: _SizeValues, misaligned: Collection[int]) -> str:
        """Why a variant is not legal; empty if it is."""
        for guard in variant.guards:
            if not _holds(guard, values):
                return f"{guard.lhs} = {values[guard.lhs]}, expected {guard.relation} {guard.rhs} = {values[guard.rhs]}"
        if variant.aligned and misaligned and self._touches(variant, misaligned):
            return "an argument does not start at 16 bytes"
        return next(filter(None, (self._obstacle(command, values) for command in variant.commands)), "")

    def _touches(self, variant: Variant, misaligned: Collection[int]) -> bool:
        slots = {slot for command in variant.commands for slot in slots_of(command)}
        buffers = [self._artifact.buffers[slot] for slot in slots]
        return any(buffer.kind == "argument" and buffer.number in misaligned for buffer in buffers)

    def _obstacle(self, command: Command, values: _SizeValues) -> str:
        """Why the device cannot run a command; empty if it can."""
        match command:
            case Product():
                return "" if self._has_cublas else "there is no cuBLAS"
            case GridLaunch():
                function, shared = self._functions[command.kernel], values[command.shared]
                found, most = function.shared + shared, self._limits.shared_per_block
                if found > most:
                    return f"{found} bytes of shared memory, expected at most {most}"
                if values[command.blocks] > MOST_BLOCKS or command.threads > MOST_THREADS:
                    return f"{values[command.blocks]} blocks of {command.threads} threads: too many"
                if occupancy(self._limits, function, command.threads, shared) == 0:
                    return f"{function.registers} registers for each of {command.threads} threads: too many"
                return ""
            case Copy() | Fill():
                return ""
            case _:
                assert_never(command)

    def _cycles(self, command: Command, values: _SizeValues) -> float:
        match command:
            case GridLaunch():
                blocks = values[command.blocks]
                if blocks <= 0:
                    return 0
                function = self._functions[command.kernel]
                resident = occupancy(self._limits, function, command.threads, values[command.shared])
                cycles, latency = values[command.cycles], values[command.latency]
                return launch_cycles(self._limits, resident, blocks, cycles, latency, pipelined=command.pipelined)
            case Product():
                sizes = values[command.m], values[command.n], values[command.k]
                loops = [values[loop.extent] for loop in command.batch]
                if min(*sizes, *loops) <= 0:
                    return OVERHEAD
                calls = math.prod(loops[:-1])
                return calls * product_cycles(self._limits, command, (*sizes, loops[-1] if loops else 1))
            case Copy() | Fill():
                size = values[self._artifact.buffers[command.target].size]
                return OVERHEAD + size / (BYTES_PER_CYCLE * self._limits.multiprocessors)
            case _:
                assert_never(command)


def _holds(guard: Guard, values: _SizeValues) -> bool:
    return _RELATIONS[guard.relation](values[guard.lhs], values[guard.rhs])


def _sizes(choice: Choice) -> list[SizeExpr]:
    """All sizes that legality and costs need."""
    found: list[SizeExpr] = []
    for variant in choice.variants:
        for guard in variant.guards:
            found += [guard.lhs, guard.rhs]
        for command in variant.commands:
            match command:
                case GridLaunch():
                    found += [command.blocks, command.shared, command.cycles, command.latency]
                case Product():
                    found += [command.m, command.n, command.k, *(loop.extent for loop in command.batch)]
                case Copy() | Fill():
                    pass
                case _:
                    assert_never(command)
    return found
