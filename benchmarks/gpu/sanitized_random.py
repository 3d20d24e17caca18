"""Random programs in one process, each array in an allocation of its own: to be run under compute-sanitizer.

    python -m benchmarks.gpu.sanitized_random SECONDS SEED

Prints each seed, and at the end a line of JSON: how many programs ran, and what differs from the reference interpreter.
"""

# CuPy has no types.
# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false

from __future__ import annotations

import json
import sys
import time

import cupy

from shlo_disc.check.campaign import Job, Settings
from shlo_disc.check.running import BuildConfig, InProcess, standard_ways
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.memory import POOL


def main() -> None:
    """Examine modules of seeds that follow each other, until the time is up."""
    seconds, seed = float(sys.argv[1]), int(sys.argv[2])
    end = time.monotonic() + seconds
    cupy.cuda.set_allocator(None)  # no pool: the sanitizer knows where each array ends
    POOL.poisons = True
    target = BuildConfig(CompileOptions(threads=1, matmul_precision="highest"), "cuda")
    settings = Settings(seed, target, ("compiled",), calls=2, shrink=1.0)
    job = Job(settings, InProcess(standard_ways(target, fast_xla=True), target.device))
    programs, findings = 0, list[str]()
    while time.monotonic() < end:
        print(f"seed {seed}", flush=True)  # between the sanitizer's reports
        examined = job.examine(seed, 3)
        programs += examined.programs
        findings += [examined.description] if examined.failure else []
        seed += 1
    print(json.dumps({"programs": programs, "findings": findings}))


if __name__ == "__main__":
    main()
