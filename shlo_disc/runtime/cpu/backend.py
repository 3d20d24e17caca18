"""Programs for the CPU, compiled by a C++ compiler."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from shlo_disc.artifact import Artifact
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.building.cache import open_cache
from shlo_disc.runtime.cpu.build import build
from shlo_disc.runtime.cpu.schedules import scheduling
from shlo_disc.runtime.dispatch import Log
from shlo_disc.runtime.partitions import Runnable, load
from shlo_disc.runtime.threads import available_threads
from shlo_disc.schedules.tables import Scheduling


class CpuBackend:
    """The `Backend` of this machine's CPU."""

    target = "cpu"

    def load(self, artifact: Artifact, options: CompileOptions, seconds: Mapping[str, float] | None = None) -> Runnable:
        """Compile the parts of a program in parallel, with as many compilers as there are cores."""
        log = Log() if options.trace_selection else None
        with ThreadPoolExecutor(available_threads()) as pool:
            return load(artifact, lambda part: build(part, options, seconds, pool, log), len(artifact.parts))


def known_scheduling(options: CompileOptions, text: str) -> Scheduling:
    """The scheduling of products: by what the user gives, by what was measured here, or by what is shipped."""
    return scheduling(open_cache(options.cache_dir), options, text)
