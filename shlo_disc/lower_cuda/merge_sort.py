"""Merge sort of lines of items: the kernels around device/sort/sort.cuh, and their launches.

A line of up to 128 items is sorted by a warp, of up to a tile by a block. Longer lines are sorted tile by tile, then
neighbouring runs are merged, one launch per doubling (Green, McColl and Bader 2012). The list of launches is fixed:
those that a shorter line does not need have no blocks. All merges are one kernel, which reads the length of the runs
from a header in front of the items.
"""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, const, maximum, minimum
from shlo_disc.host_ir import GridLaunch, Guard, Variant
from shlo_disc.kernels.kernel import Param
from shlo_disc.lower_cuda.cost import BARRIER_LATENCY, LOAD_LATENCY, memory_cycles
from shlo_disc.lower_cuda.printed import signature
from shlo_disc.records import record

BLOCK = 256
MOST_BLOCKS = 1 << 20  # beyond that, a block takes several tiles
LONGEST = 1 << 35  # items of one line: more than fit into a device's memory
SHARED_BYTES = 32 << 10  # of a tile, so that several blocks fit on a multiprocessor
REGISTER_BYTES = 64  # of the items of a thread
HEADER = 16  # bytes in front of the items in a workspace: SHLO_SORT_HEADER
COMPARE = 30  # cycles of one dependent step of a search or merge in shared memory


@record
class Sorting:
    """`lines` lines of `extent` items of `item_bytes` each.

    `lines_text` initializes an object of type `lines_type`, a Lines of device/sort/sort.cuh; `setup` are statements
    before it. After them `shape_text` is valid: the numbers of lines, of items per line, and of leading items that are
    stored. Two of the `workspaces`, from number `items_from` on, have `workspace_bytes`.
    `traffic`: memory traffic of an item in bytes, besides the item itself.
    """

    params: tuple[Param, ...]
    written: tuple[Param, ...]
    workspaces: tuple[str, ...]
    symbols: tuple[str, ...]
    lines: Dim
    extent: Dim
    item_bytes: int
    traffic: int
    lines_type: str
    lines_text: str
    setup: tuple[str, ...]
    shape_text: str
    items_from: int

    @property
    def per_thread(self) -> int:
        """Items that a thread sorts in registers."""
        return max(1, min(8, _power_of_two(REGISTER_BYTES // self.item_bytes)))

    @property
    def block(self) -> int:
        """Threads of a block: fewer for large items, so that a tile fits into shared memory."""
        return max(32, min(BLOCK, _power_of_two(SHARED_BYTES // self.item_bytes)))

    @property
    def tile(self) -> int:
        return self.block * self.per_thread

    @property
    def warp_items(self) -> int:
        """Items of the longest line that a warp sorts."""
        return 32 * min(4, self.per_thread)

    @property
    def passes(self) -> int:
        """Doublings from a tile to the longest line."""
        return (LONGEST // self.tile - 1).bit_length()

    @property
    def workspace_bytes(self) -> Dim:
        """Bytes of one workspace for items: 0 if a line fits into one tile."""
        return (self.lines * self.extent * self.item_bytes + HEADER) * minimum(1, self.extent // (self.tile + 1))


def _power_of_two(n: int) -> int:
    """The largest power of two up to n.

    >>> _power_of_two(48), _power_of_two(0)
    (32, 0)
    """
    return 1 << (n.bit_length() - 1) if n else 0


def print_short(sorting: Sorting) -> list[str]:
    """Print the kernels for lines that a warp or a block sorts at once."""
    threads, warp_items = sorting.block, sorting.warp_items // 32
    return [
        *_kernel(sorting, "warp", f"sort_short_lines<{threads}, 32, {warp_items}>(lines, {sorting.shape_text});"),
        *_kernel(
            sorting,
            "block",
            f"sort_short_lines<{threads}, {threads}, {sorting.per_thread}>(lines, {sorting.shape_text});",
        ),
    ]


def print_long(sorting: Sorting) -> list[str]:
    """Print the kernels for lines of any length."""
    size = sorting.shape_text
    first, second = (sorting.workspaces[sorting.items_from + k] for k in range(2))
    shape = f"<{sorting.block}, {sorting.per_thread}>"
    return [
        *_kernel(sorting, "tiles", f"sort_tiles{shape}(lines, {size}, {first});"),
        *_kernel(sorting, "merge", f"merge_tiles{shape}(lines, {size}, {first}, {second});"),
    ]


def _kernel(sorting: Sorting, suffix: str, call: str) -> list[str]:
    head = signature(
        f"{NAME}_{suffix}",
        sorting.params,
        sorting.written,
        sorting.symbols,
        threads=sorting.block,
        workspaces=sorting.workspaces,
    )
    make = f"const {sorting.lines_type} lines{{{sorting.lines_text}}};"
    return [*head, *(INDENT + line for line in (*sorting.setup, make, call)), "}"]


def _call(
    sorting: Sorting, suffix: str, blocks: Dim, cycles: Dim, latency: Dim, *, swapped: bool = False
) -> GridLaunch[Dim]:
    buffers = list(range(len(sorting.params) + len(sorting.workspaces)))
    if swapped:
        first = len(sorting.params) + sorting.items_from
        buffers[first], buffers[first + 1] = first + 1, first
    return GridLaunch(
        kernel=f"{NAME}_{suffix}",
        buffers=tuple(buffers),
        symbols=sorting.symbols,
        blocks=minimum(blocks, MOST_BLOCKS),
        threads=sorting.block,
        shared=const(0),
        cycles=cycles,
        latency=latency,
    )


def short_variants(sorting: Sorting) -> tuple[Variant[Dim], ...]:
    """Variants that sort whole lines in shared memory."""
    teams = sorting.block // 32
    moved = sorting.item_bytes + sorting.traffic
    found = list[Variant[Dim]]()
    for suffix, items, per_block in (("warp", sorting.warp_items, teams), ("block", sorting.tile, 1)):
        blocks = (sorting.lines + (per_block - 1)) // per_block
        latency = const(2 * LOAD_LATENCY + _tile_latency(items, items // (32 if per_block > 1 else sorting.block)))
        work = memory_cycles(sorting.extent * (per_block * moved)) + _tile_cycles(items * per_block)
        call = _call(sorting, suffix, blocks, work, latency)
        found.append(Variant(suffix, (Guard(sorting.extent, "<=", const(items)),), False, (call,)))
    return tuple(found)


def long_calls(sorting: Sorting) -> tuple[GridLaunch[Dim], ...]:
    """Launches that sort tiles, then merge them, as many times as the longest line needs."""
    tile, moved = sorting.tile, sorting.item_bytes + sorting.traffic
    tiles = (sorting.extent + (tile - 1)) // tile
    blocks = sorting.lines * tiles
    cycles = memory_cycles(const(tile * moved)) + _tile_cycles(tile)
    latency = const(2 * LOAD_LATENCY + _tile_latency(tile, sorting.per_thread))
    calls = [_call(sorting, "tiles", blocks, cycles, latency)]
    for number in range(sorting.passes):
        width = tile << number
        needed = minimum(1, maximum(0, sorting.extent - 1) // width)
        steps = width.bit_length() + 2
        cycles = memory_cycles(const(tile * 2 * sorting.item_bytes)) + tile * 20 // 128
        latency = const(steps * LOAD_LATENCY + sorting.per_thread * COMPARE + 4 * BARRIER_LATENCY)
        calls.append(_call(sorting, "merge", blocks * needed, cycles, latency, swapped=number % 2 == 1))
    return tuple(calls)


def long_variant(sorting: Sorting) -> Variant[Dim]:
    """The variant for lines of any length."""
    return Variant("merge", (), False, long_calls(sorting))


def _tile_cycles(items: int) -> int:
    """Cycles to issue a tile's rounds of merges: instructions over 128 lanes of a multiprocessor."""
    return items * items.bit_length() * 20 // 128


def _tile_latency(items: int, per_thread: int) -> int:
    """Latency of the rounds of a tile: a search, a serial merge and two barriers each."""
    rounds = items.bit_length()
    return rounds * (rounds * COMPARE + per_thread * COMPARE + 2 * BARRIER_LATENCY)


def item_layout(fields: Sequence[tuple[str, str, int]]) -> tuple[list[str], int]:
    """The members of a struct of (type, name, bytes), largest first, and its size.

    >>> item_layout([("int8_t", "a", 1), ("double", "b", 8)])
    (['double b;', 'int8_t a;'], 16)
    """
    ordered = sorted(fields, key=lambda field: -field[2])
    total, largest = sum(size for _, _, size in ordered), max((size for _, _, size in ordered), default=1)
    return [f"{kind} {name};" for kind, name, _ in ordered], -(-total // largest) * largest
