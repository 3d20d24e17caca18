"""StableHLO to DHLO: Fourier transforms, and custom calls that registered functions compute."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np

from shlo_disc.custom_calls import Plain, how_to_register, is_registered
from shlo_disc.diagnostics import Span, UnsupportedOpError
from shlo_disc.dynamic_ops.custom import CustomCallAttrs
from shlo_disc.dynamic_ops.fourier import FftAttrs, Transform
from shlo_disc.dynamic_ops.program import Shape
from shlo_disc.expr.dim import ZERO, Dim, const
from shlo_disc.host_ir import Constant
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    DenseArrayAttr,
    DenseAttr,
    DictAttr,
    FloatAttr,
    IntegerAttr,
    RecordAttr,
    StringAttr,
    UnitAttr,
)
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.ir.spelling import spell_attribute
from shlo_disc.legalize.attribute_values import dictionary, integer, integers, literal, string, symbols
from shlo_disc.legalize.builder import Bound, tensor_type
from shlo_disc.legalize.frame import Frame, Rule
from shlo_disc.legalize.rules_elementwise import result_dtype
from shlo_disc.legalize.rules_move import asked_shape, stated
from shlo_disc.legalize.tokens import TOKENS


def _fft(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    lengths = integers(op, "fft_length")
    last = lengths[-1]
    return transformed(frame, op, list(map(const, lengths)), const(last // 2 + 1 if last else 0))


def transformed(frame: Frame, op: ir.Op, sizes: Sequence[Dim], halved: Dim) -> Sequence[Bound]:
    """`halved`: how much of the last size is stored, as the transform of a line of real numbers is symmetric."""
    x, transform, rank = frame.tensor(op.operands[0]), Transform(string(op, "fft_type")), len(sizes)
    taken = [*sizes[:-1], halved if transform is Transform.IRFFT else sizes[-1]]
    for size, length in zip(x.shape[-rank:], taken, strict=True):
        if transform is Transform.IRFFT and sizes[-1] == ZERO and length is taken[-1]:
            continue  # JAX asks for no numbers of a line of one
        frame.build.demand_equal(size, length, "the last sizes of a tensor are those that fft transforms", op.span)
    given = [*sizes[:-1], halved if transform is Transform.RFFT else sizes[-1]]
    shape = stated(frame, op, (*x.shape[:-rank], *given))
    return [frame.build.one("d_fft", (x,), FftAttrs(transform, rank), shape, result_dtype(op), op.span)]


# Why targets are not supported, by name; a final * matches any suffix.
_ELSEWHERE = "the text does not hold the function, which lives in the process that exported the program"
_KERNEL = "its kernel is written for other hardware"
_STRUCTURE = "its configuration is the memory of a C++ structure of JAX's plugin for GPUs"
_DEVICES = "it is about several devices"
REFUSED: Mapping[str, str] = {
    **{
        f"xla_{kind}python_{device}_callback*": _ELSEWHERE
        for kind in ("", "ffi_", "ffi_partitioned_", "buffer_")
        for device in ("cpu", "gpu")
    },
    "CustomSPMDPartitioning": _ELSEWHERE,
    "tf.call_tf_function": "the text does not hold the function of TensorFlow",
    "triton_kernel_call": _KERNEL,
    "__gpu$xla.gpu.triton": _KERNEL,
    "mosaic_gpu*": _KERNEL,
    "tpu_custom_call": _KERNEL,
    "__cudnn$*": "its configuration is text for cuDNN",
    "__op$block_scaled_dot": "its configuration is text for cuDNN",
    "cudnn_rnn*": _STRUCTURE,
    "cusparse_csr_*": _STRUCTURE,
    "cusparse_coo_*": _STRUCTURE,
    "hip*": "it is a library's for AMD's GPUs",
    "ragged_all_to_all": _DEVICES,
    "InspectSharding": _DEVICES,
    "CreateBuffer": "it works on memory in place, which no tensor stands for",
    "Pin": "it works on memory in place, which no tensor stands for",
    "Unpin": "it works on memory in place, which no tensor stands for",
}


_OWN_TARGET = (
    "use jax.ffi.ffi_call with a target of your own, and register its function by shlo_disc.register_custom_call"
)


def reason_against(target: str) -> str:
    """Why a target is not supported, or empty if the only reason is that it is not registered."""
    return next((reason for name, reason in REFUSED.items() if fnmatchcase(target, name)), "")


def custom_call(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """A custom call of an unknown target, computed by a function that a user registers."""
    target = string(op, "call_target_name")
    if not is_registered(target):
        reason = reason_against(target)
        raise UnsupportedOpError(
            f"op '{op.name}' is not supported for the target @{target}" + (f": {reason}" if reason else ""),
            op.span,
            hint=_OWN_TARGET if reason == _ELSEWHERE else how_to_register(target),
        )
    if symbols(op, "called_computations"):
        raise UnsupportedOpError(f"a custom call that calls computations is not supported: @{target}", op.span)
    sizes = integers(op, "indices_of_shape_operands", ())
    taken, given = integers(op, TOKENS, (0, 0))
    count = len(op.results) - given
    shapes = [*[_shape(frame, op, k, sizes) for k in range(count)], *[()] * given]
    operands = [frame.tensor(x) for k, x in enumerate(op.operands) if k not in sizes]
    effect = bool(integer(op, "has_side_effect", 0))
    attrs = CustomCallAttrs(target, tuple(_entries(op)), tuple(_aliases(op)), effect, len(operands) - taken, count)
    results = [(shape, result_dtype(op, k)) for k, shape in enumerate(shapes)] or [((ZERO,), DType.UI8)]
    return frame.build.emit("d_custom_call", operands, attrs, results, op.span)[: len(op.results)]


def _shape(frame: Frame, op: ir.Op, k: int, sizes: Sequence[int]) -> Shape:
    """The shape of a result, from the text or from its shape operand."""
    if sizes:
        return asked_shape(frame, op, op.operands[sizes[k]], k)
    shape = tensor_type(op.results[k].type, op.span).shape
    if None in shape:
        raise UnsupportedOpError(
            f"result {k} of the custom call @{string(op, 'call_target_name')} has a size that is not known",
            op.span,
            hint="pass the shapes of the results as operands, and name these in indices_of_shape_operands",
        )
    return tuple(const(size) for size in shape if size is not None)


def _aliases(op: ir.Op) -> Iterator[tuple[int, int]]:
    """Results that share memory with an operand, as (result, operand)."""
    match op.attributes.get("output_operand_aliases"):
        case ArrayAttr(items=items):
            for item in items:
                assert isinstance(item, RecordAttr), "the verifier checked the aliases"
                output, operand = item.fields.get("output_tuple_indices"), item.fields.get("operand_index")
                assert isinstance(output, ArrayAttr), "the verifier checked the aliases"
                assert isinstance(operand, IntegerAttr), "the verifier checked the aliases"
                (number,) = [index.value for index in output.items if isinstance(index, IntegerAttr)] or [0]
                yield number, operand.value
        case _:
            pass


def _entries(op: ir.Op) -> Iterator[tuple[str, Plain]]:
    """The attributes that a function gets: the entries of the backend configuration, or all of it if it is text."""
    for name in ("backend_config", "mhlo.backend_config"):
        match op.attributes.get(name):
            case StringAttr(value=text) if text:
                yield "backend_config", text
            case DictAttr():
                for key, attribute in dictionary(op, name).items():
                    yield key, _plain(attribute, key, op.span)
            case _:
                pass


def _plain(attribute: Attribute, name: str, span: Span) -> Plain:
    match attribute:
        case StringAttr(value=text):
            return text
        case UnitAttr():
            return _number(DType.I1, 1)
        case BoolAttr(value=value):
            return _number(DType.I1, value)
        case IntegerAttr(value=value, dtype=dtype):
            return _number(dtype if dtype and dtype is not DType.INDEX else DType.I64, value)
        case FloatAttr(value=value, dtype=dtype):
            return _number(dtype or DType.F64, value)
        case DenseArrayAttr(dtype=dtype, values=values):
            return Constant(dtype.numpy, (len(values),), np.array(values, numpy_dtype(dtype)).tobytes())
        case DenseAttr():
            elements = literal(attribute)
            return Constant(attribute.type.dtype.numpy, elements.shape, elements.tobytes())
        case ArrayAttr(items=items):
            return tuple(_plain(item, name, span) for item in items)
        case _:
            raise UnsupportedOpError(
                f"the attribute '{name}' of a custom call is {spell_attribute(attribute)}, which a function cannot get",
                span,
            )


def _number(dtype: DType, value: float) -> Constant:
    return Constant(dtype.numpy, (), np.array(value, numpy_dtype(dtype)).tobytes())


RULES: Mapping[str, Rule] = {"stablehlo.fft": _fft}
