"""Files of programs: their bytes, and what loading and the first call take: `python -m benchmarks.loading [W1 W3 ...]`.

Beside ONNX Runtime and IREE on the same workloads with weights in the file. Each number is of a process of its own with
one thread, bound to one core, and the least of ROUNDS; the peers take turns. `load` is CPU time in milliseconds from
`import numpy` to a program that can be called, imports included; `first` and `next` are the first two calls.
The peers' environments and files lie in `--home` ($PEERS_HOME, made by make_envs.sh of ../shared/peers; ONNX's by
export_onnx.py there, IREE's modules by export_jax.py and iree_fix.py). A peer without its file is left out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.timing import ROOT

ROUNDS = 7
_PROLOGUE = """
import resource, sys, time
def cpu(): return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
import numpy as np
with np.load(sys.argv[2]) as found: inputs = [found[f"i{k}"] for k in range(len(found.files))]
start, clock = cpu(), time.perf_counter()
"""
_EPILOGUE = """
loaded, wall = cpu(), time.perf_counter() - clock
call(); first = cpu(); call(); second = cpu()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(loaded - start, first - loaded, second - first, wall, memory)
"""
PEERS = {
    "shlo_disc": (
        "", "import shlo_disc\nrun = shlo_disc.load(sys.argv[1])\ncall = lambda: run(*inputs)\n",
    ),
    "ONNX Runtime": (
        "ort/bin/python",
        "import onnxruntime as o\noptions = o.SessionOptions()\noptions.intra_op_num_threads = 1\n"
        "run = o.InferenceSession(sys.argv[1], options, providers=['CPUExecutionProvider'])\n"
        "given = {one.name: inputs[int(one.name[1:])] for one in run.get_inputs()}\n"
        "call = lambda: run.run(None, given)\n",
    ),
    "IREE": (
        "iree/bin/python",
        "import iree.runtime as rt\nconfig = rt.Config('local-sync')\ncontext = rt.SystemContext(config=config)\n"
        "module = rt.VmModule.mmap(context.instance, sys.argv[1])\ncontext.add_vm_module(module)\n"
        "names = [n for n in module.function_names if not n.startswith('__') and not n.endswith('$async')]\n"
        "run = context.modules[module.name][names[0]]\ncall = lambda: np.asarray(run(*inputs).to_host())\n",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loading:
    """Milliseconds of CPU (`wall`: of time), bytes of the file, and MB of memory of the process."""

    workload: str
    peer: str
    bytes: int
    load: float
    first: float
    next: float
    wall: float
    memory: float


def save(name: str, folder: Path, drivers: Path) -> tuple[Path, Path]:
    """Write our program with its weights, and the inputs of a call; their paths."""
    code = (
        "import sys, jax, jax.export as e, numpy as np, shlo_disc\n"
        "import workloads as W, jax_models as M\n"
        "w, target, inputs = sys.argv[1:]\n"
        "given, params, scope = W.inputs(w, W.CHECK[w]), W.params(w), e.SymbolicScope()\n"
        "spec = [jax.ShapeDtypeStruct(e.symbolic_shape(t, scope=scope), i.dtype) for t, i in zip(M.SYM[w], given)]\n"
        "tree = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), params)\n"
        "run = shlo_disc.compile(e.export(jax.jit(M.MODELS[w]))(tree, *spec))\n"
        "run.bind(params).save(target)\n"
        "np.savez(inputs, **{f'i{k}': one for k, one in enumerate(given)})\n"
    )
    target, inputs = folder / f"{name}.shlo", folder / f"{name}.npz"
    path = f"{ROOT}{os.pathsep}{drivers}"
    environment = {**os.environ, "PYTHONPATH": path, "JAX_PLATFORMS": "cpu"}
    subprocess.run([sys.executable, "-c", code, name, str(target), str(inputs)], check=True, env=environment)
    return target, inputs


def measure(name: str, home: Path, drivers: Path) -> Iterator[Loading]:
    """The peers that have a file of a workload."""
    with tempfile.TemporaryDirectory() as folder:
        ours, inputs = save(name, Path(folder), drivers)
        files = {
            "shlo_disc": ours, "ONNX Runtime": home / "art" / f"{name}.onnx", "IREE": home / "art" / f"{name}.vmfb",
        }  # fmt: skip
        found = dict[str, list[list[float]]]()
        for _ in range(ROUNDS):
            for peer, (python, code) in PEERS.items():
                if files[peer].exists():
                    program = home / python if python else Path(sys.executable)
                    found.setdefault(peer, []).append(_run(program, code, files[peer], inputs))
        for peer, rows in found.items():
            load, first, later, wall, memory = np.min(rows, axis=0)
            times = (1e3 * load, 1e3 * first, 1e3 * later, 1e3 * wall)
            yield Loading(name, peer, files[peer].stat().st_size, *times, float(memory))


def _run(python: Path, code: str, file: Path, inputs: Path) -> list[float]:
    core = str(max(os.sched_getaffinity(0)))
    command = ["taskset", "-c", core, str(python), "-c", _PROLOGUE + code + _EPILOGUE, str(file), str(inputs)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    """Print the table, and write the numbers to a file if one is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=["W1", "W3", "W4"])
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("PEERS_HOME", "~/.cache/shlo_disc_peers")))
    parser.add_argument("--drivers", type=Path, default=ROOT / "../shared/peers")
    parser.add_argument("--json", type=Path)
    given: Any = parser.parse_args()
    home, drivers = given.home.expanduser(), given.drivers.resolve()
    rows = [row for name in given.workloads for row in measure(name, home, drivers)]
    table = Table("W", "peer", "file, KB", "load, ms", "first call", "next call", "load, wall", "memory, MB")
    for row in rows:
        numbers = (row.bytes / 1e3, row.load, row.first, row.next, row.wall, row.memory)
        table.add_row(row.workload, row.peer, *(f"{number:.1f}" for number in numbers))
    Console().print(table)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
