"""The launches of a program, one by one, with what every buffer held before and after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from shlo_disc.artifact import Artifact
from shlo_disc.compiled import Compiled
from shlo_disc.diagnostics import InternalError
from shlo_disc.host_ir import Choice, Command, Copy, GridLaunch, HostCall, Launch, LaunchGroup
from shlo_disc.runtime.cuda.commands import execute
from shlo_disc.runtime.cuda.device import IndexType
from shlo_disc.runtime.cuda.driver import GpuCall, NativeGpuProgram, kernel_names
from shlo_disc.runtime.cuda.executable import GpuExecutable
from shlo_disc.runtime.cuda.kernel_sets import KernelSets
from shlo_disc.runtime.cuda.launch_table import Chooser, cheapest
from shlo_disc.runtime.cuda.table import Functions
from shlo_disc.runtime.driver import Sizes, sizes_in_python
from shlo_disc.runtime.steps import Buffers, Leaf, walk
from tests.emulator.device import Array, EmulatedDevice


@dataclass(frozen=True, slots=True)
class Held:
    """What a buffer holds."""

    before: bytes
    after: bytes


@dataclass(frozen=True, slots=True)
class Recorded:
    """One launch. An argument is the number of a buffer, in order; then come `numbers`."""

    kernel: str
    label: str  # of the variant
    blocks: int
    threads: int
    shared: int
    buffers: tuple[Held, ...]
    arguments: tuple[int, ...]
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Recording:
    """Launches that are not empty, the text they are from, and the names of all its kernels."""

    text: str
    names: tuple[str, ...]
    index: IndexType
    launches: tuple[Recorded, ...]


def record(
    program: Compiled, arrays: Sequence[Array], *, chooser: Chooser = cheapest, index: IndexType = "int32_t"
) -> Recording:
    """Run a program on an emulated device, and keep every launch."""
    artifact = program.executable.artifact
    device = EmulatedDevice()
    recorder = _Recorder(artifact, device)
    GpuExecutable(artifact, device, recorder, KernelSets(artifact, device, chooser), index=index)(arrays)
    text = "\n".join(file.text for file in artifact.kernels)
    return Recording(text, tuple(kernel_names(artifact)), index, tuple(recorder.launches))


class _Recorder:
    """A driver that runs step by step, as the VM does."""

    kind: Literal["c", "vm"] = "vm"
    native: NativeGpuProgram | None = None

    def __init__(self, artifact: Artifact, device: EmulatedDevice) -> None:
        self._artifact, self._device = artifact, device
        self.launches: list[Recorded] = []

    def sizes(self, raw: tuple[int, ...]) -> Sizes:
        return sizes_in_python(self._artifact, raw)

    def run(self, table: int, call: GpuCall) -> None:
        functions = Functions(table)
        symbols = dict(zip(self._artifact.symbols, call.symbols, strict=False))

        def checked(command: Command, buffers: Buffers) -> None:
            if code := execute(command, buffers, functions, call.kernels):
                raise InternalError(self._device.explain_error(code))

        def step(step: Leaf, buffers: Buffers) -> None:
            match step:
                case Choice(number, variants):
                    chosen = variants[call.choices[number]]
                    for command in chosen.commands:
                        if isinstance(command, GridLaunch):
                            self._record(command, chosen.label, buffers, checked)
                        else:
                            checked(command, buffers)
                case Copy():
                    checked(step, buffers)
                case HostCall():
                    raise InternalError(f"launches before and after the host call of {step.callee} are not recorded")
                case Launch() | LaunchGroup():
                    raise InternalError(f"kernels for CPU threads in a program for a GPU: {step}")

        buffers = Buffers(self._artifact, symbols, call.places, self._device.download)
        walk(self._artifact.steps, buffers, step, None)

    def _record(
        self, command: GridLaunch, label: str, buffers: Buffers, run: Callable[[Command, Buffers], None]
    ) -> None:
        slots = tuple(dict.fromkeys(command.buffers))

        def contents() -> list[bytes]:
            return [self._device.download(buffers.address(slot), max(0, buffers.size(slot))) for slot in slots]

        before = contents()
        run(command, buffers)
        blocks = buffers.value(command.blocks)
        if blocks > 0:
            self.launches.append(
                Recorded(
                    command.kernel,
                    label,
                    blocks,
                    command.threads,
                    buffers.value(command.shared),
                    tuple(Held(*pair) for pair in zip(before, contents(), strict=True)),
                    tuple(slots.index(slot) for slot in command.buffers),
                    tuple(buffers.value(size) for size in command.symbols),
                )
            )


def of_one_kernel(  # noqa: PLR0913, PLR0917 - what a launch takes
    text: str,
    kernel: str,
    blocks: int,
    threads: int,
    args: Sequence[Array | int],
    results: Sequence[Any],
    shared: int = 0,
) -> Recording:
    """A recording of one launch of a kernel of any text: `results` are what the arrays among `args` must be then."""
    arrays = [arg for arg in args if not isinstance(arg, int)]
    held = tuple(Held(a.tobytes(), b.tobytes()) for a, b in zip(arrays, results, strict=True))
    numbers = tuple(arg for arg in args if isinstance(arg, int))
    launch = Recorded(kernel, "", blocks, threads, shared, held, tuple(range(len(held))), numbers)
    return Recording(text, (kernel,), "int32_t", (launch,))
