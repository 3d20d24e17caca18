"""compute-sanitizer's memory and race checks over every template, at small sizes, and over random programs."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys

from benchmarks.gpu.section import Section

TOOLS = {
    # The question whether a module holds a kernel is no error.
    "memcheck": ("--error-exitcode", "9", "--report-api-errors", "no"),
    "racecheck": ("--error-exitcode", "9", "--racecheck-report", "all"),
}
SECONDS = 25  # for each tool
RANDOM_SECONDS, RANDOM_JOBS = 60, 4


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
    wrong += _random(section, sanitizer)
    section.add("wrong", wrong)
    section.add("summary", [f"memcheck and racecheck: {wrong or 'clean'}"])


def _random(section: Section, sanitizer: str) -> list[str]:
    """Random programs under both tools, in several processes; what was wrong."""
    tools = [list(TOOLS)[k % len(TOOLS)] for k in range(RANDOM_JOBS)]
    program = [sys.executable, "-m", "benchmarks.gpu.sanitized_random", str(RANDOM_SECONDS)]
    seeds = [str(secrets.randbelow(1 << 31)) for _ in tools]
    environment = os.environ | {"JAX_PLATFORMS": "cpu"}  # no kernels of XLA's, which only writes programs here
    running = [
        subprocess.Popen([sanitizer, "--tool", tool, *TOOLS[tool], *program, seed], env=environment,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for tool, seed in zip(tools, seeds, strict=True)
    ]  # fmt: skip
    wrong = list[str]()
    for tool, seed, process in zip(tools, seeds, running, strict=True):
        try:
            text, _ = process.communicate(timeout=2 * RANDOM_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            text, _ = process.communicate()
        output = {"first": text[:6000], "last": text[-2000:]}
        section.append("random", {"tool": tool, "seed": seed, "exit": process.returncode, **output})
        if process.returncode or '"findings": []' not in text:
            wrong.append(f"{tool}, random programs from seed {seed}: exit {process.returncode}")
    return wrong


if __name__ == "__main__":
    main()
