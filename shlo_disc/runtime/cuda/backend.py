"""Programs for a GPU, compiled by NVRTC."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.artifact import Artifact
from shlo_disc.options import CompileOptions
from shlo_disc.records import record
from shlo_disc.runtime.cuda.build import build_gpu
from shlo_disc.runtime.cuda.cupy_device import open_gpu
from shlo_disc.runtime.cuda.device import Device, IndexType
from shlo_disc.runtime.cuda.launch_table import Chooser, cheapest
from shlo_disc.runtime.partitions import Runnable, load


@record
class CudaBackend:
    """The `Backend` of a GPU. `chooser` picks variants of kernels; `index` forces the width of indices, for tests."""

    device: Device
    chooser: Chooser = cheapest
    index: IndexType | None = None
    target: str = "cuda"

    def load(self, artifact: Artifact, options: CompileOptions, seconds: Mapping[str, float] | None = None) -> Runnable:
        """Compile the kernels, and the host program beside them."""
        device, chooser, index = self.device, self.chooser, self.index
        return load(artifact, lambda part: build_gpu(part, options, device, seconds, chooser=chooser, index=index))


def open_backend(options: CompileOptions) -> CudaBackend:
    """The current GPU. Raises `ToolchainError` if there is none, or CuPy is missing."""
    return CudaBackend(open_gpu(options.cache_dir))
