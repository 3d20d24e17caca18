"""Maps that read transposed operands: blocks of 16 x 16 elements, transposed in registers and kept in L1.

Where an operand is strided along the lanes' axis and contiguous along a row axis, 16 rows are computed together:
vectors along the contiguous axis are loaded, transposed, and read back along the lanes.
"""

from __future__ import annotations

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.scopes import INDENT, Scope, clean
from shlo_disc.emit.transposed import across_row, unguarded
from shlo_disc.expr.dim import Dim, Sym, of, product
from shlo_disc.expr.scalar import Load
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.kernel import Axis, RowKernel
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.lower_cpu.rows import pointer
from shlo_disc.lower_cpu.spelling import LANES, VectorSpelling
from shlo_disc.lower_cpu.stages.loops import decode
from shlo_disc.lower_cpu.vectorize import can_vectorize
from shlo_disc.records import record

_BLOCK, _FIRST = Sym("%block"), Sym("%first")  # the number of a block of rows, and its first row


@record
class Tiled:
    """A map computed in blocks of rows along the axis `across`, along which the `loads` are contiguous."""

    kernel: RowKernel
    across: Axis
    loads: tuple[Load, ...]

    @property
    def rows(self) -> tuple[Axis, ...]:
        """The row axes, with one step per block."""
        blocks = Axis(_BLOCK, (self.across.extent + (LANES - 1)) // LANES)
        return tuple(blocks if axis is self.across else axis for axis in self.kernel.rows)

    @property
    def extent(self) -> Dim:
        """How many independent tasks a launch has: blocks of rows."""
        return product(axis.extent for axis in self.rows)

    @property
    def task_elements(self) -> Dim:
        """How many elements a block of rows has."""
        return self.kernel.stages[0].axes[-1].extent * LANES


def tiled(kernel: RowKernel) -> Tiled | None:
    """Find what to transpose in a map, if anything."""
    if kernel.scratch or len(kernel.stages) != 1 or kernel.stages[0].reductions:
        return None
    (stage,), deps = kernel.stages, Dependence()
    if len(stage.axes) != 1 or not can_vectorize(stage, deps):
        return None
    found = dict[Axis, list[Load]]()
    for load in unguarded(stage_formulas(stage)):
        if (across := across_row(load, stage.axes[0].symbol, kernel.rows, deps)) is not None:
            found.setdefault(across, []).append(load)
    if not found:
        return None
    across = max(found, key=lambda axis: len(found[axis]))
    return Tiled(kernel, across, tuple(found[across]))


class TiledPrinter:
    """Prints one map in blocks."""

    def __init__(self, found: Tiled) -> None:
        self.found, self.kernel = found, found.kernel
        (self.stage,) = self.kernel.stages
        self.lane = self.stage.axes[0]
        self.spell = VectorSpelling()
        self.emit = Emitter(self.spell)

    def lines(self) -> tuple[list[str], tuple[str, ...]]:
        """The statements of the kernel's body, and the program symbols it needs in order."""
        emit, lane, across = self.emit, clean(self.lane.symbol.name), self.found.across
        emit.count_uses(stage_formulas(self.stage))
        written = {store.target for store in self.stage.stores}
        pointers = [pointer(self.spell, k, p, written=p in written) for k, p in enumerate(self.kernel.params)]
        width, height = emit.dim_scalar(self.lane.extent), emit.dim_scalar(across.extent)
        others = [axis.symbol.name for axis in self.kernel.rows if axis is not across]
        emit.row_scope = 1
        with emit.inside("%row", _FIRST.name, *others) as row:
            decode(emit, row, self.found.rows, "row")
            row.block(
                [
                    f"const int64_t first = block * {LANES};",
                    f"const int64_t count = min_({height} - first, {LANES});",
                ]
            )
            chunks = [
                f"for (; {lane} + {LANES} <= {width}; {lane} += {LANES}) {{",
                *(INDENT + line for line in self._chunk("")),
                "}",
                f"if ({lane} < {width}) {{",
                f"{INDENT}const int64_t left = {width} - {lane};",
                *(INDENT + line for line in self._chunk("left")),
                "}",
            ]
            row.block([f"int64_t {lane} = 0;", *chunks])
        body = ["for (int64_t row = begin; row < end; ++row) {", *(INDENT + line for line in row.lines), "}"]
        return [*pointers, *emit.scopes[0].lines, *body], tuple(emit.sizes)

    def _chunk(self, left: str) -> list[str]:
        """A block: its operands are transposed, then its rows are computed."""
        emit, across = self.emit, self.found.across
        emit.lane, emit.partial = self.lane.symbol.name, bool(left)
        with emit.inside(self.lane.symbol.name) as block:
            for number, load in enumerate(self.found.loads):
                block.lines += self._transpose(number, load, left)
            with emit.inside(across.symbol.name) as row:
                self._row(row, left)
            block.block(
                [
                    "for (int64_t k = 0; k < count; ++k) {",
                    f"{INDENT}const int64_t {clean(across.symbol.name)} = first + k;",
                    *(INDENT + line for line in row.lines),
                    "}",
                ]
            )
        emit.lane, emit.partial = None, False
        return block.lines

    def _transpose(self, number: int, load: Load, left: str) -> list[str]:
        split = load.index[0].linear(self.lane.symbol)
        assert split is not None, "only loads with a stride are transposed"
        start = self.emit.dim_scalar(load.index[0].substitute({self.found.across.symbol: of(_FIRST)}))
        stride, kind = self.emit.dim_scalar(split[0]), self.spell.memory_type(load.dtype)
        return [
            f"alignas(64) {kind} tile{number}[{LANES * LANES}];",
            f"load_transposed(tile{number}, {load.source.name} + {start}, {stride}, count, {left or LANES});",
        ]

    def _row(self, row: Scope, left: str) -> None:
        emit = self.emit
        for number, load in enumerate(self.found.loads):
            value = self.spell.load_vector(f"tile{number} + k * {LANES}", load.dtype, "")
            row.lines.append(f"const {self.spell.vector_type(load.dtype)} transposed{number} = {value};")
            row.names[load] = f"transposed{number}"
        for store in self.stage.stores:
            value, start = emit.lanes(store.value), emit.dim_scalar(store.offset)
            target = f"{store.target.name} + {start}"
            row.lines.append(self.spell.store_vector(target, value, store.target.dtype, left))
