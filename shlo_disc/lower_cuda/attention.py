"""Attention: each block of queries loops over all keys, in a template of the prelude with generated lambdas."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT, Scope, clean
from shlo_disc.expr.dim import Dim, const, minimum, product
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Arg, Load, Scalar
from shlo_disc.host_ir import GridLaunch, Guard, Variant
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.attention.forward import AttentionKernel
from shlo_disc.kernels.groups import AttentionAbility
from shlo_disc.kernels.kernel import Param, Store
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.kernels.softmax import unconverted
from shlo_disc.lower_cuda.attention_tiles import QUERIES, AttentionTile, tiles_for
from shlo_disc.lower_cuda.cost import LOAD_LATENCY, memory_cycles
from shlo_disc.lower_cuda.printed import Printed, signature
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.records import record

# A row of a query, a key or a value is held in registers: at most 128 elements.
ATTENTION = AttentionAbility(frozenset({DType.F32, DType.F16, DType.BF16}), 128)
MOST_BLOCKS = 2**31 - 1
SPLIT_BATCH = 256  # points of the batch that fill a GPU without splitting keys


def print_attention(kernel: AttentionKernel) -> Printed:
    """Print variants: many queries per block, or few with keys split among a block's warps, or among blocks as well."""
    many, few = tiles_for(kernel)
    always, workspaces = tuple[Guard[Dim], ...](), tuple[Dim, ...]()
    found = [(tile.label, always, [_AttentionPrinter(kernel, tile).whole()]) for tile in (many, few)]
    if (guards := _few_queries(kernel)) is not None:
        found.append(
            (
                "keys split among blocks",
                guards,
                [_AttentionPrinter(kernel, few).part(), _AttentionPrinter(kernel, few).join()],
            )
        )
        workspaces = (minimum(_batch(kernel), SPLIT_BATCH) * few.splits(kernel.key.extent) * few.part_bytes,)
    text = "\n".join(line for _, _, functions in found for function in functions for line in function.text)
    variants = tuple(Variant(label, guards, False, tuple(f.call for f in fs)) for label, guards, fs in found)
    return Printed(text, variants, kernel.spaces, workspaces)


def _batch(kernel: AttentionKernel) -> Dim:
    return product(axis.extent for axis in kernel.batch)


def _few_queries(kernel: AttentionKernel) -> tuple[Guard[Dim], ...] | None:
    """Guards for splitting keys among blocks: the workspace holds one tile of queries per point of the batch."""
    limits = ((kernel.row.extent, QUERIES), (_batch(kernel), SPLIT_BATCH))
    if any(size.constant is not None and size.constant > limit for size, limit in limits):
        return None
    return tuple(Guard(size, "<=", const(limit)) for size, limit in limits if size.constant is None)


@record
class _Function:
    """One printed kernel and its launch."""

    text: tuple[str, ...]
    call: GridLaunch[Dim]


@record
class _AttentionLaunch:
    """Blocks per point of the batch, and the cost of one; `split`: further sizes, if it uses the workspace."""

    blocks: Dim
    cycles: Dim
    latency: Dim
    split: Mapping[str, Dim] | None = None


class _AttentionPrinter:
    """Prints one kernel: a grid-stride loop over tasks."""

    def __init__(self, kernel: AttentionKernel, tile: AttentionTile) -> None:
        self.kernel, self.tile = kernel, tile
        self.emit = Emitter(CudaSpelling())
        self.keys = kernel.key.extent
        self.splits = tile.splits(self.keys)
        self.tiles = (kernel.row.extent + (tile.rows - 1)) // tile.rows
        kept = [] if kernel.kept is None else [kernel.kept]
        self.weights: list[Scalar] = [kernel.score, kernel.weight, *kept]
        self.emit.count_uses([*self.weights, *(s.value for s in kernel.epilogue)])

    def whole(self) -> _Function:
        """Print the kernel whose task is a tile of queries with all keys."""
        with self._task("task") as scope:
            arguments = ["q, k, v, first, rows, keys,", *self._weighing(), ",", *self._store()]
            scope.lines += [*self._operands(), *_call("Tile::run", arguments)]
            body = list(scope.lines)
        tile = self.tile
        return self._function(
            "queries" if tile.key_warps == 1 else "keys",
            body,
            self._used(operands=True, epilogue=True),
            _AttentionLaunch(self.tiles, tile.cycles(self.keys), tile.latency(self.keys)),
        )

    def part(self) -> _Function:
        """Print the kernel whose task is a tile of queries with one split of the keys; it writes to the workspace."""
        with self._task("(task / splits)") as scope:
            arguments = ["q, k, v, first, rows, from, to, (float*)w + task * Tile::PART,", *self._weighing()]
            scope.lines.append("const idx from = (idx)(task % splits) * each, to = min_(from + each, keys);")
            scope.lines += [*self._operands(), *_call("Tile::run_part", arguments)]
            body = list(scope.lines)
        tile, each = self.tile, (self.keys + (self.splits - 1)) // self.splits
        launch = _AttentionLaunch(
            self.tiles * self.splits, tile.cycles(each) + tile.part_bytes // 16, tile.latency(each), {"each": each}
        )
        return self._function("part", body, self._used(operands=True, epilogue=False), launch)

    def join(self) -> _Function:
        """Print the kernel whose task combines the partial results of one tile of queries."""
        with self._task("task") as scope:
            parts = "(const float*)w + task * splits * Tile::PART, (int)splits"
            arguments = [f"{parts}, {self.kernel.width}, first, rows, keys,", *self._store()]
            scope.lines += _call("Tile::finish", arguments)
            body = list(scope.lines)
        cycles = memory_cycles(self.splits * self.tile.part_bytes)
        launch = _AttentionLaunch(self.tiles, cycles, self.splits * 16 + 3 * LOAD_LATENCY, {})
        return self._function("join", body, self._used(operands=False, epilogue=True), launch)

    # -- kernels

    def _function(self, name: str, body: Sequence[str], used: tuple[Param, ...], launch: _AttentionLaunch) -> _Function:
        """Wrap `body` in the loop over tasks."""
        kernel, emit = self.kernel, self.emit
        values = {"rows": kernel.row.extent, "keys": self.keys, "tiles": self.tiles}
        if launch.split is not None:
            values |= {"splits": self.splits, **launch.split}
        batch = _batch(kernel)
        sizes = [f"const idx {name} = {emit.dim_scalar(value)};" for name, value in values.items()]
        each = " * splits" if launch.split else ""
        lines = [
            f"typedef {self.tile.type} Tile;",
            *emit.scopes[0].lines,
            *sizes,
            f"const int64_t tasks = (int64_t)tiles * {emit.dim_scalar(batch)}{each};",
            "for (int64_t task = blockIdx.x; task < tasks; task += gridDim.x) {",
            *(INDENT + line for line in body),
            "}",
        ]
        written = [p for p in used if p in self._targets()]
        workspaces = () if launch.split is None else ("w",)
        symbols, threads = tuple(emit.sizes), self.tile.threads
        head = signature(f"{NAME}_{name}", used, written, symbols, threads=threads, workspaces=workspaces)
        buffers = [k for k, p in enumerate(kernel.params) if p in used]
        call = GridLaunch(
            kernel=f"{NAME}_{name}",
            buffers=tuple(buffers if launch.split is None else [*buffers, len(kernel.params)]),
            symbols=symbols,
            blocks=minimum(batch * launch.blocks, MOST_BLOCKS),
            threads=threads,
            shared=const(0),
            cycles=launch.cycles,
            latency=launch.latency,
            pipelined=True,
        )
        return _Function((*head, *(INDENT + line for line in lines), "}"), call)

    def _targets(self) -> set[Param]:
        return {s.target for s in self.kernel.epilogue if isinstance(s.target, Param)}

    def _used(self, *, operands: bool, epilogue: bool) -> tuple[Param, ...]:
        """The buffers that a kernel reads or writes."""
        kernel, roots, used = self.kernel, list[Node](), set[object]()
        if operands:
            roots += self.weights
            used |= {view.source for view in (kernel.q, kernel.k, kernel.v)}
        if epilogue:
            roots += [s.value for s in kernel.epilogue]
            roots += [data.formula for s in kernel.epilogue for data in s.offset.data()]
            used |= self._targets()
        used |= {node.source for node in nodes_of(roots) if isinstance(node, Load)}
        return tuple(p for p in kernel.params if p in used)

    @contextmanager
    def _task(self, tile: str) -> Generator[Scope]:
        """Decode tile number `tile` into its first query and the batch indices, the last one innermost."""
        axes = self.kernel.batch
        with self.emit.inside(*(axis.symbol.name for axis in axes)) as scope:
            scope.lines.append(f"const idx first = (idx)({tile} % tiles) * Tile::ROWS;")
            rest = f"(idx)({tile} / tiles)"
            for number, axis in reversed(list(enumerate(axes))):
                name, extent = clean(axis.symbol.name), self.emit.dim_scalar(axis.extent)
                if number > 0:
                    scope.lines.append(f"const idx r{number} = {rest};")
                    rest = f"r{number}"
                scope.lines.append(f"const idx {name} = {rest}{f' % {extent}' if number else ''};")
                rest = f"r{number} / {extent}"
            yield scope

    # -- arguments of the prelude's functions

    def _operands(self) -> list[str]:
        """Declare queries, keys and values as the prelude's `Rows`."""
        kernel, emit = self.kernel, self.emit
        widths = (kernel.depth, kernel.depth, kernel.width)
        lines = list[str]()
        for name, view, width in zip(("q", "k", "v"), (kernel.q, kernel.k, kernel.v), widths, strict=True):
            element = emit.spell.memory_type(view.source.dtype)
            offset, row, column = (emit.dim_scalar(d) for d in (view.offset, view.row_stride, view.column_stride))
            start = f"{clean(view.source.name)} + {offset}"
            lines.append(f"const Rows<{element}> {name} = {{{start}, {row}, {column}, {width}}};")
        return lines

    def _weighing(self) -> list[str]:
        """Lambdas from a product to a score, from an exponential to a weight, and for whether a weight is kept."""
        kernel = self.kernel
        score = self._formula(kernel.score, kernel.raw)
        weight, kept = ["Whole()"], ["Whole()"]
        if unconverted(kernel.weight) != kernel.exponential:  # products round their operands themselves
            weight = self._formula(kernel.weight, kernel.exponential)
        if kernel.kept is not None:
            kept = self._formula(kernel.kept, None)
        return [*score, ",", *weight, ",", *kept]

    def _formula(self, formula: Scalar, argument: Arg | None) -> list[str]:
        """A lambda of an element at a query and a key."""
        emit, row, key = self.emit, self.kernel.row.symbol.name, self.kernel.key.symbol.name
        names = () if argument is None else (argument.name,)
        with emit.inside(row, key, *names) as scope:
            text = emit.value(formula)
            lines = [*self._given(argument), *scope.lines, f"return {text};"]
        given = "" if argument is None else "const float sum, "
        head = (
            f"[&]({given}const idx {clean(row)}, const idx {clean(key)}) -> {emit.spell.value_type(formula.dtype)} {{"
        )
        return [head, *(INDENT + line for line in lines), "}"]

    def _store(self) -> list[str]:
        """The epilogue: a lambda that stores a finished element."""
        emit, kernel = self.emit, self.kernel
        row, column, acc = kernel.row.symbol.name, kernel.column.symbol.name, kernel.accumulator
        with emit.inside(row, column, acc.name) as scope:
            for store in kernel.epilogue:
                scope.lines.append(self._statement(store))
            lines = [*self._given(acc), *scope.lines]
        head = f"[&](const float sum, const idx {clean(row)}, const idx {clean(column)}) {{"
        return [head, *(INDENT + line for line in lines), "}"]

    def _given(self, argument: Arg | None) -> list[str]:
        """Declare the formula's argument: the lambda's sum, rounded to the type of the product."""
        if argument is None:
            return []
        return [f"const float {clean(argument.name)} = {self.emit.spell.rounded('sum', argument.dtype, exact=False)};"]

    def _statement(self, store: Store) -> str:
        emit = self.emit
        value = emit.value(store.value)
        assert isinstance(store.target, Param), "epilogues write buffers"
        return emit.spell.store(clean(store.target.name), emit.dim_scalar(store.offset), value, store.target.dtype)


def _call(function: str, arguments: Sequence[str]) -> list[str]:
    """Format a call with one argument, or line of a lambda, per line."""
    lines = list[str]()
    for argument in arguments:
        if argument == ",":
            lines[-1] += ","
        else:
            lines.append(2 * INDENT + argument)
    return [f"{function}(", *lines[:-1], lines[-1] + ");"]
