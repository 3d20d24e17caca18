"""Temporaries of the models beside XLA's: `python -m benchmarks.memory MODELS [RESULTS.json]`.

MODELS is the corpus' folder of whole models. Ours are the bytes of the arena that a call takes, XLA's the temporaries
(`temp_size_in_bytes`) of the program compiled for those shapes on the CPU: the recorded shapes, then random ones.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import jax

from shlo_disc.artifact import Artifact
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from shlo_disc.runtime.symbols import Symbols
from shlo_disc.size_expr import evaluate
from tests.models.recorded import MODELS, RECORDED, Array, load
from tests.oracle import xla_executable

RANDOM = 6  # shapes beside the recorded ones


@dataclass(frozen=True, slots=True)
class Row:
    """One model at one shape: bytes of temporaries."""

    model: str
    case: int
    sizes: dict[str, int]
    ours: int
    xla: int

    @property
    def ratio(self) -> float:
        """Ours by XLA's."""
        return self.ours / self.xla


def measure(models: Path) -> list[Row]:
    """One row per model and shape."""
    rows = list[Row]()
    for name in MODELS:
        model = load(models / name)
        artifact = compile_text(model.text, name, Request(), Stopwatch())
        for case in range(RECORDED + RANDOM):
            arrays = model.inputs(case) if case < RECORDED else model.random_inputs(case)
            symbols = _symbols(artifact, arrays)
            sizes = {size: symbols[size] for size in artifact.free}
            ours, xla = evaluate(artifact.arena_bytes, symbols), _by_xla(model.text, arrays)
            rows.append(Row(name, case, sizes, ours, xla))
    return rows


def _symbols(artifact: Artifact, arrays: list[Array]) -> Symbols:
    return Symbols(artifact, tuple(arrays[argument].shape[axis] for argument, axis in artifact.raw))


def _by_xla(text: str, arrays: list[Array]) -> int:
    executable = xla_executable(text, [array.shape for array in arrays], jax.devices("cpu")[0])  # pyright: ignore[reportUnknownMemberType]  # untyped
    return int(executable.get_compiled_memory_stats().temp_size_in_bytes)


def main() -> None:
    """Print the table, and write the rows if a file is named."""
    rows = measure(Path(sys.argv[1]))
    for row in rows:
        sizes = ", ".join(f"{name}={size}" for name, size in row.sizes.items())
        print(f"{row.model:14}{sizes:24}{row.ours:>10}{row.xla:>10}{row.ratio:>7.2f}")
    within = sum(row.ours <= row.xla for row in rows)
    print(f"{within} of {len(rows)} at most XLA's; the largest ratio is {max(row.ratio for row in rows):.2f}")
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
