"""Files of programs: their bytes, and what loading and the first call take: `python -m benchmarks.loading [W1 W3 ...]`.

Beside ONNX Runtime and IREE on the same workloads with weights in the file. Each number is of a process of its own with
one thread, bound to one core, and the least of ROUNDS; the peers take turns. `load` is CPU time in milliseconds from
`import numpy` to a program that can be called, imports included; `first` and `next` are the first two calls. Python's
bytecode is compiled before, as installers do. The processes of "1 GB" run beside one that has the file mapped.
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
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import shlo_disc
from benchmarks.timing import ROOT, compile_bytecode

ROUNDS = 9
LARGE = "1 GB"  # a program of ours alone, whose weights have this size
_PROLOGUE = """
import resource, sys, time
def cpu(): return sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
import numpy as np
start, clock = cpu(), time.perf_counter()
"""
_INPUTS = """
loaded, wall = cpu(), time.perf_counter() - clock
with np.load(sys.argv[2]) as found: inputs = [found[f"i{k}"] for k in range(len(found.files))]
"""
_EPILOGUE = """
before = cpu(); call(); first = cpu(); call(); second = cpu()
own = [int(line.split()[1]) for line in open("/proc/self/smaps_rollup") if line.startswith("Private")]
memory = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(loaded - start, first - before, second - first, wall, memory / 1024, sum(own) / 1024, flush=True)
"""
PEERS = {  # the Python of its environment, what loads a program, and what calls it
    "shlo_disc": ("", "import shlo_disc\nrun = shlo_disc.load(sys.argv[1])\n", "call = lambda: run(*inputs)\n"),
    "ONNX Runtime": (
        "ort/bin/python",
        "import onnxruntime as o\noptions = o.SessionOptions()\noptions.intra_op_num_threads = 1\n"
        "run = o.InferenceSession(sys.argv[1], options, providers=['CPUExecutionProvider'])\n",
        "given = {one.name: inputs[int(one.name[1:])] for one in run.get_inputs()}\n"
        "call = lambda: run.run(None, given)\n",
    ),
    "IREE": (
        "iree/bin/python",
        "import iree.runtime as rt\nconfig = rt.Config('local-sync')\ncontext = rt.SystemContext(config=config)\n"
        "module = rt.VmModule.mmap(context.instance, sys.argv[1])\ncontext.add_vm_module(module)\n"
        "names = [n for n in module.function_names if not n.startswith('__') and not n.endswith('$async')]\n"
        "run = context.modules[module.name][names[0]]\n",
        "call = lambda: np.asarray(run(*inputs).to_host())\n",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Loading:
    """Milliseconds of CPU (`wall`: of time), bytes of the file, and MB of memory of the process; of it `own` alone."""

    workload: str
    peer: str
    bytes: int
    load: float
    first: float
    next: float
    wall: float
    memory: float
    own: float


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


def save_large(folder: Path) -> tuple[Path, Path]:
    """Write a program with 1 GB of weights: rows of a table, times a matrix."""
    text = """
func.func @main(%table: tensor<15360x16384xf32>, %matrix: tensor<16384x1024xf32>, %rows: tensor<?xi32>) -> (
    tensor<?x1024xf32>) {
  %0 = "stablehlo.torch_index_select"(%table, %rows) {dim = 0 : i64, batch_dims = 0 : i64}
      : (tensor<15360x16384xf32>, tensor<?xi32>) -> tensor<?x16384xf32>
  %1 = stablehlo.dot_general %0, %matrix, contracting_dims = [1] x [0]
      : (tensor<?x16384xf32>, tensor<16384x1024xf32>) -> tensor<?x1024xf32>
  return %1 : tensor<?x1024xf32>
}
"""
    target, inputs, generator = folder / "large.shlo", folder / "large.npz", np.random.default_rng(1)
    run = shlo_disc.compile(text, device="cpu")
    table, matrix = (generator.standard_normal(shape, np.float32) for shape in ((15360, 16384), (16384, 1024)))
    run.bind(table, matrix).save(target)
    np.savez(inputs, i0=generator.integers(0, 15360, 8, np.int32))
    return target, inputs


def measure_large() -> Iterator[Loading]:
    """Processes that load the large program while another one has it, and shares the pages of the file."""
    with tempfile.TemporaryDirectory() as folder:
        file, inputs = save_large(Path(folder))
        command, environment = _command(Path(sys.executable), _code("shlo_disc") + "input()\n", file, inputs)
        with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
            assert other.stdout, "it is a pipe"
            other.stdout.readline()
            rows = [_run("shlo_disc", Path(sys.executable), file, inputs) for _ in range(ROUNDS)]
            other.communicate(b"\n")
        yield _least(LARGE, "shlo_disc", file, rows)


def measure(name: str, home: Path, drivers: Path) -> Iterator[Loading]:
    """The peers that have a file of a workload."""
    with tempfile.TemporaryDirectory() as folder:
        ours, inputs = save(name, Path(folder), drivers)
        files = {
            "shlo_disc": ours, "ONNX Runtime": home / "art" / f"{name}.onnx", "IREE": home / "art" / f"{name}.vmfb",
        }  # fmt: skip
        found = dict[str, list[list[float]]]()
        for _ in range(ROUNDS):
            for peer, (python, *_) in PEERS.items():
                if files[peer].exists():
                    program = home / python if python else Path(sys.executable)
                    found.setdefault(peer, []).append(_run(peer, program, files[peer], inputs))
        for peer, rows in found.items():
            yield _least(name, peer, files[peer], rows)


def _least(name: str, peer: str, file: Path, rows: Sequence[Sequence[float]]) -> Loading:
    load, first, later, wall, memory, own = np.min(rows, axis=0)
    times = (1e3 * load, 1e3 * first, 1e3 * later, 1e3 * wall)
    return Loading(name, peer, file.stat().st_size, *times, float(memory), float(own))


def _code(peer: str) -> str:
    _, load, call = PEERS[peer]
    return "".join((_PROLOGUE, load, _INPUTS, call, _EPILOGUE))


def _command(python: Path, code: str, file: Path, inputs: Path) -> tuple[list[str], dict[str, str]]:
    core = str(max(os.sched_getaffinity(0)))
    command = ["taskset", "-c", core, str(python), "-c", code, str(file), str(inputs)]
    return command, {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}


def _run(peer: str, python: Path, file: Path, inputs: Path) -> list[float]:
    command, environment = _command(python, _code(peer), file, inputs)
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    return [float(word) for word in done.stdout.split()]


def main() -> None:
    """Print the table, and write the numbers to a file if one is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("workloads", nargs="*", default=["W1", "W3", "W4", LARGE])
    parser.add_argument("--home", type=Path, default=Path(os.environ.get("PEERS_HOME", "~/.cache/shlo_disc_peers")))
    parser.add_argument("--drivers", type=Path, default=ROOT / "../shared/peers")
    parser.add_argument("--json", type=Path)
    given: Any = parser.parse_args()
    home, drivers = given.home.expanduser(), given.drivers.resolve()
    compile_bytecode()
    rows = list[Loading]()
    for name in given.workloads:
        rows += measure_large() if name == LARGE else measure(name, home, drivers)
    table = Table("W", "peer", "file, KB", "load, ms", "first call", "next call", "load, wall", "memory, MB", "own, MB")
    for row in rows:
        numbers = (row.bytes / 1e3, row.load, row.first, row.next, row.wall, row.memory, row.own)
        table.add_row(row.workload, row.peer, *(f"{number:.1f}" for number in numbers))
    Console().print(table)
    if given.json is not None:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
