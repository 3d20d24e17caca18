"""Products of groups of rows as C++: the prelude multiplies blocks of one group, with the matrix of that group.

Sizes of groups are known in a call alone. Where groups are rows of the result, each is cut into blocks of its own, and
a launch has as many tasks as there can be blocks: a thread that finds no more of them is done. Which way a block is
computed depends on the rows of its group, not on those of a task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from shlo_disc.device.headers import integer_macros
from shlo_disc.dynamic_ops.grouped import GroupedDotAttrs
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import ZERO, Dim, const, maximum
from shlo_disc.kernels.contraction import product_types
from shlo_disc.kernels.grouped import build_grouped
from shlo_disc.kernels.groups import Group, ProductTypes
from shlo_disc.kernels.inplace import epilogue_pairs, positions
from shlo_disc.kernels.kernel import GroupedDotKernel, MatrixView
from shlo_disc.kernels.verify_kernel import verified
from shlo_disc.lower_cpu.lowered import LoweredGroup
from shlo_disc.lower_cpu.lowering_context import LoweringContext
from shlo_disc.lower_cpu.products import packing
from shlo_disc.lower_cpu.products.blocks import PANEL_COLUMNS, packed_bytes
from shlo_disc.lower_cpu.products.multiplication import Multiplication, multiplication
from shlo_disc.lower_cpu.rows import pointer
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.lower_cpu.templates import KernelBody, epilogue, start, union
from shlo_disc.lower_cpu.work import product_work

_ROWS, _COLUMNS = (integer_macros("gemm/gemm.h")[f"SHLO_GEMM_{name}"] for name in ("ROWS", "COLUMNS"))

# Matrices of all groups that are so many bytes are read from memory: the next one is fetched while one is multiplied.
# On a Zen 5 with a third-level cache of 32 MiB, groups of 8 rows took 0.75 to 0.98 of the time; with 2 to 8 MiB, 1.2.
_FAR_BYTES = 1 << 24


class _Grouped:
    """The types whose operands the prelude reads from memory."""

    def __contains__(self, types: ProductTypes, /) -> bool:
        kind = multiplication(types)
        return kind is not None and all(x in kind.operands for x in types[:2])


GROUPED = _Grouped()


def lower_grouped(group: Group, context: LoweringContext) -> LoweredGroup:
    """A task computes a block of one group."""
    assert group.anchor is not None, "a product has its op"
    assert isinstance(group.anchor.attrs, GroupedDotAttrs), "the op of a grouped product is one"
    kind = multiplication(product_types(group.anchor), group.anchor.attrs.precision)
    assert kind is not None, "fusion makes a product only of types that there is a kernel for"
    kernel, tensors = verified(build_grouped(group, context.facts, context.producers), group)
    operand = _packed_operand(kernel, kind, context.loop_invariant.among(tensors, group))
    pairs = [pair for pair in epilogue_pairs(kernel.product) if pair[0] is not kernel.sizes.source]
    return LoweredGroup(
        print_grouped(kernel, kind, NAME, is_packed=operand is not None),
        tensors,
        _extent(kernel),
        _work(kernel),
        const(kind.scratch),
        in_place=positions(tuple(pairs), kernel.params),
        packing=operand and packing.packing_of(operand, kernel.params, _print_packing(kernel, kind)),
    )


def _column_blocks(kernel: GroupedDotKernel) -> Dim:
    return (kernel.product.column.extent + (_COLUMNS - 1)) // _COLUMNS


def _extent(kernel: GroupedDotKernel) -> Dim:
    """The number of blocks; where groups are rows, at most: each group may end with a smaller block."""
    rows = kernel.product.row.extent
    if kernel.matrix is None:
        return kernel.groups * ((rows + (_ROWS - 1)) // _ROWS) * _column_blocks(kernel)
    return (rows // _ROWS + kernel.groups + 1) * _column_blocks(kernel)


def _work(kernel: GroupedDotKernel) -> Dim:
    """The cost of one task, if all groups have equal sizes."""
    product, count = kernel.product, maximum(kernel.groups, 1)
    if kernel.matrix is None:
        return product_work(replace(product, depth=product.depth // count), const(_ROWS), const(_COLUMNS))
    row = replace(product.row, extent=product.row.extent // count)
    return product_work(replace(product, row=row), const(_ROWS), const(_COLUMNS))


# -- matrices that are packed once


def _packed_operand(
    kernel: GroupedDotKernel, kind: Multiplication, invariant: Sequence[bool]
) -> packing.PackedOperand | None:
    """How the matrices of all groups may be packed, one after the other."""
    found = None if kernel.matrix is None else packing.packed_operand(kernel.product, kind, invariant)
    if found is None:
        return None
    replaced = tuple([p for p in found.replaced if p is not kernel.sizes.source])
    # Before a loop, it would not pay for groups of few rows, and their sizes are not known there.
    return replace(
        found, replaced=replaced, bytes=found.bytes * kernel.groups, extent=found.extent * kernel.groups, worth=ZERO
    )


def _print_packing(kernel: GroupedDotKernel, kind: Multiplication) -> KernelBody:
    """A task packs one panel of one matrix."""
    emit, product, (_, b) = Emitter(VectorSpelling()), kernel.product, _operands(kernel)
    assert kernel.matrix is not None, "each group has a matrix"
    strides = ", ".join(map(emit.dim_scalar, (b.row_stride, b.column_stride)))
    lines = [
        f"const int64_t n = {emit.dim_scalar(product.column.extent)}, k = {emit.dim_scalar(product.depth)};",
        f"const int64_t panels = (n + {PANEL_COLUMNS - 1}) / {PANEL_COLUMNS};",
        "char* const packed = (char*)buffers[1];",
        pointer(VectorSpelling(), 0, b.source, written=False),
        "for (int64_t task = begin; task < end; ++task) {",
        f"{INDENT}const int64_t matrix = task / panels, j0 = task % panels * {PANEL_COLUMNS};",
        f"{INDENT}const ShloGemm product = {{nullptr, {start(emit, b)} + matrix * {emit.dim_scalar(kernel.matrix)},",
        f"{INDENT}                          0, 0, {strides}, 0, n, k}};",
        f"{INDENT}char* const to = packed + matrix * {_bytes(emit, kernel, kind)};",
        f"{INDENT}shlo_pack_{kind.name}(&product, j0, min_(j0 + {PANEL_COLUMNS}, n), to);",
        "}",
    ]
    return KernelBody((), (*emit.scopes[0].lines, *lines), tuple(emit.sizes), (f"gemm_{kind.name}",), packing.TITLE)


def _bytes(emit: Emitter, kernel: GroupedDotKernel, kind: Multiplication) -> str:
    """The bytes of one packed matrix."""
    return emit.dim_scalar(packed_bytes(kind, kernel.product.depth, kernel.product.column.extent))


# -- the product


def print_grouped(kernel: GroupedDotKernel, kind: Multiplication, name: str, *, is_packed: bool) -> KernelBody:
    """The loop over the blocks of all groups. `is_packed`: the buffer after the kernel's params is B, or null."""
    emit, product = Emitter(VectorSpelling()), kernel.product
    store = epilogue(name, product, product.batch, kind.sums)
    packed = f"packed == nullptr ? nullptr : packed + matrix * {_bytes(emit, kernel, kind)}" if is_packed else "nullptr"
    block = _block_of_depths(emit, kernel) if kernel.matrix is None else _block_of_rows(emit, kernel, packed)
    lines = [
        *_pointers(kernel),
        *([f"const char* const packed = (const char*)buffers[{len(kernel.params)}];"] if is_packed else []),
        f"const int64_t m = {emit.dim_scalar(product.row.extent)}, n = {emit.dim_scalar(product.column.extent)};",
        f"const int64_t k = {emit.dim_scalar(product.depth)};",
        _groups(emit, kernel),
        f"const int64_t column_blocks = (n + {_COLUMNS - 1}) / {_COLUMNS};",
        *([f"const int64_t row_blocks = (m + {_ROWS - 1}) / {_ROWS};"] if kernel.matrix is None else []),
        "for (int64_t task = begin, run; task < end; task += run) {",
        *(INDENT + line for line in block),
        f"{INDENT}shlo_gemm_{kind.name}(&product, i0, i1, j0, j1, scratch, {name}_store, &at);",
        "}",
    ]
    sizes = union(store.sizes, tuple(emit.sizes))
    return KernelBody(store.lines, (*emit.scopes[0].lines, *lines), sizes, (f"gemm_{kind.name}",))


def _pointers(kernel: GroupedDotKernel) -> list[str]:
    read = {view.source for view in (*_operands(kernel), kernel.sizes)}
    spell = VectorSpelling()
    return [pointer(spell, k, p, written=False) for k, p in enumerate(kernel.params) if p in read]


def _operands(kernel: GroupedDotKernel) -> tuple[MatrixView, MatrixView]:
    a, b = kernel.product.a, kernel.product.b
    assert isinstance(a, MatrixView), "a grouped product reads its operands from memory"
    assert isinstance(b, MatrixView), "a grouped product reads its operands from memory"
    return a, b


def _groups(emit: Emitter, kernel: GroupedDotKernel) -> str:
    """The declaration of the walk through the groups."""
    kind, sizes = VectorSpelling().memory_type(kernel.sizes.dtype), kernel.sizes
    rows = "k" if kernel.matrix is None else "m"
    step, count = emit.dim_scalar(sizes.row_stride), emit.dim_scalar(kernel.groups)
    return f"ShloGroups<{kind}> groups = {{{start(emit, sizes)}, {step}, {count}, {rows}}};"


def _columns() -> list[str]:
    """Neighbouring blocks of the same rows are one call, so that B is read along its rows."""
    return [
        "run = min_(end - task, column_blocks - task % column_blocks);",
        f"const int64_t j0 = task % column_blocks * {_COLUMNS}, j1 = min_(j0 + run * {_COLUMNS}, n);",
    ]


def _block_of_rows(emit: Emitter, kernel: GroupedDotKernel, packed: str) -> list[str]:
    a, b = _operands(kernel)
    assert kernel.matrix is not None, "each group has a matrix"
    strides = ", ".join(map(emit.dim_scalar, (a.row_stride, a.column_stride, b.row_stride, b.column_stride)))
    first, step = start(emit, b), emit.dim_scalar(kernel.matrix)
    fields = [
        start(emit, a),
        f"{first} + matrix * {step}",
        strides,
        f"groups.last - groups.first, n, depth, {packed}, nullptr",
        f"next < 0 ? nullptr : {first} + next * {step}",
    ]
    return [
        *_columns(),
        f"const int64_t i0 = groups.seek(task / column_blocks, {_ROWS}), i1 = min_(i0 + {_ROWS}, groups.last);",
        "if (i0 < 0) return;",
        "const int64_t matrix = groups.is_rest() ? 0 : groups.group, depth = groups.is_rest() ? 0 : k;",
        "ShloTask at = {buffers, dims, {}};",
        f"const bool is_far = groups.count * n * k >= {_FAR_BYTES // kernel.product.b.dtype.bytes};",
        "const int64_t next = is_far && i1 == groups.last ? groups.following() : -1;",
        f"const ShloGemm product = {{{', '.join(fields)}}};",
    ]


def _block_of_depths(emit: Emitter, kernel: GroupedDotKernel) -> list[str]:
    a, b = _operands(kernel)
    steps = [emit.dim_scalar(step) for step in (a.row_stride, a.column_stride, b.row_stride, b.column_stride)]
    matrices = [f"{start(emit, view)} + groups.first * {step}" for view, step in ((a, steps[1]), (b, steps[2]))]
    return [
        *_columns(),
        f"const int64_t i0 = task / column_blocks % row_blocks * {_ROWS}, i1 = min_(i0 + {_ROWS}, m);",
        "groups.go_to(task / column_blocks / row_blocks);",
        "ShloTask at = {buffers, dims, {groups.group}};",
        f"const ShloGemm product = {{{', '.join((*matrices, *steps))}, m, n, groups.last - groups.first}};",
    ]
