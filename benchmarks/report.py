"""How fast the report of a large program opens in Chromium.

    python -m benchmarks.report [--layers 12]

Seconds from the start of navigation to the first paint, and to a page that answers; each opened in a fresh tab.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks.compile_time import training_text
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from shlo_disc.report.page import write_page
from tests.report.browser import chromium, find_chromium, open_page

MARKS = {
    "painted": "performance.getEntriesByName('first-contentful-paint')[0].startTime",
    "ready": "performance.getEntriesByName('ready')[0].startTime",
}


def main() -> None:
    """Compile an encoder with its backward pass, open its report five times."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=12)
    layers: int = parser.parse_args().layers
    program, console = find_chromium(), Console()
    if program is None:
        raise SystemExit("no Chromium here (Debian: apt-get install chromium)")
    with console.status(f"compiling {layers} layers"):
        artifact = compile_text(training_text(layers), "training.mlir", Request(), Stopwatch())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        write_page(artifact, path)
        console.print(f"{layers} layers: {len(artifact.report.groups)} groups, {path.stat().st_size / 2**20:.2f} MiB")
        with chromium(program, Path(folder) / "profile") as browser:
            for _ in range(5):
                tab = open_page(browser, path)
                tab.run("new Promise(done => setTimeout(done, 100))")
                console.print(", ".join(f"{what} after {tab.run(mark) / 1000:.2f} s" for what, mark in MARKS.items()))


if __name__ == "__main__":
    main()
