"""Queue the commands of calls on a device: one by one, or as a recorded graph where a call repeats."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import InternalError
from shlo_disc.runtime.cuda.device import Device
from shlo_disc.runtime.cuda.driver import GpuCall, GpuDriver, has_products
from shlo_disc.runtime.cuda.graphs import GraphCache
from shlo_disc.runtime.steps import has_control_flow, host_calls


class CallQueue:
    """Queues calls of one program on the current stream. The key of a call is all that its commands depend on.

    Attributes:
        graphs: the recorded calls; None if calls of the program cannot be recorded, or should not be.
    """

    def __init__(self, artifact: Artifact, device: Device, driver: GpuDriver, graphs: GraphCache | None) -> None:
        self.driver = driver
        self.graphs = None if has_control_flow(artifact.steps) or host_calls(artifact.steps) else graphs
        self._device = device
        self._products = has_products(artifact)

    def replay(self, key: tuple[int, ...]) -> bool:
        """Queue the call of a key if it is recorded; return whether it is."""
        graph = None if self.graphs is None else self.graphs.get(key)
        if graph is None:
            return False
        graph.launch()
        return True

    def run(self, key: tuple[int, ...], call: GpuCall, explain: Callable[[str], None]) -> None:
        """Queue a call that is not recorded yet; record it if its key has come often enough.

        If that fails, no call is recorded any more, and `explain` gets the reason.
        """

        def queue(table: int) -> None:
            self.driver.run(table, call)

        if self.graphs is not None:
            try:
                graph = self.graphs.find(key, lambda: self._device.capture(queue, products=self._products))
            except (RuntimeError, InternalError) as error:  # something that this driver cannot record
                graph = self.graphs = None
                reason = f"CUDA graphs are off, recording failed: {error}"
                explain(reason)
                warnings.warn(reason, RuntimeWarning, stacklevel=2)
            if graph is not None:
                graph.launch()
                return
        queue(self._device.table(products=self._products))
