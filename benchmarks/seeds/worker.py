"""Measure one seed in this process and print its rows as JSON lines; `python -m benchmarks.seeds` starts it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.seeds.rows import Settings
from benchmarks.seeds.table import SEEDS


def main() -> None:
    """Measure the seed that the command line names."""
    name, lengths, *quick = sys.argv[1:]
    for row in SEEDS[name].measure(Settings(bool(quick), Path(lengths))):
        print(json.dumps(row.to_json()), flush=True)


if __name__ == "__main__":
    main()
