"""What running a host program costs beside its kernels: `python -m benchmarks.host_programs [RESULTS.json]`.

The kernels of each program are replaced by one that does nothing, so a call takes the time of its host program: checks,
memory, and the launches. One thread; microseconds, the least of ROUNDS turns, in which bytecode and the VM alternate.
`whole` is a call with the real kernels; `share` is bytecode's part of it. Bind the process to one core: `taskset -c 1`.
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ctypes
import json
import sys
import tempfile
import timeit
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.workloads import WORKLOADS, Shape, Workload
from shlo_disc.artifact import Artifact
from shlo_disc.host_ir import Launch
from shlo_disc.options import CompileOptions
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from shlo_disc.records import record
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import open_cache
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cpu.executable import assemble
from shlo_disc.runtime.library import LoadedProgram, open_program
from shlo_disc.runtime.steps import leaves

ROUNDS = 30
TURN = 0.005
_NOTHING = 'extern "C" void nothing(const void*, void* const*, const long*, long, long, void*) {}\n'


@dataclass(frozen=True, slots=True)
class HostTime:
    """Microseconds of a call of a program with so many launches."""

    program: str
    launches: int
    bytecode: float
    vm: float
    whole: float


@record
class _NoKernels(LoadedProgram):
    """A program all of whose kernels are the one that does nothing."""

    def address(self, name: str) -> int:
        del name
        return ctypes.cast(self.handle["nothing"], ctypes.c_void_p).value or 0


def _without_kernels(folder: Path) -> _NoKernels:
    compiler, source = find_compiler(), folder / "nothing.cc"
    source.write_text(_NOTHING)
    compiler.compile(source, folder / "nothing.o", 1, ())
    compiler.link([folder / "nothing.o"], folder / "nothing.so")
    found = open_program(folder / "nothing.so")
    return _NoKernels(found.path, found.handle)


def _add_one(x: Any) -> Any:
    return x + 1


def _chain(x: Any) -> Any:
    for _ in range(40):
        x = jnp.roll(jax.lax.sort(x), 1)
    return x


Program: TypeAlias = tuple[str, Artifact, tuple[Any, ...]]


def programs() -> Iterator[Program]:
    """Programs without loops, and arguments of a call."""
    (n,) = jax.export.symbolic_shape("n")
    small = jax.ShapeDtypeStruct((n,), np.float32)
    for name, function in (("x + 1", _add_one), ("80 small launches", _chain)):
        exported = jax.export.export(jax.jit(function))(small)
        yield name, _compiled(str(exported.mlir_module())), (np.ones(2, np.float32),)
    for name in ("W1", "W3"):
        yield workload_program(WORKLOADS[name], WORKLOADS[name].fixed[0])


def workload_program(workload: Workload, shape: Shape) -> Program:
    """A workload, and arguments of a shape."""
    weights = workload.weights()
    flat = jax.tree.leaves((weights, *workload.at(shape)))
    artifact = _compiled(str(workload.export(weights).mlir_module()))
    return f"{workload.name} at {shape}", artifact, tuple(map(np.asarray, flat))


def _compiled(text: str) -> Artifact:
    return compile_text(text, "program.mlir", Request(), Stopwatch())


def measure(chosen: Iterable[Program]) -> Iterator[HostTime]:
    """Time each program."""
    builder = Builder(find_compiler(), 3, open_cache(None))
    options = CompileOptions(threads=1)
    with tempfile.TemporaryDirectory() as folder:
        nothing = _without_kernels(Path(folder))
        for name, artifact, arguments in chosen:
            real = open_program(builder.program(artifact))
            ways: list[tuple[LoadedProgram, Literal["c", "vm"]]] = [(nothing, "c"), (nothing, "vm"), (real, "c")]
            runs = [assemble(artifact, code, builder.runtime, replace(options, driver=way)) for code, way in ways]
            times = _least([partial(run, arguments) for run in runs])
            launches = sum(isinstance(step, Launch) for step in leaves(artifact.steps))
            yield HostTime(name, launches, *times)


def _least(calls: list[Callable[[], object]]) -> list[float]:
    counts, found = list[int](), [float("inf")] * len(calls)
    for call in calls:
        for _ in range(20):
            call()
        counts.append(max(1, int(TURN / max(timeit.timeit(call, number=5) / 5, 1e-8))))
    for _ in range(ROUNDS):
        for k, (call, count) in enumerate(zip(calls, counts, strict=True)):
            found[k] = min(found[k], timeit.timeit(call, number=count) / count * 1e6)
    return found


def main() -> None:
    """Print the table, and write the numbers to a file if one is named."""
    table = Table("program", "launches", "bytecode", "VM", "bytecode, ns a launch", "VM, ns a launch", "whole", "share")
    rows = list(measure(programs()))
    for row in rows:
        each = max(row.launches, 1) / 1e3
        table.add_row(
            row.program, str(row.launches), f"{row.bytecode:.2f}", f"{row.vm:.1f}", f"{row.bytecode / each:.0f}",
            f"{row.vm / each:.0f}", f"{row.whole:.1f}", f"{row.bytecode / row.whole:.1%}",
        )  # fmt: skip
    Console().print(table)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps([asdict(row) for row in rows], indent=1))


if __name__ == "__main__":
    main()
