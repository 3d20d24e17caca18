"""Convolutions as C++: the prelude computes blocks of positions and features; weights may be prepacked."""

from __future__ import annotations

from collections.abc import Container, Sequence

from shlo_disc.device.headers import integer_macros
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.naming import NAME
from shlo_disc.expr.dim import Dim, const, minimum, product
from shlo_disc.expr.facts import Facts, Truth
from shlo_disc.expr.scalar import Bounds
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.groups import Group, ProductTypes
from shlo_disc.kernels.inplace import epilogue_pairs, positions
from shlo_disc.kernels.kernel import ConvKernel
from shlo_disc.kernels.templates import build_convolution
from shlo_disc.kernels.verify_kernel import verified
from shlo_disc.lower_cpu.lowered import LoweredGroup
from shlo_disc.lower_cpu.lowering_context import LoweringContext
from shlo_disc.lower_cpu.products.packing import TITLE, PackedOperand, packing_of
from shlo_disc.lower_cpu.rows import pointer
from shlo_disc.lower_cpu.spelling import LANES, VectorSpelling
from shlo_disc.lower_cpu.templates import KernelBody, epilogue, start, union
from shlo_disc.lower_cpu.transposed_tiles import transposed_epilogue, transposed_stores

# The prelude's convolutions whose operands, sums and result share one type. Integers wrap.
_CONVOLVED = {
    DType.F32: "f32",
    DType.F64: "f64",
    DType.I32: "i32",
    DType.UI32: "i32",
    DType.I64: "i64",
    DType.UI64: "i64",
}
CONVOLUTIONS: Container[ProductTypes] = frozenset((dtype,) * 3 for dtype in _CONVOLVED)
# Byte convolutions, summed in 32 bits: ungrouped only, as they take four channels at a time.
_OF_BYTES = {DType.I8: "i8", DType.UI8: "u8"}
_BYTES_TOGETHER = 4
# Weights that packing converts to f32.
_WIDENED = {DType.BF16: "weights_bf16", DType.F16: "weights_f16"}
WHOLE_CONVOLUTIONS: Container[ProductTypes] = frozenset(
    [(dtype, dtype, DType.I32) for dtype in _OF_BYTES] + [(DType.F32, dtype, DType.F32) for dtype in _WIDENED]
)


def lower_convolution(group: Group, context: LoweringContext) -> LoweredGroup:
    """A task computes a block of positions and features; the weights may be prepacked."""
    kernel, tensors = verified(build_convolution(group, context.facts, context.producers), group)
    operand = packed_weights(kernel, context.loop_invariant.among(tensors, group))
    return LoweredGroup(
        print_convolution(kernel, NAME, context.facts, packed=operand is not None),
        tensors,
        convolution_extent(kernel),
        convolution_work(kernel),
        convolution_scratch(kernel),
        in_place=positions(epilogue_pairs(kernel), kernel.params),
        packing=None if operand is None else packing_of(operand, kernel.params, print_packing(kernel)),
    )


def convolution_extent(kernel: ConvKernel) -> Dim:
    """Number of result blocks: positions x groups x features of a group."""
    sizes = integer_macros("conv/conv.h")
    groups = 1 if _is_narrow(kernel) else _groups(kernel)
    per_group = kernel.column.extent // groups
    rows = (kernel.row.extent + (sizes["SHLO_CONV_ROWS"] - 1)) // sizes["SHLO_CONV_ROWS"]
    columns = (per_group + (sizes["SHLO_CONV_COLUMNS"] - 1)) // sizes["SHLO_CONV_COLUMNS"]
    return rows * columns * groups


def _is_narrow(kernel: ConvKernel) -> bool:
    """Whether groups are narrow as conv.h defines it: the columns of a block then span the features of all groups."""
    groups, members = _groups(kernel), (kernel.column.extent // _groups(kernel)).constant
    if groups == 1 or members == 1:
        return groups > 1
    return members in (2, 4, 8) and members == kernel.kernel_sizes[0].constant


def _groups(kernel: ConvKernel) -> int:
    """Number of groups that the input's features, or its batch, are divided into."""
    return kernel.attrs.feature_groups * kernel.attrs.batch_groups


_KEPT_BYTES = 448 << 10  # packed weights of a column block that fit into every thread's fixed scratch
_MOST_KEPT_BYTES = 8 << 20


def convolution_scratch(kernel: ConvKernel) -> Dim:
    """Bytes of private memory for packing."""
    return _room(kernel) + integer_macros("conv/conv.h")["SHLO_CONV_SCRATCH"]


def _room(kernel: ConvKernel) -> Dim:
    """Extra bytes for packed weights: of a large column block, or of all blocks if a 1-tap kernel copies lines."""
    if _is_narrow(kernel):
        return const(0)
    features = kernel.column.extent // _groups(kernel)
    columns = minimum(features, integer_macros("conv/conv.h")["SHLO_CONV_COLUMNS"])
    if product(kernel.kernel_sizes[2:]).constant == 1 and kernel.input_strides[1].constant != 1:
        all_bytes = _packed_bytes(kernel, features).constant
        columns = features if all_bytes is not None and all_bytes <= _MOST_KEPT_BYTES else columns
    needed = _packed_bytes(kernel, columns)
    if needed.constant is not None and not _KEPT_BYTES < needed.constant <= _MOST_KEPT_BYTES:
        return const(0)
    return minimum(needed, _MOST_KEPT_BYTES)


def _packed_bytes(kernel: ConvKernel, columns: Dim) -> Dim:
    """Bytes of the packed weights of `columns` output features."""
    columns = (columns + (LANES - 1)) // LANES * LANES
    return _depth(kernel) * columns * kernel.accumulator.dtype.bytes


def convolution_work(kernel: ConvKernel) -> Dim:
    """The multiplications of one block, counted as vectors."""
    sizes = integer_macros("conv/conv.h")
    return _depth(kernel) * (sizes["SHLO_CONV_ROWS"] * min(64, sizes["SHLO_CONV_COLUMNS"]) // 16)


def _depth(kernel: ConvKernel) -> Dim:
    """Number of packed weights per output feature."""
    taps, channels = product(kernel.kernel_sizes[2:]), kernel.kernel_sizes[0]
    if kernel.kernel.dtype in _OF_BYTES:
        channels = (channels + (_BYTES_TOGETHER - 1)) // _BYTES_TOGETHER
    return taps * channels


def _convolved(kernel: ConvKernel) -> str:
    """The name of the prelude's convolution."""
    if kernel.input.dtype in _OF_BYTES:
        return _OF_BYTES[kernel.input.dtype]
    name = _CONVOLVED[kernel.accumulator.dtype]
    if name == "i32" and all(map(_fits_16, kernel.operand_bounds)):
        name = "i16"
    return name if _groups(kernel) == 1 else f"groups_{name}"


# Routines for long windows, by the type of sums; none for integers, which wrap.
_LONG = {DType.F32: "long_f32", DType.F64: "long_f64"}
_LEAST_TAPS = 4  # as in conv/long.h


def _long_windows(kernel: ConvKernel, facts: Facts) -> str | None:
    """The prelude's routine for windows as long as the lines of the input, or None if it does not apply.

    A window of dynamic length is taken to be an image, as in the gradient of weights. Narrow groups qualify if they
    have one output feature.
    """
    name = _LONG.get(kernel.accumulator.dtype)
    if name is None or kernel.kernel.dtype in _WIDENED or not kernel.attrs.strides:
        return None
    if _is_narrow(kernel) and (kernel.column.extent // _groups(kernel)).constant != 1:
        return None
    taps, out = kernel.kernel_sizes[-1], kernel.output_spatial[-1]
    if taps.constant is None:
        return name
    return name if taps.constant >= _LEAST_TAPS and facts.at_least(taps, out) is Truth.TRUE else None


def _fits_16(bounds: Bounds) -> bool:
    low, high = (None if end is None else end.constant for end in bounds)
    least, greatest = DType.I16.integer_bounds
    return low is not None and high is not None and least <= low and high <= greatest


def print_convolution(kernel: ConvKernel, name: str, facts: Facts, *, packed: bool = False) -> KernelBody:
    """Each task is one block of output positions and features.

    `packed`: the buffer after the kernel's params holds the weights as `print_packing` packs them, or is null.
    """
    transposed, sums = transposed_stores(kernel, facts), kernel.accumulator.dtype
    if transposed is None:
        store = epilogue(name, kernel, (), sums)
    else:
        store = transposed_epilogue(f"{name}_store", kernel, transposed, sums)
    emit, suffix = Emitter(VectorSpelling()), _convolved(kernel)
    operands = (kernel.input.source, kernel.kernel.source)
    lines = [pointer(VectorSpelling(), k, p, written=False) for k, p in enumerate(kernel.params) if p in operands]
    lines += _described(kernel, emit)
    lines.append(f"conv.input = {start(emit, kernel.input)};")
    if packed:
        lines.append(f"conv.packed = buffers[{len(kernel.params)}];")
    space = "" if transposed is None else emit.dim_scalar(transposed.space)
    if transposed is not None:
        lines.append("conv.transposed = 1;")
    arguments = f"(&conv, begin, end, scratch, {name}_store, &at)"
    long_windows = _long_windows(kernel, facts)
    lines.append(f"ShloTask at = {{buffers, dims, {{{space}}}}};")
    unless = "" if long_windows is None else f"if (!shlo_conv_{long_windows}{arguments}) "
    lines.append(f"{unless}shlo_conv_{suffix}{arguments};")
    statements = (*emit.scopes[0].lines, *lines)
    return KernelBody(store.lines, statements, union(store.sizes, tuple(emit.sizes)), _libraries(kernel, long_windows))


def _libraries(kernel: ConvKernel, *more: str | None) -> tuple[str, ...]:
    """The prelude's object files that a convolution links, and those of `more`."""
    names = (_convolved(kernel), _WIDENED.get(kernel.kernel.dtype), *more)
    return tuple(f"conv_{name}" for name in names if name is not None)


def packed_weights(kernel: ConvKernel, invariant: Sequence[bool]) -> PackedOperand | None:
    """How the weights may be packed; None for narrow groups, which read them in place.

    `invariant`: which of the kernel's params are unchanged over many launches. The unpacked weights remain a buffer of
    the kernel, too: for some sizes they are read in place.
    """
    source = kernel.kernel.source
    if _is_narrow(kernel) or not invariant[kernel.params.index(source)] or kernel.kernel.offset.data():
        return None
    sizes, groups = integer_macros("conv/conv.h"), _groups(kernel)
    features, depth = kernel.column.extent // groups, _depth(kernel)
    padded = (features + (sizes["SHLO_CONV_PADDING"] - 1)) // sizes["SHLO_CONV_PADDING"] * sizes["SHLO_CONV_PADDING"]
    blocks = (features + (sizes["SHLO_CONV_COLUMNS"] - 1)) // sizes["SHLO_CONV_COLUMNS"]
    return PackedOperand(
        sources=(source,),
        replaced=(),
        bytes=padded * depth * (groups * kernel.accumulator.dtype.bytes),
        extent=blocks * groups,
        work=depth * (sizes["SHLO_CONV_COLUMNS"] // 8),
        scratch=const(0),
        worth=const(0),  # not measured for loops
    )


def print_packing(kernel: ConvKernel) -> KernelBody:
    """The kernel that packs weights: its buffers are the weights, then the memory that it fills."""
    emit, suffix = Emitter(VectorSpelling()), _convolved(kernel)
    lines = [pointer(VectorSpelling(), 0, kernel.kernel.source, written=False), *_described(kernel, emit, _WEIGHTS)]
    lines.append(f"shlo_conv_pack_{suffix}(&conv, begin, end, buffers[1]);")
    statements = (*emit.scopes[0].lines, *lines)
    return KernelBody((), statements, tuple(emit.sizes), _libraries(kernel), TITLE)


# The fields that packing reads: none depends on the sizes of images, which only a call provides.
_WEIGHTS = ("rank", "in_features", "out_features", "kernel_sizes", "kernel_in_stride", "kernel_out_stride",
            "kernel_strides", "reversal", "groups")  # fmt: skip


def _described(kernel: ConvKernel, emit: Emitter, only: Container[str] | None = None) -> list[str]:
    """Statements that declare `conv` and set all its fields but the input, or `only` some of them."""
    attrs = kernel.attrs
    batch = kernel.input_sizes[0] // attrs.batch_groups
    group_stride = kernel.input_strides[1] * kernel.kernel_sizes[0]
    if attrs.batch_groups > 1:
        group_stride = kernel.input_strides[0] * batch
    fields: dict[str, Dim | Sequence[Dim]] = {
        "rank": const(len(attrs.strides)),
        "batch": batch,
        "in_features": kernel.input_sizes[1] * attrs.batch_groups,
        "out_features": kernel.column.extent,
        "in_sizes": kernel.input_sizes[2:],
        "kernel_sizes": kernel.kernel_sizes[2:],
        "out_sizes": kernel.output_spatial,
        "in_group_stride": group_stride,
        "in_batch_stride": kernel.input_strides[0],
        "in_feature_stride": kernel.input_strides[1],
        "in_strides": kernel.input_strides[2:],
        "kernel_in_stride": kernel.kernel_strides[0],
        "kernel_out_stride": kernel.kernel_strides[1],
        "kernel_strides": kernel.kernel_strides[2:],
        "window_strides": attrs.strides,
        "low_padding": tuple(low for low, _ in attrs.padding),
        "lhs_dilation": attrs.lhs_dilation,
        "rhs_dilation": attrs.rhs_dilation,
        "reversal": tuple(const(int(flag)) for flag in attrs.reversal),
        "groups": const(_groups(kernel)),
        "room": _room(kernel),
    }
    lines = ["ShloConv conv = {};", f"conv.kernel = {start(emit, kernel.kernel)};"]
    if (widened := _WIDENED.get(kernel.kernel.dtype)) is not None:
        lines.append(f"conv.pack = shlo_conv_{widened};")
    for field, value in fields.items():
        if only is not None and field not in only:
            continue
        if isinstance(value, Dim):
            lines.append(f"conv.{field} = {emit.dim_scalar(value)};")
        else:
            lines += [f"conv.{field}[{k}] = {emit.dim_scalar(d)};" for k, d in enumerate(value)]
    return lines
