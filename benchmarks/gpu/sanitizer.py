"""compute-sanitizer's memory and race checks over every template, at small sizes."""

from __future__ import annotations

import shutil
import subprocess
import sys

from benchmarks.gpu.section import Section

TOOLS = {"memcheck": ("--error-exitcode", "9"), "racecheck": ("--error-exitcode", "9", "--racecheck-report", "all")}
SECONDS = 25  # for each tool


def main() -> None:
    """Run the programs of `sanitized.py` under each tool."""
    section = Section()
    program = [sys.executable, "-m", "benchmarks.gpu.sanitized"]
    sanitizer = shutil.which("compute-sanitizer")
    if sanitizer is None:
        section.add("missing", "no compute-sanitizer on the PATH: only the programs themselves were run")
        ended = subprocess.run(program, capture_output=True, text=True, timeout=SECONDS, check=False)
        section.add("wrong", [ended.stderr[-500:]] if ended.returncode else [])
        section.add("summary", [section.report["missing"]])
        return
    wrong = list[str]()
    for tool, flags in TOOLS.items():
        command = [sanitizer, "--tool", tool, *flags, *program]
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            section.add(tool, f"stopped after {SECONDS} s")
            continue
        section.add(tool, ended.stdout[-2000:])
        if ended.returncode:
            wrong.append(f"{tool}: exit {ended.returncode}")
    section.add("wrong", wrong)
    section.add("summary", [f"memcheck and racecheck: {wrong or 'clean'}"])


if __name__ == "__main__":
    main()
