"""The target of NVIDIA GPUs."""

from __future__ import annotations

from shlo_disc.analysis.formula import Producers
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.host.code_generator import CodeGenerator
from shlo_disc.lower_cuda import kernels
from shlo_disc.lower_cuda.deviations import library_deviation
from shlo_disc.lower_cuda.host import print_host
from shlo_disc.lower_cuda.spelling import CudaSpelling
from shlo_disc.schedules.tables import Scheduling


def _start(program: Program, producers: Producers, _scheduling: Scheduling) -> kernels.CudaLowering:
    return kernels.CudaLowering(program, producers)


CUDA = CodeGenerator(
    spelling=CudaSpelling, first=(), last=(), start=_start, print_host=print_host, deviation=library_deviation
)
