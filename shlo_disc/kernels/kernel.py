"""Target-independent kernels: rows x stages, and templates with an elementwise epilogue.

Offsets are flat element offsets, as Dims over sizes and the symbols of the surrounding loops. Loop symbols start with
`%`, which no size of a user's program can.
"""

from __future__ import annotations

from typing import TypeAlias

from shlo_disc.dynamic_ops.contract import ConvAttrs, Precision
from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.expr.scalar import NO_BOUNDS, Arg, Bounds, Scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.records import record


@record
class Param:
    """A buffer that the host passes: `p0`, `p1`, … in the order of first use."""

    name: str
    dtype: DType
    bounds: Bounds = NO_BOUNDS


@record
class Scratch:
    """A buffer of `size` elements that lives for one row: L1 on a CPU, shared memory on a GPU."""

    name: str
    dtype: DType
    size: Dim
    bounds: Bounds = NO_BOUNDS


@record
class Axis:
    """A loop: `0 <= symbol < extent`."""

    symbol: Sym
    extent: Dim


@record
class Store:
    """`target[offset] = value`."""

    target: Param | Scratch
    offset: Dim
    value: Scalar


@record
class Reduction:
    """Values reduced together over the reduced axes of a stage.

    `update` computes the new carries from the carries and `elements` (the arguments `inputs` stand for the elements).
    `fn` names the operation where it is one associative function of one carry. Later stages read the results as
    `carries` if all axes are reduced, or from where `stores` put them.
    """

    carries: tuple[Arg, ...]
    init: tuple[Scalar, ...]
    inputs: tuple[Arg, ...]
    elements: tuple[Scalar, ...]
    update: tuple[Scalar, ...]
    fn: BinaryFn | None
    stores: tuple[Store, ...]


@record
class Stage:
    """One sweep over the inner space of a row.

    `axes` are the inner loops in memory order, the last one is innermost in memory; `reduced[k]` says that the
    reductions run over axis k. `stores` happen at every point.
    """

    axes: tuple[Axis, ...]
    reduced: tuple[bool, ...]
    stores: tuple[Store, ...]
    reductions: tuple[Reduction, ...]


@record
class RowKernel:
    """Independent rows, each a sequence of stages. One row if `rows` is empty."""

    params: tuple[Param, ...]
    rows: tuple[Axis, ...]
    stages: tuple[Stage, ...]
    scratch: tuple[Scratch, ...]


@record
class MatrixView:
    """One matrix per point of the batch: `offset` is a Dim over the batch symbols; strides are in elements."""

    source: Param
    offset: Dim
    row_stride: Dim
    column_stride: Dim

    @property
    def dtype(self) -> DType:
        """The type of its elements."""
        return self.source.dtype


@record
class Panel:
    """A matrix that is computed where a product loads it: `value` is its element at `line` and `depth`.

    A line is a row of A or a column of B. `along_depth`: adjacent depths are cheaper to compute together than adjacent
    lines.
    """

    dtype: DType
    line: Axis
    depth: Axis
    value: Scalar
    along_depth: bool


@record
class DotKernel:
    """`C[batch] = A[batch] @ B[batch]` (m x k, k x n), never stored: the epilogue gets each finished element.

    The epilogue reads the product as `accumulator`, at `row` and `column`, in the dot's result type. Sums are rounded
    to that type; those of f16 and bf16 are accumulated in f32.
    """

    params: tuple[Param, ...]
    batch: tuple[Axis, ...]
    row: Axis
    column: Axis
    depth: Dim
    a: MatrixView | Panel
    b: MatrixView | Panel
    accumulator: Arg
    epilogue: tuple[Store, ...]
    precision: Precision


@record
class GroupedDotKernel:
    """A product of groups of rows: the group that a row of A belongs to follows from `sizes`, one for each group.

    Where the groups are rows of the result, `product` is without a batch, B of group p lies `matrix` * p elements
    further, and rows beyond the last group have no depth. Where they are depths, `matrix` is None, and the only batch
    axis of `product` numbers the groups; the rows of a group are its depths, of all `product.depth`.
    """

    params: tuple[Param, ...]
    product: DotKernel
    groups: Dim
    sizes: MatrixView  # of one column
    matrix: Dim | None


@record
class ConvKernel:
    """A convolution as an implicit matrix product: rows are output positions (batch, then space), columns features.

    Shapes and strides are listed in the order of `attrs` logical dims: (batch, feature, spatial …) of the input,
    (in feature, out feature, spatial …) of the kernel. `operand_bounds`: bounds of integer operands.
    """

    params: tuple[Param, ...]
    attrs: ConvAttrs
    row: Axis
    column: Axis
    input: MatrixView  # only its buffer and offset are used
    input_sizes: tuple[Dim, ...]
    input_strides: tuple[Dim, ...]
    kernel: MatrixView
    kernel_sizes: tuple[Dim, ...]
    kernel_strides: tuple[Dim, ...]
    output_spatial: tuple[Dim, ...]
    operand_bounds: tuple[Bounds, Bounds]
    accumulator: Arg
    epilogue: tuple[Store, ...]


@record
class SortKernel:
    """Sorts several arrays together along one axis: `outer x extent x inner`, by a comparator of two elements each.

    An input that is None is an iota along the axis. Only the first `keep` elements of a sorted line are read.
    """

    params: tuple[Param, ...]
    inputs: tuple[Param | None, ...]
    outputs: tuple[Param, ...]
    outer: Dim
    extent: Dim
    inner: Dim
    keep: Dim
    stable: bool
    comparator_arguments: tuple[Arg, ...]
    comparator: Scalar


@record
class Start:
    """The initial content of a scatter's result: `count` elements of `source`, or zeros if that is None."""

    source: Param | None
    target: Param
    count: Dim


@record
class Slabs:
    """The outermost dim of a scatter's targets of a size other than 1: `extent` slabs of `inner` elements each.

    An update goes to slab `start`; if windows extend along that dim, `width` points of `axis` go to each slab from
    `start` on.
    """

    start: Dim
    axis: Axis | None
    width: Dim
    extent: Dim
    inner: Dim


@record
class Sweep:
    """The epilogue of a scatter: computed at every element of its target after all updates.

    `axes` are the dims of the target of a size other than 1. A store reads and writes only the element of the target at
    the current point; the store that overwrites it is the last.
    """

    axes: tuple[Axis, ...]
    stores: tuple[Store, ...]


@record
class ScatterKernel:
    """Combines updates into a copy of the operands, one after the other (the order of the updates is kept).

    For every point of `axes` (the update space) whose `in_bounds` holds: `target[offset] = update`. `window`: symbols
    of the axes within a window; their targets differ, and `in_bounds` does not depend on them. `apart`: two windows are
    equal or disjoint; if not, the window axes are the last of `axes`. `unique`: no two updates have the same target.
    `slabs`: None if targets have one element. `reads_ahead`: no value reads an element of the operand that an earlier
    update has overwritten.
    """

    params: tuple[Param, ...]
    starts: tuple[Start, ...]
    axes: tuple[Axis, ...]
    window: tuple[Sym, ...]
    apart: bool
    unique: bool
    slabs: Slabs | None
    in_bounds: Scalar
    carries: tuple[Arg, ...]  # the target's current element
    targets: tuple[Store, ...]  # value: the combined element, in terms of the carries
    sweep: Sweep | None
    reads_ahead: bool


@record
class WindowScatterKernel:
    """select_and_scatter: for each window pick a position by `select`, then combine the source's element into it."""

    params: tuple[Param, ...]
    operand: Param
    source: Param
    target: Param
    init: Scalar
    operand_shape: tuple[Dim, ...]
    source_shape: tuple[Dim, ...]
    window: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    low: tuple[Dim, ...]
    select_arguments: tuple[Arg, Arg]
    select: Scalar
    scatter_arguments: tuple[Arg, Arg]
    scatter: Scalar


@record
class ScanKernel:
    """Running combinations along one axis of `outer x along x inner` elements.

    `elements` and `offset` (of each output) are in terms of the three symbols. `combined` computes the new carries from
    the carries and `inputs`, the next elements in the direction of the scan: it is associative, with `init` as its
    neutral elements. `backwards`: the scan starts at the end of the axis.
    """

    params: tuple[Param, ...]
    outer: Axis
    along: Axis
    inner: Axis
    backwards: bool
    init: tuple[Scalar, ...]
    elements: tuple[Scalar, ...]
    carries: tuple[Arg, ...]
    inputs: tuple[Arg, ...]
    combined: tuple[Scalar, ...]
    outputs: tuple[Param, ...]
    offset: Dim


Kernel: TypeAlias = (
    RowKernel
    | DotKernel
    | GroupedDotKernel
    | ConvKernel
    | SortKernel
    | ScatterKernel
    | WindowScatterKernel
    | ScanKernel
)
