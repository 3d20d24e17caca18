"""The CPU as a target."""

from __future__ import annotations

from functools import partial

from shlo_disc.dynamic_ops.program import Program
from shlo_disc.host.code_generator import CodeGenerator, no_host
from shlo_disc.kernels.contraction import is_direct_convolution
from shlo_disc.lower_cpu.kernels import CpuLowering
from shlo_disc.lower_cpu.spelling import VectorSpelling
from shlo_disc.passes.convolution_types import convert_convolutions
from shlo_disc.passes.layouts import LAYOUTS
from shlo_disc.passes.rewriting import Pass


def _convert_convolutions(program: Program) -> Program:
    return convert_convolutions(program, partial(is_direct_convolution, abilities=CpuLowering.abilities))


CPU = CodeGenerator(
    spelling=VectorSpelling,
    first=(LAYOUTS,),
    last=(Pass("convert_convolutions", _convert_convolutions),),
    start=CpuLowering,
    print_host=no_host,
)
