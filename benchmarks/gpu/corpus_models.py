"""The corpus' models (BERT, GPT-2, Llama, MobileNet, ResNet, T5, ViT, Whisper) at two recorded shapes, beside XLA."""

# JAX is typed in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import tarfile
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.gpu.section import Section, geometric_mean, wall_seconds
from shlo_disc import compile as compile_program  # the compiler is loaded before the clock starts, as JAX is
from tests.oracle import xla_executable

CASES = (0, 3)  # of the four recorded shapes: XLA compiles each
TOLERANCE = 5e-3  # of the largest value: both sides may use TF32


def main() -> None:
    """Each model: compile once, then some recorded shapes against an XLA executable of that shape."""
    section = Section()
    if section.corpus is None:
        section.add("failed", "no corpus: give its folder by --corpus")
        return
    root = Path(tempfile.mkdtemp())
    with tarfile.open(section.corpus / "models.tar.xz") as tar:
        tar.extractall(root, filter="data")
    for folder in sorted(path.parent for path in root.rglob("module.mlir")):
        _model(section, folder)
    cases = section.report["cases"]
    section.add("wrong", [f"{c['name']} {c['case']}" for c in cases if not c["right"]])
    names = sorted({c["name"] for c in cases})
    lines = [f"{name}: ours / XLA {_mean([c for c in cases if c['name'] == name]):.2f}" for name in names]
    section.add("summary", [*lines, f"geometric mean {_mean(cases):.2f}"])


def _mean(cases: list[Any]) -> float:
    return geometric_mean(c["seconds"] / c["xla_seconds"] for c in cases)


def _model(section: Section, folder: Path) -> None:
    text = (folder / "module.mlir").read_text()
    device = jax.devices()[0]
    with np.load(folder / "params.npz") as params:
        weights: dict[int, Any] = {int(k[2:]): jax.device_put(params[k], device) for k in params.files}
    started = time.perf_counter()
    run = compile_program(text, device="cuda")
    compiled = time.perf_counter() - started
    for case in CASES:
        with np.load(folder / f"case{case}.npz") as recorded:
            given = {int(k[2:]): jax.device_put(recorded[k], device) for k in recorded.files if k.startswith("in")}
        arguments = weights | given
        inputs: list[Any] = [arguments[k] for k in sorted(arguments)]
        started = time.perf_counter()
        executable = xla_executable(text, [x.shape for x in inputs], device)
        xla_compiled = time.perf_counter() - started
        ours, xla = partial(run, *inputs), partial(executable.execute, inputs)
        right = all(
            bool(jnp.abs(a - b).max() <= TOLERANCE * jnp.abs(b).max()) for a, b in zip(ours(), xla(), strict=True)
        )
        section.append("cases", {
            "name": folder.name, "case": case, "compile": compiled, "xla_compile": xla_compiled, "right": right,
            "seconds": wall_seconds(ours), "xla_seconds": wall_seconds(xla),
        })  # fmt: skip


if __name__ == "__main__":
    main()
