"""Rung 3: is the CUDA target right and fast on this GPU? One command, up to seven minutes a section, no network.

    python -m benchmarks.gpu_check [--json FILE] [--corpus DIR] [--sections NAME,...]

Needs Python >= 3.11, CuPy, JAX and NumPy, and this repository on PYTHONPATH; compute-sanitizer and a C++ compiler are
used where they are there. Each section runs in a process of its own under a time limit, so a crash loses one section.
The JSON (by default benchmarks/results/DATE-GPU.json) holds everything; a short table is printed. A kernel counts
as verified on a GPU only if the digest of its program is in the JSON.
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIMITS: Mapping[str, int] = {  # seconds
    "environment": 10,
    "correctness": 390,
    "kernels": 55,
    "products": 105,
    "libraries": 45,
    "models": 80,
    "corpus_models": 75,
    "overhead": 20,
    "inside_jax": 150,
    "variants": 420,
    "attention_peers": 60,
    "sanitizer": 170,
    "random_programs": 130,
}
CORPORA = (ROOT.parent / "shared" / "corpus", ROOT / "shared" / "corpus")

Report = dict[str, Any]


def run_section(name: str, corpus: Path | None) -> Report:
    """Run one section; what it measured, or how it ended."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "section.json"
        command = [sys.executable, "-m", f"benchmarks.gpu.{name}", str(target), str(corpus or "")]
        report: Report = {}
        try:
            ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMITS[name], check=False)
            if ended.returncode:
                report["failed"] = f"exit {ended.returncode}: {ended.stderr[-2000:]}"
        except subprocess.TimeoutExpired as late:
            report["failed"] = f"stopped after {LIMITS[name]} s: {_tail(late.stderr)}"
        if target.exists():  # sections write as they go
            report |= json.loads(target.read_text())
    return report | {"seconds": round(time.monotonic() - started, 1)}


def _tail(text: bytes | str | None) -> str:
    found = text.decode(errors="replace") if isinstance(text, bytes) else text or ""
    return found[-1000:]


def commit() -> str:
    """The commit that is measured, `+` if the tree differs from it, or what a copy without git can say."""
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
        dirty = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown (no git here)"
    return head.stdout.strip() + ("+" if dirty.stdout.strip() else "")


def default_target(environment: Mapping[str, Any]) -> Path:
    """Where the JSON goes: by date and card."""
    gpu = re.sub(r"\W+", "-", str(environment.get("gpu", "no-gpu"))).strip("-").lower()
    return ROOT / "benchmarks" / "results" / f"{datetime.datetime.now(datetime.UTC).date()}-{gpu}.json"


def main() -> int:
    """Run the sections, write the JSON, print the table; 1 if something was wrong or died."""
    parser = argparse.ArgumentParser(description="check and measure the CUDA target on this GPU")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--sections", default=",".join(LIMITS))
    given = parser.parse_args()
    corpus: Path | None = given.corpus or next((c for c in CORPORA if (c / "manifest.json").is_file()), None)
    report: Report = {"commit": commit(), "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")}
    sections: list[str] = given.sections.split(",")
    for name in sections:
        print(f"{name} … ", end="", flush=True)
        report[name] = run_section(name, corpus)
        print(f"{report[name]['seconds']} s, {_summary(name, report[name])}", flush=True)
    target: Path = given.json or default_target(report.get("environment", {}))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(report, indent=1) + "\n")
    print(f"written to {target}")
    wrong = [name for name in sections if "failed" in report[name] or report[name].get("wrong")]
    return 1 if wrong else 0


def _summary(name: str, section: Mapping[str, Any]) -> str:
    lines: list[str] = list(section.get("summary", []))
    if "failed" in section:
        lines.insert(0, f"FAILED: {section['failed'].strip().splitlines()[-1][:300]}")
    return ("\n  " if len(lines) > 1 else "") + "\n  ".join(lines or [f"{name}: nothing to say"])


if __name__ == "__main__":
    sys.exit(main())
