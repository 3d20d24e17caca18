"""Random programs on the GPU against the reference interpreter: `shlo_disc fuzz --device cuda` for a while."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.gpu.section import Section

SECONDS, JOBS = 90, 12


def main() -> None:
    """Run a campaign; how many programs there were, and all findings."""
    section = Section()
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.jsonl"
        command = [sys.executable, "-m", "shlo_disc", "fuzz", "--device", "cuda", "--seconds", str(SECONDS)]
        command += ["--jobs", str(JOBS), "--seed", "random", "--keep-going", "--shrink", "10", "--log", str(log)]
        command += ["--out", folder]
        # JAX writes programs and takes no memory of the GPU.
        ended = subprocess.run(
            command, env=os.environ | {"JAX_PLATFORMS": "cpu"}, capture_output=True, text=True, check=False
        )
        rows: list[dict[str, Any]] = [json.loads(line) for line in log.read_text().splitlines()]
    section.add("programs", sum(row["programs"] for row in rows))
    section.add("calls", sum(row["agreed"] for row in rows))
    section.add("wrong", [{"seed": row["seed"], "what": row["description"]} for row in rows if row["failure"]])
    section.add("end", ended.stdout[-2000:] + ended.stderr[-2000:])
    section.add("summary", [f"{section.report['programs']} programs, {len(section.report['wrong'])} findings"])


if __name__ == "__main__":
    main()
