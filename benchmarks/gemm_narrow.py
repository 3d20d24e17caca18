"""Matrix products of narrow types on one core: `python -m benchmarks.gemm_narrow --torch PYTHON --out results.json`.

Ours with the right operand as it is and packed before, beside XLA and PyTorch (in a process of its own, before ours).
Least times of turns. f32 stands beside the narrow types: it reads two and four times as much. `--device` takes the
headers of another tree, to compare with; `--core` binds both processes.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.timing import ROOT, Call, time_in_turns
from shlo_disc.device import headers
from shlo_disc.device.libraries import library_text

# m, n, k
SIZES = ((1, 1024, 1024), (1, 4096, 4096), (8, 4096, 1024), (64, 768, 768), (256, 256, 256), (512, 512, 2048))
BLOCK_ROWS = 192
_SCRATCH = 1 << 20
_TURN, _ROUNDS = 0.02, 6  # seconds


@dataclass(frozen=True, slots=True)
class Type:
    """Elements: their type in NumPy's memory, of their sums, and as libraries name them."""

    memory: str
    sums: str
    library: str


KINDS: Mapping[str, Type] = {
    "f32": Type("float32", "float32", "float32"),
    "f16": Type("float16", "float32", "float16"),
    "bf16": Type("uint16", "float32", "bfloat16"),
    "bf16_rounded": Type("uint16", "float32", "bfloat16"),
    "i8": Type("int8", "int32", "int8"),
}


def draw(kind: str, shape: tuple[int, int]) -> Any:
    """Random elements as memory holds them."""
    rng, found = np.random.default_rng(sum(shape)), KINDS[kind]
    if found.sums == "int32":
        return rng.integers(-128, 128, shape, np.int8)
    halves = rng.random(shape, np.float32) - np.float32(0.5)
    return (halves.view(np.uint32) >> 16).astype(np.uint16) if found.memory == "uint16" else halves.astype(found.memory)


def numbers(kind: str, x: Any) -> Any:
    """What elements mean."""
    if KINDS[kind].memory == "uint16":
        return (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return x.astype(np.float64)


def aligned(size: int) -> Any:
    """Bytes that begin where a line of the caches does."""
    memory = np.zeros(size + 64, np.uint8)
    return memory[-memory.ctypes.data % 64 :][:size]


def address(x: Any) -> ctypes.c_void_p:
    """Where an array is."""
    return ctypes.c_void_p(x.ctypes.data)


class Ours:
    """The kernels of one kind, compiled as programs do."""

    def __init__(self, kind: str, device: Path) -> None:
        timing: Any = import_module("shlo_disc.runtime.cpu.product_timing")
        toolchain: Any = import_module("shlo_disc.runtime.building.toolchain")
        compiler = toolchain.find_compiler()
        self.kind, self._struct = kind, timing.Gemm
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            text = (ROOT / "benchmarks" / "gemm_narrow.cc").read_text()
            (folder / "timing.cc").write_text(f"#define KIND {kind}\n{text}")
            objects = [folder / "timing.o", folder / "kernels.o"]
            (folder / "kernels.cc").write_text(library_text(f"gemm_{kind}"))
            for source, target in zip((folder / "timing.cc", folder / "kernels.cc"), objects, strict=True):
                compiler.compile(source, target, 3, (device,))
            compiler.link(objects, folder / "library.so")
            self.library = ctypes.CDLL(str(folder / "library.so"))
        self.scratch = aligned(_SCRATCH)

    def call(self, a: Any, b: Any, *, packed: bool) -> Call:
        """A product, checked once."""
        (m, k), n, sums = a.shape, b.shape[1], np.dtype(KINDS[self.kind].sums)
        c = aligned(m * n * sums.itemsize).view(sums).reshape(m, n)
        gemm = self._struct(a.ctypes.data, b.ctypes.data, k, 1, n, 1, m, n, k, None, None)
        keep = [a, b, c, gemm]
        if packed:
            count = self.library[f"shlo_packed_bytes_{self.kind}"]
            count.restype = ctypes.c_int64
            memory = aligned(count(ctypes.c_int64(k), ctypes.c_int64(n)))
            keep.append(memory)
            self.library[f"shlo_pack_{self.kind}"](
                ctypes.byref(gemm), ctypes.c_int64(0), ctypes.c_int64(n), address(memory)
            )
            gemm.packed = memory.ctypes.data
        run = self.library[f"shlo_repeat_gemm_{self.kind}"]
        fixed = [ctypes.c_int64(x) for x in (BLOCK_ROWS, sums.itemsize)]
        arguments = (ctypes.byref(gemm), *fixed, address(c), address(self.scratch), ctypes.c_int64(1))
        run(*arguments)
        expected = numbers(self.kind, a) @ numbers(self.kind, b)
        assert np.allclose(c, expected, rtol=0, atol=1e-4 * k**0.5 if sums.kind == "f" else 0), self.kind
        return lambda: (run(*arguments), keep)


def jax_call(kind: str, a: Any, b: Any) -> Call:
    """XLA, sums as wide as ours."""
    jax: Any = import_module("jax")
    names = KINDS[kind]
    x, y = (jax.device_put(v.view(jax.numpy.dtype(names.library))) for v in (a, b))

    def dot(x: Any, y: Any) -> Any:
        return jax.lax.dot(x, y, preferred_element_type=names.sums)

    run = jax.jit(dot)
    return lambda: run(x, y).block_until_ready()


def torch_call(kind: str, a: Any, b: Any) -> Call:
    """PyTorch, of one thread; results of f16 and bf16 are as narrow as these."""
    torch: Any = import_module("torch")
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    narrow: Any = getattr(torch, KINDS[kind].library)
    x, y = (torch.from_numpy(v.view(np.int16) if v.dtype == np.uint16 else v).view(narrow) for v in (a, b))
    return (lambda: torch._int_mm(x, y)) if kind == "i8" else (lambda: torch.mm(x, y))  # noqa: SLF001


def least(calls: Sequence[Call]) -> list[float]:
    """Microseconds of each."""
    return [round(min(seconds) * 1e6, 2) for seconds in time_in_turns(calls, _ROUNDS, _TURN, 2)]


def of_torch(kinds: Sequence[str]) -> None:
    """Print the times of PyTorch, one size a line; the process that `--torch` starts."""
    for kind in kinds:
        for m, n, k in SIZES:
            a, b = draw(kind, (m, k)), draw(kind, (k, n))
            try:
                found: float | None = least([torch_call(kind, a, b)])[0]
            except RuntimeError:  # it has no such product, for example of few rows of bytes
                found = None
            print(json.dumps([kind, [m, n, k], found]), flush=True)


def peer(interpreter: str, kinds: Sequence[str]) -> dict[tuple[str, tuple[int, ...]], float | None]:
    """PyTorch's times by kind and size."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [interpreter, "-m", "benchmarks.gemm_narrow", "--serve", "--kinds", ",".join(kinds)]
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return {(kind, tuple(size)): found for kind, size, found in map(json.loads, done.stdout.splitlines())}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description="matrix products of narrow types")
    parser.add_argument("--torch", metavar="PYTHON", help="an interpreter that has PyTorch")
    parser.add_argument("--serve", action="store_true", help="measure PyTorch in this interpreter")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--device", type=Path, default=headers.ROOT)
    parser.add_argument("--no-jax", action="store_true")
    parser.add_argument("--core", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    os.sched_setaffinity(0, {options.core})
    os.environ |= {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false"}
    kinds = options.kinds.split(",")
    if options.serve:
        of_torch(kinds)
        return
    theirs = peer(options.torch, kinds) if options.torch else {}
    rows, calls = list[dict[str, Any]](), dict[str, Callable[[Any, Any], Call]]()
    for kind in kinds:
        ours = Ours(kind, options.device)
        calls["ours"] = lambda a, b, ours=ours: ours.call(a, b, packed=False)
        calls["packed"] = lambda a, b, ours=ours: ours.call(a, b, packed=True)
        if not options.no_jax:
            calls["jax"] = lambda a, b, kind=kind: jax_call(kind, a, b)
        for m, n, k in SIZES:
            a, b = draw(kind, (m, k)), draw(kind, (k, n))
            found = dict(zip(calls, least([call(a, b) for call in calls.values()]), strict=True))
            rows.append({"kind": kind, "size": [m, n, k], "us": {**found, "torch": theirs.get((kind, (m, n, k)))}})
            print(json.dumps(rows[-1]), flush=True)
    if options.out:
        found = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "threads": 1, "rows": rows}
        options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
