"""StableHLO to DHLO: custom calls of known targets. Functions registered by users compute all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from shlo_disc.diagnostics import UnsupportedOpError, VerifyError
from shlo_disc.dynamic_ops.reduce import ReduceWindowAttrs
from shlo_disc.dynamic_ops.slices import SliceAttrs
from shlo_disc.expr.dim import ONE, ZERO
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import BoolAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_type
from shlo_disc.legalize import (
    rules_gpu_linear_algebra,
    rules_linear_algebra,
    rules_random,
    rules_sparse,
    rules_top_k,
)
from shlo_disc.legalize.attribute_values import dictionary, string
from shlo_disc.legalize.builder import Bound, tensor_type
from shlo_disc.legalize.composer import Composer
from shlo_disc.legalize.frame import Frame, Rule
from shlo_disc.legalize.known_calls import demand_count, demand_types, takes
from shlo_disc.legalize.rules_compute import windowed
from shlo_disc.legalize.rules_elementwise import assertion, result_dtype
from shlo_disc.legalize.rules_library import custom_call, transformed
from shlo_disc.legalize.rules_move import asked_shape, static_shape


def _dynamic_reduce_window(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    half = len(op.results)
    demand_count("operands", len(op.operands), (2 * half + 5,), op)
    types = [tensor_type(x.type, op.span) for x in op.operands]
    for x, start in zip(types[:half], types[half : 2 * half], strict=True):
        if len(x.shape) != len(types[0].shape) or start.shape or start.dtype is not x.dtype:
            message = "expected inputs of one rank, and a scalar of the type of each to start from"
            raise VerifyError(f"{message}, found {spell_type(x)} and {spell_type(start)}", op.span)
    canonical, rank = frame.build.facts.canonical, len(types[0].shape)
    numbers = [tuple(map(canonical, frame.dims(x, op))) for x in op.operands[2 * half :]]
    for found, wanted in zip(numbers, (rank, rank, rank, rank, 2 * rank), strict=True):
        if len(found) != wanted:
            raise VerifyError(f"expected {wanted} numbers for windows of {rank} dims, found {len(found)}", op.span)
    window, strides, base, dilations, padding = numbers
    pairs = tuple(zip(padding[::2], padding[1::2], strict=True))
    attrs = ReduceWindowAttrs(window, strides, base, dilations, tuple(low for low, _ in pairs))
    dtypes = [x.dtype for x in types[:half]]
    body = frame.function_combiner(op, dtypes * 2, dtypes)
    return windowed(frame, op, op.operands[: 2 * half], attrs, pairs, body)


def _identity(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """Return the operands; further operands state shapes."""
    demand_count("results", len(op.results), range(1, max(1, len(op.operands)) + 1), op)
    return [frame.bound(x) for x in op.operands[: len(op.results)]]


def _resharded(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """Convert between global and per-device tensors, which are the same on one device."""
    for x, result in zip(op.operands, op.results, strict=False):
        if tensor_type(x.type, op.span).shape != tensor_type(result.type, op.span).shape:
            target = string(op, "call_target_name")
            raise UnsupportedOpError(f"the custom call @{target} cuts a tensor for several devices", op.span)
    return _identity(frame, op)


def _nothing(_frame: Frame, _op: ir.Op) -> Sequence[Bound]:
    """A call that only keeps what it takes from being optimized away."""
    return ()


def _buffer(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """Uninitialized memory (`jax.lax.empty`): zeros, so that calls are reproducible."""
    return [Composer(frame, op.span).full(0, static_shape(op), result_dtype(op))]


DYNAMIC_FFT, PREFIX = "shlo_disc.dynamic_fft", "shlo_disc.prefix"  # `shlo_disc.jit` writes these

_COMPLEX = ((DType.C64, DType.C64), (DType.C128, DType.C128))
_TRANSFORMED: Mapping[str, Sequence[tuple[DType, DType]]] = {
    "FFT": _COMPLEX,
    "IFFT": _COMPLEX,
    "RFFT": ((DType.F32, DType.C64), (DType.F64, DType.C128)),
    "IRFFT": ((DType.C64, DType.F32), (DType.C128, DType.F64)),
}


def _dynamic_fft(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """`custom_call @shlo_disc.dynamic_fft` has the lengths as its second operand."""
    lengths = frame.dims(op.operands[1], op)
    if not 1 <= len(lengths) <= len(frame.tensor(op.operands[0]).shape):
        raise VerifyError(f"expected lengths of some of the last dims, found {len(lengths)}", op.span)
    frame.build.demand_at_least(lengths[-1], 1, "fft transforms at least one number", op.span)
    taken, given = frame.tensor(op.operands[0]).dtype, result_dtype(op)
    if (taken, given) not in _TRANSFORMED.get(string(op, "fft_type"), ()):
        message = f"expected 'fft_type' to fit the types of elements, found {taken.value} and {given.value}"
        raise VerifyError(message, op.span)
    return transformed(frame, op, lengths, lengths[-1] // 2 + 1)


def _prefix(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """`custom_call @shlo_disc.prefix` has the sizes of the result as its second operand.

    It returns the first elements along each dim; where `is_whole` is set, these are all.
    """
    x, shape, build = frame.tensor(op.operands[0]), asked_shape(frame, op, op.operands[1]), frame.build
    if len(shape) != len(x.shape):
        raise VerifyError(f"expected a size for each of {len(x.shape)} dims, found {len(shape)}", op.span)
    if op.attributes.get("is_whole") == BoolAttr(value=True):
        for size, wanted in zip(x.shape, shape, strict=True):
            build.demand_equal(size, wanted, "a tensor has the sizes that its trace had", op.span)
        return [x]
    for size, wanted in zip(x.shape, shape, strict=True):
        build.demand_at_least(size, wanted, "a part of a tensor has at most its sizes", op.span)
    attrs = SliceAttrs((ZERO,) * len(shape), (ONE,) * len(shape))
    return [build.one("d_slice", (x,), attrs, shape, x.dtype, op.span)]


CUSTOM: Mapping[str, Rule] = {
    "shape_assertion": takes(assertion, None, 0),
    "stablehlo.dynamic_reduce_window": _dynamic_reduce_window,
    "Sharding": _identity,
    "SPMDFullToShardShape": _resharded,
    "SPMDShardToFullShape": _resharded,
    "xla.sdy.FuncResultSharding": _identity,
    "xla.sdy.GlobalToLocalShape": _resharded,
    "xla.sdy.LocalToGlobalShape": _resharded,
    "annotate_device_placement": _identity,
    "LayoutConstraint": _identity,
    "MoveToHost": _identity,
    "MoveToDevice": _identity,
    "dce_sink": takes(_nothing, None, 0),
    "AllocateBuffer": takes(_buffer, None, 1),
    **rules_top_k.CUSTOM,
    **rules_linear_algebra.CALLS,
    **rules_gpu_linear_algebra.CALLS,
    **rules_sparse.CALLS,
    **rules_random.CUSTOM,
    DYNAMIC_FFT: takes(_dynamic_fft, (2,), 1, -1, 1, whole=(1,)),
    PREFIX: takes(_prefix, (2,), 1, -1, 1, whole=(1,)),
}


def op_of_target(target: str) -> str:
    """The CHLO op of a target `mhlo.*`, else an empty name: JAX wrote `mhlo.erf` before CHLO had the op."""
    return f"chlo.{target.removeprefix('mhlo.')}" if target.startswith("mhlo.") else ""


def _custom_call(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    target = string(op, "call_target_name")
    rule, known = CUSTOM.get(target), frame.legalizer.rules
    if rule is None and (name := op_of_target(target)) in known:
        return known[name](frame, replace(op, name=name, attributes=dictionary(op, "mhlo.attributes")))
    if rule is None:
        return custom_call(frame, op)
    found = rule(frame, op)
    demand_types(found, op)
    return found


RULES: Mapping[str, Rule] = {"stablehlo.custom_call": _custom_call}
