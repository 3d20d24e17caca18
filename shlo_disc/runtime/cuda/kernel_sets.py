"""The loaded kernels of a program, by the width of their indices, and the choices among their variants."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from shlo_disc.artifact import Artifact
from shlo_disc.records import record
from shlo_disc.runtime.cuda.device import Device, IndexType, LoadedKernel
from shlo_disc.runtime.cuda.driver import function_pointers, has_products, kernel_names
from shlo_disc.runtime.cuda.launch_table import Chooser, LaunchTable
from shlo_disc.runtime.cuda.plans import GpuPlan
from shlo_disc.runtime.library import Pointers

ALIGNED = 16  # bytes that one vectorized access moves


@record
class KernelSet:
    """Kernels with one width of indices, and the table that chooses among them."""

    functions: Mapping[str, LoadedKernel]
    handles: Pointers
    table: LaunchTable


class KernelSets:
    """Compiles and loads a set when a call first needs it: most programs never need wide indices."""

    def __init__(self, artifact: Artifact, device: Device, chooser: Chooser) -> None:
        self.chooser = chooser
        self._artifact, self._device = artifact, device
        self._sets: dict[IndexType, KernelSet] = {}
        self._lock = threading.Lock()

    def of(self, index: IndexType) -> KernelSet:
        """The kernels with indices of a width."""
        found = self._sets.get(index)
        if found is None:
            with self._lock:
                found = self._sets.get(index) or self._load(index)
                self._sets[index] = found
        return found

    def chosen(self, plan: GpuPlan, addresses: Iterable[int]) -> tuple[int, ...]:
        """The variant of every choice, by number, where the arguments have these addresses."""
        misaligned = frozenset(k for k, address in enumerate(addresses) if address % ALIGNED)
        if (choices := plan.choices.get(misaligned)) is None:
            symbols = plan.sizes.symbols[: len(self._artifact.symbols)]
            choices = plan.choices[misaligned] = self.of(plan.index).table.choose(symbols, misaligned)
        return choices

    def _load(self, index: IndexType) -> KernelSet:
        artifact, device = self._artifact, self._device
        names = kernel_names(artifact)
        functions = device.load(artifact.kernels, names, index)
        has_cublas = has_products(artifact) and device.has_cublas
        table = LaunchTable(artifact, device.limits, functions, self.chooser, has_cublas=has_cublas)
        return KernelSet(functions, function_pointers(names, functions), table)
