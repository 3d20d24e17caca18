"""select_and_scatter: for every element of the operand, go in order through the windows that contain it.

Updates of the windows that select it are combined in that order, and no two threads write the same element.
"""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.naming import NAME
from shlo_disc.emit.scopes import INDENT
from shlo_disc.expr.dim import Dim, const, minimum, product
from shlo_disc.expr.facts import Facts
from shlo_disc.host_ir import GridLaunch, Variant
from shlo_disc.kernels.kernel import WindowScatterKernel
from shlo_disc.lower_cuda.cost import LOAD_LATENCY, memory_cycles
from shlo_disc.lower_cuda.printed import Printed, signature
from shlo_disc.lower_cuda.spelling import CudaSpelling

_SPELL = CudaSpelling()
BLOCK = 256
MOST_BLOCKS = 1 << 20


def print_window_scatter(kernel: WindowScatterKernel, facts: Facts) -> Printed:
    """Print a kernel with a thread per element of the operand."""
    emit, rank = Emitter(_SPELL), len(kernel.operand_shape)
    total = facts.canonical(product(kernel.operand_shape))
    sizes = {
        "size": kernel.operand_shape, "count": kernel.source_shape, "window": kernel.window, "stride": kernel.strides,
        "low": kernel.low,
    }  # fmt: skip
    declared = [
        "const idx " + ", ".join(f"{name}{k} = {emit.dim_scalar(dim)}" for k, dim in enumerate(dims)) + ";"
        for name, dims in sizes.items()
        if dims
    ]
    extent = emit.dim_scalar(total)
    emit.count_uses([kernel.init])
    start = emit.value(kernel.init)
    body = _element(emit, kernel, start, rank)
    lines = [
        *emit.scopes[0].lines,
        *declared,
        f"for (int64_t number = (int64_t)blockIdx.x * {BLOCK} + threadIdx.x; number < {extent};"
        f" number += (int64_t)gridDim.x * {BLOCK}) {{",
        *_indented(body),
        "}",
    ]
    symbols = tuple(emit.sizes)
    head = signature(f"{NAME}_windows", kernel.params, [kernel.target], symbols, threads=BLOCK)
    spaces = (total, product(kernel.source_shape))
    variant = Variant("windows", (), False, (_launch(kernel, symbols, total),))
    return Printed("\n".join([*head, *_indented(lines), "}"]), (variant,), spaces)


def _indented(lines: Sequence[str]) -> list[str]:
    return [INDENT + line for line in lines]


def _launch(kernel: WindowScatterKernel, symbols: tuple[str, ...], total: Dim) -> GridLaunch[Dim]:
    around = product((w + (s - 1)) // s for w, s in zip(kernel.window, kernel.strides, strict=True))
    reads = around * product(kernel.window)
    bytes_moved = kernel.operand.dtype.bytes + kernel.target.dtype.bytes + kernel.source.dtype.bytes
    return GridLaunch(
        kernel=f"{NAME}_windows",
        buffers=tuple(range(len(kernel.params))),
        symbols=symbols,
        blocks=minimum((total + (BLOCK - 1)) // BLOCK, MOST_BLOCKS),
        threads=BLOCK,
        shared=const(0),
        cycles=memory_cycles(const(BLOCK * bytes_moved)) + reads * (BLOCK * 10 // 128),
        latency=reads * 40 + 3 * LOAD_LATENCY,
    )


def _element(emit: Emitter, kernel: WindowScatterKernel, start: str, rank: int) -> list[str]:
    """Statements for element number `number`, with coordinates x0 …."""
    old, _ = kernel.scatter_arguments
    lines, rest = ["const idx own = (idx)number;"], "own"
    for k in range(rank - 1, -1, -1):
        if k == 0:
            lines.append(f"const idx x0 = {rest};")
            continue
        lines += [f"const idx x{k} = {rest} % size{k};", f"const idx rest{k} = {rest} / size{k};"]
        rest = f"rest{k}"
    lines.append(f"{_SPELL.value_type(old.dtype)} {old.name} = {start};")
    heads = list[str]()
    for k in range(rank):
        # windows s with s * stride <= x + low < s * stride + window
        lines.append(f"const idx first{k} = max_(0, floordiv(x{k} + low{k} - window{k}, stride{k}) + 1);")
        lines.append(f"const idx last{k} = min_(count{k} - 1, floordiv(x{k} + low{k}, stride{k}));")
        heads.append(f"for (idx s{k} = first{k}; s{k} <= last{k}; ++s{k}) {{")
    inner = [*_choose(emit, kernel, rank), "if (chosen != own) continue;", *_combine(emit, kernel, rank)]
    lines += _nested(heads, inner)
    lines.append(_SPELL.store(kernel.target.name, "own", old.name, kernel.target.dtype))
    return lines


def _nested(heads: Sequence[str], body: Sequence[str]) -> list[str]:
    """Nested loops around a body that may `continue`; without heads, a loop of one iteration."""
    heads = heads or ["for (int once = 0; once < 1; ++once) {"]
    lines = [INDENT * depth + head for depth, head in enumerate(heads)]
    lines += [INDENT * len(heads) + line for line in body]
    return lines + [INDENT * depth + "}" for depth in range(len(heads) - 1, -1, -1)]


def _choose(emit: Emitter, kernel: WindowScatterKernel, rank: int) -> list[str]:
    """Compute the position that window s0 … selects, or -1."""
    best, following = kernel.select_arguments
    kind, dtype = _SPELL.value_type(best.dtype), kernel.operand.dtype
    with emit.inside(best.name, following.name) as scope:
        emit.count_uses([kernel.select])
        keeps = emit.value(kernel.select)
        compare = [*scope.lines, f"keeps = {keeps};"]
    heads = [f"for (idx w{k} = 0; w{k} < window{k}; ++w{k}) {{" for k in range(rank)]
    places = [f"const idx y{k} = s{k} * stride{k} + w{k} - low{k};" for k in range(rank)]
    inside = " && ".join(f"y{k} >= 0 && y{k} < size{k}" for k in range(rank)) or "true"
    flat = "0"
    for k in range(rank):
        flat = f"y{k}" if k == 0 else f"({flat}) * size{k} + y{k}"
    body = [
        *places,
        f"if (!({inside})) continue;",
        f"const idx place = {flat};",
        f"const {kind} {following.name} = {_SPELL.load(kernel.operand.name, 'place', dtype)};",
        "bool keeps = false;",
        "if (chosen >= 0) {",
        *_indented(compare),
        "}",
        "if (keeps) continue;",
        "chosen = place;",
        f"{best.name} = {following.name};",
    ]
    return ["idx chosen = -1;", f"{kind} {best.name} = {{}};", *_nested(heads, body)]


def _combine(emit: Emitter, kernel: WindowScatterKernel, rank: int) -> list[str]:
    """Combine the source's element s0 … into the element of this thread."""
    old, update = kernel.scatter_arguments
    flat = "0"
    for k in range(rank):
        flat = f"s{k}" if k == 0 else f"({flat}) * count{k} + s{k}"
    text = _SPELL.load(kernel.source.name, flat, kernel.source.dtype)
    with emit.inside(old.name, update.name) as scope:
        scope.lines.append(f"const {_SPELL.value_type(update.dtype)} {update.name} = {text};")
        emit.count_uses([kernel.scatter])
        value = emit.value(kernel.scatter)
        scope.lines.append(f"{old.name} = {value};")
    return scope.lines
