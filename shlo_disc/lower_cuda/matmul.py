"""Matrix products: cuBLAS, and tensor-core kernels of our own."""

from __future__ import annotations

from shlo_disc.codegen.groups import ProductTypes
from shlo_disc.codegen.kernel import DotKernel
from shlo_disc.diagnostics import NOWHERE, UnsupportedOpError
from shlo_disc.expr.dtypes import DType
from shlo_disc.expr.facts import Facts
from shlo_disc.lower_cuda.printed import Printed

CONTRACTIONS: frozenset[ProductTypes] = frozenset(
    {
        (DType.F32, DType.F32, DType.F32),
        (DType.F64, DType.F64, DType.F64),
        (DType.F16, DType.F16, DType.F16),
        (DType.BF16, DType.BF16, DType.BF16),
        (DType.F16, DType.F16, DType.F32),
        (DType.BF16, DType.BF16, DType.F32),
    }
)


def print_dot(kernel: DotKernel, facts: Facts) -> Printed:
    raise UnsupportedOpError(f"the CUDA target has no kernel for this yet ({kernel}, {facts})", NOWHERE)
