"""The stream of BladeDISC's table in a process of its own: `python -m benchmarks.seeds.stream ours|xla [quick]`."""

from __future__ import annotations

import sys

from benchmarks.measure import cold
from benchmarks.seeds.programs import bert_workload


def main() -> None:
    """Print what the stream takes from nothing, as `benchmarks.measure` does for a workload."""
    cold(bert_workload(quick="quick" in sys.argv[2:]), sys.argv[1])


if __name__ == "__main__":
    main()
